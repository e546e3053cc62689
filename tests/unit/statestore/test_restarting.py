"""How many tasks are said to start again."""

import pytest

from controlplane.statestore.queries.jobs.services import restarting
from scheduler.lifecycle.restarting import Attempt, runs


@pytest.mark.parametrize(
    ("now", "queue", "unsure", "count"),
    [
        ([], [], [], 0),
        ([(2, 1)], [(0, 1), (1, 1), (2, 1)], [], 3),
        ([(0, 1), (1, 1), (2, 1)], [(1, 1)], [(7, 1)], 4),
        ([(1, 2)], [(1, 1), (0, 1)], [(3, 1)], 4),
    ],
)
def test_what_has_its_turn_and_is_asked_for_at_once_is_one(
    now: list[Attempt], queue: list[Attempt], unsure: list[Attempt], count: int
) -> None:
    said = {"3": {"now": runs(now), "queue": runs(queue), "unsure": runs(unsure)}}
    assert (restarting(said, 3), restarting(said, 2), restarting(None, 3)) == (count, 0, 0)


def test_a_whole_group_costs_no_more_than_its_runs() -> None:
    everything = [[0, 10**12, 1]]
    assert restarting({"0": {"now": [[5, 10, 1]], "queue": everything}}, 0) == 10**12
