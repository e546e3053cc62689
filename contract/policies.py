"""Versions of the policy: diffs, changes, proposals that wait for another operator, temporary overrides."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from contract.base import ALL_SAID, Answer, Page, Request, one_of
from contract.fields import NO_NUL, SOME, Whole
from contract.problems import FieldError


class Policy(Answer):
    """A version of the policy document. ``author`` is null where the system wrote it.

    ``base``: the version in which operators wrote what this one is made of, itself where no override made it.
    ``overrides``: the temporary overrides in it. ``approved_by``: the second operator, where one was needed.
    """

    version: int
    parent: int | None
    active: bool
    author: str | None  # none: the system
    at: dt.datetime
    message: str
    approved_by: str | None
    base: int
    overrides: list[int]


class PolicyDetail(Policy):
    """``document``: what operators wrote. ``effective``: what holds, where overrides make that something else."""

    document: dict[str, Any]
    effective: dict[str, Any] | None


class PolicyPage(Page):
    results: list[Policy]


class PolicyChecked(Answer):
    """``document``: with its components complete. warnings: accounts it names that there are not (yet)."""

    model_config = ALL_SAID

    queues: int
    warnings: list[FieldError] = []
    document: dict[str, Any]


class PolicyCheckRequest(Request):
    document: dict[str, Any] = Field(description="As GET /api/v1/policy/schema describes it")


class PolicyRequest(PolicyCheckRequest):
    """``parent``: the version it was made from. ``force``: remove queues although jobs live in them, cancel overrides
    that make no sense in it, and give a rollout up."""

    message: str = Field(max_length=1000, pattern=NO_NUL)
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    force: bool = False


OverrideField = Literal[
    "guaranteed", "maximum", "weight", "user_maximum", "max_running_jobs", "max_running_jobs_per_user",
    "max_live_jobs_per_user", "max_live_tasks_per_user", "max_live_mib_per_user",
]  # fmt: skip
MESSAGE = Field(max_length=1000, pattern=NO_NUL, description="What changes, and why; not blank")


class PolicyChange(Answer):
    """One value that becomes another, as ``text`` says. ``queues``: how many get it; ``kept``: the highest below
    ``path`` that keep the old one; of a component, the sub-clusters that keep what they have."""

    path: str
    field: str
    before: Any
    after: Any
    text: str
    severity: Annotated[str, one_of("high", "medium", "low")]
    queues: int
    kept: list[str]


class DiffRequest(Request):
    """From a version (by default the one in force) to another one, or to a document."""

    first: Whole | None = Field(default=None, alias="from", ge=1, lt=2**63)
    second: Whole | None = Field(default=None, alias="to", ge=1, lt=2**63)
    document: dict[str, Any] | None = None


class PolicyDiff(Answer):
    """``to`` is null where it is a document. ``changes``: of what operators write, the first ``total`` of them cut to
    1,000. ``overridden``: what temporary overrides make of the second. ``staged``: of ``total``, those that a rollout's
    first stage begins with; the others change with its last one, everywhere at once. warnings: of a document, as
    ``PolicyChecked`` has them."""

    model_config = ALL_SAID

    first: int | None = Field(alias="from")
    second: int | None = Field(alias="to")
    identical: bool
    severity: Annotated[str, one_of("high", "medium", "low")] | None
    total: int
    staged: int
    changes: list[PolicyChange]
    overridden: list[PolicyChange]
    warnings: list[FieldError] = []


class PolicyRollbackRequest(Request):
    """``version``: whose content comes into force again, as a new version. ``force``: as of a push."""

    version: Whole = Field(ge=1, lt=2**63)
    message: str = MESSAGE
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    force: bool = False


class DecisionRequest(Request):
    message: str = MESSAGE


class Proposal(Answer):
    """A change that waits for another operator, or did. ``result``: what came of it, as {"version": 9}."""

    id: int
    kind: str
    state: Annotated[str, one_of("pending", "expired", "stale", "approved", "rejected", "withdrawn")]
    message: str
    author: str
    base: int
    created_at: dt.datetime
    expires_at: dt.datetime
    decided_by: str | None
    decided_at: dt.datetime | None
    decision: str
    result: dict[str, int] | None
    changes: list[PolicyChange]


class ProposalDetail(Proposal):
    """``payload``: all it would do; of the kind ``document`` the document as ``payload.document``. warnings: of that,
    as ``PolicyChecked`` has them."""

    model_config = ALL_SAID

    payload: dict[str, Any]
    warnings: list[FieldError] = []


class ProposalPage(Page):
    results: list[Proposal]


class To(Request):
    """The value it has for the time, as a policy document writes it; null: no limit."""

    to: float | str | dict[str, Any] | None


class Percent(Request):
    """More (or, below 0, less) than the document says by so many hundredths of that."""

    percent: float = Field(gt=-100, le=1000)


class OverrideRequest(Request):
    """A field of a queue that has another value for a time. ``starts_at`` null: at once. ``partition``: of a limit."""

    queue: str = Field(min_length=1, max_length=255, pattern=SOME)
    field: OverrideField
    partition: str = Field(default="", max_length=63, pattern=NO_NUL)
    change: To | Percent
    starts_at: AwareDatetime | None = Field(default=None, strict=False)
    ends_at: AwareDatetime = Field(strict=False)
    message: str = MESSAGE


class PolicyOverride(Answer):
    """``text``: ``root.ads guaranteed +20 %``. ``refused``: it should hold, and ``problem`` says why it does not."""

    id: int
    state: Annotated[str, one_of("planned", "in_force", "refused", "over", "cancelled")]
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


class OverridePage(Page):
    results: list[PolicyOverride]
