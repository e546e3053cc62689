"""Partitions of the nodes: sets with capacities of their own, chosen by label expressions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from controlplane.statestore.capacities import DEFAULT, R
from scheduler.core.nodeselection import Partition, partition_of_node


def ordered(stored: Mapping[str, Any] | None) -> tuple[Partition, ...]:
    """The document's partitions in the order in which nodes are matched: by rank, then by name."""
    found = sorted((p["rank"], name, p) for name, p in (stored or {}).items())
    return tuple(Partition(name, p["nodes"], p["exclusive"]) for _, name, p in found)


def capacity_of(partitions: Sequence[Partition], nodes: Iterable[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Capacity of each partition and of the default one: (R,) int64.

    nodes: (name, rack, labels, then amounts along the axis).
    """
    of, names = partition_of_node(partitions), [*(p.name for p in partitions), DEFAULT]
    rows: list[list[tuple[int, ...]]] = [[] for _ in names]
    for name, rack, own, *amounts in nodes:
        rows[of(name, rack, own)].append(tuple(amounts))
    return {p: np.array(found, np.int64).reshape(-1, R).sum(axis=0) for p, found in zip(names, rows, strict=True)}
