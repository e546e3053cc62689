"""Inputs of YARN's Scheduler Load Simulator (SLS): job histories, its own format, its synthetic format, and nodes.

Source: Apache Hadoop 3.2, ``hadoop-tools/hadoop-sls``. All are JSON objects one
after the other, plain or gzipped, times in ms. What kind a file is shows in the
fields of its first object:

- a job history of Rumen (``mapTasks``): each task runs as long as its last
  attempt did, and fails first where an earlier attempt failed;
- the simulator's own (``job.tasks``): as long as its container, or as it says;
- synthetic (``workloads``): see ``slssynthetic``.

A job becomes a group ``map`` and a group ``reduce`` after it (or a group of
another name per type of container). The source prefers a host per task, we one
set per group: all hosts its tasks prefer, or else ran on, most wanted first.
The application master's container is left out, as a job of ours has none. So
are opportunistic execution, reservations and deadlines.

Left out and counted in ``skipped``: tasks without an attempt or without a run
time (``tasks that never ran``), and jobs of which nothing is left.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from simulator.workload import Machine, Submission, SubmittedGroup
from simulator.workloads.files import Record, Unreadable, objects
from simulator.workloads.slsqueues import plain_name
from simulator.workloads.slssynthetic import MOST_TASKS, SYNTHETIC, synthetic_jobs
from simulator.workloads.source import Source, one_of, resorted

RUMEN, NATIVE = "mapTasks", "job.tasks"
MAP, REDUCE = "map", "reduce"
ESTIMATES = ("exact", "none")
# What SLS gives where nothing is said (SLSConfiguration).
CONTAINER_MIB, CONTAINER_MILLI = 1024, 1000
NODE_MIB, NODE_MILLI = 10_240, 10_000
_LABEL = re.compile(r"\s*([A-Za-z0-9_./-]+)\s*(?:\([^)]*\))?\s*")


@dataclass(frozen=True, slots=True)
class _Rules:
    memory_mib: int
    exact: bool
    queues: Mapping[str, str]


@dataclass(slots=True)
class _Tasks:
    """What becomes a group. run_s, fails: by task."""

    memory_mib: int
    vcores_milli: int
    run_s: list[float] = field(default_factory=list)
    fails: list[int] = field(default_factory=list)
    nodes: Counter[str] = field(default_factory=Counter)
    racks: Counter[str] = field(default_factory=Counter)

    def prefer(self, rack: str, node: str, times: int = 1) -> None:
        self.nodes[node] += times
        if rack:
            self.racks[rack] += times


def read(
    path: str | Path,
    *,
    memory_mib: int = CONTAINER_MIB,
    estimates: str = "none",
    queues: Mapping[str, str] | None = None,
    ahead: int = 100,
) -> Source:
    """The jobs of a file of any of the three kinds; the first is submitted at 0 s, synthetic ones when they say.

    memory_mib: of a container, where the file does not say. estimates: of a
    group, its longest task (``exact``) or nothing (``none``). queues: queue
    paths by the file's names, for leaves deeper than below root. ahead: how
    many jobs a history's lines may be out of order.
    """
    exact = one_of("estimates", estimates, ESTIMATES) == "exact"
    rules = _Rules(memory_mib, exact, dict(queues or {}))
    place = Path(path)
    return Source(lambda skipped: _jobs(place, rules, ahead, skipped), {"kind": _kind(place)})


def machines(path: str | Path, *, memory_mib: int = NODE_MIB, vcores_milli: int = NODE_MILLI) -> list[Machine]:
    """The nodes of a topology file; sizes for those that do not say theirs. An empty object is no node."""
    found = []
    for rack in objects(Path(path), texts=True):
        name = rack.text("rack")
        found += [
            Machine(
                name=node.text("node"),
                memory_mib=node.whole("memory-mb", memory_mib, 1),
                vcores_milli=1000 * node.whole("vcores", least=1) if "vcores" in node.values else vcores_milli,
                rack=name,
                labels=_labels(node),
            )
            for node in rack.inner("nodes")
            if node.values
        ]
    return found


def _labels(node: Record) -> dict[str, str]:
    """YARN's node labels as labels of the value ``true``; whether they are exclusive is a matter of partitions here."""
    found = {}
    for part in node.text("labels", "").split(","):
        match = _LABEL.fullmatch(part)
        if match:
            found[match[1]] = "true"
        elif part.strip():
            raise node.wrong("labels", f"{part.strip()[:40]!r} is no label", "write label1, label2(exclusive=false)")
    return found


def _kind(path: Path) -> str:
    first = next(objects(path), None)
    known = (RUMEN, NATIVE, SYNTHETIC)
    for kind in known:
        if first and kind in first.values:
            return kind
    if first and "num.nodes" in first.values:  # the native format may begin with the number of nodes
        return NATIVE
    raise Unreadable(f"{path}: the first object has none of the fields {', '.join(known)}; give a file of SLS")


def _jobs(path: Path, rules: _Rules, ahead: int, skipped: Counter[str]) -> Iterator[Submission]:
    kind = _kind(path)
    records = objects(path, texts=True)
    if kind == SYNTHETIC:
        for job in synthetic_jobs(next(records)):
            yield Submission(job.at_s, _queue(job.queue, rules), job.user, job.groups(rules.exact), job.number)
        return
    begins = _rumen_ms if kind == RUMEN else _native_ms
    timed = chain.from_iterable(begins(record) for record in records)
    first: int | None = None
    for number, (at_ms, record) in enumerate(resorted(timed, ahead), 1):
        first = at_ms if first is None else first
        groups = _rumen(record, rules, skipped) if kind == RUMEN else _native(record, rules, skipped)
        if not groups:
            skipped["jobs of which no task ran"] += 1
            continue
        named = ("user", "queue", "jobID") if kind == RUMEN else ("job.user", "job.queue.name", "job.id")
        user, queue, called = (record.text(name, "") for name in named)
        digits = re.search(r"(\d{1,18})$", called)
        yield Submission(
            at_s=(at_ms - first) / 1000,
            queue=_queue(queue, rules),
            user=user or "default",
            groups=groups,
            number=int(digits[1]) if digits else number,
        )


def _queue(name: str, rules: _Rules) -> str:
    if name in rules.queues:
        return rules.queues[name]
    parts = (name or "default").removeprefix("root.").split(".")
    return ".".join(["root", *map(plain_name, parts)])


def _groups(tasks: dict[str, _Tasks], rules: _Rules, label: str = "") -> tuple[SubmittedGroup, ...]:
    """What there are tasks of; ``reduce`` begins when ``map`` has ended."""
    tasks = {name: found for name, found in tasks.items() if found.run_s}
    return tuple(
        SubmittedGroup(
            count=len(found.run_s),
            memory_mib=found.memory_mib,
            vcores_milli=found.vcores_milli,
            run_s=np.array(found.run_s),
            name=name,
            estimate_s=max(found.run_s) if rules.exact else 0.0,
            node_labels=label,
            nodes=tuple(node for node, _ in found.nodes.most_common()),
            racks=tuple(rack for rack, _ in found.racks.most_common()),
            after=(MAP,) if name == REDUCE and MAP in tasks else (),
            fails=tuple(found.fails),
        )
        for name, found in tasks.items()
    )


# --- Rumen


def _rumen_ms(job: Record) -> Iterator[tuple[int, Record]]:
    yield job.whole("submitTime", least=0), job


def _rumen(job: Record, rules: _Rules, skipped: Counter[str]) -> tuple[SubmittedGroup, ...]:
    found = {}
    for name, tasks, memory in ((MAP, "mapTasks", "jobMapMB"), (REDUCE, "reduceTasks", "jobReduceMB")):
        mib = job.whole(memory, -1)
        found[name] = _Tasks(mib if mib > 0 else rules.memory_mib, CONTAINER_MILLI)
        for task in job.inner(tasks, ()):
            if not _rumen_task(task, found[name]):
                skipped["tasks that never ran"] += 1
    return _groups(found, rules)


def _rumen_task(task: Record, into: _Tasks) -> bool:
    """Add a task; False where its last attempt has not run."""
    attempts = list(task.inner("attempts", ()))
    run_ms = attempts[-1].whole("finishTime", -1) - attempts[-1].whole("startTime", -1) if attempts else 0
    if run_ms <= 0:
        return False
    # Killed attempts are copies that were not needed; only failed ones come again.
    if any(attempt.text("result", "") == "FAILED" for attempt in attempts[:-1]):
        into.fails.append(len(into.run_s))
    into.run_s.append(run_ms / 1000)
    wishes = [place.items("layers") for place in task.inner("preferredLocations", ())]
    if not wishes:
        wishes = [attempts[-1].text("hostName", "").strip("/").split("/")]
    for layers in wishes:
        if layers and layers[-1]:
            into.prefer("/".join(map(str, layers[:-1])), str(layers[-1]))
    return True


# --- the simulator's own format


def _native_ms(job: Record) -> Iterator[tuple[int, Record]]:
    """A job as often as it is to be submitted; the object that only counts nodes is none."""
    if NATIVE in job.values:
        at_ms = job.whole("job.start.ms", least=0)
        for _ in range(job.whole("job.count", 1, 1)):
            yield at_ms, job


def _native(job: Record, rules: _Rules, skipped: Counter[str]) -> tuple[SubmittedGroup, ...]:
    found: dict[str, _Tasks] = {}
    for task in job.inner(NATIVE):
        name = plain_name(task.text("container.type", MAP))
        mib = task.whole("container.memory-mb", rules.memory_mib, 1)
        into = found.setdefault(name, _Tasks(mib, 1000 * task.whole("container.vcores", 1, 1)))
        count = task.whole("count", 1, 1, MOST_TASKS)
        run_ms = _native_run_ms(task)
        if run_ms <= 0:
            skipped["tasks that never ran"] += count
            continue
        into.run_s += [run_ms / 1000] * count
        rack, _, node = task.text("container.host", "").strip("/").rpartition("/")
        if node:
            into.prefer(rack, node, count)
    return _groups(found, rules, job.text("job.label.expression", ""))


def _native_run_ms(task: Record) -> int:
    for given in ("container.duration.ms", "duration.ms"):
        if given in task.values:
            return task.whole(given)
    return task.whole("container.end.ms", -1) - task.whole("container.start.ms", -1)
