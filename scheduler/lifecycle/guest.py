"""Tasks that a job master has handed to another sub-cluster (Hydra section 3.2: a job spans as many as it needs).

What was handed over is a list of tasks, only ever appended to at its end and
taken from at its front, so that two numbers say all: tasks at positions below
``taken`` were started there, those from ``taken`` to ``target`` were not yet.
Taking demand back is lowering the target; it never falls below ``taken``, so a
task is always in exactly one place.
"""

from dataclasses import dataclass, field

import numpy as np

from scheduler.lifecycle.group import GroupRun
from wire.states import GroupState

# Consecutive tasks of one attempt number: ``count`` of them from ``index`` on.
RUN = np.dtype([("index", "<i4"), ("count", "<i4"), ("attempt", "<i2")])
NO_TASKS = (np.empty(0, np.int32), np.empty(0, np.int16))
UNLOWERED = 2**62  # a wish that wishes nothing


def pack(index: np.ndarray, attempt: np.ndarray) -> bytes:
    """Tasks (k,) int32 with their attempt numbers (k,) int16, in this order, as ``RUN`` records."""
    if not len(index):
        return b""
    breaks = np.flatnonzero((np.diff(index) != 1) | (np.diff(attempt) != 0)) + 1
    starts = np.r_[0, breaks]
    runs = np.zeros(len(starts), RUN)
    runs["index"], runs["attempt"] = index[starts], attempt[starts]
    runs["count"] = np.diff(np.r_[starts, len(index)])
    return runs.tobytes()


def unpack(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of ``pack``."""
    runs = np.frombuffer(packed, RUN)
    counts = runs["count"].astype(np.int64)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.repeat(runs["index"], counts) + within).astype(np.int32), np.repeat(runs["attempt"], counts)


@dataclass(slots=True)
class HandedTasks:
    """Tasks handed to one sub-cluster. Positions count from the first task ever handed to it.

    index, attempt: of the tasks at positions ``base`` and on. wish: the target
    the job master would like; the target follows once the other side agrees.
    """

    base: int = 0
    target: int = 0
    taken: int = 0
    wish: int = UNLOWERED
    index: np.ndarray = field(default_factory=lambda: NO_TASKS[0])
    attempt: np.ndarray = field(default_factory=lambda: NO_TASKS[1])

    @classmethod
    def of_row(cls, base: int, target: int, taken: int, wish: int, packed: bytes) -> "HandedTasks":
        """As an ask's row says. A target that was lowered without the list being written anew ends before it does."""
        index, attempt = unpack(packed)
        kept = target - base
        return cls(base, target, taken, wish, index[:kept], attempt[:kept])

    @property
    def waiting(self) -> int:
        """Handed over, and neither started there nor asked back."""
        return max(0, min(self.target, self.wish) - self.taken)

    @property
    def lowering(self) -> bool:
        """Whether some of it was asked back and the other side has not answered yet."""
        return self.wish < self.target

    def tasks(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Tasks and attempt numbers at positions ``first`` to before ``last``."""
        part = slice(first - self.base, last - self.base)
        return self.index[part], self.attempt[part]

    def append(self, index: np.ndarray, attempt: np.ndarray) -> None:
        """Hand more tasks over. Only while nothing is being asked back: positions would be ambiguous."""
        if self.lowering:
            raise ValueError("tasks are being asked back")
        self.prune()
        self.index, self.attempt = np.concatenate((self.index, index)), np.concatenate((self.attempt, attempt))
        self.target += len(index)
        self.wish = UNLOWERED

    def lowered(self, target: int) -> tuple[np.ndarray, np.ndarray]:
        """The target is lower now: the tasks that have come back."""
        target = max(target, self.taken)
        back = self.tasks(target, self.target)
        kept = target - self.base
        self.index, self.attempt, self.target, self.wish = self.index[:kept], self.attempt[:kept], target, UNLOWERED
        return back

    def take(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Start the next ``k``."""
        if k > self.waiting:
            raise ValueError(f"{self.waiting} tasks wait, not {k}")
        found = self.tasks(self.taken, self.taken + k)
        self.taken += k
        return found

    def prune(self) -> None:
        """Forget what was started: nobody needs to know its position any more."""
        done = self.taken - self.base
        self.index, self.attempt, self.base = self.index[done:], self.attempt[done:], self.taken


@dataclass(slots=True)
class GuestRun(GroupRun):
    """The part of a group that was handed to this sub-cluster.

    Its job master is elsewhere: here nothing is tried again or judged, and no
    array is as long as the group.
    """

    handed: HandedTasks = field(default_factory=HandedTasks)

    def __post_init__(self) -> None:
        self.state = GroupState.RUNNING

    @property
    def wanted(self) -> int:
        return self.handed.waiting

    def take(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        self.running += k
        return self.handed.take(k)

    def adopt(self, index: int, attempt: int) -> None:
        self.running += 1
