"""A browser on 50,000 nodes and 5,000 queues: how soon pages answer, how smoothly the live map of the fleet moves."""

import argparse
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.browser import browser_for
from benchmarks.largefederation import fill, leading
from benchmarks.stack import BenchStack, cpu_s, percentile, stack
from benchmarks.submit_rate import UNLIMITED
from benchmarks.uipages import PAGES, Moving, Tabs, pictures, session_of

WAYS = ("still", "pointer", "narrowing")


def main(argv: list[str]) -> dict[str, Any]:
    """``argv``: sizes; ``--repeats`` of each page, ``--seconds`` of each way of moving on the map, ``--pictures``."""
    parser = argparse.ArgumentParser(prog="bench ui-scale")
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2500, help="of each sub-cluster")
    parser.add_argument("--queues", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the pages")
    options = parser.parse_args(argv)
    size = ("--sub-clusters", str(options.sub_clusters), "--nodes", "0")
    with browser_for("ui-scale") as browser, stack(*size, **UNLIMITED) as running:
        fill(running, options.nodes, options.queues, options.jobs)
        with leading(running) as leaders:
            return measure(running, browser, leaders, options)


def measure(running: BenchStack, browser: Any, leaders: psutil.Process, options: argparse.Namespace) -> dict[str, Any]:
    subs = options.sub_clusters
    session = session_of(browser, running.url, "operator", running.home.secrets()["operator_password"])
    tabs = Tabs(browser, running.url, session)
    first = tabs.fleet(subs)
    looks = [tabs.fleet(subs) for _ in range(options.repeats)]
    pages = {name: [tabs.open(sign) for _ in range(options.repeats)] for name, sign in PAGES.items()}
    moved, cpu = moving(running, tabs, leaders, options)
    if options.pictures:
        pictures(tabs, options.pictures, subs)
    return {
        "fleet_interactive_ms": median([look.interactive_ms for look in looks]),
        "heatmap_fps": min(found["drawn_fps"] for found in moved.values()),
        "initial_gzip_kb": tabs.gzip_kb("/", PAGES["overview"]),
        "fleet_painted_ms": median([look.painted_ms for look in looks]),
        "fleet_first_ms": round(first.interactive_ms),
        "fleet_slowest_ms": round(max(look.interactive_ms for look in looks)),
        **{f"{name}_interactive_ms": median(took) for name, took in pages.items()},
        "map": moved,
        "cores_used": cpu,
        "nodes": subs * options.nodes,
        "queues": options.queues,
    }


def median(values: list[float]) -> int:
    return round(percentile(values, 0.5))


def moving(
    running: BenchStack, tabs: Tabs, leaders: psutil.Process, options: argparse.Namespace
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """By way of moving on the map; and the cores that each process used meanwhile."""
    tab = Moving(tabs, options.sub_clusters)
    groups = {name: found for name, found in running.processes().items() if found} | {"leaders": [leaders]}
    groups["browser"] = [p for p in psutil.Process().children(recursive=True) if "chrom" in p.name()]
    before, began = {name: cpu_s(found) for name, found in groups.items()}, time.monotonic()
    moved = {way: tab.measure(way, options.seconds) for way in WAYS}
    seconds = time.monotonic() - began
    cpu = {name: round((cpu_s(found) - before[name]) / seconds, 2) for name, found in groups.items()}
    tab.page.context.close()
    return moved, {name: cores for name, cores in cpu.items() if cores >= 0.01}
