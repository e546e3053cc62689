"""Where a job's containers serve."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from client.commands.common import JobArgument, connected
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption
from contract.jobs import Endpoint


def endpoints(
    ctx: typer.Context,
    job: JobArgument,
    sort: Annotated[str | None, sorting(ENDPOINTS)] = None,
    columns: Annotated[str | None, picking(ENDPOINTS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The ports of a job's containers, their health, and where to open them."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        nothing = "Nothing of it serves (yet). Groups name their ports under ports:."
        listed(partial(client.endpoints, job), _columns(client.url), output, nothing=nothing, look=look)


def _columns(server: str) -> list[Column[Endpoint]]:
    return [
        ("PORT", lambda e: e.name), ("TASK", lambda e: f"{e.group}/{e.index}"), ("HEALTH", _health),
        ("ADDRESS", lambda e: f"{e.host}:{e.port}"), ("OPEN IT", lambda e: server + e.proxy),
        ("NODE", lambda e: e.node), ("REVISION", lambda e: e.revision), ("CONTAINER", lambda e: e.container),
    ]  # fmt: skip


def _health(endpoint: Endpoint) -> str:
    return {True: "healthy", False: "failing", None: "unknown"}[endpoint.healthy]


ENDPOINTS = _columns("")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Results")(endpoints)
