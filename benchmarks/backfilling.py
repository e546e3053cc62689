"""The log of a real batch machine under first come first served, EASY and conservative backfilling, as its load rises.

NASA's iPSC/860 of 128 processors in the last months of 1993, replayed through
the simulator. Processors are alike, so they are one node. Jobs come ``speed``
times as fast as they did. The log has no estimates: they are exact, ``factor``
times too long, or drawn evenly between the run time and ``factor`` times it.
What was in use is counted while jobs come; the last ones run out on a machine
that empties.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pictures import chart, picture
from controlplane.kernels import compile_now
from simulator.engine import Setup, Simulation
from simulator.figures import VCORES, slowdowns, utilization_over_time, waits
from simulator.measures import Run
from simulator.report.charts import Chart
from simulator.report.svg import Axis, Plot, line_swatch, linear, log_ratios
from simulator.site import Pace
from simulator.workload import Machine, Submission
from simulator.workloads import swf
from simulator.workloads.source import Source

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "backfilling.svg"
LOG = Path("swf") / "NASA-iPSC-1993-3.1-cln.swf.gz"
RULES = {"strict": "first come first served", "easy": "EASY", "conservative": "conservative"}
AT_ONCE = Pace(interval_s=0.0, idle_s=0.0, heartbeat_s=0.0, timed_s=1e6)  # as textbooks have it
GUESSES = {"drawn": "drawn between 1 and so many times", "times": "exactly so many times"}
DAY_S, MIB = 86_400.0, 16
WIDTH, HEIGHT = 380.0, 270.0
Figures = dict[str, float]


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench backfilling")
    parser.add_argument("--data", type=Path, default=os.environ.get("HYDRA_DATA"), help="folder with the log")
    parser.add_argument("--first-day", type=int, default=45, help="of the log, from 0")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--speeds", type=float, nargs="+", default=[1.0, 1.25, 1.5, 2.0])
    parser.add_argument("--factors", type=float, nargs="+", default=[2.0, 10.0, 100.0])
    parser.add_argument("--factors-at", type=float, default=1.5, help="speed at which EASY gets wrong estimates")
    parser.add_argument("--figure", type=Path, default=FIGURE)
    options = parser.parse_args(argv)
    if options.data is None:
        parser.error("--data or HYDRA_DATA must name the folder that holds swf")
    compile_now()
    log, processors = read(options.data / LOG)
    jobs = between(log, options.first_day * DAY_S, (options.first_day + options.days) * DAY_S)
    loads = {
        rule: {speed: measure(faster(jobs, speed), processors, rule) for speed in options.speeds} for rule in RULES
    }
    at = faster(jobs, options.factors_at)
    exact = loads["easy"].get(options.factors_at) or measure(at, processors, "easy")
    guessed = {
        way: {1.0: exact, **{f: measure(guess(at, f, way), processors, "easy") for f in options.factors}}
        for way in GUESSES
    }
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(draw(loads, guessed))
    return {
        "jobs": len(jobs),
        "log_load_percent": load_percent(log, processors),
        "by_speed": loads,
        "by_factor": guessed,
    }


def read(path: Path) -> tuple[Source, int]:
    """The log's jobs with exact estimates, and how many processors its machine has."""
    found = swf.machines(path)
    log = swf.read(path, memory_mib=MIB, missing_estimate="exact", queue="root.batch")
    return log, sum(machine.vcores_milli for machine in found) // swf.VCORES_MILLI


def between(log: Source, begin_s: float, end_s: float) -> list[Submission]:
    """The jobs submitted in this time, whose beginning becomes 0."""
    return [replace(job, at_s=job.at_s - begin_s) for job in log if begin_s <= job.at_s < end_s]


def faster(jobs: Sequence[Submission], speed: float) -> list[Submission]:
    """The same jobs in less time."""
    return [replace(job, at_s=job.at_s / speed) for job in jobs]


def guess(jobs: Sequence[Submission], factor: float, way: str) -> list[Submission]:
    """The same jobs with estimates that are too long, in one of the ways of ``GUESSES``."""
    drawn = np.random.default_rng(1).uniform(1.0, factor, len(jobs))
    times = drawn if way == "drawn" else np.full(len(jobs), factor)
    return [
        replace(job, groups=tuple(replace(g, estimate_s=g.estimate_s * by) for g in job.groups))
        for job, by in zip(jobs, times.tolist(), strict=True)
    ]


def load_percent(jobs: Sequence[Submission] | Source, processors: int) -> float:
    """The work of the jobs, over what the machine can do until the last of them comes."""
    work, last = 0.0, 0.0
    for job in jobs:
        work, last = work + sum(g.count * float(g.run_s[0]) for g in job.groups), job.at_s
    return round(100 * work / (processors * last), 1)


def measure(jobs: list[Submission], processors: int, rule: str) -> Figures:
    """What a rule makes of the jobs."""
    machine = Machine("ipsc", processors * MIB, processors * swf.VCORES_MILLI)
    policy = {
        "queues": {"batch": {"guaranteed": 1.0, "open_to_all": True, "ordering": "fifo"}},
        "components": {"placement": {"parameters": {"backfill": rule, "backfill_depth": 1000}}},
    }
    run = Simulation(Setup({"one": [machine]}, policy, AT_ONCE), jobs).run()
    slowed = slowdowns(run)
    return {
        "load_percent": load_percent(jobs, processors),
        "in_use_percent": round(100 * in_use(run, jobs[-1].at_s), 1),
        "wait_mean_min": round(float(waits(run).mean()) / 60, 1),
        "waited_percent": round(100 * float((waits(run) >= 0.5).mean()), 1),
        "slowdown_mean": round(float(slowed.mean()), 2),
        "slowdown_median": round(float(np.median(slowed)), 2),
    }


def in_use(run: Run, until_s: float) -> float:
    """Part of the processors that were in use until then, on average."""
    return float(utilization_over_time(run)[: max(1, int(until_s / run.period_s)), VCORES].mean())


def draw(loads: dict[str, dict[float, Figures]], guessed: dict[str, dict[float, Figures]]) -> str:
    """Slowdown and use by load, and EASY's slowdown by how wrong estimates are."""
    by_load = [f for by in loads.values() for f in by.values()]
    offered = _percents([f["load_percent"] for f in by_load])
    slow = log_ratios(max(f["slowdown_mean"] for f in by_load), "Mean bounded slowdown, logarithmic")
    use = linear(100.0, "In use, % of the processors", most=100.0)
    factors = sorted({factor for by in guessed.values() for factor in by})
    wrong = Axis(1.0, factors[-1], "Estimates, times the run time, logarithmic", [(f, f"{f:g}") for f in factors], True)
    worse = linear(max(f["slowdown_mean"] for by in guessed.values() for f in by.values()), "Mean bounded slowdown")
    by_use = [[(f["load_percent"], f["in_use_percent"]) for f in by.values()] for by in loads.values()]
    by_slowdown = [[(f["load_percent"], f["slowdown_mean"]) for f in by.values()] for by in loads.values()]
    by_factor = [[(factor, f["slowdown_mean"]) for factor, f in by.items()] for by in guessed.values()]
    charts = [
        _lines("Slowdown as the load rises", Plot(offered, slow, WIDTH, HEIGHT), by_slowdown, list(RULES.values())),
        _lines("What is in use", Plot(offered, use, WIDTH, HEIGHT), by_use, list(RULES.values())),
        _lines("EASY with wrong estimates", Plot(wrong, worse, WIDTH, HEIGHT), by_factor, list(GUESSES.values()), 3),
    ]
    return picture(charts, WIDTH, HEIGHT)


def _percents(values: list[float]) -> Axis:
    low, high = 10.0 * np.floor(min(values) / 10), 10.0 * np.ceil(max(values) / 10)
    ticks = [(float(v), f"{v:g}") for v in np.arange(low, high + 1, 10.0 if high - low < 60 else 20.0)]
    return Axis(low, high, "Offered load, % of the machine", ticks)


def _lines(title: str, plot: Plot, lines: list[list[tuple[float, float]]], names: list[str], first: int = 0) -> Chart:
    """Lines with a mark for each run. first: the series of the first of them."""
    for series, (points, name) in enumerate(zip(lines, names, strict=True), first):
        xs, ys = np.array(points).T
        plot.line(xs, ys, series)
        for x, y in points:
            plot.mark(x, y, series, f"{name}: {y:g}")
    said = [f"{name}: {', '.join(f'{y:g}' for _, y in points)}." for points, name in zip(lines, names, strict=True)]
    return chart(title, plot, [(line_swatch(i), name) for i, name in enumerate(names, first)], " ".join(said))
