"""What the cluster does now, and what is one's own in it, on one screen."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from client.answers import to_json
from client.api import Client
from client.commands.cluster import HELD, SUB_CLUSTER_COLUMNS, amounts, in_service, resources
from client.commands.common import connected
from client.commands.jobs import JOBS
from client.looking import chosen, watched
from client.screen import Column, Format, Keyed, OutputOption, console, print_json, printable, tabulated
from contract.base import Amounts
from contract.jobs import Job
from contract.queues import Queue
from contract.subclusters import Overview
from wire.counts import counted
from wire.resources import AXES

_PLACES = chosen(
    SUB_CLUSTER_COLUMNS, f"sub-cluster,state,in-service,{','.join(name for name, _ in HELD)},running,pending"
)
_MINE = chosen(JOBS, "job,name,state,done,queue,prio,took,note")


def top(
    ctx: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="Print it once, for scripts.")] = False,
    interval: Annotated[float, typer.Option("--interval", "-i", min=0.2, help="Seconds between two looks.")] = 2.0,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, max=100, help="Queues, and jobs of yours, to show.")] = 10,
    output: OutputOption = Format.table,
) -> None:
    """Sub-clusters, the fullest queues and your live jobs, until Ctrl-C; as JSON once."""
    with connected(ctx) as client:
        me = client.me().username
        if output is Format.json:
            overview, mine = _look(client, me, rows)
            print_json({"overview": to_json(overview), "jobs": to_json(mine)})
        elif once:
            console().print(_picture(*_look(client, me, rows), rows))
        else:
            watched(lambda: _picture(*_look(client, me, rows), rows), interval)


def _look(client: Client, me: str, rows: int) -> tuple[Overview, list[Job]]:
    """Two requests, whatever the cluster's size."""
    mine = client.jobs(state="live", owner=me, page_size=rows)
    return client.overview(), list(islice(mine, rows))


def _picture(overview: Overview, mine: list[Job], rows: int) -> RenderableType:
    queues = fullest(overview, rows)
    parts: list[RenderableType] = [
        _head(overview), Text(),
        tabulated(overview.sub_clusters, _PLACES), Text(),
        tabulated(queues, _queue_columns(overview.capacity)) if queues else Text("No queue of yours."), Text(),
        tabulated(mine, _MINE) if mine else Text("You have no live jobs."),
    ]  # fmt: skip
    return Group(*parts)


def _head(o: Overview) -> Text:
    held = (f"{name} {found}" for name, take in HELD if (found := take(o)) != "-")
    first = f"{in_service(o)} nodes in service"
    yours = [
        f"{counted(o.live_containers, 'container')}, {o.pending.containers:,} pending",
        *held,
        f"jobs {amounts(o.jobs)}",
    ]
    if o.scope == "own":
        yours[0] = f"of yours {yours[0]}"
    return Text(printable("; ".join([first, *yours])), style="bold")


def fullest(overview: Overview, most: int) -> list[Queue]:
    """Leaves by how much of the cluster they hold, then by what waits in them."""
    leaves = [queue for queue in overview.queues if queue.leaf]
    return sorted(leaves, key=lambda q: (-part_of(q.used, overview.capacity), -q.pending, q.path))[:most]


def part_of(used: Amounts, capacity: Amounts) -> float:
    """The part of the resource of which it is largest; 0 to 1."""
    parts = ((getattr(used, axis), getattr(capacity, axis)) for axis in AXES)
    return max((amount / whole for amount, whole in parts if whole), default=0.0)


def _queue_columns(capacity: Amounts) -> list[Column[Queue]]:
    return [
        ("QUEUE", lambda q: q.path),
        ("USE", lambda q: Keyed(f"{100 * part_of(q.used, capacity):.0f} %", part_of(q.used, capacity))),
        ("USED", lambda q: resources(q.used)), ("GUARANTEED", lambda q: resources(q.guaranteed)),
        ("MAXIMUM", lambda q: resources(q.maximum)), ("PENDING", lambda q: q.pending),
        ("JOBS", lambda q: f"{q.running_jobs} of {q.live_jobs}"),
    ]  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Cluster")(top)
