"""Jobs as the RM holds them: the pure job master beside what the rows say."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from contract import stored
from contract.stored import StoredContainer, StoredGroup
from controlplane.rm.memory.application import MASTER, Application, Declared, JobIdentity
from controlplane.rm.rows import JobRow
from scheduler.lifecycle.group import GroupRun, resized
from scheduler.lifecycle.guest import GuestRun, HandedTasks
from scheduler.lifecycle.job import JobRun
from scheduler.lifecycle.restarting import Restarts, attempts, runs
from scheduler.lifecycle.rollout import Rollout
from scheduler.placement.fills import Fill
from wire import desired, labels, template
from wire.resources import NOTHING, Amounts, amounts
from wire.states import JobState

_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_NO_MARKS = np.empty(0, np.bool_)
_TASKS_NAMED = 10  # in one event


@dataclass(frozen=True, slots=True)
class PlacementConstraints:
    """Where and how a group's containers want to run, as submitted.

    partition: a name, or None for the queue's. fill: ``Fill`` or -1 for the
    policy's. near, racks: names of preferred nodes and racks; with ``strict``
    nowhere else. duration_s: expected run time, 0 unknown. parallelism: for so
    many containers at once there must be quota before the job begins; 0: none.
    """

    node_labels: str = ""
    partition: str | None = None
    fill: int = -1
    gang: bool = False
    near: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    strict: bool = False
    duration_s: float = 0.0
    parallelism: int = 0

    def mask(self, avoided: tuple[int, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]:
        """Which nodes it may use at all, as ``asks.Mask``. avoided: positions."""
        nodes, racks = (self.near, self.racks) if self.strict else ((), ())
        return self.node_labels, nodes, racks, avoided


@dataclass(slots=True, eq=False)
class GroupEntry:
    """A task group and what its containers need. ``shape``: (R,) int64 over ``AXES``.

    template: makes the text of what they run; it is as long as the job's files are many, and most groups wait.
    row: its row of the ask table. partition: its position among the memory's.
    Of a job at home elsewhere, ``run`` is a ``GuestRun``. checked: its containers have a health check; secrets: what
    they get, by name. Of a service, asked_us: when its number of tasks was last asked for, 0 if never; restarts: tasks
    that are to start again; former: digests of templates of other revisions, which attempts that have not begun yet may
    name; former_rows: of the ask table, with the shapes that containers of other revisions have; standing_in: so many
    of its tasks, the last, serve while others restart.
    """

    run: GroupRun
    shape: np.ndarray
    template: Callable[[], bytes]
    timeout_s: int
    constraints: PlacementConstraints = field(default_factory=PlacementConstraints)
    held: bool = False  # granted first: its application master says later what each container runs
    row: int = -1
    partition: int = 0
    ask_version: int = 0  # of a guest: the version of its ask that this RM works from
    remote: dict[int, HandedTasks] = field(default_factory=dict)  # sub-cluster -> tasks handed there
    slots: set[int] = field(default_factory=set)
    reason: dict[str, Any] | None = None
    granted: int = 0  # of a master's ask: containers that its master was told of
    started_us: int = 0
    finished_us: int = 0
    needs_template: bool = False  # it is known to somebody who counts (``memory.templates``)
    checked: bool = False
    secrets: tuple[str, ...] = ()
    asked_us: int = 0
    restarts: Restarts = field(default_factory=Restarts)
    former: list[bytes] = field(default_factory=list)
    former_rows: list[int] = field(default_factory=list)
    standing_in: int = 0
    published_at: float = -1e9  # monotonic time the template was last put into Redis
    written: tuple[Any, ...] = ()  # counters and state as last written to the row
    written_at: float = -1e9

    amounts: Amounts = NOTHING  # the shape, as Python integers
    _digest: bytes = field(default=b"", init=False)
    rowed: np.ndarray = field(default_factory=lambda: _NO_MARKS)  # (n,) bool: tasks that have a row already

    def __post_init__(self) -> None:
        self.amounts = amounts(self.shape.tolist())

    def reach(self, count: int) -> None:
        """Have room for ``count`` tasks, even if fewer are wanted by now (a new leader's rebuild).

        What a service has beyond its tasks is to end, and counts for nothing.
        """
        if count > self.run.count and not self.run.service:
            self.run.reach(count)

    def task_rows(self) -> np.ndarray:
        """``rowed``, as long as the run's own columns: to be read and written."""
        if len(self.rowed) < len(self.run.task_state):
            self.rowed = resized(self.rowed, len(self.run.task_state))
        return self.rowed

    @property
    def node_labels(self) -> str:
        return self.constraints.node_labels

    @property
    def digest(self) -> bytes:
        """Of the template, made when it is first asked for."""
        if not self._digest:
            self._digest = desired.digest(self.template())
        return self._digest

    def revise(self, other: "GroupEntry") -> None:
        """Run what the other one says from now on."""
        self.template, self.timeout_s, self.checked = other.template, other.timeout_s, other.checked
        self.secrets = other.secrets
        self.shape, self.amounts, self.constraints = other.shape, other.amounts, other.constraints
        self._digest, self.published_at = b"", -1e9

    def counters(self) -> tuple[Any, ...]:
        r = self.run
        return (int(r.state), r.running, r.succeeded, r.failed, r.killed, r.retried, self.reason)


@dataclass(slots=True, eq=False)
class JobEntry:
    """A live job. row, user_row, queue_row: its rows of the ledger. waiting_row: of the
    admission queue, -1 unless it waits there.

    home: the sub-cluster whose RM is its job master; 0: this one. kept: number
    of the group that runs on while all others are stopped, or -1. revision: of what a service runs; rollout: to it,
    while some tasks run another one.
    """

    run: JobRun
    groups: list[GroupEntry]
    owner: int
    queue: str
    priority: int
    submitted_on: dt.date
    submitted_us: int = 0
    admitted_us: int = 0
    started_us: int = 0
    finished_us: int = 0
    events: int = 0  # told so far; bounded
    home: int = 0
    kept: int = -1
    revision: int = 1
    rollout: Rollout | None = None
    row: int = -1
    user_row: int = -1
    queue_row: int = 0
    waiting_row: int = -1
    application: Application | None = None  # of a job that brings its own master
    tags: tuple[str, ...] = ()
    notify: dict[str, list[str]] = field(default_factory=dict)  # event -> its owner's receivers that the job names
    failures: dict[int, int] = field(default_factory=dict)  # node position -> attempts of this job that failed there
    avoided: tuple[int, ...] = ()  # positions of nodes on which too many failed

    id: int = field(init=False)
    day: int = field(init=False)  # of its submission, counted from 1970-01-01
    gang: bool = field(init=False)  # some of its groups, as submitted, start all at once or not at all
    declares: bool = field(init=False)  # some of them declare a parallelism

    def __post_init__(self) -> None:
        self.id = self.run.id
        self.day = self.submitted_on.toordinal() - _FIRST_DAY
        submitted = self.groups[: MASTER + 1] if self.application else self.groups  # a master asks for others later
        self.gang = any(group.constraints.gang for group in submitted)
        app_declares = self.application is not None and self.application.declared is not None
        self.declares = app_declares or any(group.constraints.parallelism for group in submitted)

    def services(self) -> dict[str, Any]:
        """What its row keeps of what was asked of it since it was submitted: of groups by their numbers, and the
        revision."""
        found: dict[str, Any] = {
            f"{g.run.no}": {
                "count": g.run.count,
                "asked_us": g.asked_us,
                "now": runs(g.restarts.now),
                "queue": runs(g.restarts.queue),
                "unsure": runs(g.restarts.unsure),
                "width": g.restarts.width,
            }
            | ({"standing_in": g.standing_in} if g.standing_in else {})
            | ({"by": g.restarts.by} if g.restarts else {})
            for g in self.groups
            if g.asked_us or g.restarts
        }
        if self.revision > 1:
            found |= {"revision": self.revision, "rollout": self.rollout and self.rollout.row()}
        return found


def entry(row: JobRow, log_max_bytes: int) -> JobEntry:
    """A job entry from its row; ``labels.LabelError`` when an expression cannot be read, and as ``stored.job``."""
    spec = stored.job(row.spec)
    identity = JobIdentity(row.name, row.kind, spec.queue or row.queue, row.username)
    numbers = {g.name: no for no, g in enumerate(spec.groups)}
    groups = [group_entry(identity, no, g, numbers, log_max_bytes) for no, g in enumerate(spec.groups)]
    application = None
    if row.kind == "application":
        application = Application(identity, spec.groups, log_max_bytes, _declared(spec.declared))
    job = JobEntry(
        JobRun(row.id, [g.run for g in groups], master=application is not None),
        groups,
        row.owner_id,
        row.queue,
        row.priority,
        row.submitted_at.date(),
        round(row.submitted_at.timestamp() * 1e6),
        application=application,
        tags=spec.tags,
        notify=spec.notify,
    )
    take_services(job, row.services)
    return job


def take_services(job: JobEntry, said: dict[str, Any] | None) -> None:
    """What was asked of a service since it was submitted, as ``JobEntry.services`` says."""
    said = said or {}
    job.revision, rollout = said.get("revision", 1), said.get("rollout")
    job.rollout = None if rollout is None else Rollout.of_row(rollout)
    for group in job.groups:
        take_service(group, said.get(f"{group.run.no}"))


def take_service(group: GroupEntry, said: dict[str, Any] | None) -> None:
    """What was asked of one of its groups; None: nothing, or nothing is left to do of it."""
    if said is not None:
        group.run.scale(said["count"])
        group.asked_us, group.standing_in = said["asked_us"], said.get("standing_in", 0)
        now, queue, unsure = (attempts(said[part]) for part in ("now", "queue", "unsure"))
        group.restarts = Restarts(now, queue, unsure, said["width"], said.get("by", ""))
    elif group.restarts:
        group.restarts = Restarts()


def _declared(identity: StoredContainer | None) -> Declared | None:
    if identity is None:
        return None
    return Declared(identity.parallelism, np.array(identity.resources, np.int64), identity.partition)


def guest_entry(row: JobRow, log_max_bytes: int) -> JobEntry:
    """A job at home elsewhere, of which nothing was handed to us yet."""
    job = entry(row, log_max_bytes)
    job.home = row.home_id
    job.run.state, job.started_us = JobState.RUNNING, job.submitted_us
    for group in job.groups:
        make_guest(group)
    job.run.groups = [group.run for group in job.groups]
    return job


def make_guest(group: GroupEntry) -> None:
    """Of the group, as it was made for a home, only what is handed to us concerns us."""
    run = group.run
    group.run = GuestRun(run.no, run.name, run.count, run.retries, run.after, run.service)


def guest_run(group: GroupEntry) -> GuestRun:
    """What was handed to us of a group of a job at home elsewhere, and what became of it."""
    assert isinstance(group.run, GuestRun)
    return group.run


def group_entry(job: JobIdentity, no: int, g: StoredGroup, numbers: dict[str, int], log_max: int) -> GroupEntry:
    """Group ``no`` of ``job``. numbers: of the job's groups by name."""
    labels.tree(g.node_labels)  # can be read
    master = job.kind == "application" and no == MASTER
    run = GroupRun(
        no=no,
        name=g.name,
        count=g.count,
        retries=g.retries,
        after=tuple(numbers[name] for name in g.after),
        service=job.kind == "service",
        open_ended=job.kind == "application" and not master,
        target=g.target,
    )
    shape = np.array(g.resources, np.int64)
    body = partial(_template, job, g, log_max, master)
    secrets = tuple(dict.fromkeys(secret.name for secret in g.secrets))
    checked = g.health_check is not None
    return GroupEntry(run, shape, body, g.timeout_s, constraints(job.kind, g), g.held, checked=checked, secrets=secrets)


def _template(job: JobIdentity, g: StoredGroup, log_max: int, master: bool) -> bytes:
    return template.encode(
        template.Template(
            job_name=job.name,
            group=g.name,
            count=g.count,
            queue=job.queue,
            user=job.user,
            command=g.command,
            shell=g.shell,
            env=g.env,
            files=g.files,
            inputs=g.inputs,
            outputs=g.outputs,
            grace_s=g.grace_s,
            log_max_bytes=log_max,
            simulated_s=g.estimated_duration_s,
            master=master,
            ports=g.ports,
            health_check=g.health_check,
            array=g.array,
            secrets=g.secrets,
        )
    )


def constraints(kind: str, g: StoredGroup) -> PlacementConstraints:
    """Where a group of a job of this kind may and would rather run."""
    placement = g.placement or ("spread" if kind == "service" else None)
    fill = -1 if placement is None else int(Fill[placement.upper()])
    duration_s = float(g.estimated_duration_s)
    return _constraints(
        g.node_labels, g.partition, fill, g.gang, g.nodes, g.racks, not g.relax, duration_s, g.parallelism
    )


@lru_cache(maxsize=4096)
def _constraints(*values: Any) -> PlacementConstraints:
    """One for all groups that are alike, of which there may be a hundred thousand."""
    return PlacementConstraints(*values)


def named_tasks(group: str, tasks: list[int]) -> str:
    """``web/0``, ``tasks 0, 2 of web``, or with many of them their number."""
    if len(tasks) > _TASKS_NAMED:
        return f"{len(tasks)} tasks of {group}"
    named = ", ".join(map(str, sorted(tasks)))
    return f"{group}/{named}" if len(tasks) == 1 else f"tasks {named} of {group}"
