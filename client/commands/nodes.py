"""One node: how it is, and taking it out of service and back. Maintenance windows."""

from __future__ import annotations

import re
import sys
import time
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from client import clock
from client.api import Client
from client.commands.cluster import ago, resources, shown_state
from client.commands.common import ShowingGroup, complete_node, connected, near, with_number
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, only_of_lists, picking, sorting
from client.screen import Column, Format, OutputOption, duration, plain, print_json, say, show, show_one, told
from contract.nodes import BatchEnd, DrainPreview, Maintenance, Node, NodeContainer, ServiceMove
from wire.counts import counted

NEVER = "never"
LOOK_EVERY_S = 1.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


node = typer.Typer(cls=ShowingGroup, no_args_is_help=True, help="One node: show it, take it out of service and back.")
maintenance = typer.Typer(no_args_is_help=True, help="Times in which nodes are to be empty.")
NodeArgument = Annotated[
    str,
    typer.Argument(metavar="NODE", help="Its name, SUB-CLUSTER/NAME, or its number.", autocompletion=complete_node),
]
MessageOption = Annotated[str, typer.Option("--message", "-m", help="Why; owners of what moves read it.")]
DeadlineOption = Annotated[
    str, typer.Option("--deadline", help="From now, like 30m or 2h: what runs then is stopped. never: nothing is.")
]
WaitOption = Annotated[bool, typer.Option("--wait", "-w", help="Until nothing is left there.")]


def seconds(text: str, name: str) -> int:
    """``90``, ``45s``, ``30m``, ``2h``, ``1d`` as seconds."""
    found = _AMOUNT.fullmatch(text.strip())
    if not found:
        raise client_error(f"{text!r} is not a time span", field_name=name, remedy="Write it like 90s, 30m, 2h or 1d.")
    return round(float(found[1]) * _UNITS[found[2] or "s"])


def deadline_s(text: str) -> int | None:
    return None if text == NEVER else seconds(text, "deadline")


def moment(text: str, name: str, also: str = "") -> datetime:
    """``YYYY-MM-DD HH:MM``, ``+30m`` from now, ``-4h`` ago, or ``now``. Without a zone: this machine's."""
    if text == "now":
        return clock.now()
    if text[:1] in ("+", "-"):
        span = timedelta(seconds=seconds(text[1:], name))
        return clock.now() + (span if text[0] == "+" else -span)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        remedy = f"Write it like YYYY-MM-DDTHH:MM, with a Z for UTC, +30m, -4h{also} or now."
        raise client_error(f"{text!r} is not a time", field_name=name, remedy=remedy) from None
    return at if at.tzinfo else at.astimezone()


def find(client: Client, text: str) -> Node:
    """The node of this name or number."""
    sub_cluster, _, name = text.rpartition("/")
    found = with_number(list(client.nodes(sub_cluster=sub_cluster or None, name=name)), text, client.node)
    if not found:
        known = client.nodes(sub_cluster=sub_cluster or None)
        remedy = near(text, (f"{n.sub_cluster}/{n.name}" if sub_cluster else n.name for n in known), "hydractl nodes")
        raise client_error(f"there is no node {text}", field_name="node", remedy=remedy)
    if len(found) > 1:
        names = ", ".join(f"{n.sub_cluster}/{n.name}{f' (number {n.id})' if str(n.id) == text else ''}" for n in found)
        raise client_error(f"{text} names several nodes", field_name="node", remedy=f"Name one of: {names}")
    return found[0]


_CONTAINERS: list[Column[NodeContainer]] = [
    ("CONTAINER", lambda c: c.id), ("JOB", lambda c: f"{c.job} {c.job_name}"),
    ("TASK", lambda c: f"{c.group}/{c.index}"), ("ATTEMPT", lambda c: c.attempt), ("STATE", lambda c: c.state),
    ("QUEUE", lambda c: c.queue), ("OWNER", lambda c: c.owner), ("MEMORY MIB", lambda c: c.memory_mib),
    ("USED MIB", lambda c: c.used_memory_mib), ("CORES", lambda c: c.vcores_milli / 1000),
    ("GPUS", lambda c: c.gpus), ("TOOK", lambda c: duration(c.started_at, None)),
]  # fmt: skip


@node.command("show")
def node_show(
    ctx: typer.Context,
    node: NodeArgument,
    containers: Annotated[bool, typer.Option("--containers", help="What runs there instead, of jobs you see.")] = False,
    sort: Annotated[str | None, sorting(_CONTAINERS)] = None,
    columns: Annotated[str | None, picking(_CONTAINERS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """One node. The word show may be left out: hydractl node east-1."""
    look = Looking(sort, columns, watch)
    if not containers:
        only_of_lists(look, "Leave it out, or give --containers.")
    with connected(ctx) as client:
        n = find(client, node)
        if containers:
            found, nothing = partial(client.node_containers, n.id), "Nothing runs there that you may see."
            listed(found, _CONTAINERS, output, nothing=nothing, look=look)
            return
    pairs = [
        ("node", n.id), ("name", n.name), ("sub-cluster", n.sub_cluster), ("rack", n.rack), ("state", shown_state(n)),
        ("duty", n.duty.replace("_", " ")), ("message", n.message), ("by", n.duty_by), ("since", n.duty_at),
        ("deadline", n.deadline), ("maintenance", _window_line(n)), ("faults", n.health),
        ("health script", n.health_text), ("labels", n.labels), ("capacity", n.capacity), ("allocated", n.allocated),
        ("used", n.used), ("containers", n.containers), ("seen", ago(n.last_seen_s)), ("enforces", n.enforces),
        ("host", n.host), ("version", n.version),
    ]  # fmt: skip
    show_one(n, pairs, output)


def _window_line(n: Node) -> str:
    w = n.maintenance
    if not w:
        return ""
    span = f"{plain(w.starts_at)} to {plain(w.ends_at)}"
    if w.active:
        span = f"now, until {plain(w.ends_at)}" if w.starts_at <= clock.now() else f"{span}, being emptied for it"
    return span + (f": {w.message}" if w.message else "")


@node.command("cordon")
def node_cordon(
    ctx: typer.Context, node: NodeArgument, message: MessageOption = "", output: OutputOption = Format.table
) -> None:
    """No new containers there; what runs, runs on."""
    with connected(ctx) as client:
        _told(client.cordon(find(client, node).id, message), "takes no new containers; what runs there runs on", output)


@node.command("uncordon")
def node_uncordon(
    ctx: typer.Context, node: NodeArgument, message: MessageOption = "", output: OutputOption = Format.table
) -> None:
    """Back to work, after a cordon, a drain or a decommission."""
    with connected(ctx) as client:
        n = client.uncordon(find(client, node).id, message)
    if n.state == "DECOMMISSIONED":
        what = "may register again: its node manager does so within seconds if it runs; else start it"
    elif n.maintenance and n.maintenance.active:
        cancel = f"hydractl maintenance cancel {n.maintenance.id}"
        what = f"has maintenance; it works again when that ends, or with: {cancel}"
    else:
        what = "takes containers again"
    _told(n, what, output)


def _told(n: Node, what: str, output: Format) -> None:
    told(n, f"{n.sub_cluster}/{n.name} {what}", output)


@node.command("drain")
def node_drain(
    ctx: typer.Context,
    node: NodeArgument,
    *,
    deadline: DeadlineOption = "1h",
    message: MessageOption = "",
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would happen.")] = False,
    wait: WaitOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Empty a node. Services move at once, half of each at most; batch tasks may end until the deadline."""
    limit = deadline_s(deadline)
    with connected(ctx) as client:
        n = find(client, node)
        if preview:
            _show_preview(client.drain_preview(n.id, deadline_s=limit), output)
            return
        n = client.drain(n.id, deadline_s=limit, message=message)
        if wait:
            n = _wait(client, n)
    _told(n, "is drained" if n.drained else "is being drained; back to work: hydractl node uncordon", output)


@node.command("decommission")
def node_decommission(
    ctx: typer.Context,
    node: NodeArgument,
    *,
    deadline: Annotated[str | None, typer.Option("--deadline", help="As of drain; 1h.")] = None,
    message: MessageOption = "",
    now: Annotated[bool, typer.Option("--now", help="Without draining: what runs there starts elsewhere.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --now: do not ask.")] = False,
    wait: WaitOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Drain a node; once it is empty it leaves for good. Its history stays."""
    if now and deadline:
        remedy = "leave it out, or --now, which waits for nothing"
        raise client_error("does not go with --now", field_name="--deadline", remedy=remedy)
    limit = deadline_s(deadline or "1h")
    with connected(ctx) as client:
        n = find(client, node)
        if now and n.containers and not yes and sys.stdin.isatty():
            lost = counted(n.containers, "container runs", "containers run")
            if not typer.confirm(f"{lost} on {n.sub_cluster}/{n.name} and would be lost at once. Do that?", err=True):
                say("Nothing was changed.")
                raise typer.Exit(1)
        n = client.decommission(n.id, deadline_s=limit, message=message, now=now)
        if wait:
            n = _wait(client, n)
    gone = now or n.state == "DECOMMISSIONED"
    _told(n, "is decommissioned" if gone else "leaves once it is empty", output)


def _wait(client: Client, n: Node) -> Node:
    """Look until the node is empty (and, where that was wanted, gone); tells how many containers are left."""
    duty, left = n.duty, -1
    while not (n.drained if duty == "draining" else n.state == "DECOMMISSIONED"):
        if n.duty != duty:
            raise client_error(f"{n.name} is {n.duty.replace('_', ' ')} meanwhile, by {n.duty_by or 'somebody'}")
        if n.containers != left:
            left = n.containers or 0
            say(f"{n.sub_cluster}/{n.name}: {counted(left, 'container')} left")
        time.sleep(LOOK_EVERY_S)
        n = client.node(n.id)
    return n


def _show_preview(p: DrainPreview, output: Format) -> None:
    if output is Format.json:
        print_json(p)
        return
    if not p.services and not p.batch:
        print(f"Nothing runs on {p.name}: it would be drained at once.")
        return
    if p.services:
        services: list[Column[ServiceMove]] = [
            ("SERVICE", lambda s: f"{s.job} {s.job_name}"), ("GROUP", lambda s: s.group),
            ("TASKS HERE", lambda s: s.tasks), ("OF", lambda s: s.count), ("AT ONCE", lambda s: s.at_once),
            ("EACH", lambda s: resources(s.resources)), ("FIT ELSEWHERE", lambda s: f"{s.fit} of {len(s.tasks)}"),
        ]  # fmt: skip
        show(p.services, services, output, nothing="")
        print()
    if p.batch:
        words = {"ends": "ends by itself", "stopped": "stopped at the deadline", "unknown": "no estimate"}
        batch: list[Column[BatchEnd]] = [
            ("JOB", lambda b: f"{b.job} {b.job_name}"), ("TASK", lambda b: f"{b.group}/{b.index}"),
            ("STARTED", lambda b: b.started_at), ("EXPECTED END", lambda b: b.ends_at),
            ("OUTCOME", lambda b: words.get(b.outcome, b.outcome)),
        ]  # fmt: skip
        show(p.batch, batch, output, nothing="")
        print()
    print(_verdict(p))


def _verdict(p: DrainPreview) -> str:
    here, fit = sum(len(s.tasks) for s in p.services), sum(s.fit for s in p.services)
    said = []
    if here:
        said.append(
            ("The service task has" if here == 1 else f"All {here} service tasks have") + " room elsewhere now."
            if p.services_fit
            else f"Only {fit} of {counted(here, 'service task')} would have room elsewhere now: the rest would wait."
        )
    if p.batch and p.deadline is None:
        ended = counted(len(p.batch), "batch task has", "batch tasks have")
        said.append(f"The drain would last until {ended} ended.")
    elif p.batch:
        ends = counted(p.ends, "batch task ends by itself", "batch tasks end by themselves")
        said.append(
            f"By {plain(p.deadline)}: {ends}, {p.stopped} would be stopped and tried again, "
            f"of {p.unknown} nobody knows."
        )
    return " ".join(said)


# --- maintenance windows


def _which(w: Maintenance) -> str:
    return next(f"{name} {value}" for name in ("node", "rack", "labels") if (value := getattr(w, name)))


_WINDOWS: list[Column[Maintenance]] = [
    ("WINDOW", lambda w: w.id), ("STATE", lambda w: w.state), ("SUB-CLUSTER", lambda w: w.sub_cluster),
    ("OF", _which), ("NODES", lambda w: w.nodes), ("STARTS", lambda w: w.starts_at),
    ("ENDS", lambda w: w.ends_at), ("LEAD", lambda w: f"{w.lead_s / 60:g} min"), ("BY", lambda w: w.created_by),
    ("MESSAGE", lambda w: w.message or " "),
]  # fmt: skip


@maintenance.command("list")
def maintenance_list(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(_WINDOWS)] = None,
    columns: Annotated[str | None, picking(_WINDOWS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Windows that are planned, whose nodes are being emptied, or that are active."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.maintenance, _WINDOWS, output, nothing="No maintenance is planned.", look=look)


@maintenance.command("add")
def maintenance_add(
    ctx: typer.Context,
    sub_cluster: Annotated[str, typer.Argument(metavar="SUB-CLUSTER")],
    *,
    start: Annotated[str, typer.Option("--start", help="+2d, +30m, now or YYYY-MM-DDTHH:MM (your time; with Z: UTC).")],
    end: Annotated[str, typer.Option("--end", help="The same; or give --for.")] = "",
    lasts: Annotated[str, typer.Option("--for", help="How long, like 2h.")] = "",
    node: Annotated[str, typer.Option("--node", help="This node.")] = "",
    rack: Annotated[str, typer.Option("--rack", help="All nodes of this rack.")] = "",
    labels: Annotated[str, typer.Option("--labels", help="All nodes that match, like 'gpu && zone == a'.")] = "",
    lead: Annotated[str, typer.Option("--lead", help="Services move so long before the start.")] = "10m",
    message: MessageOption = "",
    output: OutputOption = Format.table,
) -> None:
    """Plan a window. Its nodes are empty when it starts and work again when it ends, by themselves."""
    if bool(end) == bool(lasts):
        wrong = "the window has two ends" if end else "the window has no end"
        raise client_error(wrong, field_name="end", remedy="Give one of --end and --for.")
    starts_at = moment(start, "start")
    ends_at = moment(end, "end") if end else starts_at + timedelta(seconds=seconds(lasts, "for"))
    more = {"node": node, "rack": rack, "labels": labels, "message": message, "lead_s": seconds(lead, "lead")}
    with connected(ctx) as client:
        made = client.add_maintenance(sub_cluster, starts_at, ends_at, **more)
    if output is Format.json:
        print_json(made)
    else:
        print(f"window {made.id}: {counted(made.nodes, 'node')} of {made.sub_cluster}, from {plain(made.starts_at)}")
        if not made.nodes:
            say("No node matches now. Is it spelled right? hydractl nodes lists names and racks.")


@maintenance.command("cancel")
def maintenance_cancel(
    ctx: typer.Context,
    window: Annotated[int, typer.Argument(metavar="WINDOW", help="Its number.")],
    output: OutputOption = Format.table,
) -> None:
    """Call a window off; its nodes take work again at once."""
    with connected(ctx) as client:
        done = client.cancel_maintenance(window)
    told(done, f"window {done.id} is cancelled", output)


def register(app: typer.Typer) -> None:
    app.add_typer(node, name="node", rich_help_panel="Cluster")
    app.add_typer(maintenance, name="maintenance", rich_help_panel="Cluster")
