"""Limits that are divided over sub-clusters: by how much they must rise, so that the part that counts in one does."""

from dataclasses import dataclass

import numpy as np

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class WholeLimits:
    """What queues may hold in one sub-cluster, and in all: (q, R) int64, the root's first. user_share: (q,) of it.

    A sub-cluster's part of a maximum is that of its nodes among all nodes, rounded so that the parts add up
    (``capacities.resolve_part``); a user has a share of what its queue may hold there.
    """

    here: np.ndarray
    everywhere: np.ndarray
    user_share: np.ndarray

    def queue_rise(self, lacks: np.ndarray) -> np.ndarray:
        """By how much a queue's maximum must rise in all: (R,). The part is rounded at both ends, so one unit more."""
        rise = -(-(lacks + 1) * self.everywhere[0] // np.maximum(self.here[0], 1))
        alone = self.here[0] >= self.everywhere[0]
        found: np.ndarray = np.where(lacks > 0, np.where(alone, lacks, np.maximum(rise, lacks)), 0)
        return found

    def user_rise(self, leaf: int, lacks: np.ndarray) -> np.ndarray:
        """By how much that which one user may hold of this queue must rise in all: (R,), no more than it takes."""
        here, everywhere, share = self.here[leaf], self.everywhere[leaf], self.user_share[leaf]
        held = np.floor(here * share + _ROUNDING)
        rise = np.ceil((held + lacks) * everywhere / np.maximum(here, 1) - everywhere * share - _ROUNDING)
        found: np.ndarray = np.where(lacks > 0, np.maximum(rise, 1), 0).astype(np.int64)
        return found
