"""The order in which asks are served: the entity that holds the smallest part of its share first.

As DRF (Ghodsi et al., NSDI '11) offers resources to whom has the least dominant share, and once for a whole pass. Cost:
two counting sorts, O(a + e + p) for a span of p priorities.
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.core.entities import Entities
from scheduler.core.snapshot import Ordering, Snapshot

PRIORITY = int(Ordering.PRIORITY)


def service_order(s: Snapshot, rows: Entities, held: np.ndarray) -> np.ndarray:
    """Asks in the order they are served: (a,) int32.

    Rows that hold the smallest part of their share first (``held`` (e,)); in a
    row by priority where its leaf says so, then by submission.
    """
    rank = np.empty(len(held), np.int32)
    rank[np.argsort(held, kind="stable")] = np.arange(len(held), dtype=np.int32)
    order = np.empty(len(rows.ask_entity), np.int32)
    sort_asks(rank, rows.ask_entity, s.asks.job, s.jobs.user, s.jobs.priority, s.users.queue, s.queues.ordering, order)
    return order


@kernel
def sort_asks(
    rank: np.ndarray,
    ask_entity: np.ndarray,
    job: np.ndarray,
    user: np.ndarray,
    priority: np.ndarray,
    queue: np.ndarray,
    ordering: np.ndarray,
    order: np.ndarray,
) -> None:
    """Fill ``order`` (a,) int32: by descending priority and then by rank, both counted, so that equals keep theirs.

    rank: (e,) int32, each once. ask_entity, job: (a,) int32. user, priority: (j,) int32. queue: (u,) int32.
    ordering: (q,) int8.
    """
    a = len(ask_entity)
    least, most = np.int64(0), np.int64(0)
    weight = np.zeros(a, np.int64)
    for i in range(a):
        if ordering[queue[user[job[i]]]] == PRIORITY:
            weight[i] = priority[job[i]]
            least, most = min(least, weight[i]), max(most, weight[i])
    start = np.zeros(most - least + 2, np.int64)
    for i in range(a):
        start[most - weight[i] + 1] += 1
    for x in range(most - least + 1):
        start[x + 1] += start[x]
    by_priority = np.empty(a, np.int32)
    for i in range(a):
        x = most - weight[i]
        by_priority[start[x]] = i
        start[x] += 1
    begin = np.zeros(len(rank) + 1, np.int64)
    for i in range(a):
        begin[rank[ask_entity[i]] + 1] += 1
    for x in range(len(rank)):
        begin[x + 1] += begin[x]
    for k in range(a):
        i = by_priority[k]
        at = rank[ask_entity[i]]
        order[begin[at]] = i
        begin[at] += 1
