"""What a plan sees of one partition, gathered from the leader's memory."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.memory.asks import Owner, compact
from controlplane.rm.memory.nodes import NEVER_US, NodeTable
from scheduler.core.entities import UNBOUNDED
from scheduler.core.snapshot import Asks, Backfill, Jobs, Nodes, Ordering, Queues, Running, Snapshot, Users
from scheduler.explain.forecast import expected_ends
from wire.resources import AXES
from wire.states import NodeState, Want

if TYPE_CHECKING:
    from controlplane.rm.memory.memory import Memory

LENT = "(lent to other partitions)"


@dataclass(frozen=True, slots=True)
class PlanView:
    """A snapshot and where its rows came from.

    asks: (a,) rows of the ask table. nodes: (n,) positions in the node table.
    slots: (c,) of ``snapshot.running``, empty without it. holder: (n,) whom each node serves alone, as
    ``tenancy.holders``; None where tenants do not matter.
    """

    snapshot: Snapshot
    asks: np.ndarray
    nodes: np.ndarray
    slots: np.ndarray
    holder: np.ndarray | None = None

    def owner(self, m: "Memory", ask: int) -> Owner:
        """Whose ask that is."""
        found: Owner | None = m.asks.owner[self.asks[ask]]
        assert found is not None
        return found


def partition_view(m: "Memory", partition: int, rows: np.ndarray, now: float, with_running: bool) -> PlanView:
    """The partition's nodes, queues, these of its asks and, if wanted, its live containers.

    rows: (a,) of the ask table, as ``wanting`` gives them. now: s, as ``since`` and ``started``.
    """
    nodes, own = m.nodes_of(partition)
    table = m.nodes.view()
    open_nodes, reservable = table.open[nodes], None
    if not own.all():
        open_nodes &= own | ~m.reclaimed_nodes()[nodes]
        reservable = own | ~m.contended_nodes()[nodes]
    capacity, free = table.capacity.take(nodes, axis=0), table.free.take(nodes, axis=0)
    seen = Nodes(capacity, free, open_nodes, table.rack[nodes], reservable)
    queues = _queues(m, partition)
    held, lent = m.holders(partition) if with_running or len(m.partitions) > 1 else (rows[:0], rows[:0])
    users, jobs, job, job_rows = _users_and_jobs(m, partition, rows, queues.maximum, held if with_running else None)
    queues = _bounded(m, partition, queues)
    if len(lent):
        queues = _with_lent(queues, m.containers_hold(lent).sum(axis=0))
    numbers, mask = compact(m.asks.mask[rows])
    masks = np.array([_nodes_for(m, number, rows, nodes) for number in numbers.tolist()], np.bool_)
    asks = m.asks.gather(rows, job, masks.reshape(len(numbers), len(nodes)), mask)
    if len(nodes) < len(m.nodes):
        asks = _reindexed(asks, nodes, len(m.nodes))
    running, slots = None, np.empty(0, np.int64)
    if with_running:
        running, slots = _running(m, partition, nodes, (held, lent), queues.lent, job_rows, now)
    return PlanView(Snapshot(AXES, seen, queues, users, jobs, asks, running), rows, nodes, slots)


def queues_of(m: "Memory", partition: int) -> Queues:
    """What the partition's queues may hold and have, as a plan sees it, but for what is lent to other partitions."""
    return _bounded(m, partition, _queues(m, partition))


def _queues(m: "Memory", partition: int) -> Queues:
    nodes, own = m.nodes_of(partition)
    return m.queues.view(m.partitions[partition], m.capacity(nodes[own]), m.ledger.queues[partition])


def _bounded(m: "Memory", partition: int, queues: Queues) -> Queues:
    """All of a partition is no limit: the default one may also use what is idle elsewhere. Half of nothing is not all
    of it, though: of what a partition lacks only the whole is no limit."""
    whole = queues.maximum >= queues.maximum[0]
    whole &= (queues.maximum[0] > 0) | m.queues.unlimited(m.partitions[partition])
    return replace(queues, maximum=np.where(whole, UNBOUNDED, queues.maximum))


def backfills(m: "Memory", rows: np.ndarray) -> bool:
    """Whether any of these rows of the ask table is of a queue that backfills, so that a plan must see what runs."""
    if m.queues.backfill is None:
        return False
    return bool(m.queues.backfill[m.ledger.leaf_of(m.asks.job[rows])].any())


def _nodes_for(m: "Memory", number: int, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Which of these nodes asks may use. Where what their job avoids is needed to hold them at all, that as well.

    number: of the mask. rows: of the ask table, of which some have it.
    """
    expression, near, racks, avoided = m.asks.masks[number]
    found: np.ndarray = m.mask((expression, near, racks, avoided))[nodes]
    if avoided:
        alive = nodes[found & (m.nodes.state[nodes] <= NodeState.UNHEALTHY)]
        if not _hold(m, alive, rows[m.asks.mask[rows] == number]):
            found = m.mask((expression, near, racks, ()))[nodes]
    return found


def _hold(m: "Memory", nodes: np.ndarray, rows: np.ndarray) -> bool:
    """Whether these nodes, if they were empty, could hold each of these asks: a gang whole, of others a container."""
    capacity = m.nodes.capacity[nodes]
    for row in rows.tolist():
        shape = np.array(m.asks.shapes[int(m.asks.shape[row])])
        needs = shape > 0
        units = (capacity[:, needs] // shape[needs]).min(axis=1, initial=UNBOUNDED) if len(nodes) else np.zeros(1)
        if units.sum() < (m.asks.count[row] if m.asks.gang[row] else 1):
            return False
    return True


def _with_lent(queues: Queues, amount: np.ndarray) -> Queues:
    """The queues and a row of what other partitions' containers hold, ``amount`` (R,)."""
    none = np.zeros((1, len(amount)), np.int64)
    used = np.concatenate((queues.used, amount[None]))
    used[0] += amount
    return Queues(
        [*queues.paths, LENT],
        np.append(queues.parent, 0).astype(queues.parent.dtype),
        np.concatenate((queues.guaranteed, none)),
        np.concatenate((queues.maximum, none + UNBOUNDED)),
        used,
        np.append(queues.weight, 1.0),
        np.append(queues.ordering, np.int8(Ordering.FIFO)),
        np.append(queues.preemptable, True),
        len(queues.paths),
        None if queues.owed is None else np.concatenate((queues.owed, none)),
        queues.settled,
        None if queues.backfill is None else np.append(queues.backfill, np.int8(Backfill.NONE)),
        None if queues.elsewhere is None else np.concatenate((queues.elsewhere, none > 0)),
    )


def _users_and_jobs(
    m: "Memory", partition: int, rows: np.ndarray, maximum: np.ndarray, held: np.ndarray | None
) -> tuple[Users, Jobs, np.ndarray, np.ndarray]:
    """Users and jobs of these asks, each ask's job, and the ledger rows of the jobs.

    held: slots of live containers, whose jobs come after those that ask.
    """
    ledger, of_ask = m.ledger, m.asks.job[rows]
    first = np.ones(len(rows), np.bool_)
    first[1:] = of_ask[1:] != of_ask[:-1]  # asks are in order of their jobs
    job_rows = of_ask[first]
    if held is not None:
        holds = np.zeros(len(ledger.jobs.user), np.bool_)
        holds[m.asks.job[m.containers.ask[held]]] = True
        holds[job_rows] = False
        job_rows = np.concatenate((job_rows, np.flatnonzero(holds).astype(job_rows.dtype)))
    user_rows, user = compact(ledger.jobs.user[job_rows])
    leaf = ledger.users.queue[user_rows]
    share = m.queues.user_maximum[leaf, None]
    most = np.where(share < 1, np.floor(maximum[leaf] * share + 1e-6), UNBOUNDED).astype(np.int64)
    return (
        Users(leaf, ledger.users.held[partition, user_rows], most),
        Jobs(user, ledger.jobs.priority[job_rows], ledger.jobs.held[partition, job_rows]),
        np.cumsum(first, dtype=np.int32) - np.int32(1),
        job_rows,
    )


def _reindexed(asks: Asks, nodes: np.ndarray, total: int) -> Asks:
    """The same asks, preferring positions among ``nodes`` instead of the whole table's."""
    position = np.full(total, -1, np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    near = position[asks.near]
    kept = np.concatenate(([0], np.cumsum(near >= 0))).astype(np.int32)
    return replace(asks, near=near[near >= 0], near_from=kept[asks.near_from])


def _running(
    m: "Memory",
    partition: int,
    nodes: np.ndarray,
    holders: tuple[np.ndarray, np.ndarray],
    lent: int,
    job_rows: np.ndarray,
    now: float,
) -> tuple[Running, np.ndarray]:
    """What runs on these nodes, and its slots. holders: as ``Memory.holders``. lent: row of the queues."""
    t, a = m.containers, m.asks
    slots = np.concatenate(holders)
    foreign = np.arange(len(slots)) >= len(holders[0])
    position = np.full(max(1, len(m.nodes)), -1, np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    node = position[t.node[slots]]
    if (elsewhere := node < 0).any():
        slots, foreign, node = slots[~elsewhere], foreign[~elsewhere], node[~elsewhere]
    job = a.job[t.ask[slots]]
    queue = m.ledger.leaf_of(job)
    of_row = np.full(len(m.ledger.jobs.user), -1, np.int32)
    of_row[job_rows] = np.arange(len(job_rows), dtype=np.int32)
    started = t.allocated_us[slots] / 1e6
    duration = a.duration[t.ask[slots]]
    ends, late = expected_ends(started, duration, now)
    stopping = t.want[slots] == Want.STOP
    ends[stopping] = now
    spared = stopping | (foreign & ~m.queues.preemptable[queue]) | m.warned_elsewhere(partition, t.id[slots])
    return (
        Running(
            t.id[slots],
            node,
            np.where(foreign, -1, of_row[job]).astype(np.int32),
            np.where(foreign, lent, queue).astype(np.int32),
            m.ledger.jobs.priority[job],
            m.containers_hold(slots),
            started,
            ends,
            spared,
            a.master[t.ask[slots]],
            late,
        ),
        slots,
    )


def without_maintenance(nodes: NodeTable, view: PlanView, now_us: int) -> PlanView:
    """The view without places in which an ask, by its estimate, would run into a maintenance window."""
    quiet, s = nodes.next_window_us[view.nodes], view.snapshot
    if not len(quiet) or quiet.min() >= NEVER_US:
        return view
    starts = np.unique(quiet[quiet < NEVER_US])
    ends_us = np.where(s.asks.duration > 0, now_us + s.asks.duration * 1e6, 0.0)
    met = np.searchsorted(starts, ends_us, side="left")  # windows that begin before the ask's containers would end
    kinds, mask = np.unique(np.stack((s.asks.mask, met), axis=1), axis=0, return_inverse=True)
    masks = [s.asks.masks[m] & ((quiet > starts[k - 1]) if k else True) for m, k in kinds.tolist()]
    table = np.array(masks, np.bool_).reshape(len(kinds), s.asks.masks.shape[1])
    asks = replace(s.asks, mask=mask.reshape(-1).astype(np.int32), masks=table)
    return replace(view, snapshot=replace(s, asks=asks))
