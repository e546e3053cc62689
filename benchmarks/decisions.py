"""Allocations and terminations per second of a federation: many RMs, hollow nodes on the real protocol, SQL's count."""

import argparse
import time
from typing import Any

import psutil
import psycopg

from benchmarks.decision_figures import decisions, latencies, raw_copy_per_s
from benchmarks.hollow_fleet import hollow_fleet, wait_until_up
from benchmarks.hollow_rm import now, wait_for_kernels
from benchmarks.stack import BenchStack, cpu_s, job, one, stack
from client import Client

NODE_CORES = 32
FULL = 0.92  # of what the nodes have: the queue's maximum, which more demand than that keeps it at
LOST_S = 10.0  # within which a dead node has to be known
FILLED_S = 600.0  # until that much is allocated
SPARE = 2.0  # tasks beyond what ramp and measurement start
HOMES_TRIES = 200


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench decisions")
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2500, help="hollow nodes of each sub-cluster")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--run-s", type=float, default=45.0, help="how long each task pretends to run")
    parser.add_argument("--settle-s", type=float, default=50.0, help="between the filled cluster and the measurement")
    parser.add_argument("--round-ms", type=int, default=1000, help="HYDRA_ROUND_INTERVAL_MS")
    parser.add_argument("--heartbeat-s", type=float, default=4.0, help="HYDRA_HEARTBEAT_S")
    parser.add_argument("--tick-s", type=float, default=0.5, help="how often the players look after their nodes")
    parser.add_argument("--players", type=int, default=4, help="processes that play the nodes")
    options = parser.parse_args(argv)
    settings = {
        "HYDRA_ROUND_INTERVAL_MS": str(options.round_ms),
        "HYDRA_HEARTBEAT_S": str(options.heartbeat_s),
        "HYDRA_NODE_LOST_S": str(LOST_S - options.heartbeat_s - 0.5),  # a silent node is noticed a heartbeat later
    }
    with stack("--sub-clusters", str(options.sub_clusters), "--nodes", "0", **settings) as running:
        wait_for_kernels()
        with running.client("operator") as operator:
            limit_queue(operator)
        words = ["--run-s", str(options.run_s), "--tick-s", str(options.tick_s), "--stamp"]
        words += ["--spread-first", str(int(FULL * options.nodes * NODE_CORES))]
        words += ["--vcores-milli", str(1000 * NODE_CORES), "--memory-mib", str(2048 * NODE_CORES)]
        with hollow_fleet(running, options.nodes, options.players, words) as players, running.client() as client:
            wait_until_up(running, options.sub_clusters * options.nodes)
            submit(running, client, options)
            wait_until_full(running, options)
            time.sleep(options.settle_s)
            return vars(options) | measure(running, players, options)


def limit_queue(operator: Client) -> None:
    """The queue may hold ``FULL`` of everything, its jobs stay at home, and nothing waits for a node."""
    document = operator.policy().document or {}
    document["queues"]["default"]["maximum"] = FULL
    document["components"]["amrmproxy"] = {"policy": "home", "parameters": {}}
    operator.apply_policy(document, "load test")


def submit(running: BenchStack, client: Client, options: argparse.Namespace) -> None:
    """One job of many tasks at home in each sub-cluster, wherever the router puts those it gets."""
    places = options.nodes * NODE_CORES
    lasts_s = options.run_s + options.settle_s + options.seconds
    tasks = min(1_000_000, round(places * (1 + SPARE * lasts_s / options.run_s)))
    shape = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}, "estimated_duration_s": options.run_s}
    with psycopg.connect(running.database_url(), autocommit=True) as db:
        for number in range(HOMES_TRIES):
            if one(db, "SELECT count(DISTINCT home_id) FROM statestore_job") == options.sub_clusters:
                return
            client.submit(job(f"decisions-{number}", ["true"], tasks, **shape))
    raise SystemExit("bench decisions: some sub-clusters got no job")


def wait_until_full(running: BenchStack, options: argparse.Namespace) -> None:
    """Until nearly all that the queue may hold is allocated."""
    goal = 0.97 * FULL * options.sub_clusters * options.nodes * NODE_CORES
    until, live = time.monotonic() + FILLED_S, 0
    with psycopg.connect(running.database_url(), autocommit=True) as db:
        while time.monotonic() < until:
            live = one(db, "SELECT count(*) FROM statestore_container")
            if live >= goal:
                return
            time.sleep(10.0)  # counting takes a while itself
    raise SystemExit(f"bench decisions: {live} of {goal:.0f} containers after {FILLED_S:.0f} s")


def measure(running: BenchStack, players: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    groups: dict[str, list[psutil.Process]] = {grouped(name): [] for name in running.processes()}
    groups["hollow nodes"] = players
    for name, found in running.processes().items():
        groups[grouped(name)] += found
    with psycopg.connect(running.database_url(), autocommit=True) as db:
        before = {name: cpu_s(found) for name, found in groups.items()}
        start = now(db)
        time.sleep(options.seconds)
        end = now(db)
        cpu = {name: cpu_s(found) - before[name] for name, found in groups.items()}
        places = options.sub_clusters * options.nodes * NODE_CORES
        figures = decisions(db, start, end, places) | latencies(db, start, end)
        raw = raw_copy_per_s(db, start)
    made = figures["decisions"]
    used = {name: round(1e6 * seconds / made, 2) for name, seconds in sorted(cpu.items()) if seconds > 0.01}
    return figures | {
        "ratio_to_raw_copy": round(figures["allocations_per_s"] / raw, 3),
        "raw_copy_rows_per_s": round(raw),
        "cpu_us_per_decision_without_nodes": round(sum(v for name, v in used.items() if name != "hollow nodes"), 1),
        "cpu_us_per_decision": used,
        "cores_used": round(sum(cpu.values()) / options.seconds, 2),
    }


def grouped(name: str) -> str:
    return "RMs" if name.startswith("worker") else name
