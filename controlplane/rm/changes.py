"""What one round changes, gathered while it runs and written in one transaction."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wire.resources import DIVISIBLE

if TYPE_CHECKING:
    from controlplane.rm.claims import Counts
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry
    from scheduler.lifecycle.guest import HandedTasks

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
NEW = np.dtype(
    [
        ("id", "i8"), ("sub_cluster", "i2"), ("node", "i8"), ("job", "i8"), ("group", "i2"), ("task", "i4"),
        ("attempt", "i2"), ("state", "i2"), ("epoch", "i4"), *((axis, "i4") for axis in DIVISIBLE), ("gpus", "i8"),
        ("allocated_us", "i8"),
    ]
)  # fmt: skip
MOVED = np.dtype([("id", "i8"), ("state", "i2"), ("started_us", "i8")])
ENDED = np.dtype(
    [
        *((name, NEW[name]) for name in NEW.names or ()),
        ("started_us", "i8"), ("finished_us", "i8"), ("exit_code", "i4"), ("reason", "i2"), ("peak_memory_mib", "i4"),
        ("cpu_ms", "i8"),
    ]
)  # fmt: skip
TASK = np.dtype(
    [
        ("submitted_on", "i4"), ("job", "i8"), ("group", "i2"), ("index", "i4"), ("state", "i2"), ("attempts", "i2"),
        ("failures", "i2"), ("container", "i8"), ("exit_code", "i4"), ("finished_us", "i8"),
    ]
)  # fmt: skip
# One transition of the log: which container, whose, from what to what.
TRANSITION = np.dtype(
    [
        ("container", "<i8"), ("job", "<i8"), ("task", "<i4"), ("exit_code", "<i4"), ("group", "<i2"),
        ("old", "i1"), ("new", "i1"), ("node", "<i4"),
    ]
)  # fmt: skip


@dataclass(slots=True)
class Changes:
    """Blocks of rows of the dtypes above; entries by identity where a row is updated."""

    new: list[np.ndarray] = field(default_factory=list)
    moved: list[np.ndarray] = field(default_factory=list)
    ended: list[np.ndarray] = field(default_factory=list)
    tasks_first: list[np.ndarray] = field(default_factory=list)
    tasks_again: list[np.ndarray] = field(default_factory=list)
    transitions: list[np.ndarray] = field(default_factory=list)
    # of tasks whose failures do not count any more: day of the job's submission, job, group, index
    forgiven: list[tuple[dt.date, int, int, int]] = field(default_factory=list)
    jobs: dict[int, "JobEntry"] = field(default_factory=dict)
    begun: list["JobEntry"] = field(default_factory=list)  # of ``jobs``, those whose first container has begun
    over: list["JobEntry"] = field(default_factory=list)  # and those that have ended
    groups: dict[tuple[int, int], "GroupEntry"] = field(default_factory=dict)
    # (job, group, sub-cluster) -> what was handed there, or asked back; and whether all of it is to stop
    asks: dict[tuple[int, int, int], tuple["HandedTasks", bool]] = field(default_factory=dict)
    guests: dict[tuple[int, int], "GroupEntry"] = field(default_factory=dict)  # handed to us: taken or answered
    taken: set[tuple[int, int]] = field(default_factory=set)  # of ``guests``, those of which tasks were started
    lowered: list[tuple[int, int, int]] = field(default_factory=list)  # job, group, target: what we gave back
    reports: dict[int, list[np.ndarray]] = field(default_factory=dict)  # job -> ``reports.EVENT`` for its home
    # job -> ``masterevents.MasterEvent`` of its application master, for its home to number
    home_events: dict[int, list[tuple[int, int, str, dict[str, Any]]]] = field(default_factory=dict)
    reports_read: list[int] = field(default_factory=list)
    homes: set[int] = field(default_factory=set)  # sub-clusters that should look at their rows after the commit
    events: list[tuple[int, int, str, str]] = field(default_factory=list)  # job, at_us, kind, message
    # (hour, queue, owner), (day, queue, owner, tag) -> ``UsedFields``' sums: counts, then what is times microseconds
    usage: dict[tuple[int, str, int], list[int]] = field(default_factory=dict)
    tagged: dict[tuple[int, str, int, str], list[int]] = field(default_factory=dict)
    services: dict[int, "JobEntry"] = field(default_factory=dict)  # of which something else is wanted than before
    revisions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # job -> its own, that in force last
    rehomed: dict[int, int] = field(default_factory=dict)  # job of which nothing has begun -> its new home
    strayed: set[int] = field(default_factory=set)  # jobs that are not at home here, of which web wants something
    nodes: dict[int, tuple[int, int]] = field(default_factory=dict)  # node id -> (state, health)
    intents: list[int] = field(default_factory=list)  # carried out
    admissions: "Counts | None" = None
    master_groups: dict[tuple[int, int], "GroupEntry"] = field(default_factory=dict)  # came, or have another count
    # job, number, at_us, kind, body: what application masters are told
    master_events: list[tuple[int, int, int, str, dict[str, Any]]] = field(default_factory=list)
    granted: dict[tuple[int, int], int] = field(default_factory=dict)  # (job, group) -> grants told, if it has risen
    at_us: int = 0
    number: int = 0
    plan_us: int = 0
    placed: int = 0

    def __bool__(self) -> bool:
        return bool(
            self.new or self.moved or self.ended or self.jobs or self.groups or self.asks or self.guests
            or self.reports or self.home_events or self.reports_read or self.events or self.nodes or self.intents
            or self.tasks_again or self.admissions is not None or self.master_groups or self.master_events
            or self.rehomed or self.strayed or self.services or self.forgiven
        )  # fmt: skip

    @property
    def ended_count(self) -> int:
        return sum(map(len, self.ended))

    def begin(self, job: "JobEntry", at_us: int) -> None:
        """Its first container has begun, here or elsewhere."""
        job.started_us = at_us
        self.jobs[job.id] = job
        self.begun.append(job)

    def end(self, job: "JobEntry") -> None:
        """It has ended, now."""
        job.finished_us = self.at_us
        self.jobs[job.id] = job
        self.over.append(job)

    def hand(self, job: "JobEntry", group: "GroupEntry", sub: int) -> None:
        """What the group has handed to a sub-cluster has changed. Of a job that is being stopped all is to stop."""
        self.asks[job.id, group.run.no, sub] = (group.remote[sub], job.run.stopping and group.run.no != job.kept)
        self.homes.add(sub)

    def use(self, job: "JobEntry", sums: Sequence[int]) -> None:
        """Add what containers used that have ended now; also for each of the job's tags, or the empty one."""
        hour, day = self.at_us // HOUR_US, self.at_us // DAY_US
        _add(self.usage, (hour, job.queue, job.owner), sums)
        for tag in job.tags or ("",):
            _add(self.tagged, (day, job.queue, job.owner, tag), sums)


def _add(used: dict[Any, list[int]], key: tuple[Any, ...], sums: Sequence[int]) -> None:
    used[key] = [a + b for a, b in zip(used.get(key, (0,) * len(sums)), sums, strict=True)]
