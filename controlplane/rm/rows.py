"""The rows that a leader reads of the StateStore: what a ``Store`` answers, whatever is behind it.

Fields are the columns of the statements in ``adapters``, in their order; a statement that answers others is refused
there. Names that end in ``_us`` are microseconds since 1970, states and kinds of ends those of ``wire.states``.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controlplane.statestore.capacities import DEFAULT

Json = dict[str, Any]
IN_SERVICE = "in_service"


class NodeRow(NamedTuple):
    """A node. duty: what operators want of it; duty_deadline_us: when it is to be empty, if that is set.

    one_tenant: it runs tasks of one tenant at a time.
    """

    id: int
    name: str
    rack: str
    labels: dict[str, str]
    memory_mib: int
    vcores_milli: int
    gpus: int
    state: int
    health: int
    revoked: bool
    duty: str = IN_SERVICE
    duty_message: str = ""
    duty_deadline_us: int | None = None
    one_tenant: bool = False


class WindowRow(NamedTuple):
    """A maintenance window that has not ended: of a node, a rack, what labels match, or of all where none is named.

    lead_s: so long before ``starts_us`` services leave and nothing new comes.
    """

    node: str
    rack: str
    labels: str
    message: str
    starts_us: int
    ends_us: int
    lead_s: int


class QueueRow(NamedTuple):
    """A queue of the policy version in force, with what it inherits. None: no limit of its own, or no weight."""

    path: str
    parent_path: str
    leaf: bool = True
    capacities: Json = {}  # by partition, as ``statestore.capacities`` reads them; nobody writes to it
    weight: float | None = None
    ordering: str = "priority"
    preemptable: bool = True
    user_maximum: float = 1.0
    max_running_jobs: int | None = None
    max_running_jobs_per_user: int | None = None
    max_am_share: float = 1.0
    state: str = "running"
    default_partition: str = DEFAULT
    version: int = 0


class PolicyRow(NamedTuple):
    """What else a sub-cluster goes by: parts of a policy document, None where they say nothing.

    components: this sub-cluster's own. target: the version they are of; pushed_us: since when they are. queues: the
    document's, where some have rules of their own that are no columns.
    """

    target: int
    pushed_us: int = 0
    partitions: Json | None = None
    components: Json | None = None
    queues: Json | None = None


class CapacityRow(NamedTuple):
    """A node of another sub-cluster, or the sum of all. before: that sub-cluster's number is lower than this one's."""

    before: bool
    name: str
    rack: str
    labels: dict[str, str]
    memory_mib: int
    vcores_milli: int
    gpus: int


class PlaceRow(NamedTuple):
    """A node of another sub-cluster that takes containers, or may again."""

    sub_cluster_id: int
    name: str
    rack: str
    labels: dict[str, str]
    memory_mib: int
    vcores_milli: int
    gpus: int


class JobRow(NamedTuple):
    """A job. spec: as ``contract.stored`` reads it, {} where that is known already.

    home_id: the sub-cluster whose RM is its job master. services: what was asked of it since, as its entry's
    ``services`` says; None: nothing. Of one that has another specification by now, that is never left out.
    """

    id: int
    name: str
    kind: str
    queue: str
    owner_id: int
    username: str
    priority: int
    spec: Json
    submitted_at: dt.datetime
    state: int
    message: str
    admitted_at: dt.datetime | None
    started_at: dt.datetime | None
    home_id: int
    services: Json | None = None


class TaskRow(NamedTuple):
    """A task of which some attempt has ended."""

    job_id: int
    group_no: int
    task: int
    state: int
    attempts: int
    failures: int


class LastEndRow(NamedTuple):
    """How the last attempt ended of a task that may have to wait before it is tried again."""

    job_id: int
    group_no: int
    task: int
    state: int
    reason: int
    exit_code: int
    at_us: int


class GroupRow(NamedTuple):
    """Counters of a task group. has_reason: the row says why it waits."""

    job_id: int
    no: int
    state: int
    running: int
    succeeded: int
    failed: int
    killed: int
    retried: int
    has_reason: bool

    @property
    def counters(self) -> tuple[int, ...]:
        """The state, and how many tasks are in which."""
        return self.state, self.running, self.succeeded, self.failed, self.killed, self.retried


class ContainerRow(NamedTuple):
    """A live container. gpus: bit mask of its devices."""

    id: int
    node_id: int
    job_id: int
    group_no: int
    task: int
    attempt: int
    state: int
    gpus: int
    allocated_at: dt.datetime
    started_at: dt.datetime | None


class IntentRow(NamedTuple):
    """What web wants of this RM. job_id, node_id: 0 where it concerns none."""

    id: int
    kind: str
    job_id: int
    node_id: int
    payload: Json


class AskRow(NamedTuple):
    """Demand that a job's home has handed to this sub-cluster, as ``scheduler.lifecycle.guest`` counts it.

    halt: all of it is to stop. version: of what the home says; acknowledged: the one that was answered last.
    service: what was asked of the group since it was submitted, as ``JobRow.services``. revision: of what it runs.
    """

    job_id: int
    group_no: int
    base: int
    target: int
    taken: int
    wish: int
    work: bytes
    halt: bool
    version: int
    acknowledged: int
    home_id: int
    priority: int
    queue: str
    service: Json | None = None
    revision: int = 1


class HandedRow(NamedTuple):
    """Demand that this home has handed to another sub-cluster."""

    job_id: int
    group_no: int
    sub_cluster_id: int
    base: int
    target: int
    taken: int
    wish: int
    work: bytes


class WithdrawnRow(NamedTuple):
    """Demand that was taken back from a sub-cluster that nobody leads: the target that stands now."""

    job_id: int
    group_no: int
    sub_cluster_id: int
    target: int


class RemoteRow(NamedTuple):
    """A live container in another sub-cluster."""

    job_id: int
    group_no: int
    task: int
    attempt: int


class ServingRow(NamedTuple):
    """An attempt that runs. healthy: by its health check, None before its first verdict and without one.

    started_us: since when.
    """

    job_id: int
    group_no: int
    task: int
    attempt: int
    healthy: bool | None
    started_us: int


class ReportRow(NamedTuple):
    """What another sub-cluster says of a job at home here: a target that was lowered, or events.

    events: ``steps.reports.EVENT``. master_events: ``steps.masterevents.MasterEvent`` of the job's own master.
    """

    id: int
    job_id: int
    sub_cluster_id: int
    group_no: int | None
    target: int | None
    events: bytes
    master_events: list[tuple[int, int, str, Json]] | None


class MasterAskRow(NamedTuple):
    """Containers that an application master wants: ``target`` of group ``no``, each as ``spec`` says.

    Where all was read, started: tasks that have begun; granted: containers its master was told of, None before any.
    """

    job_id: int
    no: int
    spec: Json
    target: int
    started: int = 0
    granted: int | None = None


class LaunchRow(NamedTuple):
    """What a container that was granted is to run."""

    container_id: int
    job_id: int
    spec: Json


class MasterSessionRow(NamedTuple):
    """How far an application master is. verdict: the job's end as it says, None before.

    last_event: number of the last event it was told.
    """

    job_id: int
    verdict: int | None
    message: str
    last_event: int


@dataclass(slots=True)
class Wanted:
    """What masters want. asks: by job and number. sessions: only where all was read, or a verdict may be new."""

    asks: list[MasterAskRow] = field(default_factory=list)
    launches: list[LaunchRow] = field(default_factory=list)
    sessions: list[MasterSessionRow] = field(default_factory=list)
