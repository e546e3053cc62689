"""History over time: ``hydractl series``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from client.commands.cluster import resources
from client.commands.common import apart, connected
from client.commands.figures import NONE
from client.commands.nodes import moment, seconds
from client.errors import client_error
from client.screen import Column, Format, plain, print_json, printable, say, show
from contract.series import ScopeUsage, Series, SeriesAnswer
from wire.counts import counted

_Row = tuple[datetime, list[float | None]]


class SeriesFormat(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


def series(
    ctx: typer.Context,
    metrics: Annotated[
        list[str] | None, typer.Argument(metavar="METRIC...", help="Like allocated_memory_mib.", show_default=False)
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", "-s", help="cluster, sub-cluster:NAME, queue:PATH or node:NUMBER; may be repeated."),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--last", help="So far back, like 90s, 15m, 6h or 7d; an hour by default.")
    ] = None,
    start: Annotated[str | None, typer.Option("--from", help="From this moment on instead.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this moment; now by default.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="How all sub-clusters and queues stood at this moment instead.")
    ] = None,
    points: Annotated[int, typer.Option("--points", help="At most so many.")] = 60,
    output: Annotated[
        SeriesFormat,
        typer.Option("--output", "-o", envvar="HYDRA_OUTPUT", help="For people, for programs, or for spreadsheets."),
    ] = SeriesFormat.table,
) -> None:
    """Metrics over time, as the charts show them; or how everything stood at a moment."""
    if at is not None:
        given = {"METRIC": metrics, "scope": scope, "last": last, "from": start, "to": end}
        _stood(ctx, at, [name for name, value in given.items() if value], output)
        return
    if not metrics:
        raise client_error("is missing", field_name="METRIC", remedy="Name one or more, or a moment with --at.")
    apart(ctx, "last", "start")
    until = moment(end or "now", "to")
    since = moment(start, "from") if start else until - timedelta(seconds=seconds(last or "1h", "last"))
    with connected(ctx) as client:
        found = client.series(metrics, scope or ["cluster"], since, until, points)
    if output is SeriesFormat.json:
        print_json(found)
        return
    rows = [(datetime.fromtimestamp(t, UTC), [s.values[i] for s in found.series]) for i, t in enumerate(found.at)]
    if output is SeriesFormat.csv:
        _write(found, rows)
        return
    columns: list[tuple[str, Callable[[_Row], Any]]] = [("FROM", lambda row: row[0])]
    columns += [(_title(s), lambda row, at=at: row[1][at]) for at, s in enumerate(found.series)]  # type: ignore[misc]
    show(rows, columns, Format.table, nothing="There is nothing of that time.")
    for event in found.events:
        say(f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}  {event.text}")


_USAGE: list[Column[ScopeUsage]] = [
    ("SCOPE", lambda s: s.name), ("ALLOCATED", lambda s: resources(s.allocated)),
    ("OF", lambda s: resources(s.capacity)), ("PENDING", lambda s: resources(s.pending)),
    ("CONTAINERS PENDING", lambda s: s.pending_containers),
    ("SHARE", lambda s: NONE if s.dominant_share is None else f"{s.dominant_share:.1%}"),
    ("DECISIONS", lambda s: s.decisions), ("PREEMPTIONS", lambda s: s.preemptions),
]  # fmt: skip


def _stood(ctx: typer.Context, at: str, given: list[str], output: SeriesFormat) -> None:
    """The window of a moment. given: options that ask for something else."""
    if given:
        raise client_error("a moment has no span, and all of it is shown", field_name=given[0], remedy="Leave it out.")
    if output is SeriesFormat.csv:
        raise client_error("csv is for metrics over time", field_name="output", remedy="Use table or json.")
    with connected(ctx) as client:
        found = client.standing(moment(at, "at"))
    if output is SeriesFormat.json:
        print_json(found)
        return
    say(f"In the {found.step_s} s from {plain(found.at)}:")
    rows = [*([found.cluster] if found.cluster else []), *found.sub_clusters, *found.queues]
    show(rows, _USAGE, Format.table, nothing="There is nothing of that time.")
    if found.queues_left_out:
        say(f"{counted(found.queues_left_out, 'more queue')} had something in them.")


def _title(one: Series) -> str:
    return f"{one.scope} {one.metric}"


def _write(found: SeriesAnswer, rows: list[_Row]) -> None:
    """As RFC 4180 has it; what is unknown is empty."""
    out = csv.writer(sys.stdout)
    out.writerow(["time", *(printable(_title(s)) for s in found.series)])
    for at, values in rows:
        out.writerow([at.isoformat().replace("+00:00", "Z"), *("" if v is None else f"{v:g}" for v in values)])


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Cluster")(series)
