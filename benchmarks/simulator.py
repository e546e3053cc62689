"""The simulator's own speed: lifecycles of containers per minute of one core, and a day of a whole fleet.

Every lifecycle goes through the round driver as in production: admission, shares, placement, a commit, documents to
nodes, statuses from them, the job master. ``day_s`` is the machine's time for 24 hours of ``--day-jobs`` jobs on
``--sub-clusters`` of ``--fleet-nodes`` nodes each, what has ended read at most twenty seconds later while nobody waits.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from controlplane import heap, kernels
from simulator.engine import Setup, Simulation
from simulator.measures import Run
from simulator.site import Pace
from simulator.workload import Machine, Submission, SubmittedGroup

QUEUES = 8
POLICY = {"queues": {f"q{i}": {"guaranteed": 1 / QUEUES, "open_to_all": True} for i in range(QUEUES)}}
DAY_S = 86_400.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench simulator")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=6000)
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--fleet-nodes", type=int, default=2500)
    parser.add_argument("--day-jobs", type=int, default=100_000)
    parser.add_argument("--day-tasks", type=int, default=40)
    parser.add_argument("--hours", type=float, default=24.0, help="of the day")
    options = parser.parse_args(argv)
    kernels.compile_now()
    heap.settle()
    one = run({"one": machines("n", options.nodes)}, jobs(options.jobs, 16.0, 50), Pace(interval_s=1.0, idle_s=1.0))
    rate = options.day_jobs / DAY_S
    pace = Pace(idle_s=20.0, heartbeat_s=20.0, load_s=30.0)
    fleet = {f"s{i}": machines(f"s{i}-", options.fleet_nodes) for i in range(options.sub_clusters)}
    day = run(fleet, jobs(round(options.day_jobs * options.hours / 24), rate, options.day_tasks), pace)
    return {
        "lifecycles_per_minute": round(one.lifecycles / one.took_s * 60),
        "us_per_lifecycle": round(one.took_s / one.lifecycles * 1e6, 1),
        "day_s": round(day.took_s * 24 / options.hours, 1),
        "day_lifecycles": day.lifecycles,
        "day_rounds": day.rounds,
        "us_per_round": round(day.took_s / day.rounds * 1e6),
        "jobs_ended": int((day.jobs["state"] >= 10).sum()),
        "peak_rss_mib": round(day.peak_rss_mib),
    }


def machines(prefix: str, count: int) -> list[Machine]:
    return [Machine(f"{prefix}{i}", 32_768, 16_000, rack=f"{prefix}rack{i // 40}") for i in range(count)]


def jobs(count: int, per_s: float, tasks: int, mean_s: float = 60.0) -> Iterator[Submission]:
    """Poisson arrivals of jobs whose tasks run for 1 s and an exponential time more."""
    rng, at = np.random.default_rng(1), 0.0
    for number in range(count):
        at += rng.exponential(1 / per_s)
        group = SubmittedGroup(tasks, 1024, 1000, 1 + rng.exponential(mean_s - 1, tasks), estimate_s=mean_s)
        yield Submission(at, f"root.q{number % QUEUES}", f"u{number % 30}", (group,), number)


def run(sub_clusters: dict[str, list[Machine]], workload: Iterator[Submission], pace: Pace) -> Run:
    return Simulation(Setup(sub_clusters, POLICY, pace), workload).run()
