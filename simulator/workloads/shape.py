"""How drawn jobs are distributed: the parameters of ``synthetic``, with its bounds, and the curves behind them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from simulator.workloads.source import one_of

DAY_S = 86_400.0
JOBS_PER_HOUR = 208.0
ESTIMATES = ("exact", "factor", "lognormal", "none")
COUNTED = 1000  # sizes whose chances are added up one by one, where rounding matters
# Least and most of each number; what must be above its least stands in ABOVE.
BOUNDS: dict[str, tuple[float, float]] = {
    "horizon_s": (0, 1e9), "jobs_per_hour": (0, 1e9), "containers": (0, 1 << 50), "diurnal": (0, 1), "peak_h": (0, 24),
    "queues": (1, 20_000), "queue_skew": (0, 10), "users_per_queue": (1, 1_000_000), "user_skew": (0, 10),
    "priorities": (1, 500), "local_share": (0, 1), "home_skew": (0, 10), "wishes": (0, 100),
    "tasks_median": (1, 1e7), "tasks_mean": (1, 1e7), "tasks_most": (1, 10_000_000), "short_s": (0, 1e9),
    "short_share": (0, 1), "mean_s": (0, 1e9), "alike": (0, 1), "shortest_s": (0, 1e9), "longest_s": (0, 1e9),
    "estimate_factor": (0, 1e6), "estimate_sigma": (0, 10), "failing": (0, 1), "gang_share": (0, 1),
    "gang_most": (1, 10_000_000),
}  # fmt: skip
ABOVE = ("horizon_s", "short_s", "short_share", "mean_s", "shortest_s", "longest_s", "estimate_factor")
WHOLE = (
    "containers", "queues", "users_per_queue", "priorities", "wishes", "tasks_most", "gang_most",
)  # fmt: skip


@dataclass(frozen=True)
class WorkloadShape:
    """What is drawn; where the defaults come from is told in ``synthetic``. Parts of one, and exponents of Zipf's law.

    Either ``jobs_per_hour`` come until ``horizon_s``, or jobs come until they
    have ``containers`` in all, the last one cut to fit, at a rate that leads to
    this at about ``horizon_s``. 0 of both: 208 jobs an hour. Time 0 is midnight.
    leaves: paths of leaf queues, the most wanted first, in place of ``queues``
    called root.q00001 and so on. sub_clusters: names, each with the nodes that
    jobs may name as near to their data; a part ``local_share`` of the jobs has
    its home and ``wishes`` nodes in one of them, and each queue has its own
    order of preference. tasks_median, tasks_mean: of a job, before the cut at
    ``tasks_most``. short_share of all tasks run less than ``short_s``, all of
    them ``mean_s`` on average; ``alike`` is how much of that curve's variance
    the tasks of a job have in common. bundles: (memory_mib, vcores_milli,
    weight). estimates: what submitters say of the longest task: its run time
    (``exact``), times ``estimate_factor`` (``factor``), that times a log-normal
    error of median 1 (``lognormal``), or nothing (``none``). failing: part of
    the tasks whose first attempt fails. gang_share: of the jobs of up to
    ``gang_most`` tasks.
    """

    horizon_s: float = DAY_S
    jobs_per_hour: float = 0.0
    containers: int = 0
    diurnal: float = 0.3  # how far the rate rises above its mean and falls below
    peak_h: float = 14.0
    queues: int = 20
    leaves: tuple[str, ...] = ()
    queue_skew: float = 1.0
    users_per_queue: int = 2
    user_skew: float = 1.0
    priorities: int = 10
    sub_clusters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    local_share: float = 1.0
    home_skew: float = 1.0
    wishes: int = 3
    tasks_median: float = 20.0
    tasks_mean: float = 200.0
    tasks_most: int = 10_000
    short_s: float = 10.0
    short_share: float = 0.6
    mean_s: float = 39.6
    alike: float = 0.5
    shortest_s: float = 0.1
    longest_s: float = DAY_S
    bundles: tuple[tuple[int, int, float], ...] = ((2048, 1000, 0.5), (4096, 2000, 0.4), (8192, 2000, 0.1))
    estimates: str = "exact"
    estimate_factor: float = 2.0
    estimate_sigma: float = 0.5
    failing: float = 0.0
    gang_share: float = 0.0
    gang_most: int = 100

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            _check(name, getattr(self, name), least, most)
        one_of("estimates", self.estimates, ESTIMATES)
        if self.jobs_per_hour and self.containers:
            raise ValueError("jobs_per_hour: containers is given too; give one of them")
        if self.tasks_mean < self.tasks_median:
            raise ValueError(
                f"tasks_mean: {self.tasks_mean:g} is below tasks_median; give {self.tasks_median:g} or more"
            )
        if self.longest_s < self.shortest_s:
            raise ValueError(f"longest_s: {self.longest_s:g} is below shortest_s; give {self.shortest_s:g} or more")
        if not self.bundles or any(len(b) != 3 or min(b) <= 0 for b in self.bundles):
            raise ValueError("bundles: give at least one of (memory_mib, vcores_milli, weight), all above 0")
        self._check_leaves()
        Durations.of(self)

    def _check_leaves(self) -> None:
        above = {path[:i] for path in self.leaves for i, letter in enumerate(path) if letter == "."}
        for path, times in Counter(self.leaves).items():
            if not path.startswith("root.") or path in above or times > 1:
                raise ValueError(f"leaves: {path!r} is no leaf of its own; give paths such as root.prod.etl, once each")

    def leaf_queues(self) -> tuple[str, ...]:
        return self.leaves or tuple(f"root.q{i:05}" for i in range(1, self.queues + 1))

    def jobs_per_s(self) -> float:
        """On an average day; where containers are told, on average until the horizon."""
        if self.containers:
            return self.containers / Sizes.of(self).mean() / self.horizon_s / mean_day_factor(self)
        return (self.jobs_per_hour or JOBS_PER_HOUR) / 3600


def _check(name: str, value: object, least: float, most: float) -> None:
    kind = int if name in WHOLE else (int, float)
    words = f"{'above' if name in ABOVE else 'from'} {least:g} {'up ' if name in ABOVE else ''}to {most:g}"
    fits = isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most
    if not fits or (name in ABOVE and value == least):
        raise ValueError(f"{name}: {value!r} does not fit; give a {'whole ' * (name in WHOLE)}number {words}")


@dataclass(frozen=True, slots=True)
class Durations:
    """Of tasks: log-normal over all jobs; ``alike`` of the logarithm's variance is common to the tasks of a job."""

    mu: float
    sigma: float
    alike: float
    least_s: float
    most_s: float

    @classmethod
    def of(cls, shape: WorkloadShape) -> "Durations":
        """The curve with the mean ``mean_s`` on which ``short_share`` lies below ``short_s``.

        With z the share's quantile of the normal distribution, mu = ln short_s -
        z sigma, and ln mean_s = mu + sigma^2 / 2: a square equation for sigma.
        """
        z = NormalDist().inv_cdf(min(shape.short_share, 1 - 1e-12))
        inside = z * z + 2 * math.log(shape.mean_s / shape.short_s)
        sigma = z + math.sqrt(max(inside, 0.0))
        if inside < 0 or sigma < 0:
            raise ValueError(
                f"mean_s: no log-normal curve with {shape.short_share:g} below {shape.short_s:g} s has the mean "
                f"{shape.mean_s:g} s; give a larger one, or a larger short_share"
            )
        return cls(math.log(shape.short_s) - z * sigma, sigma, shape.alike, shape.shortest_s, shape.longest_s)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Of one job's tasks: (count,) float64 s."""
        common, own = rng.standard_normal(), rng.standard_normal(count)
        spread = math.sqrt(self.alike) * common + math.sqrt(1 - self.alike) * own
        return np.clip(np.exp(self.mu + self.sigma * spread), self.least_s, self.most_s)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tasks of a job: log-normal, rounded, from 1 to ``most``."""

    mu: float
    sigma: float
    most: int

    @classmethod
    def of(cls, shape: WorkloadShape) -> "Sizes":
        sigma = math.sqrt(2 * math.log(shape.tasks_mean / shape.tasks_median))
        return cls(math.log(shape.tasks_median), sigma, shape.tasks_most)

    def draw(self, rng: np.random.Generator) -> int:
        drawn = math.exp(min(self.mu + self.sigma * rng.standard_normal(), 40.0))
        return min(max(round(drawn), 1), self.most)

    def mean(self) -> float:
        """With rounding and the cut: the chances of at least 1, 2, .. tasks added up."""
        counted = min(COUNTED, self.most)
        found = 1 + sum(self._at_least(n - 0.5) for n in range(2, counted + 1))
        return found + self._cut_mean(self.most) - self._cut_mean(counted)

    def _at_least(self, x: float) -> float:
        if not self.sigma:
            return float(math.log(x) <= self.mu)
        return 0.5 * math.erfc((math.log(x) - self.mu) / self.sigma / math.sqrt(2))

    def _cut_mean(self, most: float) -> float:
        """Mean of the curve where what lies above ``most`` counts as that."""
        if not self.sigma:
            return min(math.exp(self.mu), most)
        below = 0.5 * math.erfc((self.mu + self.sigma**2 - math.log(most)) / self.sigma / math.sqrt(2))
        return math.exp(self.mu + self.sigma**2 / 2) * below + most * self._at_least(most)


def zipf(count: int, skew: float) -> np.ndarray:
    """(count,) parts of one, falling with the position to the power of ``skew``; even where that is 0."""
    weights = np.power(np.arange(1, count + 1, dtype=np.float64), -skew)
    return np.asarray(weights / weights.sum())


def day_factor(shape: WorkloadShape, at_s: float) -> float:
    """The rate at a time, over that of an average day."""
    return 1 + shape.diurnal * math.cos(2 * math.pi * (at_s / DAY_S - shape.peak_h / 24))


def mean_day_factor(shape: WorkloadShape) -> float:
    """``day_factor`` on average from 0 until the horizon."""
    turns, peak = shape.horizon_s / DAY_S, shape.peak_h / 24
    waves = math.sin(2 * math.pi * (turns - peak)) + math.sin(2 * math.pi * peak)
    return 1 + shape.diurnal * waves / (2 * math.pi * turns)
