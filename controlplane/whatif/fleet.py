"""The machines of a simulation: every sub-cluster's nodes as they are now."""

from dataclasses import dataclass, field, fields

from controlplane.statestore.models import Node, SubCluster
from controlplane.whatif.history import rank
from simulator.workload import Machine
from wire.counts import counted
from wire.states import NodeState

_OUT = (NodeState.LOST, NodeState.DECOMMISSIONED)
_DESCRIBED = [each.name for each in fields(Machine)]


@dataclass(slots=True)
class Fleet:
    """sub_clusters: machines by name. nodes: the numbers of theirs. known: sub-clusters as they are, by number."""

    sub_clusters: dict[str, list[Machine]]
    nodes: dict[str, list[int]]
    known: dict[int, SubCluster]
    notes: list[str] = field(default_factory=list)

    @property
    def draining(self) -> list[str]:
        """Sub-clusters that operators empty now."""
        return [sub.name for sub in self.known.values() if sub.state == SubCluster.State.DRAINING]


def read(sample: float = 1.0, closed_too: bool = False) -> Fleet:
    """Nodes that may take containers; of each sub-cluster the part ``sample``, one at least. Two queries.

    closed_too: those also that take none now, as operators wish; they keep what runs there.
    """
    gone = (SubCluster.State.DECOMMISSIONED, SubCluster.State.LOST)
    subs = list(SubCluster.objects.exclude(state__in=gone).order_by("id"))
    names = {sub.pk: sub.name for sub in subs}
    found: dict[str, list[tuple[int, Machine]]] = {name: [] for name in names.values()}
    closed = 0
    rows = Node.objects.filter(sub_cluster__in=names).exclude(state__in=_OUT).order_by("id")
    for row in rows.values("id", "sub_cluster_id", *_DESCRIBED):
        number, sub = row.pop("id"), row.pop("sub_cluster_id")
        if row["duty"] != Node.Duty.IN_SERVICE and not closed_too:
            closed += 1
            continue
        found[names[sub]].append((number, Machine(**row)))
    left_out = counted(closed, "node takes no containers now", "nodes take no containers now")
    notes = [f"{left_out}, as operators wish, and left out."] if closed else []
    part = {name: _sampled(machines, sample) for name, machines in found.items()}
    return Fleet(
        {name: [machine for _, machine in kept] for name, kept in part.items()},
        {name: [number for number, _ in kept] for name, kept in part.items()},
        {sub.pk: sub for sub in subs},
        notes,
    )


def _sampled(machines: list[tuple[int, Machine]], sample: float) -> list[tuple[int, Machine]]:
    count = min(len(machines), max(1, round(len(machines) * sample)))
    kept = {number for number, _ in sorted(machines, key=lambda m: rank(m[0]))[:count]}
    return [(number, machine) for number, machine in machines if number in kept]
