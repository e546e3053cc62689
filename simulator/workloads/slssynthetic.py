"""The synthetic format of YARN's Scheduler Load Simulator: jobs drawn from the distributions of a file.

Source: Apache Hadoop 3.2, ``SynthTraceJobProducer`` and ``SynthJob``, in both
spellings: one field per parameter (``mtasks_avg``) and lists of tasks with
samples (``{"val": 5, "std": 1}``). As there: a workload is drawn by weight, in
it the time by weight (evenly up to the next time) and the class by weight; a
sample without ``std`` is constant, else log-normal (or ``dist: NORM``) with that
mean and deviation, a deviation of 0 meaning a sixth of the mean, or one of the
values in ``discrete``; memory is at least 1,024 MiB and there is at least one
core. The draws are those of NumPy's generator of ``rand_seed``: the same jobs
each time, but not the very jobs that Java would draw.

Times are in seconds. Tasks of jobs of the type ``stream`` run as long as the
job's duration, as its master keeps them running; all others as long as theirs,
at least one second (our own bound, for tasks that round to 0).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from simulator.workload import SubmittedGroup
from simulator.workloads.files import Record

SYNTHETIC = "workloads"
LEAST_MIB, LEAST_CORES, LEAST_S = 1024, 1, 1.0
MOST_TASKS = MOST_JOBS = 10_000_000  # of a job; in all
Draw = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A job, and (name, MiB, cores, seconds of each task) of its groups."""

    at_s: float
    queue: str
    user: str
    number: int
    shapes: tuple[tuple[str, int, int, np.ndarray], ...]

    def groups(self, exact: bool) -> tuple[SubmittedGroup, ...]:
        """exact: a group's estimate is its longest task; else there is none."""
        names = [name for name, *_ in self.shapes]
        return tuple(
            SubmittedGroup(
                count=len(run_s),
                memory_mib=mib,
                vcores_milli=1000 * cores,
                run_s=run_s,
                name=name,
                estimate_s=float(run_s.max()) if exact else 0.0,
                after=("map",) if name == "reduce" and "map" in names else (),
            )
            for name, mib, cores, run_s in self.shapes
        )


@dataclass(frozen=True, slots=True)
class _Task:
    name: str
    count: Draw
    time_s: Draw
    memory_mib: Draw
    cores: Draw


@dataclass(frozen=True, slots=True)
class _Class:
    user: str
    stream: bool
    duration_s: Draw
    tasks: tuple[_Task, ...]


@dataclass(frozen=True, slots=True)
class _Workload:
    """times: (t,) seconds, each with a weight. classes: likewise."""

    queue: str
    times: tuple[int, ...]
    time_weights: tuple[float, ...]
    classes: tuple[_Class, ...]
    class_weights: tuple[float, ...]


def synthetic_jobs(trace: Record) -> Iterator[Drawn]:
    """The jobs in order of time. When each comes is drawn first, 16 bytes a job; the jobs one by one."""
    rng = np.random.default_rng(trace.whole("rand_seed", 0, 0))
    workloads = tuple(_workload(w, rng) for w in trace.inner(SYNTHETIC))
    weights = tuple(w.number("workload_weight", least=0.0) for w in trace.inner(SYNTHETIC))
    _weighed(trace, SYNTHETIC, weights)
    jobs = trace.whole("num_jobs", least=0, most=MOST_JOBS)
    which = np.array([_weighted(weights, rng) for _ in range(jobs)], np.int32)
    at = np.array([_time(workloads[w], rng) for w in which], np.int64)
    for number, i in enumerate(np.argsort(at, kind="stable").tolist()):
        chosen = workloads[which[i]]
        of = chosen.classes[_weighted(chosen.class_weights, rng)]
        shapes = tuple(_shapes(of))
        if shapes:
            yield Drawn(float(at[i]), chosen.queue, of.user, number, shapes)


def _shapes(of: _Class) -> Iterator[tuple[str, int, int, np.ndarray]]:
    duration_s = of.duration_s()
    for task in of.tasks:
        count = min(_whole(task.count()), MOST_TASKS)
        if count < 1:
            continue
        mib = max(_whole(task.memory_mib()), LEAST_MIB)
        cores = max(_whole(task.cores()), LEAST_CORES)
        run_s = [duration_s] * count if of.stream else [task.time_s() for _ in range(count)]
        yield task.name, mib, cores, np.maximum(np.floor(np.array(run_s) + 0.5), LEAST_S)


def _whole(value: float) -> int:
    """Rounded as Java does, halves upwards."""
    return math.floor(value + 0.5)


def _weighted(weights: tuple[float, ...], rng: np.random.Generator) -> int:
    place = float(rng.random()) * sum(weights)
    for i, weight in enumerate(weights):
        place -= weight
        if place < 0:
            return i
    return max(i for i, weight in enumerate(weights) if weight > 0)


def _time(of: _Workload, rng: np.random.Generator) -> int:
    i = _weighted(of.time_weights, rng)
    start, end = of.times[i], of.times[min(i + 1, len(of.times) - 1)]
    return start + int(rng.integers(end - start)) if end > start else start


# --- reading


def _workload(of: Record, rng: np.random.Generator) -> _Workload:
    times, classes = list(of.inner("time_distribution")), list(of.inner("job_classes"))
    # A time without a weight is in the format's own documentation.
    found = _Workload(
        queue=of.text("queue_name"),
        times=tuple(t.whole("time", least=0) for t in times),
        time_weights=tuple(t.number("weight", 0.0, 0.0) for t in times),
        classes=tuple(_class(c, rng) for c in classes),
        class_weights=tuple(c.number("class_weight", least=0.0) for c in classes),
    )
    _weighed(of, "time_distribution", found.time_weights)
    _weighed(of, "job_classes", found.class_weights)
    return found


def _weighed(of: Record, field: str, weights: tuple[float, ...]) -> None:
    if not sum(weights) > 0:
        raise of.wrong(field, "no weight is above 0, so nothing can be drawn", "give at least one a weight")


def _class(of: Record, rng: np.random.Generator) -> _Class:
    user = of.text("user_name", "default")
    if "tasks" not in of.values:
        tasks = tuple(_old_task(of, *names, rng) for names in (("map", "m"), ("reduce", "r")))
        return _Class(user, False, _spread(of, "dur", rng), tasks)
    stream = of.text("type", "mapreduce") == "stream"
    duration_s = _sample(of.part("duration"), rng) if stream else _constant(0.0)
    return _Class(user, stream, duration_s, tuple(_task(t, rng) for t in of.inner("tasks")))


def _old_task(of: Record, name: str, short: str, rng: np.random.Generator) -> _Task:
    fields = (f"{short}tasks", f"{short}time", f"{name}_max_memory", f"{name}_max_vcores")
    return _Task(name, *(_spread(of, field, rng) for field in fields))


def _task(of: Record, rng: np.random.Generator) -> _Task:
    fields = ("count", "time", "max_memory", "max_vcores")
    return _Task(of.text("type"), *(_sample(of.part(field), rng) for field in fields))


def _constant(value: float) -> Draw:
    return lambda: value


def _spread(of: Record, field: str, rng: np.random.Generator) -> Draw:
    """``field_avg`` and ``field_stddev``, log-normal."""
    mean, deviation = of.number(f"{field}_avg", 0.0, 0.0), of.number(f"{field}_stddev", 0.0, 0.0)
    return _lognormal(mean, deviation, rng) if mean > 0 else _constant(0.0)


def _sample(of: Record, rng: np.random.Generator) -> Draw:
    if "val" not in of.values:
        return _discrete(of, rng)
    mean = of.number("val", least=0.0)
    if "std" not in of.values or mean == 0:
        return _constant(mean)
    deviation, kind = of.number("std", least=0.0), of.text("dist", "LOGNORM")
    if kind == "LOGNORM":
        return _lognormal(mean, deviation, rng)
    if kind != "NORM":
        raise of.wrong("dist", f"{kind[:40]!r} is unknown", "use LOGNORM or NORM")
    return lambda: float(rng.normal(mean, deviation or mean / 6))


def _discrete(of: Record, rng: np.random.Generator) -> Draw:
    values = of.numbers("discrete")
    weights = tuple(of.numbers("weights", [1.0] * len(values), 0.0))
    if len(weights) != len(values):
        raise of.wrong("weights", f"there are {len(weights)} for {len(values)} values", "give one for each value")
    _weighed(of, "weights", weights)
    return lambda: values[_weighted(weights, rng)]


def _lognormal(mean: float, deviation: float, rng: np.random.Generator) -> Draw:
    """With this mean and deviation of the values, not of their logarithms."""
    variance = math.log1p(((deviation or mean / 6) / mean) ** 2)
    mu, sigma = math.log(mean) - variance / 2, math.sqrt(variance)
    return lambda: float(rng.lognormal(mu, sigma))
