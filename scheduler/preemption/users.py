"""What each user of a leaf queue would hold if what its users hold together were divided fairly among them.

Weighted max-min with equal weights, for each resource by itself, among the users of a leaf: what they hold is the
amount, what each holds and wants his demand. Who holds more gives way, and is served after those who hold less; else
he would only take back what he gave. Cost: one search for a level (``ideal.divide_max_min``) a leaf and resource.
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.ideal import divide_max_min
from scheduler.shares.tree import entity_demand

_LITTLE = 1e-6  # of a resource unit: what rounding may cost


@kernel
def fair_user_shares(queue: np.ndarray, order: np.ndarray, used: np.ndarray, wanted: np.ndarray) -> np.ndarray:
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
            parts = divide_max_min(none, ones, none, high, low.sum())
            for j in range(len(rows)):
                out[rows[j], k] = parts[j]
    return out


def above_fair_share(s: Snapshot) -> np.ndarray:
    """Users who hold more of something than their part: (u,) bool."""
    user, everybody = s.jobs.user[s.asks.job], np.ones(len(s.asks.count), np.bool_)
    wanted = entity_demand(user, s.asks.shape, s.asks.count, everybody, s.asks.shapes, s.users.used) - s.users.used
    order = np.argsort(s.users.queue, kind="stable")
    part = fair_user_shares(s.users.queue, order, s.users.used.astype(np.float64), wanted.astype(np.float64))
    return np.asarray((s.users.used > part + _LITTLE).any(axis=1))


def users_above_share_last(s: Snapshot, entity: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The order, but for users above their part, who come after the others of equal priority: (a,) int32.

    entity: (a,) int32, the row of the share tree of each ask. order: (a,) int32, asks as they would be served.
    """
    last = above_fair_share(s)[s.jobs.user[s.asks.job[order]]]
    if not last.any() or last.all():
        return order
    priority = np.where(s.queues.ordering[s.ask_queue] == Ordering.PRIORITY, s.jobs.priority[s.asks.job], 0)[order]
    row = entity[order]
    class_ = np.cumsum((row[1:] != row[:-1]) | (priority[1:] != priority[:-1]), dtype=np.int64)
    moved: np.ndarray = order[np.argsort(np.append(0, class_) * 2 + last, kind="stable")]
    return moved
