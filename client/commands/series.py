"""History over time: ``hydractl series``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from client.commands.common import connected
from client.commands.nodes import moment, seconds
from client.screen import Format, print_json, printable, say, show
from contract.series import Series, SeriesAnswer

_Row = tuple[datetime, list[float | None]]


class SeriesFormat(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


def series(
    ctx: typer.Context,
    metrics: Annotated[list[str], typer.Argument(metavar="METRIC...", help="Like allocated_memory_mib.")],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", "-s", help="cluster, sub-cluster:NAME, queue:PATH or node:NUMBER; may be repeated."),
    ] = None,
    last: Annotated[str, typer.Option("--last", help="So far back, like 90s, 15m, 6h or 7d.")] = "1h",
    start: Annotated[str | None, typer.Option("--from", help="From this moment on instead.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this moment; now by default.")] = None,
    points: Annotated[int, typer.Option("--points", help="At most so many.")] = 60,
    output: Annotated[
        SeriesFormat, typer.Option("--output", "-o", help="For people, for programs, or for spreadsheets.")
    ] = SeriesFormat.table,
) -> None:
    """Metrics over time, as the charts show them."""
    until = moment(end, "to") if end else datetime.now(UTC)
    since = moment(start, "from") if start else until - timedelta(seconds=seconds(last, "last"))
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


def _title(one: Series) -> str:
    return f"{one.scope} {one.metric}"


def _write(found: SeriesAnswer, rows: list[_Row]) -> None:
    """As RFC 4180 has it; what is unknown is empty."""
    out = csv.writer(sys.stdout)
    out.writerow(["time", *(printable(_title(s)) for s in found.series)])
    for at, values in rows:
        out.writerow([at.isoformat().replace("+00:00", "Z"), *("" if v is None else f"{v:g}" for v in values)])


def register(app: typer.Typer) -> None:
    app.command()(series)
