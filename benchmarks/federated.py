"""One workload on one cluster, and on the same nodes as sub-clusters by several policies: the paper's Figures 4, 8, 10.

Nodes are those of Mercury's experiments (32 virtual cores, 128 GB), in three
racks for each sub-cluster; jobs are drawn as ``simulator.workloads.synthetic``
does. Their data lie as HDFS lays them: ``TASKS_PER_FILE`` tasks read one file,
which is on a node, on another one of its rack, and on one in another rack of
the same sub-cluster. Queues favour sub-clusters, each others, so that demand is
uneven.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pictures import chart, mark_swatch, picture
from controlplane.kernels import compile_now
from controlplane.rm.changes import Changes
from simulator.engine import Setup, Simulation
from simulator.figures import VCORES, latency_percentiles, locality_parts, slowdowns, utilization_over_time
from simulator.measures import Run
from simulator.report.charts import Chart
from simulator.report.svg import Axis, Plot, linear, log_times
from simulator.site import Pace
from simulator.workload import Machine, Submission, SubmittedGroup
from simulator.workloads import synthetic
from simulator.workloads.shape import WorkloadShape

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "federated.svg"
CORES, MEMORY_MIB, RACKS = 32, 131_072, 3
TASKS_PER_FILE = 4
PACE = Pace(interval_s=1.0, idle_s=1.0, network_s=0.001, heartbeat_s=3.0)  # heartbeats as in Mercury, section 7.1
WIDTH, HEIGHT = 400.0, 250.0
Json = dict[str, Any]


def _components(routing: str, proxy: str, **parameters: float | bool) -> Json:
    return {"routing": {"policy": routing}, "amrmproxy": {"policy": proxy, "parameters": parameters}}


POLICIES: dict[str, Json] = {  # none: all nodes in one sub-cluster
    "one cluster": {},
    "federated": _components("least_loaded", "locality"),
    "data first, 5 s": _components("least_loaded", "locality", prefer_home=False, relax_after_s=5.0),
    "data first, 30 s": _components("least_loaded", "locality", prefer_home=False, relax_after_s=30.0),
    "home with the data": _components("locality", "home"),
    "home anywhere": _components("least_loaded", "home"),
}


@dataclass(frozen=True, slots=True)
class Result:
    """A run, and how many containers each node got, in the order of the nodes."""

    run: Run
    tasks: np.ndarray


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench federated")
    parser.add_argument("--sub-clusters", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=60, help="of each sub-cluster")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--load", type=float, default=0.7, help="demand over capacity, on average")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    options = parser.parse_args(argv)
    compile_now()
    subs = sub_clusters(options.sub_clusters, options.nodes)
    shape = rated(shaped(subs, 60 * options.minutes), options.load, subs, options.seed)
    jobs = list(with_data(synthetic.generate(options.seed, shape), subs, options.seed))
    found = {name: played(name, subs, shape, jobs) for name in POLICIES}
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(draw(found))
    return {
        "jobs": len(jobs),
        "tasks": sum(g.count for job in jobs for g in job.groups),
        "offered_load_percent": round(100 * load(jobs, subs, shape), 1),
        **{name.replace(",", "").replace(" ", "_"): figures(result, shape.horizon_s) for name, result in found.items()},
    }


def sub_clusters(count: int, nodes: int) -> dict[str, list[Machine]]:
    """Machines by the name of their sub-cluster."""
    return {
        f"s{s}": [
            Machine(f"s{s}-n{n}", MEMORY_MIB, 1000 * CORES, rack=f"s{s}-rack{n * RACKS // nodes}") for n in range(nodes)
        ]
        for s in range(count)
    }


def shaped(subs: dict[str, list[Machine]], horizon_s: float) -> WorkloadShape:
    """The generator's own shape, but for a steady rate, jobs of up to 500 tasks and tasks of up to 10 min."""
    names = {sub: [m.name for m in machines] for sub, machines in subs.items()}
    return WorkloadShape(
        horizon_s=horizon_s, diurnal=0.0, sub_clusters=names, home_skew=0.3, wishes=0, tasks_most=500, longest_s=600.0,
        jobs_per_hour=6000.0,
    )  # fmt: skip


def rated(shape: WorkloadShape, wanted: float, subs: dict[str, list[Machine]], seed: int) -> WorkloadShape:
    """At the rate that makes this load, by what the jobs of another rate ask for."""
    found = load(synthetic.generate(seed, shape), subs, shape)
    return replace(shape, jobs_per_hour=shape.jobs_per_hour * wanted / found)


def load(jobs: Iterable[Submission], subs: dict[str, list[Machine]], shape: WorkloadShape) -> float:
    """What jobs ask for, over what the machines have in that time."""
    asked = sum(g.vcores_milli * float(g.run_s.sum()) for job in jobs for g in job.groups)
    return asked / (sum(m.vcores_milli for machines in subs.values() for m in machines) * shape.horizon_s)


def with_data(jobs: Iterable[Submission], subs: dict[str, list[Machine]], seed: int) -> Iterator[Submission]:
    """The same jobs in groups that read a file each; where their home is, the router decides."""
    rng = np.random.default_rng([seed, 4])
    for job in jobs:
        (group,) = job.groups
        starts = range(0, group.count, TASKS_PER_FILE)
        files = tuple(_reading(group, at, subs[job.home], rng) for at in starts)
        yield replace(job, groups=files, home="")


def _reading(group: SubmittedGroup, at: int, machines: list[Machine], rng: np.random.Generator) -> SubmittedGroup:
    """The tasks from ``at`` on, as a group that prefers the nodes of its file."""
    run_s = group.run_s[at : at + TASKS_PER_FILE]
    first = int(rng.integers(len(machines)))
    racks = np.array([machine.rack for machine in machines])
    mates, others = np.flatnonzero(racks == racks[first]), np.flatnonzero(racks != racks[first])
    replicas = [first, int(rng.choice(mates[mates != first])), int(rng.choice(others))]
    return replace(
        group, name=f"file{at // TASKS_PER_FILE}", count=len(run_s), run_s=run_s,
        nodes=tuple(machines[n].name for n in replicas), racks=tuple({machines[n].rack for n in replicas}),
    )  # fmt: skip


def played(name: str, subs: dict[str, list[Machine]], shape: WorkloadShape, jobs: list[Submission]) -> Result:
    """The jobs under one of the policies."""
    queues = {queue: {**said, "open_to_all": True} for queue, said in synthetic.queue_tree(shape).items()}
    whole = {"one": [machine for machines in subs.values() for machine in machines]}
    setup = Setup(subs if POLICIES[name] else whole, {"queues": queues, "components": POLICIES[name]}, PACE, name=name)
    simulation = Simulation(setup, jobs)
    rows = {node: at for at, node in enumerate(n for sub in simulation.rows.subs.values() for n in sub.nodes)}
    tasks = np.zeros(len(rows), np.int64)

    def count(sub: int, c: Changes) -> None:
        for block in c.new:
            np.add.at(tasks, [rows[node] for node in block["node"].tolist()], 1)

    simulation.listeners.append(count)
    return Result(simulation.run(), tasks)


def figures(result: Result, until_s: float) -> dict[str, float]:
    """What is said of a policy; what was in use is counted from a third of the time until the last job came."""
    run = result.run
    used = utilization_over_time(run)[int(until_s / run.period_s / 3) : int(until_s / run.period_s), VCORES]
    low, high = spread(result)[[0, 2]].tolist()
    node, rack = local_percent(result).tolist()
    median, slow = latencies(result).tolist()
    return {
        "node_percent": round(node, 1),
        "rack_percent": round(rack, 1),
        "latency_p50_s": round(median, 2),
        "latency_p99_s": round(slow, 2),
        "in_use_percent": round(100 * float(used.mean()), 1),
        "slowdown_mean": round(float(slowdowns(run).mean()), 3),
        "tasks_per_node_p5": round(low, 2),
        "tasks_per_node_p95": round(high, 2),
        "unfinished": int(np.isnan(run.jobs["finished"]).sum()),
        "took_s": round(run.took_s, 1),
    }


def local_percent(result: Result) -> np.ndarray:
    """Of the containers, those on a preferred node, and those there or in its rack."""
    return 100 * np.cumsum(locality_parts(result.run)[-1][:2])


def latencies(result: Result) -> np.ndarray:
    """From wanting to allocation, s: the median and the 99th percentile."""
    return latency_percentiles(result.run, (0.5, 0.99))[0]


def spread(result: Result) -> np.ndarray:
    """Containers of a node over the mean: 5th percentile, median, 95th."""
    found: np.ndarray = np.percentile(result.tasks / result.tasks.mean(), [5, 50, 95])
    return found


def draw(found: dict[str, Result]) -> str:
    """Locality, time to allocation, and how evenly containers are spread."""
    local = {name: local_percent(result) for name, result in found.items()}
    late = {name: latencies(result) for name, result in found.items()}
    even = {name: spread(result) for name, result in found.items()}
    percent, times = linear(100.0, "Containers, %", most=100.0), np.array(list(late.values()))
    seconds = log_times(float(times.min()), float(times.max()), "From wanting to allocation, logarithmic")
    parts = linear(float(np.max(list(even.values()))), "Containers of a node, times the mean")
    charts = [
        _marks("Where containers ran", percent, local, ["on a node with their data", "or in its rack"]),
        _marks("Time to allocation", seconds, late, ["median", "99th percentile"]),
        _marks("How evenly nodes were used", parts, even, ["5th percentile", "median", "95th percentile"]),
    ]
    return picture(charts, WIDTH, HEIGHT)


def _marks(title: str, x: Axis, found: dict[str, np.ndarray], said: Sequence[str]) -> Chart:
    """A row for each policy, a mark for each of its values."""
    rows = Axis(0.0, float(len(found)), "", [(i + 0.5, name) for i, name in enumerate(found)])
    plot = Plot(x, rows, WIDTH, HEIGHT, rows=True)
    for i, (name, values) in enumerate(found.items()):
        for series, value in enumerate(values.tolist()):
            plot.mark(value, i + 0.5, series, f"{name}, {said[series]}: {value:.3g}")
    words = "; ".join(f"{name} {', '.join(f'{v:.3g}' for v in values.tolist())}" for name, values in found.items())
    return chart(title, plot, [(mark_swatch(series), each) for series, each in enumerate(said)], words)
