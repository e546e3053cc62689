"""A file that somebody handed in, read in a process of its own within bounds of time and memory.

``python -m simulator.workloads.handedin jobs|nodes KIND OPTIONS`` reads the file ``trace`` of the working directory.
OPTIONS is a JSON object, of the reader of that kind. It writes there

- ``told.json``: what was found (``Told``), or ``{"wrong": text, "remedy": text, "field": "trace" or "options"}``;
- ``history.gz``: of ``jobs`` the same in our own form (``history``);
- ``machines.json``: the nodes, of ``nodes`` and of ``jobs`` whose file tells them as well.

Nothing that it reads is trusted: it is in no server, holds no secret, and ends when it is over its bounds.
"""

import json
import resource
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulator.workload import Disordered, Machine, Submission, SubmittedGroup
from simulator.workloads import READERS, open_workload, typed
from simulator.workloads.files import Unreadable
from simulator.workloads.history import dump
from wire import labels
from wire.resources import AXES

TRACE, TOLD, HISTORY, MACHINES = "trace", "told.json", "history.gz", "machines.json"
MEMORY_BYTES, CPU_S, FILE_BYTES = 3 << 30, 60, 64 << 20
JOBS_MOST, CONTAINERS_MOST, MACHINES_MOST = 200_000, 1_000_000, 20_000
SPAN_MOST_S = 366 * 86_400.0
TEXT_MOST, QUEUES_MOST, NUMBER_MOST = 255, 100, 1_000_000_000
LISTED_MOST = 3_000_000  # names and positions in the lists of all groups: what a small file may be full of, unzipped
CUT = "cut the file, or an option of its reader may take a part"
Json = dict[str, Any]


class Wrong(ValueError):
    """What cannot be taken. field: trace or options."""

    def __init__(self, what: str, remedy: str, field_name: str = TRACE) -> None:
        super().__init__(what)
        self.remedy, self.field = remedy, field_name


@dataclass(slots=True)
class Told:
    """Of jobs. span_s: until the last has ended on its own, at most a year. queues: the largest, with their jobs.

    machines: how many nodes the file tells, None where it tells none. skipped: jobs left out, by reason.
    """

    jobs: int = 0
    containers: int = 0
    users: int = 0
    span_s: float = 0.0
    queues: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    machines: int | None = None


def main(what: str, kind: str, options: str) -> None:
    """Always writes ``TOLD``, unless the process is ended from outside."""
    _bound()
    try:
        told = read(what, kind, json.loads(options))
    except Wrong as error:  # which may quote what is no character
        said = str(error).encode(errors="replace").decode()
        told = {"wrong": said, "remedy": error.remedy, "field": error.field}
    except MemoryError:
        told = {"wrong": f"takes more than {MEMORY_BYTES >> 30} GiB of memory to read", "remedy": CUT, "field": TRACE}
    Path(TOLD).write_text(json.dumps(told))


def read(what: str, kind: str, options: Json) -> Json:
    """Read the file and write what it holds; what may be told of it. Raises ``Wrong``."""
    return asdict(_jobs(kind, options)) if what == "jobs" else {"machines": _nodes(kind, options)}


def _bound() -> None:
    bounds = ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_FSIZE, FILE_BYTES))
    for kind, most in bounds:
        resource.setrlimit(kind, (most, most))


# --- jobs


def _jobs(kind: str, options: Json) -> Told:
    told = Told()
    with _Readable():
        source = _opened(kind, options)
        dump(_counted(source, told), HISTORY, source.notes)
        told.skipped = dict(source.skipped)
    if not told.jobs:
        raise Wrong("has no job that could run", "give another file, or other options of its reader")
    if kind == "swf":
        told.machines = _of_header(options)
    return told


def _opened(kind: str, options: Json) -> Any:
    reader = READERS.get(kind)
    if reader is None or not reader.reads_file:
        known = ", ".join(sorted(name for name, each in READERS.items() if each.reads_file))
        raise Wrong(f"{kind!r} is no kind of trace", f"use one of: {known}", "kind")
    try:
        return open_workload(kind, TRACE, **options)
    except (Unreadable, Disordered):
        raise
    except (TypeError, ValueError) as error:
        raise Wrong(
            str(error), f"the options of {kind} are: {', '.join(reader.options) or 'none'}", "options"
        ) from None


def _counted(jobs: Iterable[Submission], told: Told) -> Iterator[Submission]:
    """The same, with what may be told of them in ``told``; ``Wrong`` at the first that is too much."""
    queues, users = Counter[str](), set[str]()
    longest_s, listed = 0.0, 0
    for job in jobs:
        told.jobs += 1
        told.containers += sum(group.count for group in job.groups)
        listed += sum(len(group.nodes) + len(group.racks) + len(group.after) + len(group.fails) for group in job.groups)
        if listed > LISTED_MOST:
            raise Wrong(f"has more than {LISTED_MOST:,} names of nodes and the like in lists, at job {job.number}", CUT)
        _check(job, told)
        longest_s = max(longest_s, *(float(group.run_s.max()) for group in job.groups))
        told.span_s = min(SPAN_MOST_S, max(1.0, job.at_s + longest_s))
        queues[job.queue] += 1
        users.add(job.user)
        yield replace(job, groups=tuple(replace(group, partition=None) for group in job.groups))
    told.users, told.queues = len(users), dict(queues.most_common(QUEUES_MOST))


def _check(job: Submission, told: Told) -> None:
    if told.jobs > JOBS_MOST:
        raise Wrong(f"has more than {JOBS_MOST:,} jobs", CUT)
    if told.containers > CONTAINERS_MOST:
        raise Wrong(f"has more than {CONTAINERS_MOST:,} containers, at job {job.number}", CUT)
    if job.at_s > SPAN_MOST_S:
        raise Wrong(f"goes on for more than a year: job {job.number} comes at {job.at_s:,.0f} s", CUT)
    names = [group.name for group in job.groups]
    for what, text in (("queue", job.queue), ("user", job.user), *(("group", name) for name in names)):
        if not text or len(text) > TEXT_MOST or not text.isprintable():
            raise Wrong(
                f"{what} {text[:40]!r} of job {job.number} is no name", f"give 1 to {TEXT_MOST} printable characters"
            )
    if not -NUMBER_MOST <= job.priority <= NUMBER_MOST:
        raise Wrong(f"job {job.number} has the priority {job.priority}", f"give {-NUMBER_MOST:,} to {NUMBER_MOST:,}")
    if len(set(names)) < len(names):
        raise Wrong(f"job {job.number} has two groups of one name", "name them apart")
    for group in job.groups:
        _check_group(job, group, names)


def _check_group(job: Submission, group: SubmittedGroup, names: list[str]) -> None:
    said = f"group {group.name[:40]} of job {job.number}"
    if not set(group.after) <= set(names) - {group.name}:
        raise Wrong(f"{said} comes after one that is not there", "name groups of the same job in after")
    amounts = {name: getattr(group, name) for name in (*AXES, "retries")}
    for name, amount in amounts.items():
        if type(amount) is not int or not 0 <= amount <= NUMBER_MOST:
            raise Wrong(f"{said} has {amount!r} of {name}", f"give a whole number up to {NUMBER_MOST:,}")
    for text in (*group.nodes, *group.racks):
        if len(text) > TEXT_MOST:
            raise Wrong(f"{said} wants a node {text[:40]!r} and so on", f"give at most {TEXT_MOST} characters")
    try:
        _label(group.node_labels)
    except labels.LabelError as error:
        raise Wrong(f"{said}: node_labels: {error}", "write an expression such as gpu && zone in (a, b)") from None


@lru_cache(maxsize=1000)
def _label(expression: str) -> None:
    labels.parse(expression)


# --- nodes


def _nodes(kind: str, options: Json) -> int:
    reader = READERS.get(kind)
    if reader is None or reader.machines is None:
        known = ", ".join(sorted(name for name, each in READERS.items() if each.machines))
        raise Wrong(f"traces of the kind {kind} have no file of nodes", f"only those of {known} have", "nodes")
    with _Readable():
        given = {name: value for name, value in options.items() if name in reader.machine_options}
        return _written(reader.machines(TRACE, **typed(reader.machines, given)))


def _of_header(options: Json) -> int | None:
    """Of a log whose header may tell its machine."""
    try:
        return _nodes("swf", options)
    except Wrong:
        return None


def _written(machines: list[Machine]) -> int:
    if not 1 <= len(machines) <= MACHINES_MOST:
        raise Wrong(f"tells {len(machines):,} nodes", f"give 1 to {MACHINES_MOST:,}")
    if len({machine.name for machine in machines}) < len(machines):
        raise Wrong("tells a node twice", "name them apart")
    for machine in machines:
        if max(getattr(machine, axis) for axis in AXES) > NUMBER_MOST:
            raise Wrong(f"node {machine.name[:40]!r} is too large", f"give at most {NUMBER_MOST:,} of each resource")
        if not machine.name.isprintable() or not machine.rack.isprintable():
            raise Wrong(f"node {machine.name[:40]!r} is no name", "give printable characters")
    Path(MACHINES).write_text(json.dumps([asdict(machine) for machine in machines]))
    return len(machines)


class _Readable:
    """What readers raise, as ``Wrong``."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, Wrong):
            return
        if isinstance(error, OverflowError):
            raise Wrong("holds a number that is too large", "give smaller ones") from None
        if isinstance(error, (Unreadable, Disordered, ValueError, TypeError)):
            what, _, remedy = str(error).removeprefix(f"{TRACE}, ").rpartition("; ")
            raise Wrong(what or remedy, remedy if what else "repair the file") from None


if __name__ == "__main__":
    main(*sys.argv[1:])
