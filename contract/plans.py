"""What a policy would do to the shares of now."""

from typing import Any

from pydantic import Field

from contract.base import Amounts, Answer, Request


class PlanRequest(Request):
    document: dict[str, Any] = Field(description="As GET /api/v1/policy/schema describes it")


class PlanSide(Answer):
    """A queue under one policy, its whole subtree. ``share``: what it may use now, with its part of what is idle;
    ``due``: of what it uses and wants; ``lacks``: what it uses or wants beyond; ``gives_back``: what is taken from it
    because others lack it; ``starves``: it wants something and is due nothing, or less than its guarantee."""

    guaranteed: Amounts
    share: Amounts
    due: Amounts
    lacks: Amounts
    gives_back: Amounts
    starves: bool


class PlanQueue(Answer):
    """``moved``: the change of its dominant share, of all there is. ``before``: null where the queue is new; ``after``:
    null where it goes."""

    path: str
    leaf: bool
    moved: float
    used: Amounts
    wanted: Amounts
    before: PlanSide | None
    after: PlanSide | None


class PlanSubCluster(Answer):
    """``age_s``: since its leader said what its queues use and want."""

    name: str
    led: bool
    age_s: float


class PolicyPlan(Answer):
    """``from``: the version in force. ``queues``: the largest change first, 500 of ``total`` at most; ``changed``: how
    many get another share or guarantee. ``gives_back``: of all queues under the new policy. ``loads_missing``: no
    sub-cluster has said anything yet, so there are no shares to work out."""

    first: int | None = Field(alias="from")
    capacity: Amounts
    sub_clusters: list[PlanSubCluster]
    loads_missing: bool
    total: int
    changed: int
    starving: int
    gives_back: Amounts
    queues: list[PlanQueue]
