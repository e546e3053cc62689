"""What is free of other sub-clusters for a queue's asks, as their load rows tell it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from controlplane.statestore.capacities import DEFAULT, R
from controlplane.statestore.loads import Load


@dataclass(frozen=True, slots=True)
class Headroom:
    """One partition's in s sub-clusters, whose numbers are ``subs``.

    free: (s, R) int64, what is neither used nor asked for; negative where more
    is asked for than there is. limits: l queues by whose maxima asks are kept
    waiting, ``VAIN`` among them; limited: (s, l, R) int64, how much. ``free`` is without it.
    """

    subs: list[int]
    free: np.ndarray
    limits: list[str]
    limited: np.ndarray

    @classmethod
    def of(cls, loads: Iterable[Load], partition: str) -> "Headroom":
        """Of those of these sub-clusters that have the partition."""
        known = [load for load in loads if partition in load.queues or partition == DEFAULT]
        tables = [load.limited.get(partition, ([], np.zeros((0, R), np.int64))) for load in known]
        limits = sorted({path for paths, _ in tables for path in paths})
        free, limited = np.zeros((len(known), R), np.int64), np.zeros((len(known), len(limits), R), np.int64)
        for at, (load, (paths, amounts)) in enumerate(zip(known, tables, strict=True)):
            p = load.queues.get(partition)
            free[at] = load.free - load.pending if p is None else p.free - p.pending.sum(axis=0)
            limited[at, [limits.index(path) for path in paths]] = amounts
        return cls([load.sub_cluster for load in known], free, limits, limited)

    def of_queue(self, path: str) -> np.ndarray:
        """(s, R) int64: what the queue's asks would not have to share with those that ask there already.

        Who waits in vain, or for the maximum of another queue, takes nothing of it.
        """
        others = [not f"{path}.".startswith(f"{limit}.") for limit in self.limits]
        found: np.ndarray = self.free + self.limited[:, others].sum(axis=1)
        return found
