"""How much more each queue may use now: its own maximum and those of its ancestors."""

import numpy as np

from scheduler.core.snapshot import Queues


class Ceilings:
    """Room below the maxima, counted down as containers are placed.

    Problem: an ask of queue q for units of shape s may take at most
    ``min over ancestors a of q, resources r of (maximum[a, r] - used[a, r]) // s[r]``.
    """

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

    def allowed(self, queue: int, shape: np.ndarray) -> tuple[int, int]:
        """(units of ``shape`` the queue may still take, the queue that binds)."""
        path = self._ancestry[queue]
        asked = shape > 0
        if not asked.any():
            return np.iinfo(np.int64).max, queue
        units = (self.room[path][:, asked] // shape[asked]).min(axis=1)
        tightest = int(units.argmin())
        return max(0, int(units[tightest])), int(path[tightest])

    def take(self, queue: int, amount: np.ndarray) -> None:
        """``amount``: (r,) int64, placed in ``queue``."""
        self.room[self._ancestry[queue]] -= amount
