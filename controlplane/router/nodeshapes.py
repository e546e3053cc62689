"""Requests and answers about the life of nodes: duties, drains, maintenance windows."""

import datetime as dt
from typing import Literal

from pydantic import AwareDatetime, ConfigDict, Field

from controlplane.router.jobspec import Whole
from controlplane.router.shapes import Amounts, PageOf, Shape

MONTH_S = 31 * 86400
DEADLINE_S = 3600


class ServiceMove(Shape):
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


class BatchEnd(Shape):
    """``outcome``: ``ends`` before the deadline, is ``stopped`` then, or ``unknown`` without an estimate."""

    job: int
    job_name: str
    owner: str
    group: str
    index: int
    container: str
    started_at: dt.datetime | None
    ends_at: dt.datetime | None
    outcome: Literal["ends", "stopped", "unknown"]


class DrainPreview(Shape):
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


class MaintenanceInfo(Shape):
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
    state: Literal["planned", "active", "over", "cancelled"]
    nodes: int
    created_at: dt.datetime
    created_by: str | None


class MaintenanceList(PageOf):
    results: list[MaintenanceInfo]


class DutyRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    message: str = Field(default="", max_length=255, pattern=r"^[^\x00]*$")


class DrainRequest(DutyRequest):
    """``deadline_s``: from now; what runs then is stopped. null: never."""

    deadline_s: Whole | None = Field(default=DEADLINE_S, ge=0, le=MONTH_S)


class DecommissionRequest(DrainRequest):
    """``now``: without waiting; what runs there is lost and starts again elsewhere."""

    now: bool = False


class MaintenanceRequest(Shape):
    """One of ``node``, ``rack`` and ``labels`` says which nodes of the sub-cluster. Times with their zone."""

    model_config = ConfigDict(extra="forbid")

    sub_cluster: str = Field(max_length=63, pattern=r"^[^\x00]+$")
    node: str = Field(default="", max_length=63, pattern=r"^[^\x00]*$")
    rack: str = Field(default="", max_length=63, pattern=r"^[^\x00]*$")
    labels: str = Field(default="", max_length=500, pattern=r"^[^\x00]*$")
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    lead_s: Whole = Field(default=600, ge=0, le=86400)
    message: str = Field(default="", max_length=255, pattern=r"^[^\x00]*$")
