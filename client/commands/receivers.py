"""Where one hears of one's jobs. A webhook's address that is secret comes from a file, standard input or a prompt."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from client.commands.common import apart, complete_receiver, connected
from client.commands.secrets import read
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, noted, plain, print_json, say, told
from contract.notifications import JobReceiver, Notification, Receiver

receiver = typer.Typer(no_args_is_help=True, help="Where you hear of your jobs: webhooks, and mail.")
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What job files call it.", autocompletion=complete_receiver)
]


class Event(StrEnum):
    started = "started"
    succeeded = "succeeded"
    failed = "failed"
    killed = "killed"
    none = "none"


LIST: list[Column[Receiver]] = [
    ("NAME", lambda r: r.name), ("KIND", lambda r: r.kind), ("ADDRESS", lambda r: r.address),
    ("EVERY JOB", lambda r: ", ".join(r.every_job)), ("WAITING", lambda r: r.waiting),
    ("NEXT TRY", lambda r: r.next_at or " "), ("ERROR", lambda r: r.error),
]  # fmt: skip
TOLD: list[Column[Notification]] = [
    ("ID", lambda n: n.id), ("AT", lambda n: n.at), ("EVENT", lambda n: n.event),
    ("JOB", lambda n: f"{n.job.id} {n.job.name}" if n.job else ""), ("STATE", lambda n: n.state.replace("_", " ")),
    ("TRIES", lambda n: n.attempts), ("ERROR", lambda n: n.error),
]  # fmt: skip


@receiver.command("put")
def put(
    ctx: typer.Context,
    name: NameArgument,
    webhook: Annotated[str | None, typer.Option(help="Its address; others on this machine see it.")] = None,
    webhook_file: Annotated[
        Path | None, typer.Option(help="A file with the address; -, standard input, asks on a terminal.")
    ] = None,
    mail: Annotated[bool, typer.Option("--mail", help="Mail to your own address, as hydractl me shows.")] = False,
    every_job: Annotated[
        list[Event] | None,
        typer.Option(
            "--every-job", help="Tell it this of all your jobs, or none; may be given again. As before without it."
        ),
    ] = None,
    output: OutputOption = Format.table,
) -> None:
    """Make a receiver, or say anew what it is told. Prints the key with which a new webhook's bodies are signed."""
    apart(ctx, "webhook_file", "webhook")
    events = [each.value for each in every_job or ()]
    if Event.none in events and len(events) > 1:
        raise client_error("none goes with no other", field_name="--every-job", remedy="Leave it out.")
    url = read(webhook_file) if webhook_file else webhook
    told_of = [each for each in events if each != Event.none] if events else None
    with connected(ctx) as client:
        kept = client.put_receiver(name, webhook=url, mail=mail, every_job=told_of)
    if output is Format.json:
        print_json(kept)
        return
    if kept.signing_key:
        print(kept.signing_key)
        say("Bodies are signed with this key; it is shown this once.")
    what = ", ".join(kept.every_job)
    of_all = f"is told of every job of yours: {what}" if what else "is told of jobs that name it"
    say(f"Receiver {kept.name} {of_all}. See whether it arrives: hydractl receiver test {kept.name}")


@receiver.command("list")
def list_receivers(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Your receivers, what they are told of every job, and what went wrong last."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.receivers, LIST, output, nothing="You have no receivers.", look=look)


@receiver.command("test")
def try_out(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """Tell it something of no job, to see whether it arrives."""
    with connected(ctx) as client:
        made = client.test_receiver(name)
    told(made, f"notification {made.id} is on its way: hydractl receiver log {name}", output)


@receiver.command("log")
def log(
    ctx: typer.Context,
    name: NameArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="So many of the newest; 0: all.")] = 20,
    sort: Annotated[str | None, sorting(TOLD)] = None,
    columns: Annotated[str | None, picking(TOLD)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What it was told and is to be told, newest first, and what became of it."""
    with connected(ctx) as client:
        found, nothing = partial(client.notifications, name), f"{name} was told nothing lately."
        listed(found, TOLD, output, nothing=nothing, limit=limit, look=Looking(sort, columns, watch))
        again = next((each.next_at for each in client.receivers() if each.name == name), None)
    if again and output is not Format.json:
        say(f"{name} is tried again at {plain(again)}.")


@receiver.command("delete")
def delete(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """Tell it nothing any more; new jobs that name it are refused."""
    with connected(ctx) as client:
        client.delete_receiver(name)
    noted({"deleted": name}, f"receiver {name} is deleted", output)


def tells(r: JobReceiver) -> str:
    """A receiver of a job in a line: of what it is told, and what became of that."""
    became = [f"{number} {word}" for number, word in ((r.sent, "told"), (r.waiting, "to be told")) if number]
    became += [f"{r.given_up} given up"] if r.given_up else []
    again = f"; tried again at {plain(r.next_at)}" if r.next_at else ""
    became += [f"the last error: {r.error}{again}"] if r.error else []
    return f"{r.receiver} of {', '.join(r.events)}{': ' if became else ''}{', '.join(became)}"


def register(app: typer.Typer) -> None:
    app.add_typer(receiver, name="receiver", rich_help_panel="Jobs")
