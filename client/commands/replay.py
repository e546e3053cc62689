"""Playing a recorded trace on the running cluster."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from client import replay as trace
from client import traces
from client.api import Client
from client.commands.common import connected
from client.commands.nodes import moment
from client.errors import HydraError, client_error
from client.screen import Format, OutputOption, console, print_json, say
from wire.counts import counted


def replay(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A history of jobs, as docs/operators.md describes it.")
    ],
    *,
    workload: Annotated[
        str, typer.Option(metavar="KIND", help="What TRACE is instead: swf, sls, openb or philly, read in a checkout.")
    ] = traces.HISTORY,
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Of KIND's reader; several times.")] = None,
    speed: Annotated[float, typer.Option(min=0.001, help="So many times faster than it was.")] = 1.0,
    queue: Annotated[str, typer.Option(help="For all jobs, instead of their own.")] = "",
    scale: Annotated[float, typer.Option(min=0.0001, help="Of the memory and cores that tasks ask for.")] = 1.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many jobs, from the beginning.")] = None,
    until: Annotated[float | None, typer.Option(help="Only what was submitted before this second.")] = None,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Leave out the labels, nodes, racks and partitions that jobs name.")
    ] = False,
    kill: Annotated[bool, typer.Option("--kill", help="On Ctrl-C or an error, stop what was submitted.")] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Until all have ended, and say how they did.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Submit the jobs of a trace in its order and at its pace; each task sleeps as long as it ran."""
    chosen = partial(_chosen, workload, file, option or [], limit, until)
    o = trace.Options(speed, queue, scale, f"replay-{uuid.uuid4().hex[:8]}", anywhere)
    count, last_s, lost = _length(chosen(), o)
    for text, jobs in lost.items():
        say(f"{counted(jobs, 'job')}: each {text}")
    say(f"{counted(count, 'job')} over {timedelta(seconds=round(last_s / speed))}; they carry the tag {o.tag}")
    outcome = trace.ReplayOutcome()
    with connected(ctx) as client:
        try:
            with _bar(count) as progress:
                bar = progress.add_task("submitted", total=count)
                trace.play(
                    chosen(), o, client.submit_many, outcome, lambda: progress.update(bar, completed=len(outcome.jobs))
                )
            say(
                f"{counted(len(outcome.jobs), 'job')} submitted, at most {outcome.late_s:.1f} s later than in the trace"
            )
            states = _attend(client, outcome.jobs) if wait else {}
        except (KeyboardInterrupt, HydraError):
            _leave(client, outcome.jobs, o.tag, kill)
            raise
    if output is Format.json:
        print_json({"tag": o.tag, "jobs": outcome.jobs, "late_s": round(outcome.late_s, 3), "states": states})
    if set(states) - {"SUCCEEDED"}:
        raise typer.Exit(1)


def _leave(client: Client, jobs: list[int], tag: str, kill: bool) -> None:
    """After Ctrl-C or an error. What goes wrong here is said, not raised: the first is what is told."""
    if not kill:
        were = counted(len(jobs), "job was submitted and goes on", "jobs were submitted and go on")
        say(f"{were}: hydractl jobs --tag {tag}")
        return
    say(f"stopping {counted(len(jobs), 'job')}")
    for job in jobs:
        try:
            client.kill(job, "its replay was stopped")
        except HydraError as error:
            if error.status != 409:  # it has ended
                say(f"not all could be stopped ({error}): hydractl jobs --tag {tag}")
                return


def _chosen(
    kind: str, file: Path, options: list[str], limit: int | None, until: float | None
) -> Iterator[trace.Recorded]:
    jobs = islice(traces.read(kind, file, options), limit)
    return jobs if until is None else takewhile(lambda r: r.at_s < until, jobs)


def _length(jobs: Iterator[trace.Recorded], o: trace.Options) -> tuple[int, float, Counter[str]]:
    """How many jobs, the last one's second, and of how many something is lost, by what.

    Reads all of it first, so that a bad line is told before anything.
    """
    count, last, lost = 0, 0.0, Counter[str]()
    for r in jobs:
        trace.job_spec(r, o)
        lost.update(trace.losses(r, o))
        count, last = count + 1, r.at_s
    return count, last, lost


def _bar(total: int) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.completed:,.0f}/{task.total:,.0f}"))
    return Progress(*columns, TimeRemainingColumn(), console=console(stderr=True), disable=not total)


def _attend(client: Client, jobs: list[int]) -> dict[str, int]:
    """How many ended in each state."""
    states: dict[str, int] = {}
    for job in jobs:
        state = client.wait(job).state
        states[state] = states.get(state, 0) + 1
    say(", ".join(f"{count:,} {state.lower()}" for state, count in sorted(states.items())))
    return states


def history(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written there, gzipped: name it .jsonl.gz.")],
    *,
    begin: Annotated[str, typer.Option("--from", help="Its begin: -4h or YYYY-MM-DDTHH:MM (your time).")] = "-1h",
    end: Annotated[str | None, typer.Option("--to", help="Its end, the same; now, if left out.")] = None,
    output: OutputOption = Format.table,
) -> None:
    """Write the jobs of a window of the recorded history into a file, to be replayed or simulated. For operators."""
    if file.suffix != ".gz":
        raise client_error("it is gzipped", field_name="FILE", remedy=f"Name it {file}.gz.")
    since = moment(begin, "from")
    until = None if end is None else moment(end, "to")
    with connected(ctx) as client:
        client.recorded_history(since, until, file)
    jobs, notes = sum(1 for _ in trace.read(file)), trace.notes(file)
    if output is Format.json:
        print_json({"path": str(file), "jobs": jobs, "notes": notes})
        return
    for text in (f"{counted(jobs, 'job')} in {file}", *notes):
        say(text)


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Cluster")(replay)
    app.command(rich_help_panel="Cluster")(history)
