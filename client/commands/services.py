"""What is done with services while they run."""

from __future__ import annotations

from typing import Annotated

import typer

from client.commands.common import JobArgument, complete_group, connected
from client.screen import Format, OutputOption, print_json, say
from contract.jobs import JobDetail


def scale(
    ctx: typer.Context,
    job: JobArgument,
    group: Annotated[str, typer.Argument(metavar="GROUP", autocompletion=complete_group)],
    count: Annotated[int, typer.Argument(metavar="COUNT", help="So many tasks; of fewer the last ones stop.")],
    output: OutputOption = Format.table,
) -> None:
    """Keep another number of a service's tasks running. Its home decides, see hydractl events."""
    with connected(ctx) as client:
        _told(client.scale(job, group, count), f"asked for {count} of {group}", output)


def restart(
    ctx: typer.Context,
    job: JobArgument,
    group: Annotated[str | None, typer.Argument(metavar="[GROUP]", autocompletion=complete_group)] = None,
    index: Annotated[int | None, typer.Argument(metavar="[INDEX]", help="Of one task, which starts at once.")] = None,
    output: OutputOption = Format.table,
) -> None:
    """Start a service's task again; or all of a group or of the job, each when the one before it serves again."""
    what = "all of it" if group is None else group if index is None else f"{group}/{index}"
    with connected(ctx) as client:
        _told(client.restart(job, group, index), f"asked to restart {what}", output)


def _told(job: JobDetail, what: str, output: Format) -> None:
    if output is Format.json:
        print_json(job)
        return
    print(f"job {job.id}: {what}")
    say(f"See it: hydractl job {job.id}    what came of it: hydractl events {job.id}")


def register(app: typer.Typer) -> None:
    for command in (scale, restart):
        app.command(rich_help_panel="Jobs")(command)
