"""Answers about the policy: versions, diffs, proposals, overrides."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as of
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """A version of the policy document; lists of versions come without the document.

    ``document``: what operators wrote. ``effective``: what holds, where the
    temporary ``overrides`` make that something else.
    """

    version: int
    parent: int | None = None
    active: bool = False
    author: str | None = None  # none: the system
    at: datetime | None = None
    message: str = ""
    approved_by: str | None = None
    base: int | None = None
    overrides: list[int] = of(default_factory=list)
    document: dict[str, Any] | None = None
    effective: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One value that becomes another, as ``text`` says; ``severity``: high, medium or low."""

    path: str
    field: str
    before: Any = None
    after: Any = None
    text: str = ""
    severity: str = "low"
    queues: int = 0


@dataclass(frozen=True, slots=True)
class PolicyDiff:
    """``changes``: at most 1,000 of ``total``. ``overridden``: what temporary overrides make of the second document."""

    identical: bool
    total: int = 0
    severity: str | None = None
    changes: list[PolicyChange] = of(default_factory=list)
    overridden: list[PolicyChange] = of(default_factory=list)


Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class PlanSide:
    """A queue under one policy. ``share``: what it may use now; ``lacks``: what it wants beyond what it is due."""

    guaranteed: Amounts
    share: Amounts
    due: Amounts
    lacks: Amounts
    gives_back: Amounts
    starves: bool = False


@dataclass(frozen=True, slots=True)
class PlanQueue:
    """``moved``: how its dominant share changes, of all there is. A side is null where the queue is not there."""

    path: str
    leaf: bool
    moved: float
    used: Amounts
    wanted: Amounts
    before: PlanSide | None = None
    after: PlanSide | None = None


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """What a document would do to the shares of now; ``queues``: the largest change first, at most 500 of ``total``."""

    capacity: Amounts
    total: int
    changed: int
    starving: int
    gives_back: Amounts
    loads_missing: bool = False
    queues: list[PlanQueue] = of(default_factory=list)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits for another operator. ``state``: pending, expired, stale, approved, rejected, withdrawn."""

    id: int
    kind: str
    state: str
    message: str = ""
    author: str = ""
    base: int = 0
    created_at: datetime | None = None
    expires_at: datetime | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    decision: str = ""
    result: dict[str, int] | None = None
    changes: list[PolicyChange] = of(default_factory=list)
    payload: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PolicyOverride:
    """A field of a queue with another value for a time. ``state``: planned, in_force, refused, over, cancelled."""

    id: int
    state: str
    queue: str
    field: str
    text: str = ""
    partition: str = ""
    change: dict[str, Any] = of(default_factory=dict)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    message: str = ""
    author: str | None = None
    cancelled_at: datetime | None = None
    cancelled_by: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What came of a change: a version (``changed``: a new one), or a proposal that waits for another operator."""

    policy: Policy | None = None
    changed: bool = False
    proposal: Proposal | None = None
