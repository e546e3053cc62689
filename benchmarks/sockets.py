"""A thousand live sockets on one web process: how late changes arrive, whether everybody knows the truth at rest."""

import argparse
import json
import signal
import subprocess
import sys
import time
from typing import Any

import psutil

from benchmarks.largefederation import fill, leading
from benchmarks.stack import REPO, BenchStack, cpu_s, percentile, pss_mib, stack
from benchmarks.submit_rate import UNLIMITED


def main(argv: list[str]) -> dict[str, Any]:
    """``argv``: sizes; ``--seconds`` of changes, ``--drops`` of sockets per second, ``--losses`` of messages."""
    parser = argparse.ArgumentParser(prog="bench sockets")
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--accounts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--changes-per-s", type=float, default=5.0)
    parser.add_argument("--drops", type=float, default=0.005)
    parser.add_argument("--losses", type=float, default=0.005)
    parser.add_argument("--sub-clusters", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=500, help="of each sub-cluster")
    parser.add_argument("--queues", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args(argv)
    with stack("--sub-clusters", str(options.sub_clusters), "--nodes", "0", **UNLIMITED) as running:
        fill(running, options.nodes, options.queues, options.jobs)
        with leading(running) as leaders:
            return measure(running, leaders, options)


def measure(running: BenchStack, leaders: psutil.Process, options: argparse.Namespace) -> dict[str, Any]:
    web = running.processes()["web"]
    empty_mib = pss_mib(web)
    names = ("sockets", "accounts", "seconds", "changes_per_s", "drops", "losses")
    words = [w for name in names for w in (f"--{name.replace('_', '-')}", str(getattr(options, name)))]
    command = [sys.executable, "-m", "benchmarks.socketclients", "--url", running.url, *words]
    with subprocess.Popen(
        command, env=running.store_environ(), cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as clients:
        assert clients.stdin is not None and clients.stdout is not None
        try:
            opened = json.loads(clients.stdout.readline())
            before, began, full_mib = cpu_s(web), time.monotonic(), pss_mib(web)
            clients.stdout.readline()
            web_cores = (cpu_s(web) - before) / (time.monotonic() - began)
            leaders.send_signal(signal.SIGUSR1)
            clients.stdin.write("\n")
            clients.stdin.flush()
            found = json.loads(clients.stdout.readline())
        finally:
            clients.kill()
    return figures(found, options) | {
        "opened_s": opened["opened_s"],
        "web_cores": round(web_cores, 2),
        "web_pss_mib": round(full_mib),
        "kib_per_socket": round((full_mib - empty_mib) * 1024 / options.sockets, 1),
    }


def figures(found: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    took = found["took_ms"]
    return {
        "update_p99_ms": round(percentile(took, 0.99)),
        "diverged_clients": sum(found["diverged"].values()) + found["missed"],
        "update_p50_ms": round(percentile(took, 0.5)),
        "update_max_ms": round(max(took)),
        "updates": len(took),
        "diverged": found["diverged"],
        "messages_per_s": round(found["messages"] / options.seconds),
        "mb_per_s": round(found["characters"] / options.seconds / 1e6, 2),
        **{name: found[name] for name in ("missed", "dropped", "resyncs", "gaps")},
        "sockets": options.sockets,
    }
