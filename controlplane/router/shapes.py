"""The API's answers as types: what OpenAPI says, what clients are generated from, what tests hold answers against.

Answers themselves are plain dictionaries from ``statestore.queries``. Times
are UTC, ISO 8601; units stand last in names.
"""

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from controlplane.router import commonshapes as words
from controlplane.router.commonshapes import Amounts, Containers, Measured
from controlplane.router.jobspec import Whole
from controlplane.router.waiting import WaitReason


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FieldProblem(Shape):
    field: str
    message: str
    remedy: str


class Problem(Shape):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem]


class GroupInfo(Shape):
    no: int
    name: str
    count: int
    state: words.GroupState
    pending: int
    running: int
    succeeded: int
    failed: int
    killed: int
    retried: int
    resources: Amounts
    after: list[str]
    reason: WaitReason | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class JobInfo(Shape):
    id: int
    name: str
    kind: words.JobKind
    queue: str
    owner: str
    priority: int
    tags: list[str]
    state: words.JobState
    message: str
    home: str
    submitted_at: dt.datetime
    admitted_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    retry_of: int | None
    groups: list[GroupInfo]
    waiting: str | None


class JobDetail(JobInfo):
    spec: dict[str, Any]


class PageOf(Shape):
    next: str | None
    previous: str | None


class JobPage(PageOf):
    results: list[JobInfo]


class TaskInfo(Shape):
    group: str
    index: int
    state: words.TaskState
    attempts: int
    container: str | None
    node: str | None
    exit_code: int | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class TaskPage(PageOf):
    results: list[TaskInfo]


class ContainerInfo(Shape):
    id: str
    job: int
    group: str
    index: int
    attempt: int
    node: str
    sub_cluster: str
    state: words.ContainerState
    reason: str | None
    exit_code: int | None
    allocated_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    memory_mib: int
    vcores_milli: int
    gpus: list[int]
    peak_memory_mib: int | None
    cpu_ms: int | None


class ContainerPage(PageOf):
    results: list[ContainerInfo]


class EventInfo(Shape):
    id: int
    at: dt.datetime
    kind: str
    message: str


class EventPage(PageOf):
    results: list[EventInfo]


class OutputInfo(Shape):
    group: str
    index: int
    name: str
    path: str
    digest: str
    size: int
    container: str


class OutputPage(PageOf):
    results: list[OutputInfo]


class LogPart(Shape):
    data: str
    offset: int
    next_offset: int
    skipped: int
    complete: bool


class ArtifactInfo(Shape):
    digest: str
    size: int


class BulkIds(Shape):
    ids: list[int]


class PartitionLimits(Shape):
    guaranteed: Amounts
    maximum: Amounts


class QueueInfo(Shape):
    """A queue of the policy in force. Limits are in units of the whole federation, over all partitions.

    ``state``: ``draining`` is stopped while jobs still live in it. ``user_limit``:
    what one user may hold. ``max_running_jobs`` counts the queue and all below it.
    """

    path: str
    parent: str | None
    policy_version: int
    leaf: bool
    state: Literal["running", "draining", "stopped"]
    stopped: bool
    open_to_all: bool
    guaranteed: Amounts
    maximum: Amounts
    user_limit: Amounts
    partitions: dict[str, PartitionLimits]
    default_partition: str
    weight: float | None
    ordering: Literal["fifo", "fair", "priority"]
    preemptable: bool
    user_maximum: float
    max_running_jobs: int | None
    max_running_jobs_per_user: int | None
    max_am_share: float
    max_priority: int
    default_priority: int
    used: Containers
    pending: int
    live_jobs: int
    running_jobs: int
    may_submit: bool


class QueueList(PageOf):
    results: list[QueueInfo]


class PolicyInfo(Shape):
    """A version of the policy document. ``author`` is null where the system wrote it.

    ``base``: the version in which operators wrote what this one is made of, itself where no override made it.
    ``overrides``: the temporary overrides in it. ``approved_by``: the second operator, where one was needed.
    """

    version: int
    parent: int | None
    active: bool
    author: str | None
    at: dt.datetime
    message: str
    approved_by: str | None
    base: int
    overrides: list[int]


class PolicyDetail(PolicyInfo):
    """``document``: what operators wrote. ``effective``: what holds, where overrides make that something else."""

    document: dict[str, Any]
    effective: dict[str, Any] | None


class PolicyPage(PageOf):
    results: list[PolicyInfo]


class PolicyChecked(Shape):
    """``document``: with its components complete."""

    queues: int
    document: dict[str, Any]


class PolicyCheckRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    document: dict[str, Any] = Field(description="As GET /api/v1/policy/schema describes it")


class PolicyRequest(PolicyCheckRequest):
    """``parent``: the version it was made from. ``force``: remove queues although jobs live in them."""

    message: str = Field(max_length=1000, pattern=r"^[^\x00]*$")
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    force: bool = False


class NodeMaintenance(Shape):
    """The present or next window. ``active``: the node is kept from new work for it."""

    id: int
    starts_at: dt.datetime
    ends_at: dt.datetime
    message: str
    active: bool


class NodeInfo(Shape):
    """``duty``: what operators want of it. ``drained``: it, or its sub-cluster, was to be emptied, and it is."""

    id: int
    name: str
    sub_cluster: str
    sub_cluster_state: words.SubClusterState
    rack: str
    state: words.NodeState
    health: list[str]
    health_text: str
    labels: dict[str, str]
    capacity: Amounts
    allocated: Amounts
    used: Measured
    containers: int
    last_seen_s: float | None
    enforces: list[str]
    host: str
    version: str
    duty: words.Duty
    message: str
    deadline: dt.datetime | None
    duty_at: dt.datetime | None
    duty_by: str | None
    drained: bool
    maintenance: NodeMaintenance | None


class NodePage(PageOf):
    results: list[NodeInfo]


class AuditInfo(Shape):
    id: int
    at: dt.datetime
    actor: str | None
    action: str
    target: str
    before: Any
    after: Any
    address: str | None


class AuditPage(PageOf):
    results: list[AuditInfo]


class Health(Shape):
    status: str
    stores: dict[str, str]


class QueueRight(Shape):
    path: str
    level: words.Level


class QueueGrants(Shape):
    """``source``: ``grant`` can be changed here, ``policy`` is an access list of the document in force."""

    user: str
    level: words.Level
    queue: str
    source: Literal["grant", "policy"]


class QueueGrantList(PageOf):
    results: list[QueueGrants]


class QueueRightRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    user: str = Field(min_length=1, max_length=150, pattern=r"^[^\x00]+$")
    level: words.Level = "submit"


class Me(Shape):
    id: int
    username: str
    role: words.Role
    queues: list[QueueRight]


class LoginRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    username: str = Field(max_length=150, pattern=r"^[^\x00]+$")
    password: str = Field(max_length=1024, pattern=r"^[^\x00]+$")


class LoginAnswer(Shape):
    token: str
    expiry: dt.datetime | None
    user: Me


class CsrfAnswer(Shape):
    csrf_token: str


class KillRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    message: str = Field(default="", max_length=1000, pattern=r"^[^\x00]*$")


class PriorityRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    priority: Whole = Field(ge=-500, le=499)
