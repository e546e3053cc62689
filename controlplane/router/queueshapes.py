"""Shapes of the queue tree in columns, of the matrix, of one queue, and of what an account used."""

import datetime as dt
from typing import Literal

from pydantic import Field

from controlplane.router.shapes import Amounts, Shape

Column = list[int]  # one number per queue
Columns = list[Column]  # one column per resource: memory_mib, vcores_milli, gpus
Rule = Literal["demand", "idle", "maximum", "guarantee", "capacity", "weight", "size", "none"]


class LayoutColumns(Shape):
    """``parent``: a position, -1 at the root. ``flags``: 1 leaf, 2 stopped, 4 open to all, 8 you may submit,
    16 not preemptable, 32 you administer it. ``see``: 1 its name only, 2 limits and your own part, 3 all of it."""

    name: list[str]
    parent: Column
    see: Column
    flags: Column
    guaranteed: Columns
    maximum: Columns
    weight: list[float | None]


class QueueLayout(Shape):
    """Limits are in units of the whole federation, over all partitions. ``layout`` names these positions."""

    layout: str
    policy_version: int | None
    partitions: list[str]
    queues: LayoutColumns


class UsePlace(Shape):
    """``counts``: what it has is shared out. ``stale``: its shares preempt nothing. ``used``: not for tenants."""

    name: str
    state: str
    counts: bool
    stale: bool
    capacity: list[int]
    used: list[int] | None


class UseColumns(Shape):
    """``at``: positions in the layout. ``demand`` is beyond ``used``. ``share``: given, ``owed`` of it guaranteed."""

    at: Column
    used: Columns
    demand: Columns
    share: Columns
    owed: Columns
    live: Column
    running: Column


class Starving(Shape):
    at: int
    partition: str
    since: float = Field(description="Seconds since 1970")
    lacking: list[int]


class OthersUse(Shape):
    used: list[int]
    step: float = Field(description="Rounded down to steps of this part of the capacity")


class ShareSettings(Shape):
    policy: str
    stale_s: float


class QueueUse(Shape):
    """Queues with nothing to tell are left out. ``others``: all that others use, where that tells of none of them."""

    at: float
    layout: str
    sub_cluster: str | None
    shares: ShareSettings | None = None
    capacity: list[int]
    places: list[UsePlace]
    queues: UseColumns
    starving: list[Starving]
    others: OthersUse | None


class MatrixPlace(Shape):
    """``version``: of the shares, 0 without. ``goes_by``: the version its resource manager goes by."""

    name: str
    state: str
    counts: bool
    stale: bool
    shares_age_s: float | None
    load_age_s: float | None
    version: int
    goes_by: int
    capacity: list[int]
    free: list[int] | None


class MatrixRow(Shape):
    """``share`` and its neighbours: per place, one number per resource. ``rules``: per place, of ``resource``."""

    path: str
    leaf: bool
    resource: str
    guaranteed: list[int]
    maximum: list[int]
    share: list[list[int]]
    owed: list[list[int]]
    used: list[list[int]]
    demand: list[list[int]]
    rules: list[Rule]


class MatrixSettings(ShareSettings):
    interval_s: float


class QueueMatrix(Shape):
    """A queue, its children, and every sub-cluster. ``more``: rows after these."""

    at: float
    layout: str
    under: str
    partition: str
    shares: MatrixSettings
    places: list[MatrixPlace]
    rows: list[MatrixRow]
    more: int


class QueuePlace(Shape):
    """``why``: the rule in words. ``by_size``, ``by_demand``: what other ways of sharing would guarantee here."""

    sub_cluster: str
    counts: bool
    stale: bool
    shares_age_s: float | None
    share: Amounts
    guaranteed: Amounts
    used: Amounts
    demand: Amounts
    rule: Rule
    why: str
    by_size: int
    by_demand: int


class QueueUser(Shape):
    user: str
    jobs: int
    used: Amounts


class QueueGranted(Shape):
    who: str
    level: str
    queue: str
    source: Literal["policy", "grant"]


class Reclaim(Shape):
    queue: str
    sub_cluster: str
    amount: int


class QueueStarves(Shape):
    since: float
    lacking: Amounts
    resource: str
    reclaim: list[Reclaim]
    text: str


class QueueDetail(Shape):
    """``sees``: ``own`` counts the reader's own jobs only. ``pointer``: where it stands in the policy document."""

    path: str
    sees: Literal["whole", "own"]
    pointer: str | None
    partition: str
    resource: str
    leaf: bool
    stopped: bool
    open_to_all: bool
    ordering: str
    preemptable: bool
    max_running_jobs: int | None
    max_running_jobs_per_user: int | None
    max_am_share: float
    max_priority: int
    default_priority: int
    guaranteed: Amounts
    maximum: Amounts
    user_limit: Amounts
    used: Amounts
    demand: Amounts
    live_jobs: int
    running_jobs: int
    weight: float | None
    siblings_weight: float | None
    places: list[QueuePlace]
    users: list[QueueUser]
    starving: QueueStarves | None
    rights: list[QueueGranted] | None


class UsedHour(Shape):
    """``*_s``: units times seconds, of containers that ended in this time."""

    at: dt.datetime
    queue: str
    containers: int
    memory_mib_s: int
    vcores_milli_s: int
    gpu_s: int


class UsedHours(Shape):
    begin: dt.datetime
    end: dt.datetime
    step: Literal["hour", "day"]
    results: list[UsedHour]
    complete: bool
