"""Sub-clusters: how they are, joining, draining, leaving; and the overview of them all."""

import datetime as dt
from typing import Annotated

from pydantic import Field

from contract import words
from contract.base import Amounts, Answer, Containers, Measured, Page, Request, one_of
from contract.fields import NO_NUL, Whole
from contract.nodes import MONTH_S, DutyRequest
from contract.queues import Queue

HOUR_S, DAY_S, YEAR_S = 3600, 86400, 366 * 86400


class SubClusterLoad(Answer):
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


class SubClusterShares(Answer):
    """What the GPG last assigned to its queues."""

    version: int
    age_s: float


class WouldPreempt(Answer):
    """What preemption would take back, did it not only observe. ``marked``: containers that would be warned or stopped
    now; ``stopped``: how many would have been since its leader took over."""

    marked: int
    stopped: int


class Left(Answer):
    jobs: int
    containers: int


class Totals(Answer):
    """``duties``: of nodes that are up, how many take containers (open) and how many are kept from them (closed)."""

    nodes: dict[str, int]
    duties: dict[str, int]
    capacity: Amounts
    allocated: Amounts
    used: Measured
    pending: Containers
    live_containers: int


class SubCluster(Totals):
    """``lease_age_s``: since its leader last renewed. ``left``: what still keeps a draining one; ``waits_for``: what a
    joining one lacks."""

    id: int
    name: str
    state: words.SubClusterState
    message: str  # the operator's
    state_at: dt.datetime
    deadline: dt.datetime | None  # of a drain
    waits_for: list[str]  # what a joining one lacks
    left: Left | None  # what still keeps a draining one
    leader: str | None
    epoch: int
    lease_ok: bool
    lease_age_s: float | None  # since its leader last renewed
    load: SubClusterLoad | None  # what its leader last said of its open nodes
    shares: SubClusterShares | None  # version and age of what the GPG assigned
    would_preempt: WouldPreempt | None  # where preemption only observes
    frozen: bool  # too many nodes fell silent at once: nothing is lost or preempted
    rounds: int  # this and the next two: since its leader took over
    placed: int
    ended: int
    round_ms: float | None
    rounds_per_s: float | None
    placed_per_s: float | None = Field(description="Allocations of the last ten seconds; with `ended_per_s`: decisions")
    ended_per_s: float | None
    policy_version: int | None
    summary_age_s: float | None


class SubClusterDetail(SubCluster):
    state_by: str | None


class SubClusterList(Page):
    results: list[SubCluster]


class Overview(Totals):
    """``scope``: ``own`` where what is allocated and waiting is the reader's own part. ``queues``: the highest.

    ``queues_left_out``: how many more the reader may see.
    """

    at: float  # seconds since 1970
    scope: Annotated[str, one_of("all", "own")]
    policy_version: int | None
    sub_clusters: list[SubCluster]
    jobs: dict[str, int]  # job state -> number
    queues: list[Queue]
    queues_left_out: int


class JoinToken(Answer):
    """``token`` is shown this once."""

    id: int
    token: str
    sub_cluster: str
    node: str
    expires_at: dt.datetime


class JoinTokenRequest(Request):
    """``node``: the only name it registers, once, even where another machine has it; empty: any new one."""

    note: str = Field(default="", max_length=255, pattern=NO_NUL)
    node: str = Field(default="", max_length=63, pattern=NO_NUL)
    valid_s: Whole = Field(default=DAY_S, ge=1, le=YEAR_S)


class SubClusterTokenRequest(Request):
    """``name``: the only name it may register; empty for any."""

    name: str = Field(default="", max_length=63, pattern=NO_NUL)
    note: str = Field(default="", max_length=255, pattern=NO_NUL)
    valid_s: Whole = Field(default=HOUR_S, ge=1, le=MONTH_S)


class SubClusterToken(Answer):
    """``token`` is shown this once and registers one sub-cluster."""

    id: int
    token: str
    name: str
    expires_at: dt.datetime


class SubClusterRegistration(Request):
    token: str = Field(max_length=255, pattern=NO_NUL)
    name: str = Field(max_length=63, pattern=NO_NUL)


class SubClusterRegistered(Answer):
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


class Outcomes(Answer):
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


class OtherSubCluster(Answer):
    """``percent``: of its fullest resource, now and once it has taken its part of what leaves."""

    sub_cluster: str
    nodes: int
    capacity: Amounts
    allocated: Amounts
    percent: float
    percent_after: float


class TiedGroup(Answer):
    """Tasks that no other sub-cluster could ever run."""

    job: int
    job_name: str
    owner: str
    queue: str
    group: str
    containers: int
    why: str


class HeldBack(Answer):
    """Containers of a queue that leave and would wait, as the maxima of the queue, or of one above it, are reached."""

    queue: str
    containers: int


class SubClusterDrainPreview(Outcomes):
    """``jobs``: at home there. ``guests``: containers of jobs at home elsewhere. ``moves``: what would start elsewhere.

    ``fits``: all of it could start now. ``over_maximum``: by queue, what could not, room or no room. ``tied``: the
    first hundred of ``tied_groups``.
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
    over_maximum: list[HeldBack]
    others: list[OtherSubCluster]
    tied: list[TiedGroup]
    tied_groups: int
