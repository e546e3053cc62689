"""Failures of nodes that are drawn."""

import itertools

import pytest

from simulator.failures import Churn
from simulator.workload import Machine

MACHINES = {name: [Machine(f"{name}{n}", 1024, 1000) for n in range(50)] for name in ("a", "b")}


def test_they_come_as_often_and_last_as_long_as_was_asked_for() -> None:
    until_s = 100_000.0
    found = list(Churn(2000.0, 500.0).drawn(MACHINES, until_s, 1))
    assert len(found) == pytest.approx(100 * until_s / 2500, rel=0.05)
    assert sum(each.back_s - each.at_s for each in found) / len(found) == pytest.approx(500, rel=0.05)
    for name in MACHINES:
        for node in range(50):
            own = [each for each in found if (each.sub_cluster, each.node) == (name, node)]
            assert all(before.back_s < after.at_s for before, after in itertools.pairwise(own))


def test_a_seed_draws_the_same_again() -> None:
    churn = Churn(5000.0, 100.0)
    first, again, other = (list(churn.drawn(MACHINES, 20_000.0, seed)) for seed in (1, 1, 2))
    assert first == again != other
