"""Watching: upload bars, and a job's progress per group, on stderr.

On a terminal the picture is redrawn in place; elsewhere every change is a line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from client.api import OnUpload
from client.jobfile import LocalFile
from client.screen import cell, console, duration, printable, say, size
from contract.jobs import Group, Job, JobDetail

BAR_WIDTH = 24
_BEGINNING = ("SUBMITTED", "ADMITTED", "RUNNING")  # of a job, in this order


@contextmanager
def uploading() -> Iterator[OnUpload]:
    """One bar per file on a terminal; elsewhere one line per file."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield _upload_line
        return
    columns = (TextColumn("{task.description}"), BarColumn(BAR_WIDTH), DownloadColumn(), TransferSpeedColumn())
    bars: dict[str, TaskID] = {}
    lock = threading.Lock()
    with Progress(*columns, console=screen) as progress:

        def on_upload(file: LocalFile, sent: int) -> None:
            with lock:
                if file.digest not in bars:
                    name = printable(file.source.name).replace("[", "\\[")
                    bars[file.digest] = progress.add_task(name, total=file.size)
            progress.update(bars[file.digest], completed=sent)

        yield on_upload


def _upload_line(file: LocalFile, sent: int) -> None:
    if sent == file.size:
        say(f"{file.source.name}: stored ({size(file.size)})")


@contextmanager
def watching(*, live: bool = True) -> Iterator[Callable[[Job], None]]:
    """Gives a function to call with every new picture of a job. ``live`` false: lines, even on a terminal."""
    screen = console(stderr=True)
    if live and screen.is_terminal:
        with Live(console=screen, refresh_per_second=8, redirect_stdout=False, redirect_stderr=False) as area:
            yield lambda job: area.update(picture(job), refresh=True)
    else:
        yield Lines().show


class Lines:
    """Says what changed since the last picture, a line per group; by default on stderr.

    In the order in which it happened: a job runs before its groups end, and ends after them. Its row may be a moment
    behind those of its groups: that it waits is not told once one was told to run, nor that it runs once one has ended.
    """

    def __init__(self, tell: Callable[[str], object] = say) -> None:
        self._tell, self._said = tell, dict[str, str]()
        self._state, self._past = "", 0  # of the job, as told last; so many of ``_BEGINNING`` its groups are beyond

    def show(self, job: Job) -> None:
        if not job.ended:
            self._job(job)
        for group in sorted(job.groups, key=_since):
            self._line(f"/{group.name}", group_line(group, job.kind))
            self._past = max(self._past, 3 if group.finished_at else 2 if group.started_at else 0)
        if job.ended:
            self._job(job)

    def _job(self, job: Job) -> None:
        if job.state == self._state or job.state not in _BEGINNING[: self._past]:
            self._state = job.state
            self._line("", headline(job))

    def _line(self, key: str, text: str) -> None:
        if self._said.get(key) != text:
            self._said[key] = text
            self._tell(text)


def _since(group: Group) -> datetime:
    """When it came to be as it is; of one that has not begun, last."""
    return group.finished_at or group.started_at or datetime.max.replace(tzinfo=UTC)


def headline(job: Job) -> str:
    """The job in one line."""
    end = f" after {duration(job.started_at or job.submitted_at, job.finished_at)}" if job.ended else ""
    why = job.message if job.ended else job.waiting
    return f"job {job.id} {job.name}: {job.state}{end}{f': {why}' if why else ''}"


def rollout_line(job: JobDetail) -> str | None:
    """``2``; while it is rolled out ``3/10 tasks at revision 2, on its way from 1``; nothing of what is no service."""
    rollout = job.rollout
    if job.kind != "service":
        return None
    if rollout is None:
        return f"{job.revision}"
    failed = f", {rollout.failures} failed" if rollout.failures else ""
    way = f"{'back' if rollout.back else 'on its way'} from {rollout.previous}"
    return f"{rollout.updated}/{rollout.tasks} tasks at revision {rollout.revision}, {way}{failed}"


def group_line(group: Group, kind: str) -> str:
    """``map: RUNNING 3/8 done, 2 running``; of a service ``web: RUNNING 2 of 3 running``."""
    service = kind == "service"
    parts = [f"{group.running} of {group.count} running" if service else f"{group.succeeded}/{group.count} done"]
    more = (
        (0 if service else group.running, "running"), (group.failed, "failed"), (group.killed, "killed"),
        (group.retried, "restarted"), (group.restarting, "to restart"),
    )  # fmt: skip
    parts += [f"{number} {word}" for number, word in more if number]
    return f"  {group.name}: {group.state} {', '.join(parts)}{_note(group)}"


def _note(group: Group) -> str:
    if group.reason and group.reason.text:
        return f" ({group.reason.text})"
    return f" (after {', '.join(group.after)})" if group.state == "WAITING" and group.after else ""


def picture(job: Job) -> Table:
    """The job's head line over a bar per group."""
    table = Table.grid(padding=(0, 1))
    for group in job.groups:
        there = group.running if job.kind == "service" else group.succeeded
        table.add_row(
            cell(group.name),
            ProgressBar(total=max(1, group.count), completed=there, width=BAR_WIDTH),
            cell(f"{there}/{group.count}"),
            cell(f"{group.running} running"),
            Text(f"{group.failed} failed", style="red") if group.failed else Text(""),
            cell(group.state),
            cell(_note(group).strip() or " "),
        )
    whole = Table.grid()
    whole.add_row(cell(headline(job)))
    whole.add_row(table)
    return whole
