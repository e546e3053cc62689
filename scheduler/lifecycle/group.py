"""One task group's run: which tasks wait, run, have ended, and which to start next.

Pure state and arithmetic. Task states live in arrays that reach as far as tasks
have been started, so that a task costs seven bytes, and none before it starts.
"""

import heapq
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from scheduler.lifecycle.transitions import GROUP, check
from wire.counts import counted
from wire.states import ContainerReason, ContainerState, GroupState, JobState, TaskState, terminal


class Backoff(NamedTuple):
    """The first and the longest wait before a task starts again, s."""

    first: float
    longest: float


SERVICE_BACKOFF_S = Backoff(1.0, 300.0)
SERVICE_STABLE_S = 300.0  # a service task that ran this long starts again without a wait
BATCH_BACKOFF_S = Backoff(0.5, 60.0)
BACKOFF_MAX_S = max(SERVICE_BACKOFF_S.longest, BATCH_BACKOFF_S.longest)
FREE_ATTEMPTS = 20  # attempts lost through no fault of the task that are not counted
_CHOSEN = (ContainerReason.PREEMPTED, ContainerReason.DRAINED)  # by the cluster, which may do so again and again
# Ended without fault of the task, where trying again at once would come to the same.
LATER = (ContainerReason.LEASE, ContainerReason.UNREACHABLE)
ATTEMPTS_MAX = 32_000  # what the columns of attempts and failures hold
_NO_STATES, _NO_COUNTS, _NO_MARKS = (np.empty(0, kind) for kind in (np.int8, np.int16, np.bool_))
_ROOM = 16  # tasks for which a group's columns have room at first


def resized(column: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` values; zeros where there were none."""
    return np.concatenate((column[:count], np.zeros(max(0, count - len(column)), column.dtype)))


@dataclass(slots=True)
class AttemptEnd:
    """How one attempt ended, as its node (or the lack of one) tells.

    asked_by: who had it stopped so that its task starts again, "" where nobody knows who; None: nobody had.
    replaced: it was to make way for a new attempt, however it has ended.
    """

    index: int
    state: ContainerState
    reason: ContainerReason
    exit_code: int
    ran_s: float
    asked_by: str | None = None
    replaced: bool = False

    @property
    def blameless(self) -> bool:
        """Whether the task is not to blame: stopped, lost, never begun, or ended while nobody could see how."""
        gone = self.state in (ContainerState.LOST, ContainerState.KILLED)
        return gone or self.reason == ContainerReason.EXIT_UNKNOWN or self.reason in LATER


class Pause(NamedTuple):
    """A task waits before it starts again. due: until then, in the caller's clock, s. end: why it does."""

    due: float
    index: int
    end: AttemptEnd


@dataclass(slots=True)
class GroupRun:
    """``failures`` and ``launches``: (n,) int16 per task; ``task_state``: (n,) int8. n: at most ``count``; tasks from
    there on were never started, and have zeros. Of a service that was scaled down they reach further: tasks from
    ``count`` on end, if they still run, and do not start again unless it is scaled up.

    remote: (n,) bool, tasks handed to another sub-cluster that have not
    begun there. They are ``RUNNING`` here, so that nobody starts them again.
    open_ended: an application master's ask. Each task is tried once, and it
    ends only with its job. target: so many tasks its master wants to have been
    started in the end; below ``count`` where that has fallen. Tasks below
    ``next_fresh`` that came back from elsewhere then wait for it to rise again.
    """

    no: int
    name: str
    count: int
    retries: int
    after: tuple[int, ...]
    service: bool = False
    open_ended: bool = False
    target: int = -1  # as ``count``, unless it is said
    state: GroupState = GroupState.WAITING
    task_state: np.ndarray = field(default_factory=lambda: _NO_STATES)
    failures: np.ndarray = field(default_factory=lambda: _NO_COUNTS)
    launches: np.ndarray = field(default_factory=lambda: _NO_COUNTS)
    remote: np.ndarray = field(default_factory=lambda: _NO_MARKS)
    next_fresh: int = 0  # tasks from here on were never started
    to_retry: deque[int] = field(default_factory=deque)  # to start again, now
    backing_off: list[Pause] = field(default_factory=list)  # heap
    pauses: int = 0  # begun so far
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    killed: int = 0
    retried: int = 0

    def __post_init__(self) -> None:
        self.target = self.count if self.target < 0 else self.target

    @property
    def wanted(self) -> int:
        """Containers the group would start now."""
        if self.state not in (GroupState.PENDING, GroupState.RUNNING):
            return 0
        if self.open_ended:
            return max(0, self.target - self.claimed)
        return max(0, self.count - self.next_fresh) + len(self.to_retry)

    @property
    def claimed(self) -> int:
        """Tasks that were started, or handed to another sub-cluster to be."""
        return self.next_fresh - len(self.to_retry)

    @property
    def idle(self) -> int:
        """Tasks of a service that do not run now, nor were handed to others to run."""
        return self.count - int((self.task_state[: self.count] == TaskState.RUNNING).sum())

    @property
    def unfinished(self) -> int:
        return self.count - self.succeeded - self.failed - self.killed

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do, nor can come."""
        return not self.unfinished and not self.open_ended

    @property
    def outcome(self) -> GroupState:
        """How the group has ended, once nothing of it is unfinished."""
        if self.failed:
            return GroupState.FAILED
        return GroupState.KILLED if self.killed else GroupState.SUCCEEDED

    @property
    def next_due(self) -> float | None:
        """When the next delayed start falls due, in the caller's clock; None without one."""
        return self.backing_off[0].due if self.backing_off else None

    def become(self, state: GroupState) -> None:
        if state != self.state:
            self.state = check(GROUP, self.state, state, f"group {self.name}")

    def resize(self, count: int) -> None:
        """Want ``count`` tasks from now on; there are no fewer than were started. Only of an open-ended group."""
        self.target = count
        self.reach(max(count, self.next_fresh))

    def scale(self, count: int) -> None:
        """Keep ``count`` tasks running from now on, those of the lowest indices. Only of a service.

        Those beyond that still run are the caller's to stop.
        """
        before, self.count, self.target = self.count, count, count
        waiting = [*self.to_retry, *(pause.index for pause in self.backing_off)]
        self.to_retry = deque(index for index in self.to_retry if index < count)
        self.backing_off = [pause for pause in self.backing_off if pause.index < count]
        heapq.heapify(self.backing_off)
        gone = np.array([index for index in waiting if index >= count], np.int64)
        known = np.arange(before, min(count, self.next_fresh, len(self.task_state)))
        back = known[self.task_state[known] == TaskState.PENDING]
        self.to_retry.extend(back.tolist())
        self.retried += int((self.launches[back] > 0).sum()) - int((self.launches[gone] > 0).sum())

    def surplus(self, index: int) -> bool:
        """Whether the service was scaled down to fewer tasks than would have this one."""
        return self.service and index >= self.count

    def reach(self, count: int) -> None:
        """Have ``count`` tasks, whatever is wanted."""
        self.count = count
        if len(self.task_state) > count:
            self._resize_columns(count)

    def cover(self, tasks: int) -> None:
        """Have values for the first ``tasks`` tasks. Raises ``IndexError`` where there never were so many."""
        have = len(self.task_state)
        if tasks <= have:
            return
        if tasks > self.count and not self.service:
            raise IndexError(f"group {self.name} has {counted(self.count, 'task')}, and none of index {tasks - 1}")
        self._resize_columns(max(tasks, min(self.count, max(2 * have, _ROOM))))

    def _resize_columns(self, size: int) -> None:
        self.task_state, self.failures, self.launches, self.remote = (
            resized(x, size) for x in (self.task_state, self.failures, self.launches, self.remote)
        )

    def wake(self, now: float) -> int:
        """Move delayed starts that fell due to ``again``; how many."""
        moved = 0
        while self.backing_off and self.backing_off[0].due <= now:
            self.to_retry.append(heapq.heappop(self.backing_off).index)
            moved += 1
        return moved

    def take(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Choose the next ``k`` tasks to start: (indices int32, attempt numbers int16, from 1)."""
        indices, attempts = self._next(k)
        self.running += k
        self.become(GroupState.RUNNING)
        return indices, attempts

    def hand_over(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """As ``take``, for another sub-cluster to start."""
        indices, attempts = self._next(k)
        self.remote[indices] = True
        return indices, attempts

    def _next(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        if k > self.wanted:
            raise ValueError(f"group {self.name} wants {self.wanted} containers, not {k}")
        repeats = [self.to_retry.popleft() for _ in range(min(k, len(self.to_retry)))]
        fresh = k - len(repeats)
        indices = np.arange(self.next_fresh - len(repeats), self.next_fresh + fresh, dtype=np.int32)
        indices[: len(repeats)] = repeats
        self.next_fresh += fresh
        self.cover(self.next_fresh)
        self.task_state[indices] = TaskState.RUNNING
        # An attempt number that cannot rise stays; one that wraps would be refused by every node.
        self.launches[indices] = np.minimum(self.launches[indices].astype(np.int32) + 1, ATTEMPTS_MAX)
        return indices, self.launches[indices]

    def begun(self, indices: np.ndarray) -> np.ndarray:
        """Of these tasks, handed over, another sub-cluster has started: those of which that is news."""
        self.cover(int(indices.max(initial=-1)) + 1)
        news: np.ndarray = indices[self.remote[indices]]
        if len(news):
            self.remote[news] = False
            self.running += len(news)
            self.become(GroupState.RUNNING)
        return news

    def returned(self, indices: np.ndarray) -> np.ndarray:
        """These tasks, handed over, will not be started there: those that were still away."""
        self.cover(int(indices.max(initial=-1)) + 1)
        news: np.ndarray = indices[self.remote[indices]]
        self.remote[news] = False
        self.task_state[news] = TaskState.PENDING
        self.launches[news] -= 1  # that attempt never was
        gone = news[news >= self.count] if self.service else news[:0]
        self.to_retry.extend(index for index in news.tolist() if not self.surplus(index))
        self.retried -= int((self.launches[gone] > 0).sum())
        if self.open_ended:
            self._recede()
        return news

    def _recede(self) -> None:
        """Tasks at the end that came back are as if they had never been handed over."""
        waiting = set(self.to_retry)
        while self.next_fresh - 1 in waiting:
            self.next_fresh -= 1
            waiting.remove(self.next_fresh)
        self.to_retry = deque(sorted(waiting))
        self.resize(self.target)

    def adopt_remote(self, indices: np.ndarray, attempts: np.ndarray) -> None:
        """These tasks were handed over by a former leader (a new leader's rebuild)."""
        self.cover(int(indices.max(initial=-1)) + 1)
        self.task_state[indices] = TaskState.RUNNING
        self.launches[indices] = np.maximum(self.launches[indices], attempts)
        self.remote[indices] = True

    def adopt(self, index: int, attempt: int) -> None:
        """Take over an attempt that runs already, wherever (a new leader's rebuild)."""
        self.cover(index + 1)
        self.remote[index] = False
        self.task_state[index] = TaskState.RUNNING
        self.launches[index] = max(attempt, int(self.launches[index]))
        self.running += 1

    def restore(self, index: int, state: int, failures: int, launches: int) -> None:
        """Set a task from its row (a new leader's rebuild)."""
        self.cover(index + 1)
        self.task_state[index] = state
        self.failures[index] = failures
        self.launches[index] = launches
        if self.surplus(index):
            return
        self.succeeded += state == TaskState.SUCCEEDED
        self.failed += state == TaskState.FAILED
        self.killed += state == TaskState.KILLED

    def restored(self, ends: Iterable[tuple[AttemptEnd, float]] = ()) -> None:
        """After ``restore`` and ``adopt``: work out what is still to be started.

        ends: how the last attempts of tasks ended that failed before, and when
        (the caller's clock, s); of those that wait, back-offs go on.
        """
        if not len(self.launches):  # nothing was ever started, and most groups wait
            return
        touched = np.flatnonzero(self.launches)
        self.next_fresh = int(touched[-1]) + 1 if len(touched) else 0
        waiting = np.flatnonzero(self.task_state[: self.next_fresh] == TaskState.PENDING)
        waiting = waiting[waiting < self.count] if self.service else waiting
        ends = [(e, at) for e, at in ends if not self.surplus(e.index)]
        late = [(e, at) for e, at in ends if self.task_state[e.index] == TaskState.PENDING and self._backoff_s(e)]
        rests = {e.index for e, _ in late}
        self.to_retry = deque(index for index in waiting.tolist() if index not in rests)
        for e, at in late:
            self._retry(e, at)
        # Every attempt but a task's last was tried again, and so was the last of one that waits.
        self.retried = int(np.maximum(self.launches.astype(np.int64) - 1, 0).sum())
        self.retried += int((self.launches[waiting] > 0).sum())
        if self.open_ended:
            self.resize(self.target)

    def end(self, e: AttemptEnd, now: float, stopping: JobState | None) -> TaskState:
        """Account one ended attempt and say what became of its task.

        ``PENDING`` means that it will be started again, at once or after a
        back-off; of a service that has fewer tasks by now, that it would be.
        ``stopping``: nothing starts again, and the job will end so. Of one that
        has failed, who used up its own attempts has failed, too; nobody stopped it.
        """
        self.running -= 1
        new = self._verdict(e, stopping)
        self.task_state[e.index] = new
        if self.surplus(e.index):
            return new
        if new == TaskState.PENDING:
            self.retried += 1
            self._retry(e, now)
        self.succeeded += new == TaskState.SUCCEEDED
        self.failed += new == TaskState.FAILED
        self.killed += new == TaskState.KILLED
        return new

    def succeed(self, indices: np.ndarray) -> None:
        """Account a success of each of these tasks, as ``end`` would one by one; not for services."""
        self.task_state[indices] = TaskState.SUCCEEDED
        self.running -= len(indices)
        self.succeeded += len(indices)

    def _verdict(self, e: AttemptEnd, stopping: JobState | None) -> TaskState:
        if e.state == ContainerState.SUCCEEDED and not self.service:
            return TaskState.SUCCEEDED
        if stopping is not None and (self.service or stopping != JobState.FAILED):
            return TaskState.KILLED
        if self.open_ended:
            return TaskState.FAILED if e.state == ContainerState.FAILED else TaskState.KILLED
        if not e.blameless and (self.service or e.state == ContainerState.FAILED):
            self.failures[e.index] = min(int(self.failures[e.index]) + 1, ATTEMPTS_MAX)
        if self.service:
            return TaskState.PENDING
        exhausted = self.failures[e.index] > self.retries
        if stopping is not None:
            return TaskState.FAILED if exhausted else TaskState.KILLED
        hopeless = self.launches[e.index] > self.retries + 1 + FREE_ATTEMPTS and e.reason not in _CHOSEN
        return TaskState.FAILED if exhausted or hopeless else TaskState.PENDING

    def _retry(self, e: AttemptEnd, now: float) -> None:
        delay = self._backoff_s(e)
        if delay:
            self.pauses += 1
            heapq.heappush(self.backing_off, Pause(now + delay, e.index, e))
        else:
            self.to_retry.append(e.index)

    def end_pauses(self, tasks: Collection[int]) -> list[int]:
        """Let those of these tasks that pause start now, and forget their failures: which these are.

        A pause for which a node is to blame goes by ``launches``, which stay: the next such one is as long as ever.
        """
        over = [pause.index for pause in sorted(self.backing_off) if pause.index in tasks]
        if over:
            self.backing_off = [pause for pause in self.backing_off if pause.index not in tasks]
            heapq.heapify(self.backing_off)
            self.failures[over] = 0
            self.to_retry.extend(over)
        return over

    def _backoff_s(self, e: AttemptEnd) -> float:
        """Exponential back-off: first * 2 ** (failures - 1), at most the longest; 0 where the task is not to blame.

        Where its node could do nothing for it, whoever was to blame, ``launches`` counts instead. What was to be
        replaced counts for nothing.
        """
        first, longest = SERVICE_BACKOFF_S if self.service else BATCH_BACKOFF_S
        if e.replaced:
            self.failures[e.index] = 0
            return 0.0
        if e.reason in LATER:
            return min(longest, first * 2.0 ** min(int(self.launches[e.index]) - 1, 12))
        if e.blameless:
            return 0.0
        if self.service and e.ran_s >= SERVICE_STABLE_S:
            self.failures[e.index] = 0
            return 0.0
        return min(longest, first * 2.0 ** min(int(self.failures[e.index]) - 1, 12))

    def halt(self) -> None:
        """Start nothing more: the job is being killed or has failed."""
        self.next_fresh = self.count
        self.to_retry.clear()
        self.backing_off.clear()

    def close(self) -> None:
        """Kill what never ran, once nothing runs any more."""
        self.halt()
        self.killed += self.unfinished
        if not terminal(self.state):
            self.become(self.outcome)
