"""Commands in containers, files brought in and out by them, and connections to their ports."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated

import typer

from client import terminal
from client.api import Client
from client.commands.common import complete_target, connected
from client.errors import HydraError, client_error
from client.execs import Piece, Running
from client.follow import LogTarget, parse_target
from client.screen import Format, OutputOption, fail, not_as_json, say, told
from contract.fields import DNS
from contract.jobs import Task
from wire.counts import counted
from wire.states import TaskState

SHELL = ("/bin/sh", "-c", "command -v bash >/dev/null && exec bash -l || exec sh -l")
PORT_MAX = 65_535
SHOWN = 5  # tasks that are named where one has to be chosen

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="JOB, JOB/GROUP, JOB/GROUP/INDEX or a container id.",
        autocompletion=complete_target,
    ),
]


def exec_(
    ctx: typer.Context,
    target: TargetArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="What to run; with -t a shell by default.")
    ] = None,
    *,
    tty: Annotated[bool, typer.Option("--tty", "-t", help="On a terminal: for shells, editors, top.")] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin/--no-stdin", "-i/-n", help="Whether the command reads what this one does; it does.")
    ] = True,
    output: OutputOption = Format.table,
) -> None:
    """Run a command in a running task's container: as its user, in its folder, with its environment and limits.

    The exit status is the command's, or 128 and the number of a signal that ended it; 127 where there is no such
    program, 126 where it could not be started. It ends with this program.
    """
    if tty and output is Format.json:
        raise not_as_json("--tty")
    if not command and not tty:
        raise client_error("is missing", field_name="command", remedy="Give it after --, or -it for a shell.")
    if tty and not sys.stdin.isatty():
        raise client_error("needs a terminal, which stdin is not", field_name="tty", remedy="Leave -t out.")
    with connected(ctx) as client:
        container = container_of(client, parse_target(target))
        rows, columns = terminal.size()
        term = os.environ.get("TERM", "xterm") if tty else "xterm"
        opened = client.open_exec(
            container, command or SHELL, tty=tty, rows=rows, columns=columns, term=term[:32] or "xterm"
        )
        with opened as running, terminal.raw() if tty else contextlib.nullcontext():
            if stdin:
                terminal.Input(running, tty).start()
            else:
                running.end_input()
            status = _shown(running, output)
    raise typer.Exit(status)


def _shown(running: Running, output: Format) -> int:
    """Hand on what the command writes; its status. Why it could not be started is said on stderr."""
    try:
        for piece in running.pieces():
            _json(piece) if output is Format.json else _as_it_is(piece)
    except BrokenPipeError:  # whoever reads what we write has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except HydraError as error:
        if running.end is None or running.end.code is None:
            raise
        fail(error)
    assert running.end is not None
    if output is Format.json:
        print(json.dumps({"container": running.begun.container, "status": running.end.status}), flush=True)
    return running.end.status


def _as_it_is(piece: Piece) -> None:
    stream = sys.stdout if piece.stream == "stdout" else sys.stderr
    stream.buffer.write(piece.data)
    stream.buffer.flush()


def _json(piece: Piece) -> None:
    """A line for each piece, and at last one with the status."""
    said = {"stream": piece.stream, "data": piece.data.decode(errors="replace")}
    print(json.dumps(said, ensure_ascii=False), flush=True)


def container_of(client: Client, target: LogTarget) -> str:
    """The container that a target means; ``HydraError`` unless it is just one that runs."""
    if target.container:
        return target.container
    running = client.tasks(target.job, group=target.group, state=TaskState.RUNNING.name)
    if target.index is not None:
        running = (task for task in running if task.index == target.index)
    found = list(islice(running, 1 if target.index is not None else SHOWN + 1))
    if len(found) == 1 and found[0].container:
        return found[0].container
    raise _not_one(client, target, found)


def _not_one(client: Client, target: LogTarget, found: list[Task]) -> HydraError:
    if not found:
        state = client.job(target.job).state
        return client_error(
            f"no such task of job {target.job} runs (the job is {state})",
            field_name="target",
            remedy=f"See which do with: hydractl tasks {target.job}",
        )
    names = ", ".join(f"{target.job}/{task.group}/{task.index}" for task in found[:SHOWN])
    more = " and more" if len(found) > SHOWN else ""
    return client_error(
        f"several tasks of job {target.job} run", field_name="target", remedy=f"Name one of {names}{more}."
    )


def cp(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path here, or TARGET:PATH in a container.")],
    destination: Annotated[str, typer.Argument(metavar="DESTINATION", help="The same of where it goes.")],
    output: OutputOption = Format.table,
) -> None:
    """Copy a file or a folder into a running task's container, or out of it. TARGET as with hydractl exec.

    PATH is of the task's folder unless it begins with /. Into a folder where DESTINATION ends with / or is one here,
    else under that name. A link here is what it leads to. The container needs tar.
    """
    here, there = (_split(each) for each in (source, destination))
    if (here is None) == (there is None):
        remedy = "Write JOB/GROUP/INDEX:PATH for it; a path here that holds ':' begins with ./"
        raise client_error("one of both has to be in a container", field_name="source", remedy=remedy)
    with connected(ctx) as client:
        if here is not None:
            copied = client.copy_out(*_place(client, *here), destination)
        elif there is not None:
            copied = client.copy_in(source, *_place(client, *there))
    if copied.left:
        what = counted(copied.left, "thing that is no file or folder", "things that are no files or folders")
        say(f"Left out: {what} (links, or files with holes).")
    shown = [os.fsencode(name).decode(errors="replace") for name in copied.files]  # whatever bytes a name is made of
    many = counted(len(shown), "file or folder", "files and folders")
    told({"files": shown}, f"{many} copied", output)


def _split(text: str) -> tuple[str, str] | None:
    """Target and path of what is in a container; None of what is here."""
    target, colon, path = text.partition(":")
    return (target, path) if colon and not target.startswith((".", "/")) else None


def _place(client: Client, target: str, path: str) -> tuple[str, str]:
    """The container, and the path in it."""
    return container_of(client, parse_target(target)), path or "."


def port_forward(
    ctx: typer.Context,
    target: TargetArgument,
    ports: Annotated[
        list[str],
        typer.Argument(
            metavar="[LOCAL:]PORT...",
            help="Ports of the container, numbers or names that its job file gives them; before ':' one of 127.0.0.1.",
        ),
    ],
    output: OutputOption = Format.table,
) -> None:
    """Bring connections to ports of this machine to those of a running task's container, until Ctrl-C.

    Only what the container's own processes listen on can be reached. LOCAL is PORT, or the number that its name stands
    for, unless it is given; 0 is any that is free.
    """
    aim, pairs = parse_target(target), [_pair(text) for text in ports]
    with connected(ctx) as client:
        container = container_of(client, aim)
        wanted = _ports(pairs, lambda name: _number(client, aim, container, name))
        with client.port_forward(container, wanted, lambda port, why: say(f"{port}: {why}")) as forward:
            begun = forward.begun
            for there, here in forward.local.items():
                line = {"local": here, "port": there, "container": begun.container, "node": begun.node}
                text = f"127.0.0.1:{here} is port {there} of {begun.container} on {begun.node}"
                print(json.dumps(line) if output is Format.json else text, flush=True)
            forward.wait()


def _pair(text: str) -> tuple[int | None, int | str]:
    """(here, there) of what people write; here None: the same as there, which may be a name."""
    here, colon, there = text.rpartition(":")
    name = not there.isdecimal() and re.search(DNS, there)
    if not ((name or _in_range(there, 1)) and (not colon or _in_range(here, 0))):
        remedy = "Write 8080 or the port's name, or 9000:8080 for port 9000 here; 0:8080 for any that is free."
        raise client_error(f"{text[:40]!r} names no port", field_name="ports", remedy=remedy)
    return (int(here) if colon else None), (there if name else int(there))


def _in_range(text: str, least: int) -> bool:
    return text.isascii() and text.isdecimal() and least <= int(text[:6]) <= PORT_MAX


def _ports(pairs: Iterable[tuple[int | None, int | str]], number: Callable[[str], int]) -> dict[int, int]:
    """Ports there -> here. number: what a name stands for."""
    found: dict[int, int] = {}
    for here, wanted in pairs:
        there = wanted if isinstance(wanted, int) else number(wanted)
        if there in found:
            raise client_error(f"names port {wanted} twice", field_name="ports", remedy="Leave one of them out.")
        found[there] = there if here is None else here
    return found


def _number(client: Client, target: LogTarget, container: str, name: str) -> int:
    """The port that a container was given under this name. ``HydraError`` when there is none."""
    if not target.job:
        remedy = "Write JOB/GROUP/INDEX in place of the container, or the port's number."
        raise client_error(f"{name!r} is a port's name, which only a job has", field_name="ports", remedy=remedy)
    known = {e.name: e.port for e in client.endpoints(target.job) if e.container == container}
    if name not in known:
        said = f"It has {', '.join(sorted(known))}." if known else "Its job file names none, or it is not ready yet."
        raise client_error(f"the container has no port {name!r}", field_name="ports", remedy=said)
    return known[name]


def register(app: typer.Typer) -> None:
    app.command("exec", rich_help_panel="Results")(exec_)
    app.command(rich_help_panel="Results")(cp)
    app.command("port-forward", rich_help_panel="Results")(port_forward)
