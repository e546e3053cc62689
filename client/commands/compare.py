"""Sub-clusters side by side: ``hydractl compare``; for operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from client.commands.common import connected
from client.commands.nodes import seconds
from client.screen import Format, OutputOption, plain, print_json, show
from contract.comparison import Compared

_Row = tuple[str, list[str]]


def _number(value: float | None, form: str = "{:,.1f}") -> str:
    return "-" if value is None else form.format(value)


_MEASURES: tuple[tuple[str, Callable[[Compared], str]], ...] = (
    ("state", lambda c: c.state),
    ("components of version", lambda c: plain(c.components_version)),
    ("allocations per s", lambda c: _number(c.allocations_per_s)),
    ("allocation latency p50 s", lambda c: _number(c.allocation_latency_p50_s, "{:,.3f}")),
    ("allocation latency p99 s", lambda c: _number(c.allocation_latency_p99_s, "{:,.3f}")),
    ("job wait p50 s", lambda c: _number(c.job_wait_p50_s, "{:,.3f}")),
    ("job wait p99 s", lambda c: _number(c.job_wait_p99_s, "{:,.3f}")),
    ("utilization", lambda c: _number(c.utilization, "{:.1%}")),
    ("pending memory MiB", lambda c: _number(c.pending.memory_mib, "{:,}")),
    ("pending cores", lambda c: _number(c.pending.vcores_milli / 1000)),
    ("ended per s", lambda c: _number(c.ended_per_s)),
    ("failures per min", lambda c: _number(c.failures_per_min)),
    ("preemptions per min", lambda c: _number(c.preemptions_per_min)),
    ("round p50 ms", lambda c: _number(c.round_p50_ms)),
    ("round p99 ms", lambda c: _number(c.round_p99_ms)),
)


def compare(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[SUB-CLUSTER]...", help="All without any.")] = None,
    window: Annotated[str, typer.Option("--window", "-w", help="Looked back so far, like 90s, 5m or 1h.")] = "5m",
    output: OutputOption = Format.table,
) -> None:
    """Sub-clusters side by side: what each did lately, and where their component policies differ."""
    with connected(ctx) as client:
        found = client.compare(names or (), seconds(window, "window"))
    if output is Format.json:
        print_json(found)
        return
    subs = found.sub_clusters
    rows: list[_Row] = [(title, [take(c) for c in subs]) for title, take in _MEASURES]
    rows += [(d.setting, [_setting(d.values.get(c.name)) for c in subs]) for d in found.differs]
    columns: list[tuple[str, Callable[[_Row], Any]]] = [("", lambda row: row[0])]
    columns += [(c.name, lambda row, at=at: row[1][at]) for at, c in enumerate(subs)]  # type: ignore[misc]
    show(rows if subs else [], columns, output, nothing="There are no sub-clusters.")


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {v:g}" for name, v in value.items()) or "-"
    return plain(value)


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Cluster")(compare)
