"""A leader is killed while a hundred thousand jobs wait: how long until its successor has placed a container.

One sub-cluster of hollow nodes that are full, two workers, a queue of jobs of ten tasks each. The worker that leads is
killed; its lease runs out, the other takes the post, reads all that is live, and plans. Times are the database's.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import psutil
import psycopg

from benchmarks.hollow_rm import NODE_CORES, start_hollow, wait_for_kernels
from benchmarks.stack import BenchStack, job, one, stack
from client import Client

BULK = 1000
TASKS = 10  # of a job
RUN_S = 2.0  # of a container: they end in waves, and a wave must not be what is waited for
UNLIMITED = {"HYDRA_RATE_USER": "1000000/s", "HYDRA_MAX_LIVE_JOBS_PER_USER": "10000000"}
PATIENCE_S = 300.0
SHAPE = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}, "estimated_duration_s": RUN_S}
EPOCH = "(id >> 32 & ((1 << 20) - 1))"  # of the leader that placed a container
PLACED = f"""
SELECT extract(epoch FROM min(allocated_at) - %s)::float8 FROM (
    SELECT id, allocated_at FROM statestore_container
     UNION ALL SELECT id, allocated_at FROM statestore_container_history WHERE finished_at > %s) c
 WHERE {EPOCH} > %s
"""
PENDING = """
SELECT sum(count - running - succeeded - failed - killed) FROM statestore_taskgroup WHERE finished_at IS NULL
"""


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench takeover")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args(argv)
    with stack("--sub-clusters", "1", "--nodes", "0", **UNLIMITED) as running, running.client() as client:
        wait_for_kernels()
        hollow = start_hollow(running, options.nodes, RUN_S)
        try:
            with psycopg.connect(running.database_url(), autocommit=True) as db:
                submit(client, db, options.jobs, options.nodes)
                pending = int(one(db, PENDING))
                kills = [take_over(running, db) for _ in range(options.kills)]
        finally:
            hollow.terminate()
            hollow.wait(30)
    worst = {name: max(kill[name] for kill in kills) for name in kills[0]}
    return {"jobs": options.jobs, "pending_tasks": pending, "nodes": options.nodes, **worst, "kills": kills}


def submit(client: Client, db: psycopg.Connection[Any], jobs: int, nodes: int) -> None:
    """All the jobs; done when the leader has taken them in and the nodes are full."""
    for first in range(0, jobs, BULK):
        numbers = range(first, min(jobs, first + BULK))
        client.submit_many([job(f"waits-{number}", ["true"], TASKS, **SHAPE) for number in numbers])
    for _ in waiting("the jobs were not taken in"):
        full = one(db, "SELECT count(*) FROM statestore_container") >= 0.9 * nodes * NODE_CORES
        if full and not one(db, "SELECT count(*) FROM statestore_intent"):
            return


def take_over(running: BenchStack, db: psycopg.Connection[Any]) -> dict[str, float]:
    """Kill the worker that leads. lead_s: until another has the lease; first_allocation_s: until it has placed one."""
    for _ in waiting("nobody stands by"):
        workers = {name: found for name, found in running.processes().items() if name.startswith("worker")}
        [(holder, epoch)] = db.execute("SELECT holder, epoch FROM statestore_lease").fetchall()
        if holder in workers and len(workers) > 1:
            break
    time.sleep(10.0)  # a worker that was started again is ready
    began = one(db, "SELECT clock_timestamp()")
    for process in reversed(workers[holder]):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    lead_s = 0.0
    for _ in waiting("nobody placed anything"):
        [(now_s, now)] = db.execute(
            "SELECT extract(epoch FROM clock_timestamp() - %s)::float8, epoch FROM statestore_lease", (began,)
        ).fetchall()
        lead_s = lead_s or (now_s if now > epoch else 0.0)
        placed_s = one(db, PLACED, (began, began, epoch))
        if placed_s is not None:
            return {"first_allocation_s": round(placed_s, 2), "lead_s": round(lead_s, 2)}
    raise AssertionError


def waiting(problem: str) -> Iterator[None]:
    """Look now and again; gives up after ``PATIENCE_S``."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        yield
        time.sleep(0.05)
    raise SystemExit(f"bench takeover: {problem} within {PATIENCE_S:.0f} s")
