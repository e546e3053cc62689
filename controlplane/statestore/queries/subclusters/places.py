"""Which sub-clusters have what jobs name: for routing by locality, and only there.

Nodes are looked up by name; racks and labels in the distinct sets there are,
read at most every ``FRESH_S`` and at most ``MAX_SETS`` of them.
"""

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from controlplane.statestore.models import Node
from wire import labels
from wire.states import NodeState

FRESH_S = 5.0
MAX_SETS = 5_000
_SETS = Node.objects.exclude(state=NodeState.DECOMMISSIONED).values_list("sub_cluster_id", "rack", "labels")
_NAMED = """
SELECT j.id, (g ->> 'count')::int, g -> 'locality' -> 'nodes', g -> 'locality' -> 'racks', g ->> 'node_labels'
  FROM statestore_job j, jsonb_array_elements(j.spec -> 'groups') g
 WHERE j.id = ANY(%s) AND (coalesce(g ->> 'node_labels', '') <> ''
       OR g -> 'locality' -> 'nodes' <> '[]' OR g -> 'locality' -> 'racks' <> '[]')
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
    """``sets``: (sub-cluster, rack, labels as expressions see them)."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    read_at: float = -1e9
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
    with _known.lock:
        if time.monotonic() - _known.read_at > FRESH_S:
            rows = _SETS.distinct()[:MAX_SETS]
            _known.sets = [(sub, rack, labels.of_node(own, "", rack)) for sub, rack, own in rows]
            _known.read_at = time.monotonic()
        return _known.sets
