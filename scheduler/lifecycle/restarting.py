"""Restarting tasks of a service: at once, one after the other, or so many at a time for another revision of what they
run. A task is named with the attempt that is to end, so that asking twice, or late, restarts nothing twice."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from scheduler.lifecycle.group import GroupRun
from wire.states import TaskState

Attempt = tuple[int, int]  # a task, and which of its attempts


@dataclass(slots=True)
class Restarts:
    """now: attempts that are to end, whatever else goes on; one leaves when a later attempt of its task has begun.
    queue: of its tasks only the first ``width`` are ever down for it; one leaves when a later attempt of it serves.
    Both may name one that has ended already, and one that has its turn may be asked for at once, too.
    unsure: were handed to another sub-cluster, which may begin them as it knew them then; those belong to the queue.
    by: who asked last.
    """

    now: list[Attempt] = field(default_factory=list)
    queue: list[Attempt] = field(default_factory=list)
    unsure: list[Attempt] = field(default_factory=list)
    width: int = 1
    by: str = ""

    def __bool__(self) -> bool:
        return bool(self.now or self.queue or self.unsure)

    @property
    def stopping(self) -> list[Attempt]:
        """Attempts that are to end now."""
        return [*self.now, *self.queue[: self.width]]

    @property
    def named(self) -> set[Attempt]:
        """All attempts that are to end."""
        return {*self.now, *self.queue, *self.unsure}

    def add(self, attempts: Iterable[Attempt], one_by_one: bool) -> None:
        """Restart these, too. What waits for its turn and is asked for again keeps it.

        Asked for at once it ends now; whoever waits for the queue still waits until it serves.
        """
        known = {*self.now, *self.queue} if one_by_one else set(self.now)
        (self.queue if one_by_one else self.now).extend(a for a in attempts if a not in known)

    def advance(self, run: GroupRun, serves: Callable[[int, int], bool]) -> bool:
        """Forget what is done; whether anything was.

        serves: whether this attempt of this task runs, and is healthy as far as its group is asked.
        """
        before = len(self.now), len(self.queue), len(self.unsure)
        self.now = [attempt for attempt in self.now if not _is_followed(run, attempt)]
        self.unsure = [attempt for attempt in self.unsure if lives(run, attempt)]
        self.queue += [attempt for attempt in self.unsure if not run.remote[attempt[0]]]
        self.unsure = [attempt for attempt in self.unsure if run.remote[attempt[0]]]
        self.queue = [attempt for attempt in self.queue if not _is_back(run, attempt, serves)]
        return before != (len(self.now), len(self.queue), len(self.unsure))


def lives(run: GroupRun, attempt: Attempt) -> bool:
    """Whether the attempt is its task's last, has begun, and has not ended as far as the group knows."""
    return is_last(run, attempt) and bool(run.task_state[attempt[0]] == TaskState.RUNNING)


def is_last(run: GroupRun, attempt: Attempt) -> bool:
    """Whether its task has had no later attempt, as far as the group knows."""
    task, number = attempt
    return task < len(run.launches) and int(run.launches[task]) == number


def _is_followed(run: GroupRun, attempt: Attempt) -> bool:
    """Whether a later attempt of its task has begun, and not only been handed to another sub-cluster; or none is
    wanted; or it was handed over and has come back unbegun."""
    task, number = attempt
    if run.surplus(task) or task >= len(run.launches):
        return True
    known = int(run.launches[task])
    return known - int(run.remote[task]) > number or known < number


def living(run: GroupRun) -> list[Attempt]:
    """The attempts of all tasks that have begun, or were handed to others to begin, and have not ended."""
    tasks = np.flatnonzero(run.task_state == TaskState.RUNNING)
    return list(zip(tasks.tolist(), run.launches[tasks].tolist(), strict=True))


def _is_back(run: GroupRun, attempt: Attempt, serves: Callable[[int, int], bool]) -> bool:
    task, number = attempt
    if run.surplus(task) or task >= len(run.launches):
        return True
    last = int(run.launches[task])
    return last > number and serves(task, last)


def runs(attempts: Iterable[Attempt]) -> list[list[int]]:
    """The same, shorter: ``[task, how many in a row, attempt]``, in this order."""
    found: list[list[int]] = []
    for task, attempt in attempts:
        if found and found[-1][0] + found[-1][1] == task and found[-1][2] == attempt:
            found[-1][1] += 1
        else:
            found.append([task, 1, attempt])
    return found


def attempts(packed: Iterable[Iterable[int]]) -> list[Attempt]:
    """Inverse of ``runs``."""
    return [(task + i, attempt) for task, count, attempt in packed for i in range(count)]
