"""Nodes and their lives: duties, drains, maintenance windows, and what runs on one."""

import datetime as dt
from typing import Annotated

from pydantic import AwareDatetime, ConfigDict, Field

from contract import words
from contract.base import Amounts, Answer, Measured, Page, Request, one_of
from contract.fields import NO_NUL, SOME, Whole


class NodeMaintenance(Answer):
    """The present or next window. ``active``: the node is kept from new work for it."""

    id: int
    starts_at: dt.datetime
    ends_at: dt.datetime
    message: str
    active: bool


class Node(Answer):
    """``duty``: what operators want of it. ``drained``: it, or its sub-cluster, was to be emptied, and it is."""

    id: int
    name: str
    sub_cluster: str
    sub_cluster_state: words.SubClusterState  # draining: it is emptied with its sub-cluster
    rack: str
    state: words.NodeState
    health: list[str]  # faults; empty when well
    health_text: str  # what its health script complains of
    labels: dict[str, str]
    capacity: Amounts
    allocated: Amounts
    used: Measured | None  # null for tenants, who are not told what others use
    containers: int
    last_seen_s: float | None  # seconds since its last report
    enforces: list[str]
    host: str
    version: str
    duty: words.Duty  # what operators want of it: or cordoned, draining, decommissioned
    message: str  # theirs
    deadline: dt.datetime | None  # of a drain
    duty_at: dt.datetime | None
    duty_by: str | None
    drained: bool  # it was to be emptied, and is
    maintenance: NodeMaintenance | None  # the present or next window


class NodePage(Page):
    results: list[Node]


class NodeContainer(Answer):
    id: str
    job: int
    job_name: str
    queue: str
    owner: str
    group: str
    index: int
    attempt: int
    state: str
    allocated_at: dt.datetime
    started_at: dt.datetime | None
    memory_mib: int
    vcores_milli: int
    gpus: list[int]
    used_memory_mib: int | None = Field(description="As last sampled")


class NodeContainerPage(Page):
    results: list[NodeContainer]


MONTH_S = 31 * 86400


DEADLINE_S = 3600


class ServiceMove(Answer):
    """A service's tasks on the node. ``fit``: how many of them have room elsewhere now, also in other
    sub-clusters where the policy of the queue allows it."""

    job: int
    job_name: str
    owner: str
    group: str
    tasks: list[int]
    count: int
    at_once: int
    resources: Amounts
    fit: int


class BatchEnd(Answer):
    """``outcome``: ``ends`` before the deadline, is ``stopped`` then, or ``unknown`` without an estimate."""

    job: int
    job_name: str
    owner: str
    group: str
    index: int
    container: str
    started_at: dt.datetime | None
    ends_at: dt.datetime | None
    outcome: Annotated[str, one_of("ends", "stopped", "unknown")]


class DrainPreview(Answer):
    node: int
    name: str
    at: dt.datetime
    deadline: dt.datetime | None
    services: list[ServiceMove]
    services_fit: bool
    batch: list[BatchEnd]
    ends: int
    stopped: int
    unknown: int


class Maintenance(Answer):
    """``state``: planned, active (from the lead time on), over or cancelled. ``nodes``: how many it is about."""

    id: int
    sub_cluster: str
    node: str
    rack: str
    labels: str
    starts_at: dt.datetime
    ends_at: dt.datetime
    lead_s: int
    message: str
    state: Annotated[str, one_of("planned", "emptying", "active", "over", "cancelled")]
    nodes: int
    created_at: dt.datetime
    created_by: str | None


class MaintenanceList(Page):
    results: list[Maintenance]


class DutyRequest(Request):
    message: str = Field(default="", max_length=255, pattern=NO_NUL)


class DrainRequest(DutyRequest):
    """``deadline_s``: from now; what runs then is stopped. null: never."""

    deadline_s: Whole | None = Field(default=DEADLINE_S, ge=0, le=MONTH_S)


class DecommissionRequest(DrainRequest):
    """``now``: without waiting; what runs there is lost and starts again elsewhere."""

    now: bool = False


class MaintenanceRequest(Answer):
    """One of ``node``, ``rack`` and ``labels`` says which nodes of the sub-cluster. Times with their zone."""

    model_config = ConfigDict(extra="forbid")

    sub_cluster: str = Field(max_length=63, pattern=SOME)
    node: str = Field(default="", max_length=63, pattern=NO_NUL)
    rack: str = Field(default="", max_length=63, pattern=NO_NUL)
    labels: str = Field(default="", max_length=500, pattern=NO_NUL)
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    lead_s: Whole = Field(default=600, ge=0, le=86400)
    message: str = Field(default="", max_length=255, pattern=NO_NUL)
