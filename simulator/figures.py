"""Figures that are worked out of a ``Run``: of the whole run, of each queue and of each user.

j jobs, q queues, u users, p periods, r resources. Times are s; parts are 0 to 1; work
is vcores_milli times s until it is shown, then core hours. What cannot be said
is NaN. ``OVERALL``, ``BY_QUEUE`` and ``BY_USER`` name every figure with its unit; reports
and comparisons show what stands there and know of no other.

**What has not ended.** A job that never started has waited until the run's end,
also where it was given up before: otherwise a policy under which jobs fail at
once would look fast. One that has not ended has taken until then. They count
with these times, which are lower bounds, and ``jobs_unstarted`` and
``jobs_unfinished`` say how many they are. Nothing is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simulator.measures import LATENCY_BOUNDS_S, LOCALITIES, Run
from wire.resources import AXES
from wire.states import JobState

SHORT_RUN_S = 10.0  # shorter jobs count as long as this in slowdowns, or a second's wait of theirs would outweigh all
VCORES = AXES.index("vcores_milli")
CORE_HOUR = 1000.0 * 3600.0  # vcores_milli times s
EPSILON = 1e-9  # what sums of shares may be off by


# --- over time


def period_lengths(run: Run) -> np.ndarray:
    """(p,) s of each period that were simulated: ``period_s``, less for the last; all whole where no end is told."""
    begins = np.arange(len(run.capacity)) * run.period_s
    if run.ended_s <= 0:
        return np.full(len(begins), run.period_s)
    lengths: np.ndarray = np.clip(run.ended_s - begins, 0.0, run.period_s)
    return lengths


def mean_over_time(run: Run, values: np.ndarray) -> np.ndarray:
    """Mean of ``values`` (p, ...) over the periods, by their lengths; NaN is left out, and the mean of nothing."""
    weight = np.reshape(period_lengths(run), (-1,) + (1,) * (values.ndim - 1))
    known = ~np.isnan(values)
    return _ratio((np.where(known, values, 0.0) * weight).sum(axis=0), (known * weight).sum(axis=0))


def utilization_over_time(run: Run) -> np.ndarray:
    """(p, r) part of what was up that was used; NaN where nothing was up."""
    return _ratio(run.used.sum(axis=1), run.capacity)


def utilization(run: Run) -> np.ndarray:
    """(r,) part of all that was up, over the whole run, that was used; NaN of a resource that nobody had."""
    lengths = period_lengths(run)
    return _ratio(lengths @ run.used.sum(axis=1), lengths @ run.capacity)


def held(run: Run) -> np.ndarray:
    """(p, q) part of the whole that each queue held, of the resource it held most of."""
    return _dominant(run.used, run.capacity)


def fairness_error_over_time(run: Run) -> np.ndarray:
    """(p,) part of the whole that was in wrong hands: half the L1 distance of what is held from what is granted.

    Each queue is compared by its dominant parts, where it wanted (held or
    waited for) at least what fairness grants it; one that wanted less is
    wronged by nothing. Half, since what one has too much another lacks. 0 where
    nobody wanted as much, NaN where no share was worked out.
    """
    wanted = _dominant(run.used + run.wanted, run.capacity)
    known = ~np.isnan(run.share) & ~np.isnan(wanted)
    with np.errstate(invalid="ignore"):
        counted = known & (wanted >= run.share - EPSILON)
        error = np.where(counted, np.abs(held(run) - run.share), 0.0).sum(axis=1) / 2
    return np.where(known.any(axis=1), error, np.nan)


def granted_over_time(run: Run) -> np.ndarray:
    """(p, q) ``share``, and 0 for a queue that neither held nor wanted anything."""
    idle = ~(run.used + run.wanted).any(axis=2)
    return np.where(idle, 0.0, run.share)


def lacked_over_time(run: Run) -> np.ndarray:
    """(p, q) part of the whole that a queue was granted, wanted and did not hold; NaN where no share was worked out."""
    due = np.minimum(granted_over_time(run), _dominant(run.used + run.wanted, run.capacity))
    return np.where(np.isnan(due), np.nan, np.maximum(due - held(run), 0.0))


def fairness_error(run: Run) -> float:
    """Mean of ``fairness_error_over_time``; periods without shares are left out."""
    return float(mean_over_time(run, fairness_error_over_time(run)))


def jain_index(run: Run) -> float:
    """Jain's index of held by granted over the queues: 1 when all get the same part of what they are granted.

    Both are means over the periods with shares; queues that were granted nothing are left out.
    """
    shares = granted_over_time(run)
    known, granted = np.where(np.isnan(shares), np.nan, held(run)), mean_over_time(run, shares)
    got = mean_over_time(run, known)[granted > 0] / granted[granted > 0]
    return float(_ratio(got.sum() ** 2, len(got) * (got**2).sum()))


# --- allocation


def percentiles(counts: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Percentiles of binned latencies, s: counts (..., 182), levels (l,) 0 to 1 -> (..., l).

    The true one (the smallest value that at least this part is not above) lies
    in the same bin. So what is said is off by less than a factor of
    10 ** (1/20) = 1.122, and by less than 1 ms in the first bin. Within a bin it
    is interpolated, by the logarithm from the second on. Infinite beyond the
    last bound, NaN of nothing.
    """
    upper = np.append(LATENCY_BOUNDS_S, np.inf)
    lower = np.append(0.0, LATENCY_BOUNDS_S)
    within = np.cumsum(counts, axis=-1)
    total = within[..., -1:]
    rank = np.maximum(np.ceil(np.asarray(levels) * total - EPSILON), 1)  # (..., l), counted from 1
    at = np.minimum((within[..., None, :] < rank[..., :, None]).sum(axis=-1), len(upper) - 1)
    inside = np.take_along_axis(counts, at, axis=-1)
    part = _ratio(rank - 0.5 - (np.take_along_axis(within, at, axis=-1) - inside), inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(at == 0, part * upper[at], lower[at] * (upper[at] / lower[at]) ** part)
    return np.where(total > 0, found, np.nan)


def latency_percentiles(run: Run, levels: Sequence[float] = (0.5, 0.9, 0.99)) -> tuple[np.ndarray, np.ndarray]:
    """From wanting to allocation, s: of all containers (l,), and by queue (q, l); as exact as ``percentiles`` says."""
    return percentiles(run.latency.sum(axis=0), levels), percentiles(run.latency, levels)


def latency_max(counts: np.ndarray) -> np.ndarray:
    """Upper end of the last bin that holds something, s: counts (..., 182) -> (...). Infinite beyond all bounds."""
    upper = np.append(LATENCY_BOUNDS_S, np.inf)
    last = counts.shape[-1] - 1 - np.argmax(counts[..., ::-1] > 0, axis=-1)
    return np.where(counts.sum(axis=-1) > 0, upper[last], np.nan)


def latency_cdf(counts: np.ndarray) -> np.ndarray:
    """Part of the containers allocated within each of ``LATENCY_BOUNDS_S``: counts (182,) -> (181,). Exact there."""
    return _ratio(np.cumsum(counts)[:-1], counts.sum())


def locality_parts(run: Run) -> np.ndarray:
    """(q + 1, 3) parts of the containers with wishes that came to ``LOCALITIES``; the last row is of all queues."""
    counts = np.concatenate((run.locality, run.locality.sum(axis=0, keepdims=True)))
    return _ratio(counts, counts.sum(axis=1, keepdims=True))


# --- jobs


def waits(run: Run) -> np.ndarray:
    """(j,) s from submission to the first container; of those that never started as the module says."""
    return _until(run, run.jobs["started"])


def turnarounds(run: Run) -> np.ndarray:
    """(j,) s from submission to the end; of those that never started or have not ended as the module says."""
    return _until(run, np.where(_never_started(run), np.nan, run.jobs["finished"]))


def slowdowns(run: Run, short_run_s: float = SHORT_RUN_S) -> np.ndarray:
    """(j,) bounded slowdown after Feitelson: max(1, turnaround / max(path, short_run_s)), path the job's critical path.

    A turnaround is no shorter than the wait and the path: of what failed early or
    has not ended this is known at least. Of a rigid job it is Feitelson's own.
    """
    path_s = np.nan_to_num(run.jobs["run_s"])
    taken_s = np.maximum(turnarounds(run), waits(run) + path_s)
    slowed: np.ndarray = np.maximum(1.0, taken_s / np.maximum(path_s, short_run_s))
    return slowed


def makespan(run: Run) -> float:
    """s from the first submission to the last end, or to the run's end where a job has not ended: a lower bound."""
    if not len(run.jobs):
        return float("nan")
    ends = np.where(np.isnan(run.jobs["finished"]), run.ended_s, run.jobs["finished"])
    return float(ends.max() - run.jobs["submitted"].min())


def jobs_by_state(run: Run) -> dict[str, int]:
    """State's name in small letters -> jobs, every state."""
    return {state.name.lower(): int((run.jobs["state"] == state).sum()) for state in JobState}


def per_queue(run: Run, values: np.ndarray, reduce: Callable[[np.ndarray], float]) -> np.ndarray:
    """``reduce`` of the values (j,) of each queue's jobs: (q,). Jobs of no queue (-1) are nobody's."""
    return _reduced(run.jobs["queue"], len(run.queues), values, reduce)


def per_user(run: Run, values: np.ndarray, reduce: Callable[[np.ndarray], float]) -> np.ndarray:
    """``reduce`` of the values (j,) of each user's jobs: (u,)."""
    return _reduced(run.jobs["user"], len(run.users), values, reduce)


def _reduced(owner: np.ndarray, owners: int, values: np.ndarray, reduce: Callable[[np.ndarray], float]) -> np.ndarray:
    """owner: (j,) whose each is, from 0 on."""
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(owners + 1))
    return np.array([reduce(values[order[a:b]]) for a, b in pairwise(bounds)])


# --- work


def work_done(run: Run) -> np.ndarray:
    """(q,) vcores_milli times s that each queue held, whatever came of it."""
    done: np.ndarray = period_lengths(run) @ run.used[:, :, VCORES]
    return done


def wasted_part(run: Run) -> tuple[float, np.ndarray]:
    """Part of the work done that was for attempts that did not succeed: of all, and by queue (q,).

    What tasks that run when it begins had done before is in both, as an attempt is lost from its beginning on.
    """
    done = work_done(run) + run.work_before
    return float(_ratio(run.wasted.sum(), done.sum())), _ratio(run.wasted, done)


def share_of_users(run: Run) -> np.ndarray:
    """(u,) part of all that was up over the whole run that each user held, of the resource it held most of."""
    if not len(run.held):
        return np.full(len(run.users), np.nan)
    found: np.ndarray = _dominant(run.held[None], (period_lengths(run) @ run.capacity)[None])[0]
    return found


# --- all of them by name


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. unit: "s", "part", "count", "core hours" or "" (a ratio). better: "lower", "higher", "" if neither.

    of: the run's value, a float; in ``BY_QUEUE`` one of each queue, (q,); in ``BY_USER`` of each user, (u,).
    """

    title: str
    unit: str
    better: str
    of: Callable[[Run], float | np.ndarray]


@dataclass(frozen=True, slots=True)
class JobFigure:
    """A figure that is a statistic of a column over jobs. So it can be worked out for a sample of them, too."""

    title: str
    unit: str
    better: str
    column: Callable[[Run], np.ndarray]  # -> (j,)
    statistic: str  # a key of STATISTICS


def _quantile(values: np.ndarray, level: float) -> np.ndarray:
    """Between the two that are nearest, as NumPy's default is; of values that are in order, which it need not find."""
    at = (values.shape[-1] - 1) * level
    low, high = values[..., int(at)], values[..., min(int(at) + 1, values.shape[-1] - 1)]
    between: np.ndarray = low + (high - low) * (at - int(at))
    return between


STATISTICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # over the last axis, along which values rise
    "mean": lambda values: values.mean(axis=-1),
    "median": lambda values: _quantile(values, 0.5),
    "p90": lambda values: _quantile(values, 0.9),
    "sum": lambda values: values.sum(axis=-1),
}
_OF_JOBS = (
    ("wait", "_s", "Wait", "s", waits),
    ("slowdown", "", "Bounded slowdown", "", slowdowns),
    ("turnaround", "_s", "Turnaround", "s", turnarounds),
)
_WORDS = {"mean": "mean", "median": "median", "p90": "90th percentile"}
JOB_FIGURES: dict[str, JobFigure] = {
    f"{name}_{statistic}{ending}": JobFigure(f"{title}, {word}", unit, "lower", column, statistic)
    for name, ending, title, unit, column in _OF_JOBS
    for statistic, word in _WORDS.items()
}


def _statistic(figure: JobFigure) -> Callable[[np.ndarray], float]:
    return lambda values: float(STATISTICS[figure.statistic](np.sort(values))) if len(values) else float("nan")


def _whole(figure: JobFigure) -> Figure:
    of = _statistic(figure)
    return Figure(figure.title, figure.unit, figure.better, lambda run: of(figure.column(run)))


def _divided(figure: JobFigure, per: Callable[..., np.ndarray] = per_queue) -> Figure:
    of = _statistic(figure)
    return Figure(figure.title, figure.unit, figure.better, lambda run: per(run, figure.column(run), of))


def _never_started(run: Run) -> np.ndarray:
    missing: np.ndarray = np.isnan(run.jobs["started"])
    return missing


def _never_ended(run: Run) -> np.ndarray:
    missing: np.ndarray = np.isnan(run.jobs["finished"])
    return missing


def _refused(run: Run, column: int, owners: int) -> np.ndarray:
    whose = run.refused[:, column]
    return np.bincount(whose[whose >= 0], minlength=owners).astype(np.float64)


def _in_use(resource: int) -> Callable[[Run], float]:
    return lambda run: float(utilization(run)[resource])


def _came_to(level: int) -> Callable[[Run], float]:
    return lambda run: float(locality_parts(run)[-1, level])


def _came_to_by_queue(level: int) -> Callable[[Run], np.ndarray]:
    return lambda run: locality_parts(run)[:-1, level]


def _all_latency(level: float) -> Callable[[Run], float]:
    return lambda run: float(percentiles(run.latency.sum(axis=0), (level,))[0])


def _each_latency(level: float) -> Callable[[Run], np.ndarray]:
    return lambda run: percentiles(run.latency, (level,))[:, 0]


def _in_state(state: JobState) -> Callable[[Run], float]:
    return lambda run: float((run.jobs["state"] == state).sum())


_LEVELS = {"p50": ("median", 0.5), "p90": ("90th percentile", 0.9), "p99": ("99th percentile", 0.99)}
_PLACES = {"node": "on a node wished for", "rack": "in a rack wished for", "any": "elsewhere"}
OVERALL: dict[str, Figure] = {
    "utilization_memory": Figure("Memory in use", "part", "higher", _in_use(AXES.index("memory_mib"))),
    "utilization_vcores": Figure("Cores in use", "part", "higher", _in_use(VCORES)),
    "utilization_gpus": Figure("GPUs in use", "part", "higher", _in_use(AXES.index("gpus"))),
    **{
        f"latency_{name}_s": Figure(f"Time to allocation, {word}", "s", "lower", _all_latency(level))
        for name, (word, level) in _LEVELS.items()
    },
    "latency_max_s": Figure(
        "Time to allocation, longest", "s", "lower", lambda r: float(latency_max(r.latency.sum(axis=0)))
    ),
    **{name: _whole(figure) for name, figure in JOB_FIGURES.items()},
    "makespan_s": Figure("Makespan", "s", "lower", makespan),
    "fairness_error": Figure("Fairness error", "part", "lower", fairness_error),
    "jain_index": Figure("Jain index of held by granted", "", "higher", jain_index),
    "preemptions": Figure("Preempted containers", "count", "lower", lambda r: float(r.preempted.sum())),
    "wasted_core_hours": Figure("Wasted work", "core hours", "lower", lambda r: float(r.wasted.sum()) / CORE_HOUR),
    "wasted_part": Figure("Wasted part of the work", "part", "lower", lambda r: wasted_part(r)[0]),
    **{
        f"locality_{name}": Figure(f"Containers {_PLACES[name]}", "part", "", _came_to(k))
        for k, name in enumerate(LOCALITIES)
    },
    "jobs": Figure("Jobs submitted", "count", "", lambda r: float(len(r.jobs))),
    "jobs_refused": Figure("Jobs refused by routing", "count", "lower", lambda r: float(len(r.refused))),
    "jobs_unstarted": Figure("Jobs that never started", "count", "lower", lambda r: float(_never_started(r).sum())),
    "jobs_unfinished": Figure("Jobs that have not ended", "count", "lower", lambda r: float(_never_ended(r).sum())),
    "jobs_succeeded": Figure("Jobs succeeded", "count", "higher", _in_state(JobState.SUCCEEDED)),
    "jobs_failed": Figure("Jobs failed", "count", "lower", _in_state(JobState.FAILED)),
    "jobs_killed": Figure("Jobs killed", "count", "", _in_state(JobState.KILLED)),
}
BY_QUEUE: dict[str, Figure] = {
    **{name: _divided(figure) for name, figure in JOB_FIGURES.items()},
    **{
        f"latency_{name}_s": Figure(f"Time to allocation, {word}", "s", "lower", _each_latency(level))
        for name, (word, level) in _LEVELS.items()
    },
    "latency_max_s": Figure("Time to allocation, longest", "s", "lower", lambda r: latency_max(r.latency)),
    "share_held": Figure("Share held", "part", "", lambda r: mean_over_time(r, held(r))),
    "share_granted": Figure("Share granted", "part", "", lambda r: mean_over_time(r, granted_over_time(r))),
    "share_lacked": Figure("Share lacked", "part", "lower", lambda r: mean_over_time(r, lacked_over_time(r))),
    "preemptions": Figure("Preempted containers", "count", "lower", lambda r: r.preempted.astype(np.float64)),
    "wasted_core_hours": Figure("Wasted work", "core hours", "lower", lambda r: r.wasted / CORE_HOUR),
    "wasted_part": Figure("Wasted part of the work", "part", "lower", lambda r: wasted_part(r)[1]),
    **{
        f"locality_{name}": Figure(f"Containers {_PLACES[name]}", "part", "", _came_to_by_queue(k))
        for k, name in enumerate(LOCALITIES)
    },
    "jobs": Figure("Jobs submitted", "count", "", lambda r: per_queue(r, r.jobs["queue"], len)),
    "jobs_refused": Figure("Jobs refused by routing", "count", "lower", lambda r: _refused(r, 0, len(r.queues))),
    "jobs_unstarted": Figure(
        "Jobs that never started", "count", "lower", lambda r: per_queue(r, _never_started(r), np.sum)
    ),
    "jobs_unfinished": Figure(
        "Jobs that have not ended", "count", "lower", lambda r: per_queue(r, _never_ended(r), np.sum)
    ),
}

BY_USER: dict[str, Figure] = {
    **{name: _divided(figure, per_user) for name, figure in JOB_FIGURES.items()},
    "share_held": Figure("Share held", "part", "", share_of_users),
    "preemptions": Figure("Preempted containers", "count", "lower", lambda r: per_user(r, r.jobs["preempted"], np.sum)),
    "wasted_core_hours": Figure(
        "Wasted work", "core hours", "lower", lambda r: per_user(r, r.jobs["lost_work"], np.sum) / CORE_HOUR
    ),
    "jobs": Figure("Jobs submitted", "count", "", lambda r: per_user(r, r.jobs["user"], len)),
    "jobs_refused": Figure("Jobs refused by routing", "count", "lower", lambda r: _refused(r, 1, len(r.users))),
    "jobs_unstarted": Figure(
        "Jobs that never started", "count", "lower", lambda r: per_user(r, _never_started(r), np.sum)
    ),
    "jobs_unfinished": Figure(
        "Jobs that have not ended", "count", "lower", lambda r: per_user(r, _never_ended(r), np.sum)
    ),
}


def overall(run: Run) -> dict[str, float]:
    """Every figure of ``OVERALL``."""
    return {name: float(figure.of(run)) for name, figure in OVERALL.items()}


def by_queue(run: Run) -> dict[str, np.ndarray]:
    """Every figure of ``BY_QUEUE``: (q,) float64 each."""
    return {name: np.asarray(figure.of(run), np.float64) for name, figure in BY_QUEUE.items()}


def by_user(run: Run) -> dict[str, np.ndarray]:
    """Every figure of ``BY_USER``: (u,) float64 each."""
    return {name: np.asarray(figure.of(run), np.float64) for name, figure in BY_USER.items()}


def _until(run: Run, ends: np.ndarray) -> np.ndarray:
    """(j,) s from submission to these ends, NaN standing for the run's end."""
    known: np.ndarray = np.where(np.isnan(ends), run.ended_s, ends)
    passed: np.ndarray = np.maximum(known - run.jobs["submitted"], 0.0)
    return passed


def _dominant(amount: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """The largest part of any resource: amount (p, q, r), capacity (p, r) -> (p, q). NaN where nothing is up."""
    parts = _ratio(amount, capacity[:, None, :])
    known = ~np.isnan(parts)
    return np.where(known.any(axis=2), np.where(known, parts, -np.inf).max(axis=2, initial=-np.inf), np.nan)


def _ratio(a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """a / b, NaN where b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(b) > 0, np.asarray(a) / np.asarray(b), np.nan)
