"""``policy proposals, approve, reject`` and ``policy overrides``; for operators."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, get_args

import typer
import yaml

from client.commands.common import connected
from client.commands.dryrun import warn
from client.commands.nodes import moment, seconds
from client.commands.policy import awaits_approval, policy
from client.commands.policyedit import text_of
from client.commands.policypush import need_message
from client.errors import client_error, together
from client.looking import Looking, WatchOption, listed, only_of_lists, picking, sorting
from client.screen import Column, Format, OutputOption, plain, print_json, printable, show_one, told
from contract import yamltext
from contract.policies import OverrideField, PolicyOverride, Proposal, ProposalDetail
from contract.policy.limits import EXAMPLE

overrides = typer.Typer(help="Fields of queues that have another value for a time.", no_args_is_help=True)
policy.add_typer(overrides, name="overrides")

NumberArgument = Annotated[int, typer.Argument(metavar="PROPOSAL", min=1, help="See: hydractl policy proposals")]
WhyOption = Annotated[str, typer.Option("--message", "-m", help="Why.")]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="Also those that are decided or over.")]
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

PROPOSALS: list[Column[Proposal]] = [
    ("PROPOSAL", lambda p: p.id), ("STATE", lambda p: p.state), ("BY", lambda p: p.author),
    ("AT", lambda p: p.created_at), ("EXPIRES", lambda p: p.expires_at),
    ("CHANGES", lambda p: len(p.changes)), ("MESSAGE", lambda p: p.message),
]  # fmt: skip
OVERRIDES: list[Column[PolicyOverride]] = [
    ("OVERRIDE", lambda o: o.id), ("STATE", lambda o: o.state.replace("_", " ")), ("WHAT", lambda o: o.text),
    ("FROM", lambda o: o.starts_at), ("UNTIL", lambda o: o.ends_at), ("BY", lambda o: o.author),
    ("MESSAGE", lambda o: o.problem or o.message),
]  # fmt: skip


@policy.command("proposals")
def proposals(
    ctx: typer.Context,
    number: Annotated[int | None, typer.Argument(metavar="[PROPOSAL]", min=1, help="All of this one.")] = None,
    everything: AllOption = False,
    document: Annotated[bool, typer.Option("--document", help="Its document, to go on with: policy edit -f")] = False,
    sort: Annotated[str | None, sorting(PROPOSALS)] = None,
    columns: Annotated[str | None, picking(PROPOSALS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Changes that wait for another operator."""
    look = Looking(sort, columns, watch)
    if number is not None:
        only_of_lists(look, "Leave it out, or PROPOSAL.")
    with connected(ctx) as client:
        if number is None:
            found = partial(client.proposals, everything=everything)
            listed(found, PROPOSALS, output, nothing="No change waits.", look=look)
            return
        p = client.proposal(number)
    if document:
        print(text_of(p.base, _document(p)), end="")
        return
    warn(p.warnings)
    pairs = [
        ("proposal", p.id), ("state", p.state), ("kind", p.kind), ("by", p.author), ("message", p.message),
        ("made from", f"version {p.base}"), ("expires", p.expires_at), ("decided by", p.decided_by),
        ("decision", p.decision), ("result", p.result), *(("change", c.text) for c in p.changes),
    ]  # fmt: skip
    show_one(p, pairs, output)


def _document(p: ProposalDetail) -> dict[str, Any]:
    found = p.payload.get("document")
    if not isinstance(found, dict):
        raise client_error(f"proposal {p.id} has no document", remedy=f"It is of the kind {p.kind}.")
    return found


def _became(result: dict[str, int] | None) -> str:
    return "".join(f": {name} {number}" for name, number in (result or {}).items())


@policy.command("approve")
def approve(
    ctx: typer.Context, number: NumberArgument, message: WhyOption = "", output: OutputOption = Format.table
) -> None:
    """Carry somebody else's proposal out."""
    need_message(message)
    with connected(ctx) as client:
        done = client.approve_proposal(number, message)
    told(done, f"proposal {number} is approved{_became(done.result)}", output)


@policy.command("reject")
def reject(
    ctx: typer.Context, number: NumberArgument, message: WhyOption = "", output: OutputOption = Format.table
) -> None:
    """Refuse a proposal, or take your own back."""
    need_message(message)
    with connected(ctx) as client:
        done = client.reject_proposal(number, message)
    told(done, f"proposal {number} is {done.state}", output)


# --- overrides


@overrides.command("list")
def list_overrides(
    ctx: typer.Context,
    everything: AllOption = False,
    sort: Annotated[str | None, sorting(OVERRIDES)] = None,
    columns: Annotated[str | None, picking(OVERRIDES)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Overrides that hold or will."""
    with connected(ctx) as client:
        found, look = partial(client.overrides, everything=everything), Looking(sort, columns, watch)
        listed(found, OVERRIDES, output, nothing="No override is planned or in force.", look=look)


@overrides.command("add")
def add(
    ctx: typer.Context,
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="Its path, such as root.ads.")],
    field: Annotated[
        str,
        typer.Argument(
            metavar="FIELD",
            help=f"{', '.join(get_args(OverrideField))}.",
        ),
    ],
    *,
    by: Annotated[str, typer.Option("--by", help="More than the policy says, like 20%; -20%: less.")] = "",
    to: Annotated[
        str, typer.Option("--to", help=f"This value, as in the policy: 40%, 5 or '{EXAMPLE}'; none: no limit.")
    ] = "",
    until: Annotated[
        str, typer.Option("--until", help="YYYY-MM-DDTHH:MM (your time), +2d, monday, 'friday 18:00'.")
    ] = "",
    lasts: Annotated[str, typer.Option("--for", help="Or how long, like 2h.")] = "",
    start: Annotated[str, typer.Option("--start", help="When it begins; as --until, or +30m.")] = "now",
    partition: Annotated[str, typer.Option("--partition", help="Of this partition's nodes.")] = "",
    message: WhyOption = "",
    output: OutputOption = Format.table,
) -> None:
    """Give a field of a queue another value for a time. Siblings of a raised guarantee make room in proportion."""
    asked = together(lambda: need_message(message), lambda: change(by, to), lambda: _span(start, until, lasts))
    _, changed, (begins, ends) = asked
    with connected(ctx) as client:
        made = client.add_override(queue, field, changed, ends, message, starts_at=begins, partition=partition)
    if output is Format.json:
        print_json(made)
    elif isinstance(made, Proposal):
        print(awaits_approval(made))
    else:
        held = "in force" if made.state == "in_force" else f"planned from {plain(made.starts_at)}"
        print(f"override {made.id}: {printable(made.text)}, {held} until {plain(made.ends_at)}")


@overrides.command("cancel")
def cancel(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(metavar="OVERRIDE", min=1, help="See: hydractl policy overrides list")],
    output: OutputOption = Format.table,
) -> None:
    """End an override now, or call it off."""
    with connected(ctx) as client:
        done = client.cancel_override(number)
    told(done, f"override {number} is cancelled", output)


def _span(start: str, until: str, lasts: str) -> tuple[datetime | None, datetime]:
    """When it begins, None for at once, and when it ends."""
    if bool(until) == bool(lasts):
        wrong = "the override has two ends" if until else "the override has no end"
        raise client_error(wrong, field_name="until", remedy="Give one of --until and --for.")
    begins = None if start == "now" else when(start, "start")
    if until:
        return begins, when(until, "until")
    return begins, (begins or moment("now", "start")) + timedelta(seconds=seconds(lasts, "for"))


def change(by: str, to: str) -> dict[str, Any]:
    """What ``--by`` or ``--to`` asks for, as the API takes it."""
    if bool(by) == bool(to):
        wrong = "two values are given" if by else "no value is given"
        raise client_error(wrong, field_name="by", remedy="Give one of --by +20% and --to VALUE.")
    if by:
        try:
            return {"percent": float(by.strip().removesuffix("%"))}
        except ValueError:
            remedy = "Write it like +20% or -20%."
            raise client_error(f"{by!r} is not a percentage", field_name="by", remedy=remedy) from None
    try:
        return {"to": None if to == "none" else yamltext.load(to)}
    except yaml.YAMLError:
        raise client_error(f"{to!r} cannot be read", field_name="to", remedy="Write it as in the policy.") from None


def when(text: str, name: str) -> datetime:
    """As ``nodes.moment``; also ``monday`` and ``friday 18:00``: the next such time of this machine's clock."""
    day, _, hour = text.strip().lower().partition(" ")
    if day not in _DAYS:
        return moment(text, name, ", monday, 'friday 18:00'")
    now = datetime.now().astimezone()
    try:
        at = datetime.strptime(hour or "00:00", "%H:%M").time()  # noqa: DTZ007 - only its time
    except ValueError:
        raise client_error(f"{hour!r} is not a time of day", field_name=name, remedy="Write it like 18:00.") from None
    ahead = (_DAYS.index(day) - now.weekday()) % 7
    found = datetime.combine(now.date() + timedelta(days=ahead), at).astimezone()
    return found if found > now else datetime.combine(now.date() + timedelta(days=ahead + 7), at).astimezone()
