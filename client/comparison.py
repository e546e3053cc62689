"""Sub-clusters side by side; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from client import answers
from client.transport import Transport


@dataclass(frozen=True, slots=True)
class Compared:
    """One sub-cluster in the window. ``*_count``, ``jobs``, ``ended``: of how many the figures beside them are."""

    name: str
    state: str = ""
    components_version: int | None = None
    allocations_per_s: float = 0.0
    allocation_latency_count: int = 0
    allocation_latency_p50_s: float | None = None
    allocation_latency_p99_s: float | None = None
    jobs: int = 0
    job_wait_p50_s: float | None = None
    job_wait_p99_s: float | None = None
    utilization: float | None = None
    pending: dict[str, int] = field(default_factory=dict)
    ended: int = 0
    ended_per_s: float = 0.0
    failed: int = 0
    failures_per_min: float = 0.0
    preempted: int = 0
    preemptions_per_min: float = 0.0
    round_count: int = 0
    round_p50_ms: float | None = None
    round_p99_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A component's policy or parameter that is not the same everywhere, by sub-cluster."""

    setting: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    window_s: int
    at: datetime | None = None
    differs: list[Setting] = field(default_factory=list)
    sub_clusters: list[Compared] = field(default_factory=list)


class ComparisonCalls:
    _transport: Transport

    def compare(self, names: Sequence[str] = (), window_s: int = 300) -> Comparison:
        """What these sub-clusters, or all, did in the last ``window_s``, and where their component policies differ."""
        params = {"names": ",".join(names) or None, "window_s": window_s}
        answer = self._transport.request("GET", "/api/v1/sub-clusters/compare", params=params)
        return answers.read(Comparison, answer.json())
