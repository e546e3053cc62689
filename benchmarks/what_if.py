"""What-if questions from request to answer: an hour of a demo-sized cluster, and an hour of a whole fleet.

The question is asked over REST and answered by the stack's own duty and runner, which give way to all else. A fleet's
nodes are rows: a simulation reads no more of them.
"""

import argparse
import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.recordedhour import add_nodes, record
from benchmarks.stack import BenchStack, stack
from contract.simulations import SimulationDetail
from simulator.workload import Submission
from simulator.workloads import open_workload

Json = dict[str, Any]
HOUR_S = 3600.0
DEMO_JOBS_PER_HOUR = 300.0
SECOND_S = 1.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench what-if")
    parser.add_argument("--containers", type=int, default=1_000_000, help="of the fleet's hour")
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2500, help="of each of the fleet's sub-clusters")
    parser.add_argument("--queues", type=int, default=20)
    parser.add_argument(
        "--seeds", type=int, default=3, help="runs of each policy; three is what a question has that says nothing"
    )
    options = parser.parse_args(argv)
    with stack("--sub-clusters", "2", "--nodes", "2") as running:
        demo = _ask(running, small_hour(), heavier, options.seeds)
    with stack("--sub-clusters", str(options.sub_clusters), "--nodes", "0") as running:
        add_nodes(running.database_url(), options.nodes)
        running.client("operator").push_policy({"queues": queues(options.queues, 1)}, "queues of a fleet")
        jobs = large_hour(options.containers, options.queues)
        fleet = _ask(running, jobs, lambda found: queues(len(found), 5), options.seeds)
    return _told("demo_hour", *demo) | _told("fleet_hour", *fleet)


def small_hour() -> list[Submission]:
    """Jobs that a small cluster of two sub-clusters does in an hour."""
    drawn = open_workload(
        "synthetic",
        None,
        horizon_s=HOUR_S,
        jobs_per_hour=DEMO_JOBS_PER_HOUR,
        diurnal=0.0,
        tasks_most=100,
        tasks_mean=30.0,
        queues=1,
        bundles=((64, 100, 1.0),),
    )
    return [replace(job, queue="root.default") for job in drawn]


def large_hour(containers: int, count: int) -> list[Submission]:
    """So many containers in all, in jobs of all sizes of as many queues."""
    return list(open_workload("synthetic", None, horizon_s=HOUR_S, containers=containers, diurnal=0.0, queues=count))


def queues(count: int, first: float) -> Json:
    """So many queues with guarantees: all alike but the first, which counts for ``first``."""
    weights = [first] + [1.0] * (count - 1)
    return {
        f"q{at:05}": {"guaranteed": weight / sum(weights), "open_to_all": True} for at, weight in enumerate(weights, 1)
    }


def heavier(found: Json) -> Json:
    """The same queues, of which the default one counts for three."""
    return found | {"default": found["default"] | {"weight": 3.0}}


def _ask(
    running: BenchStack, jobs: list[Submission], change: Callable[[Json], Json], seeds: int
) -> tuple[SimulationDetail, float]:
    """The answer, and seconds from its request. change: what is asked about the queues in force."""
    end = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=SECOND_S)
    begin = end - dt.timedelta(seconds=HOUR_S)
    record(running.database_url(), begin, jobs)
    with running.client("operator") as operator:
        document = operator.policy().document
        assert document is not None
        document = document | {"queues": change(document["queues"])}
        began = time.monotonic()
        asked = operator.request_simulation(document=document, begin=begin, end=end, seeds=seeds)
        answer = operator.wait_simulation(asked.id)
    took_s = time.monotonic() - began
    if answer.result is None:
        raise RuntimeError(f"no answer: {answer.state}: {answer.message}")
    return answer, took_s


def _told(name: str, answer: SimulationDetail, took_s: float) -> dict[str, Any]:
    assert answer.result is not None
    runs = answer.result.runs
    return {
        f"{name}_s": round(took_s, 1),
        f"{name}_containers": answer.result.containers,
        f"{name}_lifecycles": sum(run.lifecycles for run in runs),
        f"{name}_sample": round(answer.sample, 3),
        f"{name}_nodes": answer.result.nodes,
        f"{name}_runs_s": [round(run.took_s, 1) for run in runs],
        f"{name}_peak_rss_mib": round(max(run.peak_rss_mib for run in runs)),
    }
