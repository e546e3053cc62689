"""The fillers by hand, and against a container-by-container reference."""

import numpy as np
import pytest

from scheduler.placement.fill import first_fit, spread, units_that_fit
from scheduler.registry import UnknownPolicy, check_name


def test_units_that_fit_takes_the_scarcest_resource() -> None:
    free = np.array([[1000, 4000, 2], [1000, 500, 2], [-5, 4000, 2], [1000, 4000, 0]])
    usable = np.array([True, True, True, True])
    assert units_that_fit(free, np.array([100, 1000, 0]), usable).tolist() == [4, 0, 0, 4]
    assert units_that_fit(free, np.array([100, 100, 1]), usable).tolist() == [2, 2, 0, 0]
    usable[0] = False
    assert units_that_fit(free, np.array([100, 1000, 0]), usable).tolist() == [0, 0, 0, 4]


def test_a_shape_of_nothing_fits_everywhere_it_may_go() -> None:
    fits = units_that_fit(np.zeros((2, 3), np.int64), np.zeros(3, np.int64), np.array([True, False]))
    assert fits[0] > 1_000_000
    assert fits[1] == 0


@pytest.mark.parametrize(
    ("fits", "k", "cursor", "expected"),
    [
        ([3, 3, 3], 4, 0, [3, 1, 0]),
        ([3, 3, 3], 4, 2, [1, 0, 3]),
        ([0, 2, 0], 5, 0, [0, 2, 0]),
        ([3, 3, 3], 0, 1, [0, 0, 0]),
    ],
)
def test_first_fit_fills_node_by_node(fits, k, cursor, expected) -> None:
    assert first_fit(np.array(fits), k, cursor).tolist() == expected


@pytest.mark.parametrize(
    ("fits", "k", "cursor", "expected"),
    [
        ([9, 9, 9], 6, 0, [2, 2, 2]),
        ([9, 9, 9], 7, 1, [2, 3, 2]),
        ([1, 9, 9], 7, 0, [1, 3, 3]),
        ([1, 0, 9], 9, 0, [1, 0, 8]),
        ([2, 2], 9, 0, [2, 2]),
    ],
)
def test_spread_levels_the_counts(fits, k, cursor, expected) -> None:
    assert spread(np.array(fits), k, cursor).tolist() == expected


def test_an_unknown_policy_is_told_with_those_there_are() -> None:
    assert check_name("placement", "spread") == "spread"
    with pytest.raises(UnknownPolicy, match="choose one of first_fit, spread"):
        check_name("placement", "best")
