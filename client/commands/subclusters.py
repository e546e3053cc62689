"""One sub-cluster: how it is, how one joins, and emptying it until it leaves."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from client.api import Client
from client.commands.cluster import HELD, ago, amounts, in_service, resources
from client.commands.common import ShowingGroup, connected
from client.commands.nodes import NEVER, deadline_s, seconds
from client.errors import client_error
from client.screen import Column, Format, OutputOption, plain, print_json, say, show, show_one, told
from client.transport import is_loopback
from contract.subclusters import (
    Left,
    OtherSubCluster,
    QueueThere,
    SubCluster,
    SubClusterDetail,
    SubClusterDrainPreview,
    TiedGroup,
)
from wire.counts import counted

TOKEN_ENV = "HYDRA_SUB_CLUSTER_TOKEN"  # noqa: S105  the name of a variable
LOOK_EVERY_S = 1.0
JOBS_LEAVE_S = 10.0  # after the last container, where another sub-cluster takes them


group = typer.Typer(
    cls=ShowingGroup, no_args_is_help=True, help="One sub-cluster: show it, join, empty it, let it leave."
)
NameArgument = Annotated[str, typer.Argument(metavar="SUB-CLUSTER")]
MessageOption = Annotated[str, typer.Option("--message", "-m", help="Why; others read it.")]


@group.command("show")
def show_sub_cluster(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """One sub-cluster. The word show may be left out: hydractl sub-cluster east."""
    with connected(ctx) as client:
        s = client.sub_cluster(name)
    load, shares = s.load, s.shares
    pairs = [
        ("sub-cluster", s.name), ("state", "frozen" if s.frozen else s.state), ("since", s.state_at),
        ("message", s.message), ("by", s.state_by), ("deadline", s.deadline), ("waits for", s.waits_for),
        ("left there", _left(s.left)), ("leader", s.leader), ("epoch", s.epoch),
        ("lease renewed", ago(s.lease_age_s)), ("nodes in service", in_service(s)), ("nodes", amounts(s.nodes)),
        *((name, held(s)) for name, held in HELD),
        ("free", resources(load.free if load else None)), ("containers", s.live_containers),
        ("pending", s.pending.containers), ("load told", ago(load.age_s if load else None)),
        ("policy version", s.policy_version), ("shares", shares and shares.version),
        ("shares in force", load and load.shares_version),
        ("shares made", ago(shares.age_s if shares else None)),
        ("would preempt", s.would_preempt and f"{s.would_preempt.marked:,} now, {s.would_preempt.stopped:,} so far"),
    ]  # fmt: skip
    show_one(s, pairs, output)


@group.command("token")
def token(
    ctx: typer.Context,
    name: Annotated[str, typer.Option("--name", help="The only name it may register; without: any.")] = "",
    valid: Annotated[str, typer.Option("--valid", help="How long, like 1h or 2d.")] = "1h",
    note: Annotated[str, typer.Option("--note", help="What it is for.")] = "",
    output: OutputOption = Format.table,
) -> None:
    """A token with which one new sub-cluster registers, once. It is shown this once."""
    with connected(ctx) as client:
        made = client.sub_cluster_token(name, note, seconds(valid, "valid"))
    if output is Format.json:
        print_json(made)
        return
    print(made.token)
    there = "URL" if is_loopback(client.url) else client.url  # this machine's own address is no good on others
    command = f"hydractl --url {there} sub-cluster register {name or 'NAME'} --token -"
    say(f"Until {plain(made.expires_at)}, on the new machines: {command}")


@group.command("register")
def register_sub_cluster(
    ctx: typer.Context,
    name: NameArgument,
    token: Annotated[
        str, typer.Option("--token", envvar=TOKEN_ENV, help="What an operator gave you; -: read it from stdin.")
    ],
    output: OutputOption = Format.table,
) -> None:
    """Make a new sub-cluster of the federation, by a token alone. Says what to start on its machines."""
    text = sys.stdin.readline().strip() if token == "-" else token  # noqa: S105
    with connected(ctx) as client:
        made = client.register_sub_cluster(name, text)
    if output is Format.json:
        print_json(made)
        return
    print(made.join_token)
    say(f"Sub-cluster {made.name} is {made.state}. Its RM, unless workers run with --all:")
    say(f"  manage.py worker --name worker-{made.name} --queues {made.queue}")
    until = plain(made.join_token_expires_at)
    say(f"Its nodes register with the token above until {until} (join_token_file in node.yaml).")


@group.command("join-token")
def join_token(
    ctx: typer.Context,
    name: NameArgument,
    valid: Annotated[str, typer.Option("--valid", help="How long, like 1h or 30d.")] = "1d",
    note: Annotated[str, typer.Option("--note", help="What it is for.")] = "",
    node: Annotated[
        str, typer.Option("--node", help="The only node it registers, once, even where another machine has the name.")
    ] = "",
    output: OutputOption = Format.table,
) -> None:
    """A token with which new nodes register in this sub-cluster. It is shown this once."""
    with connected(ctx) as client:
        made = client.join_token(name, note, seconds(valid, "valid"), node)
    if output is Format.json:
        print_json(made)
    else:
        print(made.token)


@group.command("drain")
def drain(
    ctx: typer.Context,
    name: NameArgument,
    *,
    deadline: Annotated[
        str, typer.Option("--deadline", help="From now, like 2h: what runs then is stopped. never: nothing is.")
    ] = NEVER,
    message: MessageOption = "",
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would happen.")] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Until nothing is left there.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Empty a sub-cluster. Nothing new is sent there, services leave at once, the rest may end until the deadline."""
    limit = deadline_s(deadline)
    with connected(ctx) as client:
        if preview:
            _show_preview(client.sub_cluster_drain_preview(name, deadline_s=limit), output)
            return
        s = client.drain_sub_cluster(name, deadline_s=limit, message=message)
        if wait:
            s = _wait(client, s)
    _told(s, f"is being drained; {_now(s)}", output)


def _now(s: SubClusterDetail) -> str:
    if not _left(s.left):
        to = "hydractl sub-cluster"
        return f"it is empty. Use it again: {to} resume {s.name}; let it leave for good: {to} decommission {s.name}"
    if s.left and not s.left.containers:
        return f"no container is left there, and {counted(s.left.jobs, 'job')} that no other sub-cluster takes now"
    return f"left there: {_left(s.left)}"


@group.command("resume")
def resume(
    ctx: typer.Context, name: NameArgument, message: MessageOption = "", output: OutputOption = Format.table
) -> None:
    """End a drain: it gets jobs and takes containers again."""
    with connected(ctx) as client:
        _told(client.resume_sub_cluster(name, message), "takes work again", output)


@group.command("decommission")
def decommission(
    ctx: typer.Context, name: NameArgument, message: MessageOption = "", output: OutputOption = Format.table
) -> None:
    """Let an empty sub-cluster leave for good. Its history stays."""
    with connected(ctx) as client:
        _told(client.decommission_sub_cluster(name, message), "has left; stop its workers and node managers", output)


def _left(left: Left | None) -> str:
    """``2 jobs, 1 container``; empty when nothing is left."""
    if left is None:
        return ""
    return ", ".join(counted(n, what) for n, what in ((left.jobs, "job"), (left.containers, "container")) if n)


def _told(s: SubCluster, what: str, output: Format) -> None:
    told(s, f"sub-cluster {s.name} {what}", output)


def _wait(client: Client, s: SubClusterDetail) -> SubClusterDetail:
    """Look until it is empty; tells what is left, whenever that changes.

    After its last container its jobs leave. Where no other sub-cluster takes them they stay, for ever perhaps.
    """
    said, emptied = "", time.monotonic()
    while s.left and _left(s.left):
        if s.left.containers:
            emptied = time.monotonic()
        elif time.monotonic() - emptied > JOBS_LEAVE_S:
            break
        if said != (said := _left(s.left)):
            say(f"{s.name}: left there: {said}")
        time.sleep(LOOK_EVERY_S)
        s = client.sub_cluster(s.name)
        if s.state != "draining":
            raise client_error(f"{s.name} is {s.state} meanwhile", remedy=f"See: hydractl sub-cluster {s.name}")
    return s


def _show_preview(p: SubClusterDrainPreview, output: Format) -> None:
    if output is Format.json:
        print_json(p)
        return
    guests = f", {p.guests} of them of jobs at home elsewhere" if p.guests else ""
    print(f"{p.sub_cluster}: {counted(p.jobs, 'job')} at home, {counted(p.containers, 'container')}{guests}")
    queues: list[Column[QueueThere]] = [
        ("QUEUE", lambda q: q.queue), ("JOBS", lambda q: q.jobs), ("CONTAINERS", lambda q: q.containers),
        ("OF SERVICES", lambda q: q.services), ("END", lambda q: q.ends), ("STOPPED", lambda q: q.stopped),
        ("NO ESTIMATE", lambda q: q.unknown), ("IN ALL", lambda q: resources(q.amounts)),
    ]  # fmt: skip
    if p.queues:
        print()
        show(p.queues, queues, output, nothing="")
    if p.others:
        others: list[Column[OtherSubCluster]] = [
            ("ELSEWHERE", lambda s: s.sub_cluster), ("OPEN NODES", lambda s: s.nodes),
            ("FULL NOW", lambda s: f"{s.percent:g} %"), ("AFTERWARDS", lambda s: f"{s.percent_after:g} %"),
        ]  # fmt: skip
        print()
        show(p.others, others, output, nothing="")
    if p.tied:
        tied: list[Column[TiedGroup]] = [
            ("RUNS NOWHERE ELSE", lambda t: f"{t.job} {t.job_name}"), ("GROUP", lambda t: t.group),
            ("CONTAINERS", lambda t: t.containers), ("BECAUSE", lambda t: t.why),
        ]  # fmt: skip
        print()
        show(p.tied, tied, output, nothing="")
    print(f"\n{_verdict(p)}")


def _verdict(p: SubClusterDrainPreview) -> str:
    said = []
    if p.deadline is None:
        said.append("Without a deadline every batch task may end by itself.")
    else:
        said.append(
            f"By {plain(p.deadline)}: {counted(p.ends, 'batch task')} would end by themselves, {p.stopped} be stopped "
            f"and tried again, of {p.unknown} nobody knows."
        )
    if p.over_maximum:
        queues = ", ".join(f"{q.queue} {q.containers}" for q in p.over_maximum)
        said.append(f"Of what leaves ({resources(p.moves)}), the maxima of queues keep some waiting: {queues}.")
    elif not p.moves.nothing:
        room = "has room elsewhere now" if p.fits else "has no room elsewhere now, and would wait"
        said.append(f"What leaves ({resources(p.moves)}) {room}.")
    if p.tied_groups:
        said.append(f"{counted(p.tied_groups, 'task group')} can run nowhere else.")
    return " ".join(said)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="sub-cluster", rich_help_panel="Cluster")
