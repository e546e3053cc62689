"""Workers lead about equally many sub-clusters: who leads many more than another hands one over to it.

After a failure whoever is there takes what is free, at once. A worker that
comes later, or comes back, gets its part by this, one sub-cluster after the
other: each hand-over is a pause of that one's rounds, as long as a rebuild takes,
so a small difference stays. Where nobody takes over, the lease is free and offered
to everybody; a worker from which a sub-cluster came back gets none for a while.
"""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from controlplane.rm.driver.epochs import STEP_ASIDE_EVERY_S
from controlplane.rm.ports import Clock

UNEVEN = 4  # sub-clusters more than another leads, from which on one is handed over
SETTLED_S = 10.0  # a worker that has just started may end at once again
RESERVED_S = 5.0  # for whom a sub-cluster was handed to, before it is taken back
PROVEN_S = 60.0  # who has not led it for so long has not taken over
AVOIDED_S = 600.0  # a worker that has not


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process that reports, and has run for ``up_s``. serves: sub-clusters by name; None: every one."""

    name: str
    serves: frozenset[str] | None
    up_s: float

    def takes(self, sub_cluster: str) -> bool:
        return self.serves is None or sub_cluster in self.serves


def own_queue(worker: str) -> str:
    """The queue of which this worker alone is a consumer."""
    return f"pulse.{worker}"


def handover(me: str, led: Sequence[tuple[int, str, str]], workers: Sequence[Worker]) -> tuple[int, str] | None:
    """The sub-cluster that ``me`` should hand over, and to whom; None when all is even enough.

    led: (number, name, who leads it). workers: those that report.
    """
    mine = [(sub, name) for sub, name, holder in led if holder == me]
    leads: Mapping[str, int] = {w.name: sum(holder == w.name for _, _, holder in led) for w in workers}
    others = [w for w in workers if w.name != me and w.up_s >= SETTLED_S]
    for other in sorted(others, key=lambda w: (leads[w.name], w.name)):
        if len(mine) - leads[other.name] < UNEVEN:
            break
        fit = [sub for sub, name in mine if other.takes(name)]
        if fit:
            return max(fit), other.name
    return None


@dataclass(slots=True)
class Term:
    """A leader's time in this process."""

    ends: threading.Event
    successor: str = ""


@dataclass(slots=True)
class Terms:
    """Who leads in this process. most: so many at once, as each takes a thread."""

    clock: Clock
    most: int = 1 << 30
    _led: dict[int, Term] = field(default_factory=dict)
    _given: dict[int, tuple[str, float]] = field(default_factory=dict)  # sub-cluster -> to whom and when, monotonic s
    _avoided: dict[str, float] = field(default_factory=dict)  # worker -> since when, monotonic s
    _stepped_aside: dict[int, float] = field(default_factory=dict)  # sub-cluster -> when, monotonic s
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_lead(self, sub: int) -> bool:
        """Whether this process should take the sub-cluster: not at once again after handing it over, nor too many."""
        with self._lock:
            _, given = self._given.get(sub, ("", -math.inf))
            return len(self._led) < self.most and self.clock.monotonic() - given > RESERVED_S

    def may_step_aside(self, sub: int) -> bool:
        """Whether a leader here may go because nodes name a later epoch. One of them could say so for ever."""
        now = self.clock.monotonic()
        with self._lock:
            if now - self._stepped_aside.get(sub, -math.inf) < STEP_ASIDE_EVERY_S:
                return False
            self._stepped_aside[sub] = now
            return True

    def avoids(self, worker: Worker) -> bool:
        """Whether this very process did not take over what was handed to it, a while ago."""
        with self._lock:
            ago_s = self.clock.monotonic() - self._avoided.get(worker.name, -math.inf)
        return ago_s <= worker.up_s and ago_s < AVOIDED_S

    @contextmanager
    def term(self, sub: int) -> Iterator[Term]:
        """Lead within the block, until ``ends`` is set."""
        found, now = Term(threading.Event()), self.clock.monotonic()
        with self._lock:
            self._led[sub] = found
            to, given = self._given.pop(sub, ("", -math.inf))
            if now - given < PROVEN_S:
                self._avoided[to] = now
        try:
            yield found
        finally:
            with self._lock:
                if self._led.get(sub) is found:  # else the next one has begun
                    del self._led[sub]

    def resign(self, sub: int, successor: str) -> None:
        """Have this process's leader of the sub-cluster end its term, for another worker to go on."""
        with self._lock:
            found = self._led.get(sub)
            if found is not None:
                self._given[sub] = successor, self.clock.monotonic()
                found.successor = successor
                found.ends.set()
