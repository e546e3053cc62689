"""For operators: the health of every part, who changed what, and tokens with which machines join."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import typer

from client.commands.common import connected
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, noted, plain
from contract.accounts import JoinTokenLine
from contract.system import AuditEntry, Component

join_token = typer.Typer(no_args_is_help=True, help="Tokens with which nodes and sub-clusters register.")
CHANGED_MAX, MESSAGE_MAX = 100, 40
_APART = ("message", "changes", "values")
KINDS = ("node", "sub_cluster")


def health(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(PARTS)] = None,
    columns: Annotated[str | None, picking(PARTS)] = None,
    watch: WatchOption = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 where a part does not do its duty.")
    ] = False,
    output: OutputOption = Format.table,
) -> None:
    """Every part of the system, whether it does its duty, and what to do where not."""
    with connected(ctx) as client:
        found: list[Component] = []

        def read() -> list[Component]:
            found[:] = client.components()
            return found

        listed(read, PARTS, output, nothing="Nothing has reported.", look=Looking(sort, columns, watch))
    if exit_code and any(part.verdict == "bad" for part in found):
        raise typer.Exit(1)


def audit(
    ctx: typer.Context,
    action: Annotated[str, typer.Option(help="Only actions that begin so: policy, node.drain.")] = "",
    target: Annotated[str, typer.Option(help="Only on what begins so: node/3, queue/root.prod.")] = "",
    actor: Annotated[str, typer.Option(help="Only of this account; system: of none.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="So many, the newest first; 0: all.")] = 50,
    sort: Annotated[str | None, sorting(ENTRIES)] = None,
    columns: Annotated[str | None, picking(ENTRIES)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Who changed what, and when. JSON has all of what was before and after."""
    with connected(ctx) as client:
        found = partial(client.audit, action=action, target=target, actor=actor)
        look = Looking(sort, columns, watch)
        listed(found, ENTRIES, output, nothing="Nothing matches.", limit=limit, look=look)


def changed(e: AuditEntry) -> str:
    """``"a launch", root.prod guaranteed 40 % -> 55 %`` or ``role tenant -> operator``: why, and the server's words or
    what is other than before, as far as it fits a line; or a space."""
    before, after = (each if isinstance(each, dict) else {} for each in (e.before, e.after))
    why, changes = after.get("message"), after.get("changes")
    parts = [f'"{_cut(why, MESSAGE_MAX)}"'] if why and isinstance(why, str) else []
    parts += map(str, changes) if changes and isinstance(changes, list) else _differing(before, after)
    return _cut(", ".join(parts), CHANGED_MAX) or " "


def _cut(text: str, most: int) -> str:
    return textwrap.shorten(text, most, placeholder=" ...")


def _differing(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in {**before, **after}:
        if name in _APART or (name in before and name in after and before[name] == after[name]):
            continue
        sides = [_said(side[name]) for side in (before, after) if name in side]
        yield f"{name} {' -> '.join(sides)}".removeprefix("text ")  # a sentence as it is


def _said(value: Any) -> str:
    return "none" if value in (None, [], {}) else plain(value)


PARTS: list[Column[Component]] = [
    ("PART", lambda c: c.kind), ("NAME", lambda c: c.name), ("VERDICT", lambda c: c.verdict),
    ("FOUND", lambda c: c.text), ("WHAT TO DO", lambda c: c.remedy),
]  # fmt: skip
ENTRIES: list[Column[AuditEntry]] = [
    ("WHEN", lambda e: e.at), ("WHO", lambda e: e.actor or "system"), ("ACTION", lambda e: e.action),
    ("ON", lambda e: e.target), ("WHAT", changed), ("FROM", lambda e: e.address),
]  # fmt: skip


@join_token.command("list")
def list_join_tokens(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(JOIN_TOKENS)] = None,
    columns: Annotated[str | None, picking(JOIN_TOKENS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Tokens that would register a node or a sub-cluster now. Their text is shown once, when they are made."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.join_tokens, JOIN_TOKENS, output, nothing="No token would register anything.", look=look)


@join_token.command("revoke")
def revoke_join_token(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="As hydractl join-token list shows it: node/3.")],
    output: OutputOption = Format.table,
) -> None:
    """Nothing registers with it any more. What did stays."""
    kind, _, number = token.partition("/")
    if kind not in KINDS or not number.isdecimal():
        raise client_error(f"{token!r} is no join token", remedy="Take one of hydractl join-token list, like node/3.")
    with connected(ctx) as client:
        client.revoke_join_token(kind, int(number))
    noted({"token": token}, f"Join token {token} is revoked.", output)


def _registers(t: JoinTokenLine) -> str:
    if t.kind != "node":
        return "a sub-cluster"
    return f"node {t.node}, once" if t.node else "new nodes"


def _name(t: JoinTokenLine) -> str:
    return f"{t.kind}/{t.id}"


JOIN_TOKENS: list[Column[JoinTokenLine]] = [
    ("TOKEN", _name), ("REGISTERS", _registers),
    ("SUB-CLUSTER", lambda t: t.sub_cluster or "any"), ("NOTE", lambda t: t.note),
    ("MADE", lambda t: t.created_at), ("UNTIL", lambda t: t.expires_at or "it is revoked"),
]  # fmt: skip


def register(app: typer.Typer) -> None:
    for command in (health, audit):
        app.command(rich_help_panel="Operators")(command)
    app.add_typer(join_token, name="join-token", rich_help_panel="Operators")
