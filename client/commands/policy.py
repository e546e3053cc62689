"""The policy document as it is, and rights in queues; for operators. ``policypush`` and its neighbours change it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from client.commands.common import connected
from client.commands.dryrun import warn
from client.errors import HydraError, client_error, locating
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, noted, print_json, say, told
from contract import yamltext
from contract.policies import Policy, Proposal
from contract.problems import Problem
from contract.queues import QueueRight
from wire.counts import counted

policy = typer.Typer(help="The policy document: queues, partitions, components.", no_args_is_help=True)
queue = typer.Typer(help="One queue.", no_args_is_help=True)
rights = typer.Typer(help="Who may use or administer a queue.", no_args_is_help=True)

_MADE_FROM = re.compile(r"# version (\d+)\b")
FileArgument = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The document, YAML or JSON; - is stdin.", show_default=False)
]
FileOption = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help="The same as FILE.")]
PathArgument = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's path, such as root.prod.")]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The account's name.")]


class Level(StrEnum):
    submit = "submit"
    admin = "admin"


def awaits_approval(p: Proposal) -> str:
    """What people read where a change has become a proposal."""
    return f"proposal {p.id} waits for another operator: hydractl policy approve {p.id} -m WHY"


def named(argument: Path | None, option: Path | None) -> Path:
    """The file that a command is to read, which may be given either way. ``HydraError`` unless it is given once."""
    given = argument or option
    if given is None or (argument and option):
        wrong = "is missing" if given is None else "is given twice"
        raise client_error(wrong, field_name="file", remedy="Give one FILE; - is stdin.")
    return given


def read(file: Path, parent: int | None = None) -> tuple[dict[str, Any], int | None]:
    """(the document, the version it was made from: ``parent``, or else what its first line says, if it does)."""
    with reading(file, parent) as found:
        return found


@contextmanager
def reading(file: Path, parent: int | None = None) -> Iterator[tuple[dict[str, Any], int | None]]:
    """As ``read``; what is refused meanwhile tells where in the file it stands."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise client_error(f"{file} cannot be read: {reason}", field_name="file", remedy="Give YAML or JSON.") from None
    try:
        document = yamltext.load(text)
    except yaml.YAMLError as error:
        wrong = yamltext.refused(error, text, str(file))
        raise HydraError(Problem(title=f"{file} cannot be read", errors=[wrong])) from None
    if not isinstance(document, dict):
        raise client_error(f"{file} holds no mapping", field_name="file", remedy="It begins with queues:.")
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError) as error:  # YAML knows .nan, dates and a mapping that holds itself
        raise client_error(
            f"{file}: {error}", field_name="file", remedy="Give finite numbers, and quote dates."
        ) from None
    if parent is None and (found := _MADE_FROM.match(text)):
        parent = int(found[1])
    with locating(text):
        yield document, parent


@policy.command("get")
def get(
    ctx: typer.Context,
    version: Annotated[int | None, typer.Option(min=1, help="This version instead of the one in force.")] = None,
    effective: Annotated[bool, typer.Option(help="What holds, with the temporary overrides applied.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Print the policy as YAML, as operators wrote it; its first line tells which version it was made from."""
    with connected(ctx) as client:
        found = client.policy(version)
    if output is Format.json:
        print_json(found)
    else:
        document = found.effective if effective and found.effective else found.document
        print(f"# version {found.version}")
        print(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), end="")
        if found.overrides and not effective:
            say(f"Temporary overrides change this now: {', '.join(map(str, found.overrides))}. See: --effective")


def _author(p: Policy) -> str:
    return (p.author or "the system") + (f", approved by {p.approved_by}" if p.approved_by else "")


VERSIONS: list[Column[Policy]] = [
    ("VERSION", lambda p: p.version), ("IN FORCE", lambda p: p.active), ("AT", lambda p: p.at),
    ("AUTHOR", _author), ("MADE FROM", lambda p: p.parent),
    ("MESSAGE", lambda p: p.message),
]  # fmt: skip
RIGHTS: list[Column[QueueRight]] = [
    ("USER", lambda r: r.user), ("LEVEL", lambda r: r.level), ("THROUGH", lambda r: r.queue),
    ("FROM", lambda r: r.source),
]  # fmt: skip


@policy.command("versions")
def versions(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 20,
    sort: Annotated[str | None, sorting(VERSIONS)] = None,
    columns: Annotated[str | None, picking(VERSIONS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Every version, newest first."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.policy_versions, VERSIONS, output, nothing="There is no policy.", limit=limit, look=look)


@policy.command("schema")
def schema(ctx: typer.Context, output: OutputOption = Format.table) -> None:
    """Print the JSON Schema of the document, as YAML or JSON: for editors, and to read bounds and defaults."""
    with connected(ctx) as client:
        found = client.policy_schema()
    if output is Format.json:
        print_json(found)
    else:
        print(yaml.safe_dump(found, sort_keys=False, allow_unicode=True), end="")


@policy.command("validate")
def validate(
    ctx: typer.Context, file: FileArgument = None, option: FileOption = None, output: OutputOption = Format.table
) -> None:
    """Check a document without putting it in force."""
    file = named(file, option)
    with reading(file) as (document, _), connected(ctx) as client:
        found = client.validate_policy(document)
    warn(found.warnings, file.read_text() if file.is_file() else None)
    warned = len(found.warnings)
    verdict = f"valid, with {counted(warned, 'warning')}" if warned else "nothing wrong"
    below = found.queues - 1
    told(found, f"{file}: {counted(below, 'queue')} below root, {verdict}", output)


@rights.command("list")
def list_rights(
    ctx: typer.Context,
    path: PathArgument,
    sort: Annotated[str | None, sorting(RIGHTS)] = None,
    columns: Annotated[str | None, picking(RIGHTS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Who has rights in a queue, through it or one above it."""
    everybody = False
    with connected(ctx) as client:

        def found() -> list[QueueRight]:
            nonlocal everybody
            rows, everybody = client.queue_rights(path), client.queue_detail(path).open_to_all
            return rows

        def nothing() -> str:
            return "Nobody by name." if everybody else "Nobody but operators."

        listed(found, RIGHTS, output, nothing=nothing, look=Looking(sort, columns, watch))
    if everybody:
        say("Every tenant may submit jobs: the queue is open to all.")


@rights.command("grant")
def grant(
    ctx: typer.Context,
    path: PathArgument,
    user: UserArgument,
    level: Annotated[Level, typer.Option(help="admin: also change the jobs of others.")] = Level.submit,
    output: OutputOption = Format.table,
) -> None:
    """Let an account use a queue and all below it."""
    with connected(ctx) as client:
        client.grant_queue(path, user, level)
    noted({"queue": path, "user": user, "level": level}, f"{user} has {level} in {path}.", output)


@rights.command("withdraw")
def withdraw(ctx: typer.Context, path: PathArgument, user: UserArgument, output: OutputOption = Format.table) -> None:
    """Take back what was granted. What the policy's access lists give stays."""
    with connected(ctx) as client:
        client.withdraw_queue(path, user)
    noted({"queue": path, "user": user, "level": None}, f"{user} has no grant in {path} any more.", output)


def register(app: typer.Typer) -> None:
    queue.add_typer(rights, name="rights")
    app.add_typer(policy, name="policy", rich_help_panel="Operators")
    app.add_typer(queue, name="queue", rich_help_panel="Operators")
