"""What is done with services while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from client import jobfile
from client.api import Client
from client.commands.bringing import SetOption, settings
from client.commands.common import JobArgument, apart, complete_group, connected
from client.commands.dryrun import warn
from client.commands.nodes import seconds
from client.errors import client_error, locating
from client.logcalls import PATIENCE_S
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.progress import headline, rollout_line, uploading
from client.screen import Column, Format, OutputOption, plain, print_json, printable, say
from contract.jobs import JobDetail, JobUpdated, Revision
from contract.problems import sentence


def _span_of(name: str) -> Callable[[str], float]:
    def span(text: str) -> float:
        try:
            return float(text.removesuffix("s"))
        except ValueError:
            return seconds(text, name)

    return span


UnavailableOption = Annotated[
    int | None, typer.Option("--max-unavailable", min=0, help="So many tasks of a group are down at a time; 1.")
]
SurgeOption = Annotated[
    int | None,
    typer.Option("--max-surge", min=0, help="New tasks to start beside a group's own, where there is room; 0."),
]
ReadyOption = Annotated[
    float | None,
    typer.Option(
        "--min-ready",
        parser=_span_of("min-ready"),
        metavar="TIME",
        help="A task without a health check has to run so long, in seconds or like 1m; 10s.",
    ),
]
DeadlineOption = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        parser=_span_of("deadline"),
        metavar="TIME",
        help="It is taken back if it is not done by then, in seconds or like 30m; 10m. 0: never.",
    ),
]
FailuresOption = Annotated[
    int | None, typer.Option("--max-failures", min=0, help="So many attempts may fail before it is taken back; 1.")
]
RevisionOption = Annotated[
    int | None, typer.Option("--revision", min=1, help="Only if this one is in force; without it, whichever is.")
]


WaitOption = Annotated[
    bool, typer.Option("--wait", "-w", help="Until it serves (status 0), or was taken back or refused (status 1).")
]
POLL_S = 1.0
OTHERWISE = 1


def scale(
    ctx: typer.Context,
    job: JobArgument,
    group: Annotated[str, typer.Argument(metavar="GROUP", autocompletion=complete_group)],
    count: Annotated[int, typer.Argument(metavar="COUNT", help="So many tasks; of fewer the last ones stop.")],
    output: OutputOption = Format.table,
) -> None:
    """Keep another number of a service's tasks running, one at least. Its home decides, see hydractl events."""
    if count < 1:
        remedy = f"Stop the whole job: hydractl kill {job}"
        raise client_error("a service cannot be scaled to none", field_name="count", remedy=remedy)
    with connected(ctx) as client:
        _told(client.scale(job, group, count), f"asked for {count} of {group}", output)


def restart(
    ctx: typer.Context,
    job: JobArgument,
    group: Annotated[str | None, typer.Argument(metavar="[GROUP]", autocompletion=complete_group)] = None,
    index: Annotated[int | None, typer.Argument(metavar="[INDEX]", help="Of one task, which starts at once.")] = None,
    output: OutputOption = Format.table,
) -> None:
    """Start a service's task again; or all of a group or of the job, each when the one before it serves again.

    What pauses since it failed starts at once.
    """
    what = "all of it" if group is None else group if index is None else f"{group}/{index}"
    with connected(ctx) as client:
        _told(client.restart(job, group, index), f"asked to restart {what}", output)


def update(
    ctx: typer.Context,
    job: JobArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file, YAML or JSON, with the same groups.")],
    *,
    values: SetOption = (),  # type: ignore[assignment]
    max_unavailable: UnavailableOption = None,
    max_surge: SurgeOption = None,
    min_ready: ReadyOption = None,
    deadline: DeadlineOption = None,
    max_failures: FailuresOption = None,
    revision: RevisionOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Begin nothing: say what is wrong with it, and what can never start.")
    ] = False,
    wait: WaitOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Have a service run what FILE says, some tasks at a time; back by itself when that does not serve."""
    apart(ctx, "dry_run", "wait")
    text = jobfile.read_text(file)
    with locating(text):
        packed = jobfile.pack(jobfile.given(jobfile.parse(text, file), settings(values)), file.parent)
    rules = {
        "max_unavailable": max_unavailable,
        "max_surge": max_surge,
        "min_ready_s": min_ready,
        "deadline_s": deadline,
    }
    with connected(ctx) as client:
        if not dry_run:
            with uploading() as on_upload:
                client.upload_all(packed.uploads, on_upload)
        asked = _asking(client, job, revision, wait)
        with locating(text, within="spec."), packed.as_written():
            done = client.update(job, asked.known, packed.spec, dry_run=dry_run, max_failures=max_failures, **rules)
        warn(done.warnings, text, within="spec.")
        if done.unchanged and output is not Format.json:
            print(f"job {done.id}: unchanged, it runs what {file} says as revision {done.revision}")
        elif dry_run:
            _told_before(done, f"would be rolled out as revision {asked.known + 1}: {file}", output)
        elif wait and not done.unchanged:
            _say(done.changes, output)
            _attend(client, job, asked, output)
        else:
            _told(done, f"asked to roll {file} out", output, done.changes)


def rollback(
    ctx: typer.Context,
    job: JobArgument,
    to: Annotated[
        int | None, typer.Option("--to", min=1, help="A revision; else the last that served and differs.")
    ] = None,
    *,
    max_unavailable: UnavailableOption = None,
    max_surge: SurgeOption = None,
    min_ready: ReadyOption = None,
    revision: RevisionOption = None,
    wait: WaitOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Have a service run what it ran before; also while an update is under way."""
    rules = {"max_unavailable": max_unavailable, "max_surge": max_surge, "min_ready_s": min_ready}
    with connected(ctx) as client:
        asked = _asking(client, job, revision, wait)
        done = client.rollback(job, asked.known, to, **rules)
        if done.unchanged and output is not Format.json:
            print(f"job {done.id}: unchanged, it runs what revision {to} ran as revision {done.revision}")
        elif wait and not done.unchanged:
            _say(done.changes, output)
            _attend(client, job, asked, output)
        else:
            what = f"asked to go back to {'what it ran before' if to is None else f'revision {to}'}"
            _told(done, what, output, done.changes)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Of a service, when revision ``known`` was in force and ``events`` was the number of its last event."""

    known: int
    events: int


def _asking(client: Client, job_id: int, revision: int | None, wait: bool) -> _Asked:
    """What is known before something is asked for; wait: whether that is watched."""
    known = revision or client.job(job_id).revision
    last = next(client.events(job_id, newest_first=True), None) if wait else None
    return _Asked(known, last.id if last else 0)


def _attend(client: Client, job_id: int, asked: _Asked, output: Format) -> None:
    """Watch what was asked for; leaves with status 1 unless it serves in the end. Ctrl-C leaves it going on."""
    told, refused = "", ""
    try:
        while True:
            job = client.job(job_id, patience_s=PATIENCE_S)
            line = headline(job) if job.ended else f"job {job_id}: {rollout_line(job)}"
            if line != told and (job.ended or job.rollout):
                told = line
                say(line)
            refused = _refused(client, job_id, asked) if job.revision == asked.known else ""
            if refused or job.ended or (job.revision > asked.known and job.rollout is None):
                break
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        say(f"\njob {job_id} goes on without you. See it: hydractl job {job_id}")
        raise
    if output is Format.json:
        print_json(job)
    if why := refused or _undone(client, job, asked):
        say(f"hydractl: {sentence(why)} Look at: hydractl events {job_id}")
        raise typer.Exit(OTHERWISE)
    if output is not Format.json:
        print(f"job {job_id}: serves as revision {job.revision}")


def _refused(client: Client, job_id: int, asked: _Asked) -> str:
    """Why its home did not begin what was asked for; nothing while it may yet."""
    since = takewhile(lambda event: event.id > asked.events, client.events(job_id, newest_first=True))
    found = next((event for event in since if event.kind == "not_updated"), None)
    return f"it was not begun: {found.message}" if found else ""


def _undone(client: Client, job: JobDetail, asked: _Asked) -> str:
    """Why what was asked for does not serve; nothing where it does."""
    if job.ended:
        return headline(job)
    known = {r.revision: r for r in client.revisions(job.id)}
    outcome = known[asked.known + 1].outcome if asked.known + 1 in known else ""
    if not outcome and job.revision == asked.known + 1:
        return ""
    undone = undoing(client, job)
    return f"undone: {undone}" if undone else f"not in force: {outcome or 'another revision followed it'}"


def undoing(client: Client, job: JobDetail) -> str:
    """Which revision of a service was undone before the one in force, when and why; "" where none was."""
    if job.kind != "service" or job.revision < 2:
        return ""
    newest, gone = [*client.revisions(job.id), None, None][:2]
    if newest is None or gone is None or newest.back is None or not gone.outcome:
        return ""
    return f"revision {gone.revision} at {plain(newest.at)}, back to what revision {newest.back} ran: {gone.outcome}"


def revisions(
    ctx: typer.Context,
    job: JobArgument,
    sort: Annotated[str | None, sorting(REVISIONS)] = None,
    columns: Annotated[str | None, picking(REVISIONS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What a service ran and runs, the newest first."""
    newest: int | None = None
    with connected(ctx) as client:

        def found() -> list[Revision]:
            nonlocal newest
            newest = client.job(job).revision
            return client.revisions(job)

        look = Looking(sort, columns, watch)
        listed(found, _columns(lambda: newest), output, nothing="It has none.", look=look)


def _columns(newest: Callable[[], int | None]) -> list[Column[Revision]]:
    """newest: the revision in force, which may be another at the next look."""
    return [
        ("REVISION", lambda r: r.revision), ("SINCE", lambda r: r.at), ("BY", lambda r: r.by),
        ("AS", lambda r: r.back or " "), ("CHANGES", lambda r: "; ".join(r.changes) or " "),
        ("WHAT BECAME OF IT", lambda r: _became(r, newest())),
    ]  # fmt: skip


def _became(r: Revision, newest: int | None) -> str:
    return ", ".join(filter(None, (r.outcome, "in force" if r.revision == newest else ""))) or "followed by another"


REVISIONS = _columns(lambda: None)


def _say(changes: Sequence[str], output: Format) -> None:
    for each in changes if output is not Format.json else ():
        say(printable(each))


def _told(job: JobDetail, what: str, output: Format, changes: Sequence[str] = ()) -> None:
    if output is Format.json:
        print_json(job)
        return
    print("\n  ".join([f"job {job.id}: {what}", *map(printable, changes)]))
    say(f"See it: hydractl job {job.id}    what came of it: hydractl events {job.id}")


def _told_before(job: JobUpdated, what: str, output: Format) -> None:
    if output is Format.json:
        print_json(job)
    else:
        print("\n  ".join([f"job {job.id}: {what}", *map(printable, job.changes)]))
    say("Nothing was begun.")


def register(app: typer.Typer) -> None:
    for command in (scale, restart, update, rollback, revisions):
        app.command(rich_help_panel="Jobs")(command)
