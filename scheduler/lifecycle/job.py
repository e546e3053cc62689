"""The job master of a declarative job: task groups, dependencies, retries. Events in, instructions out.

Instructions are values; the round turns them into rows and desired state.
Asks follow from ``GroupRun.wanted``, so a group that may start needs no
instruction of its own.
"""

from dataclasses import dataclass, field

import numpy as np

from scheduler.lifecycle.group import AttemptEnd, GroupRun
from scheduler.lifecycle.transitions import JOB, check
from wire.counts import counted
from wire.states import ContainerReason, ContainerState, GroupState, JobState, TaskState, terminal

SIGNAL_BASE = 128  # a command ended by signal s is reported with exit status 128 + s, as shells do


@dataclass(frozen=True, slots=True)
class StopAll:
    """Stop every live container of the job, but those of the group numbered ``keep``."""

    keep: int = -1


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """Tell the owner something: an event of the job."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The job is over; its row gets ``state`` and ``message``."""

    state: JobState
    message: str


Instruction = StopAll | EmitEvent | Ended


@dataclass(slots=True)
class JobRun:
    """A live job as its home RM holds it.

    live: containers that have not ended, wherever they are, and tasks that
    another sub-cluster may be starting. master: group 0 is the tenant's own
    application master, and the job ends as it does.
    """

    id: int
    groups: list[GroupRun]
    state: JobState = JobState.SUBMITTED
    live: int = 0
    verdict: JobState | None = None  # how it will end once nothing runs
    message: str = ""
    master: bool = False
    open_groups: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.open_groups = sum(not terminal(g.state) for g in self.groups)

    @property
    def stopping(self) -> bool:
        return self.verdict is not None

    def become(self, state: JobState) -> None:
        if state != self.state:
            self.state = check(JOB, self.state, state, f"job {self.id}")


def admit(job: JobRun) -> list[Instruction]:
    """The job may run: groups without unfinished dependencies begin to ask."""
    job.become(JobState.ADMITTED)
    open_groups(job)
    return []


def allocated(job: JobRun, k: int) -> None:
    """``k`` containers were placed for the job."""
    job.live += k
    if job.state == JobState.ADMITTED:
        job.become(JobState.RUNNING)


def handed_over(job: JobRun, k: int) -> None:
    """``k`` tasks were handed to another sub-cluster."""
    job.live += k


def begun(job: JobRun, group: GroupRun, indices: np.ndarray) -> np.ndarray:
    """Another sub-cluster has started these tasks; those of which that is news."""
    news = group.begun(indices)
    if len(indices) and job.state == JobState.ADMITTED:  # a rebuild may have found them running
        job.become(JobState.RUNNING)
    return news


def returned(job: JobRun, group: GroupRun, indices: np.ndarray) -> list[Instruction]:
    """Another sub-cluster will not start these tasks after all."""
    job.live -= len(group.returned(indices))
    if job.stopping:
        group.halt()
    return _finish(job)


def ended(job: JobRun, group: GroupRun, e: AttemptEnd, now: float) -> tuple[TaskState, list[Instruction]]:
    """One attempt ended. What became of its task, and what follows for the job."""
    job.live -= 1
    task = group.end(e, now, job.verdict)
    out: list[Instruction] = []
    if task == TaskState.PENDING and not group.surplus(e.index):
        out.append(_again(f"{group.name}/{e.index}", e))
    elif task == TaskState.FAILED and not job.stopping and not group.open_ended:
        attempts = int(group.launches[e.index])
        out += _fail(job, f"{group.name}/{e.index} {describe(e)} after {counted(attempts, 'attempt')}")
    return task, out + _settle(job, group)


def _again(name: str, e: AttemptEnd) -> EmitEvent:
    if e.asked_by is None:
        return EmitEvent("retry", f"{name} {describe(e)}; it will be tried again")
    by = f"{e.asked_by} asked" if e.asked_by else "was asked"
    return EmitEvent("restarting", f"{name} was stopped to start again, as {by}")


def succeeded(job: JobRun, group: GroupRun, indices: np.ndarray) -> list[Instruction]:
    """An attempt of each of these tasks succeeded, of a group that is no service: what ``ended`` gives one by one."""
    if not len(indices):
        return []
    job.live -= len(indices)
    group.succeed(indices)
    return _settle(job, group)


def _settle(job: JobRun, group: GroupRun) -> list[Instruction]:
    """What follows from attempts of the group having ended, for the group, those that wait for it, and the job."""
    if group.over and not terminal(group.state):
        job.open_groups -= 1
        group.become(group.outcome)
        if not job.stopping:
            open_groups(job)
            if job.master and group.no == 0:
                return conclude(job, JobState.SUCCEEDED, "")
    elif not group.running and group.state == GroupState.RUNNING and not job.stopping:
        group.become(GroupState.PENDING)
    return _finish(job)


def conclude(job: JobRun, verdict: JobState, message: str) -> list[Instruction]:
    """The application master has said how the job ends: all else stops, and with the master's own end the job's.

    Saying it twice changes nothing.
    """
    if job.stopping or terminal(job.state):
        return []
    _halt(job, verdict, message)
    return [StopAll(keep=0), *_finish(job)]


def join(job: JobRun, group: GroupRun) -> None:
    """The application master asks for containers of one more kind."""
    job.groups.append(group)
    job.open_groups += 1
    group.become(GroupState.PENDING)


def kill(job: JobRun, message: str) -> list[Instruction]:
    """Somebody wants the job stopped. Asking twice changes nothing."""
    if job.stopping or terminal(job.state):
        return []
    _halt(job, JobState.KILLED, message)
    if job.state != JobState.SUBMITTED:
        job.become(JobState.KILLING)
    return [StopAll(), *_finish(job)]


def reject(job: JobRun, message: str) -> list[Instruction]:
    """The job can never run here; it fails with the reason."""
    _halt(job, JobState.FAILED, message)
    return _finish(job)


def _fail(job: JobRun, message: str) -> list[Instruction]:
    _halt(job, JobState.FAILED, message)
    job.become(JobState.KILLING)
    return [EmitEvent("failed", message), StopAll()]


def resume_stop(job: JobRun) -> None:
    """A new leader's rebuild found the job ``KILLING``: nothing starts again, and it ends as it would have."""
    failed = any(group.failed for group in job.groups)
    _halt(job, JobState.FAILED if failed else JobState.KILLED, job.message)


def resumed(job: JobRun) -> list[Instruction]:
    """After ``resume_stop``: what follows if nothing lives any more, as nobody will say that something has ended."""
    return _finish(job) if job.stopping and not terminal(job.state) else []


def _halt(job: JobRun, verdict: JobState, message: str) -> None:
    job.verdict, job.message = verdict, message
    for group in job.groups:
        group.halt()


def _finish(job: JobRun) -> list[Instruction]:
    """End the job when nothing is left to do."""
    if job.live or (job.open_groups and not job.stopping):
        return []
    for group in job.groups:
        if not terminal(group.state):
            group.close()
    state = job.verdict or JobState.SUCCEEDED
    job.become(state)
    return [Ended(state, job.message)]


def open_groups(job: JobRun) -> None:
    """Let groups begin to ask whose dependencies have all succeeded."""
    done = {g.no for g in job.groups if g.state == GroupState.SUCCEEDED}
    for group in job.groups:
        if group.state == GroupState.WAITING and done.issuperset(group.after):
            group.become(GroupState.PENDING)


_WHY = {
    ContainerReason.TIMEOUT: "ran longer than its timeout",
    ContainerReason.MEMORY: "used more memory than it asked for",
    ContainerReason.LOCALIZATION: "could not fetch its files",
    ContainerReason.START: "could not start its command",
    ContainerReason.OUTPUT: "did not leave a named output",
    ContainerReason.STOPPED: "was stopped",
    ContainerReason.LEASE: "was refused by its node",
    ContainerReason.NODE_LOST: "was on a node that fell silent",
    ContainerReason.VANISHED: "is no longer known to its node",
    ContainerReason.EXIT_UNKNOWN: "ended while its exit status could not be recorded",
    ContainerReason.DISCONNECTED: "was stopped by a node that was cut off",
    ContainerReason.DRAINED: "was stopped to empty its node",
    ContainerReason.PREEMPTED: "was stopped to make way",
    ContainerReason.UNHEALTHY: "failed its health check too often",
    ContainerReason.UNUSED: "was granted and not used in time",
    ContainerReason.UNREACHABLE: "could not have its files fetched or stored, as the control plane did not answer",
    ContainerReason.SECRET: "could not have a secret that it names, as its stderr says",
}


def describe(e: AttemptEnd) -> str:
    """How an attempt ended, as part of a sentence."""
    if e.state == ContainerState.SUCCEEDED:
        return "ended"
    if e.reason == ContainerReason.SIGNAL:
        return f"was ended by signal {e.exit_code - SIGNAL_BASE}"
    return _WHY.get(e.reason, f"ended with exit status {e.exit_code}")
