"""What hollow nodes hold: one table of containers for all of them, changed and reported for many nodes in one pass."""

from collections.abc import Iterator

import numpy as np

from controlplane.rm.records import REPORT
from wire.states import ContainerReason, ContainerState, Want

_WIDTH = 8  # places per node at first
# A container as its node knows it: what it would report, when it began and when it will have run (monotonic s).
HELD = np.dtype([("report", REPORT), ("began", "f8"), ("due", "f8")])
_NEVER = np.inf


class Held:
    """``table``: (nodes, places) ``HELD``; the first ``count`` places of each row are taken.

    due: (nodes, places), of containers that run; looked through at every tick.
    """

    def __init__(self, nodes: int):
        self.count = np.zeros(nodes, np.int64)
        self.table = np.zeros((nodes, _WIDTH), HELD)
        self.due = np.full((nodes, _WIDTH), _NEVER)

    def more(self, nodes: int) -> None:
        """Room for as many nodes."""
        missing = nodes - len(self.count)
        self.count = np.concatenate((self.count, np.zeros(missing, np.int64)))
        self.table = np.concatenate((self.table, np.zeros((missing, self.table.shape[1]), HELD)))
        self.due = np.concatenate((self.due, np.full((missing, self.due.shape[1]), _NEVER)))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """What these nodes hold, one node's after the other: (e,) ``HELD``."""
        found: np.ndarray = self.table.reshape(-1)[self._places(rows, self.count[rows])]
        return found

    def put(self, rows: np.ndarray, counts: np.ndarray, held: np.ndarray) -> None:
        """From now on these nodes hold this, one node's after the other."""
        if len(counts) and counts.max() > self.table.shape[1]:
            self._widen(int(counts.max()))
        self.count[rows], self.due[rows] = counts, _NEVER
        places = self._places(rows, counts)
        self.table.reshape(-1)[places] = held
        running = held["report"]["state"] == ContainerState.RUNNING
        self.due.reshape(-1)[places[running]] = held["due"][running]

    def _places(self, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the first ``counts`` places of each of these rows lie in the table: (e,) int64."""
        ends = np.cumsum(counts)
        begin = rows * self.table.shape[1] - (ends - counts)
        found: np.ndarray = np.repeat(begin, counts) + np.arange(ends[-1] if len(ends) else 0)
        return found

    def _widen(self, width: int) -> None:
        more = ((0, 0), (0, max(width, 2 * self.table.shape[1]) - self.table.shape[1]))
        self.table, self.due = np.pad(self.table, more), np.pad(self.due, more, constant_values=_NEVER)

    def finish(self, now: float, state: int = ContainerState.SUCCEEDED) -> np.ndarray:
        """End what has run its time: the rows, one per container."""
        rows, places = np.nonzero(self.due <= now)
        self._end(rows, places, state)
        return rows

    def end(self, ids: set[int] | None, state: int) -> int:
        """End these running containers, or all, in a moment; how many."""
        rows, places = np.nonzero(self.due < _NEVER)
        if ids is not None:
            chosen = np.isin(self.table["report"]["id"][rows, places], list(ids))
            rows, places = rows[chosen], places[chosen]
        self._end(rows, places, state)
        self.table["report"]["ran_ms"][rows, places] = 0
        return len(rows)

    def _end(self, rows: np.ndarray, places: np.ndarray, state: int) -> None:
        ended = self.table[rows, places]
        ended["report"]["state"] = state
        ended["report"]["ran_ms"] = _ms(np.minimum(ended["due"] - ended["began"], 4e6))
        self.table[rows, places] = ended
        self.due[rows, places] = _NEVER

    def reports(self, rows: np.ndarray, now: float) -> np.ndarray:
        """What these nodes have to say, one node's after the other: (e,) ``REPORT``."""
        held = self.of(rows)
        running = held["report"]["state"] == ContainerState.RUNNING
        held["report"]["ran_ms"][running] = _ms(now - held["began"][running])
        found: np.ndarray = held["report"]
        return found

    def each(self, row: int) -> Iterator[tuple[int, int]]:
        """(container id, state) of what one node holds."""
        reports = self.of(np.array([row]))["report"]
        return zip(reports["id"].tolist(), reports["state"].tolist(), strict=True)


def _ms(seconds: np.ndarray) -> np.ndarray:
    return (seconds * 1000).astype(np.uint32)


def obey(
    held: np.ndarray, row: np.ndarray, ids: np.ndarray, want: np.ndarray, owner: np.ndarray, now: float,
    starts: np.ndarray, run_s: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """What nodes hold once they have obeyed their documents.

    held, row: what they hold, and whose each is. ids, want, owner: what the
    documents name, and whose each is. starts: whether there is a lease for it
    (1), one that may not be used (-1), or none (0); run_s: how long it will run.
    Returns (held, owner of each, which of ``ids`` were started).
    """
    order = np.argsort(held["report"]["id"], kind="stable")
    at = np.searchsorted(held["report"]["id"], ids, sorter=order)
    at = order[np.minimum(at, len(held) - 1)] if len(held) else at
    known = np.zeros(len(ids), np.bool_)
    if len(held):
        known = (held["report"]["id"][at] == ids) & (row[at] == owner)
    new = np.zeros(len(ids), HELD)
    new[known] = held[at[known]]
    stop, report = want == Want.STOP, new["report"]
    alive = known & (report["state"] < ContainerState.SUCCEEDED)
    started, refused = ~known & ~stop & (starts > 0), ~known & ~stop & (starts < 0)
    for which, state, reason in (
        (stop & (alive | ~known), ContainerState.KILLED, ContainerReason.STOPPED),
        (started, ContainerState.RUNNING, ContainerReason.NONE),
        (refused, ContainerState.FAILED, ContainerReason.LEASE),
    ):
        report["state"][which], report["reason"][which] = state, reason
    report["ran_ms"][stop & alive] = _ms(now - new["began"][stop & alive])
    report["id"] = ids
    new["began"][~known], new["due"][~known] = now, now + run_s[~known]
    report["memory_mib"][~known], report["cpu_ms"][~known] = 16, 10
    # A container that is wanted, unknown and without a lease is not there: the RM will miss it.
    there = known | stop | started | refused
    return new[there], owner[there], started
