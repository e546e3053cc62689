"""What-if simulations: questions, and answers with what changes and how sure that is."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from contract.atmost import AtMost
from contract.base import Answer, Page, Request, one_of
from contract.fields import SOME, QueuePath, Whole

ENDED = ("done", "failed", "cancelled")
QUEUES_MOST = 300
_Queue = Annotated[str, Field(max_length=255, pattern=SOME)]  # of whatever a trace may call one
State = Annotated[str, one_of("queued", "running", *ENDED)]


class SimulationRequest(Request):
    """What a policy would have done to what happened in a window: the last ``hour`` unless ``window``, or ``from`` and
    ``to``, say otherwise. One of ``document`` and ``version``.

    Or, with ``drain``, what would wait if that sub-cluster were drained now: ``horizon_s`` ahead, by default an hour,
    after the deadline if there is one, with jobs coming as in the last hour unless ``forecast`` is false. What still
    runs there after ``deadline_s`` is stopped, as in a drain with that deadline; without it, never.

    Or, with ``trace``, what a policy would do to the jobs of a file that was handed in, on the fleet's nodes as they
    are now, or with ``nodes`` on its own, dealt among the fleet's sub-clusters. It begins now, and has no window.

    ``queues``, without ``drain``: where jobs go of a queue that one of the policies does not have, from its path to
    that of a leaf which that policy has. Jobs that have no queue under one of both are left out.

    More ``seeds`` say more surely what is chance."""

    window: Literal["hour", "day", "week"] | None = None
    first: AwareDatetime | None = Field(default=None, alias="from", strict=False)
    last: AwareDatetime | None = Field(default=None, alias="to", strict=False)
    document: dict[str, Any] | None = Field(default=None, description="As GET /api/v1/policy/schema describes it")
    version: Whole | None = Field(default=None, ge=1, lt=2**63)
    drain: str | None = Field(default=None, min_length=1, max_length=63, description="A sub-cluster's name")
    horizon_s: Whole | None = Field(default=None, ge=60, le=7 * 86_400, description="With drain: so far ahead")
    forecast: bool | None = Field(default=None, description="With drain: jobs come as in the last hour")
    deadline_s: Whole | None = Field(default=None, ge=0, lt=7 * 86_400, description="With drain: its deadline")
    trace: Whole | None = Field(default=None, ge=1, lt=2**63, description="A number of GET /api/v1/simulations/traces")
    nodes: Literal["fleet", "trace"] | None = Field(default=None, description="With trace: whose; fleet by default")
    queues: Annotated[dict[_Queue, QueuePath], AtMost(QUEUES_MOST)] = {}
    seeds: Whole = Field(default=3, ge=1, le=10)


class Simulation(Answer):
    """``base``: the version in force then, to which is compared. ``version``: null where a document was given;
    ``digest``: of what it says, the same as of a version that says it. ``change``: the change against ``base`` that
    matters most and how many more there are, in words. Of a drain: ``sub_cluster``, that is drained with ``base`` in
    force, whether there is a ``forecast``, and its ``deadline_s``, all null of a policy; its ``version`` is null, and
    its ``digest`` and ``change`` are empty. ``from``, ``to``: the window, or of a drain what is looked ahead.
    ``trace``: what is replayed instead of the history; null where nothing is, and once its place was needed, when
    ``trace_name`` still says what it was. ``own_nodes``: on the trace's; null without one.
    ``sample``: part of jobs and nodes that is simulated. ``simulated_s``: how far the slowest run is, while it runs."""

    id: int
    kind: Annotated[str, one_of("policy", "drain")]
    state: State
    message: str
    progress: float
    simulated_s: float
    requested_by: str | None
    requested_at: dt.datetime
    begin: dt.datetime = Field(alias="from")
    end: dt.datetime = Field(alias="to")
    base: int
    version: int | None
    digest: str
    change: str
    sub_cluster: str | None
    forecast: bool | None
    seeds: int
    sample: float
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    trace: int | None = None
    trace_name: str = ""
    own_nodes: bool | None = None
    deadline_s: float | None = None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class SimulationPage(Page):
    results: list[Simulation]


class TracedQueue(Answer):
    queue: str
    jobs: int


class SimulationTrace(Answer):
    """A trace that was handed in. ``kind``: what the file was. ``span_s``: until the last job has ended by itself.
    ``queues``: the 100 with the most jobs. ``skipped``: jobs that were left out, by reason. ``nodes``: how many of its
    own it tells; null: none."""

    id: int
    name: str
    kind: str
    added_by: str | None
    added_at: dt.datetime
    jobs: int
    containers: int
    users: int
    span_s: float
    queues: list[TracedQueue]
    skipped: dict[str, int]
    nodes: int | None


class SimulationTracePage(Page):
    results: list[SimulationTrace]


class SimulatedEstimate(Answer):
    """A value with its 95 % interval. ``over``: what the interval is over; "" without one, as then are its ends null.
    ``value`` is null where it cannot be said."""

    value: float | None
    low: float | None
    high: float | None
    over: Annotated[str, one_of("seeds", "pairs of seeds", "jobs", "pairs of jobs", "")]
    count: int


class SimulatedComparedFigure(Answer):
    """``change``: from the first policy; null of the first one itself."""

    value: SimulatedEstimate
    change: SimulatedEstimate | None


class SimulatedQueueFigures(Answer):
    queue: str
    figures: dict[str, SimulatedComparedFigure]


class SimulatedUserFigures(Answer):
    user: str
    figures: dict[str, SimulatedComparedFigure]


class SimulatedPolicyFigures(Answer):
    """``users``: none in answers from before they were told apart."""

    policy: str
    seeds: list[int]
    figures: dict[str, SimulatedComparedFigure]
    queues: list[SimulatedQueueFigures]
    users: list[SimulatedUserFigures] = []


class SimulatedComparison(Answer):
    """``queues``: those that change most, 300 of ``total_queues`` at most.

    ``users``: of more than 100 those with the most work and those whose waits change most, and last ``(others)``,
    which is all others together; they are ``total_users``."""

    workload: str
    baseline: str
    queues: list[str]
    users: list[str] = []
    total_queues: int
    total_users: int = 0
    policies: list[SimulatedPolicyFigures]
    notes: list[str]


class SimulatedFigure(Answer):
    """``unit``: s, part (of 1), count, core hours, or "" (a ratio). ``better``: "" where neither is."""

    title: str
    unit: str
    better: Annotated[str, one_of("lower", "higher", "")]


class SimulatedFigures(Answer):
    overall: dict[str, SimulatedFigure]
    by_queue: dict[str, SimulatedFigure]
    by_user: dict[str, SimulatedFigure] = {}


class SimulatedPeriods(Answer):
    """Over time, a value for every ``period_s``: part in use of each resource, and the part in wrong hands."""

    period_s: float
    utilization: dict[str, list[float | None]]
    fairness_error: list[float | None]


class SimulatedRun(Answer):
    policy: str
    seed: int
    ended_s: float
    lifecycles: int
    rounds: int
    took_s: float
    peak_rss_mib: float
    jobs_by_state: dict[str, int]
    periods: SimulatedPeriods | None


class DrainedQueue(Answer):
    """Means over seeds. ``jobs`` and ``containers`` wait longer, ``wait_s`` on average."""

    queue: str
    jobs: float
    containers: float
    wait_s: float


class DrainedJob(Answer):
    """A job that is live now and waits longer: so many ``containers`` of it, the last one by ``wait_s``. ``open``: not
    all had started when the simulation ended, so it waits longer still."""

    job: int
    name: str
    owner: str
    queue: str
    containers: float
    wait_s: float
    open: bool


class DrainedGroup(Answer):
    """A task group of a live job, whose ``containers`` could start in no other sub-cluster, and ``why``."""

    job: int
    name: str
    owner: str
    queue: str
    group: str
    containers: int
    why: str


class SimulatedDrain(Answer):
    """What waits because ``sub_cluster`` is drained at ``at``, seen ``horizon_s`` ahead, with what comes last seen on
    until ``seen_s``. What still runs there after ``deadline_s`` is stopped, and begins elsewhere; null: never.

    ``jobs`` and ``containers``: that waited for more than ``waits_s`` and would not have; ``longer_jobs`` and
    ``longer_containers``: that would have waited too, but less by more than that. ``wait_mean_s``: how much longer
    all of these waited. ``queues``, ``live``: those of them, the largest first, 300 and 100 at most.
    ``never``: what could start nowhere else, 100 at most of ``total_never`` groups in ``never_jobs`` jobs;
    ``never_forecast``: arriving jobs that are like that.
    ``running`` containers are there at first, ``services`` of them of services, which leave. ``empty_s``: so long
    after ``at`` nothing is left there; null where something is at ``seen_s``, ``left`` containers.
    ``lost_core_hours``: work of what was stopped for the drain."""

    sub_cluster: str
    at: dt.datetime
    horizon_s: float
    waits_s: float
    running: int
    services: int
    jobs: SimulatedEstimate
    containers: SimulatedEstimate
    longer_jobs: SimulatedEstimate
    longer_containers: SimulatedEstimate
    wait_mean_s: SimulatedEstimate
    empty_s: SimulatedEstimate
    left: float
    seen_s: float | None = None
    deadline_s: float | None = None
    lost_core_hours: SimulatedEstimate | None = None
    queues: list[DrainedQueue]
    total_queues: int
    live: list[DrainedJob]
    total_live: int
    never: list[DrainedGroup]
    total_never: int
    never_jobs: int
    never_forecast: int


class SimulationResult(Answer):
    """``figures``: what the keys of all figures mean. ``drained``: null of a policy."""

    format: str
    version: int
    jobs: int
    containers: int
    nodes: int
    figures: SimulatedFigures
    comparison: SimulatedComparison
    drained: SimulatedDrain | None
    runs: list[SimulatedRun]


class SimulationDetail(Simulation):
    """``queues``: where jobs go of queues that a policy does not have."""

    document: dict[str, Any]
    queues: dict[str, str] = {}
    result: SimulationResult | None
