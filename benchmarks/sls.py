"""Recorded MapReduce jobs as jobs with locality preferences: how many of their tasks ran on the node they prefer.

The histories of YARN's load simulator: each task prefers the node its recorded
attempt ran on, and runs as long as that did. Time is simulated.
"""

import argparse
import heapq
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.snapshots import one_queue
from controlplane.kernels import compile_now
from scheduler.core.snapshot import Memo
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round

TASK = np.array([1024, 1000, 0], np.int64)
TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Task:
    """When it was submitted and how long it runs, in seconds; the node and rack it prefers."""

    submitted: float
    runs: float
    node: str
    rack: str


def load(path: Path) -> list[Task]:
    """Tasks of a Rumen file, which is one JSON object after the other, in order of submission."""
    text, at, found = path.read_text(), 0, []
    decoder = json.JSONDecoder()
    while (at := len(text) - len(text[at:].lstrip())) < len(text):
        job, at = decoder.raw_decode(text, at)
        for task in job["mapTasks"] + job["reduceTasks"]:
            attempt = task["attempts"][-1]
            rack, node = attempt["location"]["layers"]
            runs = (attempt["finishTime"] - attempt["startTime"]) / 1000
            found.append(Task(job["submitTime"] / 1000, runs, node, rack))
    first = min(t.submitted for t in found)
    return sorted((Task(t.submitted - first, t.runs, t.node, t.rack) for t in found), key=lambda t: t.submitted)


def replay(tasks: list[Task], per_node: int, policy: RoundPolicy) -> list[tuple[Task, str, float]]:
    """(task, the node it ran on, when it started) of every task, on nodes with room for ``per_node`` at a time."""
    names = sorted({t.node for t in tasks})
    index = {name: i for i, name in enumerate(names)}
    capacity = np.tile(TASK * per_node, (len(names), 1))
    free, memo = capacity.copy(), Memo()
    ends: list[tuple[float, int]] = []
    waiting: list[int] = []
    done: list[tuple[Task, str, float]] = []
    now, coming = 0.0, 0
    while len(done) < len(tasks):
        while coming < len(tasks) and tasks[coming].submitted <= now:
            waiting.append(coming)
            coming += 1
        while ends and ends[0][0] <= now:
            free[heapq.heappop(ends)[1]] += TASK
        if waiting:
            since = np.array([tasks[t].submitted for t in waiting])
            s = one_queue(
                capacity, free, np.tile(TASK, (len(waiting), 1)), np.ones((1, len(names)), np.bool_),
                np.zeros(len(waiting), np.int32), since=since, key=np.array(waiting, np.int64),
                near=[[index[tasks[t].node]] for t in waiting],
            )  # fmt: skip
            plan, memo = plan_round(s, memo, policy, now)
            for ask, node in zip(plan.place.ask.tolist(), plan.place.node.tolist(), strict=True):
                task = tasks[waiting[ask]]
                free[node] -= TASK
                heapq.heappush(ends, (now + task.runs, node))
                done.append((task, names[node], now))
            placed = set(plan.place.ask.tolist())
            waiting = [t for i, t in enumerate(waiting) if i not in placed]
        now += TICK_S
    return done


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench sls")
    parser.add_argument("--data", type=Path, default=os.environ.get("HYDRA_DATA"), help="folder with the histories")
    parser.add_argument("--per-node", type=int, default=2, help="tasks that a node has room for")
    options = parser.parse_args(argv)
    if options.data is None:
        parser.error("--data or HYDRA_DATA must name the folder that holds hadoop_sls")
    compile_now()
    tasks = load(Path(options.data) / "hadoop_sls" / "2jobs2min-rumen-jh.json")
    figures: dict[str, Any] = {"tasks": len(tasks), "nodes": len({t.node for t in tasks})}
    for name, wait_s in (("no_wait", 0.0), ("delay", 3.0)):
        done = replay(tasks, options.per_node, RoundPolicy(PlacementPolicy(node_wait_s=wait_s, rack_wait_s=wait_s)))
        on_node = sum(t.node == node for t, node, _ in done)
        waits = sorted(start - t.submitted for t, _, start in done)
        figures[name] = {
            "node_percent": round(100 * on_node / len(done), 1),
            "rack_percent": 100.0,  # the recorded cluster is one rack
            "wait_p50_ms": round(1000 * waits[len(waits) // 2]),
            "ends_s": round(max(start + t.runs for t, _, start in done), 1),
        }
    return figures
