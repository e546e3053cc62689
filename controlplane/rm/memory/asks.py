"""The RM's asks: one row per live task group, kept warm, so that a round gathers arrays and builds none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from controlplane.rm.memory.table import Table, column
from scheduler.core.snapshot import Asks
from wire.resources import AXES, Amounts, amounts

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry

Owner = tuple["JobEntry", "GroupEntry"]
Mask = tuple[str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]  # labels, strict nodes, strict racks, avoided
T = TypeVar("T")
NOWHERE = np.empty(0, np.int32)
IN_VAIN = -2  # in place of a limit: no node here could ever hold it


class AskTable(Table):
    """A row per group, and per shape that containers of its earlier revisions have; free where ``key`` is -1.

    count: containers wanted now. job: row of the ledger. shape, mask: numbers
    of ``shapes`` and ``masks``, mask -1 before ``where``. near, racks: positions a group prefers.
    constrained: not all nodes are alike to it, here or in other sub-clusters.
    master: it is the application master of its job. limit: what kept it waiting when it was planned last, where
    that was not room: position of the queue whose maximum it was, or a user's in it; ``IN_VAIN``; else -1.
    """

    key: np.ndarray = column(np.int64, fill=-1)
    count: np.ndarray = column(np.int64)
    job: np.ndarray = column(np.int32)
    shape: np.ndarray = column(np.int32)
    mask: np.ndarray = column(np.int32, fill=-1)
    since: np.ndarray = column(np.float64)
    gang: np.ndarray = column(np.bool_)
    fill: np.ndarray = column(np.int8)
    duration: np.ndarray = column(np.float64)
    partition: np.ndarray = column(np.int16)
    prefers: np.ndarray = column(np.bool_)
    constrained: np.ndarray = column(np.bool_)
    master: np.ndarray = column(np.bool_)
    limit: np.ndarray = column(np.int32, fill=-1)

    def __init__(self) -> None:
        self.owner: list[Owner | None] = []
        self.near: list[np.ndarray] = []
        self.racks: list[np.ndarray] = []
        self.shapes: Numbered[tuple[int, ...]] = Numbered()
        self.masks: Numbered[Mask] = Numbered()
        super().__init__(256)

    def enter(self, job: JobEntry, group: GroupEntry) -> None:
        """Give the group a row."""
        at = group.row = self.take()
        self.owner[at] = (job, group)
        self.key[at] = (job.id << 16) + group.run.no
        self.master[at] = job.run.master and not group.run.no
        self.shape[at] = self.shapes.take(tuple(group.shape.tolist()))
        self.constrain(group)

    def constrain(self, group: GroupEntry) -> None:
        """The group wants to run where its constraints say."""
        at, constraints = group.row, group.constraints
        self.gang[at], self.fill[at], self.duration[at] = constraints.gang, constraints.fill, constraints.duration_s
        self.constrained[at] = bool(constraints.node_labels or constraints.near or constraints.racks)

    def leave(self, at: int) -> None:
        """Nobody asks by this row, nor has containers of it."""
        self.shapes.drop(int(self.shape[at]))
        self.masks.drop(int(self.mask[at]))
        self.key[at], self.count[at], self.owner[at], self.prefers[at] = -1, 0, None, False
        self.near[at] = self.racks[at] = NOWHERE
        self.give_back([at])

    def where(self, group: GroupEntry, mask: Mask, near: np.ndarray, racks: np.ndarray) -> None:
        """Which nodes the group may use, and which it prefers: (k,) int32 positions, (l,) int32 racks."""
        at = group.row
        before, self.mask[at] = int(self.mask[at]), self.masks.take(mask)
        self.masks.drop(before)
        self.near[at], self.racks[at] = near, racks
        self.prefers[at] = bool(len(near) or len(racks))

    def refresh(self, job: JobEntry, group: GroupEntry, now: float) -> None:
        """Take in what the group wants now."""
        at, wanted = group.row, group.run.wanted
        if wanted and not self.count[at]:
            self.since[at], self.limit[at] = now, -1
        self.count[at], self.job[at], self.partition[at] = wanted, job.row, group.partition
        for former in group.former_rows:
            self.job[former], self.partition[former] = job.row, group.partition

    def _grow(self, size: int) -> None:
        more = size - self.size
        self.owner += [None] * more
        self.near += [NOWHERE] * more
        self.racks += [NOWHERE] * more
        super()._grow(size)

    def wanting(self, partition: int) -> np.ndarray:
        """Rows that want containers of this partition, by key: (a,) int64."""
        rows = np.flatnonzero((self.count > 0) & (self.partition == partition))
        return rows[np.argsort(self.key[rows], kind="stable")]

    def amounts(self, at: int) -> Amounts:
        """What a container of this row has."""
        return amounts(self.shapes[int(self.shape[at])])

    def shapes_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distinct shapes of these rows, (s, R) int64, and each one's position among them, (k,) int32."""
        numbers, at = compact(self.shape[rows])
        table = [self.shapes[i] for i in numbers.tolist()]
        return np.array(table, np.int64).reshape(len(table), len(AXES)), at

    def gather(self, rows: np.ndarray, job: np.ndarray, masks: np.ndarray, mask: np.ndarray) -> Asks:
        """The arrays of a plan. job: (a,) int32 position of each ask's job; masks (m, n) and each ask's (a,) int32."""
        shapes, shape = self.shapes_of(rows)
        near_from, near = _ragged(self.near, rows, self.prefers[rows])
        rack_from, racks = _ragged(self.racks, rows, self.prefers[rows])
        return Asks(
            key=self.key[rows],
            count=self.count[rows],
            job=job,
            shape=shape,
            mask=mask,
            since=self.since[rows],
            gang=self.gang[rows],
            fill=self.fill[rows],
            near_from=near_from,
            near=near,
            near_rack_from=rack_from,
            near_rack=racks,
            duration=self.duration[rows],
            shapes=shapes,
            masks=masks,
        )


class Numbered(Generic[T]):
    """Small numbers for values that rows share; one that no row has any more is given to another value."""

    def __init__(self) -> None:
        self.values: list[T | None] = []
        self._number: dict[T, int] = {}
        self._rows: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._number)

    def __getitem__(self, number: int) -> T:
        found = self.values[number]
        assert found is not None
        return found

    def take(self, value: T) -> int:
        """The number of ``value``, which one row more has from now on."""
        number = self._number.get(value)
        if number is None:
            if not self._free:
                self._free.append(len(self.values))
                self.values.append(None)
                self._rows.append(0)
            number = self._number[value] = self._free.pop()
            self.values[number] = value
        self._rows[number] += 1
        return number

    def drop(self, number: int) -> None:
        """One row less has it; -1 is nothing."""
        if number < 0:
            return
        self._rows[number] -= 1
        if not self._rows[number]:
            del self._number[self[number]]
            self.values[number] = None
            self._free.append(number)


def compact(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of small non-negative ``numbers``, ascending, and each one's position among them (int32)."""
    used = np.bincount(numbers) > 0
    position = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), position[numbers] if len(numbers) else numbers.astype(np.int32)


def _ragged(lists: list[np.ndarray], rows: np.ndarray, prefers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a + 1,) int32 offsets and the values of ``lists[row]`` end to end; only ``prefers`` rows have any."""
    lengths = np.zeros(len(rows) + 1, np.int32)
    found = [lists[row] for row in rows[prefers].tolist()]
    lengths[1:][prefers] = [len(x) for x in found]
    return np.cumsum(lengths, dtype=np.int32), np.concatenate(found) if found else NOWHERE
