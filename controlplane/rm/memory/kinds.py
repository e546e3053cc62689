"""What this sub-cluster's nodes are, and what jobs need of nodes, as ``scheduler.federation.feasible`` judges them."""

from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from scheduler.federation.feasible import GroupNeed, NodeKind, NodeKinds
from wire.resources import AXES, amounts
from wire.states import terminal


def own_kinds(m: Memory, sub: int) -> NodeKinds:
    """The nodes of this sub-cluster that take containers, or may again; each by its name."""
    rows = [row for row in m.nodes.rows if not row.revoked and row.duty in ("in_service", "cordoned")]
    sizes = (amounts(getattr(row, axis) for axis in AXES) for row in rows)
    kinds = (NodeKind(sub, row.name, row.rack, row.labels, size) for row, size in zip(rows, sizes, strict=True))
    return NodeKinds(kinds, m.queues.partitions)


def needs_of(m: Memory, job: JobEntry) -> list[GroupNeed]:
    """What nodes must be like to hold the job's groups that have not ended."""
    return [need_of(m, group) for group in job.groups if not terminal(group.run.state)]


def need_of(m: Memory, group: GroupEntry) -> GroupNeed:
    """What nodes must be like to hold the group."""
    w = group.constraints
    partition = m.partitions[group.partition]
    return GroupNeed(group.run.count, group.amounts, w.gang, w.node_labels, w.strict, w.near, w.racks, partition)
