"""The most that any division could put to use: a maximum flow through the tree of queues to the sub-clusters.

An upper bound for what ``gif`` leaves idle, for tests and benchmarks: by Dinic's algorithm (1970), O(v^2 a) at worst
for v queues and sub-clusters and a places where a leaf has demand; one flow for each resource.
"""

import numpy as np

from scheduler.core.compiled import contiguous, kernel
from scheduler.shares.tree import ShareTree, is_leaf

_LEAST = 1e-9  # part of the largest capacity that is no capacity


def most_used(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """(r,) float64: the most that all queues together could hold. Arguments as of ``gif.shares``.

    Each leaf at most its demand in each sub-cluster, each queue at most its
    maximum, each sub-cluster at most its capacity; fairness does not count.
    """
    parent = contiguous(tree.parent, np.int32)
    leaf = is_leaf(parent)
    most = [
        _flow(*_arcs(parent, leaf, tree.maximum[:, i], demand[:, :, i], capacity[:, i]), capacity[:, i].max())
        for i in range(capacity.shape[1])
    ]
    return np.array(most)


def _arcs(
    parent: np.ndarray, leaf: np.ndarray, maximum: np.ndarray, demand: np.ndarray, capacity: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(tail, head, room of each arc, nodes): node 0 is where all begins, the last where it ends."""
    q, s = demand.shape
    row, where = np.nonzero(demand * leaf[:, None])
    tail = np.concatenate([parent + 1, row + 1, np.arange(s) + q + 1])
    head = np.concatenate([np.arange(q) + 1, where + q + 1, np.full(s, q + s + 1)])
    room = np.concatenate([maximum, demand[row, where], capacity]).astype(np.float64)
    return contiguous(tail, np.int64), contiguous(head, np.int64), room, q + s + 2


@kernel
def _flow(tail: np.ndarray, head: np.ndarray, room: np.ndarray, nodes: int, scale: float) -> float:
    """Dinic's maximum flow from node 0 to the last: all shortest paths, then all of the next length, and so on."""
    m = len(tail)
    first = np.zeros(nodes + 1, np.int64)
    for a in range(m):
        first[tail[a] + 1] += 1
        first[head[a] + 1] += 1
    for v in range(nodes):
        first[v + 1] += first[v]
    at, arcs = first[:-1].copy(), np.empty(2 * m, np.int64)  # arc a forward is 2a, backward 2a + 1
    for a in range(m):
        arcs[at[tail[a]]], arcs[at[head[a]]] = 2 * a, 2 * a + 1
        at[tail[a]] += 1
        at[head[a]] += 1
    left, total, least = np.zeros(2 * m), 0.0, _LEAST * scale
    for a in range(m):
        left[2 * a] = room[a]
    level, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    while _levels(tail, head, first, arcs, left, level, queue, least):
        at[:] = first[:-1]
        total += _block(tail, head, first, arcs, left, level, at, least)
    return total


@kernel
def _levels(
    tail: np.ndarray,
    head: np.ndarray,
    first: np.ndarray,
    arcs: np.ndarray,
    left: np.ndarray,
    level: np.ndarray,
    queue: np.ndarray,
    least: float,
) -> bool:
    """Write each node's distance from node 0 along arcs with room left; whether the last one is reached."""
    level[:] = -1
    level[0], queue[0], begin, end = 0, 0, 0, 1
    while begin < end:
        v = queue[begin]
        begin += 1
        for a in arcs[first[v] : first[v + 1]]:
            w = tail[a // 2] if a % 2 else head[a // 2]
            if left[a] > least and level[w] < 0:
                level[w] = level[v] + 1
                queue[end] = w
                end += 1
    return bool(level[-1] >= 0)


@kernel
def _block(
    tail: np.ndarray,
    head: np.ndarray,
    first: np.ndarray,
    arcs: np.ndarray,
    left: np.ndarray,
    level: np.ndarray,
    at: np.ndarray,
    least: float,
) -> float:
    """Send what fits along shortest paths until none is left; the amount sent."""
    total, depth, v = 0.0, 0, 0
    path = np.empty(len(level), np.int64)
    while True:
        if v == len(level) - 1:
            amount = np.inf
            for i in range(depth):
                amount = min(amount, left[path[i]])
            for i in range(depth):
                left[path[i]] -= amount
                left[path[i] ^ 1] += amount
            total += amount
            depth, v = 0, 0
            continue
        ahead = -1
        while at[v] < first[v + 1] and ahead < 0:
            a = arcs[at[v]]
            w = tail[a // 2] if a % 2 else head[a // 2]
            if left[a] > least and level[w] == level[v] + 1:
                ahead = w
                path[depth] = a
            else:
                at[v] += 1
        if ahead >= 0:
            depth, v = depth + 1, ahead
        elif depth == 0:
            return total
        else:
            depth -= 1
            a = path[depth]
            v = head[a // 2] if a % 2 else tail[a // 2]
            at[v] += 1
