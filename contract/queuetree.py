"""The whole tree of queues in columns, as pages draw it, and the matrix of queues and sub-clusters."""

from pydantic import Field

from contract.base import Answer
from contract.queues import Rule

Column = list[int]  # one number per queue
Columns = list[Column]  # one column per resource: memory_mib, vcores_milli, gpus


class LayoutColumns(Answer):
    """``parent``: a position, -1 at the root. ``flags``: 1 leaf, 2 stopped, 4 open to all, 8 you may submit,
    16 not preemptable, 32 you administer it. ``see``: 1 its name only, 2 limits and your own part, 3 all of it."""

    name: list[str]
    parent: Column
    see: Column
    flags: Column
    guaranteed: Columns
    maximum: Columns
    weight: list[float | None]


class QueueLayout(Answer):
    """Limits are in units of the whole federation, over all partitions. ``layout`` names these positions."""

    layout: str
    policy_version: int | None
    partitions: list[str]
    queues: LayoutColumns


class UsePlace(Answer):
    """``counts``: what it has is shared out. ``stale``: its shares preempt nothing. ``used``: not for tenants."""

    name: str
    state: str
    counts: bool
    stale: bool
    capacity: list[int]
    used: list[int] | None


class UseColumns(Answer):
    """``at``: positions in the layout. ``pending`` is beyond ``used``; ``guaranteed_part`` is within ``share``."""

    at: Column
    used: Columns
    pending: Columns
    share: Columns
    guaranteed_part: Columns
    live: Column
    running: Column


class Starving(Answer):
    at: int
    partition: str
    since: float = Field(description="Seconds since 1970")
    lacking: list[int]


class OthersUse(Answer):
    used: list[int]
    step: float = Field(description="Rounded down to steps of this part of the capacity")


class ShareSettings(Answer):
    policy: str
    stale_s: float


class QueueUse(Answer):
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


class MatrixPlace(Answer):
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


class MatrixRow(Answer):
    """``share`` and its neighbours: per place, one number per resource. ``rules``: per place, of ``resource``."""

    path: str
    leaf: bool
    resource: str
    guaranteed: list[int]
    maximum: list[int]
    share: list[list[int]]
    guaranteed_part: list[list[int]]
    used: list[list[int]]
    pending: list[list[int]]
    rules: list[Rule]


class MatrixSettings(ShareSettings):
    interval_s: float


class QueueMatrix(Answer):
    """A queue, its children, and every sub-cluster. ``more``: rows after these."""

    at: float
    layout: str
    under: str
    partition: str
    shares: MatrixSettings
    places: list[MatrixPlace]
    rows: list[MatrixRow]
    more: int
