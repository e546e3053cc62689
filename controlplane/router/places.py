"""Which sub-clusters have what a job names: for routing by locality, and only there.

Nodes are looked up by name; racks and labels in the distinct sets there are,
read at most every ``FRESH_S`` and at most ``MAX_SETS`` of them.
"""

import threading
import time
from dataclasses import dataclass, field

from contract.jobspec import GroupSpec, JobSpec
from controlplane.statestore.models import Node
from wire import labels
from wire.states import NodeState

FRESH_S = 5.0
MAX_SETS = 5_000
_SETS = Node.objects.exclude(state=NodeState.DECOMMISSIONED).values_list("sub_cluster_id", "rack", "labels")


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


def owned(spec: JobSpec) -> dict[int, int]:
    """By sub-cluster: how many of the job's containers name a node, rack or label that is found there.

    Labels are a condition: a sub-cluster without them does not count, whatever
    else the group names. A group that names nothing counts nowhere.
    """
    found: dict[int, int] = {}
    named = {name for g in spec.groups for name in g.locality.nodes}
    nodes: dict[str, set[int]] = {name: set() for name in named}
    if named:
        there = Node.objects.exclude(state=NodeState.DECOMMISSIONED).filter(name__in=named)
        for name, sub in there.values_list("name", "sub_cluster_id"):
            nodes[name].add(sub)
    for group in spec.groups:
        for sub in _having(group, nodes):
            found[sub] = found.get(sub, 0) + group.count
    return found


def _having(group: GroupSpec, nodes: dict[str, set[int]]) -> set[int]:
    """Sub-clusters that have something the group names."""
    by_name = {sub for name in group.locality.nodes for sub in nodes[name]}
    if group.locality.racks:
        by_name |= {sub for sub, rack, _ in _sets() if rack in group.locality.racks}
    if not group.node_labels:
        return by_name
    fits = labels.parse(group.node_labels)
    by_label = {sub for sub, _, own in _sets() if fits(own)}
    named = group.locality.nodes or group.locality.racks
    return by_label & by_name if named and by_label & by_name else by_label


def _sets() -> list[tuple[int, str, labels.Labels]]:
    with _known.lock:
        if time.monotonic() - _known.read_at > FRESH_S:
            rows = _SETS.distinct()[:MAX_SETS]
            _known.sets = [(sub, rack, labels.of_node(own, "", rack)) for sub, rack, own in rows]
            _known.read_at = time.monotonic()
        return _known.sets
