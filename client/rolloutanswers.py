"""How policy versions spread, as the server answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class KindConvergence:
    """One kind of part: rm, router, gpg or node. ``behind``: those told to run the version that do not."""

    kind: str
    total: int
    told: int
    on_version: int
    behind: int
    since: datetime | None = None
    versions: list[dict[str, int]] = field(default_factory=list)
    laggards: list[str] = field(default_factory=list)  # at most 100
    p50_s: float | None = None  # seconds since the push
    p99_s: float | None = None
    max_s: float | None = None


@dataclass(frozen=True, slots=True)
class Convergence:
    """``converged``: everything that is told to run the version does."""

    version: int
    active: bool
    converged: bool
    pushed_at: datetime | None = None
    kinds: list[KindConvergence] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stage:
    sub_clusters: list[str]
    soak_s: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """A version on its way to all. ``stage``: the one it is in, from 0. ``message``: why it is where it is."""

    id: int
    version: int
    from_version: int
    state: str
    live: bool
    stages: list[Stage]
    rollback_version: int | None = None
    guards: dict[str, float] = field(default_factory=dict)
    on_breach: str = "rollback"
    stage: int = 0
    baseline: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    author: str | None = None
    created_at: datetime | None = None
    stage_at: datetime | None = None
    soak_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WaitingProposal:
    """A change that another operator has to approve first."""

    id: int
