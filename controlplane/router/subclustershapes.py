"""Requests and answers about sub-clusters: how they are, joining, draining, leaving; and the overview of them all."""

import datetime as dt
from typing import Literal

from pydantic import ConfigDict, Field

from controlplane.router.commonshapes import Containers, Measured, SubClusterState
from controlplane.router.jobspec import Whole
from controlplane.router.nodeshapes import MONTH_S, DutyRequest
from controlplane.router.shapes import Amounts, PageOf, QueueInfo, Shape

HOUR_S = 3600


class LoadInfo(Shape):
    """What its leader last said: of nodes that are up and open; ``pending``: what waits there.

    ``shares_version``: of the assignment it works by.
    """

    age_s: float
    epoch: int
    nodes_up: int
    shares_version: int
    capacity: Amounts
    free: Amounts
    pending: Amounts


class SharesInfo(Shape):
    """What the GPG last assigned to its queues."""

    version: int
    age_s: float


class Left(Shape):
    jobs: int
    containers: int


class Totals(Shape):
    """``duties``: of nodes that are up, how many take containers (open) and how many are kept from them (closed)."""

    nodes: dict[str, int]
    duties: dict[str, int]
    capacity: Amounts
    allocated: Amounts
    used: Measured
    pending: Containers
    live_containers: int


class SubClusterInfo(Totals):
    """``lease_age_s``: since its leader last renewed. ``left``: what still keeps a draining one; ``waits_for``: what a
    joining one lacks."""

    id: int
    name: str
    state: SubClusterState
    message: str
    state_at: dt.datetime
    deadline: dt.datetime | None
    waits_for: list[str]
    left: Left | None
    leader: str | None
    epoch: int
    lease_ok: bool
    lease_age_s: float | None
    load: LoadInfo | None
    shares: SharesInfo | None
    frozen: bool
    rounds: int
    placed: int
    ended: int
    round_ms: float | None
    rounds_per_s: float | None
    placed_per_s: float | None = Field(description="Allocations of the last ten seconds; with `ended_per_s`: decisions")
    ended_per_s: float | None
    policy_version: int | None
    summary_age_s: float | None


class SubClusterDetail(SubClusterInfo):
    state_by: str | None


class SubClusterList(PageOf):
    results: list[SubClusterInfo]


class Overview(Totals):
    """``scope``: ``own`` where what is allocated and waiting is the reader's own part. ``queues``: the highest."""

    at: float
    scope: Literal["all", "own"]
    policy_version: int | None
    sub_clusters: list[SubClusterInfo]
    jobs: dict[str, int]
    queues: list[QueueInfo]


class JoinTokenInfo(Shape):
    """``token`` is shown this once."""

    id: int
    token: str
    sub_cluster: str
    expires_at: dt.datetime | None


class JoinTokenRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    note: str = Field(default="", max_length=255, pattern=r"^[^\x00]*$")
    valid_s: Whole | None = Field(default=None, ge=1, le=10 * 365 * 86400)


class SubClusterTokenRequest(Shape):
    """``name``: the only name it may register; empty for any."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(default="", max_length=63, pattern=r"^[^\x00]*$")
    note: str = Field(default="", max_length=255, pattern=r"^[^\x00]*$")
    valid_s: Whole = Field(default=HOUR_S, ge=1, le=MONTH_S)


class SubClusterTokenInfo(Shape):
    """``token`` is shown this once and registers one sub-cluster."""

    id: int
    token: str
    name: str
    expires_at: dt.datetime


class SubClusterRegistration(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    token: str = Field(max_length=255, pattern=r"^[^\x00]*$")
    name: str = Field(max_length=63, pattern=r"^[^\x00]*$")


class SubClusterRegistered(Shape):
    """``queue``: what its workers serve. ``join_token``: with which its nodes register, shown this once."""

    id: int
    name: str
    state: str
    queue: str
    join_token: str
    join_token_expires_at: dt.datetime


class SubClusterDrainRequest(DutyRequest):
    """``deadline_s``: from now; what runs then is stopped and starts elsewhere. null: never."""

    deadline_s: Whole | None = Field(default=None, ge=0, le=MONTH_S)


class Outcomes(Shape):
    """Containers. services: leave at once. ends: by the deadline by themselves. unknown: without an estimate."""

    services: int
    ends: int
    stopped: int
    unknown: int


class QueueThere(Outcomes):
    queue: str
    jobs: int
    containers: int
    amounts: Amounts


class OtherSubCluster(Shape):
    """``percent``: of its fullest resource, now and once it has taken its part of what leaves."""

    sub_cluster: str
    nodes: int
    capacity: Amounts
    allocated: Amounts
    percent: float
    percent_after: float


class TiedGroup(Shape):
    """Tasks that no other sub-cluster could ever run."""

    job: int
    job_name: str
    owner: str
    queue: str
    group: str
    containers: int
    why: str


class SubClusterDrainPreview(Outcomes):
    """``jobs``: at home there. ``guests``: containers of jobs at home elsewhere. ``moves``: what would start elsewhere.

    ``tied``: the first hundred of ``tied_groups``.
    """

    sub_cluster: str
    state: str
    at: dt.datetime
    deadline: dt.datetime | None
    jobs: int
    containers: int
    guests: int
    queues: list[QueueThere]
    moves: Amounts
    fits: bool
    others: list[OtherSubCluster]
    tied: list[TiedGroup]
    tied_groups: int
