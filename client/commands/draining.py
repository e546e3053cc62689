"""``sub-cluster simulate-drain``: what would wait if a sub-cluster were drained now; for operators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from client.commands.common import connected
from client.commands.nodes import NEVER, deadline_s, seconds
from client.commands.simulating import keep, show_answer, waited
from client.commands.subclusters import NameArgument, group
from client.screen import Format, OutputOption, print_json


@group.command("simulate-drain")
def simulate_drain(
    ctx: typer.Context,
    name: NameArgument,
    *,
    ahead: Annotated[
        str | None,
        typer.Option("--ahead", help="How far, like 4h or 2d; a week at most. Else an hour, after the deadline."),
    ] = None,
    deadline: Annotated[
        str, typer.Option("--deadline", help="From now, like 2h: what runs then is stopped. never: nothing is.")
    ] = NEVER,
    forecast: Annotated[bool, typer.Option(help="Jobs are taken to come as in the last hour.")] = True,
    seeds: Annotated[int, typer.Option(min=1, max=10, help="Runs of each side; more tell chance apart.")] = 3,
    to_json: Annotated[Path | None, typer.Option("--json", help="Write the whole answer there.")] = None,
    to_html: Annotated[Path | None, typer.Option("--html", help="Write the report there, a page.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="At most so many rows of each table; 0: all.")
    ] = 30,
    output: OutputOption = Format.table,
) -> None:
    """What would wait if it were drained now, and for how long. Changes nothing."""
    horizon_s, limit_s = None if ahead is None else seconds(ahead, "ahead"), deadline_s(deadline)
    with connected(ctx) as client:
        asked = client.request_drain_simulation(
            name, horizon_s=horizon_s, forecast=forecast, deadline_s=limit_s, seeds=seeds
        )
        found = waited(client, asked)
        keep(client, found, to_json, to_html)
    print_json(found) if output is Format.json else show_answer(found, limit)
    if found.state != "done":
        raise typer.Exit(1)
