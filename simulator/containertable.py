"""What hollow nodes hold: one table of containers for all of them, changed and reported for many nodes in one pass.

A row of the table is a node. Whole rows are taken and put, which costs far less than picking containers one by one.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from controlplane.rm.codec.records import REPORT
from wire.states import ContainerReason, ContainerState, Want

_WIDTH = 8  # places per node at first
_NEVER = np.inf
_COMPARED_AT_ONCE = 1 << 22  # pairs of what nodes hold and what documents name, a byte each
_RUNNING, _ENDED, _STOP = int(ContainerState.RUNNING), int(ContainerState.SUCCEEDED), int(Want.STOP)
_MOST_MS = 2**32 - 1
_FAILED, _EXIT_CODE = int(ContainerState.FAILED), int(ContainerReason.EXIT_CODE)


@dataclass(frozen=True, slots=True)
class DocumentEntries:
    """What documents name, one document's after the other.

    rows: (k,) whose they are. sizes: (k,) how much each names. ids, want: (e,). starts: (e,) whether there is a lease
    for it (1), one that may not be used (-1), or none (0). run_s: (e,) how long it will run. exit_code: (e,) int32, the
    one with which it ends then.
    """

    rows: np.ndarray
    sizes: np.ndarray
    ids: np.ndarray
    want: np.ndarray
    starts: np.ndarray
    run_s: np.ndarray
    exit_code: np.ndarray

    @property
    def owner(self) -> np.ndarray:
        """Which document names it: (e,) int64."""
        return np.repeat(np.arange(len(self.rows)), self.sizes)

    def padded(self) -> np.ndarray:
        """``ids`` with a row for each document: (k, most) int64, -1 where there is none."""
        return padded(self.ids, self.sizes)


class ContainerTable:
    """Places per node, of which the first ``count`` are taken; in the others stands nothing but zeros.

    report: (nodes, places) ``REPORT``, what it would say of each container; while it runs the exit code is the one it
    will end with. began: monotonic s. due: when it will have run its time, endless where it does not run; looked
    through at every tick.
    ``stamp``: what has run its time reports when that was as its processor time.
    """

    def __init__(self, nodes: int, stamp: bool = False):
        self.stamp = stamp
        self.count = np.zeros(nodes, np.int64)
        self.report = np.zeros((nodes, _WIDTH), REPORT)
        self.began = np.zeros((nodes, _WIDTH))
        self.due = np.full((nodes, _WIDTH), _NEVER)

    def grow(self, nodes: int) -> None:
        """Room for as many nodes."""
        self.count = np.concatenate((self.count, np.zeros(nodes - len(self.count), np.int64)))
        self._resize(nodes, self.report.shape[1])

    def _resize(self, nodes: int, width: int) -> None:
        n, w = self.report.shape
        more = ((0, nodes - n), (0, width - w))
        report = np.zeros((nodes, width), REPORT)
        report[:n, :w] = self.report
        self.report, self.began = report, np.pad(self.began, more)
        self.due = np.pad(self.due, more, constant_values=_NEVER)

    def apply(self, t: DocumentEntries, now: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do what these documents say: which of what they name was started, which ended by this, and which is not
        there, so that the RM will miss it: (e,) bool each.
        """
        row = t.rows[t.owner]
        known, at = self._find(t)
        place = np.where(known, at, 0)
        report = self._reports_at(row, place)
        began, due = self.began[row, place], self.due[row, place]
        stop = t.want == _STOP
        alive = known & (report["state"] < _ENDED)
        started, refused = ~known & ~stop & (t.starts > 0), ~known & ~stop & (t.starts < 0)
        over = stop & (alive | ~known)
        if not known.all():
            report[~known] = np.zeros(1, REPORT)
            report["id"] = t.ids
            report["memory_mib"][~known], report["cpu_ms"][~known] = 16, 10
            began[~known], due[~known] = now, _NEVER
            due[started], report["exit_code"][started] = now + t.run_s[started], t.exit_code[started]
        for which, state, reason in (
            (over, ContainerState.KILLED, ContainerReason.STOPPED),
            (started, ContainerState.RUNNING, ContainerReason.NONE),
            (refused, ContainerState.FAILED, ContainerReason.LEASE),
        ):
            report["state"][which], report["reason"][which] = state, reason
        report["ran_ms"][over & alive], report["exit_code"][over & alive] = _ms(now - began[over & alive]), 0
        due[over] = _NEVER
        there = known | stop | started | refused
        self._put(t.rows, t.owner[there], report[there], began[there], due[there])
        return started, refused | over, ~there

    def _find(self, t: DocumentEntries) -> tuple[np.ndarray, np.ndarray]:
        """Which of what documents name their nodes hold, and at which place: (e,) bool and int64."""
        names, held = t.padded(), self.report["id"][t.rows]
        held = held[:, : max(1, int(self.count[t.rows].max(initial=0)))]
        known, at = np.zeros(names.shape, np.bool_), np.zeros(names.shape, np.int64)
        # Each with each of the same node: for the dozens that a node holds that is less than sorting them.
        step = max(1, _COMPARED_AT_ONCE // max(1, names.shape[1] * held.shape[1]))
        for a in range(0, len(names), step):
            same = names[a : a + step, :, None] == held[a : a + step, None, :]
            known[a : a + step], at[a : a + step] = same.any(axis=2), same.argmax(axis=2)
        real = names >= 0
        return known[real], at[real]

    def _put(self, rows: np.ndarray, owner: np.ndarray, report: np.ndarray, began: np.ndarray, due: np.ndarray) -> None:
        """From now on these nodes hold this. owner: (e,) position in ``rows``, rising."""
        counts = np.bincount(owner, minlength=len(rows))
        if counts.max(initial=0) > self.report.shape[1]:
            self._resize(len(self.count), max(int(counts.max()), 2 * self.report.shape[1]))
        place = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        row = rows[owner]
        self.count[rows], self.report[rows], self.due[rows] = counts, np.zeros(1, REPORT), _NEVER
        self.report[row, place], self.began[row, place], self.due[row, place] = report, began, due

    def resume(self, rows: np.ndarray, ids: np.ndarray, began: np.ndarray, due: np.ndarray) -> None:
        """These containers run already, and nothing else does on their nodes: (k,) each."""
        order = np.argsort(rows, kind="stable")
        nodes, owner = np.unique(rows[order], return_inverse=True)
        report = np.zeros(len(rows), REPORT)
        report["id"], report["state"], report["memory_mib"], report["cpu_ms"] = ids[order], _RUNNING, 16, 10
        self._put(nodes, owner, report, began[order], due[order])

    def end_due(self, now: float, state: int = ContainerState.SUCCEEDED) -> np.ndarray:
        """End what has run its time: the rows, one per container."""
        rows, places = np.divmod(np.flatnonzero(self.due <= now), self.due.shape[1])
        self._end(rows, places, state)
        return rows

    def next_due(self) -> float:
        """When the next container will have run its time; endless without one."""
        return float(self.due.min(initial=_NEVER))

    def clear(self, row: int) -> None:
        """The node holds nothing any more."""
        self._put(np.array([row]), np.empty(0, np.int64), np.empty(0, REPORT), np.empty(0), np.empty(0))

    def end(self, ids: set[int] | None, state: int) -> int:
        """End these running containers, or all, in a moment; how many."""
        rows, places = np.nonzero(self.due < _NEVER)
        if ids is not None:
            chosen = np.isin(self.report["id"][rows, places], list(ids))
            rows, places = rows[chosen], places[chosen]
        self._end(rows, places, state)
        self.report["ran_ms"][rows, places] = 0
        return len(rows)

    def drop(self, row: int, container: int) -> None:
        """The node no longer knows this container."""
        kept = np.flatnonzero(self.report["id"][row, : self.count[row]] != container)
        columns = self.report[row, kept], self.began[row, kept], self.due[row, kept]
        self._put(np.array([row]), np.zeros(len(kept), np.int64), *columns)

    def _end(self, rows: np.ndarray, places: np.ndarray, state: int) -> None:
        due, ended = self.due[rows, places], self._reports_at(rows, places)
        well = ended["exit_code"] == 0
        ended["state"] = np.where(well, state, _FAILED)
        ended["reason"] = np.where(well, ended["reason"], _EXIT_CODE)
        ended["ran_ms"] = _ms(due - self.began[rows, places])
        if self.stamp:
            since_ms = (due - time.monotonic()) * 1000 + time.time() * 1000
            ended["cpu_ms"] = since_ms.astype(np.int64) % (1 << 32)
        self.report[rows, places] = ended
        self.due[rows, places] = _NEVER

    def reports(self, rows: np.ndarray, now: float) -> np.ndarray:
        """What these nodes have to say: (k, places) ``REPORT``, of each row the first ``count``."""
        found = self.report.take(rows, axis=0)
        ran_ms = _ms(now - self.began.take(rows, axis=0))
        found["ran_ms"] = np.where(self.due.take(rows, axis=0) < _NEVER, ran_ms, found["ran_ms"])
        return found

    def _reports_at(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        flat = self.report.ravel()  # picking records out takes twice as long
        found: np.ndarray = flat.take(rows * self.report.shape[1] + places)
        return found

    def states(self, row: int) -> Iterator[tuple[int, int]]:
        """(container id, state) of what one node holds."""
        mine = self.report[row, : self.count[row]]
        return zip(mine["id"].tolist(), mine["state"].tolist(), strict=True)


def padded(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Values that lie one row's after the other, with a row for each: (k, most) int64, -1 where there is none."""
    found = np.full((len(sizes), int(sizes.max(initial=0))), -1, np.int64)
    found[np.arange(found.shape[1]) < sizes[:, None]] = values
    return found


def _ms(seconds: np.ndarray) -> np.ndarray:
    """As statuses tell it, in 32 bits: what is longer than seven weeks is told as that."""
    found: np.ndarray = np.minimum(seconds * 1000, _MOST_MS).astype(np.uint32)
    return found
