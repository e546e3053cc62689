"""Room for containers on open nodes: what previews of drains count with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.statestore import nodesets
from controlplane.statestore.capacities import DEFAULT
from controlplane.statestore.models import PolicyVersion
from wire import labels
from wire.resources import AXES

Json = dict[str, Any]


@dataclass(slots=True)
class Room:
    """An open node and what is free there now. ``shared``: asks of the default partition may use it too."""

    name: str
    rack: str
    partition: str
    shared: bool
    labels: labels.Labels
    free: list[int]


def known_labels(node: Json) -> labels.Labels:
    """A node's labels as expressions see them."""
    return labels.of_node(node["labels"], node["name"], node["rack"])


def of(nodes: Iterable[Json], used: Mapping[int, Sequence[int]]) -> list[Room]:
    """Rooms of these node rows (id, name, rack, labels, capacities), less what is ``used`` on each. One query."""
    document = PolicyVersion.objects.filter(active=True).values_list("document", flat=True).first() or {}
    partitions = [(p, labels.parse(p.nodes)) for p in nodesets.ordered(document.get("partitions"))]
    found = []
    for n in nodes:
        known = known_labels(n)
        taken = used.get(n["id"], (0, 0, 0))
        own = next((p for p, test in partitions if test(known)), None)
        name, shared = (own.name, not own.exclusive) if own else (DEFAULT, True)
        left = [n[a] - u for a, u in zip(AXES, taken, strict=True)]
        found.append(Room(n["name"], n["rack"], name, shared, known, left))
    return found


def of_partition(rooms: list[Room], name: str) -> list[Room]:
    """Those that asks of this partition may use."""
    return [room for room in rooms if room.partition == name or (name == DEFAULT and room.shared)]


def allowed(group: Json, rooms: list[Room]) -> list[Room]:
    """Those that the group's labels and strict places allow."""
    test = labels.parse(group.get("node_labels") or "")
    locality = group.get("locality") or {}
    strict = not locality.get("relax", True)
    nodes, racks = locality.get("nodes", ()), locality.get("racks", ())
    return [r for r in rooms if test(r.labels) and (not strict or r.name in nodes or r.rack in racks)]


def fit(shape: list[int], wanted: int, group: Json, rooms: list[Room]) -> int:
    """How many such containers the rooms take, which from then on have that much less."""
    found = 0
    for room in allowed(group, rooms):
        if found == wanted:
            break
        k = min(wanted - found, *(free // need for free, need in zip(room.free, shape, strict=True) if need))
        if k > 0:
            room.free = [free - k * need for free, need in zip(room.free, shape, strict=True)]
            found += k
    return found


def nowhere(group: Json, shape: list[int], partition: str, elsewhere: Mapping[int, list[Room]], may: set[int]) -> str:
    """Why no node elsewhere could ever take such a container; empty when one could.

    elsewhere: by sub-cluster, empty nodes. may: to which sub-clusters its queue's policy lets it go.
    """
    if elsewhere and not may & elsewhere.keys():
        return "the policy of its queue sends its tasks to no other sub-cluster"
    there = [room for sub in sorted(may & elsewhere.keys()) for room in elsewhere[sub]]
    if not there:
        return "no other sub-cluster that takes work has an open node"
    usable = of_partition(there, partition)
    if not usable:
        return f"no node elsewhere is of partition {partition!r}"
    found = allowed(group, usable)
    if not found:
        strict = not (group.get("locality") or {}).get("relax", True)
        return "its strict places are only here" if strict else f"no node elsewhere matches: {group.get('node_labels')}"
    if not any(all(f >= need for f, need in zip(room.free, shape, strict=True)) for room in found):
        return "no such node elsewhere is large enough"
    return ""
