"""Logs of batch systems in the Standard Workload Format, version 2.2, plain or gzipped.

Source: D. G. Feitelson and others, Parallel Workloads Archive. A line is a job
of 18 fields, -1 where something is unknown; times are seconds since the log's
beginning (``UnixStartTime``), memory is KiB per processor. A job becomes one
gang of as many containers as it asked for processors.

What is left out and counted in ``skipped``: jobs without a submit time, without
processors, without a run time, or with one of 0 s (rounded: less than half a
second) unless ``zero_run_s`` says how long these run; lines that are parts of a
job that another line tells whole (status 2, 3 and 4).
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.workload import Disordered, Machine, Submission, SubmittedGroup
from simulator.workloads.files import Record, Unreadable, lines
from simulator.workloads.source import Source, one_of

FIELDS = tuple(
    f"{i} ({name})"
    for i, name in enumerate(
        (
            "job", "submit time", "wait time", "run time", "allocated processors", "CPU time", "used memory",
            "requested processors", "requested time", "requested memory", "status", "user", "group", "executable",
            "queue", "partition", "preceding job", "think time",
        ),
        1,
    )
)  # fmt: skip
JOB, SUBMIT, RUN, ALLOCATED, REQUESTED, TIME, MEMORY = (FIELDS[i - 1] for i in (1, 2, 4, 5, 8, 9, 10))
STATUS, USER, QUEUE = (FIELDS[i - 1] for i in (11, 12, 15))
FAILED, CANCELLED = 0, 5
PARTS = (2, 3, 4)
VCORES_MILLI = 1000  # per processor
MISSING_ESTIMATES = ("exact", "none")
_COMMENT = re.compile(r";\s*([A-Z][A-Za-z]*):\s*(.*)")


@dataclass(frozen=True, slots=True)
class Header:
    """The comments before the first job, by name; what stands several times is joined by line ends."""

    fields: dict[str, str]

    @property
    def max_procs(self) -> int | None:
        return self._whole("MaxProcs")

    @property
    def max_nodes(self) -> int | None:
        return self._whole("MaxNodes")

    @property
    def unix_start_s(self) -> int | None:
        """When the log begins, seconds since 1970 in UTC."""
        return self._whole("UnixStartTime")

    @property
    def queues(self) -> dict[int, str]:
        """Names by queue number."""
        found = (line.split(None, 1) for line in self.fields.get("Queue", "").splitlines())
        return {int(pair[0]): pair[1].strip() for pair in found if len(pair) == 2 and pair[0].isdecimal()}

    def _whole(self, name: str) -> int | None:
        found = re.match(r"\d+", self.fields.get(name, ""))
        return int(found[0]) if found else None


@dataclass(frozen=True, slots=True)
class _Rules:
    memory_mib: int
    keep_failed: bool
    exact: bool
    queues: Mapping[int, str] | str
    zero_run_s: float


def header(path: str | Path) -> Header:
    """What the log says of itself."""
    fields: dict[str, str] = {}
    last = ""
    for _, line in lines(Path(path), "replace"):
        text = line.strip()
        if text and not text.startswith(";"):
            break
        if found := _COMMENT.fullmatch(text):
            last = found[1]
            fields[last] = f"{fields[last]}\n{found[2]}" if last in fields else found[2]
        elif last and text.strip("; "):  # a comment over several lines
            fields[last] += "\n" + text.strip("; ")
    return Header(fields)


def machines(path: str | Path, *, memory_mib: int = 1024) -> list[Machine]:
    """The machine of the log's header: its processors over its nodes; ``memory_mib`` per processor."""
    found = header(path)
    processors = found.max_procs or found.max_nodes
    if not processors:
        raise Unreadable(f"{path}: the header names neither MaxProcs nor MaxNodes; add the comment `; MaxProcs: N`")
    nodes = min(found.max_nodes or processors, processors)
    sizes = [processors // nodes + (i < processors % nodes) for i in range(nodes)]
    return [Machine(f"node-{i:05}", size * memory_mib, size * VCORES_MILLI) for i, size in enumerate(sizes, 1)]


def read(
    path: str | Path,
    *,
    memory_mib: int = 1024,
    keep_failed: bool = True,
    missing_estimate: str = "none",
    queue: str | Mapping[int, str] = "root.default",
    zero_run_s: float = 0.0,
) -> Source:
    """The log's jobs; ``facts`` is its header.

    memory_mib: per processor, where the log does not say. keep_failed: jobs
    that failed or were cancelled run as long as they did then, and end well.
    missing_estimate: a job without a requested time says its run time
    (``exact``) or nothing (``none``). queue: of all jobs, or by the log's queue
    number (-1: unknown). zero_run_s: how long jobs run whose run time is 0 s;
    0: they are left out.
    """
    exact = one_of("missing_estimate", missing_estimate, MISSING_ESTIMATES) == "exact"
    if memory_mib < 1:
        raise ValueError(f"memory_mib: {memory_mib} is no size; give 1 or more")
    # Documents in JSON have texts as keys.
    queues = queue if isinstance(queue, str) else {int(k): v for k, v in queue.items()}
    rules = _Rules(memory_mib, keep_failed, exact, queues, zero_run_s)
    place = Path(path)
    return Source(lambda skipped: _jobs(place, rules, skipped), header(place).fields)


def _jobs(path: Path, rules: _Rules, skipped: Counter[str]) -> Iterator[Submission]:
    last = 0.0
    for job in _records(path):
        reason = _unfit(job, rules)
        if reason:
            skipped[reason] += 1
            continue
        found = _submission(job, rules)
        if found.at_s < last:
            text = job.wrong(SUBMIT, f"{found.at_s:g} comes after {last:g}", "sort the log by its second field")
            raise Disordered(str(text))
        last = found.at_s
        yield found


def _records(path: Path) -> Iterator[Record]:
    for number, line in lines(path, "replace"):  # comments may be in any encoding
        values = line.split()
        if not values or values[0].startswith(";"):
            continue
        record = Record(path, number, dict(zip(FIELDS, values, strict=False)), texts=True)
        if len(values) != len(FIELDS):
            at = FIELDS[len(values)] if len(values) < len(FIELDS) else f"{len(FIELDS) + 1}"
            remedy = f"give {len(FIELDS)} numbers, -1 for what is unknown, or remove the line"
            raise record.wrong(at, f"the line has {len(values)} fields", remedy)
        yield record


def _unfit(job: Record, rules: _Rules) -> str:
    """Why the line is no job to run; empty where it is one."""
    status = job.whole(STATUS)
    if status in PARTS:
        return "part of another line's job"
    if not rules.keep_failed and status in (FAILED, CANCELLED):
        return "failed or cancelled"
    if job.number(SUBMIT) < 0:
        return "unknown submit time"
    if _processors(job) < 1:
        return "no processors"
    run_s = job.number(RUN)
    if run_s < 0:
        return "unknown run time"
    return "zero run time" if run_s == 0 and not rules.zero_run_s > 0 else ""


def _processors(job: Record) -> int:
    """As many as were asked for, else as were given."""
    asked = job.whole(REQUESTED)
    return asked if asked > 0 else job.whole(ALLOCATED)


def _submission(job: Record, rules: _Rules) -> Submission:
    run_s = job.number(RUN) or rules.zero_run_s
    asked_s, kib, user = job.number(TIME), job.number(MEMORY), job.whole(USER)
    group = SubmittedGroup(
        count=_processors(job),
        memory_mib=math.ceil(kib / 1024) if kib > 0 else rules.memory_mib,
        vcores_milli=VCORES_MILLI,
        run_s=np.array([run_s]),
        estimate_s=asked_s if asked_s > 0 else run_s * rules.exact,
        gang=True,
    )
    return Submission(
        at_s=job.number(SUBMIT),
        queue=_queue(job, rules.queues),
        user=f"u{user}" if user >= 0 else "unknown",
        groups=(group,),
        number=job.whole(JOB),
    )


def _queue(job: Record, queues: Mapping[int, str] | str) -> str:
    if isinstance(queues, str):
        return queues
    number = job.whole(QUEUE)
    if number not in queues:
        raise job.wrong(QUEUE, f"there is no queue for {number}", f"add {number} to the option queue")
    return queues[number]
