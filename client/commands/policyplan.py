"""``policy plan``: what a document would do to the shares of now; for operators."""

from __future__ import annotations

from typing import Annotated

import typer

from client.answers import to_json
from client.commands.cluster import resources
from client.commands.common import connected
from client.commands.policy import FileArgument, FileOption, named, policy, reading
from client.commands.policypush import show_diff
from client.screen import Column, Format, OutputOption, print_json, say, show
from contract.plans import PlanQueue, PlanSide, PolicyPlan
from wire.counts import counted


def _side(side: PlanSide | None, name: str) -> str:
    return "-" if side is None else resources(getattr(side, name))


def _says(queue: PlanQueue) -> str:
    """What an operator must know of it, in a few words."""
    after, found = queue.after, []
    if queue.before is None:
        found.append("new")
    if after is None:
        return "goes"
    if not after.gives_back.nothing:
        found.append(f"gives back {resources(after.gives_back)}")
    if after.starves:
        found.append("starves" if queue.before is None or not queue.before.starves else "still starves")
    return ", ".join(found)


@policy.command("plan")
def plan(
    ctx: typer.Context,
    file: FileArgument = None,
    option: FileOption = None,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many queues; 0: all.")] = 30,
    output: OutputOption = Format.table,
) -> None:
    """What a document would change, and what that does to the shares of now. Changes nothing."""
    with reading(named(file, option)) as (document, _), connected(ctx) as client:
        changes, found = client.diff_policy(document), client.plan_policy(document)
    if output is Format.json:
        print_json({"diff": to_json(changes), "plan": to_json(found)})
        return
    show_diff(changes)
    _show(found, limit)


def _show(found: PolicyPlan, limit: int) -> None:
    columns: list[Column[PlanQueue]] = [
        ("QUEUE", lambda q: q.path), ("MOVES", lambda q: f"{100 * q.moved:+.1f} %"),
        ("GUARANTEED", lambda q: _side(q.before, "guaranteed")), ("-> THEN", lambda q: _side(q.after, "guaranteed")),
        ("SHARE", lambda q: _side(q.before, "share")), ("-> THEN", lambda q: _side(q.after, "share")),
        ("USES", lambda q: resources(q.used)), ("", _says),
    ]  # fmt: skip
    if found.loads_missing:
        say("No sub-cluster has said yet what it has: there are no shares to work out.")
        return
    moved = [q for q in found.queues if q.before is None or q.after is None or q.before != q.after]
    show(moved, columns, Format.table, nothing="No queue gets more or less by it now.", limit=limit)
    if not found.gives_back.nothing:
        print(f"{resources(found.gives_back)} would be taken back, because others lack it.")
    if found.starving:
        starving = counted(found.starving, "queue")
        print(f"{starving} would want something and get less than what is guaranteed, or nothing.")
