"""Sub-clusters side by side."""

import datetime as dt
from typing import Any

from pydantic import Field

from contract.base import Amounts, Answer


class Compared(Answer):
    """One sub-cluster in the window. ``*_count``, ``jobs``, ``ended``: of how many the figures beside them are."""

    name: str
    state: str
    components_version: int | None = Field(description="The version whose component policies hold there")
    policies: dict[str, str] = Field(default={}, description="Of each component the policy that holds there")
    allocations_per_s: float
    allocation_latency_count: int
    allocation_latency_p50_s: float | None = Field(description="From submit to the task's first container")
    allocation_latency_p99_s: float | None
    jobs: int = Field(description="That came in the window and have their home there")
    job_wait_p50_s: float | None = Field(description="From submit to the job's first container, or until now")
    job_wait_p99_s: float | None
    utilization: float | None = Field(description="Now, of the scarcest resource, 0 to 1")
    pending: Amounts = Field(description="Now")
    ended: int
    ended_per_s: float
    failed: int
    failures_per_min: float
    preempted: int
    preemptions_per_min: float
    round_count: int
    round_p50_ms: float | None = Field(description="Planning and committing a round")
    round_p99_ms: float | None


class Setting(Answer):
    """A component's policy or parameter that is not the same in all. ``values``: by sub-cluster."""

    setting: str
    values: dict[str, Any]


class Comparison(Answer):
    at: dt.datetime
    window_s: int
    differs: list[Setting]
    sub_clusters: list[Compared]
