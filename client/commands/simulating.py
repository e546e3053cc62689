"""``policy simulate``: what a policy would have done to what has happened; for operators."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from client import answers
from client.api import Client
from client.commands.common import connected
from client.commands.drained import show_drained
from client.commands.figures import change, value
from client.commands.handingin import asked_trace, hand_in
from client.commands.nodes import moment
from client.commands.policy import FileOption, named, policy, reading
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, only_of_lists, picking, sorting
from client.screen import Column, Format, OutputOption, Unheaded, console, print_json, say, show
from contract.simulations import (
    SimulatedComparedFigure,
    SimulatedFigure,
    SimulatedQueueFigures,
    SimulatedUserFigures,
    Simulation,
    SimulationDetail,
)
from wire.counts import counted

MAIN = ("wait_mean_s", "wait_p90_s", "slowdown_mean", "latency_p99_s", "utilization_memory", "utilization_vcores",
        "utilization_gpus", "fairness_error", "preemptions", "wasted_part", "jobs_unfinished")  # fmt: skip
BY_PART = (("WAIT", "wait_mean_s"), ("TURNAROUND", "turnaround_mean_s"), ("SHARE", "share_held"),
           ("PREEMPTIONS", "preemptions"))  # fmt: skip
P = TypeVar("P", SimulatedQueueFigures, SimulatedUserFigures)


class Last(StrEnum):
    hour = "hour"
    day = "day"
    week = "week"


@policy.command("simulate")
def simulate(
    ctx: typer.Context,
    what: Annotated[
        str | None, typer.Argument(metavar="FILE|VERSION", help="A document (- is stdin), or a version's number.")
    ] = None,
    option_file: FileOption = None,
    *,
    last: Annotated[Last | None, typer.Option(help="The window that is replayed; by default the last hour.")] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="Its beginning instead: -4h or YYYY-MM-DDTHH:MM (your time).")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Its end: the same.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="TRACE", help="Replay this file of jobs instead, or the number of one handed in before."),
    ] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="KIND", help="What TRACE is: history, swf, sls, openb or philly [history].")
    ] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Of KIND's reader; several times.")] = None,
    cluster: Annotated[
        Path | None, typer.Option(metavar="NODES", help="On the nodes of this file, of the same KIND.")
    ] = None,
    own_nodes: Annotated[bool, typer.Option("--own-nodes", help="On the nodes that TRACE tells itself.")] = False,
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Where jobs go of a queue that a policy lacks; several times."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10, help="Runs of each policy; more tell chance apart.")] = 3,
    to_json: Annotated[Path | None, typer.Option("--json", help="Write the whole answer there.")] = None,
    to_html: Annotated[Path | None, typer.Option("--html", help="Write the report there, a page.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many queues; 0: all.")] = 30,
    output: OutputOption = Format.table,
) -> None:
    """What a policy would have done to the last hour, day or week, or would do to a trace. Changes nothing."""
    asked = asked_trace(trace, workload, option or [], cluster, own_nodes)
    number = int(what) if what and what.isascii() and what.isdigit() and option_file is None else None
    file = named(Path(what) if what else None, option_file) if number is None else None
    source = reading(file) if file else nullcontext((None, None))
    with source as (document, _), connected(ctx) as client:
        begun = client.request_simulation(
            document=document, version=number, window=last, begin=_moment(begin, "from"), end=_moment(end, "to"),
            seeds=seeds, trace=hand_in(client, asked) if asked else None, nodes=asked.nodes if asked else None,
            queues=_queues(queue or []),
        )  # fmt: skip
        found = waited(client, begun)
        keep(client, found, to_json, to_html)
    print_json(found) if output is Format.json else show_answer(found, limit)
    if found.state != "done":
        raise typer.Exit(1)


@policy.command("simulations")
def simulations(
    ctx: typer.Context,
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Show this one's answer.")] = None,
    *,
    version: Annotated[int | None, typer.Option(min=1, help="Only of this version, or what says the same.")] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Call NUMBER off.")] = False,
    to_html: Annotated[Path | None, typer.Option("--html", help="Write the report of NUMBER there, a page.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 30,
    sort: Annotated[str | None, sorting(SIMULATIONS)] = None,
    columns: Annotated[str | None, picking(SIMULATIONS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What was asked, newest first; or one answer again."""
    look = Looking(sort, columns, watch)
    _check(number, cancel, to_html)
    if number is not None:
        only_of_lists(look, "Leave it out, or NUMBER.")
    with connected(ctx) as client:
        if number is None:
            found = partial(client.simulations, version=version)
            listed(found, SIMULATIONS, output, nothing="None yet.", limit=limit, look=look)
            return
        found = client.cancel_simulation(number) if cancel else client.simulation(number)
        if to_html is not None:
            _write(to_html, client.simulation_report(number))
    print_json(found) if output is Format.json else show_answer(found, limit)


def _queues(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if not all(pair.partition("=")):
            raise client_error(
                f"{pair!r} is not OLD=NEW", field_name="queue", remedy="Write --queue root.old=root.new."
            )
    found = dict(pair.split("=", 1) for pair in pairs)
    if len(found) < len(pairs):
        raise client_error("names a queue twice", field_name="queue", remedy="Its jobs go to one.")
    return found


def _check(number: int | None, cancel: bool, to_html: Path | None) -> None:
    if number is None and (cancel or to_html is not None):
        what = "cancel" if cancel else "html"
        raise client_error("is of one simulation", field_name=what, remedy="Give its NUMBER, too.")
    if cancel and to_html is not None:
        raise client_error("what is cancelled has no report", field_name="html", remedy="Leave --html or --cancel out.")


def _what(s: Simulation) -> str:
    if s.kind == "drain":
        return f"drain of {s.sub_cluster}"
    return f"version {s.version}: {s.change}" if s.version else s.change


def _over(s: Simulation) -> str:
    return s.trace_name or ("history" if s.kind == "policy" else "what is live")


SIMULATIONS: list[Column[Simulation]] = [
    ("NUMBER", lambda s: s.id), ("STATE", lambda s: s.state), ("DONE", lambda s: f"{100 * s.progress:.0f} %"),
    ("WHAT", _what), ("AGAINST", lambda s: s.base), ("OVER", _over), ("FROM", lambda s: s.begin),
    ("TO", lambda s: s.end), ("BY", lambda s: s.requested_by), (Unheaded("MESSAGE"), lambda s: s.message),
]  # fmt: skip


# --- waiting


def waited(client: Client, asked: Simulation) -> SimulationDetail:
    """Until it has ended; Ctrl-C calls it off, after a question where somebody can answer."""
    while True:
        try:
            with _watched() as told:
                return client.wait_simulation(asked.id, told)
        except KeyboardInterrupt:
            if sys.stdin.isatty() and not typer.confirm(f"Cancel simulation {asked.id}?", default=True, err=True):
                continue
            client.cancel_simulation(asked.id)
            say(f"Simulation {asked.id} is cancelled.")
            raise


@contextmanager
def _watched() -> Iterator[Callable[[Simulation], None]]:
    """A bar on a terminal; elsewhere a line for each new state."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        said: list[str] = []

        def line(s: Simulation) -> None:
            if s.state not in said:
                said.append(s.state)
                say(f"simulation {s.id}: {s.state}{f': {s.message}' if s.message else ''}")

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(40), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=screen, transient=True) as progress:
        bar = progress.add_task("queued", total=1.0)
        yield lambda s: progress.update(bar, completed=s.progress, description=f"simulation {s.id}: {s.state}")


def keep(client: Client, found: Simulation, to_json: Path | None, to_html: Path | None) -> None:
    """Write what there is into files."""
    if found.state != "done":
        return
    if to_json is not None:
        _write(to_json, json.dumps(answers.to_json(found), indent=1) + "\n")
    if to_html is not None:
        _write(to_html, client.simulation_report(found.id))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise client_error(why, field_name="file", remedy="Name another place.") from None


def _moment(text: str | None, name: str) -> datetime | None:
    return None if text is None else moment(text, name)


# --- the answer


def show_answer(found: SimulationDetail, limit: int) -> None:
    """As tables. limit: of rows in each; 0: all."""
    result = found.result
    if result is None:
        say(f"simulation {found.id} is {found.state}{f': {found.message}' if found.message else ''}")
        return
    first, then = result.comparison.policies[0], result.comparison.policies[-1]
    about = result.figures
    print(
        f"{result.comparison.workload}: {counted(result.jobs, 'job')}, {counted(result.containers, 'container')}, "
        f"{counted(result.nodes, 'node')}"
    )
    if result.drained is not None:
        show_drained(result.drained, limit)
    print(f"Before: {first.policy}. After: {then.policy}. {counted(len(then.seeds), 'seed')} each.\n")
    main: list[Column[str]] = [
        ("FIGURE", lambda name: about.overall[name].title),
        ("BEFORE", lambda name: value(first.figures[name].value.value, about.overall[name].unit)),
        ("AFTER", lambda name: value(then.figures[name].value.value, about.overall[name].unit)),
        ("CHANGE", lambda name: _changed(then.figures[name], about.overall[name])),
    ]
    names = [name for name in MAIN if first.figures[name].value.value is not None or _known(then.figures[name])]
    show(names, main, Format.table, nothing="Nothing can be said.")
    print()
    _show_parts(first.queues, then.queues, lambda queue: queue.queue, "QUEUE", about.by_queue, limit)
    if then.users:  # which older answers do not tell apart
        print()
        _show_parts(first.users, then.users, lambda user: user.user, "USER", about.by_user, limit)
    for note in result.comparison.notes:
        print(f"* {note}")


def _show_parts(
    first: Sequence[P],
    then: Sequence[P],
    of: Callable[[P], str],
    word: str,
    about: Mapping[str, SimulatedFigure],
    limit: int,
) -> None:
    """Queues or users as rows. of: what each is called."""
    before = {of(part): part for part in first}
    columns: list[Column[P]] = [(word, of)]
    for title, name in BY_PART:
        columns += _of_part(title, name, before, of, about[name])
    show(then, columns, Format.table, nothing=f"There are no {word.lower()}s.", limit=limit)


def _changed(figure: SimulatedComparedFigure, about: SimulatedFigure) -> str:
    return change(figure.change, about.unit, about.better)


def _of_part(
    title: str, name: str, before: Mapping[str, P], of: Callable[[P], str], about: SimulatedFigure
) -> list[Column[P]]:
    """A figure of queues or users before and after, and its change. before: by what ``of`` says of each."""

    def both(part: P) -> str:
        old = before.get(of(part))
        then = part.figures[name].value.value
        return f"{value(old.figures[name].value.value if old else None, about.unit)} -> {value(then, about.unit)}"

    return [(title, both), ("CHANGE", lambda part: _changed(part.figures[name], about))]


def _known(figure: SimulatedComparedFigure) -> bool:
    return figure.value.value is not None
