"""YARN's tables of its proportional capacity preemption, through one adapter.

A queue's weight is its guarantee. A container started later is newer, and
applications stand in the order in which they started. Whole containers cannot
divide a debt of 23.33, so a queue may differ by one where the total is right.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scheduler.core.plan import Why
from scheduler.core.snapshot import Snapshot
from scheduler.preemption.plan import plan_preemption
from scheduler.preemption.policy import PreemptionPolicy
from tests.live import Live, live
from tests.worlds import Ask, Node, Queue

Case = dict[str, Any]
NONE = (np.empty(0, np.int64), np.empty(0))


def cases(kind: str) -> list[Any]:
    folder = os.environ.get("HYDRA_CASES")
    if not folder:
        return [pytest.param({}, marks=pytest.mark.skip("HYDRA_CASES names no folder with peer_cases.json"))]
    path = Path(folder)
    found = json.loads((path / "peer_cases.json" if path.is_dir() else path).read_text())["cases"]
    return [pytest.param(case, id=case["id"]) for case in found if case["kind"] == kind]


def amounts(value: Any) -> tuple[int, int, int]:
    """[memory, vcores] as a number, a pair or by name."""
    if isinstance(value, dict):
        value = [value["memory"], value["vcores"]]
    memory, vcores = value if isinstance(value, list) else (value, 0)
    return memory, vcores, 0


def times(shape: tuple[int, int, int], total: tuple[int, int, int]) -> int:
    """How many containers make up ``total``."""
    return min(t // s for s, t in zip(shape, total, strict=True) if s)


@dataclass
class World:
    snapshot: Snapshot
    policy: PreemptionPolicy
    apps: list[str]  # of each running container

    def count(self, rows: np.ndarray) -> dict[str, int]:
        named = [self.apps[i] for i in rows.tolist()]
        return {name: named.count(name) for name in sorted(set(named))}


def usual_size(case: Case, queue: Case) -> tuple[int, int, int]:
    return amounts(queue.get("container_size", queue.get("container", case.get("container", 1))))


def apps_of(case: Case, queue: Case) -> Iterator[tuple[str, int, tuple[int, int, int]]]:
    """(name, containers, size) of each application of a leaf."""
    named = queue.get("apps", [])
    usual = usual_size(case, queue)
    for name in named:
        app = named[name] if isinstance(named, dict) else times(usual, amounts(queue["used"])) // len(named)
        if isinstance(app, dict):
            yield name, app["containers"], amounts(app["size"])
        else:
            yield name, app, usual


def world(case: Case) -> World:
    """The case as a snapshot: one node, the queue tree, what runs and what is asked for."""
    config, rows = case.get("config", {}), case["queues"]
    if rows[0]["parent"] is not None:
        total = amounts(case["cluster_total"])
        rows = [{"name": "root", "parent": None, "guaranteed": list(total[:2]), "used": 0, "pending": 0}, *rows]
    paths: dict[str, str] = {}
    for row in rows:
        paths[row["name"]] = f"{paths[row['parent']]}.{row['name']}" if row["parent"] else row["name"]
    fixed = config.get("non_preemptable", [])
    queues = [
        Queue(
            paths[row["name"]],
            guaranteed=amounts(row["guaranteed"]),
            maximum=amounts(row["max"]) if "max" in row else (1 << 40,) * 3,
            weight=float(max(amounts(row["guaranteed"]))),
            preemptable=row["name"] not in fixed,
        )
        for row in rows
    ]
    running, apps, asks, shapes = [], [], [], []
    inner = {row["parent"] for row in rows}
    for q, row in enumerate(rows):
        size = usual_size(case, row)
        for name, count, own in apps_of(case, row):
            size = own
            for i in range(count):
                master = i == 0 and case.get("am_container_per_app", False)
                running.append(Live(q, 0, size, started=float(len(running)), spared=master))
                apps.append(name)
        pending = amounts(row["pending"])
        if row["name"] not in inner and any(pending):
            shapes.append(size if times(size, pending) else pending)
            asks.append(Ask(q, times(shapes[-1], pending), shape=len(shapes) - 1))
    policy = PreemptionPolicy(
        natural_termination=config.get("natural_termination_factor", 1.0),
        per_round=config.get("total_preemption_per_round", 1.0),
        grace_s=config.get("max_wait_before_kill_ms", 15_000) / 1000,
    )
    return World(live([Node(amounts(case["cluster_total"]))], queues, asks, shapes, running), policy, apps)


def preempt(w: World, memo: tuple[np.ndarray, np.ndarray], now: float) -> Any:
    s = w.snapshot
    why = np.full(len(s.asks.count), Why.NO_ROOM, np.int8)
    return plan_preemption(s, s.nodes.free, s.asks.count, why, memo, w.policy, now)


@pytest.mark.parametrize("case", cases("preemption"))
def test_preemption(case: Case):
    w = world(case["input"])
    taken = w.count(preempt(w, NONE, 0.0)[0].warn)
    expected = {name: row["containers_preempted"] for name, row in case["expected"]["per_app"].items()}
    if "*" in expected:
        assert sum(taken.values()) == expected["*"]
        return
    found = {name: taken.get(name, 0) for name in expected}
    assert sum(found.values()) == sum(expected.values()), found
    assert all(abs(found[name] - expected[name]) <= 1 for name in expected), found


@pytest.mark.parametrize("case", cases("preemption-timed"))
def test_preemption_takes_its_time(case: Case):
    w = world(case["input"])
    memo = NONE
    for step in case["expected"]["steps"]:
        plan, *memo = preempt(w, tuple(memo), step["at_ms"] / 1000)
        assert w.count(plan.warn) == step.get("marked_for_preemption", {})
        assert w.count(plan.kill) == step.get("killed", {})
        assert not len(plan.spared)
