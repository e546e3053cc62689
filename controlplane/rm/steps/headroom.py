"""What is free of other sub-clusters for a queue's asks, as their load rows tell it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from controlplane.statestore.capacities import DEFAULT, R
from controlplane.statestore.loads import Load
from scheduler.shares.tree import lineage


@dataclass(frozen=True, slots=True)
class Headroom:
    """One partition's in s sub-clusters, whose numbers are ``subs``.

    free, unclaimed: (s, R) int64, what is not used, and what of it nobody waits for; negative where more is asked for
    than there is. limits: positions of l queues by whose maxima asks are kept waiting that are not counted in that,
    and of those whose asks wait in vain; limited: (s, l, R) int64, how much they want.
    """

    subs: list[int]
    free: np.ndarray
    unclaimed: np.ndarray
    limits: Mapping[str, int]
    limited: np.ndarray

    @classmethod
    def of(cls, loads: Iterable[Load], partition: str) -> "Headroom":
        """Of those of these sub-clusters that have the partition."""
        known = [load for load in loads if partition in load.queues or partition == DEFAULT]
        tables = [load.limited.tables.get(partition, ([], np.zeros((0, R), np.int64))) for load in known]
        limits: dict[str, int] = {}
        for paths, _ in tables:
            for path in paths:
                limits.setdefault(path, len(limits))
        free, pending = np.zeros((2, len(known), R), np.int64)
        limited = np.zeros((len(known), len(limits), R), np.int64)
        for at, (load, (paths, rows)) in enumerate(zip(known, tables, strict=True)):
            p = load.queues.get(partition)
            free[at] = load.free if p is None else p.free
            pending[at] = load.pending if p is None else p.pending.sum(axis=0)
            limited[at, [limits[path] for path in paths]] = rows
        return cls([load.sub_cluster for load in known], free, free - pending + limited.sum(axis=1), limits, limited)

    def binding(self, path: str) -> tuple[int, ...]:
        """Positions of the limits that are the queue's own, or of one above it."""
        return tuple(self.limits[above] for above in lineage(path) if above in self.limits)

    def of_queue(self, binding: tuple[int, ...]) -> np.ndarray:
        """(s, R) int64: what asks of a queue with these limits need not share with those that ask there already.

        Who waits in vain, or for the maximum of another queue, takes nothing of it. No more than is free, however old
        what one row tells of limits.
        """
        found: np.ndarray = np.minimum(self.unclaimed - self.limited[:, list(binding)].sum(axis=1), self.free)
        return found
