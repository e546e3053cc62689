"""How much more each queue may use now: its own maximum and those of its ancestors."""

import numpy as np

from scheduler.core.snapshot import Queues


class Ceilings:
    """room: (q, r) int64 below each queue's own maximum, counted down as containers are placed; may be negative."""

    def __init__(self, queues: Queues):
        self.room = queues.maximum - queues.used
        self._ancestry = [self._path(queues.parent, q) for q in range(len(queues.paths))]

    @staticmethod
    def _path(parent: np.ndarray, q: int) -> np.ndarray:
        path = []
        while q >= 0:
            path.append(q)
            q = int(parent[q])
        return np.array(path, np.int32)

    def take(self, queue: int, amount: np.ndarray) -> None:
        """``amount``: (r,) int64, placed in ``queue``."""
        self.room[self._ancestry[queue]] -= amount
