"""Where a job's containers serve."""

from __future__ import annotations

import typer

from client.commands.common import JobArgument, connected
from client.screen import Column, Format, OutputOption, show
from contract.jobs import Endpoint


def endpoints(ctx: typer.Context, job: JobArgument, output: OutputOption = Format.table) -> None:
    """The ports of a job's containers, their health, and where to open them."""
    with connected(ctx) as client:
        columns: list[Column[Endpoint]] = [
            ("PORT", lambda e: e.name), ("TASK", lambda e: f"{e.group}/{e.index}"), ("HEALTH", _health),
            ("ADDRESS", lambda e: f"{e.host}:{e.port}"), ("OPEN IT", lambda e: client.url + e.proxy),
            ("NODE", lambda e: e.node), ("REVISION", lambda e: e.revision), ("CONTAINER", lambda e: e.container),
        ]  # fmt: skip
        nothing = "Nothing of it serves (yet). Groups name their ports under ports:."
        show(client.endpoints(job), columns, output, nothing=nothing)


def _health(endpoint: Endpoint) -> str:
    return {True: "healthy", False: "failing", None: "unknown"}[endpoint.healthy]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Results")(endpoints)
