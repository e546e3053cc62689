"""``policy diff, push, apply, rollback``: what would change, and changing it; for operators."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from client.api import Client
from client.commands.common import connected
from client.commands.dryrun import warn
from client.commands.policy import FileArgument, FileOption, awaits_approval, named, policy, reading
from client.commands.rolling import (
    GuardOption,
    OnBreach,
    OnBreachOption,
    SoakOption,
    StagedOption,
    WatchAllOption,
    begun,
    plan_of,
)
from client.errors import client_error
from client.policycalls import Pushed
from client.screen import Format, OutputOption, console, print_json, printable, say
from contract.policies import PolicyDiff
from contract.problems import sentence

MessageOption = Annotated[str, typer.Option("--message", "-m", help="What changes, and why.")]
ForceOption = Annotated[
    bool,
    typer.Option(
        help="Remove queues although jobs live in them, cancel overrides that no longer fit, and give a rollout up."
    ),
]
ParentOption = Annotated[
    int | None, typer.Option(min=0, help="The version it was made from; by default as the file's first line says.")
]
_STYLES = {"high": "bold red", "medium": "yellow", "low": ""}
SHOWN = 200


def show_diff(found: PolicyDiff) -> None:
    """The changes, one a line, the grave ones marked."""
    warn(found.warnings)
    if found.identical:
        print("Nothing changes.")
    for change in found.changes[:SHOWN]:
        mark = {"high": "!! ", "medium": "!  "}.get(change.severity, "   ")
        console().print(mark + printable(change.text), style=_STYLES.get(change.severity, ""), markup=False)
    if found.total > min(SHOWN, len(found.changes)):
        print(f"   and {found.total - min(SHOWN, len(found.changes))} more: -o json")
    if found.overridden:
        print("Temporary overrides go on over it, which are no part of this change:")
        for change in found.overridden[:SHOWN]:
            print(f"   {printable(change.text)}")


def tell_rollout(client: Client) -> None:
    """A version that is on its way to all, on stderr: what is in force already may not be for long."""
    row = next(client.rollouts(page_size=1), None)
    if row is None or not row.live:
        return
    say(f"A rollout of version {row.version} is under way (rollout {row.id}, {row.state}): {sentence(row.message)}")
    say(f"Follow it: hydractl policy rollout status {row.id} -f    end it: hydractl policy rollout abort {row.id}")


def show_stages(found: PolicyDiff) -> None:
    """What a rollout in stages tries first, and what waits for its end."""
    if found.identical or found.staged == found.total:
        return
    rest = "queues, partitions, access and what sub-clusters share change with the last stage, everywhere at once"
    are = "is" if found.staged == 1 else "are"
    tried = f"{found.staged} of the {found.total} changes {are}" if found.staged else "None of this is"
    print(f"{tried} tried in the stages before: {rest}.")


def pushed(found: Pushed, output: Format, restores: int | None = None) -> None:
    """Say what came of a change. restores: the version whose document it brings back."""
    as_it_was = f", and says what version {restores} said" if restores else ""
    if output is Format.json:
        print_json(found)
    elif found.proposal:
        print(awaits_approval(found.proposal))
    elif found.policy and found.changed:
        print(f"version {found.policy.version} is in force{as_it_was}")
        say("Who runs it: hydractl policy status")
    elif found.policy:
        print(f"no change: version {found.policy.version} is in force{as_it_was}")


def need_message(message: str) -> None:
    if not message.strip():
        raise client_error("the change has no message", field_name="message", remedy="Say what changes and why: -m WHY")


@policy.command("diff")
def diff(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[V1] [V2|FILE]",
            help="From V1, or the version in force, to V2, or to this document: YAML or JSON; - is stdin.",
        ),
    ] = None,
    option: FileOption = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 when something changes.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """What changes from one version to another, or to a document in a file."""
    numbers, file = _sides(what or [], option)
    first, second = [*numbers, None, None][:2]
    read = reading(file) if file else nullcontext((None, None))
    with read as (document, _), connected(ctx) as client:
        found = client.diff_policy(document, first=first, second=second)
        if found.identical and document:
            tell_rollout(client)
    print_json(found) if output is Format.json else show_diff(found)
    if exit_code and not found.identical:
        raise typer.Exit(1)


def _sides(words: list[str], option: Path | None) -> tuple[list[int], Path | None]:
    """Versions and the document to compare. ``HydraError`` unless that is clear."""
    numbers = [int(word) for word in words if _is_number(word)]
    files = [Path(word) for word in words if not _is_number(word)] + ([option] if option else [])
    if len(files) > 1 or len(numbers) > 2 - len(files) or not (files or numbers):
        raise client_error("it is not clear what to compare", remedy="Give FILE, one or two versions, or both.")
    return numbers, files[0] if files else None


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


@policy.command("push")
def push(
    ctx: typer.Context,
    file: FileArgument = None,
    option: FileOption = None,
    *,
    message: MessageOption = "",
    parent: ParentOption = None,
    force: ForceOption = False,
    staged: StagedOption = (),  # type: ignore[assignment]  # typer makes a list of it
    soak: SoakOption = (),  # type: ignore[assignment]
    watch: WatchAllOption = None,
    guard: GuardOption = (),  # type: ignore[assignment]
    on_breach: OnBreachOption = OnBreach.rollback,
    output: OutputOption = Format.table,
) -> None:
    """Put a document in force, and say what that changes: everywhere, or first where --staged says. Refused when
    somebody changed the policy since."""
    need_message(message)
    plan = plan_of(staged, soak, watch, guard, on_breach)
    if plan and force:
        remedy = "Leave it out, or --staged and --watch: with --force a policy holds everywhere at once."
        raise client_error("does not go with a rollout", field_name="force", remedy=remedy)
    with reading(named(file, option), parent) as (document, made_from), connected(ctx) as client:
        found = client.diff_policy(document)
        if found.identical:
            tell_rollout(client)
        if output is Format.table:
            show_diff(found)
        if plan:
            if staged and output is Format.table:
                show_stages(found)
            begun(client.roll_out(document, message, parent=made_from, **plan), output)
            return
        pushed(client.push_policy(document, message, parent=made_from, force=force), output)


@policy.command("apply")
def apply(
    ctx: typer.Context,
    file: FileArgument = None,
    option: FileOption = None,
    *,
    message: MessageOption = "",
    parent: ParentOption = None,
    force: ForceOption = False,
    output: OutputOption = Format.table,
) -> None:
    """As push, for files kept in git: where the file says what is in force already, nothing happens, and no message
    is needed."""
    with reading(named(file, option), parent) as (document, made_from), connected(ctx) as client:
        if not message.strip():
            message = _unneeded(client, document)
        pushed(client.push_policy(document, message, parent=made_from, force=force), output)


def _unneeded(client: Client, document: dict[str, object]) -> str:
    """A message where none is needed, because the document changes nothing; else ``HydraError``."""
    identical = client.diff_policy(document).identical
    if identical:
        tell_rollout(client)
    need_message("nothing changes" if identical else "")
    return "nothing changes"


@policy.command("rollback")
def rollback(
    ctx: typer.Context,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="See: hydractl policy versions")],
    *,
    message: MessageOption = "",
    force: ForceOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Put what an older version says in force again, as a new version."""
    need_message(message)
    with connected(ctx) as client:
        now = client.policy()
        if output is Format.table:
            show_diff(client.diff_policy(first=now.version, second=version))
        if not yes and sys.stdin.isatty() and not typer.confirm("Do that?", err=True):
            say("Nothing was changed.")
            raise typer.Exit(1)
        pushed(client.rollback_policy(version, message, parent=now.version, force=force), output, restores=version)
