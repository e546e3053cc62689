"""One whole round on one core: 30,000 asks on 3,000 nodes, with room for all, and with three times more than fits.

Four kinds of machines, 40 to a rack; a tree of three levels with 200 leaf
queues; users with maxima; asks of one container each in 50 shapes, a third of
which prefer three nodes. The reference places the same asks in the same order
within the same maxima, and scores every node for each of them with NumPy.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.snapshots import R, prefer, queue_tree
from controlplane.kernels import compile_now
from scheduler.core.snapshot import Asks, Jobs, Memo, Nodes, Snapshot, Users
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from wire.resources import AXES, GPUS

KINDS = np.array(
    [[128 << 10, 32_000, 0], [256 << 10, 64_000, 0], [512 << 10, 96_000, 0], [1024 << 10, 128_000, 8]], np.int64
)
OF_KIND = (0.2, 0.4, 0.3, 0.1)
PER_RACK, SHAPES, WITH_GPU = 40, 50, 3
LEAVES, USERS_PER_LEAF, JOBS_PER_USER = 200, 4, 4
NOW = 100.0


def cluster(rng: np.random.Generator, nodes: int, asks: int, scale: int) -> Snapshot:
    """An empty cluster in which ``asks`` asks wait; ``scale`` multiplies what each asks for."""
    capacity = KINDS[rng.choice(len(KINDS), nodes, p=OF_KIND)]
    total = capacity.sum(axis=0)
    queues, leaf = queue_tree(rng, LEAVES, total, np.zeros(R, np.int64), levels=3)
    u = len(leaf) * USERS_PER_LEAF
    users = Users(np.repeat(leaf, USERS_PER_LEAF), np.zeros((u, R), np.int64), np.tile(total // 100, (u, 1)))
    j = u * JOBS_PER_USER
    jobs = Jobs(
        rng.permutation(j).astype(np.int32) % np.int32(u),
        rng.integers(0, 10, j).astype(np.int32),
        np.zeros((j, R), np.int64),
    )
    shapes = np.stack([rng.integers(1, 9, SHAPES) << 10, rng.integers(1, 5, SHAPES) * 1000, np.zeros(SHAPES)], axis=1)
    shapes[:, :2] *= scale
    shapes[:WITH_GPU, GPUS] = 1
    near_from, near = prefer(rng, asks, nodes, 1 / 3)
    table = Asks(
        np.arange(asks, dtype=np.int64), np.ones(asks, np.int64), np.sort(rng.integers(0, j, asks)).astype(np.int32),
        rng.integers(0, SHAPES, asks).astype(np.int32), np.zeros(asks, np.int32), np.full(asks, NOW - 1.0),
        np.zeros(asks, np.bool_), np.full(asks, -1, np.int8), near_from, near,
        np.zeros(asks + 1, np.int32), np.empty(0, np.int32), np.zeros(asks),
        shapes.astype(np.int64), np.ones((1, nodes), np.bool_),
    )  # fmt: skip
    rack = (np.arange(nodes) // PER_RACK).astype(np.int32)
    return Snapshot(AXES, Nodes(capacity, capacity.copy(), np.ones(nodes, np.bool_), rack), queues, users, jobs, table)


def median_s(work: Callable[[], object], runs: int) -> float:
    """Processor time."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return sorted(times)[runs // 2]


def measured(s: Snapshot, runs: int) -> tuple[float, int, np.ndarray]:
    """(s of a round, containers placed, the order in which asks were served)."""
    policy = RoundPolicy(PlacementPolicy(batch=len(s.asks.key)))
    plan, _ = plan_round(s, Memo(), policy, NOW)
    assert plan.outcome is not None
    took = median_s(lambda: plan_round(s, Memo(), policy, NOW), runs)
    return took, len(plan.place.ask), plan.outcome.order


def reference(s: Snapshot, order: np.ndarray) -> int:
    """Each ask on the least loaded of its preferred nodes, or of all nodes, that has room: how many were placed."""
    free, inverse = s.nodes.free.copy(), 1.0 / np.maximum(s.nodes.capacity, 1)
    missing = s.nodes.capacity == 0
    queue_room, user_room = s.queues.maximum - s.queues.used, s.users.maximum - s.users.used
    paths = [ancestry(s.queues.parent, q) for q in range(len(s.queues.parent))]
    queue, user, asks, placed = s.ask_queue, s.jobs.user[s.asks.job], s.asks, 0
    for a in order.tolist():
        shape, path = asks.shapes[asks.shape[a]], paths[queue[a]]
        if (queue_room[path] < shape).any() or (user_room[user[a]] < shape).any():
            continue
        fits = (free >= shape).all(axis=1) & s.nodes.open & asks.masks[asks.mask[a]]
        score = np.where(missing, 1.0, free * inverse).min(axis=1)
        score[~fits] = -1.0
        near = asks.near[asks.near_from[a] : asks.near_from[a + 1]]
        node = near[score[near].argmax()] if len(near) else -1
        if node < 0 or score[node] < 0:
            node = int(score.argmax())
        if score[node] >= 0:
            free[node] -= shape
            queue_room[path] -= shape
            user_room[user[a]] -= shape
            placed += 1
    return placed


def ancestry(parent: np.ndarray, q: int) -> list[int]:
    path = []
    while q >= 0:
        path.append(q)
        q = int(parent[q])
    return path


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench placement")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--asks", type=int, default=30_000)
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args(argv)
    compile_now()
    rng = np.random.default_rng(11)
    s = cluster(rng, options.nodes, options.asks, 1)
    took, placed, order = measured(s, options.runs)
    began = time.process_time()
    by_reference = reference(s, order)
    reference_s = time.process_time() - began
    crowded = cluster(rng, options.nodes, 3 * options.asks, 3)
    crowded_s, crowded_placed, _ = measured(crowded, options.runs)
    return {
        "placements_per_s": round(placed / took),
        "round_ms": round(took * 1000, 2),
        "placed": placed,
        "oversubscribed_placements_per_s": round(crowded_placed / crowded_s),
        "oversubscribed_round_ms": round(crowded_s * 1000, 2),
        "oversubscribed_placed": crowded_placed,
        "times_reference": round((placed / took) / (by_reference / reference_s)),
        "reference_placements_per_s": round(by_reference / reference_s),
    }
