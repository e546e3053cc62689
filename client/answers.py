"""The API's answers as frozen dataclasses.

Fields a newer server adds are ignored; fields an older one lacks take their
default. Times are aware datetimes in UTC; units stand last in a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from client.errors import HydraError, Problem
from wire.states import JobState, terminal

T = TypeVar("T")
Amounts = dict[str, float]  # resource name -> amount; the unit stands last in the name


@dataclass(frozen=True, slots=True)
class Group:
    """One task group of a job; the counters lag by up to a second while it runs."""

    name: str
    state: str
    count: int
    no: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    killed: int = 0
    retried: int = 0
    resources: dict[str, Any] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)
    reason: dict[str, Any] | None = None  # why it waits, with numbers
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def reason_text(self) -> str:
        """Why the group waits, in one sentence; empty when it does not."""
        return str((self.reason or {}).get("text") or "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one group waits; ``reason`` is None where nothing of it does."""

    name: str
    state: str
    no: int = 0
    pending: int = 0
    as_of: datetime | None = None
    reason: dict[str, Any] | None = None
    elsewhere: list[dict[str, Any]] = field(default_factory=list)  # what of it waits in other sub-clusters, and why


@dataclass(frozen=True, slots=True)
class JobExplanation:
    job: int
    state: str
    waiting: str | None = None  # in one line
    groups: list[Explanation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    id: int
    name: str
    state: str
    kind: str = "batch"
    queue: str = ""
    owner: str = ""
    priority: int = 0
    tags: list[str] = field(default_factory=list)
    message: str | None = None  # why it ended as it did
    home: str | None = None  # the sub-cluster whose RM holds it
    submitted_at: datetime | None = None
    admitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    groups: list[Group] = field(default_factory=list)
    retry_of: int | None = None  # the ended job this one repeats
    waiting: str | None = None  # why it waits, in one line
    spec: dict[str, Any] | None = None  # in a job's detail only

    @property
    def ended(self) -> bool:
        """Whether the job can never change again."""
        return self.state in JobState.__members__ and terminal(JobState[self.state])

    @property
    def succeeded(self) -> bool:
        return self.state == JobState.SUCCEEDED.name


@dataclass(frozen=True, slots=True)
class Task:
    group: str
    index: int
    state: str
    attempts: int = 0
    container: str | None = None  # its current or last attempt
    node: str | None = None
    exit_code: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """One attempt of a task."""

    id: str
    state: str
    job: int | None = None
    group: str = ""
    index: int = 0
    attempt: int = 0
    node: str | None = None
    sub_cluster: str | None = None
    reason: str | None = None  # a name of ``wire.states.ContainerReason``
    exit_code: int | None = None
    allocated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    memory_mib: int = 0
    vcores_milli: int = 0
    gpus: list[int] | int | None = None
    peak_memory_mib: int | None = None
    cpu_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Part of a stream. ``skipped`` bytes were dropped just before it because of the size cap."""

    data: str
    offset: int
    next_offset: int  # where to go on
    skipped: int = 0
    complete: bool = False  # the stream has ended


@dataclass(frozen=True, slots=True)
class Artifact:
    digest: str  # SHA-256, hex
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port on which a task serves. ``healthy`` is None before the first verdict and without a health check."""

    group: str
    index: int
    name: str
    host: str
    port: int
    proxy: str  # path on the server, under which it passes requests on
    container: str
    node: str = ""
    healthy: bool | None = None
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A file that a task left behind under a name its group gives."""

    group: str
    index: int
    name: str
    path: str  # relative to the task's work folder
    digest: str
    size: int
    container: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    kind: str
    message: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """Amounts are units of the whole federation: ``guaranteed``, ``maximum``, and what one user may hold at most."""

    path: str
    parent: str | None = None
    state: str = "running"  # or stopped: takes no new jobs; draining: stopped, and jobs still live in it
    guaranteed: Amounts = field(default_factory=dict)
    maximum: Amounts = field(default_factory=dict)
    user_limit: Amounts = field(default_factory=dict)
    partitions: dict[str, dict[str, Amounts]] = field(default_factory=dict)  # name -> guaranteed, maximum
    default_partition: str = ""
    weight: float | None = None
    ordering: str = "priority"
    preemptable: bool = True
    user_maximum: float = 1.0
    max_running_jobs: int | None = None
    max_running_jobs_per_user: int | None = None
    max_am_share: float = 1.0
    max_priority: int = 499
    default_priority: int = 0
    open_to_all: bool = False
    stopped: bool = False
    leaf: bool = True
    policy_version: int | None = None
    used: Amounts = field(default_factory=dict)
    pending: int = 0  # containers asked for and not yet placed
    live_jobs: int = 0
    running_jobs: int = 0
    may_submit: bool = False  # you, with this token


@dataclass(frozen=True, slots=True)
class QueueRight:
    """``source``: grant, which operators can withdraw, or policy, an access list of the document in force."""

    queue: str
    user: str
    level: str
    source: str = "grant"


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    name: str
    state: str
    sub_cluster: str = ""
    rack: str = ""
    health: list[str] = field(default_factory=list)  # faults; empty when well
    health_text: str = ""  # what its health script complains of
    labels: dict[str, str] = field(default_factory=dict)
    capacity: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    containers: int | None = None
    last_seen_s: float | None = None  # seconds since its last report
    enforces: list[str] = field(default_factory=list)
    host: str = ""
    version: str = ""
    duty: str = "in_service"  # what operators want of it: or cordoned, draining, decommissioned
    message: str = ""  # theirs
    deadline: datetime | None = None  # of a drain
    duty_at: datetime | None = None
    duty_by: str | None = None
    drained: bool = False  # it was to be emptied, and is
    sub_cluster_state: str = "running"  # draining: it is emptied with its sub-cluster
    maintenance: dict[str, Any] | None = None  # the present or next window

    @property
    def shown_state(self) -> str:
        """Its state; of a node that is up, what operators have made of that."""
        leaves = self.sub_cluster_state == "draining"
        kept = leaves or bool((self.maintenance or {}).get("active"))
        if self.state != "UP" or (self.duty == "in_service" and not kept):
            return self.state
        if self.drained:
            return "DRAINED"
        if leaves and self.duty in ("in_service", "cordoned"):
            return "DRAINING"
        words = {"cordoned": "CORDONED", "draining": "DRAINING", "decommissioned": "LEAVING"}
        return words.get(self.duty, "MAINTENANCE")


@dataclass(frozen=True, slots=True)
class ServiceMove:
    """A service's tasks on a node that may be drained. ``fit``: how many of them have room elsewhere now."""

    job: int
    job_name: str
    group: str
    tasks: list[int]
    count: int
    at_once: int
    fit: int
    owner: str = ""
    resources: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """``outcome``: ``ends`` before the deadline, is ``stopped`` then, or ``unknown``."""

    job: int
    job_name: str
    group: str
    index: int
    outcome: str
    owner: str = ""
    container: str = ""
    started_at: datetime | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DrainPreview:
    """What a drain would do."""

    node: int
    name: str
    services_fit: bool
    services: list[ServiceMove] = field(default_factory=list)
    batch: list[BatchEnd] = field(default_factory=list)
    at: datetime | None = None
    deadline: datetime | None = None
    ends: int = 0
    stopped: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A window in which some nodes are to be empty: a node, a rack, or what a label expression matches."""

    id: int
    sub_cluster: str
    starts_at: datetime
    ends_at: datetime
    state: str = ""
    node: str = ""
    rack: str = ""
    labels: str = ""
    lead_s: int = 0
    message: str = ""
    nodes: int = 0
    created_at: datetime | None = None
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class SubCluster:
    id: int
    name: str
    state: str
    leader: str | None = None
    epoch: int | None = None
    lease_ok: bool | None = None
    lease_age_s: float | None = None  # since its leader last renewed
    message: str = ""  # the operator's
    state_at: datetime | None = None
    state_by: str | None = None
    deadline: datetime | None = None  # of a drain
    waits_for: list[str] = field(default_factory=list)  # what a joining one lacks
    left: dict[str, int] | None = None  # what still keeps a draining one
    load: dict[str, Any] | None = None  # what its leader last said of its open nodes
    shares: dict[str, Any] | None = None  # version and age of what the GPG assigned
    nodes: dict[str, int] = field(default_factory=dict)  # node state -> number
    duties: dict[str, int] = field(default_factory=dict)  # open (up, takes containers), closed (up), cordoned, draining
    capacity: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    pending: Amounts = field(default_factory=dict)
    live_containers: int | None = None
    frozen: bool = False  # too many nodes fell silent at once: nothing is lost or preempted
    rounds: int | None = None  # this and the next two: since its leader took over
    placed: int | None = None
    ended: int | None = None
    round_ms: float | None = None
    rounds_per_s: float | None = None
    placed_per_s: float | None = None
    ended_per_s: float | None = None
    policy_version: int | None = None
    summary_age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole federation at a glance."""

    sub_clusters: list[SubCluster]
    at: float | None = None  # seconds since 1970
    policy_version: int | None = None
    nodes: dict[str, int] = field(default_factory=dict)  # node state -> number
    duties: dict[str, int] = field(default_factory=dict)  # as of a sub-cluster
    capacity: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    pending: Amounts = field(default_factory=dict)
    live_containers: int = 0
    jobs: dict[str, int] = field(default_factory=dict)  # job state -> number
    queues: list[Queue] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueueGrant:
    path: str
    level: str


@dataclass(frozen=True, slots=True)
class Me:
    id: int
    username: str
    role: str
    queues: list[QueueGrant] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Login:
    token: str
    expiry: datetime | None = None
    user: Any = None


_adapters: dict[Any, TypeAdapter[Any]] = {}  # building one costs a hundred times more than using it


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def read(kind: type[T], raw: Any) -> T:
    """Make a ``kind`` of an answer's JSON; ``HydraError`` when the server speaks something else."""
    try:
        answer: T = _adapter(kind).validate_python(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "(all of it)"
        raise HydraError(
            Problem(
                title=f"The server's answer is not a {kind.__name__} this client understands",
                detail=f"The server's answer is not a {kind.__name__} this client understands: {where}: "
                f"{first['msg']}. Use a client of the server's version.",
            )
        ) from error
    return answer


def to_json(answer: Any) -> Any:
    """An answer, or an iterable of them, as plain JSON values."""
    if isinstance(answer, Iterable) and not isinstance(answer, (str, bytes, dict)):
        return [to_json(each) for each in answer]
    if isinstance(answer, dict) or answer is None:
        return answer
    return _adapter(type(answer)).dump_python(answer, mode="json")
