"""Policies beside one another: every figure with its interval, and what changes against the first policy.

Where a policy ran with several seeds, 95 % intervals are Student's t over
seeds. Changes are paired by seed where two seeds or more are the same, and
Welch's where they are not.

Runs whose jobs were drawn anew from another run's (``Run.drawn_from``) are no
further observations: a bootstrap's replicates scatter about what was recorded
as that scatters about the truth, so their spread is the standard error already,
and more of them only make it better known. Then the value is the mean of the m
runs that were not drawn anew, and the interval t(n - 1) · s / √m with s the
spread of all n runs: of each one drawn anew about the run it was drawn from, of
the others about their mean. Where none was drawn anew m is n, as usual.

With one seed nothing is known of how another would turn out. Then figures that
are statistics over jobs get a percentile bootstrap over jobs, paired job by
job; it says that it is over jobs, and since jobs of a run hold one another up
it is rather too narrow. Other figures get none. No figure is below 0 and no part
above the whole, so no interval of a value goes further either.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator import toldusers
from simulator.figures import (
    BY_QUEUE,
    BY_USER,
    CORE_HOUR,
    JOB_FIGURES,
    OVERALL,
    STATISTICS,
    by_queue,
    by_user,
    overall,
    slowdowns,
    turnarounds,
    waits,
)
from simulator.measures import Run

SEEDS, PAIRS, JOBS, JOB_PAIRS, NOTHING = "seeds", "pairs of seeds", "jobs", "pairs of jobs", ""
JOBS_MIN = 10  # of fewer a bootstrap says nothing
SAMPLES = (200, 1000)  # least and most samples of a bootstrap
JOBS_MAX = 10_000  # in a sample; smaller ones than what they are from scatter more, by a root that is known
DRAWN_MAX = 2_000_000  # jobs in all samples together
AT_ONCE = 1 << 21  # values drawn at a time, which bounds the memory
SEED = 20_190_226  # of bootstraps: the same runs give the same intervals
# Student's t, 97.5 %, by degrees of freedom from 1; as in any book.
_T = np.array([
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
])  # fmt: skip
_Z = 1.959964
# Columns over jobs, and what is a statistic of which.
_COLUMNS: dict[str, Callable[[Run], np.ndarray]] = {
    "wait": waits,
    "slowdown": slowdowns,
    "turnaround": turnarounds,
    "preempted": lambda run: run.jobs["preempted"],
    "lost": lambda run: run.jobs["lost_work"] / CORE_HOUR,
}
_STATISTICS_OF: dict[str, dict[str, str]] = {  # column -> figure -> key of STATISTICS
    **{
        c: {name: f.statistic for name, f in JOB_FIGURES.items() if f.column is _COLUMNS[c]} for c in list(_COLUMNS)[:3]
    },
    "preempted": {"preemptions": "sum"},
    "lost": {"wasted_core_hours": "sum"},
}
RESAMPLED = [name for figures in _STATISTICS_OF.values() for name in figures]  # figures that can have such intervals


QUEUES, USERS = "queue", "user"  # a job's columns of whose it is


class Incomparable(ValueError):
    """These runs cannot be put beside one another."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95 % interval. over: what the interval is over, one of the names above. count: how many of them.

    low, high: NaN without an interval (``over`` is "").
    """

    value: float
    low: float
    high: float
    over: str
    count: int

    @property
    def clear(self) -> bool:
        """Of a change: whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of one policy. change: value minus the first policy's, None of the first policy itself."""

    value: Estimate
    change: Estimate | None


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """Keys of ``BY_QUEUE`` -> figure."""

    queue: str
    figures: dict[str, ComparedFigure]


@dataclass(frozen=True, slots=True)
class UserFigures:
    """Keys of ``BY_USER`` -> figure."""

    user: str
    figures: dict[str, ComparedFigure]


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """Keys of ``OVERALL`` -> figure, and the same by queue and by user."""

    policy: str
    seeds: list[int]
    figures: dict[str, ComparedFigure]
    queues: list[QueueFigures]
    users: list[UserFigures]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Policies in the order they came; the first is what the others are compared to.

    users: as ``toldusers`` chooses and orders them. total_users: how many there are.
    """

    workload: str
    baseline: str
    queues: list[str]
    users: list[str]
    total_users: int
    policies: list[PolicyFigures]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Side:
    """One policy. runs: by seed. values: (s, k) every figure of every run in the order of ``_names``."""

    policy: str
    runs: dict[int, Run]
    values: np.ndarray


@dataclass(slots=True)
class Estimates:
    """k estimates at once: (k,) each, over as in ``Estimate``."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    over: list[str]
    count: np.ndarray

    def each(self) -> list[Estimate]:
        columns = (self.value.tolist(), self.low.tolist(), self.high.tolist(), self.over, self.count.tolist())
        return [Estimate(*row) for row in zip(*columns, strict=True)]


def compare(runs: Sequence[Run]) -> Comparison:
    """N policies, each with its seeds, of one workload, to the first. Queues and users are matched by name."""
    queues = list(dict.fromkeys(name for run in runs for name in run.queues))
    runs, users, total_users = toldusers.few(runs)
    parts = _Parts(queues, users)
    sides = _sides(runs, parts)
    found = [_policy(side, sides[0], parts) for side in sides]
    notes = _notes(sides)
    if total_users > len(users):
        notes.append(
            f"Of {total_users:,} users {len(users) - 1} are told one by one, those with the most work and those whose "
            "waits change most; the others are summed."
        )
    return Comparison(runs[0].workload, sides[0].policy, queues, users, total_users, found, notes)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Whose figures are kept beside those of all, and in which order."""

    queues: list[str]
    users: list[str]

    def names(self) -> list[tuple[str, str, str]]:
        """(column, name, figure) of all figures of a run, those of all jobs with "" first."""
        found = [("", "", figure) for figure in OVERALL]
        found += [(QUEUES, queue, figure) for queue in self.queues for figure in BY_QUEUE]
        return found + [(USERS, user, figure) for user in self.users for figure in BY_USER]

    def most(self) -> np.ndarray:
        """(k,) what each of these figures comes to at most: a part to the whole."""
        of = {"": OVERALL, QUEUES: BY_QUEUE, USERS: BY_USER}
        return np.array([1.0 if of[column][figure].unit == "part" else np.inf for column, _, figure in self.names()])


def t_quantile(freedom: np.ndarray) -> np.ndarray:
    """97.5 % quantile of Student's t for degrees of freedom >= 1, rounded down: rather too wide than too narrow.

    Beyond the table by Cornish and Fisher's expansion, to four digits.
    """
    whole = np.floor(np.maximum(freedom, 1.0) + 1e-9)
    far = _Z + (_Z**3 + _Z) / (4 * whole) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * whole**2)
    found: np.ndarray = np.where(whole <= len(_T), _T[np.minimum(whole, len(_T)).astype(int) - 1], far)
    return found


def _sides(runs: Sequence[Run], parts: _Parts) -> list[_Side]:
    if not runs:
        raise Incomparable("there are no runs")
    if len(workloads := {run.workload for run in runs}) > 1:
        raise Incomparable(f"these runs are of different workloads: {', '.join(sorted(workloads))}")
    by_policy: dict[str, dict[int, Run]] = {}
    for run in runs:
        seeds = by_policy.setdefault(run.policy, {})
        if run.seed in seeds:
            raise Incomparable(f"policy {run.policy} ran twice with seed {run.seed}")
        seeds[run.seed] = run
    for policy, seeds in by_policy.items():
        if not {run.drawn_from for run in seeds.values()} <= {None, *seeds}:
            raise Incomparable(f"policy {policy} lacks a run from whose jobs those of another were drawn")
    return [
        _Side(policy, seeds, np.array([_measure(run, parts) for run in seeds.values()]))
        for policy, seeds in by_policy.items()
    ]


def _measure(run: Run, parts: _Parts) -> np.ndarray:
    """(k,) every figure of a run; NaN of queues and users it does not have."""
    queues = _placed(by_queue(run), run.queues, parts.queues)
    users = _placed(by_user(run), run.users, parts.users)
    return np.concatenate((list(overall(run).values()), queues, users))


def _placed(figures: dict[str, np.ndarray], own: list[str], wanted: list[str]) -> np.ndarray:
    """Figures of a run's own queues or users, in the order of those that are wanted."""
    each = np.full((len(wanted), len(figures)), np.nan)
    place = {name: at for at, name in enumerate(wanted)}
    rows = [at for at, name in enumerate(own) if name in place]
    columns = np.array(list(figures.values())).reshape(len(figures), -1)
    each[[place[own[at]] for at in rows]] = columns.T[rows]
    return each.ravel()


def _policy(side: _Side, first: _Side, parts: _Parts) -> PolicyFigures:
    own = over_seeds(side.values, SEEDS, origins(list(side.runs.values())))
    change = None if side is first else _change(side, first)
    alone = len(side.runs) == 1
    unsure = change is not None and not any(change.over)
    if alone or unsure:
        shared = [seed for seed in side.runs if unsure and seed in first.runs]
        run = side.runs[shared[0]] if shared else next(iter(side.runs.values()))
        other = first.runs[shared[0]] if shared else None
        _over_jobs(own if alone else None, change if unsure else None, run, other, parts)
    own.low = np.maximum(own.low, 0.0)
    own.high = np.minimum(own.high, np.maximum(parts.most(), own.value))
    changes = change.each() if change is not None else [None] * len(own.value)
    found = [ComparedFigure(*pair) for pair in zip(own.each(), changes, strict=True)]
    of: dict[tuple[str, str], dict[str, ComparedFigure]] = {}
    for (column, name, figure), each in zip(parts.names(), found, strict=True):
        of.setdefault((column, name), {})[figure] = each
    queues = [QueueFigures(name, of[QUEUES, name]) for name in parts.queues]
    users = [UserFigures(name, of[USERS, name]) for name in parts.users]
    return PolicyFigures(side.policy, list(side.runs), of["", ""], queues, users)


# --- over seeds


def over_seeds(values: np.ndarray, over: str, origins: np.ndarray | None = None) -> Estimates:
    """Mean over the first axis with Student's t; NaN is left out, and one value has no interval. values: (s, k).

    origins: (s,) row from whose jobs each one's were drawn, its own where they
    were not; None: none was drawn anew.
    """
    mean, error, count = _moments(values, origins)
    return _estimates(mean, t_quantile(count - 1) * np.sqrt(error), count, over)


def origins(runs: Sequence[Run]) -> np.ndarray:
    """(s,) as ``over_seeds`` wants them."""
    rows = {run.seed: row for row, run in enumerate(runs)}
    return np.array([rows[_origin(run)] for run in runs])


def _origin(run: Run) -> int:
    """The seed of the run from whose jobs its own were drawn: its own where they were not."""
    return run.seed if run.drawn_from is None else run.drawn_from


def _change(side: _Side, first: _Side) -> Estimates:
    """What this policy's figures are above the first one's, paired by seed where seeds are shared."""
    shared = [seed for seed, run in side.runs.items() if {seed, _origin(run)} <= first.runs.keys()]
    several = len(side.runs) > 1 and len(first.runs) > 1
    if shared and not (several and len(shared) == 1):
        rows = [list(side.runs).index(seed) for seed in shared], [list(first.runs).index(seed) for seed in shared]
        drawn = origins([side.runs[seed] for seed in shared])
        return over_seeds(_less(side.values[rows[0]], first.values[rows[1]]), PAIRS, drawn)
    (mean, a, count), (mean_0, b, count_0) = (
        _moments(each.values, origins(list(each.runs.values()))) for each in (side, first)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.nan_to_num((a + b) ** 2 / (a**2 / (count - 1) + b**2 / (count_0 - 1)), nan=1.0)
        return _estimates(_less(mean, mean_0), t_quantile(freedom) * np.sqrt(a + b), np.minimum(count, count_0), SEEDS)


def _less(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b, 0 where rounding alone differs, since without scatter even that would look clear; NaN of two endless."""
    with np.errstate(invalid="ignore"):
        found: np.ndarray = np.where(np.isfinite(b) & (np.abs(a - b) <= 1e-12 * np.abs(b)), 0.0, a - b)
    return found


def _moments(values: np.ndarray, origins: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of what was not drawn anew, its squared standard error, and how many are known: (s, k) -> (k,) each."""
    rows = np.arange(len(values))
    origins = rows if origins is None else origins
    given = (origins == rows)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = given & ~np.isnan(values)
        mean = np.where(own, values, 0.0).sum(axis=0) / own.sum(axis=0)
        center = np.where(given, mean, values[origins])
        known = ~np.isnan(values) & ~np.isnan(center)
        count = known.sum(axis=0)
        off = np.where(known, values - center, 0.0)
        return mean, (off**2).sum(axis=0) / (count - 1) / own.sum(axis=0), count


def _estimates(value: np.ndarray, half: np.ndarray, count: np.ndarray, over: str) -> Estimates:
    """half: (k,) of the interval; there is none where it is not finite or fewer than two are known."""
    half = np.where((count > 1) & np.isfinite(half), half, np.nan)
    low, high = value - half, value + half
    return Estimates(value, low, high, [over if known else NOTHING for known in ~np.isnan(low)], count)


# --- over jobs


def _over_jobs(own: Estimates | None, change: Estimates | None, run: Run, other: Run | None, parts: _Parts) -> None:
    """Put bootstrap intervals into those estimates that are statistics over jobs."""
    rng = np.random.default_rng(SEED)
    places = {name: k for k, name in enumerate(parts.names())}
    rows = _aligned(run, other) if other is not None else None
    mine = rows[0] if rows is not None else np.arange(len(run.jobs))
    columns = _columns(run)[:, mine]
    if rows is not None and other is not None:
        columns = np.concatenate((columns, _columns(other)[:, rows[1]]))
    for column, name, chosen in _chosen(run, parts, mine):
        part = columns[:, chosen]
        if part.shape[1] < JOBS_MIN:
            continue
        truth, samples = _resample(part, rng)
        at = [places[column, name, figure] for figure in RESAMPLED]
        half = len(at)
        if own is not None:
            _put(own, at, truth[:half], samples[:, :half], JOBS, part.shape[1])
        if change is not None and rows is not None:
            changed = _less(samples[:, :half], samples[:, half:])
            _put(change, at, _less(truth[:half], truth[half:]), changed, JOB_PAIRS, part.shape[1])


def _chosen(run: Run, parts: _Parts, mine: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """(column, name, which of the jobs ``mine`` (m,)): all, then each queue's and each user's."""
    yield "", "", np.arange(len(mine))
    for column, own, wanted in ((QUEUES, run.queues, parts.queues), (USERS, run.users, parts.users)):
        of, kept = run.jobs[column][mine], set(wanted)
        for at, name in enumerate(own):
            if name in kept:
                yield column, name, np.flatnonzero(of == at)


def _columns(run: Run) -> np.ndarray:
    """(c, j) in the order of ``_COLUMNS``."""
    return np.array([column(run) for column in _COLUMNS.values()], np.float64)


def _aligned(run: Run, other: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of the same jobs in both runs: by number if these tell jobs apart, else by what was submitted when."""
    a, b = run.jobs, other.jobs
    if len(a) != len(b):
        return None
    i, k = np.argsort(a["number"], kind="stable"), np.argsort(b["number"], kind="stable")
    numbers = a["number"][i]
    if np.array_equal(numbers, b["number"][k]) and (np.diff(numbers) > 0).all():
        return i, k
    return (np.arange(len(a)), np.arange(len(b))) if np.array_equal(a["submitted"], b["submitted"]) else None


def _resample(columns: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Figures of ``RESAMPLED`` of all jobs, and of samples drawn with replacement, each the same jobs in all columns.

    columns: (c, j), or (2c, j) of two runs -> (f or 2f,) and (samples, f or 2f).
    """
    jobs = columns.shape[1]
    size = min(jobs, JOBS_MAX)
    samples = int(np.clip(DRAWN_MAX // size, *SAMPLES))
    step = max(1, AT_ONCE // size)
    found = []
    for begin in range(0, samples, step):
        drawn = rng.integers(jobs, size=(min(step, samples - begin), size))
        found.append(np.stack([values for column in _each(columns) for values in _statistics(*column, drawn)], axis=1))
    whole = np.arange(jobs)
    truth = np.array([values for column in _each(columns) for values in _statistics(*column, whole)])
    grown = [jobs / size if name == "sum" else 1.0 for _, wanted in _each(columns) for name in wanted]
    return truth, truth + (np.concatenate(found) * grown - truth) * (size / jobs) ** 0.5


def _each(columns: np.ndarray) -> list[tuple[np.ndarray, list[str]]]:
    """Every column (j,) with the statistics that are wanted of it."""
    wanted = [list(figures.values()) for figures in _STATISTICS_OF.values()]
    return list(zip(columns, wanted * (len(columns) // len(wanted)), strict=True))


def _statistics(column: np.ndarray, wanted: list[str], drawn: np.ndarray) -> list[np.ndarray]:
    """Of samples (..., j): (...,) each."""
    values = column[drawn]
    if wanted != ["sum"]:
        values.sort(axis=-1)
    return [STATISTICS[name](values) for name in wanted]


def _put(into: Estimates, at: list[int], truth: np.ndarray, samples: np.ndarray, over: str, jobs: int) -> None:
    """Intervals from samples (n, f), where the figure is what its jobs say: (f,) ``truth``. at: (f,) places."""
    low, high = np.percentile(samples, (2.5, 97.5), axis=0)
    for f, k in enumerate(at):
        if np.isclose(into.value[k], truth[f]):
            into.low[k], into.high[k], into.over[k], into.count[k] = low[f], high[f], over, jobs


# --- words


def _notes(sides: list[_Side]) -> list[str]:
    """What a reader has to know of these runs' intervals and of what had not ended."""
    notes = []
    if min(len(side.runs) for side in sides) == 1:
        notes.append(
            "Some policies ran with one seed. Their intervals are a bootstrap over jobs, not over seeds: they say how "
            "much a figure hangs on single jobs, not how another seed would turn out, and they are rather too narrow."
        )
    for side in sides:
        counts = side.values[:, [list(OVERALL).index(name) for name in ("jobs", "jobs_unfinished", "jobs_unstarted")]]
        jobs, unfinished, unstarted = counts.sum(axis=0).astype(int).tolist()
        if unfinished or unstarted:
            runs = f"in its {len(side.runs)} runs together " if len(side.runs) > 1 else ""
            notes.append(
                f"{side.policy}: {runs}{unfinished:,} of {jobs:,} jobs had not ended when their run did, and "
                f"{unstarted:,} never started. They count with the time until the run's end, which is a lower bound."
            )
    for side in sides:
        for seed, run in side.runs.items():
            notes += [f"{side.policy}, seed {seed}: {note}" for note in run.notes]
    return notes
