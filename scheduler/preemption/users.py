"""What each user of a leaf queue would hold if what its users hold together were divided fairly among them.

Who holds more gives way, and is served after those who hold less; else he
would only take back what he gave.
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.ideal import level
from scheduler.shares.tree import demand_of

_LITTLE = 1e-6  # of a resource unit: what rounding may cost


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


def above_part(s: Snapshot) -> np.ndarray:
    """Users who hold more of something than their part: (u,) bool."""
    user, everybody = s.jobs.user[s.asks.job], np.ones(len(s.asks.count), np.bool_)
    wanted = demand_of(user, s.asks.shape, s.asks.count, everybody, s.asks.shapes, s.users.used) - s.users.used
    order = np.argsort(s.users.queue, kind="stable")
    part = user_parts(s.users.queue, order, s.users.used.astype(np.float64), wanted.astype(np.float64))
    return np.asarray((s.users.used > part + _LITTLE).any(axis=1))


def behind_others(s: Snapshot, entity: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The order, but for users above their part, who come after the others of equal priority: (a,) int32.

    entity: (a,) int32, the row of the share tree of each ask. order: (a,) int32, asks as they would be served.
    """
    last = above_part(s)[s.jobs.user[s.asks.job[order]]]
    if not last.any() or last.all():
        return order
    priority = np.where(s.queues.ordering[s.ask_queue] == Ordering.PRIORITY, s.jobs.priority[s.asks.job], 0)[order]
    line = entity[order]
    class_ = np.cumsum((line[1:] != line[:-1]) | (priority[1:] != priority[:-1]), dtype=np.int64)
    moved: np.ndarray = order[np.argsort(np.append(0, class_) * 2 + last, kind="stable")]
    return moved
