"""Snapshots for benchmarks that need no queues to speak of."""

import numpy as np

from scheduler.core.snapshot import Asks, Jobs, Nodes, Ordering, Queues, Snapshot, Users
from scheduler.shares.tree import subtree_sums
from wire.resources import AXES

R = len(AXES)
_NO_LIMIT = np.int64(1) << 50


def root_only(capacity: np.ndarray, free: np.ndarray) -> Queues:
    """One queue that may use everything."""
    used = (capacity - free).sum(axis=0)
    return Queues(
        ["root"],
        np.array([-1], np.int32),
        np.zeros((1, R), np.int64),
        np.full((1, R), _NO_LIMIT),
        used.reshape(1, R),
        np.ones(1),
        np.array([Ordering.FIFO], np.int8),
        np.ones(1, np.bool_),
    )


def one_queue(
    capacity: np.ndarray,
    free: np.ndarray,
    shapes: np.ndarray,
    masks: np.ndarray,
    mask: np.ndarray,
    rack: np.ndarray | None = None,
    since: np.ndarray | None = None,
    near: list[list[int]] | None = None,
    key: np.ndarray | None = None,
) -> Snapshot:
    """Asks of one container each, shapes (a, r), in order, in one queue without limits."""
    a, n = len(shapes), len(capacity)
    table, shape = np.unique(shapes, axis=0, return_inverse=True)
    near = near or [[]] * a
    near_from = np.cumsum([0, *(len(x) for x in near)]).astype(np.int32)
    none = np.empty(0, np.int32)
    asks = Asks(
        key=np.arange(a, dtype=np.int64) if key is None else key,
        count=np.ones(a, np.int64),
        job=np.arange(a, dtype=np.int32),
        shape=shape.reshape(-1).astype(np.int32),
        mask=mask.astype(np.int32),
        since=np.zeros(a) if since is None else since,
        gang=np.zeros(a, np.bool_),
        fill=np.full(a, -1, np.int8),
        near_from=near_from,
        near=np.array([x for row in near for x in row], np.int32) if near_from[-1] else none,
        near_rack_from=np.zeros(a + 1, np.int32),
        near_rack=none,
        duration=np.zeros(a),
        shapes=np.ascontiguousarray(table, np.int64),
        masks=masks,
    )
    users = Users(np.zeros(1, np.int32), np.zeros((1, R), np.int64), np.full((1, R), _NO_LIMIT))
    jobs = Jobs(np.zeros(a, np.int32), np.zeros(a, np.int32), np.zeros((a, R), np.int64))
    nodes = Nodes(capacity, free, np.ones(n, np.bool_), np.zeros(n, np.int32) if rack is None else rack)
    return Snapshot(AXES, nodes, root_only(capacity, free), users, jobs, asks)


def queue_tree(
    rng: np.random.Generator, leaves: int, capacity: np.ndarray, used: np.ndarray, levels: int = 6
) -> tuple[Queues, np.ndarray]:
    """(a tree with ``leaves`` leaves on its last level, the leaves' positions).

    Guarantees divide the capacity evenly, maxima are twice that and more,
    ``used`` is divided among the leaves at random.
    """
    widths = [max(1, round(leaves ** (i / (levels - 1)))) for i in range(levels)]
    widths[-1] = leaves
    start = np.cumsum([0, *widths])
    parent = np.full(start[-1], -1, np.int32)
    guaranteed = np.empty((start[-1], R), np.int64)
    for level, width in enumerate(widths):
        rows = np.arange(width)
        guaranteed[start[level] : start[level + 1]] = capacity // width
        if level:
            parent[start[level] : start[level + 1]] = start[level - 1] + rows * widths[level - 1] // width
    held = np.zeros((start[-1], R), np.int64)
    part = rng.dirichlet(np.full(leaves, 0.5))
    held[start[-2] :] = (used * part[:, None]).astype(np.int64)
    held = subtree_sums(parent, held)
    maximum = np.maximum(np.minimum(capacity, 20 * guaranteed), held)
    maximum[0] = _NO_LIMIT
    queues = Queues(
        [f"q{i}" for i in range(start[-1])],
        parent,
        guaranteed,
        maximum,
        held,
        np.ones(start[-1]),
        np.full(start[-1], Ordering.PRIORITY, np.int8),
        np.ones(start[-1], np.bool_),
    )
    return queues, np.arange(start[-2], start[-1], dtype=np.int32)


def prefer(rng: np.random.Generator, asks: int, nodes: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Three preferred nodes for a ``share`` of the asks: (a + 1,) int32 offsets and positions."""
    near_from = np.zeros(asks + 1, np.int32)
    near_from[1:] = np.cumsum(3 * (rng.random(asks) < share))
    return near_from, rng.integers(0, nodes, int(near_from[-1])).astype(np.int32)
