"""When room is free, however many containers of a kind it is room for."""

import tracemalloc

import numpy as np

from scheduler.explain.forecast import RoomForecast

LARGE = 1 << 20  # as much memory in MiB as a node has, and cores in thousandths


def test_room_for_millions_of_the_smallest_containers_is_a_number() -> None:
    """A tenant may ask for containers of 1 MiB and a thousandth of a core; what ends makes room for millions."""
    c = 60
    held = np.full((c, 3), (LARGE, LARGE, 0), np.int64)
    free = np.zeros((c, 3), np.int64)
    free[0] = LARGE // 2, LARGE, 0
    tracemalloc.start()
    try:
        forecast = RoomForecast(np.arange(c), held, np.arange(c, 0.0, -1.0), free, 0.0)
        units = forecast.units(np.array([1, 1, 0]), np.ones(c, np.bool_), "smallest")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1 << 20
    assert (units.when(1), units.when(LARGE // 2)) == (0.0, 0.0)
    assert (units.when(LARGE // 2 + 1), units.when(LARGE // 2 + LARGE)) == (1.0, 1.0)
    assert units.when(LARGE // 2 + LARGE + 1) == 2.0
    assert units.when(LARGE // 2 + c * LARGE) == c
    assert units.when(LARGE // 2 + c * LARGE + 1) is None


def test_only_what_a_kind_may_use_counts_for_it() -> None:
    node, ends = np.array([0, 1, 1]), np.array([5.0, 3.0, np.inf])
    held = np.full((3, 3), (2, 2, 0), np.int64)
    forecast = RoomForecast(node, held, ends, np.zeros((2, 3), np.int64), 1.0)
    shape = np.array([1, 1, 0])
    first, both = np.array([True, False]), np.array([True, True])
    assert [forecast.units(shape, first, "first").when(n) for n in (1, 2, 3)] == [5.0, 5.0, None]
    assert [forecast.units(shape, both, "both").when(n) for n in (1, 2, 3, 4, 5)] == [3.0, 3.0, 5.0, 5.0, None]
