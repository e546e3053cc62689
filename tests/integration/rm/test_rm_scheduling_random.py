"""Random lives of a cluster with partitions, shares and preemption: every plan is checked, and all is counted right."""

from typing import Any

import numpy as np
import pytest

from tests import invariants
from tests.integration.rm.cluster import Cluster, Leading
from tests.playing import OPEN, counted_wrong, give_up, marks, ready, taking
from tests.stepped import memory_state
from wire.states import ContainerState

WANT = 3  # among what ``memory_state`` tells of a container
PARTITIONS: list[dict[str, Any]] = [
    {},
    {"gpu": {"nodes": "gpu", "exclusive": False}},
    {"gpu": {"nodes": "gpu || node == n1", "exclusive": True}},
    {"gpu": {"nodes": "gpu", "exclusive": False}, "odd": {"nodes": "node == n1", "exclusive": False, "rank": -1}},
]


def new_policy(cluster: Cluster, rng: np.random.Generator) -> None:
    partitions = PARTITIONS[rng.integers(len(PARTITIONS))]
    queues: dict[str, Any] = {
        "a": {"guaranteed": 0.5, "user_maximum": float(rng.choice([0.5, 1.0]))},
        "b": {"guaranteed": 0.25, "ordering": "fair", "preemptable": bool(rng.random() < 0.7)},
        "c": {"ordering": "fifo", "maximum": 0.75},
    }
    if "gpu" in partitions:
        queues["b"]["partitions"] = {"gpu": {"guaranteed": 0.5}}
    chosen = taking(grace_s=3.0, per_round=float(rng.choice([0.2, 1.0])))
    components = chosen if rng.random() < 0.8 else {"preemption": {"policy": "off"}}
    reservation = {"policy": "reserve", "parameters": {"after_s": 2.0, "max_node_share": 0.4}}
    cluster.policy(
        {name: queue | OPEN for name, queue in queues.items()}, partitions, reservation=reservation, **components
    )


def new_job(cluster: Cluster, rng: np.random.Generator) -> int:
    gib = int(rng.choice([1, 1, 1, 2, 4]))
    group: dict[str, Any] = {
        "count": int(rng.integers(1, 8)),
        "gang": bool(rng.random() < 0.15),
        "resources": {"memory_mib": 1024 * gib, "vcores_milli": 1000 * gib, "gpus": int(rng.random() < 0.1)},
    }
    if rng.random() < 0.3:
        group["locality"] = {
            "nodes": [str(rng.choice(["n0", "n1", "g0", "nobody"]))],
            "relax": bool(rng.random() < 0.8),
        }
    if rng.random() < 0.3:
        group["partition"] = "gpu"
    if rng.random() < 0.3:
        group["estimated_duration_s"] = float(rng.integers(1, 9))
    queue = f"root.{rng.choice(list('abc'))}"
    kind = "service" if rng.random() < 0.1 else "batch"
    if kind == "batch":
        group["retries"] = 2
    return cluster.submit(group, queue=queue, priority=int(rng.integers(0, 3)), kind=kind)


def step(cluster: Cluster, leader: Leading, rng: np.random.Generator) -> None:
    cut = [int(rng.choice(cluster.ids))] if rng.random() < 0.15 else []
    ran = {cid for cid, state in cluster.nodes.all_held().items() if state == 2 and rng.random() < 0.15}
    kind = ContainerState.FAILED if rng.random() < 0.2 else ContainerState.SUCCEEDED
    cluster.nodes.finish(kind, ran)
    cluster.nodes.step(*cut)
    leader.clock.ahead_s += float(rng.random() * 2)
    leader.round(*(cut if rng.random() < 0.3 else []))


def rows_say(leader: Leading) -> bool:
    """Whether the rows alone say what the leader knows, but for who is being stopped to make way."""
    kept, rebuilt = memory_state(leader.memory), memory_state(leader.rebuilt())
    for told in (kept, rebuilt):
        for container in told["containers"].values():
            del container[WANT]
    return kept == rebuilt


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_plans_keep_every_limit_and_usage_is_right(cluster: Cluster, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster.ids.append(cluster.add_node("g0", labels={"gpu": "a100"}))
    new_policy(cluster, rng)
    leader = ready(cluster)
    jobs: list[int] = []
    for number in range(40):
        if rng.random() < 0.4:
            jobs.append(new_job(cluster, rng))
        if jobs and rng.random() < 0.1 and cluster.job(jobs[-1]).state < 10:
            cluster.kill(jobs[-1])
        if rng.random() < 0.1:
            new_policy(cluster, rng)
        if rng.random() < 0.05:
            cluster.expire()
            ahead, leader = leader.clock.ahead_s, cluster.lead()
            leader.clock.ahead_s = ahead
        step(cluster, leader, rng)
        assert counted_wrong(cluster, leader) == [], f"after step {number}"
        assert rows_say(leader), f"after step {number}"
        warned = {cid for memo in leader.memory.memos.values() for cid in memo.warned.tolist()}
        assert set(leader.memory.warned) <= warned
    assert not invariants.violations(cluster.rows)
    give_up(cluster, leader, *jobs)
    assert marks(leader) == 0
    assert not leader.memory.ledger.queues.any()
