"""Batch jobs through the whole round driver: they start when the textbook's rules say, to the second."""

import os
from pathlib import Path

import numpy as np
import pytest

from simulator.engine import Setup, Simulation
from simulator.site import Pace
from simulator.workload import Machine, Submission, SubmittedGroup
from tests import backfill_reference as book
from tests.backfill_reference import Job

RULES = {"strict": book.first_come, "easy": book.easy, "conservative": book.conservative}
AT_ONCE = Pace(interval_s=0.0, idle_s=0.0, heartbeat_s=0.0, timed_s=1e6)
CORE = {"memory_mib": 16, "vcores_milli": 1000}


def starts(jobs: list[Job], processors: int, rule: str) -> list[float]:
    """When each job starts in the simulator, on nodes of a quarter or a sixteenth of the processors."""
    each = processors // (4 if processors < 64 else 16)
    machines = [Machine(f"n{i}", 16 * each, 1000 * each) for i in range(processors // each)]
    policy = {
        "queues": {"batch": {"guaranteed": 1.0, "open_to_all": True, "ordering": "fifo"}},
        "components": {"placement": {"parameters": {"backfill": rule, "backfill_depth": 1000}}},
    }
    work = [
        Submission(
            j.arrives,
            "root.batch",
            "u",
            (SubmittedGroup(j.processors, **CORE, run_s=np.array([j.runs]), estimate_s=j.estimate, gang=True),),
            n,
        )
        for n, j in enumerate(jobs)
    ]
    run = Simulation(Setup({"one": machines}, policy, AT_ONCE), work).run()
    assert (run.jobs["state"] == 10).all(), run.notes
    return [float(t) for t in run.jobs["started"]]


def random_jobs(seed: int, count: int, processors: int, exact: bool) -> list[Job]:
    rng = np.random.default_rng(seed)
    at, found = 0.0, []
    for _ in range(count):
        at += float(rng.integers(0, 40))
        runs = float(rng.integers(1, 200))
        estimate = runs if exact else float(np.ceil(runs * rng.uniform(1, 4)))
        found.append(Job(at, int(rng.integers(1, processors + 1)), runs, estimate))
    return found


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "too long"])
@pytest.mark.parametrize("rule", RULES)
def test_random_jobs_start_when_the_book_says(rule: str, exact: bool) -> None:
    jobs = random_jobs(7, 40, 16, exact)
    assert starts(jobs, 16, rule) == book.simulate(jobs, 16, RULES[rule])


@pytest.mark.skipif("HYDRA_DATA" not in os.environ, reason="HYDRA_DATA names no folder of real traces")
@pytest.mark.parametrize("rule", [pytest.param("strict", marks=pytest.mark.faults), "easy"])
def test_a_real_log_at_a_raised_load(rule: str) -> None:
    log = Path(os.environ["HYDRA_DATA"]) / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz"
    jobs = book.read_swf(log, 128, 20.0, 200)
    expected = book.simulate(jobs, 128, RULES[rule])
    assert starts(jobs, 128, rule) == expected
    waits = np.array(expected) - [j.arrives for j in jobs]
    assert (waits > 0).mean() > 0.1, "queues form"
