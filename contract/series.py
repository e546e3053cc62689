"""History over time."""

import datetime as dt

from pydantic import Field

from contract.base import Amounts, Answer


class Series(Answer):
    """One metric of one scope, a value per point; null where nothing is known, as in an outage."""

    scope: str
    metric: str
    unit: str
    values: list[float | None]


class SeriesEvent(Answer):
    at: dt.datetime
    kind: str = Field(description="policy, rollout, override or sub-cluster")
    id: int
    text: str


class SeriesAnswer(Answer):
    """``at``: where each point's window of ``step_s`` seconds begins, in seconds since 1970."""

    step_s: int
    at: list[int]
    series: list[Series]
    events: list[SeriesEvent]


class ScopeUsage(Answer):
    """One scope in a window. ``capacity`` is what a queue is guaranteed, and what a sub-cluster has."""

    name: str
    allocated: Amounts | None
    capacity: Amounts | None
    pending: Amounts | None
    dominant_share: float | None
    used_memory_mib: int | None
    used_vcores_milli: int | None
    pending_containers: int | None
    decisions: int
    preemptions: int
    nodes: dict[str, int | None]


class SeriesInstant(Answer):
    at: dt.datetime
    step_s: int
    cluster: ScopeUsage | None = Field(description="null for tenants, and where nothing is known of the moment")
    sub_clusters: list[ScopeUsage]
    queues: list[ScopeUsage]
    queues_left_out: int = Field(description="How many more queues had something in them")
