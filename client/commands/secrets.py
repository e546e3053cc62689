"""One's own secrets. A value comes from a file, standard input or a prompt, never from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from client.answers import to_json
from client.commands.common import complete_secret, connected
from client.commands.dryrun import warn
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, noted, told
from contract.secrets import Secret

STDIN = Path("-")

secret = typer.Typer(no_args_is_help=True, help="Values that your jobs name, and only their tasks get.")
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What job files call it.", autocompletion=complete_secret)
]

LIST: list[Column[Secret]] = [
    ("NAME", lambda s: s.name), ("MADE", lambda s: s.created_at), ("CHANGED", lambda s: s.changed_at)
]  # fmt: skip


@secret.command("put")
def put_secret(
    ctx: typer.Context,
    name: NameArgument,
    file: Annotated[Path, typer.Option("--file", "-f", help="Its value; -, standard input, is the default.")] = STDIN,
    output: OutputOption = Format.table,
) -> None:
    """Keep a value, instead of the one before. One line loses its line end; several lines stay as they are."""
    value = read(file)
    with connected(ctx) as client:
        kept = client.put_secret(name, value)
    told(kept, f"secret {kept.name} is kept; tasks that start from now on get it", output)


def read(file: Path) -> str:
    """The value in a file, or what is typed or piped."""
    if file == STDIN and sys.stdin.isatty():
        return str(typer.prompt("Value", hide_input=True, confirmation_prompt=True))
    try:
        data = sys.stdin.buffer.read() if file == STDIN else file.read_bytes()
        text = data.decode()
    except OSError as error:
        raise client_error(f"{file} cannot be read: {error.strerror}", field_name="file") from None
    except UnicodeDecodeError:
        remedy = "Write it in base64, and let the task decode it."
        raise client_error("the value is no text", field_name="file", remedy=remedy) from None
    line = text.removesuffix("\n").removesuffix("\r")
    return text if "\n" in line else line


@secret.command("list")
def list_secrets(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The names of your secrets, and since when each has its value; never the value."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.secrets, LIST, output, nothing="You have no secrets.", look=look)


@secret.command("delete")
def delete_secret(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """Forget it, and say which jobs and schedules name it. What runs keeps it; tasks that start later fail."""
    with connected(ctx) as client:
        answer = client.delete_secret(name)
    warn(answer.warnings)
    noted({"deleted": name, "warnings": to_json(answer.warnings)}, f"secret {name} is deleted", output)


def register(app: typer.Typer) -> None:
    app.add_typer(secret, name="secret", rich_help_panel="Jobs")
