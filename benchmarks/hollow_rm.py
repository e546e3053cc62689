"""One RM and thousands of hollow nodes: containers per second over the whole path, recounted in SQL."""

import argparse
import subprocess
import sys
import time
from typing import Any

import psutil
import psycopg

from benchmarks.stack import REPO, BenchStack, cpu_s, job, one, stack
from controlplane.kernels import cache_folder, fill
from wire.states import ContainerState

SUB_CLUSTER = "east"  # the first one that `up` makes
JOB_TASKS = 1_000_000  # as many as one job may have
JOBS = 5
RAMP_S = 15.0
NODE_CORES = 32
OFFERED_PER_S = 64_000  # containers that the nodes could run if the RM took no time
FLATNESS = (1000, 5000)


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench hollow-rm")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--run-s", type=float, help="how long each container pretends to run; else by the nodes")
    parser.add_argument("--flatness", action="store_true", help="compare 1,000 and 5,000 nodes under the same load")
    options = parser.parse_args(argv)
    if not options.flatness:
        return run(options.nodes, options.seconds, options.run_s)
    found = {nodes: run(nodes, options.seconds, options.run_s) for nodes in FLATNESS}
    few, many = (each["containers_per_s"] for each in found.values())
    return {
        "flatness_percent": round(100 * many / few),
        **{f"containers_per_s_{nodes}": each["containers_per_s"] for nodes, each in found.items()},
        "details": list(found.values()),
    }


def run(nodes: int, seconds: float, run_s: float | None) -> dict[str, Any]:
    """One sub-cluster of so many nodes, all full all the time.

    Unless said otherwise containers run the longer the more nodes there are,
    so that the nodes ask for the same number per second whatever their number.
    """
    run_s = run_s or nodes * NODE_CORES / OFFERED_PER_S
    with stack("--sub-clusters", "1", "--nodes", "0") as running, running.client() as client:
        wait_for_kernels()
        hollow = start_hollow(running, nodes, run_s)
        try:
            shape = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}, "estimated_duration_s": run_s}
            for number in range(JOBS):
                client.submit(job(f"hollow-{number}", ["true"], JOB_TASKS, **shape))
            time.sleep(RAMP_S)
            return {"nodes": nodes, "run_s": run_s} | measure(running, hollow, seconds)
        finally:
            hollow.terminate()
            hollow.wait(30)


def wait_for_kernels() -> None:
    """Until there is what RMs plan with compiled; only the first start of a version has to."""
    fill(cache_folder())


def start_hollow(running: BenchStack, nodes: int, run_s: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(REPO / "manage.py"), "hollow", "--sub-cluster", SUB_CLUSTER]
    command += [
        "--nodes",
        str(nodes),
        "--run-s",
        str(run_s),
        "--memory-mib",
        "65536",
        "--vcores-milli",
        str(1000 * NODE_CORES),
    ]
    return subprocess.Popen(command, env=running.environ, stdout=subprocess.DEVNULL)


def measure(running: BenchStack, hollow: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    groups = running.processes() | {"hollow nodes": [psutil.Process(hollow.pid)]}
    with psycopg.connect(running.database_url(), autocommit=True) as db:
        before = {name: cpu_s(found) for name, found in groups.items()}
        start = now(db)
        time.sleep(seconds)
        end = now(db)
        cpu = {name: cpu_s(found) - before[name] for name, found in groups.items()}
        ended = count(db, "finished_at", start, end)
        per_s = buckets(db, start, end)
        [(rounds, plan_us, commit_us)] = db.execute(
            "SELECT count(*), avg(plan_us), avg(commit_us) FROM statestore_round WHERE at BETWEEN %s AND %s",
            (start, end),
        ).fetchall()
    elapsed_s = (end - start).total_seconds()
    return {
        "containers_per_s": round(ended / elapsed_s),
        "slowest_5_s_per_s": round(min(per_s)),
        "containers_recounted": ended,
        "seconds": round(elapsed_s, 1),
        "rounds_per_s": round(rounds / elapsed_s, 1),
        "plan_ms": round(float(plan_us or 0) / 1000, 1),
        "commit_ms": round(float(commit_us or 0) / 1000, 1),
        "cpu_us_per_container": {
            name: round(1e6 * used / ended, 1) for name, used in sorted(cpu.items()) if used / ended > 1e-7
        },
    }


def now(db: psycopg.Connection[Any]) -> Any:
    return one(db, "SELECT clock_timestamp()")


def count(db: psycopg.Connection[Any], column: str, start: Any, end: Any) -> int:
    sql = f"""SELECT count(*) FROM statestore_container_history
               WHERE state = {ContainerState.SUCCEEDED} AND {column} BETWEEN %s AND %s"""
    return int(one(db, sql, (start, end)))


def buckets(db: psycopg.Connection[Any], start: Any, end: Any) -> list[float]:
    """Containers ended per second in each whole five seconds."""
    rows = db.execute(
        "SELECT floor(extract(epoch FROM finished_at - %s) / 5)::int AS b, count(*) FROM statestore_container_history"
        f" WHERE state = {ContainerState.SUCCEEDED} AND finished_at BETWEEN %s AND %s GROUP BY b",
        (start, start, end),
    ).fetchall()
    whole = int((end - start).total_seconds() // 5)
    found = dict(rows)
    return [found.get(b, 0) / 5 for b in range(whole)]
