"""What the demo's stack costs when it has nothing to do: processor time and proportional memory over a minute."""

import argparse
import time
from typing import Any

from benchmarks.stack import BenchStack, cpu_s, pss_mib, stack

SETTLE_S = 15.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench footprint")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(argv)
    with stack() as running:
        time.sleep(SETTLE_S)
        return measure(running, options.seconds)


def measure(running: BenchStack, seconds: float) -> dict[str, Any]:
    groups = running.processes()
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
