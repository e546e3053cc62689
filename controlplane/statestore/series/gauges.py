"""What stands now: allocated, used, wanted, nodes by state; one sample of each scope that has anything."""

import datetime as dt

import numpy as np
import psycopg
from django.db import connection

from controlplane.statestore import bus, loads
from controlplane.statestore.capacities import R
from controlplane.statestore.queries.queues import tree
from scheduler.shares.tree import QueueHierarchy, lineage
from wire.states import NodeState

from .columns import CLUSTER, LOADED, QUEUE, SUB_CLUSTER, Rows, WindowRow

FRESH_S = 15.0  # an older load says nothing of now
MILLION = 1_000_000
_NODES = "SELECT sub_cluster_id, state, count(*) FROM statestore_node WHERE state <> %s GROUP BY 1, 2"
_STATES = {int(s): f"nodes_{s.name.lower()}" for s in NodeState if s is not NodeState.DECOMMISSIONED}


def sample(session: psycopg.Connection, at: dt.datetime, names: dict[int, str]) -> Rows:
    """Rows of the window that begins ``at``. names: the sub-clusters there are, by number."""
    return sampled(recent(session, names), at, names)


def recent(session: psycopg.Connection, names: dict[int, str]) -> list[loads.Load]:
    """What the leaders of these sub-clusters said last, those that are not silent."""
    return [load for load in loads.read(session) if load.age_s <= FRESH_S and load.sub_cluster in names]


def sampled(fresh: list[loads.Load], at: dt.datetime, names: dict[int, str]) -> Rows:
    """As ``sample``, of what leaders said."""
    rows: Rows = {(CLUSTER, at): WindowRow()}
    for name in names.values():
        rows[SUB_CLUSTER + name, at] = WindowRow()
    _loads(rows, at, fresh, names)
    _queues(rows, at, fresh)
    _measured(rows, at, names)
    _nodes(rows, at, names)
    return rows


def _loads(rows: Rows, at: dt.datetime, fresh: list[loads.Load], names: dict[int, str]) -> None:
    whole = np.zeros((3, R), np.int64)
    for load in fresh:
        parts = load.queues.values()
        used = sum((p.used.sum(axis=0) for p in parts), np.zeros(R, np.int64))
        capacity = sum((p.capacity for p in parts), np.zeros(R, np.int64))
        own = np.array([used, capacity, load.pending], np.int64)
        whole += own
        _put(rows[SUB_CLUSTER + names[load.sub_cluster], at], own)
    if fresh:
        _put(rows[CLUSTER, at], whole)


def _put(row: WindowRow, amounts: np.ndarray) -> None:
    """amounts: (3, R) used, there and wanted, in the order of ``LOADED``."""
    used, capacity, _ = amounts
    row.numbers.update(zip(LOADED, [*amounts.ravel().tolist(), _share(used, capacity)], strict=True))
    row.numbers["n_load"] = 1


def _share(allocated: np.ndarray, capacity: np.ndarray) -> int:
    """Of the resource of which it is largest, in millionths."""
    return int((allocated * MILLION // np.maximum(capacity, 1)).max(initial=0))


def _queues(rows: Rows, at: dt.datetime, fresh: list[loads.Load]) -> None:
    """Every queue, leaf or not, that uses or wants something; the largest shares have the lowest ranks."""
    capacity = _capacity(fresh)
    paths, amounts = tree_sums(fresh)
    if not paths:
        return
    guaranteed = tree.guaranteed(capacity)
    nothing = np.zeros(R, np.int64)
    owed = np.stack([guaranteed.get(path, nothing) for path in paths])
    total = np.maximum(sum(capacity.values()), 1)
    share = (amounts[:, :R] * MILLION // total).max(axis=1)
    wanted = (amounts[:, R:] * MILLION // total).max(axis=1)
    rank = np.empty(len(paths), np.int64)
    rank[np.lexsort((-wanted, -share))] = np.arange(len(paths))
    table = np.concatenate((amounts[:, :R], owed, amounts[:, R:], share[:, None]), axis=1).tolist()
    for path, numbers, place in zip(paths, table, rank.tolist(), strict=True):
        row = rows[QUEUE + path, at] = WindowRow(dict(zip(LOADED, numbers, strict=True)), rank=place)
        row.numbers["n_load"] = 1
    rows[CLUSTER, at].queues = len(paths)


def _capacity(fresh: list[loads.Load]) -> dict[str, np.ndarray]:
    """(R,) int64 of each partition."""
    capacity: dict[str, np.ndarray] = {}
    for load in fresh:
        for name, p in load.queues.items():
            capacity[name] = capacity.get(name, np.zeros(R, np.int64)) + p.capacity
    return capacity


def guarantees(fresh: list[loads.Load]) -> dict[str, list[int]]:
    """What each queue is guaranteed of what is there, idle or not, the largest parts first; none of nothing."""
    capacity = _capacity(fresh)
    found = tree.guaranteed(capacity)
    paths, amounts = list(found), np.array(list(found.values()), np.int64).reshape(-1, R)
    total = np.maximum(sum(capacity.values(), np.zeros(R, np.int64)), 1)
    part = (amounts * MILLION // total).max(axis=1, initial=0)
    order = [at for at in np.argsort(-part, kind="stable").tolist() if amounts[at].any()]
    return {paths[at]: amounts[at].tolist() for at in order}


def tree_sums(fresh: list[loads.Load]) -> tuple[list[str], np.ndarray]:
    """Paths of q queues with something in them or below, and (q, 2R) int64: used and wanted there, over all."""
    named = {path for load in fresh for p in load.queues.values() for path in p.paths}
    known = {above for path in named for above in lineage(path)}
    paths = sorted(known, key=lambda path: (path.count("."), path))
    place = {path: i for i, path in enumerate(paths)}
    own = np.zeros((len(paths), 2 * R), np.int64)
    for load in fresh:
        for p in load.queues.values():
            rows = [place[path] for path in p.paths]
            own[rows] += np.concatenate((p.used, p.pending), axis=1)
    return paths, QueueHierarchy.of(paths, [path.rpartition(".")[0] for path in paths]).subtree_sums(own)


def _measured(rows: Rows, at: dt.datetime, names: dict[int, str]) -> None:
    """What nodes and leaders last said through Redis. Where one is silent, the whole is unknown."""
    found = bus.summaries(names)
    for sub, summary in found.items():
        row = rows[SUB_CLUSTER + names[sub], at]
        used, cores, pending = summary.used_memory_mib, summary.used_cpu_milli, summary.pending_containers
        row.numbers.update(used_memory_mib=used, used_vcores_milli=cores, pending_containers=pending, n_measured=1)
    whole = rows[CLUSTER, at]
    for row in (rows[SUB_CLUSTER + names[sub], at] for sub in found):
        for column in ("used_memory_mib", "used_vcores_milli", "pending_containers"):
            whole.add(column, row.numbers[column])
    if found:
        whole.numbers["n_measured"] = 1
        _waiting(rows, at, bus.waiting(found.values()))


def _waiting(rows: Rows, at: dt.datetime, waiting: dict[str, int]) -> None:
    """Containers that wait in each queue and below it."""
    for path, n in waiting.items():
        row = rows.get((QUEUE + path, at))
        if row is not None:
            row.add("pending_containers", n)
    for (scope, _), row in rows.items():
        if scope.startswith(QUEUE):
            row.numbers["n_measured"] = 1


def _nodes(rows: Rows, at: dt.datetime, names: dict[int, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NODES, [int(NodeState.DECOMMISSIONED)])
        for sub, state, n in cursor.fetchall():
            if sub in names and state in _STATES:
                rows[SUB_CLUSTER + names[sub], at].add(_STATES[state], n)
                rows[CLUSTER, at].add(_STATES[state], n)
    for scope in (CLUSTER, *(SUB_CLUSTER + name for name in names.values())):
        rows[scope, at].numbers["n_nodes"] = 1
