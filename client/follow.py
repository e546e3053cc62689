"""Whose output ``logs`` shows, and how it goes on over attempts and restarts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from client.api import Client
from client.errors import HydraError, client_error
from contract.jobs import Container, Job, LogPart, LogPiece, Task
from wire.ids import parse_container
from wire.states import TaskState, terminal

MAX_FOLLOWED = 32  # tasks whose output is followed at the same time; each holds a connection
LOG_BYTES_MIN = 4  # the least that the server is asked for: a character may have so many
_POLL_MIN_S, _POLL_MAX_S = 0.3, 2.0


@dataclass(frozen=True, slots=True)
class LogTarget:
    """``JOB``, ``JOB/GROUP`` or ``JOB/GROUP/INDEX``; or one container."""

    job: int = 0
    group: str | None = None
    index: int | None = None
    container: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Which part of a container's output is read: ``Client.merged_logs`` says what each means."""

    stream: str | None = None
    tail: int | None = None
    since: datetime | None = None
    last_s: int | None = None
    offset: int = 0

    def of(self, client: Client, container: str, follow: bool = False) -> Iterator[LogPart]:
        """What is to be read of this container."""
        return client.merged_logs(
            container,
            follow,
            stream=self.stream,
            tail=self.tail,
            since=self.since,
            last_s=self.last_s,
            offset=self.offset,
        )


def parse_target(text: str) -> LogTarget:
    """Read what a person typed; ``HydraError`` when it is none of these."""
    if text.startswith("c-"):
        try:
            parse_container(text)
        except ValueError as error:
            raise client_error(str(error), field_name="target") from error
        return LogTarget(container=text)
    job, *rest = text.split("/")
    numbers = [job, *rest[1:]]
    if len(rest) > 2 or not all(n.isascii() and n.isdigit() for n in numbers) or "" in rest:
        raise client_error(
            f"{text!r} names neither a job's tasks nor a container",
            field_name="target",
            remedy="Give JOB, JOB/GROUP, JOB/GROUP/INDEX or a container id like c-1-1-5.",
        )
    return LogTarget(int(job), rest[0] if rest else None, int(rest[1]) if len(rest) > 1 else None)


def tasks_of(client: Client, target: LogTarget) -> list[Task]:
    """The tasks a target means, failed ones first; ``HydraError`` when there are none."""
    found = []
    for task in client.tasks(target.job, group=target.group):
        if target.index is None or task.index == target.index:
            found.append(task)
            if target.index is not None:
                break
    if not found:
        groups = ", ".join(f"{g.name} (0 to {g.count - 1})" for g in client.job(target.job).groups)
        raise client_error(
            f"job {target.job} has no such task", field_name="target", remedy=f"Its groups and indices: {groups}."
        )
    return sorted(found, key=lambda t: t.state != TaskState.FAILED.name)


def attempt_before(client: Client, job_id: int, task: Task) -> str | None:
    """The container of the attempt before a task's current or last one; None where there was none."""
    attempts = sorted(client.containers(job_id, task=f"{task.group}/{task.index}"), key=lambda c: (c.attempt, c.id))
    now = next((c.attempt for c in attempts if c.id == task.container), None)
    before = [c.id for c in attempts if now is not None and c.attempt < now]
    return before[-1] if before else None


def follow_task(
    client: Client, job_id: int, task: Task, reading: Reading, note: Callable[[str], None]
) -> Iterator[LogPart]:
    """A task's output as it comes: waits for its start, and goes on with the next attempt, until the task has ended.

    A tail is of the attempt that is the last one now; all of the later ones is read.
    """
    name = f"{task.group}/{task.index}"
    seen: set[str] = set()
    again = False
    pause_s = _POLL_MIN_S
    while True:
        fresh = [c for c in client.containers(job_id, task=name) if c.id not in seen]
        fresh.sort(key=lambda c: (c.attempt, c.id))
        if reading.tail is not None:
            seen |= {c.id for c in fresh[:-1]}
            fresh = fresh[-1:]
        for container in fresh:
            if again:
                note(f"{name}: again, in {container.id}")
            again = True
            seen.add(container.id)
            yield from reading.of(client, container.id, follow=True)
            reading = replace(reading, tail=None)
        if fresh:
            pause_s = _POLL_MIN_S
            continue
        if _over(client, job_id, task, seen):
            return
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _POLL_MAX_S)  # it may wait for hours


def _over(client: Client, job_id: int, task: Task, seen: set[str]) -> bool:
    """Whether no further attempt of a task will come."""
    job = client.job(job_id)
    if job.ended:
        return True
    group = next((g for g in job.groups if g.name == task.group), None)
    if job.kind == "service" or group is None:
        return False
    attempts: list[Container] = [
        c for c in client.containers(job_id, task=f"{task.group}/{task.index}") if c.id in seen
    ]
    if any(c.state == "SUCCEEDED" for c in attempts):
        return True
    now = next((t for t in client.tasks(job_id, group=task.group) if t.index == task.index), None)
    return now is not None and ended(now)


def ended(task: Task) -> bool:
    """Whether no further attempt of it will come: so the server says."""
    return task.state in TaskState.__members__ and terminal(TaskState[task.state])


class Printer:
    """Writes the lines of tasks to stdout.

    prefixed: each under its task's name, those on stderr with that word where both streams are shown.
    both: streams are mixed, so that their lines have to be kept whole; else one task's output is shown as it is.
    grep: only lines that hold this text, in whatever case; ``left_out`` counts the others.
    """

    def __init__(self, prefixed: bool, *, both: bool = False, grep: str = "") -> None:
        self.left_out = 0
        self._prefixed, self._both = prefixed, both
        self._grep = grep.casefold()
        self._lock = threading.Lock()
        self._rest: dict[tuple[str, str], str] = {}

    def piece(self, name: str, part: LogPart) -> None:
        gap = f"[{part.skipped} bytes left out]" if part.skipped else ""
        if not (self._prefixed or self._both or self._grep):
            self._write(self._as_it_is(name, part, gap))
            return
        key = (name, part.stream)
        if gap:
            self._flush(name, part.stream)
            self._write(self._line(name, part.stream, gap))
        *lines, rest = (self._rest.pop(key, "") + part.data).split("\n")
        if rest:
            self._rest[key] = rest
        self._lines(name, part.stream, lines)

    def end(self, name: str) -> None:
        """Nothing more comes of ``name``: write its unfinished lines."""
        for stream in ("stdout", "stderr"):
            self._flush(name, stream)

    def _flush(self, name: str, stream: str) -> None:
        if rest := self._rest.pop((name, stream), ""):
            self._lines(name, stream, [rest])

    def _lines(self, name: str, stream: str, lines: Sequence[str]) -> None:
        wanted = [line for line in lines if self._grep in line.casefold()] if self._grep else lines
        with self._lock:
            self.left_out += len(lines) - len(wanted)
        self._write("".join(self._line(name, stream, line) for line in wanted))

    def _line(self, name: str, stream: str, line: str) -> str:
        word = " stderr" if self._both and stream == "stderr" else ""
        return f"{name}{word} | {line}\n" if self._prefixed else f"{line}\n"

    def _as_it_is(self, _name: str, part: LogPart, gap: str) -> str:
        return (f"{gap}\n" if gap else "") + part.data

    def _write(self, text: str) -> None:
        if text:
            with self._lock:
                sys.stdout.write(text)
                sys.stdout.flush()


def follow_tasks(
    client: Client, job_id: int, tasks: list[Task], *, reading: Reading, printer: Printer, note: Callable[[str], None]
) -> list[threading.Thread]:
    """Follow several tasks at once, each in a thread that ends with its task; returns the started threads."""
    if len(tasks) > MAX_FOLLOWED:
        raise client_error(
            f"{len(tasks)} tasks are too many to follow at once (at most {MAX_FOLLOWED})",
            field_name="target",
            remedy="Name a group or a task: JOB/GROUP/INDEX.",
        )

    def run(task: Task) -> None:
        name = f"{task.group}/{task.index}"
        try:
            for part in follow_task(client, job_id, task, reading, note):
                printer.piece(name, part)
        except HydraError as error:
            note(f"{name}: {error}")
        except OSError:  # stdout has gone; the main thread hears of it too
            return
        printer.end(name)

    # Daemons, so that Ctrl-C need not wait for their open requests.
    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    return threads


def follow_job(client: Client, job_id: int, *, printer: Printer, note: Callable[[str], None]) -> list[threading.Thread]:
    """Follow all tasks of a job, where there are not too many of them; returns the started threads."""
    if sum(group.count for group in client.job(job_id).groups) > MAX_FOLLOWED:
        note(f"job {job_id} has more than {MAX_FOLLOWED} tasks: watch one with hydractl logs -f {job_id}/GROUP/INDEX")
        return []
    tasks = tasks_of(client, LogTarget(job_id))
    return follow_tasks(client, job_id, tasks, reading=Reading(), printer=printer, note=note)


def where_it_says(client: Client, job: Job) -> str:
    """The commands that tell most about a job that did not succeed."""
    try:
        found = telling(client, job.id)
    except HydraError:  # this is only advice
        found = None
    if found is None:
        return f"hydractl tasks {job.id}    hydractl events {job.id}"
    task, stream = found
    if not stream:  # then how it ended, and what it used, is all that there is
        return f"hydractl containers {job.id} --task {task.group}/{task.index}"
    return f"hydractl logs {job.id}/{task.group}/{task.index}{' --stderr' if stream == 'stderr' else ''}"


def telling(client: Client, job_id: int) -> tuple[Task, str] | None:
    """A failed task of the job, and the stream of its last attempt that has text, stderr first, "" if none
    has; None without such a task."""
    task = next((t for t in client.tasks(job_id, state="FAILED", page_size=1) if t.container), None)
    if task is None:
        return None
    written = (s for s in ("stderr", "stdout") if any(p.data for p in _beginning(client, str(task.container), s)))
    return task, next(written, "")


def _beginning(client: Client, container: str, stream: str) -> Iterator[LogPiece]:
    return islice(client.logs(container, stream=stream, limit_bytes=LOG_BYTES_MIN, patience_s=0), 1)
