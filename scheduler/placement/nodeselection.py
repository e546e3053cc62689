"""Which nodes a partition, a maintenance window or an ask is about: what RMs decide by, and previews foretell by."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

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
