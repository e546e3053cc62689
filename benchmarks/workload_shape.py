"""What the synthetic generator draws beside what the papers tell: Mercury's Figure 1, Hydra's Figure 2 and Table 3.

A day of one sub-cluster with the generator's own shape; the fleet is as many
sub-clusters as 250,000 servers make. A second shape has as many tasks per job
as Hydra's section 7.4 counts. How long a job takes is said of one that gets
all it wants at once: the longest of its tasks.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pictures import chart, mark_swatch, picture
from simulator.report.charts import Chart
from simulator.report.svg import Plot, line_swatch, linear, log_ratios, log_times
from simulator.workloads import synthetic
from simulator.workloads.shape import Sizes, WorkloadShape

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "workload-shape.svg"
SERVERS, PER_SUB_CLUSTER = 250_000, 2500  # Hydra, Table 1, and the middle of section 6.1
SHORT_S, SHORT_PERCENT = 10.0, 60.0  # Mercury, section 1: the one point of Figure 1 that the text tells
LARGE = WorkloadShape(tasks_mean=8000.0, tasks_most=1_000_000)
LEVELS = np.linspace(0, 1, 401)
WIDTH, HEIGHT = 460.0, 280.0
Legend = Sequence[tuple[str, str]]


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench workload-shape")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    options = parser.parse_args(argv)
    jobs = list(synthetic.generate(options.seed, WorkloadShape(horizon_s=3600 * options.hours)))
    runs = [job.groups[0].run_s for job in jobs]
    tasks, longest = np.concatenate(runs), np.array([run_s.max() for run_s in runs])
    sizes = np.array([len(run_s) for run_s in runs])
    rng, large = np.random.default_rng(options.seed), Sizes.of(LARGE)
    many = np.array([large.draw(rng) for _ in jobs])
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(draw(tasks, longest, sizes, many))
    per_s = SERVERS / PER_SUB_CLUSTER / (3600 * options.hours)
    return {
        "tasks_under_10_s_percent": round(100 * float((tasks < SHORT_S).mean()), 1),
        "task_mean_s": round(float(tasks.mean()), 1),
        "tasks_per_job_mean": round(float(sizes.mean()), 1),
        "tasks_per_job_mean_large": round(float(many.mean()), 1),
        "tasks_per_job_most_large": int(many.max()),
        "users_per_queue": round(len({j.user for j in jobs}) / len({j.queue for j in jobs}), 2),
        "priorities": len({job.priority for job in jobs}),
        "fleet_jobs_per_day": round(len(jobs) * per_s * 86_400),
        "fleet_tasks_per_day": round(float(sizes.sum()) * per_s * 86_400),
        "fleet_tasks_per_day_large": round(float(many.sum()) * per_s * 86_400),
        "fleet_decisions_per_s": round(2 * float(sizes.sum()) * per_s),
        "fleet_decisions_per_s_large": round(2 * float(many.sum()) * per_s),
    }


def draw(tasks: np.ndarray, longest: np.ndarray, sizes: np.ndarray, many: np.ndarray) -> str:
    """How long tasks and jobs run, and how many tasks jobs have."""
    percent = linear(100.0, "Tasks or jobs, %", most=100.0)
    times = log_times(0.1, float(longest.max()), "Runs no longer than, logarithmic")
    runs = Plot(times, percent, WIDTH, HEIGHT)
    runs.mark(SHORT_S, SHORT_PERCENT, 4, "Mercury: almost 60 % of the tasks under 10 s")
    told = [(mark_swatch(4), "tasks, by the paper's text")]
    counts = Plot(log_ratios(float(many.max()), "Tasks no more than, logarithmic"), percent, WIDTH, HEIGHT)
    charts = [
        _lines("How long tasks and jobs run", runs, {"tasks": tasks, "jobs, each alone": longest}, told),
        _lines("How many tasks jobs have", counts, {"as in Mercury's experiments": sizes, "as Hydra counts": many}),
    ]
    return picture(charts, WIDTH, HEIGHT)


def _lines(title: str, plot: Plot, found: dict[str, np.ndarray], more: Legend = ()) -> Chart:
    """Part of each sample that is no more than a value. more: of the legend."""
    for series, values in enumerate(found.values()):
        plot.line(np.append(np.quantile(values, LEVELS), plot.x.high), 100 * np.append(LEVELS, 1.0), series)
    said = [f"{name}: half at most {np.median(values):.3g}." for name, values in found.items()]
    legend = [*((line_swatch(series), name) for series, name in enumerate(found)), *more]
    return chart(title, plot, legend, " ".join(said))
