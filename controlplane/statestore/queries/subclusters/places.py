"""Which sub-clusters have what jobs name, and which could hold them at all: for routing.

Nodes are read by kind, those that are alike together: at most ``MAX_KINDS`` of
each sub-cluster, the most frequent, and the rest as one whose labels nobody
knows; at most every ``FRESH_S``. Nodes that somebody speaks of by name are looked up singly.
"""

import json
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from controlplane.statestore.models import Node
from controlplane.statestore.resourcecolumns import per_axis
from scheduler.core.nodeselection import Partition, partition_of_ask
from scheduler.federation.feasible import GroupNeed, NodeKind, NodeKinds, Verdict, named_nodes
from wire import labels
from wire.resources import AXES, amounts
from wire.states import LIVE_NODE_MAX, TERMINAL, NodeState

FRESH_S = 5.0
MAX_KINDS = 1_000
NAMES_MAX = 500  # compared with one that nobody has
# Those that operators empty take nothing any more; one that is cordoned or unhealthy may do so again.
_OPEN = f"state <= {LIVE_NODE_MAX} AND duty IN ('in_service', 'cordoned')"
_KINDS = f"""
WITH kinds AS (
    SELECT sub_cluster_id, CASE WHEN name = ANY(%(names)s) THEN name ELSE '' END AS name, rack, labels,
           {per_axis("{0}")}, count(*) AS nodes
      FROM statestore_node WHERE {_OPEN} GROUP BY 1, 2, 3, 4, {per_axis("{0}")}),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY sub_cluster_id ORDER BY (name <> '') DESC, nodes DESC, rack) AS nth
      FROM kinds)
SELECT sub_cluster_id, name, rack, labels, nodes, {per_axis("{0}")} FROM ranked WHERE nth <= %(most)s
 UNION ALL
SELECT sub_cluster_id, '', '', NULL, sum(nodes)::bigint, {per_axis("max({0})")}
  FROM ranked WHERE nth > %(most)s GROUP BY 1
"""
_NAMED = """
SELECT j.id, (g ->> 'count')::int, g -> 'locality' -> 'nodes', g -> 'locality' -> 'racks', g ->> 'node_labels'
  FROM statestore_job j, jsonb_array_elements(j.spec -> 'groups') g
 WHERE j.id = ANY(%s) AND (coalesce(g ->> 'node_labels', '') <> ''
       OR g -> 'locality' -> 'nodes' <> '[]' OR g -> 'locality' -> 'racks' <> '[]')
"""
_LIKE = """
SELECT name FROM statestore_node
 WHERE state <> %(gone)s AND length(name) BETWEEN length(%(name)s) - 2 AND length(%(name)s) + 2
 ORDER BY left(name, %(beginning)s) = left(%(name)s, %(beginning)s) DESC, name LIMIT %(most)s
"""
# What an application asked for itself stands beside its specification.
_NEEDS = f"""
SELECT g.job_id, g.count - g.succeeded - g.failed - g.killed, ARRAY[{per_axis("g.{0}")}]::bigint[],
       coalesce((s.body ->> 'gang')::boolean, false), coalesce(s.body ->> 'node_labels', ''),
       NOT coalesce((s.body -> 'locality' ->> 'relax')::boolean, true), coalesce(s.body -> 'locality' -> 'nodes', '[]'),
       coalesce(s.body -> 'locality' -> 'racks', '[]'), s.body ->> 'partition', q.default_partition
  FROM statestore_taskgroup g JOIN statestore_job j ON j.id = g.job_id
  LEFT JOIN statestore_policyversion v ON v.active
  LEFT JOIN statestore_queue q ON q.version_id = v.id AND q.path = j.queue,
       LATERAL (SELECT j.spec -> 'groups' -> g.no AS body) s
 WHERE g.job_id = ANY(%s) AND g.state < {TERMINAL} ORDER BY g.job_id, g.no
"""


@dataclass(frozen=True, slots=True)
class Named:
    """What a group of ``count`` tasks names: nodes, racks, and an expression of labels."""

    count: int
    nodes: Sequence[str] = ()
    racks: Sequence[str] = ()
    node_labels: str = ""


@dataclass(slots=True)
class _Known:
    """kinds: with the partitions that were in force."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    read_at: float = -1e9
    kinds: NodeKinds = field(default_factory=lambda: NodeKinds(()))
    sets: list[tuple[int, str, labels.Labels]] = field(default_factory=list)


_known = _Known()


def forget() -> None:
    """Read anew next time."""
    with _known.lock:
        _known.read_at = -1e9


def of_jobs(jobs: Sequence[int]) -> dict[int, list[Named]]:
    """What the groups of stored jobs name; jobs that name nothing are left out. One query."""
    found: dict[int, list[Named]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_NAMED, [list(jobs)])
        for job, count, nodes, racks, expression in cursor.fetchall():
            named = Named(count, json.loads(nodes or "[]"), json.loads(racks or "[]"), expression or "")
            found.setdefault(job, []).append(named)
    return found


def owned(jobs: Mapping[int, Iterable[Named]]) -> dict[int, dict[int, int]]:
    """By job and sub-cluster: how many of its containers name a node, rack or label that is found there.

    Labels are a condition: a sub-cluster without them does not count, whatever
    else the group names. A group that names nothing counts nowhere. Two queries at most.
    """
    names = {name for groups in jobs.values() for group in groups for name in group.nodes}
    nodes: dict[str, set[int]] = {name: set() for name in names}
    if names:
        there = Node.objects.exclude(state=NodeState.DECOMMISSIONED).filter(name__in=names)
        for name, sub in there.values_list("name", "sub_cluster_id"):
            nodes[name].add(sub)
    found: dict[int, dict[int, int]] = {}
    for job, groups in jobs.items():
        counts = found.setdefault(job, {})
        for group in groups:
            for sub in _having(group, nodes):
                counts[sub] = counts.get(sub, 0) + group.count
    return found


def _having(group: Named, nodes: dict[str, set[int]]) -> set[int]:
    """Sub-clusters that have something the group names."""
    by_name = {sub for name in group.nodes for sub in nodes[name]}
    if group.racks:
        by_name |= {sub for sub, rack, _ in _sets() if rack in group.racks}
    if not group.node_labels:
        return by_name
    fits = labels.parse(group.node_labels)
    by_label = {sub for sub, _, own in _sets() if fits(own)}
    named = group.nodes or group.racks
    return by_label & by_name if named and by_label & by_name else by_label


def _sets() -> list[tuple[int, str, labels.Labels]]:
    """(sub-cluster, rack, labels as expressions see them) of the kinds that are known."""
    with _known.lock:
        _refresh(_known.kinds.partitions)
        return _known.sets


def _refresh(partitions: Sequence[Partition]) -> None:
    if time.monotonic() - _known.read_at <= FRESH_S and _known.kinds.partitions == tuple(partitions):
        return
    names = [name for p in partitions for name in named_nodes(p.nodes)]
    with connection.cursor() as cursor:
        cursor.execute(_KINDS, {"names": names, "most": MAX_KINDS})
        rows = [_kind(*row) for row in cursor.fetchall()]
    _known.kinds = NodeKinds(rows, partitions)
    _known.sets = [
        (kind.sub_cluster, kind.rack, labels.of_node(kind.labels, kind.name, kind.rack))
        for kind in rows
        if kind.labels is not None
    ]
    _known.read_at = time.monotonic()


def _kind(sub: int, name: str, rack: str, own: str | None, number: int, *sizes: int) -> NodeKind:
    known = None if own is None else json.loads(own)
    return NodeKind(sub, name, rack, known, amounts(sizes), number)


def kinds(names: Collection[str], partitions: Sequence[Partition]) -> NodeKinds:
    """The nodes of all sub-clusters that take containers, or may again; these ones by name. Two queries at most."""
    with _known.lock:
        _refresh(partitions)
        known = _known.kinds
    if not names:
        return known
    there = Node.objects.filter(
        name__in=names, state__lte=LIVE_NODE_MAX, duty__in=(Node.Duty.IN_SERVICE, Node.Duty.CORDONED)
    )
    single = {(kind.sub_cluster, kind.name) for kind in known.kinds if kind.name}
    found = [
        NodeKind(node.sub_cluster_id, node.name, node.rack, node.labels, amounts(getattr(node, a) for a in AXES))
        for node in there.only("sub_cluster_id", "name", "rack", "labels", *AXES)
        if (node.sub_cluster_id, node.name) not in single
    ]
    return known.with_names(found) if found else known


def registered(names: Collection[str]) -> set[str]:
    """Those of the names that nodes have, in service or not. One query, none without names."""
    if not names:
        return set()
    there = Node.objects.exclude(state=NodeState.DECOMMISSIONED).filter(name__in=names)
    return set(there.values_list("name", flat=True))


def names_like(name: str) -> list[str]:
    """Up to ``NAMES_MAX`` nodes about as long as this, first those that begin as it does. One query."""
    beginning = max(1, len(name) // 2)
    with connection.cursor() as cursor:
        cursor.execute(
            _LIKE, {"name": name, "beginning": beginning, "gone": NodeState.DECOMMISSIONED, "most": NAMES_MAX}
        )
        return [found for (found,) in cursor.fetchall()]


def needs_of_jobs(jobs: Sequence[int], partitions: Sequence[Partition]) -> dict[int, list[GroupNeed]]:
    """What the groups of stored jobs that have not ended need still. One query."""
    found: dict[int, list[GroupNeed]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_NEEDS, [list(jobs)])
        for job, count, shape, gang, expression, strict, nodes, racks, wished, usual in cursor.fetchall():
            partition = partition_of_ask(partitions, wished, usual or "")
            named = tuple(json.loads(nodes)), tuple(json.loads(racks))
            need = GroupNeed(count, amounts(shape), gang, expression, strict, *named, partition)
            found.setdefault(job, []).append(need)
    return found


def verdicts(
    needs: Mapping[int, Sequence[GroupNeed]], subs: Collection[int], partitions: Sequence[Partition]
) -> dict[int, dict[int, Verdict]]:
    """By job, whether each of these sub-clusters could hold its groups. Two queries at most, however many jobs."""
    names = {name for groups in needs.values() for group in groups for name in group.names}
    known = kinds(names, partitions)
    return {job: known.verdicts(groups, subs) for job, groups in needs.items()}
