"""What a drain changes, task by task: who waits who would not have, what is stuck, and when the place is empty."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from controlplane.statestore.models import Job
from simulator.compare import PAIRS, Estimate, origins, over_seeds
from simulator.figures import CORE_HOUR
from simulator.measures import Run, Waited
from simulator.workload import Submission

Json = dict[str, Any]
LISTED, QUEUES_MOST = 100, 300
TASKS, LONGEST_S, ALTOGETHER_S, OPEN = range(4)  # columns of what waits longer by job
FIGURES = ("jobs", "containers", "longer_jobs", "longer_containers", "wait_mean_s", "empty_s", "lost_core_hours")
SUMS = [name not in ("wait_mean_s", "empty_s") for name in FIGURES]  # which are less of a sample
WAITS_S = 1.0  # what waits no longer than this does not count as waiting


@dataclass(frozen=True, slots=True)
class Stuck:
    """A group of a live job, so many containers of which could start nowhere else."""

    job: int
    queue: str
    group: str
    containers: int
    why: str


@dataclass(frozen=True, slots=True)
class Drain:
    """live: so many of the case's submissions, the first, are jobs that are live. never_forecast: jobs that come and
    could start nowhere else. deadline_s: after ``at``, when what still runs there is stopped; None: never. running,
    services: containers that run there, and those of them that are of services. sample: the part of all else."""

    sub_cluster: str
    at: dt.datetime
    deadline_s: float | None
    live: int
    never: list[Stuck]
    never_forecast: int
    running: int
    services: int
    sample: float = 1.0

    def whole(self, count: float) -> int:
        """Of how many so many in the sample stand for."""
        return round(count / self.sample)


@dataclass(frozen=True, slots=True)
class Moved:
    """One seed, (t,) each of tasks. more_s: how much longer it waits; 0 where that does not count. fresh: it would not
    have waited. open: it waits still when the simulation ends."""

    job: np.ndarray
    more_s: np.ndarray
    fresh: np.ndarray
    open: np.ndarray
    jobs: int

    @property
    def tasks(self) -> np.ndarray:
        """Positions of those that wait longer."""
        return np.flatnonzero(self.more_s)

    def figures(self) -> list[float]:
        """Jobs, containers, the same of those that would have waited too, and how much longer all of them wait."""
        at = self.tasks
        fresh = np.unique(self.job[at[self.fresh[at]]])
        longer = np.setdiff1d(self.job[at], fresh)
        new = int(self.fresh[at].sum())
        return [len(fresh), new, len(longer), len(at) - new, float(self.more_s[at].mean()) if len(at) else 0.0]

    def by_job(self) -> np.ndarray:
        """(4, jobs): how many tasks, the longest of their waits, all of these together, and whether any is open.

        TASKS, LONGEST_S, ALTOGETHER_S and OPEN are the rows.
        """
        at, found = self.tasks, np.zeros((4, self.jobs))
        job, more_s = self.job[at], self.more_s[at]
        np.add.at(found[TASKS], job, 1)
        np.maximum.at(found[LONGEST_S], job, more_s)
        np.add.at(found[ALTOGETHER_S], job, more_s)
        np.maximum.at(found[OPEN], job, self.open[at])
        return found


def moved(before: Waited, after: Waited, waits_s: float) -> Moved:
    """The same tasks in two runs."""
    more_s = after.wait_s - before.wait_s
    more_s = np.where(more_s > waits_s, more_s, 0.0)
    return Moved(after.job, more_s, before.wait_s <= waits_s, after.waits, after.jobs)


def of(
    drain: Drain, submitted: Sequence[Submission], runs: Sequence[Run], waits_s: float, seen_s: float, horizon_s: float,
) -> Json:  # fmt: skip
    """What ``simulationshapes.SimulatedDrain`` describes. runs: without the drain, then with it. One query.

    submitted: of runs whose jobs were not drawn anew; those of others only tell how far what is said may be off.
    """
    first = runs[0].policy
    before = {run.seed: run.waited for run in runs if run.policy == first}
    after = [run for run in runs if run.policy != first]
    pairs = [moved(_known(before[run.seed]), _known(run.waited), waits_s) for run in after]
    lost = {run.seed: run.drained_work for run in runs if run.policy == first}  # of what drains already
    lost_core_h = [(run.drained_work - lost[run.seed]) / CORE_HOUR for run in after]
    empty_s = [run.emptied.get(drain.sub_cluster, np.nan) for run in after]
    told = np.array([run.drawn_from is None for run in after])
    empty_s = [np.nan] * len(after) if np.isnan(empty_s)[told].any() else empty_s
    rows = [[*pair.figures(), *more] for pair, *more in zip(pairs, empty_s, lost_core_h, strict=True)]
    values = np.array(rows, np.float64) / np.where(SUMS, drain.sample, 1.0)
    figures = dict(zip(FIGURES, map(_estimate, over_seeds(values, PAIRS, origins(after)).each()), strict=True))
    by_job = np.array([pair.by_job() for pair, as_came in zip(pairs, told, strict=True) if as_came])
    left = np.array([run.left.get(drain.sub_cluster, 0) for run in after])
    return {
        "sub_cluster": drain.sub_cluster,
        "at": drain.at.isoformat(),
        "horizon_s": horizon_s,
        "deadline_s": drain.deadline_s,
        "seen_s": seen_s,
        "waits_s": waits_s,
        "running": drain.running,
        "services": drain.services,
        **figures,
        "left": float(left[told].mean()) / drain.sample,
        **_queues(drain, by_job, submitted),
        **_named(drain, by_job, submitted),
    }


def _known(waited: Waited | None) -> Waited:
    assert waited is not None, "the wait of each task was asked for"
    return waited


def _estimate(e: Estimate) -> Json:
    return {name: None if isinstance(v, float) and not np.isfinite(v) else v for name, v in asdict(e).items()}


def _queues(drain: Drain, by_job: np.ndarray, submitted: Sequence[Submission]) -> Json:
    """by_job: (s, 4, j). Those with the most containers first."""
    sums: dict[str, np.ndarray] = {}
    for j in np.flatnonzero(by_job[:, TASKS].any(axis=0)).tolist():
        tasks = by_job[:, TASKS, j]
        row = np.array([(tasks > 0).sum(), tasks.sum(), by_job[:, ALTOGETHER_S, j].sum()])
        row = row / (len(by_job) * drain.sample)
        sums[submitted[j].queue] = sums.get(submitted[j].queue, 0.0) + row
    found = [
        {"queue": queue, "jobs": jobs, "containers": containers, "wait_s": wait_s / containers}
        for queue, (jobs, containers, wait_s) in ((queue, row.tolist()) for queue, row in sums.items())
    ]
    found.sort(key=lambda row: (-row["containers"], row["queue"]))
    return {"queues": found[:QUEUES_MOST], "total_queues": len(found)}


def _named(drain: Drain, by_job: np.ndarray, submitted: Sequence[Submission]) -> Json:
    """Live jobs by name: who waits longest, and who is stuck."""
    count, wait_s, _, is_open = by_job[:, :, : drain.live].mean(axis=0)
    waiting = np.flatnonzero(count)
    longest = waiting[np.argsort(-wait_s[waiting], kind="stable")][:LISTED].tolist()
    never = drain.never[:LISTED]
    numbers = {submitted[j].number for j in longest} | {each.job for each in never}
    rows = Job.objects.filter(pk__in=numbers).values_list("pk", "name", "owner__username")
    known = {number: {"name": name, "owner": owner} for number, name, owner in rows}
    nobody = {"name": "", "owner": ""}
    return {
        "live": [
            {"job": submitted[j].number, **known.get(submitted[j].number, nobody), "queue": submitted[j].queue,
             "containers": float(count[j]), "wait_s": float(wait_s[j]), "open": bool(is_open[j])}
            for j in longest
        ],
        "total_live": drain.whole(len(waiting)),
        "never": [asdict(each) | known.get(each.job, nobody) for each in never],
        "total_never": drain.whole(len(drain.never)),
        "never_jobs": drain.whole(len({each.job for each in drain.never})),
        "never_forecast": drain.whole(drain.never_forecast),
    }  # fmt: skip
