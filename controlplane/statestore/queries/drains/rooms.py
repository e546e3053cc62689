"""Room for containers on open nodes: what previews of drains count with."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from django.db import connection

from contract.stored import StoredGroup
from controlplane.statestore import nodesets
from controlplane.statestore.capacities import DEFAULT
from controlplane.statestore.models import PolicyVersion
from controlplane.statestore.resourcecolumns import per_axis_held
from scheduler.core.nodeselection import Partition, ask_nodes, partition_of_node, usable_partitions
from wire import labels
from wire.resources import AXES, NOTHING

Json = dict[str, Any]
Reach = Callable[[str, Sequence[int]], Collection[int]]  # of a queue: to which of these its jobs' tasks may go


class Constraints(NamedTuple):
    """Which nodes a group may use, as ``ask_nodes`` takes it."""

    node_labels: str
    strict: bool
    nodes: tuple[str, ...]
    racks: tuple[str, ...]

    @classmethod
    def of(cls, group: StoredGroup) -> "Constraints":
        return cls(group.node_labels, not group.relax, group.nodes, group.racks)


@dataclass(slots=True)
class Room:
    """An open node and what is free there now. ``shared``: asks of the default partition may use it too."""

    name: str
    rack: str
    partition: str
    shared: bool
    labels: labels.Labels
    free: list[int]


def of(nodes: Iterable[Json], used: Mapping[int, Sequence[int]]) -> list[Room]:
    """Rooms of these node rows (id, name, rack, labels, capacities), less what is ``used`` on each. One query."""
    return divided(partitions(), nodes, used)


def used(by: Literal["node_id", "sub_cluster_id"], ids: Iterable[int]) -> dict[int, list[int]]:
    """What containers hold of each axis on these nodes or in these sub-clusters, where there are any. One query."""
    sums = f"""SELECT {by}, {per_axis_held("sum({1})::bigint")}
  FROM statestore_container WHERE {by} = ANY(%s) GROUP BY 1"""
    with connection.cursor() as cursor:
        cursor.execute(sums, [list(ids)])
        return {number: amounts for number, *amounts in cursor.fetchall()}


def partitions() -> tuple[Partition, ...]:
    """Those of the policy in force. One query."""
    document = PolicyVersion.objects.filter(active=True).values_list("document__partitions", flat=True).first()
    return nodesets.ordered(document)


def divided(known: Sequence[Partition], nodes: Iterable[Json], used: Mapping[int, Sequence[int]]) -> list[Room]:
    """As ``of``, with these partitions."""
    number_of, names = partition_of_node(known), [*(p.name for p in known), DEFAULT]
    of_default = usable_partitions(known, len(known))
    found = []
    for n in nodes:
        own = number_of(n["name"], n["rack"], n["labels"])
        left = [n[a] - u for a, u in zip(AXES, used.get(n["id"], NOTHING), strict=True)]
        found.append(Room(n["name"], n["rack"], names[own], own in of_default, n["labels"], left))
    return found


def of_partition(rooms: list[Room], name: str) -> list[Room]:
    """Those that asks of this partition may use."""
    return [room for room in rooms if room.partition == name or (name == DEFAULT and room.shared)]


def allowed(constraints: Constraints, rooms: list[Room]) -> list[Room]:
    """Those that the labels and strict places allow."""
    may = ask_nodes(*constraints)
    return [room for room in rooms if may(room.name, room.rack, room.labels)]


def fit(shape: list[int], wanted: int, constraints: Constraints, rooms: list[Room]) -> int:
    """How many such containers the rooms take, which from then on have that much less."""
    found = 0
    for room in allowed(constraints, rooms):
        if found == wanted:
            break
        k = min(wanted - found, *(free // need for free, need in zip(room.free, shape, strict=True) if need))
        if k > 0:
            room.free = [free - k * need for free, need in zip(room.free, shape, strict=True)]
            found += k
    return found


def nowhere(
    constraints: Constraints, shape: list[int], partition: str, elsewhere: Mapping[int, list[Room]], may: set[int]
) -> str:
    """Why no node elsewhere could ever take such a container; empty when one could.

    elsewhere: by sub-cluster, empty nodes. may: to which sub-clusters its queue's policy lets it go.
    """
    if elsewhere and not may & elsewhere.keys():
        return "the policy of its queue sends its tasks to no other sub-cluster"
    there = [room for sub in sorted(may & elsewhere.keys()) for room in elsewhere[sub]]
    if not there:
        return "no other sub-cluster that takes work has an open node"
    of_it = of_partition(there, partition)
    if not of_it:
        return f"no node elsewhere is of partition {partition!r}"
    found = allowed(constraints, of_it)
    if not found:
        strict, expression = constraints.strict, constraints.node_labels
        return "its strict places are only here" if strict else f"no node elsewhere matches: {expression}"
    if not any(all(f >= need for f, need in zip(room.free, shape, strict=True)) for room in found):
        return "no such node elsewhere is large enough"
    return ""
