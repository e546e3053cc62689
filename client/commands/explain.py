"""Why a job waits, readably."""

from __future__ import annotations

from typing import Any

import typer
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from client.commands.common import JobArgument, connected
from client.screen import Format, OutputOption, cell, console, plain, print_json, say
from contract.waiting import GroupExplanation

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
    reason = group.reason or {}
    screen = console()
    count = int(reason.get("waiting") or group.pending)
    screen.print(Text(f"{group.name}: {count:,} task{'s wait' if count != 1 else ' waits'}", style="bold"))
    limits = reason.get("limits") or [{"text": reason.get("text") or reason.get("code") or "nobody said why"}]
    for number, limit in enumerate(limits, 1):
        screen.print(cell(f"  {number}. {limit.get('text') or limit.get('limit')}"))
        if rows := _amounts(limit):
            screen.print(rows)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in _rest(reason, group):
        table.add_row(f"  {name}", cell(text))
    screen.print(table)
    for place in group.elsewhere:
        why = (place.get("reason") or {}).get("text") or "its resource manager has not said why yet"
        screen.print(cell(f"  {place['waiting']:,} in {place['sub_cluster']}: {why}"))
    screen.print()


def _amounts(limit: dict[str, Any]) -> Table | None:
    """What it has of what is asked, a bar for each."""
    asked = limit.get("asked") or {}
    if not asked:
        return None
    table = Table.grid(padding=(0, 2))
    for name, wanted in asked.items():
        there = (limit.get("available") or {}).get(name, 0)
        bar = ProgressBar(total=max(1, wanted), completed=min(wanted, there), width=BAR_WIDTH)
        table.add_row("    ", cell(name), bar, cell(f"{there:,} of {wanted:,}"))
    return table


def _rest(reason: dict[str, Any], group: GroupExplanation) -> list[tuple[str, str]]:
    position, estimate, change = (reason.get(name) or {} for name in ("position", "estimate", "change"))
    found = []
    if position:
        jobs, containers = position.get("jobs_ahead"), position.get("containers_ahead")
        before = [
            f"{n:,} {what if n != 1 else what[:-1]}"
            for n, what in ((jobs, "jobs"), (containers, "containers"))
            if n is not None
        ]
        found.append(("ahead in its queue", " with ".join(before) if jobs else "nobody"))
    if estimate:
        found.append(("starts", str(estimate.get("text") or "")))
    if change:
        now = "would start it now" if change.get("starts") else "would help"
        found.append((now if change.get("what") != "wait" else "to do", str(change.get("text") or "")))
    if group.as_of:
        found.append(("as of", plain(group.as_of)))
    return found


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Jobs")(explain)
