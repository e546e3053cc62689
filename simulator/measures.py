"""What a simulation run measured: columns that grow with jobs and minutes, never with containers."""

from dataclasses import dataclass, field

import numpy as np

from wire.resources import AXES

R = len(AXES)
# One row per job that was submitted. Times: s since the beginning, NaN for what has not happened. started: of its
# first container. queue, user: positions in ``Run.queues`` and ``Run.users``. state: ``JobState``. run_s: its critical
# path, the longest chain of its groups' longest tasks; work: the whole job's vcores_milli times seconds, as asked for.
# lost_work: of attempts that ended badly, from their beginnings on, before the simulation's too; none of services,
# which are of use while they run.
JOB = np.dtype(
    [
        ("number", "i8"), ("submitted", "f8"), ("started", "f8"), ("finished", "f8"), ("queue", "i4"), ("user", "i4"),
        ("state", "u1"), ("containers", "i4"), ("preempted", "i4"), ("run_s", "f8"), ("work", "f8"),
        ("lost_work", "f8"), ("service", "?"),
    ]
)  # fmt: skip
# Upper bounds of the bins of allocation latency, s: 20 for each power of ten from 1 ms to 10 days.
LATENCY_BOUNDS_S = np.logspace(-3, 6, 181)
LOCALITIES = ("node", "rack", "any")  # where a container that had wishes was placed


@dataclass(frozen=True, slots=True)
class Waited:
    """How long each task wanted to run and did not, in order of submission: the same rows in all runs of a workload.

    job, group: (t,) positions of its job's submission, and in that. wait_s:
    (t,) float64, again where it was stopped and had to start again. waits: (t,)
    bool, still when the run ended. jobs: how many were submitted.
    """

    job: np.ndarray
    group: np.ndarray
    wait_s: np.ndarray
    waits: np.ndarray
    jobs: int


@dataclass(slots=True)
class Run:
    """One run. q queues (leaves), p periods of ``period_s`` each, r resources in the order of ``AXES``.

    jobs: (j,) ``JOB``. latency: (q, 182) int64, containers by the bin of the
    time from wanting to allocation; the last bin is beyond all bounds.
    capacity: (p, r) of nodes that were up, used: (p, q, r), wanted: (p, q, r)
    what waited beyond: float64 each, averages over the period. share: (p, q)
    float64, the part of the whole that fairness grants the queue in that
    period (its dominant resource), NaN where it was not worked out.
    preempted, locality: (q,) and (q, 3) int64 containers. wasted: (q,) float64
    vcores_milli times seconds of attempts that did not succeed, as lost_work;
    drained_work: of those that were stopped to empty their nodes.
    work_before: (q,) the same of all work that tasks which run when it begins, but
    services', had done before; or (1,). held: (u, r) float64 amounts times seconds
    within the simulation, by position in ``users``. refused: (n, 2) int64 queue and
    user of jobs that routing rejected, which are not in ``jobs``. lifecycles:
    containers that ended. drawn_from: the seed of the run from whose jobs its own
    were drawn anew, None where they were not. rounds: scheduling rounds that were run. took_s,
    peak_rss_mib: of the machine, not of the simulation.
    """

    policy: str
    workload: str
    seed: int
    queues: list[str]
    users: list[str]
    period_s: float
    jobs: np.ndarray
    latency: np.ndarray
    capacity: np.ndarray
    used: np.ndarray
    wanted: np.ndarray
    share: np.ndarray
    preempted: np.ndarray
    locality: np.ndarray
    wasted: np.ndarray
    ended_s: float = 0.0
    drawn_from: int | None = None
    held: np.ndarray = field(default_factory=lambda: np.zeros((0, R)))
    refused: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    work_before: np.ndarray = field(default_factory=lambda: np.zeros(1))
    lifecycles: int = 0
    rounds: int = 0
    took_s: float = 0.0
    peak_rss_mib: float = 0.0
    waited: Waited | None = None  # where it was asked for
    drained_work: float = 0.0
    emptied: dict[str, float] = field(default_factory=dict)  # sub-clusters that were drained, and when they were empty
    left: dict[str, int] = field(default_factory=dict)  # and how many containers were left there in the end
    notes: list[str] = field(default_factory=list)  # what a reader should know, such as a sample's size
