"""Feasibility over sub-clusters: which of them could hold a job's containers at all, were their nodes empty.

Problem: say of each sub-cluster whether it has nodes for every group of a job,
by label, name, rack, partition and size, and for a gang by number; and if not,
why. What runs there now does not matter: who is feasible may still be full.

Nodes are told as kinds, each with how many there are, so that the cost is that
of the kinds. A kind whose labels nobody knows (what is beyond the bound of kinds that are
told singly) may have any, so that "cannot" is said only where it is true.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scheduler.core.nodeselection import NodeColumns, Partition, partition_of_node, usable_partitions
from wire import labels
from wire.resources import AXES, OF_AXIS, Amounts, amounts

ANY_NUMBER = 1 << 40  # containers of a shape that asks for nothing
REMEMBERED = 10_000  # answers kept


class NodeKind(NamedTuple):
    """``number`` of nodes that are alike. ``name``: of one whose name matters, else "". ``labels``: None if unknown."""

    sub_cluster: int
    name: str
    rack: str
    labels: labels.Labels | None
    capacity: Amounts
    number: int = 1


@dataclass(frozen=True, slots=True)
class GroupNeed:
    """What a group of ``count`` containers of ``shape`` needs. ``strict``: only nodes and racks that it names."""

    count: int
    shape: Amounts
    gang: bool = False
    node_labels: str = ""
    strict: bool = False
    nodes: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    partition: str = ""

    @property
    def at_once(self) -> int:
        """How many of its containers a sub-cluster must be able to hold."""
        return self.count if self.gang else min(1, self.count)

    @property
    def names(self) -> frozenset[str]:
        """Nodes that it speaks of by name."""
        return frozenset(self.nodes if self.strict else ()) | named_nodes(self.node_labels)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``held``: groups that the sub-cluster could hold, of ``groups``. ``why``: what it lacks for the first other."""

    held: int
    groups: int
    why: str = ""

    @property
    def feasible(self) -> bool:
        """Whether all of the job could run there."""
        return self.held == self.groups


def named_nodes(expression: str) -> frozenset[str]:
    """The nodes that a label expression speaks of by name; ``LabelError`` where it cannot be read."""
    return frozenset(_named(labels.tree(expression)))


def _named(e: labels.Expression) -> Iterable[str]:
    match e:
        case labels.Among("node", values):
            yield from values
        case labels.Not(inner):
            yield from _named(inner)
        case labels.Some(parts) | labels.Every(parts):
            for part in parts:
                yield from _named(part)


class NodeKinds:
    """The nodes of sub-clusters by kind. Nodes that partitions or groups speak of by name stand singly."""

    def __init__(self, kinds: Iterable[NodeKind], partitions: Sequence[Partition] = ()):
        self.kinds, self.partitions = list(kinds), tuple(partitions)
        self._columns = NodeColumns((kind.name, kind.rack, kind.labels or {}) for kind in self.kinds)
        self._unknown = np.array([kind.labels is None for kind in self.kinds], np.bool_)
        self._capacity = np.array([kind.capacity for kind in self.kinds], np.int64).reshape(-1, len(AXES))
        self._count = np.array([kind.number for kind in self.kinds], np.int64)
        self._sub = np.array([kind.sub_cluster for kind in self.kinds], np.int64)
        of = partition_of_node(self.partitions)
        found = [of(kind.name, kind.rack, kind.labels or {}) for kind in self.kinds]
        self._partition = np.array(found, np.int64)
        self._numbers = {p.name: number for number, p in enumerate(self.partitions)}
        self._known: dict[GroupNeed, dict[int, int]] = {}
        self._values: dict[str, frozenset[str]] | None = None

    def with_names(self, singly: Iterable[NodeKind]) -> "NodeKinds":
        """The same with these nodes told by name, which are counted among their kinds so far."""
        alone, counts = list(singly), self._count.tolist()
        at = {self._alike(kind): i for i, kind in reversed(list(enumerate(self.kinds)))}
        for kind in alone:
            i = at.get(self._alike(kind._replace(name="")))
            if i is not None:
                counts[i] -= 1
        rest = [kind._replace(number=n) for kind, n in zip(self.kinds, counts, strict=True)]
        return NodeKinds([*(kind for kind in rest if kind.number > 0), *alone], self.partitions)

    @staticmethod
    def _alike(kind: NodeKind) -> tuple[object, ...]:
        own = None if kind.labels is None else frozenset(kind.labels.items())
        return kind.sub_cluster, kind.name, kind.rack, own, tuple(kind.capacity)

    def containers(self, need: GroupNeed) -> dict[int, int]:
        """How many of its containers the nodes of each sub-cluster could hold at once; those that hold none left out.

        A group that differs from one asked before in its number only costs nothing.
        """
        key = GroupNeed(0, need.shape, False, need.node_labels, need.strict, need.nodes, need.racks, need.partition)
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            shape = np.array(need.shape, np.int64)
            asked = np.flatnonzero(shape)
            each = np.full(len(self._count), ANY_NUMBER, np.int64)
            if len(asked):
                each = (self._capacity[:, asked] // shape[asked]).min(axis=1)
            total: dict[int, int] = {}
            where = np.flatnonzero(self._usable(need) & (each > 0))
            for sub, n, count in zip(
                self._sub[where].tolist(), each[where].tolist(), self._count[where].tolist(), strict=True
            ):
                total[sub] = min(ANY_NUMBER, total.get(sub, 0) + n * count)
            self._known[key] = total
        return self._known[key]

    def verdicts(self, needs: Sequence[GroupNeed], subs: Iterable[int]) -> dict[int, Verdict]:
        """What each of these sub-clusters could hold of a job's groups."""
        room = [self.containers(need) for need in needs]
        return {sub: self._verdict(needs, [there.get(sub, 0) for there in room], sub) for sub in subs}

    def _verdict(self, needs: Sequence[GroupNeed], room: Sequence[int], sub: int) -> Verdict:
        lacking = [(need, n) for need, n in zip(needs, room, strict=True) if n < need.at_once]
        why = self._why(*lacking[0], sub) if lacking else ""
        return Verdict(len(needs) - len(lacking), len(needs), why)

    def largest(self, need: GroupNeed) -> Amounts | None:
        """The most of each resource that a node has which the group may use; None where it may use none."""
        usable = self._usable(need)
        return amounts(self._capacity[usable].max(axis=0).tolist()) if usable.any() else None

    def elsewhere(self, need: GroupNeed) -> dict[str, int]:
        """By partition, "" for none, how many nodes match that the group's own partition keeps it from using."""
        where = np.flatnonzero(self._selected(need) & ~self._within(need))
        names = [*(p.name for p in self.partitions), ""]
        found: dict[str, int] = {}
        for number, count in zip(self._partition[where].tolist(), self._count[where].tolist(), strict=True):
            found[names[number]] = found.get(names[number], 0) + count
        return found

    def values(self) -> dict[str, frozenset[str]] | None:
        """Of each label that nodes have, ``rack`` being one, the values; None where some nodes' labels are unknown."""
        if self._unknown.any():
            return None
        if self._values is None:
            found: dict[str, set[str]] = {"rack": set()}
            for kind in self.kinds:
                found["rack"].add(kind.rack)
                for name, value in (kind.labels or {}).items():
                    found.setdefault(name, set()).add(value)
            self._values = {name: frozenset(values) for name, values in found.items()}
        return self._values

    def _usable(self, need: GroupNeed) -> np.ndarray:
        """Kinds that the group may use: (k,) bool."""
        found: np.ndarray = (self._within(need) & self._selected(need)) | self._unknown
        return found

    def _within(self, need: GroupNeed) -> np.ndarray:
        number = self._numbers.get(need.partition, len(self.partitions))
        found: np.ndarray = np.isin(self._partition, usable_partitions(self.partitions, number))
        return found

    def _selected(self, need: GroupNeed) -> np.ndarray:
        return self._columns.of_ask(need.node_labels, need.strict, need.nodes, need.racks)

    def _why(self, need: GroupNeed, room: int, sub: int) -> str:
        """What the sub-cluster lacks for a group of which it could hold ``room`` containers at once."""
        here = self._sub == sub
        if room:
            return f"it needs {need.count:,} at once, and all of its nodes together hold {room:,}"
        if not here.any():
            return "it has no node in service"
        usable = here & self._usable(need)
        if not usable.any():
            return f"none of its nodes {_wanted(need)}"
        largest = self._capacity[usable].max(axis=0)
        for k, axis in enumerate(AXES):
            if need.shape[k] > largest[k]:
                most, asked = _number(axis, int(largest[k])), _number(axis, need.shape[k])
                unit = "MiB of " if OF_AXIS[axis].in_mib else ""
                return f"of the nodes it may use there the largest has {most} {unit}{OF_AXIS[axis].word}, asked {asked}"
        return "none of its nodes is large enough in every resource"


def _wanted(need: GroupNeed) -> str:
    wishes = [f"matches {need.node_labels!r}"] if need.node_labels else []
    if need.strict and (need.nodes or need.racks):
        wishes.append("is among those it names")
    if need.partition:
        wishes.append(f"is in partition {need.partition!r}")
    return " and ".join(wishes) or "is in the default partition"


def _number(axis: str, amount: int) -> str:
    known = OF_AXIS[axis]
    return f"{amount:,}" if known.in_mib else f"{amount / known.large:g}"


def best(verdicts: Mapping[int, Verdict]) -> set[int]:
    """The sub-clusters that could hold most groups; all of them where none holds any."""
    most = max((verdict.held for verdict in verdicts.values()), default=0)
    return {sub for sub, verdict in verdicts.items() if verdict.held == most}
