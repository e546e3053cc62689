"""What the demo's stack costs when it has nothing to do: processor time and proportional memory over a minute."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from controlplane.embedded.home import Home, free_ports, read_json

REPO = Path(__file__).resolve().parent.parent
SETTLE_S = 15.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench footprint")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hydra-footprint-") as folder:
        home = Home(Path(folder) / "home")
        environ = environment(home)
        manage = [sys.executable, str(REPO / "manage.py")]
        subprocess.run([*manage, "up", "--detach"], env=environ, check=True)
        try:
            time.sleep(SETTLE_S)
            return measure(home, options.seconds)
        finally:
            subprocess.run([*manage, "down"], env=environ, check=True)


def environment(home: Home) -> dict[str, str]:
    dropped = ("HYDRA_", "DATABASE_URL", "REDIS_URL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return kept | {
        "HYDRA_HOME": str(home.root),
        "HYDRA_HTTP_PORT": str(free_ports(1)[0]),
        "HYDRA_VENV": sys.prefix,
    }


def measure(home: Home, seconds: float) -> dict[str, Any]:
    state = read_json(home.state)
    groups = members(state)
    before = {name: cpu_s(processes) for name, processes in groups.items()}
    began = time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    cpu = {name: 100 * (cpu_s(processes) - before[name]) / elapsed for name, processes in groups.items()}
    pss = {name: pss_mib(processes) for name, processes in groups.items()}
    nodes = [pss[name] for name in groups if is_node(name)]
    return {
        "idle_cpu_percent_of_core": round(sum(cpu.values()), 2),
        "total_pss_mib": round(sum(pss.values()), 1),
        "node_manager_pss_mib": round(sum(nodes) / len(nodes), 1) if nodes else None,
        "cpu_percent_by_process": {name: round(value, 2) for name, value in cpu.items()},
        "pss_mib_by_process": {name: round(value, 1) for name, value in pss.items()},
    }


def is_node(name: str) -> bool:
    return name.rpartition("-")[2].isdigit()


def members(state: dict[str, Any]) -> dict[str, list[psutil.Process]]:
    """Process name -> it and everything below it; the guard and the supervisor count as ``supervisor``."""
    groups = {}
    for process in state["processes"]:
        if process["pid"]:
            root = psutil.Process(process["pid"])
            groups[process["name"]] = [root, *root.children(recursive=True)]
    groups["supervisor"] = [psutil.Process(state["guard_pid"]), psutil.Process(state["pid"])]
    known = {p.pid for group in groups.values() for p in group}
    every = psutil.Process(state["guard_pid"]).children(recursive=True)
    groups["adopted"] = [p for p in every if p.pid not in known]
    return groups


def cpu_s(processes: list[psutil.Process]) -> float:
    return sum(sum(p.cpu_times()[:2]) for p in processes if p.is_running())


def pss_mib(processes: list[psutil.Process]) -> float:
    return sum(p.memory_full_info().pss for p in processes if p.is_running()) / 2**20
