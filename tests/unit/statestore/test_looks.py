"""Reads that do not depend on who asks are made once in a look."""

from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from controlplane.statestore.queries.looks import Look, looking, shared, together
from tests.patience import stretched


def test_a_read_is_made_once_in_a_look_for_each_of_its_arguments() -> None:
    made = []

    @shared
    def read(number: int) -> list[int]:
        made.append(number)
        return [number]

    with looking(Look()):
        assert read(1) is read(1) and read(2) == [2]
    assert made == [1, 2]
    with looking(Look()):
        read(1)
    assert made == [1, 2, 1]
    assert read(1) is not read(1), "outside a look each call reads"


def test_who_comes_while_it_is_read_waits_for_it() -> None:
    look, both, made, go = Look(), Barrier(2), [], Event()

    def slow() -> int:
        made.append(1)
        assert go.wait(stretched(10))
        return 7

    def ask() -> int:
        both.wait(stretched(10))
        return look.once("what", slow)

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(ask) for _ in range(2)]
        go.set()
        assert [answer.result(10) for answer in answers] == [7, 7]
    assert made == [1]


def test_what_failed_is_read_again() -> None:
    look, turns = Look(), iter([ValueError("away"), 5])

    def read() -> int:
        value = next(turns)
        if isinstance(value, ValueError):
            raise value
        return value

    with pytest.raises(ValueError, match="away"):
        look.once("what", read)
    assert look.once("what", read) == 5


def test_what_is_read_of_many_is_read_for_all_that_a_look_is_about() -> None:
    made: list[set[int]] = []

    @together("accounts")
    def read(numbers: Set[int]) -> dict[int, str]:
        made.append(set(numbers))
        return {number: f"n{number}" for number in numbers if number < 100}

    with looking(Look({1, 2, 300})):
        assert [read(1), read(2), read(300), read(7)] == ["n1", "n2", None, "n7"]
    assert made == [{1, 2, 300}, {7}], "what it is not about is read by itself"
    assert read(1) == "n1" and made[2:] == [{1}]


def test_what_has_changed_is_read_again_in_the_same_look() -> None:
    made: list[set[int]] = []

    @together("jobs")
    def read(numbers: Set[int]) -> dict[int, int]:
        made.append(set(numbers))
        return dict.fromkeys(numbers, len(made))

    with looking(look := Look(jobs={1, 2})):
        assert [read(1), read(2)] == [1, 1]
        look.change("jobs", 2)
        assert [read(1), read(2), read(2)] == [1, 2, 3]
    assert made == [{1, 2}, {2}, {2}]
