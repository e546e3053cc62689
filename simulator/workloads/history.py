"""Recorded jobs as a file: what was submitted and how long it ran, to be simulated again under other policies.

The format, version 1: JSON lines in UTF-8, gzipped where the name ends in
``.gz``. The first line says what the file is:

    {"format": "hydra-history", "version": 1}

Every other line is one job, in order of submission. Times and durations are in
seconds, memory in MiB, cores in thousandths. Fields that are left out have the
value in brackets.

    at_s      when it was submitted, from 0 on; never less than the line before
    queue     path of its leaf queue
    user      who submitted it
    number    [0] what it is called, for people
    priority  [0] higher goes first
    home      [""] its sub-cluster's name; empty: the router decides
    service   [false] its tasks are to run for ever
    groups    list of objects:
        count         tasks, at least 1
        memory_mib    of each task
        vcores_milli  of each task
        run_s         how long each task runs: ``count`` numbers, or 1 that holds for all
        name          ["tasks"]
        gpus          [0] of each task
        estimate_s    [0] what its submitter said of the longest task; 0: nothing
        gang          [false] all tasks at once or none
        node_labels   [""] the nodes it may use, as a label expression
        nodes, racks  [[]] where it would rather run
        strict        [false] nowhere else
        after         [[]] names of groups that must have ended before
        retries       [3] how often a task is started again
        fails         [[]] positions of tasks whose first attempt fails
        partition     [null] the partition it goes to; null: its queue's
        parallelism   [0] so many tasks at once make it of use, which admission may count
        placement     [null] "spread" or "pack"; null: the cluster's
        timeout_s     [0] a task that runs for longer fails then; 0: none does

A reader refuses fields it does not know, so a file of a later version is never
half understood. What is read equals what was written, to the last digit.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from simulator.workload import Submission, SubmittedGroup, in_order
from simulator.workloads.files import Record, Unreadable, lines
from simulator.workloads.source import Source
from wire.resources import AXES

FORMAT, VERSION = "hydra-history", 1
PLACEMENTS = ("spread", "pack")
NOTES_MOST, NOTE_MOST = 20, 1000
JOB_FIELDS = tuple(f.name for f in fields(Submission))
GROUP_FIELDS = tuple(f.name for f in fields(SubmittedGroup))
DEFAULTS = {f.name: f.default for f in (*fields(Submission), *fields(SubmittedGroup)) if f.default is not MISSING}


def dump(submissions: Iterable[Submission], path: str | Path, notes: Sequence[str] = ()) -> int:
    """Write a history and return how many jobs it has; the file appears when it is complete."""
    with _replaced(Path(path)) as file:
        return write(submissions, file, notes)


def write(submissions: Iterable[Submission], file: BinaryIO, notes: Sequence[str] = ()) -> int:
    """Write a history into an open file, and return how many jobs it has."""
    written = 0
    file.write(_line({"format": FORMAT, "version": VERSION} | ({"notes": list(notes)} if notes else {})))
    for job in in_order(submissions):
        try:
            file.write(_line(values(job)))
        except ValueError as error:
            raise ValueError(f"job {job.number} cannot be written: {error}; give finite numbers") from None
        written += 1
    return written


def values(job: Submission) -> dict[str, Any]:
    """A job as its line says it."""
    found = {name: getattr(job, name) for name in JOB_FIELDS}
    found["groups"] = [_group_values(group) for group in job.groups]
    return _without_defaults(found)


def load(path: str | Path) -> Iterator[Submission]:
    """The jobs of a history, read line by line."""
    place, last, begun = Path(path), 0.0, False
    for number, line in lines(place):
        record = _record(place, number, line)
        if not begun:
            _check_head(record)
            begun = True
            continue
        job = _job(record)
        if job.at_s < last:
            raise record.wrong("at_s", f"{job.at_s:g} comes after {last:g}", "sort the jobs by at_s")
        last = job.at_s
        yield job
    if not begun:
        raise Unreadable(f"{place}, line 1, field format: the file is empty; give a history")


def read(path: str | Path) -> Source:
    """A history as a workload; ``Unreadable`` where the file is none."""
    place = Path(path)

    def begin(skipped: Counter[str]) -> Iterator[Submission]:
        return load(place)

    return Source(begin, notes=_notes(place))


def _notes(place: Path) -> list[str]:
    first = next(lines(place), None)
    return _check_head(_record(place, *first)) if first else []


# --- writing


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A file beside ``path`` that takes its place when all has been written."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as raw:
            if path.suffix == ".gz":
                with packed(raw) as inner:
                    yield inner
            else:
                yield raw
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def packed(raw: BinaryIO) -> Iterator[BinaryIO]:
    """What is written there is gzipped; without name and time, so that the same jobs are the same bytes."""
    with gzip.GzipFile("", "wb", 6, raw, 0) as file:
        yield cast(BinaryIO, file)


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _group_values(group: SubmittedGroup) -> dict[str, Any]:
    found = {name: getattr(group, name) for name in GROUP_FIELDS}
    return _without_defaults(found | {"run_s": group.run_s.tolist()})


def _without_defaults(found: dict[str, Any]) -> dict[str, Any]:
    """Without what has its default. Numbers of NumPy become plain ones, as JSON knows no others."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}
    return {name: value for name, value in plain.items() if name not in DEFAULTS or value != DEFAULTS[name]}


# --- reading


def _record(path: Path, number: int, line: str) -> Record:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path}, line {number}: this is no JSON ({error}); repair or remove the line") from None
    if not isinstance(values, dict):
        raise Unreadable(f"{path}, line {number}: an object was expected; put it in braces")
    return Record(path, number, values)


def _check_head(first: Record) -> list[str]:
    """Its notes."""
    if first.values.get("format") != FORMAT:
        raise first.wrong("format", "this is no history", f'let the first line be {{"format": "{FORMAT}", ...}}')
    version = first.whole("version")
    if version != VERSION:
        raise first.wrong("version", f"{version} is not known here", f"write the history as version {VERSION}")
    first.only(("format", "version", "notes"))
    found = first.items("notes", ())
    if len(found) > NOTES_MOST or not all(isinstance(each, str) and len(each) <= NOTE_MOST for each in found):
        raise first.wrong("notes", "these are no notes", f"give at most {NOTES_MOST} texts of {NOTE_MOST} characters")
    return found


def _job(record: Record) -> Submission:
    record.only(JOB_FIELDS)
    groups = tuple(_group(each) for each in record.inner("groups"))
    if not groups:
        raise record.wrong("groups", "there is none", "give at least one")
    return Submission(
        at_s=record.number("at_s", least=0.0),
        queue=record.text("queue"),
        user=record.text("user"),
        groups=groups,
        number=record.whole("number", 0),
        priority=record.whole("priority", 0),
        home=record.text("home", ""),
        service=record.flag("service", False),
    )


def _group(record: Record) -> SubmittedGroup:
    record.only(GROUP_FIELDS)
    count = record.whole("count", least=1)
    run_s = record.numbers("run_s", least=0.0)
    if len(run_s) not in (1, count):
        wanted = f"give 1 or {count}" if count > 1 else "give one"
        raise record.wrong("run_s", f"there are {len(run_s)} numbers for {count} tasks", wanted)
    return SubmittedGroup(
        count=count,
        run_s=np.array(run_s, np.float64),
        name=record.text("name", "tasks"),
        estimate_s=record.number("estimate_s", 0.0, 0.0),
        gang=record.flag("gang", False),
        node_labels=record.text("node_labels", ""),
        nodes=_texts(record, "nodes"),
        racks=_texts(record, "racks"),
        strict=record.flag("strict", False),
        after=_texts(record, "after"),
        retries=record.whole("retries", 3, 0),
        fails=_positions(record, count),
        partition=None if record.values.get("partition") is None else record.text("partition"),
        parallelism=record.whole("parallelism", 0, 0),
        placement=_placement(record),
        timeout_s=record.number("timeout_s", 0.0, 0.0),
        **{axis: record.whole(axis, DEFAULTS.get(axis), 0) for axis in AXES},
    )


def _placement(record: Record) -> str | None:
    found = record.values.get("placement")
    if found not in (None, *PLACEMENTS):
        raise record.wrong("placement", f"{str(found)[:40]!r} is none", f"give {' or '.join(PLACEMENTS)}, or null")
    return None if found is None else str(found)


def _texts(record: Record, field: str) -> tuple[str, ...]:
    found = record.items(field, ())
    for i, value in enumerate(found):
        if not isinstance(value, str):
            raise record.wrong(f"{field}[{i}]", f"{str(value)[:40]!r} is not a text", "give a text in quotes")
    return tuple(found)


def _positions(record: Record, count: int) -> tuple[int, ...]:
    found = record.items("fails", ())
    for i, value in enumerate(found):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            raise record.wrong(f"fails[{i}]", f"{str(value)[:40]!r} is no task", f"give a number from 0 to {count - 1}")
    return tuple(found)
