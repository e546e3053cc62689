"""What was found of a topic is kept while its stamp is the same."""

from collections.abc import Iterator

import pytest

from controlplane.dashboard.kept import KNOWN_S, Kept


@pytest.fixture
def found() -> Iterator[int]:
    return iter(range(100))


def test_the_same_stamp_means_no_read_and_another_one_means_one(found: Iterator[int]) -> None:
    kept = Kept[int]()
    stamps = ["a", "a", "b", "b", "a"]
    assert [kept.get("jobs", stamp, lambda: next(found)) for stamp in stamps] == [0, 0, 1, 1, 2]


def test_nothing_rests_on_a_stamp_for_long(found: Iterator[int]) -> None:
    now = [100.0]
    kept = Kept[int](clock=lambda: now[0])
    read = lambda: kept.get("jobs", "a", lambda: next(found))  # noqa: E731
    assert read() == 0
    now[0] += KNOWN_S - 0.1
    assert read() == 0
    now[0] += 0.1
    assert read() == 1


def test_the_least_recently_wanted_is_forgotten(found: Iterator[int]) -> None:
    kept = Kept[int](most=2)
    wanted = ["x", "y", "x", "z", "x", "y"]
    assert [kept.get(key, 0, lambda: next(found)) for key in wanted] == [0, 1, 0, 2, 0, 3]
