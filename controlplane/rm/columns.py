"""Parallel arrays that grow: the tables of the leader's memory are made of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def records(rows: np.ndarray, *names: str) -> Iterator[tuple[Any, ...]]:
    """The named columns of a structured array, row by row, as Python's own values."""
    columns: list[list[Any]] = [rows[name].tolist() for name in names]
    return zip(*columns, strict=True)


def longer(column: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """The same values, and zeros up to ``size`` along ``axis``."""
    shape = list(column.shape)
    shape[axis] = size
    found = np.zeros(shape, column.dtype)
    if column.size:
        found[(slice(None),) * axis + (slice(column.shape[axis]),)] = column
    return found


def stretches(values: np.ndarray) -> np.ndarray:
    """Where stretches of equal values begin, and the end: (s + 1,) int64."""
    breaks = np.flatnonzero(values[1:] != values[:-1])
    found = np.zeros(len(breaks) + 2, np.int64)
    found[1:-1], found[-1] = breaks + 1, len(values)
    return found


def summed(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, ... of ``values`` (k,): (k + 1,) int64."""
    found = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=found[1:])
    return found
