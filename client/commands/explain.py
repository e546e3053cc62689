"""Why a job waits, readably."""

from __future__ import annotations

import datetime as dt

import typer
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from client.commands.common import JobArgument, connected
from client.screen import Format, OutputOption, cell, console, plain, print_json, say
from contract.waiting import GroupExplanation, WaitLimit, WaitReason
from wire.counts import counted

BAR_WIDTH = 20


def explain(ctx: typer.Context, job: JobArgument, output: OutputOption = Format.table) -> None:
    """Why a job waits: the limits that bind, its place, when it can start, and what would start it."""
    with connected(ctx) as client:
        answer = client.explain(job)
    if output is Format.json:
        print_json(answer)
        return
    waiting = [group for group in answer.groups if group.reason or group.elsewhere]
    for group in waiting:
        _show(group)
    if not waiting:
        say(f"job {answer.job} is {answer.state}: {answer.waiting or 'nothing of it waits'}.")


def _show(group: GroupExplanation) -> None:
    reason, screen = group.reason, console()
    count = reason.waiting if reason else group.pending
    screen.print(Text(f"{group.name}: {counted(count, 'task waits', 'tasks wait')}", style="bold"))
    if reason is None or not reason.limits:
        screen.print(cell(f"  1. {reason.text if reason else 'nobody said why'}"))
    for number, limit in enumerate(reason.limits if reason else (), 1):
        screen.print(cell(f"  {number}. {limit.text or limit.limit}"))
        if rows := _amounts(limit):
            screen.print(rows)
    screen.print(_facts("  ", _rest(reason, group.as_of)))
    for place in group.elsewhere:
        why = place.reason.text if place.reason else "its resource manager has not said why yet"
        screen.print(cell(f"  {place.waiting:,} in {place.sub_cluster}: {why}"))
        if place.reason:
            screen.print(_facts("    ", _rest(place.reason, place.reason.at)))
    screen.print()


def _facts(indent: str, named: list[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in named:
        table.add_row(f"{indent}{name}", cell(text))
    return table


def _amounts(limit: WaitLimit) -> Table | None:
    """What it has of what is asked, a bar for each; none where the account is not told what is left."""
    if not limit.asked or not limit.available:
        return None
    table = Table.grid(padding=(0, 2))
    for name, wanted in limit.asked.items():
        there = limit.available.get(name, 0)
        bar = ProgressBar(total=max(1, wanted), completed=min(wanted, there), width=BAR_WIDTH)
        table.add_row("    ", cell(name), bar, cell(f"{there:,} of {wanted:,}"))
    return table


def _rest(reason: WaitReason | None, as_of: dt.datetime | None) -> list[tuple[str, str]]:
    found = []
    if reason and (position := reason.position):
        jobs, containers = position.jobs_ahead, position.containers_ahead
        before = [counted(n, what) for n, what in ((jobs, "job"), (containers, "container")) if n is not None]
        found.append(("ahead in its queue", " with ".join(before) if jobs else "nobody"))
    if reason and reason.estimate:
        found.append(("starts", reason.estimate.text))
    if reason and (change := reason.change):
        now = "would start it now" if change.starts else "would help"
        found.append((now if change.what != "wait" else "to do", change.text))
    if as_of:
        found.append(("the same since", plain(as_of)))
    return found


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Jobs")(explain)
