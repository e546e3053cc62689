"""What a worker makes ahead of the jobs of sub-clusters that others lead, so that a take-over need not.

Only what never changes of a job: its specification, which web writes once, as the
entry it begins with. How far the job has come is read at the take-over, of every
job; one that is missing here is read whole, and one too many is passed over.
Application masters add groups to their jobs, so those are always read whole.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from controlplane.rm.driver import collecting
from controlplane.rm.memory.jobs import JobEntry, entry
from controlplane.rm.ports import Clock
from controlplane.rm.rows import JobRow

log = structlog.get_logger(__name__)
BATCH = 1000  # jobs
REST = 4  # times what the processor took for a batch


class Source(Protocol):
    """live: numbers of the jobs of a sub-cluster to read ahead, rising. jobs: their rows, of those that are there."""

    def live(self, sub: int) -> Sequence[int]: ...
    def jobs(self, ids: Sequence[int]) -> list[JobRow]: ...


class ReadAhead:
    """most: entries of all sub-clusters together. rest: waits so many seconds; whether to go on."""

    def __init__(self, log_max_bytes: int, most: int, clock: Clock, rest: Callable[[float], bool]) -> None:
        self.log_max_bytes, self.most, self.clock, self.rest = log_max_bytes, most, clock, rest
        self._kept: dict[int, dict[int, JobEntry | None]] = {}  # by sub-cluster and job; None: it cannot be read
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many entries there are."""
        with self._lock:
            return sum(map(len, self._kept.values()))

    def take(self, sub: int) -> dict[int, JobEntry]:
        """What there is of a sub-cluster, for its new leader alone."""
        with self._lock:
            return {job: made for job, made in self._kept.pop(sub, {}).items() if made is not None}

    def follow(self, subs: Sequence[int], source: Source) -> int:
        """Read what is new of these sub-clusters, slowly, and forget all else; of how many jobs."""
        with self._lock:
            self._kept = {sub: self._kept.get(sub, {}) for sub in subs}
        return sum(self._follow(sub, source) for sub in subs)

    def _follow(self, sub: int, source: Source) -> int:
        live = source.live(sub)
        with self._lock:
            kept = self._kept.get(sub, {})
            for job in kept.keys() - set(live):
                del kept[job]
            room = max(0, self.most - sum(map(len, self._kept.values())))
        missing = [job for job in live if job not in kept][:room]
        read = 0
        for at in range(0, len(missing), BATCH):
            began = self.clock.processor_s()
            made = {row.id: made_ahead(row, self.log_max_bytes) for row in source.jobs(missing[at : at + BATCH])}
            with self._lock:
                if self._kept.get(sub) is not kept:  # it is led from here by now
                    break
                kept |= made
            read += len(made)
            collecting.settle()
            if not self.rest(REST * (self.clock.processor_s() - began)):
                break
        return read


def made_ahead(row: JobRow, log_max_bytes: int) -> JobEntry | None:
    """The job's entry as it begins; None where more than that has to be known of it."""
    if row.kind == "application" or not row.spec.get("queue"):  # an older release's runs name the queue they are in
        return None
    try:
        return entry(row, log_max_bytes)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        log.exception("a job cannot be read", job=row.id)
        return None
