"""Parallel arrays over rows that come and go: nodes, containers, asks, users and jobs are kept in such tables."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from controlplane.rm.columns import longer


class Column(NamedTuple):
    """kind: of each value. shape: of what one row has. axis: the rows' place among the array's dimensions."""

    kind: DTypeLike
    shape: tuple[int, ...]
    axis: int
    fill: int


def column(kind: DTypeLike, *shape: int, axis: int = 0, fill: int = 0) -> Any:
    """An array of a ``Table``, declared as an attribute of its class. fill: what a row has when it is taken."""
    return Column(kind, shape, axis, fill)


class Table:
    """Arrays that grow together. Rows are numbered from 0; those that were given back are taken again first.

    A row that is free keeps its values until it is taken, so whoever looks at all of them has to tell by one.
    """

    _columns: ClassVar[dict[str, Column]]

    def __init_subclass__(cls) -> None:
        cls._columns = {name: each for name, each in vars(cls).items() if isinstance(each, Column)}

    def __init__(self, first: int = 64, **shapes: tuple[int, ...]) -> None:
        """first: rows to have room for. shapes: of columns for which the class does not say."""
        for name, each in self._columns.items():
            shape = shapes.get(name, each.shape)
            setattr(self, name, np.zeros((*shape[: each.axis], 0, *shape[each.axis :]), each.kind))
        self.size = 0  # rows there is room for
        self._next = 0  # the first that was never taken
        self._back: list[int] = []
        self._grow(first)

    def __len__(self) -> int:
        """Rows that are taken."""
        return self._next - len(self._back)

    def take(self) -> int:
        """One row more."""
        if self._back:
            row = self._back.pop()
            self._clear(row)
            return row
        row = self._next
        self._next += 1
        if row >= self.size:
            self._grow(2 * row)
        return row

    def take_many(self, k: int) -> np.ndarray:
        """So many rows more: (k,) int64."""
        begin = max(0, len(self._back) - k)
        again = np.array(self._back[begin:][::-1], np.int64)
        if len(again):
            del self._back[begin:]
            self._clear(again)
        fresh = np.arange(self._next, self._next + k - len(again))
        self._next += len(fresh)
        if self._next > self.size:
            self._grow(max(2 * self.size, self._next))
        return np.concatenate((again, fresh))

    def give_back(self, rows: Sequence[int]) -> None:
        """These are free; the last of them is taken first."""
        self._back.extend(rows)

    def reserve(self, size: int) -> None:
        """Have room for at least so many rows: of who numbers them as another table does."""
        if size > self.size:
            self._grow(size)

    def _clear(self, rows: Any) -> None:
        for name, each in self._columns.items():
            array = getattr(self, name)
            if each.axis:
                array[(slice(None),) * each.axis + (rows,)] = each.fill
            else:
                array[rows] = each.fill

    def _grow(self, size: int) -> None:
        """Have room for ``size`` rows. Who keeps lists beside the arrays makes them longer, too."""
        for name, each in self._columns.items():
            array = longer(getattr(self, name), size, each.axis)
            if each.fill:
                array[(slice(None),) * each.axis + (slice(self.size, None),)] = each.fill
            setattr(self, name, array)
        self.size = size
