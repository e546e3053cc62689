"""What explaining costs a round: 3,000 full nodes, 60,000 containers, 30,000 asks that wait, every one explained."""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from scheduler.core.compiled import compile_all, compiled
from scheduler.core.plan import Plan, RoundOutcome
from scheduler.core.snapshot import Asks, Jobs, Memo, Nodes, Ordering, Queues, Running, Snapshot, Users
from scheduler.explain.columns import explain_all
from scheduler.explain.forecast import Forecast, units_that_fit
from scheduler.explain.sentence import AskContext, describe
from scheduler.round import RoundPolicy, plan_round
from scheduler.shares.tree import subtree_sums
from scheduler.warm import warm
from wire.resources import AXES

R = len(AXES)
T = TypeVar("T")
NO_LIMIT = np.int64(1) << 50
MEMORY, CORES = (512, 1024, 2048, 3072, 4096, 6144, 8192, 12288), (500, 1000, 2000, 3000, 4000)
SENTENCES = 400
PLAIN = 200
POLICY = RoundPolicy()


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench explain")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--asks", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args(argv)
    compile_all(warm)
    s = full(options.nodes, options.asks)
    (plan, memo), first = planned(s, Memo())
    rounds, columns, forms = [first], [], compiled()
    for _ in range(options.rounds):
        (plan, memo), took = planned(s, memo)
        rounds.append(took)
        assert plan.outcome is not None and not len(plan.place.ask), "the cluster is to be full"
        _, took = spent(partial(explain_all, s, plan.outcome, memo, POLICY.placement, 1.0))
        columns.append(took)
    assert plan.outcome is not None
    assert forms == compiled(), "a round waited for a compiler"
    e = explain_all(s, plan.outcome, memo, POLICY.placement, 1.0)
    round_s, columns_s = statistics.median(rounds), statistics.median(columns)
    forecast, forecast_s = spent(partial(Forecast, s, plan.outcome.free, 1.0))
    told(s, plan.outcome, memo, forecast)  # profiles of kinds are kept for some seconds
    return {
        "overhead_percent": round(100 * columns_s / round_s, 1),
        "round_ms": round(1000 * round_s, 2),
        "columns_ms": round(1000 * columns_s, 2),
        "asks_explained": len(e.columns.ask),
        "containers": len(s.running.id) if s.running else 0,
        "sentence_us": round(1e6 * told(s, plan.outcome, memo, forecast) / SENTENCES),
        "forecast_ms": round(1000 * forecast_s, 1),
        "times_plain": round(plain(s, plan.outcome) * options.asks / PLAIN / columns_s),
    }


def spent(call: Callable[[], T]) -> tuple[T, float]:
    """(result, processor seconds)."""
    began = time.process_time()
    result = call()
    return result, time.process_time() - began


def planned(s: Snapshot, memo: Memo) -> tuple[tuple[Plan, Memo], float]:
    seen = Snapshot(s.axis, s.nodes, s.queues, s.users, s.jobs, s.asks)  # no preemption in it
    return spent(lambda: plan_round(seen, memo, POLICY, 1.0))


def told(s: Snapshot, outcome: RoundOutcome, memo: Memo, forecast: Forecast) -> float:
    """Seconds for sentences about asks all over the queues, as a leader tells them: after a fresh explanation."""
    e = explain_all(s, outcome, memo, POLICY.placement, 1.0)
    rows = np.linspace(0, len(e.columns.ask) - 1, SENTENCES).astype(int).tolist()
    kind = [(int(s.asks.shape[a]), int(s.asks.mask[a])) for a in e.columns.ask[rows].tolist()]

    def tell() -> None:
        for row, key in zip(rows, kind, strict=True):
            describe(e, row, AskContext(kind=key), forecast)

    return spent(tell)[1]


def plain(s: Snapshot, outcome: RoundOutcome) -> float:
    """Seconds in which each of some asks looks at every node and every queue above it, with NumPy."""
    a = s.asks
    asks = np.linspace(0, len(a.key) - 1, PLAIN).astype(int).tolist()

    def look() -> None:
        for ask in asks:
            shape = a.shapes[a.shape[ask]]
            usable = s.nodes.open & a.masks[a.mask[ask]]
            units_that_fit(outcome.free[usable], shape).sum()
            (s.nodes.capacity[usable] >= shape).all(axis=1).any()
            queue = int(s.ask_queue[ask])
            while queue >= 0:
                (s.queues.maximum[queue] - s.queues.used[queue] >= shape).all()
                queue = int(s.queues.parent[queue])
            int(outcome.left[: ask + 1][s.ask_queue[: ask + 1] == s.ask_queue[ask]].sum())

    return spent(look)[1]


def tree(leaves: int) -> Queues:
    """Twenty departments over the leaves."""
    departments = 20
    parent = np.concatenate(([-1], np.zeros(departments), 1 + np.arange(leaves) % departments)).astype(np.int32)
    q = len(parent)
    return Queues(
        [f"q{i}" for i in range(q)],
        parent,
        np.zeros((q, R), np.int64),
        np.full((q, R), NO_LIMIT),
        np.zeros((q, R), np.int64),
        np.ones(q),
        np.full(q, Ordering.PRIORITY, np.int8),
        np.ones(q, np.bool_),
    )


def full(n: int, a: int, leaves: int = 200) -> Snapshot:
    """Nodes filled to the last piece, a fifth of the leaves at their maximum, 50 shapes on four sets of nodes."""
    rng = np.random.default_rng(11)
    types = np.array([[65536, 32000, 0], [131072, 64000, 0], [98304, 48000, 4]], np.int64)
    capacity = types[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    shapes = np.stack((rng.choice(MEMORY, 50), rng.choice(CORES, 50), rng.random(50) < 0.1), axis=1).astype(np.int64)
    queues = tree(leaves)
    running, free = fill(rng, capacity, shapes, np.arange(len(queues.paths) - leaves, len(queues.paths)))
    np.add.at(queues.used, running.queue, running.shape)
    tight = rng.random(len(queues.paths)) < 0.2
    tight[: len(queues.paths) - leaves] = False
    queues.maximum[tight] = queues.used[tight]
    queues.used[:] = subtree_sums(queues.parent, queues.used)
    users = Users(
        np.repeat(np.arange(len(queues.paths) - leaves, len(queues.paths), dtype=np.int32), 4),
        np.zeros((4 * leaves, R), np.int64),
        np.full((4 * leaves, R), NO_LIMIT),
    )
    jobs = Jobs(
        rng.integers(0, 4 * leaves, a).astype(np.int32),
        rng.integers(0, 5, a).astype(np.int32),
        np.zeros((a, R), np.int64),
    )
    rack = (np.arange(n) // 40).astype(np.int32)
    nodes = Nodes(capacity, free, np.ones(n, np.bool_), rack)
    return Snapshot(AXES, nodes, queues, users, jobs, asking(rng, a, shapes, n), running)


def asking(rng: np.random.Generator, a: int, shapes: np.ndarray, n: int) -> Asks:
    """A third prefer three nodes; one in fifty is a gang."""
    masks = np.ones((4, n), np.bool_)
    masks[1:] = rng.random((3, n)) < 0.5
    near = np.where(rng.random(a) < 1 / 3, 3, 0)
    near_from = np.concatenate(([0], np.cumsum(near))).astype(np.int32)
    return Asks(
        key=np.arange(a, dtype=np.int64),
        count=rng.integers(1, 5, a).astype(np.int64),
        job=np.arange(a, dtype=np.int32),
        shape=rng.integers(0, len(shapes), a).astype(np.int32),
        mask=rng.choice(4, a, p=[0.7, 0.1, 0.1, 0.1]).astype(np.int32),
        since=np.zeros(a),
        gang=rng.random(a) < 0.02,
        fill=np.full(a, -1, np.int8),
        near_from=near_from,
        near=rng.integers(0, n, near_from[-1]).astype(np.int32),
        near_rack_from=np.zeros(a + 1, np.int32),
        near_rack=np.empty(0, np.int32),
        duration=np.full(a, 30.0),
        shapes=shapes,
        masks=masks,
    )


def fill(
    rng: np.random.Generator, capacity: np.ndarray, shapes: np.ndarray, leaves: np.ndarray
) -> tuple[Running, np.ndarray]:
    """(what runs, what is left free): shapes drawn at random as long as they fit, then every one that still does."""
    free, node, shape = capacity.copy(), [], []
    drawn = [rng.integers(0, len(shapes), len(free)) for _ in range(60)]
    for kind in [*drawn, *(np.full(len(free), k) for k in range(len(shapes)) for _ in range(12))]:
        fits = (free >= shapes[kind]).all(axis=1)
        free[fits] -= shapes[kind][fits]
        node.append(np.flatnonzero(fits))
        shape.append(shapes[kind][fits])
    nodes = np.concatenate(node).astype(np.int32)
    c = len(nodes)
    return Running(
        id=np.arange(c, dtype=np.int64),
        node=nodes,
        job=np.full(c, -1, np.int32),
        queue=rng.choice(leaves, c).astype(np.int32),
        priority=np.zeros(c, np.int32),
        shape=np.concatenate(shape),
        started=np.zeros(c),
        ends=rng.random(c) * 600,
        protected=np.zeros(c, np.bool_),
    ), free
