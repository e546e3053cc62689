"""``manage.py status``: every process, its health, and how far the cluster's parts lag behind."""

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.table import Table

from controlplane.embedded import cluster
from controlplane.embedded.home import Home, HomeError, read_json

GOOD = {"ready", "done"}


class Command(BaseCommand):
    help = "Show every process with pid, health, uptime, epoch and lag. Exit status 3 when nothing runs."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--output", choices=["table", "json"], default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home.from_environment()
        try:
            report = collect(home)
        except HomeError as problem:
            raise CommandError(str(problem)) from None
        if options["output"] == "json":
            self.stdout.write(json.dumps(report, indent=1))
        else:
            show(report, Console())
        if not report["running"]:
            raise SystemExit(3)


def collect(home: Home) -> dict[str, Any]:
    state = read_json(home.state)
    running = home.running() > 0
    report: dict[str, Any] = {
        "running": running,
        "home": str(home.root),
        "url": state.get("url", ""),
        "phase": state.get("phase", "stopped") if running else "stopped",
        "message": state.get("message", ""),
        "processes": state.get("processes", []) if running else [],
        "sub_clusters": [],
        "nodes": [],
    }
    if running:
        try:
            report["sub_clusters"] = [vars_of(leader) for leader in cluster.leaders()]
            report["nodes"] = [vars_of(node) for node in cluster.nodes()]
        except DatabaseError as problem:
            report["message"] = f"the StateStore does not answer: {str(problem).splitlines()[0]}"
    merge(report)
    return report


def vars_of(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def merge(report: dict[str, Any]) -> None:
    """Each process's line: what it leads, and how old what it last said is."""
    nodes = {node["name"]: node for node in report["nodes"]}
    for process in report["processes"]:
        process["uptime_s"] = round(time.time() - process["since"], 1) if process["pid"] else 0.0
        process["health"] = "ok" if process["state"] in GOOD else process["state"]
        process["epoch"], process["lag_s"] = "", None
        led = [s for s in report["sub_clusters"] if s["alive"] and s["holder"] == process["name"]]
        if led:
            process["epoch"] = ", ".join(f"{s['sub_cluster']} {s['epoch']}" for s in led)
            lags = [s["behind_s"] for s in led if s["behind_s"] is not None]
            process["lag_s"] = round(max(lags), 1) if lags else None
        node = nodes.get(process["name"])
        if node:
            process["lag_s"] = round(node["age_s"], 1) if node["age_s"] is not None else None
            if node["state"] == "DECOMMISSIONED" or (process["health"] == "ok" and node["state"] != "UP"):
                process["health"] = node["state"].lower()


def show(report: dict[str, Any], console: Console) -> None:
    if not report["running"]:
        console.print(f"nothing runs in {report['home']}; start it with: manage.py up")
        return
    console.print(f"{report['phase']}  {report['url']}  {report['home']}", highlight=False)
    if report["message"]:
        console.print(report["message"], style="red", highlight=False)
    table = Table("process", "pid", "health", "uptime", "restarts", "leads (epoch)", "lag", box=None, pad_edge=False)
    for p in report["processes"]:
        if p["state"] == "done":
            continue
        lag = f"{p['lag_s']:.1f} s" if p["lag_s"] is not None else ""
        style = "" if p["health"] == "ok" else "red"
        row = [p["name"], str(p["pid"] or ""), p["health"], span(p["uptime_s"]), str(p["restarts"]), p["epoch"], lag]
        table.add_row(*row, style=style)
    console.print(table)
    for s in report["sub_clusters"]:
        if not s["alive"]:
            console.print(f"sub-cluster {s['sub_cluster']}: nobody leads it (last epoch {s['epoch']})", style="red")


def span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
