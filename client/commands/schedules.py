"""Schedules: jobs that are started again and again, at times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from client import jobfile
from client.api import Client
from client.commands.bringing import AcceptOption, SetOption, as_text, brought, settings
from client.commands.common import ShowingGroup, complete_queue, complete_schedule, connected, near, with_number
from client.commands.dryrun import warn
from client.commands.nodes import moment, seconds
from client.errors import client_error, locating
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.progress import uploading
from client.screen import Column, Format, OutputOption, noted, say, show_one, told
from contract.schedules import OWN_PARAMETERS, Schedule, ScheduleDetail, SchedulePreview, ScheduleRun
from wire.counts import counted

NEVER = "never"
NONE = "none"

schedule = typer.Typer(cls=ShowingGroup, no_args_is_help=True, help="Jobs that are started again and again.")
ScheduleArgument = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="Its name, OWNER/NAME, or its number.", autocompletion=complete_schedule),
]
ZoneOption = Annotated[str | None, typer.Option("--zone", help="Its time zone, like Europe/Berlin; UTC.")]
OverlapOption = Annotated[
    str | None, typer.Option("--overlap", help="While its last job lives: skip (the default), allow or replace it.")
]
WithinOption = Annotated[
    str | None, typer.Option("--start-within", help="Later than this after its time nothing is started; 1h.")
]
KeepOption = Annotated[int | None, typer.Option("--keep", min=1, max=1000, help="Times kept in its history; 50.")]
UntilOption = Annotated[str | None, typer.Option("--until", help="Nothing after it: +30d or YYYY-MM-DDTHH:MM; never.")]
ExceptOption = Annotated[
    list[str],
    typer.Option(
        "--except", metavar="DAYS", help="Not on YYYY-MM-DD, from one to another (with a /), or on MM-DD; or none."
    ),
]


def find(client: Client, text: str) -> Schedule:
    """The schedule of this name or number; of several of a name one's own."""
    owner, _, name = text.rpartition("/")
    found = [each for each in client.schedules(owner=owner or None, name=name) if each.name == name]
    if len(found) > 1:
        me = client.me().username
        found = [each for each in found if each.owner == me] or found
    found = with_number(found, text, client.schedule)
    if not found:
        known = client.schedules(owner=owner or None)
        remedy = near(text, (f"{s.owner}/{s.name}" if owner else s.name for s in known), "hydractl schedule list")
        raise client_error(f"there is no schedule {text}", field_name="schedule", remedy=remedy)
    if len(found) > 1:
        names = ", ".join(f"{s.owner}/{s.name}{f' (number {s.id})' if str(s.id) == text else ''}" for s in found)
        raise client_error(f"{text} names several schedules", field_name="schedule", remedy=f"Name one of: {names}")
    return found[0]


def _at(at: datetime | None) -> str:
    """In the schedule's zone."""
    return at.strftime("%Y-%m-%d %H:%M:%S %z") if at else " "


def _became(run: ScheduleRun | None) -> str:
    if run is None:
        return " "
    return f"job {run.job.id} {run.job.state}" if run.job else run.outcome


LIST: list[Column[Schedule]] = [
    ("SCHEDULE", lambda s: s.id), ("NAME", lambda s: s.name), ("OWNER", lambda s: s.owner),
    ("QUEUE", lambda s: s.queue), ("WHEN", lambda s: s.words), ("ZONE", lambda s: s.zone),
    ("NEXT", lambda s: "suspended" if s.suspended else _at(s.next_at) if s.next_at else "never"),
    ("LAST", lambda s: _became(s.last_run)),
]  # fmt: skip


@schedule.command("list")
def list_schedules(
    ctx: typer.Context,
    *,
    owner: Annotated[str | None, typer.Option(help="Of this account.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Of this queue and those below it.", autocompletion=complete_queue)
    ] = None,
    name: Annotated[str | None, typer.Option(help="Whose name begins so.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many, newest first; 0: all.")] = 100,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The schedules whose jobs you may see."""
    with connected(ctx) as client:
        found = partial(client.schedules, owner=owner, queue=queue, name=name)
        look = Looking(sort, columns, watch)
        listed(found, LIST, output, nothing="No such schedules.", limit=limit, look=look)


@schedule.command("show")
def show_schedule(
    ctx: typer.Context,
    schedule: ScheduleArgument,
    file: Annotated[bool, typer.Option("--file", help="Its job file instead, as it was sent.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """One schedule and its next times. The word show may be left out."""
    with connected(ctx) as client:
        found = client.schedule(find(client, schedule).id)
    if file:
        print(found.job, end="" if found.job.endswith("\n") else "\n")
        return
    _shown(found, output)


def _coming(found: ScheduleDetail) -> tuple[str, list[str]]:
    return "next, once resumed" if found.suspended else "next", [_at(at) for at in found.upcoming]


def _shown(found: ScheduleDetail, output: Format) -> None:
    pairs = [
        ("schedule", found.id), ("name", found.name), ("owner", found.owner), ("queue", found.queue),
        ("cron", found.cron), ("when", found.words), ("zone", found.zone), ("except", found.except_days),
        ("suspended", found.suspended or None), _coming(found), ("until", found.until),
        ("overlap", found.overlap), ("starts within", f"{found.start_within_s} s"),
        ("keeps", counted(found.keep, "time")), ("values", found.set),
        ("last", found.last_run and _became(found.last_run)), ("revision", found.revision),
    ]  # fmt: skip
    show_one(found, pairs, output)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What options say; None where they say nothing."""

    zone: str | None
    overlap: str | None
    within: str | None
    keep: int | None
    until: str | None
    except_days: list[str]

    def fields(self) -> dict[str, Any]:
        """As the API takes them."""
        known = {"zone": self.zone, "overlap": self.overlap, "keep": self.keep}
        found: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
        if self.within is not None:
            found["start_within_s"] = seconds(self.within, "start-within")
        if self.until is not None:
            found["until"] = None if self.until == NEVER else moment(self.until, "until").isoformat()
        if self.except_days:
            found["except_days"] = [] if self.except_days == [NONE] else self.except_days
        return found


@contextmanager
def _file(
    client: Client, file: Path, values: dict[str, str], *, accept_losses: bool, send: bool = True
) -> Iterator[str]:
    """The text of a job file, whose local files are sent to the server. What is refused meanwhile says where it is."""
    spec, text = brought(file, accept_losses=accept_losses)
    declared = spec.get("parameters")
    own = {name: "1" for name in OWN_PARAMETERS if isinstance(declared, dict) and name in declared}
    with locating(text):
        packed = jobfile.pack_template(spec, file.parent, own | values)
    if send:
        with uploading() as on_upload:
            client.upload_all(packed.uploads, on_upload)
    with locating(text, within="job."), packed.as_written():
        yield text if isinstance(text, str) and packed.spec == spec else as_text(packed.spec)


@schedule.command("create")
def create_schedule(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Unlike your other schedules' names.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What to start: as for hydractl submit. - is stdin.")],
    *,
    cron: Annotated[str, typer.Option("--cron", help="Like '30 2 * * mon-fri', or @daily.")],
    zone: ZoneOption = None,
    values: SetOption = (),  # type: ignore[assignment]  # typer makes a list of it
    overlap: OverlapOption = None,
    within: WithinOption = None,
    keep: KeepOption = None,
    until: UntilOption = None,
    except_days: ExceptOption = (),  # type: ignore[assignment]
    suspended: Annotated[bool, typer.Option("--suspended", help="Start nothing until it is resumed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Keep nothing: say when it would start.")] = False,
    accept_losses: AcceptOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Start a job again and again. Its parameters schedule_time, schedule_date and schedule_name get their values."""
    asked = _Asked(zone, overlap, within, keep, until, list(except_days)).fields()
    given = settings(values)
    with (
        connected(ctx) as client,
        _file(client, file, given, accept_losses=accept_losses, send=not dry_run) as text,
    ):
        more = asked | {"set": given, "suspended": suspended}
        if dry_run:
            _foretold(client.preview_schedule(name, cron, text, **more), output)
            return
        made = client.create_schedule(name, cron, text, **more)
    warn(made.warnings)
    told(made, f"schedule {made.id} ({made.name}): {made.words}, {made.zone}; {_next(made)}", output)


def _next(found: ScheduleDetail) -> str:
    return "suspended" if found.suspended else f"next {_at(found.next_at)}" if found.next_at else "nothing to come"


def _foretold(found: SchedulePreview, output: Format) -> None:
    warn(found.warnings)
    ahead = found.outlook
    pairs = [
        ("when", found.words), ("next", [_at(at) for at in found.upcoming]), ("queue", found.queue),
        ("home", ahead and ahead.home), ("starts", ahead and ahead.estimate.text),
    ]  # fmt: skip
    show_one(found, pairs, output)
    say("Nothing was kept.")


@schedule.command("update")
def update_schedule(
    ctx: typer.Context,
    schedule: ScheduleArgument,
    *,
    name: Annotated[str | None, typer.Option("--name", help="Another name.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Another job file.")] = None,
    cron: Annotated[str | None, typer.Option("--cron", help="Other times.")] = None,
    zone: ZoneOption = None,
    values: SetOption = (),  # type: ignore[assignment]
    overlap: OverlapOption = None,
    within: WithinOption = None,
    keep: KeepOption = None,
    until: UntilOption = None,
    except_days: ExceptOption = (),  # type: ignore[assignment]
    accept_losses: AcceptOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Change what the options name. Values of parameters that are not named stay. Times that have passed are let go."""
    changes = _Asked(zone, overlap, within, keep, until, list(except_days)).fields()
    changes |= {key: value for key, value in {"name": name, "cron": cron}.items() if value is not None}
    with connected(ctx) as client:
        known = client.schedule(find(client, schedule).id)
        given = known.set | settings(values)
        if values:
            changes["set"] = given
        if not changes and file is None:
            raise client_error("nothing to change", field_name="schedule", remedy="Name an option, such as --cron.")
        with _file(client, file, given, accept_losses=accept_losses) if file else nullcontext() as text:
            changes |= {"job": text} if text is not None else {}
            made = client.update_schedule(known.id, known.revision, **known.written() | changes)
    warn(made.warnings)
    told(made, f"schedule {made.id} ({made.name}) changed: {made.words}, {made.zone}; {_next(made)}", output)


@schedule.command()
def suspend(ctx: typer.Context, schedule: ScheduleArgument, output: OutputOption = Format.table) -> None:
    """Start nothing by itself until it is resumed. Its jobs run on."""
    with connected(ctx) as client:
        found = client.suspend_schedule(find(client, schedule).id)
    told(found, f"schedule {found.id} ({found.name}) is suspended", output)


@schedule.command()
def resume(ctx: typer.Context, schedule: ScheduleArgument, output: OutputOption = Format.table) -> None:
    """Go on with the times to come. Those that passed meanwhile start nothing."""
    with connected(ctx) as client:
        found = client.resume_schedule(find(client, schedule).id)
    told(found, f"schedule {found.id} ({found.name}) goes on: {_next(found)}", output)


@schedule.command()
def run(ctx: typer.Context, schedule: ScheduleArgument, output: OutputOption = Format.table) -> None:
    """Start its job now, also while it is suspended. Its times stay as they are."""
    with connected(ctx) as client:
        found = client.run_schedule(find(client, schedule).id)
    told(found, f"{_became(found)}{f', {found.message}' if found.message else ''}", output)
    if found.job and output is Format.table:
        say(f"See it: hydractl job {found.job.id}    follow it: hydractl wait {found.job.id}")


@schedule.command()
def delete(ctx: typer.Context, schedule: ScheduleArgument, output: OutputOption = Format.table) -> None:
    """Start nothing by it any more, and forget its history. Its jobs run on."""
    with connected(ctx) as client:
        found = find(client, schedule)
        client.delete_schedule(found.id)
    noted({"deleted": found.id}, f"schedule {found.id} ({found.name}) is deleted", output)


RUNS: list[Column[ScheduleRun]] = [
    ("AT", lambda r: r.at), ("WHAT", lambda r: r.outcome), ("JOB", lambda r: r.job and r.job.id),
    ("STATE", lambda r: r.job.state if r.job else " "), ("TIMES", lambda r: r.times), ("BY", lambda r: r.by or " "),
    ("MESSAGE", lambda r: r.message or " "),
]  # fmt: skip


@schedule.command()
def history(
    ctx: typer.Context,
    schedule: ScheduleArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many, the last first; 0: all.")] = 50,
    sort: Annotated[str | None, sorting(RUNS)] = None,
    columns: Annotated[str | None, picking(RUNS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What became of its times: jobs that were started, and why nothing was."""
    with connected(ctx) as client:
        found = partial(client.schedule_runs, find(client, schedule).id)
        look = Looking(sort, columns, watch)
        listed(found, RUNS, output, nothing="It has started nothing yet.", limit=limit, look=look)


def register(main: typer.Typer) -> None:
    main.add_typer(schedule, name="schedule", rich_help_panel="Jobs")
