"""What each user of a leaf queue would hold if what its users hold together were divided fairly among them."""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.preemption.ideal import level


@kernel
def user_parts(queue: np.ndarray, order: np.ndarray, used: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(u, r) float64. queue: (u,) int32; order: (u,) int64, by queue.

    used, wanted: (u, r) float64, wanted beyond what is used.
    """
    out = used.copy()
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and queue[order[end]] == queue[order[begin]]:
            end += 1
        rows = order[begin:end]
        begin = end
        if len(rows) == 1:
            continue
        ones, none = np.ones(len(rows)), np.zeros(len(rows))
        for k in range(used.shape[1]):
            low = np.empty(len(rows))
            high = np.empty(len(rows))
            for j in range(len(rows)):
                low[j] = used[rows[j], k]
                high[j] = low[j] + wanted[rows[j], k]
            parts = level(none, ones, none, high, low.sum())
            for j in range(len(rows)):
                out[rows[j], k] = parts[j]
    return out
