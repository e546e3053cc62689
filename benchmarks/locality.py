"""Delay scheduling on a cluster that is 90 to 95 % full: how near tasks start to their data, and what waiting it costs.

1,000 nodes of ten places in 25 racks, in simulated time with a round every
100 ms. Tasks run for 30 s. Jobs of 1 to 100 tasks come whenever less than the
target is running or waiting. A task's three replicas are as HDFS lays them: a
node, another one in its rack, and one in another rack.

Added waiting is a task's waiting less what the same task waits when the same
jobs come at the same times and nobody has preferences. The gap to matching is
what greedy choices lose: in every round the largest number of waiting tasks
that could all have started on their nodes (a maximum matching with the free
places) less those that did, over all rounds, in percent of all tasks.
"""

import argparse
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.snapshots import R, one_queue
from benchmarks.stack import percentile
from controlplane.kernels import compile_now
from scheduler.core.snapshot import Memo
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round

PER_RACK, PLACES, TASK_S, ROUND_S = 40, 10, 30.0, 0.1
SHAPE = np.array([1024, 1000, 0], np.int64)
TASKS_MAX = 100  # of a job


@dataclass
class Task:
    near: list[int]
    submitted: float
    started: float = -1.0
    level: int = -1  # 0: on a preferred node, 1: in the rack of one, 2: elsewhere


@dataclass
class Cluster:
    """ends: of each node, when its running tasks end. waiting: numbers of tasks in order of submission."""

    nodes: int
    preferring: bool
    ends: list[list[float]]
    tasks: list[Task] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)
    lost: int = 0  # placements on preferred nodes that a matching would have had in addition
    running: list[int] = field(default_factory=list)

    def free(self) -> np.ndarray:
        return np.array([PLACES - len(ends) for ends in self.ends], np.int64)

    def submit(self, tasks: list[Task]) -> None:
        self.waiting += range(len(self.tasks), len(self.tasks) + len(tasks))
        self.tasks += [Task(t.near, t.submitted) for t in tasks]

    def round(self, now: float, policy: RoundPolicy) -> None:
        self.ends = [[end for end in ends if end > now] for ends in self.ends]
        free = self.free()
        near = [self.tasks[t].near for t in self.waiting] if self.preferring else None
        a = len(self.waiting)
        rack = (np.arange(self.nodes) // PER_RACK).astype(np.int32)
        s = one_queue(
            np.tile(PLACES * SHAPE, (self.nodes, 1)),
            free[:, None] * SHAPE,
            np.tile(SHAPE, (a, 1)).reshape(a, R),
            np.ones((1, self.nodes), np.bool_),
            np.zeros(a),
            rack,
            np.array([self.tasks[t].submitted for t in self.waiting]),
            near,
            np.array(self.waiting, np.int64),
        )
        plan, self.memo = plan_round(s, self.memo, policy, now)
        best = matching([self.tasks[t].near for t in self.waiting], free.tolist()) if self.preferring else 0
        for row, node in zip(plan.place.ask.tolist(), plan.place.node.tolist(), strict=True):
            task = self.tasks[self.waiting[row]]
            racks = [n // PER_RACK for n in task.near]
            task.started, task.level = now, 0 if node in task.near else 1 if node // PER_RACK in racks else 2
            self.ends[node].append(now + TASK_S)
            best -= task.level == 0
        self.lost += max(0, best)
        self.waiting = [t for t in self.waiting if self.tasks[t].started < 0]
        self.running.append(sum(map(len, self.ends)))


def matching(near: list[list[int]], free: list[int]) -> int:
    """The largest number of tasks that could start on their nodes at once (augmenting paths)."""
    holds: dict[int, list[int]] = {}

    def place(task: int, tried: set[int]) -> bool:
        for node in near[task]:
            if node in tried or not free[node]:
                continue
            tried.add(node)
            there = holds.setdefault(node, [])
            if len(there) < free[node]:
                there.append(task)
                return True
            for i, other in enumerate(there):
                if place(other, tried):
                    there[i] = task
                    return True
        return False

    return sum(place(task, set()) for task in range(len(near)))


def replicas(rng: np.random.Generator, nodes: int) -> list[int]:
    first = int(rng.integers(nodes))
    rack, racks = first // PER_RACK, nodes // PER_RACK
    second = rack * PER_RACK + (first % PER_RACK + int(rng.integers(1, PER_RACK))) % PER_RACK
    third = (rack + int(rng.integers(1, racks))) % racks * PER_RACK + int(rng.integers(PER_RACK))
    return [first, second, third]


def started_cluster(nodes: int, preferring: bool, target: int) -> Cluster:
    """Full to the target, with tasks that end evenly over the next 30 s."""
    rng = np.random.default_rng(1)
    ends: list[list[float]] = [[] for _ in range(nodes)]
    for i, node in enumerate(rng.permutation(np.repeat(np.arange(nodes), PLACES))[:target].tolist()):
        ends[node].append(TASK_S * (i + 1) / target)
    return Cluster(nodes, preferring, ends)


def simulate(nodes: int, seconds: float, full: float, policy: RoundPolicy) -> tuple[Cluster, list[list[Task]]]:
    """(the cluster at the end, what was submitted in each round)."""
    target, rng = int(full * nodes * PLACES), np.random.default_rng(2)
    c = started_cluster(nodes, True, target)
    arrivals: list[list[Task]] = []
    for i in range(1, int(seconds / ROUND_S) + 1):
        now, came = i * ROUND_S, list[Task]()
        present = sum(end > now for ends in c.ends for end in ends) + len(c.waiting)
        while present + len(came) < target:
            count = int(TASKS_MAX ** rng.random())
            came += [Task(replicas(rng, nodes), now) for _ in range(count)]
        arrivals.append(came)
        c.submit(came)
        c.round(now, policy)
    return c, arrivals


def replay(nodes: int, full: float, arrivals: list[list[Task]], policy: RoundPolicy) -> Cluster:
    """The same jobs at the same times, without preferences."""
    c = started_cluster(nodes, False, int(full * nodes * PLACES))
    for i, came in enumerate(arrivals, start=1):
        c.submit(came)
        c.round(i * ROUND_S, policy)
    return c


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench locality")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=240.0, help="simulated; the first 60 are not counted")
    parser.add_argument("--full", type=float, default=0.935, help="of the places, running or asked for")
    options = parser.parse_args(argv)
    compile_now()
    policy = RoundPolicy(PlacementPolicy())
    c, arrivals = simulate(options.nodes, options.seconds, options.full, policy)
    plain = replay(options.nodes, options.full, arrivals, policy)
    counted = [
        i for i, t in enumerate(c.tasks) if t.started >= 0 and plain.tasks[i].started >= 0 and t.submitted >= 60.0
    ]
    levels = np.bincount([c.tasks[i].level for i in counted], minlength=3) / len(counted)
    added = sorted(1000 * (c.tasks[i].started - plain.tasks[i].started) for i in counted)
    used = np.array(c.running[600:]) / (options.nodes * PLACES)
    return {
        "node_percent": round(100 * levels[0], 2),
        "rack_percent": round(100 * (levels[0] + levels[1]), 2),
        "added_wait_p50_ms": round(percentile(added, 0.5)),
        "added_wait_p99_ms": round(percentile(added, 0.99)),
        "gap_to_matching_points": round(100 * c.lost / len(c.tasks), 2),
        "full_percent_min": round(100 * used.min(), 1),
        "full_percent_max": round(100 * used.max(), 1),
        "tasks": len(counted),
    }
