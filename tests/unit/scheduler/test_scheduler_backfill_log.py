"""The jobs of a real machine, replayed through rounds: each starts when the book says, by every rule.

NASA's iPSC/860 of 128 nodes, the last three months of 1993; jobs come faster
than they did, so that queues form. Its log has no estimates, so they are exact
or made worse by a factor.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scheduler.core.compiled import interpret
from scheduler.core.snapshot import Backfill
from tests import backfill_reference as book
from tests.backfill_replay import replay
from tests.kernels import compile_kernels
from tests.machine import FACTOR
from tests.property.scheduler.test_scheduler_backfill import RULES

PROCESSORS = 128
pytestmark = [
    pytest.mark.kernels,
    pytest.mark.timeout(900 * FACTOR),  # the first run on a machine compiles: a few minutes of one core
    pytest.mark.skipif("HYDRA_DATA" not in os.environ, reason="HYDRA_DATA names no folder of real traces"),
]


def log(faster: float, most: int) -> list[book.Job]:
    path = Path(os.environ["HYDRA_DATA"]) / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz"
    return book.read_swf(path, PROCESSORS, faster, most)


@pytest.fixture(scope="module", autouse=True)
def kernels() -> Iterator[None]:
    compile_kernels()
    yield
    interpret()


def waited(jobs: list[book.Job], starts: list[float]) -> float:
    return sum(start - job.arrives for job, start in zip(jobs, starts, strict=True)) / len(jobs)


@pytest.mark.faults  # for its length
def test_the_whole_log_one_and_a_half_times_as_fast_with_easy() -> None:
    """18,066 jobs, 70 % of the machine in use."""
    jobs = log(1.5, 100_000)
    assert len(jobs) == 18_066
    assert replay(jobs, PROCESSORS, Backfill.EASY, PROCESSORS) == book.simulate(jobs, PROCESSORS, book.easy)


@pytest.mark.parametrize(
    ("count", "nodes"), [(500, PROCESSORS), *(pytest.param(1500, n, marks=pytest.mark.faults) for n in (1, PROCESSORS))]
)
@pytest.mark.parametrize("rule", list(RULES))
def test_the_first_jobs_twice_as_fast(rule: Backfill, count: int, nodes: int) -> None:
    """Estimates are exact."""
    jobs = log(2.0, count)
    starts = replay(jobs, PROCESSORS, rule, nodes)
    assert starts == book.simulate(jobs, PROCESSORS, RULES[rule])
    if rule in (Backfill.EASY, Backfill.CONSERVATIVE):
        strict = book.simulate(jobs, PROCESSORS, book.first_come)
        assert waited(jobs, starts) < waited(jobs, strict) / 2, "what backfilling is for"


@pytest.mark.parametrize("count", [500, pytest.param(1500, marks=pytest.mark.faults)])
@pytest.mark.parametrize("rule", [Backfill.EASY, Backfill.CONSERVATIVE])
def test_the_same_with_estimates_that_are_too_long(rule: Backfill, count: int) -> None:
    """Each is expected to take as long as it does, or up to ten times that."""
    rng = random.Random(3)
    jobs = [replace(job, estimate=job.runs * rng.choice([1.0, 1.0, 1.5, 3.0, 10.0])) for job in log(2.0, count)]
    assert replay(jobs, PROCESSORS, rule, PROCESSORS) == book.simulate(jobs, PROCESSORS, RULES[rule])
