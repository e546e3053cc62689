"""Partitions of the nodes: sets with capacities of their own, chosen by label expressions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.statestore.capacities import DEFAULT, R
from wire import labels


@dataclass(frozen=True, slots=True)
class Partition:
    """Nodes with capacities of their own. ``nodes``: the label expression that chooses them.

    ``exclusive``: only asks that name the partition may use them; otherwise
    what is idle there is open to the default partition's asks too.
    """

    name: str
    nodes: str
    exclusive: bool


def ordered(stored: Mapping[str, Any] | None) -> tuple[Partition, ...]:
    """The document's partitions in the order in which nodes are matched: by rank, then by name."""
    found = sorted((stored or {}).items(), key=lambda item: (item[1]["rank"], item[0]))
    return tuple(Partition(name, p["nodes"], p["exclusive"]) for name, p in found)


def capacity_of(partitions: Iterable[Partition], nodes: Iterable[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Capacity of each partition and of the default one: (R,) int64.

    nodes: (name, rack, labels, then amounts along the axis); a node belongs to
    the first partition whose expression it satisfies.
    """
    tests = [(p.name, labels.parse(p.nodes)) for p in partitions]
    rows: dict[str, list[tuple[int, ...]]] = {name: [] for name, _ in tests} | {DEFAULT: []}
    for name, rack, own, *amounts in nodes:
        known = labels.of_node(own, name, rack)
        rows[next((p for p, test in tests if test(known)), DEFAULT)].append(tuple(amounts))
    return {p: np.array(found, np.int64).reshape(-1, R).sum(axis=0) for p, found in rows.items()}
