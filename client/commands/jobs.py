"""Submitting jobs, looking at them, and changing their fate."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

import typer

from client import jobfile
from client.answers import to_json
from client.api import Client
from client.commands.bringing import AcceptOption, SetOption, brought, settings
from client.commands.common import (
    JobArgument,
    apart,
    complete_group,
    complete_node,
    complete_queue,
    connected,
    nothing_in,
    state_word,
)
from client.commands.dryrun import packed, told_before, warn, with_servers
from client.commands.nodes import find, moment
from client.commands.receivers import tells
from client.commands.services import undoing
from client.commands.views import view_named
from client.errors import InvalidJob, locating, placed
from client.follow import Printer, follow_job, where_it_says
from client.logcalls import PATIENCE_S
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.progress import headline, rollout_line, uploading, watching
from client.screen import Column, Format, OutputOption, duration, plain, print_json, say, show, show_one, told
from contract.jobs import Container, Event, Group, Job, JobDetail, JobPlace, Task
from contract.jobspec import JobSpec
from contract.jobusage import GroupUsage
from contract.parameters import fill
from contract.problems import FieldError
from wire import arrays
from wire.counts import counted

FileArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A job file, YAML or JSON; a batch script; a Kubernetes Job. - is stdin."),
]
WaitOption = Annotated[
    bool,
    typer.Option(
        "--wait", "-w", help="Until the job has ended (a service is killed); status 0 if it succeeded, 1 if not."
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", "-f", help="As --wait, and show what the tasks write, to stderr too.")
]
ENDED_OTHERWISE = 1


def submit(
    ctx: typer.Context,
    file: FileArgument,
    *,
    name: Annotated[str | None, typer.Option(help="Instead of the file's name.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Instead of the file's queue.", autocompletion=complete_queue)
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Instead of the file's priority.")] = None,
    wait: WaitOption = False,
    follow: FollowOption = False,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key submits once, however often.")] = None,
    values: SetOption = (),  # type: ignore[assignment]  # typer makes a list of it
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Submit nothing: say where it would go, and when it could start.")
    ] = False,
    accept_losses: AcceptOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the job's number alone, for scripts.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Upload the files a job names and submit it. What is lost of scripts, and what can never start, is on stderr."""
    apart(ctx, "dry_run", "wait", "follow", "quiet", "key")
    spec, text = brought(file, accept_losses=accept_losses)
    typed = {k: v for k, v in {"name": name, "queue": queue, "priority": priority}.items() if v is not None}
    spec = jobfile.given(spec | typed, settings(values))
    with connected(ctx) as client, locating(text, options=typed):
        ready = packed(ctx, spec, file.parent)
        if dry_run:
            with ready.as_written():
                checked = client.check(ready.spec)
            told_before(checked, output, text, typed)
            return
        with uploading() as on_upload:
            client.upload_all(ready.uploads, on_upload)
        with ready.as_written():
            job = client.submit(ready.spec, idempotency_key=key)
        warn(job.warnings, text, options=typed)
        if quiet:
            print(job.id, flush=True)
        if wait or follow:
            say(f"job {job.id} ({job.name}) submitted to {job.queue}")
            _attend(client, job, follow, output)
        elif output is Format.json:
            print_json(job)
        elif not quiet:
            print(f"job {job.id} ({job.name}) submitted to {job.queue}")
            say(f"See it: hydractl job {job.id}    follow it: hydractl wait {job.id}")


def wait(
    ctx: typer.Context, job: JobArgument, follow: FollowOption = False, output: OutputOption = Format.table
) -> None:
    """Watch a job until it has ended, a service until it is killed; status 0 if it succeeded, 1 if not."""
    with connected(ctx) as client:
        _attend(client, client.job(job, patience_s=PATIENCE_S), follow, output)


def _attend(client: Client, job: Job, follow: bool, output: Format) -> None:
    """Watch until the end; leaves with status 1 when the job did not succeed. Ctrl-C leaves the job running."""
    job_id = job.id
    if job.kind == "service" and not job.ended:
        say("A service does not end by itself: watching until it is killed, or Ctrl-C.")
    printers: list[threading.Thread] = []
    printer = Printer(prefixed=True, both=True)
    try:
        if follow:
            printers = follow_job(client, job_id, printer=printer, note=say)
        with watching(live=not follow) as on_change:
            done = client.wait(job_id, on_change)
        for thread in printers:
            thread.join()
    except KeyboardInterrupt:
        say(f"\njob {job_id} goes on without you. Follow it: hydractl wait {job_id}    stop it: hydractl kill {job_id}")
        raise
    if output is Format.json:
        print_json(done)
    if not done.succeeded:
        say(f"hydractl: {headline(done)}. Look at: {where_it_says(client, done)}")
        raise typer.Exit(ENDED_OTHERWISE)


def validate(
    ctx: typer.Context,
    file: FileArgument,
    values: SetOption = (),  # type: ignore[assignment]
    server: Annotated[bool, typer.Option("--server", help="Ask the server, too: may it go into its queue?")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Check a job file and the files it names, without a server unless you want one. Nothing is submitted."""
    spec, text = brought(file, accept_losses=True)
    spec = jobfile.given(spec, settings(values))
    wrong = jobfile.check(spec, file.parent)
    wrong = with_servers(ctx, spec, wrong) if server and wrong else wrong
    wrong, warnings = placed(wrong, text), list[FieldError]()
    if server and not wrong:
        packed = jobfile.pack(spec, file.parent)
        with connected(ctx) as client, locating(text), packed.as_written():
            warnings = client.check(packed.spec).warnings
            warn(warnings, text)
    if output is Format.json:
        print_json({"valid": not wrong, "errors": to_json(wrong), "warnings": to_json(placed(warnings, text))})
        if wrong:
            raise typer.Exit(2)
    elif wrong:
        raise InvalidJob(wrong)
    else:
        groups = fill(spec, JobSpec).job.get("groups") or []
        of_all = f"{counted(len(groups), 'group')}, {counted(sum(_count(g) for g in groups), 'task')}"
        what = f"job of {of_all}" if groups else "application"
        say(f"{file}: a valid {what}.")


def _count(group: dict[str, Any]) -> int:
    return arrays.size(group["array"]) if group.get("array") else int(group.get("count", 1))


def jobs(
    ctx: typer.Context,
    *,
    state: Annotated[str | None, typer.Option(help="Like RUNNING or FAILED; or live, or ended.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Of this queue and those below it.", autocompletion=complete_queue)
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Of this account.")] = None,
    tag: Annotated[str | None, typer.Option(help="With this tag.")] = None,
    name: Annotated[str | None, typer.Option(help="Whose name begins so.")] = None,
    kind: Annotated[str | None, typer.Option(help="batch, service or application.")] = None,
    node: Annotated[
        str | None, typer.Option(help="With containers on this node now.", autocompletion=complete_node)
    ] = None,
    since: Annotated[str | None, typer.Option(help="Submitted then or later: -2h, -7d or YYYY-MM-DDTHH:MM.")] = None,
    until: Annotated[str | None, typer.Option(help="Submitted before then: the same.")] = None,
    order: Annotated[str | None, typer.Option(help="newest (the default) or oldest first.")] = None,
    view: Annotated[str | None, typer.Option(help="The filters of this saved view, where no other is given.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many, newest first; 0: all.")] = 30,
    sort: Annotated[str | None, sorting(JOBS + MORE)] = None,
    columns: Annotated[str | None, picking(JOBS + MORE)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """List jobs, newest first unless --order says otherwise."""
    filters = {"queue": queue, "owner": owner, "tag": tag, "name": name, "kind": kind}
    filters |= {
        "since": _ago(since, "since"),
        "until": _ago(until, "until"),
        "order": order,
        "state": state_word(state),
    }
    with connected(ctx) as client:
        if view is not None:
            saved = dict(parse_qsl(view_named(client, view).query))
            filters |= {key: value for key, value in saved.items() if filters.get(key) is None}

        if node is not None:
            filters["node"] = _node_called(client, node)
        found = partial(client.jobs, page_size=min(limit + 1, 100) if limit else 100, **filters)
        look = Looking(sort, columns, watch)
        listed(
            found,
            JOBS + MORE,
            output,
            nothing=nothing_in(client, queue, "No such jobs."),
            limit=limit,
            look=look,
            usual=JOBS,
        )


def _node_called(client: Client, text: str) -> str:
    """What the server calls the nodes of this name, or the one of this number."""
    place, _, name = text.rpartition("/")
    if any(True for _ in client.nodes(sub_cluster=place or None, name=name)):
        return text
    there = find(client, text)
    return f"{there.sub_cluster}/{there.name}"


def _ago(text: str | None, name: str) -> str | None:
    """A time as the API takes it: of this machine's zone where none is named, a bare span in the past."""
    if not text:
        return text
    if text[0].isdigit() and text[-1] in "smhd":
        text = f"-{text}"
    return moment(text, name).isoformat()


def _done(job: Job) -> str:
    if not job.groups:
        return "-"
    of_all = sum(g.count for g in job.groups)
    if job.kind == "service":
        return f"{sum(g.running for g in job.groups)} of {of_all} running"
    return f"{sum(g.succeeded for g in job.groups)}/{of_all}"


JOBS: list[Column[Job]] = [
    ("JOB", lambda j: j.id), ("NAME", lambda j: j.name), ("STATE", lambda j: j.state),
    ("DONE", _done), ("QUEUE", lambda j: j.queue), ("OWNER", lambda j: j.owner), ("PRIO", lambda j: j.priority),
    ("SUBMITTED", lambda j: j.submitted_at), ("TOOK", lambda j: duration(j.started_at, j.finished_at)),
    ("NOTE", lambda j: j.message or j.waiting or " "),
]  # fmt: skip
MORE: list[Column[Job]] = [
    ("KIND", lambda j: j.kind), ("HOME", lambda j: j.home), ("TAGS", lambda j: ", ".join(j.tags)),
]  # fmt: skip


def job(ctx: typer.Context, job: JobArgument, output: OutputOption = Format.table) -> None:
    """One job and its task groups."""
    with connected(ctx) as client:
        answer, server = client.job(job), client.url
        if output is Format.json:
            print_json(answer)
            return
        undone, receivers, used = undoing(client, answer), client.job_receivers(job), client.job_usage(job).results
    pairs = [
        ("job", answer.id), ("name", answer.name), ("state", answer.state), ("message", answer.message),
        ("waiting", answer.waiting), ("kind", answer.kind), ("queue", answer.queue), ("owner", answer.owner),
        ("priority", answer.priority), ("tags", answer.tags), ("home", answer.home),
        ("submitted", answer.submitted_at), ("started", answer.started_at), ("finished", answer.finished_at),
        ("took", duration(answer.started_at, answer.finished_at)),
        ("revision", rollout_line(answer)), ("undone", undone), ("schedule", _schedule(answer)),
        ("page", answer.tracking and server + answer.tracking), *(("tells", tells(each)) for each in receivers),
        *(("better size", f"{each.group}: {each.hint}") for each in used if not each.fits),
    ]  # fmt: skip
    show_one(answer, pairs, output)
    columns: list[Column[Group]] = [
        ("GROUP", lambda g: g.name), ("STATE", lambda g: g.state), ("TASKS", lambda g: g.count),
        ("PENDING", lambda g: g.pending), ("RUNNING", lambda g: g.running), ("SUCCEEDED", lambda g: g.succeeded),
        ("FAILED", lambda g: g.failed), ("KILLED", lambda g: g.killed), ("RESTARTS", lambda g: g.retried),
        ("TO RESTART", lambda g: g.restarting or " "), ("AFTER", lambda g: g.after),
        ("WAITS BECAUSE", lambda g: g.reason.text if g.reason else " "),
    ]  # fmt: skip
    print()
    show(answer.groups, columns, output, nothing="It has no groups.")


def _schedule(answer: JobDetail) -> str:
    """What started it, and for which time."""
    return f"{answer.schedule.id} {answer.schedule.name}, for {plain(answer.schedule.at)}" if answer.schedule else ""


def tasks(
    ctx: typer.Context,
    job: JobArgument,
    *,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Of this group only.", autocompletion=complete_group)
    ] = None,
    state: Annotated[str | None, typer.Option(help="Like RUNNING or FAILED.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 200,
    sort: Annotated[str | None, sorting(TASKS)] = None,
    columns: Annotated[str | None, picking(TASKS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """A job's tasks; of a group with an array with the values of each."""
    with connected(ctx) as client:
        own = arrays_of(client.job(job))
        known = _task_columns(own)
        usual = known if own and group in (None, *own) else [each for each in known if each[0] != VALUES]

        def count() -> int | None:
            """Of a state nobody counts them."""
            return None if state else sum(g.count for g in client.job(job).groups if group in (None, g.name))

        found = partial(client.tasks, job, group=group, state=state_word(state))
        look = Looking(sort, columns, watch)
        listed(found, known, output, nothing="No such tasks.", limit=limit, look=look, usual=usual, count=count)


def _task_columns(own: dict[str, arrays.Array]) -> list[Column[Task]]:
    """With what the tasks of these arrays, by their groups, stand for."""
    return [
        ("TASK", _task_name), (VALUES, lambda t: arrays.values(own.get(t.group, {}), t.index) or " "),
        ("STATE", lambda t: t.state), ("ATTEMPTS", lambda t: t.attempts),
        ("CONTAINER", lambda t: t.container), ("NODE", lambda t: t.node), ("EXIT", lambda t: t.exit_code),
        ("STARTED", lambda t: t.started_at), ("TOOK", lambda t: duration(t.started_at, t.finished_at)),
    ]  # fmt: skip


def arrays_of(job: JobDetail) -> dict[str, arrays.Array]:
    """The arrays of a job's groups, by their names."""
    return {group["name"]: group["array"] for group in job.spec.get("groups") or () if group.get("array")}


def _task_name(task: Task) -> str:
    return f"{task.group}/{task.index}"


VALUES = "VALUES"
TASKS = _task_columns({})
PLACES: list[Column[JobPlace]] = [
    ("SUB-CLUSTER", lambda p: p.sub_cluster), ("FIRST", lambda p: p.first_at), ("LAST", lambda p: p.last_at),
    ("CONTAINERS", lambda p: p.containers), ("RUNNING", lambda p: p.running),
]  # fmt: skip
USAGE: list[Column[GroupUsage]] = [
    ("GROUP", lambda u: u.group), ("MEASURED", lambda u: u.measured), ("MIB", lambda u: u.memory_mib),
    ("PEAK MIB", lambda u: u.peak_memory_mib), ("P95 MIB", lambda u: u.p95_memory_mib),
    ("MILLICORES", lambda u: u.vcores_milli), ("MEAN BUSY", lambda u: u.mean_vcores_milli),
    ("P95 BUSY", lambda u: u.p95_vcores_milli), ("BETTER SIZE", lambda u: u.hint),
]  # fmt: skip
EVENTS: list[Column[Event]] = [("AT", lambda e: e.at), ("WHAT", lambda e: e.kind), ("MESSAGE", lambda e: e.message)]


def containers(
    ctx: typer.Context,
    job: JobArgument,
    task: Annotated[str | None, typer.Option(help="Of this task only: GROUP/INDEX.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 200,
    places: Annotated[bool, typer.Option("--places", help="Only where they were, and since when.")] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="Only what those that ended used of what they asked for, by group.")
    ] = False,
    sort: Annotated[str | None, sorting(CONTAINERS)] = None,
    columns: Annotated[str | None, picking(CONTAINERS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """A job's containers: every attempt of its tasks, where it ran and how it ended."""
    look, nothing = Looking(sort, columns, watch), "No containers yet."
    apart(ctx, "places", "usage", "task", "limit")
    apart(ctx, "usage", "task", "limit")
    with connected(ctx) as client:
        if places:
            rows = partial(_whole, partial(client.job_places, job), "were counted")
            listed(rows, PLACES, output, nothing=nothing, look=look)
        elif usage:
            rows = partial(_whole, partial(client.job_usage, job), "that ended were looked at")
            listed(rows, USAGE, output, nothing=nothing, look=look)
        else:
            found = partial(client.containers, job, task=task)
            listed(found, CONTAINERS, output, nothing=nothing, limit=limit, look=look)


def _whole(read: Callable[[], Any], of: str) -> list[Any]:
    """The rows of what was read; that it is of some containers only goes to stderr."""
    found = read()
    if not found.complete:
        say(f"Not all containers {of}: there are very many.")
    rows: list[Any] = found.results
    return rows


def _reason(container: Container) -> str:
    return container.reason if container.reason and container.reason != "NONE" else " "


CONTAINERS: list[Column[Container]] = [
    ("CONTAINER", lambda c: c.id), ("TASK", lambda c: f"{c.group}/{c.index}"), ("ATTEMPT", lambda c: c.attempt),
    ("STATE", lambda c: c.state), ("REASON", _reason), ("EXIT", lambda c: c.exit_code),
    ("NODE", lambda c: c.node), ("SUB-CLUSTER", lambda c: c.sub_cluster),
    ("TOOK", lambda c: duration(c.started_at, c.finished_at)),
    ("PEAK MIB", lambda c: c.peak_memory_mib), ("CPU MS", lambda c: c.cpu_ms),
]  # fmt: skip


def events(
    ctx: typer.Context,
    job: JobArgument,
    sort: Annotated[str | None, sorting(EVENTS)] = None,
    columns: Annotated[str | None, picking(EVENTS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What happened to a job that its tasks do not tell."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(partial(client.events, job), EVENTS, output, nothing="Nothing to tell.", look=look)


def retry(ctx: typer.Context, job: JobArgument, output: OutputOption = Format.table) -> None:
    """Submit a failed or killed job again, as a new job."""
    with connected(ctx) as client:
        answer = client.retry(job)
        warn(answer.warnings)
    told(answer, f"job {answer.id} ({answer.name}) submitted, as job {job} was", output)


def priority(
    ctx: typer.Context,
    job: JobArgument,
    priority: Annotated[int, typer.Argument(min=-500, max=499, help="Higher goes first.")],
    output: OutputOption = Format.table,
) -> None:
    """Change a job's priority."""
    with connected(ctx) as client:
        client.priority(job, priority)
    told({"id": job, "asked": "priority", "priority": priority}, f"job {job}: asked for priority {priority}", output)


def register(app: typer.Typer) -> None:
    for command in (submit, wait, validate, jobs, job, tasks, containers, events, retry):
        app.command(rich_help_panel="Jobs")(command)
    # A negative priority must not be taken for an option.
    app.command(rich_help_panel="Jobs", context_settings={"ignore_unknown_options": True})(priority)
