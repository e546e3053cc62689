"""The forecast: when room will be free, from the expected ends of running work.

It goes by what is known now: containers give back what they hold as they
end, and nothing else changes. Cost: a sort of c containers once, and O(c log c) for each kind that is asked about.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduler.core.snapshot import Snapshot

_MANY = 1 << 20  # more units than this are not told apart
OVERDUE = 0.25  # a container that outlives its estimate is expected to run this share of it longer


def expected_ends(started: np.ndarray, duration: np.ndarray, now: float) -> tuple[np.ndarray, np.ndarray]:
    """(when containers are expected to end, infinity where nobody knows; which have outlived their estimate): (c,).

    started, duration: (c,) float64 s; a duration of 0: nobody said.
    """
    ends = np.where(duration > 0, started + duration, np.inf)
    late = ends < now
    return np.where(late, now + OVERDUE * duration, ends), late


@dataclass(frozen=True, slots=True)
class Units:
    """When containers of one kind have room: ``now`` of them at ``at``, in all ``upto[i]`` by ``ends[i]``.

    ends: (c,) float64 s, ascending. upto: (c,) int64. A container that ends may make room for millions of small ones.
    """

    at: float
    now: int
    ends: np.ndarray
    upto: np.ndarray

    def when(self, nth: int) -> float | None:
        """When the nth container has room, from 1 on; None if it never does."""
        if nth <= self.now:
            return self.at
        row = int(np.searchsorted(self.upto, nth))
        return float(self.ends[row]) if row < len(self.ends) else None


class RoomForecast:
    """When nodes have room, as containers on them end. Profiles are worked out on demand and kept.

    node: (c,) of each container. shape: (c, r). ends: (c,) s, infinity where nobody knows. free: (n, r) int64 on the
    nodes at ``now``.
    """

    def __init__(self, node: np.ndarray, shape: np.ndarray, ends: np.ndarray, free: np.ndarray, now: float):
        self.free, self.at = free, now
        self.silent = not np.isfinite(ends).any()  # nobody said how long anything takes
        self._node, known, self._free_then = _by_node(node, shape, ends, free)
        self._order = np.argsort(known, kind="stable")
        self._ends = known[self._order]
        self._units: dict[Any, Units] = {}

    def units(self, shape: np.ndarray, usable: np.ndarray, key: Any) -> Units:
        """When the first, second, ... container of this shape has room.

        shape: (r,). usable: (n,) bool. key: tells kinds apart among what is kept.
        """
        found = self._units.get(key)
        if found is None:
            found = self._units[key] = self._profile(shape, usable)
        return found

    def _profile(self, shape: np.ndarray, usable: np.ndarray) -> Units:
        fits = np.where(usable, units_that_fit(self.free, shape), 0)
        rows = np.flatnonzero(usable[self._node])
        node = self._node[rows]
        then = units_that_fit(self._free_then[rows], shape)
        before = np.empty_like(then)
        before[1:] = then[:-1]
        first = np.ones(len(rows), np.bool_)
        first[1:] = node[1:] != node[:-1]
        before[first] = fits[node[first]]
        more = np.zeros(len(self._node), np.int64)
        more[rows] = then - before
        now = int(fits.sum())
        return Units(self.at, now, self._ends, now + more[self._order].cumsum())


class Forecast(RoomForecast):
    """What running containers give back, and when, to nodes, queues and users.

    ``s.running`` must be there. free: (n, r) int64 on the nodes at ``now``.
    Times are seconds on the caller's clock, so that it serves for a while; what
    its rounds call users, jobs and masks may change meanwhile, nodes and queues not.
    """

    def __init__(self, s: Snapshot, free: np.ndarray, now: float):
        assert s.running is not None
        self.s, self.running = s, s.running
        super().__init__(s.running.node, s.running.shape, s.running.ends, free, now)
        self._sure: Forecast | None = None
        self._given: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {}

    @property
    def sure(self) -> "Forecast":
        """The same without what has outlived its estimate, of which nobody can say when it ends."""
        r = self.running
        if r.overdue is None or not r.overdue.any():
            return self
        if self._sure is None:
            ends = np.where(r.overdue, np.inf, r.ends)
            known = replace(self.s, running=replace(r, ends=ends, overdue=None))
            self._sure = Forecast(known, self.free, self.at)
        return self._sure

    def below_maximum(self, queue: int, amount: np.ndarray) -> float | None:
        """When containers of the queue's subtree will have given back ``amount`` (r,); None if they do not."""
        key = ("queue", queue)
        if key not in self._given:
            below = np.zeros(len(self.s.queues.parent), np.bool_)
            below[queue] = True
            for q in range(queue + 1, len(below)):
                below[q] = below[self.s.queues.parent[q]]
            self._given[key] = self._giving(below[self.running.queue])
        return self._when(key, amount)

    def of_user(self, key: int, amount: np.ndarray) -> float | None:
        """When waiting jobs of the user whose ask has this key will have given back ``amount``; None if they do not."""
        at = int(np.searchsorted(self.s.asks.key, key))
        if at == len(self.s.asks.key) or self.s.asks.key[at] != key:
            return None
        user = int(self.s.jobs.user[self.s.asks.job[at]])
        job = self.running.job
        if ("user", user) not in self._given:
            self._given["user", user] = self._giving((job >= 0) & (self.s.jobs.user[job] == user))
        return self._when(("user", user), amount)

    def _giving(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(ends of these containers, ascending; what has been given back by then)."""
        rows = np.flatnonzero(which & np.isfinite(self.running.ends))
        rows = rows[np.argsort(self.running.ends[rows], kind="stable")]
        return self.running.ends[rows], self.running.shape[rows].cumsum(axis=0)

    def _when(self, key: tuple[str, int], amount: np.ndarray) -> float | None:
        ends, given = self._given[key]
        enough = (given >= amount).all(axis=1)
        return float(ends[int(enough.argmax())]) if enough.any() else None


def units_that_fit(amount: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Containers of ``shape`` (r,) that fit each row of ``amount`` (k, r): (k,) int64."""
    asked = np.flatnonzero(shape)
    if not len(asked):
        return np.full(len(amount), _MANY, np.int64)
    found: np.ndarray = np.maximum(amount[:, asked[0]], 0) // shape[asked[0]]
    for k in asked[1:]:
        np.minimum(found, np.maximum(amount[:, k], 0) // shape[k], out=found)
    return found


def _by_node(
    of: np.ndarray, held: np.ndarray, ends: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Containers with a known end by node and end: their nodes, ends, and what is free on the node from then on."""
    rows = np.flatnonzero(np.isfinite(ends))
    rows = rows[np.argsort(ends[rows], kind="stable")]
    node = of[rows]
    # Sorting sixteen bits at a time is many times faster than a comparing sort.
    order = np.argsort(node.astype(np.uint16) if len(free) < 1 << 16 else node, kind="stable")
    rows, node = rows[order], node[order]
    shape = held.take(rows, axis=0)
    given = shape.cumsum(axis=0)
    first = np.ones(len(rows), np.bool_)
    first[1:] = node[1:] != node[:-1]
    starts = np.flatnonzero(first)
    before = given[starts] - shape[starts]
    of_node = np.cumsum(first) - 1
    return node, ends[rows], free.take(node, axis=0) + given - before.take(of_node, axis=0)
