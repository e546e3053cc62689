"""Jobs as the RM holds them: the pure job master beside what the rows say."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scheduler.core import labels
from scheduler.core.snapshot import AXIS, Fill
from scheduler.lifecycle.group import GroupRun
from scheduler.lifecycle.job import JobRun
from wire import desired, template

_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_TASKS_NAMED = 10  # in one event


@dataclass(frozen=True, slots=True)
class Wishes:
    """Where and how a group's containers want to run, as submitted.

    partition: a name, or None for the queue's. fill: ``Fill`` or -1 for the
    policy's. near, racks: names of preferred nodes and racks; with ``strict``
    nowhere else. duration_s: expected run time, 0 unknown.
    """

    node_labels: str = ""
    partition: str | None = None
    fill: int = -1
    gang: bool = False
    near: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    strict: bool = False
    duration_s: float = 0.0


@dataclass(slots=True, eq=False)
class GroupEntry:
    """A task group and what its containers need. ``shape``: (R,) int64 over ``AXIS``.

    row: its row of the ask table. partition: its position among the memory's.
    """

    run: GroupRun
    shape: np.ndarray
    template: bytes
    digest: bytes
    timeout_s: int
    wishes: Wishes = field(default_factory=Wishes)
    row: int = -1
    partition: int = 0
    target: int = 0  # the ask's absolute target, as last written
    ask_version: int = 0
    slots: set[int] = field(default_factory=set)
    reason: dict[str, Any] | None = None
    started_us: int = 0
    finished_us: int = 0
    published_at: float = -1e9  # monotonic time the template was last put into Redis
    written: tuple[Any, ...] = ()  # counters and state as last written to the row
    written_at: float = -1e9

    amounts: tuple[int, int, int] = (0, 0, 0)  # the shape's first three, as Python integers
    rowed: np.ndarray = field(init=False)  # (count,) bool: tasks that have a row already

    def __post_init__(self) -> None:
        self.rowed = np.zeros(self.run.count, np.bool_)
        memory, vcores, gpus = self.shape[:3].tolist()
        self.amounts = (memory, vcores, gpus)

    @property
    def node_labels(self) -> str:
        return self.wishes.node_labels

    def counters(self) -> tuple[Any, ...]:
        r = self.run
        return (int(r.state), r.running, r.succeeded, r.failed, r.killed, r.retried, self.reason)


@dataclass(slots=True, eq=False)
class JobEntry:
    """A live job. row, user_row, queue_row: its rows of the ledger. line_row: of the line, -1 unless it waits there."""

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
    row: int = -1
    user_row: int = -1
    queue_row: int = 0
    line_row: int = -1
    failures: dict[int, int] = field(default_factory=dict)  # node position -> attempts of this job that failed there
    avoided: tuple[int, ...] = ()  # positions of nodes on which too many failed

    id: int = field(init=False)
    day: int = field(init=False)  # of its submission, counted from 1970-01-01
    gang: bool = field(init=False)  # some of its groups start all at once or not at all

    def __post_init__(self) -> None:
        self.id = self.run.id
        self.day = self.submitted_on.toordinal() - _FIRST_DAY
        self.gang = any(group.wishes.gang for group in self.groups)


def entry(row: dict[str, Any], log_max_bytes: int) -> JobEntry:
    """A job entry from its rows (``Store.jobs``); ``labels.LabelError`` when an expression cannot be read."""
    spec = row["spec"]
    numbers = {g["name"]: no for no, g in enumerate(spec["groups"])}
    groups = [_group(row, spec, no, g, numbers, log_max_bytes) for no, g in enumerate(spec["groups"])]
    return JobEntry(
        JobRun(row["id"], [g.run for g in groups]),
        groups,
        row["owner_id"],
        row["queue"],
        row["priority"],
        row["submitted_at"].date(),
        round(row["submitted_at"].timestamp() * 1e6),
    )


def _group(
    row: dict[str, Any], spec: dict[str, Any], no: int, g: dict[str, Any], numbers: dict[str, int], log_max: int
) -> GroupEntry:
    labels.parse(g["node_labels"])
    body = template.encode(
        template.Template(
            job_name=row["name"],
            group=g["name"],
            count=g["count"],
            queue=row["queue"],
            user=row["username"],
            command=g["command"] if isinstance(g["command"], list) else [g["command"]],
            shell=g["shell"],
            env=g["env"],
            files=[template.File(f["path"], f["digest"], f["size"], f.get("mode", 0o644)) for f in g["files"]],
            inputs=[template.Input(i["group"], i["name"], i["path"]) for i in g["inputs"]],
            outputs=[template.Output(o["name"], o["path"], o["optional"]) for o in g["outputs"]],
            grace_s=g["grace_s"],
            log_max_bytes=log_max,
            simulated_s=g["estimated_duration_s"] or 0.0,
        )
    )
    run = GroupRun(
        no=no,
        name=g["name"],
        count=g["count"],
        retries=g["retries"],
        after=tuple(numbers[name] for name in g["after"]),
        service=row["kind"] == "service",
    )
    shape = np.array([g["resources"].get(name, 0) for name in AXIS], np.int64)
    return GroupEntry(run, shape, body, desired.digest(body), int(g["timeout_s"]), _wishes(row["kind"], g))


def _wishes(kind: str, g: dict[str, Any]) -> Wishes:
    """What a stored group says; jobs stored by an older version lack the newer fields."""
    locality = g.get("locality") or {}
    placement = g.get("placement") or ("spread" if kind == "service" else None)
    return Wishes(
        node_labels=g["node_labels"],
        partition=g.get("partition"),
        fill=-1 if placement is None else int(Fill[placement.upper()]),
        gang=bool(g.get("gang")),
        near=tuple(locality.get("nodes", ())),
        racks=tuple(locality.get("racks", ())),
        strict=not locality.get("relax", True),
        duration_s=float(g.get("estimated_duration_s") or 0.0),
    )


def named_tasks(group: str, tasks: list[int]) -> str:
    """``web[0, 2]``, or with many of them their number."""
    if len(tasks) > _TASKS_NAMED:
        return f"{len(tasks)} tasks of {group}"
    return f"{group}[{', '.join(map(str, sorted(tasks)))}]"
