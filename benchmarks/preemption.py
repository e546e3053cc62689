"""A round of preemption: 3,000 full nodes, 60,000 containers, 5,000 queues in five levels, a fifth of them owed."""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from benchmarks.preemption_reference import plain_round
from scheduler.core.compiled import compile_all, compiled
from scheduler.core.plan import Why
from scheduler.core.snapshot import Asks, Jobs, Nodes, Ordering, Queues, Running, Snapshot, Users
from scheduler.preemption.plan import plan_preemption
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.shares.tree import subtree_sums
from wire.resources import AXES

R = len(AXES)
NO_LIMIT = np.int64(1) << 50
SHAPES = np.array([[2048, 1000, 0], [4096, 2000, 0], [1024, 500, 0], [8192, 2000, 0], [3072, 1500, 0], [4096, 4000, 1]])
POLICY = PreemptionPolicy()
Memo = tuple[np.ndarray, np.ndarray]
T = TypeVar("T")


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench preemption")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--queues", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    compile_all(lambda: rounds(snapshot(20, 40), 1))
    big = snapshot(options.nodes, options.queues)
    forms = compiled()
    times, warned = rounds(big, options.rounds)
    assert forms == compiled(), "a round waited for a compiler"
    small = snapshot(options.nodes // 20, options.queues // 20)
    ours, _ = rounds(small, options.rounds)
    theirs = [spent(lambda: plain_round(small, POLICY))[0] for _ in range(3)]
    return {
        "round_ms": round(1000 * statistics.median(times), 2),
        "slowest_round_ms": round(1000 * max(times), 2),
        "containers": len(big.running.id) if big.running else 0,
        "warned": warned,
        "times_plain_python": round(statistics.median(theirs) / statistics.median(ours), 1),
    }


def spent(call: Callable[[], T]) -> tuple[float, T]:
    """(processor seconds, result)."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def rounds(s: Snapshot, count: int) -> tuple[list[float], int]:
    """Processor time of each round, every other one with the warnings of the one before; containers warned."""
    why = np.full(len(s.asks.count), Why.QUEUE_SHARE, np.int8)
    nothing: Memo = (np.empty(0, np.int64), np.empty(0))
    memo = nothing
    times, warned = [], 0
    for i in range(count):
        took, (plan, ids, due) = spent(
            partial(plan_preemption, s, s.nodes.free, s.asks.count, why, memo, POLICY, float(i))
        )
        memo = (ids, due) if i % 2 == 0 else nothing
        times.append(took)
        warned = max(warned, len(plan.warn))
    return times, warned


def tree(q: int, capacity: np.ndarray) -> tuple[Queues, np.ndarray]:
    """(q queues in five levels, their leaves); every leaf is guaranteed the same."""
    parent = np.full(q, -1, np.int32)
    widths = [1, 8, 64, 512]
    first, above = 0, 0
    for level, most in enumerate([*widths, q]):
        width = min(most, max(1, q // 8 ** (4 - level)) if level < 4 else q - first)
        rows = np.arange(first, first + width)
        if level:
            parent[rows] = above + np.arange(width) % (first - above)
        above, first = first, first + width
    leaves = np.arange(above, q)
    sure = np.zeros((q, R), np.int64)
    sure[leaves] = capacity // len(leaves)
    sure = subtree_sums(parent, sure)
    queues = Queues(
        [str(i) for i in range(q)],
        parent,
        sure,
        np.full((q, R), NO_LIMIT),
        np.zeros((q, R), np.int64),
        np.ones(q),
        np.full(q, Ordering.PRIORITY, np.int8),
        np.ones(q, np.bool_),
    )
    return queues, leaves


def snapshot(n: int, q: int) -> Snapshot:
    """Full nodes; the leaves that are owed hold nothing and ask for all of their guarantee, on eight sets of nodes."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 3, n)
    capacity = np.array([[65536, 32000, 0], [131072, 64000, 0], [65536, 64000, 4]])[kind]
    queues, leaves = tree(q, capacity.sum(axis=0))
    owed = rng.permutation(leaves)[: len(leaves) // 5]
    running, free = fill(rng, capacity, np.setdiff1d(leaves, owed))
    np.add.at(queues.used, running.queue, running.shape)
    queues.used[:] = subtree_sums(queues.parent, queues.used)
    a = len(owed)
    masks = np.ones((8, n), np.bool_)
    masks[1:] = rng.random((7, n)) < 0.5
    asks = Asks(
        key=np.arange(a, dtype=np.int64),
        count=np.full(a, 24, np.int64),
        job=np.arange(a, dtype=np.int32),
        shape=rng.integers(0, len(SHAPES) - 1, a).astype(np.int32),
        mask=rng.integers(0, 8, a).astype(np.int32),
        since=np.zeros(a),
        gang=np.zeros(a, np.bool_),
        fill=np.full(a, -1, np.int8),
        near_from=np.zeros(a + 1, np.int32),
        near=np.empty(0, np.int32),
        near_rack_from=np.zeros(a + 1, np.int32),
        near_rack=np.empty(0, np.int32),
        duration=np.zeros(a),
        shapes=SHAPES.astype(np.int64),
        masks=masks,
    )
    users = Users(owed.astype(np.int32), np.zeros((a, R), np.int64), np.full((a, R), NO_LIMIT))
    jobs = Jobs(np.arange(a, dtype=np.int32), rng.integers(0, 10, a).astype(np.int32), np.zeros((a, R), np.int64))
    nodes = Nodes(capacity.astype(np.int64), free, np.ones(n, np.bool_), np.zeros(n, np.int32))
    return Snapshot(AXES, nodes, queues, users, jobs, asks, running)


def fill(rng: np.random.Generator, capacity: np.ndarray, leaves: np.ndarray) -> tuple[Running, np.ndarray]:
    """(what runs, what is left free): twenty containers a node, as far as they fit."""
    free = capacity.astype(np.int64)
    node, shape = [], []
    for _ in range(40):
        drawn = SHAPES[rng.integers(0, len(SHAPES), len(free))]
        fits = (free >= drawn).all(axis=1)
        free[fits] -= drawn[fits]
        node.append(np.flatnonzero(fits))
        shape.append(drawn[fits])
    nodes = np.concatenate(node).astype(np.int32)
    c = len(nodes)
    return Running(
        id=np.arange(c, dtype=np.int64),
        node=nodes,
        job=np.full(c, -1, np.int32),
        queue=rng.choice(leaves, c).astype(np.int32),
        priority=rng.integers(0, 10, c).astype(np.int32),
        shape=np.concatenate(shape).astype(np.int64),
        started=rng.random(c) * 1e5,
        ends=np.full(c, np.inf),
        protected=rng.random(c) < 0.02,
    ), free
