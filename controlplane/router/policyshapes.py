"""Requests and answers about changes of the policy: diffs, roll-backs, proposals, overrides."""

import datetime as dt
from typing import Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from controlplane.policy.derive import FIELDS
from controlplane.router.jobspec import Whole
from controlplane.router.shapes import PageOf, Shape

MESSAGE = Field(max_length=1000, pattern=r"^[^\x00]*$", description="What changes, and why; not blank")


class Request(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)


class ChangeInfo(Shape):
    """One value that becomes another, as ``text`` says. ``queues``: how many get it; ``kept``: the highest below
    ``path`` that keep the old one."""

    path: str
    field: str
    before: Any
    after: Any
    text: str
    severity: Literal["high", "medium", "low"]
    queues: int
    kept: list[str]


class DiffRequest(Request):
    """From a version (by default the one in force) to another one, or to a document."""

    first: Whole | None = Field(default=None, alias="from", ge=1, lt=2**63)
    second: Whole | None = Field(default=None, alias="to", ge=1, lt=2**63)
    document: dict[str, Any] | None = None


class DiffInfo(Shape):
    """``to`` is null where it is a document. ``changes``: of what operators write, the first ``total`` of them cut to
    1,000. ``overridden``: what temporary overrides make of the second."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    first: int | None = Field(alias="from")
    second: int | None = Field(alias="to")
    identical: bool
    severity: Literal["high", "medium", "low"] | None
    total: int
    changes: list[ChangeInfo]
    overridden: list[ChangeInfo]


class RollbackRequest(Request):
    """``version``: whose content comes into force again, as a new version."""

    version: Whole = Field(ge=1, lt=2**63)
    message: str = MESSAGE
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    force: bool = False


class DecisionRequest(Request):
    message: str = MESSAGE


class ProposalInfo(Shape):
    """A change that waits for another operator, or did. ``result``: what came of it, as {"version": 9}."""

    id: int
    kind: str
    state: Literal["pending", "expired", "stale", "approved", "rejected", "withdrawn"]
    message: str
    author: str
    base: int
    created_at: dt.datetime
    expires_at: dt.datetime
    decided_by: str | None
    decided_at: dt.datetime | None
    decision: str
    result: dict[str, int] | None
    changes: list[ChangeInfo]


class ProposalDetail(ProposalInfo):
    """``payload``: all it would do; of the kind ``document`` the document as ``payload.document``."""

    payload: dict[str, Any]


class ProposalPage(PageOf):
    results: list[ProposalInfo]


class To(Request):
    """The value it has for the time, as a policy document writes it; null: no limit."""

    to: float | str | dict[str, Any] | None


class Percent(Request):
    """More (or, below 0, less) than the document says by so many hundredths of that."""

    percent: float = Field(gt=-100, le=1000)


class OverrideRequest(Request):
    """A field of a queue that has another value for a time. ``starts_at`` null: at once. ``partition``: of a limit."""

    queue: str = Field(min_length=1, max_length=255, pattern=r"^[^\x00]+$")
    field: Literal[FIELDS]  # type: ignore[valid-type]
    partition: str = Field(default="", max_length=63, pattern=r"^[^\x00]*$")
    change: To | Percent
    starts_at: AwareDatetime | None = Field(default=None, strict=False)
    ends_at: AwareDatetime = Field(strict=False)
    message: str = MESSAGE


class OverrideInfo(Shape):
    """``text``: ``root.ads guaranteed +20 %``. ``refused``: it should hold, and ``problem`` says why it does not."""

    id: int
    state: Literal["planned", "in_force", "refused", "over", "cancelled"]
    queue: str
    field: str
    partition: str
    change: dict[str, Any]
    text: str
    starts_at: dt.datetime
    ends_at: dt.datetime
    message: str
    author: str | None
    created_at: dt.datetime
    cancelled_at: dt.datetime | None
    cancelled_by: str | None
    problem: str


class OverridePage(PageOf):
    results: list[OverrideInfo]
