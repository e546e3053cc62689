"""Tables of the leader's memory: rows are given out once, cleared, and their arrays grow together."""

import numpy as np
import pytest

from controlplane.rm.memory.table import Table, column


class Things(Table):
    number: np.ndarray = column(np.int64, fill=-1)
    sizes: np.ndarray = column(np.int16, 2)
    held: np.ndarray = column(np.int64, axis=1)


@pytest.fixture
def things() -> Things:
    return Things(4, held=(3, 2))


def test_a_row_that_is_taken_holds_what_its_columns_say(things: Things) -> None:
    row = things.take()
    assert (row, len(things)) == (0, 1)
    assert (things.number[row], things.sizes[row].tolist(), things.held[:, row].tolist()) == (-1, [0, 0], [[0, 0]] * 3)
    assert (things.number.dtype, things.sizes.dtype) == (np.int64, np.int16)


def test_rows_that_were_given_back_come_again_cleared_the_last_first(things: Things) -> None:
    rows = things.take_many(3)
    things.number[rows], things.sizes[rows], things.held[:, rows] = rows, 7, 7
    things.give_back([0, 2])
    assert len(things) == 1 and things.number[2] == 2, "it keeps its values until it is taken"
    assert [things.take(), things.take(), things.take()] == [2, 0, 3]
    assert things.number[:4].tolist() == [-1, 1, -1, -1]
    assert things.sizes[:, 0].tolist() == [0, 7, 0, 0] and things.held[1, :, 0].tolist() == [0, 7, 0, 0]


def test_many_are_taken_as_they_would_be_one_by_one(things: Things) -> None:
    other = Things(4, held=(3, 2))
    for table in (things, other):
        table.take_many(5)
        table.number[:5] = 8
        table.give_back([4, 1, 3])
    assert things.take_many(6).tolist() == [other.take() for _ in range(6)] == [3, 1, 4, 5, 6, 7]
    assert things.number[:8].tolist() == other.number[:8].tolist() == [8, -1, 8, -1, -1, -1, -1, -1]
    assert things.take_many(0).tolist() == [] and len(things) == 8


def test_all_columns_grow_and_keep_what_they_hold(things: Things) -> None:
    for row in range(100):
        assert things.take() == row
        things.number[row], things.sizes[row], things.held[:, row] = row, (row, -row), row
    assert things.size >= 100
    assert {len(things.number), len(things.sizes), things.held.shape[1]} == {things.size}
    assert things.number[:100].tolist() == list(range(100)) and (things.number[100:] == -1).all()
    assert things.sizes[99].tolist() == [99, -99] and (things.held[:, :100] == np.arange(100)[:, None]).all()
    assert things.take_many(1000).tolist() == list(range(100, 1100))
    assert {len(things.number), len(things.sizes), things.held.shape[1]} == {things.size}
