"""Processor time per decision of one RM whose rounds are driven by hand over real stores, on a clock that is moved on.

However busy the machine is, a round has the same work to do: its load changes what a decision costs, never how many a
round makes. So two versions can be compared, in turns, beside other work.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

from benchmarks.decisions import NODE_CORES, limit_queue
from benchmarks.hollow_rm import wait_for_kernels
from benchmarks.stack import REPO, BenchStack, job, stack
from benchmarks.submit_rate import hold_all_but_web

FILLED_S = 60.0  # of the moved clock, within which the nodes are full


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench rounds")
    parser.add_argument("--nodes", type=int, default=2500)
    parser.add_argument("--round-s", type=float, default=0.3, help="between two rounds")
    parser.add_argument("--tick-s", type=float, default=0.15, help="between two looks after the nodes")
    parser.add_argument("--heartbeat-s", type=float, default=4.0)
    parser.add_argument("--run-s", type=float, default=45.0, help="how long each task pretends to run")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the moved clock that are measured")
    parser.add_argument("--profile", help="file for a profile of the RM (cProfile); with it the RM is much dearer")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.set_defaults(filled_s=FILLED_S)
    options = parser.parse_args(argv)
    if options.inside:
        from benchmarks.driven import measure

        return measure(options, json.loads(options.inside))
    with stack("--sub-clusters", "1", "--nodes", "0") as running:
        wait_for_kernels()
        with running.client("operator") as operator:
            limit_queue(operator)
        hold_all_but_web(running)
        submit(running, options)
        return _inside(running, argv)


def submit(running: BenchStack, options: argparse.Namespace) -> None:
    """One job with more tasks than will be started."""
    places = options.nodes * NODE_CORES
    tasks = min(1_000_000, round(places * (2 + (FILLED_S + options.seconds) / options.run_s)))
    shape = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}, "estimated_duration_s": options.run_s}
    with running.client() as client:
        client.submit(job("rounds", ["true"], tasks, **shape))


def _inside(running: BenchStack, argv: list[str]) -> dict[str, Any]:
    """The measurement, by a process that knows the stack's stores."""
    stores = {name: running.processes()[name][0].pid for name in ("postgres", "valkey")}
    code = "import django; django.setup(); import json, sys; from benchmarks.rounds import main; "
    code += "print(json.dumps(main(sys.argv[1:])))"
    command = [sys.executable, "-c", code, *argv, "--inside", json.dumps(stores)]
    done = subprocess.run(command, env=running.store_environ(), cwd=REPO, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
