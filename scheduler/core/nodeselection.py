"""Which nodes a partition, a maintenance window or an ask is about: what RMs decide by, and previews foretell by."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from wire import labels

NodePredicate = Callable[[str, str, labels.Labels], bool]  # whether a node of this name, rack and labels is meant


@dataclass(frozen=True, slots=True)
class Partition:
    """Nodes with capacities of their own. ``nodes``: the label expression that chooses them.

    ``exclusive``: only asks that name the partition may use them; otherwise
    what is idle there is open to the default partition's asks too.
    """

    name: str
    nodes: str
    exclusive: bool


def matching_nodes(expression: str) -> NodePredicate:
    """Nodes that satisfy a label expression; the empty one: all."""
    if not expression:
        return lambda name, rack, own: True
    test = labels.parse(expression)
    return lambda name, rack, own: test(labels.of_node(own, name, rack))


def window_nodes(node: str, rack: str, expression: str) -> NodePredicate:
    """Nodes of a maintenance window: the one it names, else a rack's, else those that match; all where it says none."""
    if node:
        return lambda name, _, own: name == node
    if rack:
        return lambda name, of, own: of == rack
    return matching_nodes(expression)


def ask_nodes(expression: str, strict: bool, nodes: Collection[str], racks: Collection[str]) -> NodePredicate:
    """Nodes that an ask may use at all. strict: those it names, by themselves or by rack, where it names any."""
    test = matching_nodes(expression)
    if not strict or not (nodes or racks):
        return test
    return lambda name, rack, own: (name in nodes or rack in racks) and test(name, rack, own)


class NodeColumns:
    """Nodes by name, rack and labels, so that an expression is worked out for all of them at once.

    A term takes microseconds for thousands of nodes, and one about a label that no node has takes none of them.
    """

    def __init__(self, nodes: Iterable[tuple[str, str, labels.Labels]]):
        seen = [labels.of_node(own, name, rack) for name, rack, own in nodes]
        self._none = np.zeros(len(seen), np.bool_)
        self._values: dict[str, dict[str, int]] = {}  # label -> value -> its number
        self._has: dict[str, np.ndarray] = {}
        self._codes: dict[str, np.ndarray] = {}  # label -> (n,) int32, the number of each node's value; -1: it has none
        for at, own in enumerate(seen):
            for label, value in own.items():
                numbers = self._values.setdefault(label, {})
                if label not in self._codes:
                    self._codes[label] = np.full(len(seen), -1, np.int32)
                self._codes[label][at] = numbers.setdefault(value, len(numbers))

    def of_ask(self, expression: str, strict: bool, nodes: Collection[str], racks: Collection[str]) -> np.ndarray:
        """Which of the nodes ``ask_nodes`` would choose: (n,) bool, the caller's own."""
        found = self._matching(labels.tree(expression)).copy()
        if strict and (nodes or racks):
            found &= self._among("node", nodes) | self._among("rack", racks)
        return found

    def _matching(self, e: labels.Expression) -> np.ndarray:
        match e:
            case labels.Has(name):
                if name in self._values and name not in self._has:
                    self._has[name] = self._among(name, filter(labels.truthy, self._values[name]))
                return self._has.get(name, self._none)
            case labels.Among(name, values):
                return self._among(name, values)
            case labels.Not(inner):
                return ~self._matching(inner)
            case labels.Some(parts):
                return reduce(np.logical_or, map(self._matching, parts))
            case labels.Every(parts):
                return reduce(np.logical_and, map(self._matching, parts), ~self._none)

    def _among(self, label: str, values: Iterable[str]) -> np.ndarray:
        numbers = self._values.get(label, {})
        wanted = [numbers[value] for value in values if value in numbers]
        if not wanted:
            return self._none
        chosen = np.zeros(len(numbers) + 1, np.bool_)  # the last is what -1 finds
        chosen[wanted] = True
        found: np.ndarray = chosen[self._codes[label]]
        return found


def partition_of_node(partitions: Sequence[Partition]) -> Callable[[str, str, labels.Labels], int]:
    """In which of these a node is: the first whose expression it satisfies; their number for the default partition."""
    tests = [labels.parse(p.nodes) for p in partitions]

    def of(name: str, rack: str, own: labels.Labels) -> int:
        known = labels.of_node(own, name, rack) if tests else own
        return next((number for number, test in enumerate(tests) if test(known)), len(tests))

    return of


def usable_partitions(partitions: Sequence[Partition], number: int) -> list[int]:
    """The partitions whose nodes asks of partition ``number`` may use; of the default one also those that share."""
    if number < len(partitions):
        return [number]
    return [n for n, p in enumerate(partitions) if not p.exclusive] + [number]


def partition_of_ask(partitions: Iterable[Partition], wished: str | None, usual: str) -> str:
    """The partition an ask goes to: the one it names, or its queue's ``usual``; the default one where that is gone."""
    name = usual if wished is None else wished
    return name if any(p.name == name for p in partitions) else ""
