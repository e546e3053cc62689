"""One round of every sub-cluster of a federation, one after the other on one core.

20 sub-clusters of 2,500 nodes of three kinds, 5,000 leaf queues in six levels
that ask in all of them, 100,000 asks; a third prefers nodes. Before the round
each sub-cluster is half full, spread unevenly over the queues.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.snapshots import R, prefer, queue_tree
from benchmarks.stack import percentile
from controlplane.kernels import compile_now
from scheduler.core.snapshot import Asks, Jobs, Memo, Nodes, Snapshot, Users
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from wire.resources import AXES, GPUS

KINDS = np.array([[64 << 10, 32_000, 0], [128 << 10, 64_000, 4], [256 << 10, 48_000, 0]], np.int64)
PER_RACK = 40
SHAPES = 40


def sub_cluster(rng: np.random.Generator, nodes: int, leaves: int, asks: int) -> Snapshot:
    """A sub-cluster in which ``asks`` asks of one container each wait."""
    capacity = KINDS[rng.integers(0, len(KINDS), nodes)]
    used = (capacity * rng.uniform(0.3, 0.7, (nodes, 1))).astype(np.int64)
    used[:, GPUS] = 0
    queues, leaf = queue_tree(rng, leaves, capacity.sum(axis=0), used.sum(axis=0))
    asking = rng.integers(0, len(leaf), asks)
    present, user = np.unique(asking, return_inverse=True)
    users = Users(leaf[present], queues.used[leaf[present]], np.tile(capacity.sum(axis=0) // 10, (len(present), 1)))
    jobs = Jobs(user.astype(np.int32), rng.integers(0, 10, asks).astype(np.int32), np.zeros((asks, R), np.int64))
    shapes = np.stack([rng.integers(1, 9, SHAPES) << 10, rng.integers(1, 5, SHAPES) * 500, np.zeros(SHAPES)], axis=1)
    near_from, near = prefer(rng, asks, nodes, 0.33)
    none = np.zeros(asks + 1, np.int32), np.empty(0, np.int32)
    table = Asks(
        np.arange(asks, dtype=np.int64), np.ones(asks, np.int64), np.arange(asks, dtype=np.int32),
        rng.integers(0, SHAPES, asks).astype(np.int32), np.zeros(asks, np.int32), np.zeros(asks),
        np.zeros(asks, np.bool_), np.full(asks, -1, np.int8), near_from, near, *none, np.zeros(asks),
        shapes.astype(np.int64), np.ones((1, nodes), np.bool_),
    )  # fmt: skip
    rack = (np.arange(nodes) // PER_RACK).astype(np.int32)
    return Snapshot(AXES, Nodes(capacity, capacity - used, np.ones(nodes, np.bool_), rack), queues, users, jobs, table)


def rounds(clusters: list[Snapshot], policy: RoundPolicy) -> tuple[float, int]:
    """(processor time in ms of a round in each, containers placed)."""
    placed = 0
    began = time.process_time()
    for s in clusters:
        plan, _ = plan_round(s, Memo(), policy, 0.0)
        placed += len(plan.place.ask)
    return (time.process_time() - began) * 1000, placed


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench placement-federated")
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2500, help="of each sub-cluster")
    parser.add_argument("--leaves", type=int, default=5000)
    parser.add_argument("--asks", type=int, default=100_000, help="in all")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    compile_now()
    rng = np.random.default_rng(7)
    each = options.asks // options.sub_clusters
    clusters = [sub_cluster(rng, options.nodes, options.leaves, each) for _ in range(options.sub_clusters)]
    policy = RoundPolicy(PlacementPolicy(batch=each))
    rounds(clusters, policy)
    took, placed = zip(*(rounds(clusters, policy) for _ in range(options.rounds)), strict=True)
    ms = sorted(took)
    return {
        "round_ms": round(ms[len(ms) // 2], 1),
        "slowest_round_ms": round(percentile(ms, 1.0), 1),
        "placed": placed[0],
        "asks": options.asks,
    }
