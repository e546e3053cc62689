"""Whose output ``logs`` shows, and how it goes on over attempts and restarts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from client.api import Client
from client.errors import HydraError, client_error
from contract.jobs import Container, LogPiece, Task
from wire.ids import parse_container
from wire.states import TaskState, terminal

MAX_FOLLOWED = 32  # tasks whose output is followed at the same time; each holds a connection per stream
LOG_BYTES_MIN = 4  # the least that the server is asked for: a character may have so many
_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class LogTarget:
    """``JOB``, ``JOB/GROUP`` or ``JOB/GROUP/INDEX``; or one container."""

    job: int = 0
    group: str | None = None
    index: int | None = None
    container: str | None = None


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
    """The tasks a target means; ``HydraError`` when there are none."""
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
    return found


def follow_task(
    client: Client, job_id: int, task: Task, stream: str, note: Callable[[str], None]
) -> Iterator[LogPiece]:
    """A task's output as it comes: waits for its start, and goes on with the next attempt, until the task has ended."""
    name = f"{task.group}/{task.index}"
    seen: set[str] = set()
    while True:
        fresh = [c for c in client.containers(job_id, task=name) if c.id not in seen]
        for container in sorted(fresh, key=lambda c: (c.attempt, c.id)):
            if seen:
                note(f"{name}: again, in {container.id}")
            seen.add(container.id)
            yield from client.logs(container.id, True, stream=stream)
        if not fresh:
            if _over(client, job_id, task, seen):
                return
            time.sleep(_POLL_S)


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
    return now is not None and now.state in TaskState.__members__ and terminal(TaskState[now.state])


class Printer:
    """Writes whole lines of several tasks to stdout, each under its task's name; one task's output as it is."""

    def __init__(self, prefixed: bool) -> None:
        self._prefixed = prefixed
        self._lock = threading.Lock()
        self._rest: dict[str, str] = {}

    def piece(self, name: str, piece: LogPiece) -> None:
        data = (f"[{piece.skipped} bytes left out]\n" if piece.skipped else "") + piece.data
        if not self._prefixed:
            self._write(data)
            return
        *lines, rest = (self._rest.pop(name, "") + data).split("\n")
        self._rest[name] = rest
        self._write("".join(f"{name} | {line}\n" for line in lines))

    def end(self, name: str) -> None:
        """Nothing more comes of ``name``: write its unfinished line."""
        rest = self._rest.pop(name, "")
        if rest:
            self._write(f"{name} | {rest}\n")

    def _write(self, text: str) -> None:
        with self._lock:
            sys.stdout.write(text)
            sys.stdout.flush()


def follow_tasks(
    client: Client,
    job_id: int,
    tasks: list[Task],
    *,
    streams: Sequence[str],
    printer: Printer,
    note: Callable[[str], None],
) -> list[threading.Thread]:
    """Follow several tasks at once, each stream in a thread that ends with its task; returns the started threads.

    Lines of further streams than the first have the stream's name after the task's.
    """
    if len(tasks) > MAX_FOLLOWED:
        raise client_error(
            f"{len(tasks)} tasks are too many to follow at once (at most {MAX_FOLLOWED})",
            field_name="target",
            remedy="Name a group or a task: JOB/GROUP/INDEX.",
        )

    def run(task: Task, stream: str) -> None:
        first = stream == streams[0]
        name = f"{task.group}/{task.index}" + ("" if first else f" {stream}")
        try:
            for piece in follow_task(client, job_id, task, stream, note if first else _untold):
                printer.piece(name, piece)
        except HydraError as error:
            note(f"{name}: {error}")
        except OSError:  # stdout has gone; the main thread hears of it too
            return
        printer.end(name)

    # Daemons, so that Ctrl-C need not wait for their open requests.
    threads = [threading.Thread(target=run, args=each, daemon=True) for each in product(tasks, streams)]
    for thread in threads:
        thread.start()
    return threads


def _untold(_text: str) -> None:
    """What the first stream's thread has said already."""


def telling(client: Client, job_id: int) -> tuple[Task, str] | None:
    """A failed task of the job, and the stream of its last attempt that has text, stderr first; None without one."""
    task = next((t for t in client.tasks(job_id, state="FAILED", page_size=1) if t.container), None)
    if task is None:
        return None
    written = (s for s in ("stderr", "stdout") if any(p.data for p in _beginning(client, str(task.container), s)))
    return task, next(written, "stderr")


def _beginning(client: Client, container: str, stream: str) -> Iterator[LogPiece]:
    return islice(client.logs(container, stream=stream, limit_bytes=LOG_BYTES_MIN, patience_s=0), 1)
