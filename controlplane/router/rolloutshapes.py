"""Shapes of how policy versions spread: who runs which, and rollouts in stages."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field

from controlplane.policy.guards import Guards
from controlplane.router import shapes
from controlplane.router.jobspec import Whole
from controlplane.router.policyshapes import MESSAGE, Request
from controlplane.router.shapes import PageOf, Shape

Name = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[^\x00]+$")]


class VersionCount(Shape):
    version: int
    count: int


class KindConvergence(Shape):
    """One kind of part. ``told``: those that are to run the version; ``laggards``: of them, some that do not.

    ``since``: when the last of those that run it took it in. The seconds are
    from the push on, of parts that were there when it came; those of nodes are
    rounded up to two digits, ``max_s`` is not.
    """

    kind: Literal["rm", "router", "gpg", "node"]
    total: int
    told: int
    on_version: int
    behind: int
    since: dt.datetime | None
    versions: list[VersionCount]
    laggards: list[str] = Field(description="At most 100; nodes as sub-cluster/name")
    p50_s: float | None
    p99_s: float | None
    max_s: float | None


class Convergence(Shape):
    """``converged``: everything that is told to run the version does."""

    version: int
    active: bool
    pushed_at: dt.datetime | None
    converged: bool
    kinds: list[KindConvergence]


class StageInfo(Shape):
    sub_clusters: list[str]
    soak_s: float


class SideMeasures(Shape):
    """What some sub-clusters did in ``window_s``; as ``controlplane.policy.guards.Measures``."""

    window_s: float
    jobs: int
    pending_p99_s: float | None
    ended: int
    failed: int
    ended_per_min: float
    allocations_per_s: float
    utilization: float | None
    waits: bool


class StageMeasures(Shape):
    """``staged``: the stage's sub-clusters; ``others``: those that run the old version."""

    staged: SideMeasures
    others: SideMeasures


class RolloutMetrics(Shape):
    """By stage. ``looks``: how often was looked in this soak."""

    looks: int = 0
    stages: list[StageMeasures] = []


class RolloutInfo(Shape):
    """A version on its way to all. ``stage``: the one it is in, from 0; ``message``: why it is where it is.

    ``baseline``: by stage, what was before its sub-clusters were told.
    """

    id: int
    version: int
    from_version: int
    rollback_version: int | None
    state: Literal["pending", "running", "soaking", "paused", "rolling_back", "completed", "rolled_back", "failed"]
    live: bool
    stages: list[StageInfo]
    guards: dict[str, float]
    on_breach: Literal["pause", "rollback"]
    stage: int
    baseline: dict[str, StageMeasures]
    metrics: RolloutMetrics
    message: str
    author: str | None
    created_at: dt.datetime
    stage_at: dt.datetime | None
    soak_at: dt.datetime | None
    ended_at: dt.datetime | None


class RolloutPage(PageOf):
    results: list[RolloutInfo]


class StageRequest(Request):
    """``soak_s``: for how long it is watched once all of it runs the version."""

    sub_clusters: list[Name] = Field(min_length=1, max_length=1000)
    soak_s: Annotated[float, Field(ge=0, le=30 * 86400)] = 60.0


class RolloutRequest(shapes.PolicyCheckRequest):
    """``parent``: the version the document was made from. After the last stage the version is in force everywhere."""

    message: str = MESSAGE
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    stages: list[StageRequest] = Field(min_length=1, max_length=100)
    guards: Guards = Guards()
    on_breach: Literal["pause", "rollback"] = "rollback"


class RolloutOrder(Request):
    message: str = Field(default="", max_length=1000, pattern=r"^[^\x00]*$")
