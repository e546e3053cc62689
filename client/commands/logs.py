"""What tasks wrote."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Annotated, Any

import typer

from client.api import Client
from client.commands.common import apart, complete_target, connected, only_of
from client.commands.nodes import moment, seconds
from client.errors import client_error
from client.follow import LogTarget, Printer, Reading, attempt_before, ended, follow_tasks, parse_target, tasks_of
from client.screen import Format, OutputOption, few, printable, say
from contract.jobs import LogPart, Task
from wire.counts import counted

TAIL_MAX = 10_000  # lines that the server looks for
_ENDS = {"FAILED": "has failed", "KILLED": "was killed", "SUCCEEDED": "has succeeded"}


class JsonPrinter(Printer):
    """One JSON object per piece, or per line that was searched for; for programs."""

    def _as_it_is(self, name: str, part: LogPart, _gap: str) -> str:
        at = part.at.astimezone(UTC).isoformat() if part.at else None
        return _json(task=name, stream=part.stream, at=at, data=part.data, offset=part.offset, skipped=part.skipped)

    def _line(self, name: str, stream: str, line: str) -> str:
        return _json(task=name, stream=stream, data=line)


def _json(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"


def logs(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="JOB, JOB/GROUP, JOB/GROUP/INDEX or a container id.", autocompletion=complete_target),
    ],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
    tail: Annotated[int | None, typer.Option(min=0, max=TAIL_MAX, help="The last so many lines of each task.")] = None,
    since: Annotated[
        str | None, typer.Option(help="What came in the last 10m, 2h or 1d, or since YYYY-MM-DDTHH:MM.")
    ] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Of the attempt before the last one.")] = False,
    grep: Annotated[str, typer.Option(help="Only lines that hold this text, in whatever case.")] = "",
    all_attempts: Annotated[
        bool, typer.Option("--all-attempts", help="With --grep, of JOB or JOB/GROUP: also those before the last one.")
    ] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Only what the tasks wrote to stdout.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Only what the tasks wrote to stderr.")] = False,
    offset: Annotated[int, typer.Option(min=0, help="Skip so many bytes of each stream.")] = 0,
    output: OutputOption = Format.table,
) -> None:
    """What tasks wrote to stdout and stderr, in the order in which it came, about a second apart. Failed tasks come
    first; each line is under its task's name when there are several."""
    stream = None if stdout == stderr else "stdout" if stdout else "stderr"
    wanted = _matched(ctx, parse_target(target), previous)
    if all_attempts:
        _search(ctx, wanted, grep, stream, output)
        return
    reading = _reading(stream, tail, since, offset)
    tasks: list[Task] = []
    with connected(ctx) as client:
        if wanted.container:
            printer = _printer(output, False, stream, grep)
            for part in reading.of(client, wanted.container, follow):
                printer.piece(wanted.container, part)
            printer.end(wanted.container)
        else:
            tasks = tasks_of(client, wanted)
            printer = _printer(output, len(tasks) > 1, stream, grep)
            if follow:
                _say_never(client, wanted.job, [task for task in tasks if task.container is None and ended(task)])
                for thread in follow_tasks(client, wanted.job, tasks, reading=reading, printer=printer, note=say):
                    thread.join()
            else:
                _print_all(client, wanted, tasks, reading, printer, previous)
    if grep and printer.left_out:
        earlier = not previous and any(task.attempts > 1 for task in tasks)
        options = "--previous" if wanted.index is not None else "--all-attempts, or --previous"
        where = f" Attempts before the last one were not searched: {options}." if earlier else ""
        say(f"Left out: {counted(printer.left_out, 'line')} without {grep!r}.{where}")


def _matched(ctx: typer.Context, wanted: LogTarget, previous: bool) -> LogTarget:
    """What is wanted; ``HydraError`` where options mean nothing together, or of it."""
    only_of(ctx, "all_attempts", "grep")
    apart(ctx, "all_attempts", "follow", "tail", "since", "previous", "offset")
    apart(ctx, "follow", "previous")
    if previous and wanted.container:
        raise client_error("does not go with a container id", field_name="previous", remedy="Leave one of them out.")
    return wanted


def _search(ctx: typer.Context, wanted: LogTarget, text: str, stream: str | None, output: Format) -> None:
    """Lines of every attempt that hold the text, as the server finds them, each under its task and attempt."""
    if wanted.container or wanted.index is not None:
        raise client_error("is of a job or a group", field_name="--all-attempts", remedy="Give JOB or JOB/GROUP.")
    line = None
    with connected(ctx) as client:
        for line in client.find_in_logs(wanted.job, text, group=wanted.group, stream=stream):
            name = f"{line.group}/{line.index}"
            if output is Format.json:
                at = line.at.astimezone(UTC).isoformat()
                more = {"data": line.text, "offset": line.offset, "cut": line.cut}
                print(_json(task=name, attempt=line.attempt, stream=line.stream, at=at, **more), end="")
            else:
                where = f"{name} attempt {line.attempt}{' stderr' if line.stream == 'stderr' else ''}"
                print(printable(f"{where} | {line.text}{' ...' if line.cut else ''}"))
    if line is None:
        say(f"No attempt wrote a line with {text!r}.")


def _reading(stream: str | None, tail: int | None, since: str | None, offset: int) -> Reading:
    if offset and (tail is not None or since):
        raise client_error("does not go with tail or since", field_name="offset", remedy="Leave one of them out.")
    if since is None:
        return Reading(stream, tail, offset=offset)
    if "-" in since[1:] or since == "now":
        return Reading(stream, tail, since=moment(since, "since"))
    if not any(map(str.isdigit, since)):
        remedy = "Write it like 30m, 2h or 1d for the last of these, or YYYY-MM-DDTHH:MM."
        raise client_error(f"{since[:40]!r} is not a time", field_name="since", remedy=remedy)
    return Reading(stream, tail, last_s=seconds(since.removeprefix("-"), "since"))


def _printer(output: Format, several: bool, stream: str | None, grep: str) -> Printer:
    if output is Format.json:
        return JsonPrinter(False, grep=grep)
    return Printer(several, both=stream is None, grep=grep)


def _print_all(
    client: Client, wanted: LogTarget, tasks: list[Task], reading: Reading, printer: Printer, previous: bool
) -> None:
    """What has been written so far, task after task; says so when there was nothing."""
    wrote = False
    waiting: list[Task] = []
    first: list[Task] = []
    for task in tasks:
        name = f"{task.group}/{task.index}"
        container = attempt_before(client, wanted.job, task) if previous else task.container
        if container is None:
            (first if previous else waiting).append(task)
            continue
        for part in reading.of(client, container):
            printer.piece(name, part)
            wrote = True
        printer.end(name)
    if waiting:
        _say_never(client, wanted.job, [task for task in waiting if ended(task)])
        if later := [task for task in waiting if not ended(task)]:
            say(f"Not started yet: {_names(later)}. Wait for them with: hydractl logs -f")
    elif first:
        say(f"No attempt before the last one: {_names(first)}.")
    elif not wrote:
        other = {"stdout": "stderr: --stderr", "stderr": "stdout: --stdout"}
        since = " of that time" if reading.since or reading.last_s is not None else ""
        say(
            f"Nothing{since} on {reading.stream}. The other stream is {other[reading.stream]}."
            if reading.stream
            else f"Nothing{since} on stdout and stderr."
        )


def _say_never(client: Client, job_id: int, tasks: list[Task]) -> None:
    """Which tasks have ended without a start, and why."""
    if tasks:
        state = client.job(job_id).state
        why = f"job {job_id} {_ENDS[state]}" if state in _ENDS else "their group has ended"
        say(f"Never started, as {why}: {_names(tasks)}. See: hydractl tasks {job_id}")


def _names(tasks: list[Task]) -> str:
    return few([f"{task.group}/{task.index}" for task in tasks])


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Results")(logs)
