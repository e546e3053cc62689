"""How versions of the policy spread: who runs which, and rollouts in stages."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from contract.atmost import AtMost
from contract.base import ALL_SAID, Answer, Page, Request, one_of
from contract.fields import NO_NUL, SOME, Whole
from contract.policies import MESSAGE, PolicyCheckRequest

State = Annotated[
    str, one_of("pending", "running", "soaking", "paused", "rolling_back", "completed", "rolled_back", "failed")
]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=63, pattern=SOME)]


class VersionCount(Answer):
    version: int
    count: int


class KindConvergence(Answer):
    """One kind of part. ``told``: those that are to run the version; ``laggards``: of them, some that do not.

    ``since``: when the last of those that run it took it in. The seconds are
    from the push on, of parts that were there when it came; those of nodes are
    rounded up to two digits, ``max_s`` is not.
    """

    kind: Annotated[str, one_of("rm", "router", "gpg", "node")]
    total: int
    told: int
    on_version: int
    behind: int
    since: dt.datetime | None
    versions: list[VersionCount]
    laggards: list[str] = Field(description="At most 100; nodes as sub-cluster/name")
    p50_s: float | None  # seconds since the push
    p99_s: float | None
    max_s: float | None


class Convergence(Answer):
    """``converged``: everything that is told to run the version does."""

    version: int
    active: bool
    pushed_at: dt.datetime | None
    converged: bool
    kinds: list[KindConvergence]


class Stage(Answer):
    """``everywhere``: the last one, in which the version is in force for all; it names no sub-cluster."""

    sub_clusters: list[str]
    soak_s: float
    everywhere: bool = False


class SideMeasures(Answer):
    """What some sub-clusters did in a window of ``window_s``.

    jobs: that came in it; pending_p99_s: how long they waited or wait. ended:
    containers that ended, of those looked at; failed: of them. utilization: of
    the scarcest resource, 0 to 1. waits: somebody asks for more than there is.
    """

    model_config = ALL_SAID

    window_s: float = 0.0
    jobs: int = 0
    pending_p99_s: float | None = None
    ended: int = 0
    failed: int = 0
    ended_per_min: float = 0.0
    allocations_per_s: float = 0.0
    utilization: float | None = None
    waits: bool = False


class StageMeasures(Answer):
    """``staged``: the stage's sub-clusters; ``others``: those that run the old version."""

    staged: SideMeasures
    others: SideMeasures


class RolloutMetrics(Answer):
    """By stage. ``looks``: how often was looked in this soak."""

    looks: int = 0
    stages: list[StageMeasures] = []


class Rollout(Answer):
    """A version on its way to all. ``stage``: the one it is in, from 0; ``message``: why it is where it is.

    ``baseline``: by stage, what was before its sub-clusters were told.
    """

    id: int
    version: int
    from_version: int
    rollback_version: int | None
    state: State
    live: bool
    stages: list[Stage]
    guards: dict[str, float]
    on_breach: Annotated[str, one_of("pause", "rollback")]
    stage: int
    baseline: dict[str, StageMeasures]
    metrics: RolloutMetrics
    message: str
    author: str | None
    created_at: dt.datetime
    stage_at: dt.datetime | None
    soak_at: dt.datetime | None
    ended_at: dt.datetime | None


class RolloutPage(Page):
    results: list[Rollout]


class Guards(Request):
    """Bounds on what the stages' sub-clusters may do; one that is left out is not looked at."""

    model_config = ConfigDict(frozen=True)

    pending_p99_s: Annotated[
        float | None, Field(gt=0, le=1e6, description="99 % of the jobs that came since wait no longer than this")
    ] = None
    failures_per_min: Annotated[float | None, Field(ge=0, le=1e9, description="containers that fail per minute")] = None
    failure_share: Annotated[PositiveShare | None, Field(description="of the containers that end, those that fail")] = (
        None
    )
    allocation_rate_drop: Annotated[
        PositiveShare | None,
        Field(description="of the allocations per second there were before, the share that may be missing"),
    ] = None
    utilization_drop: Annotated[
        PositiveShare | None, Field(description="of the utilization there was before, the share that may be missing")
    ] = None


class StageRequest(Request):
    """Names sub-clusters, or says ``everywhere``: with that one, the last, the version is put in force for all.

    ``soak_s``: for how long it is watched once all of it runs the version.
    """

    sub_clusters: Annotated[list[Name], AtMost(1000)] = []
    soak_s: Annotated[float, Field(ge=0, le=30 * 86400)] = 60.0
    everywhere: bool = False


class RolloutRequest(PolicyCheckRequest):
    """``parent``: the version the document was made from.

    After the last stage the version is in force everywhere; only a stage that says ``everywhere`` is watched then.
    """

    message: str = MESSAGE
    parent: Whole | None = Field(default=None, ge=0, lt=2**63)
    stages: Annotated[list[StageRequest], AtMost(100, least=1)]
    guards: Guards = Guards()
    on_breach: Literal["pause", "rollback"] = "rollback"


class RolloutOrder(Request):
    message: str = Field(default="", max_length=1000, pattern=NO_NUL)
