"""From a question about a drain to what the simulator needs: what is live now, what is to come, and who is stuck."""

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db import connection, transaction

from controlplane.policy import versions
from controlplane.policy.federation import reaches
from controlplane.statestore.models import Node, Simulation, SubCluster
from controlplane.statestore.queries.drains import rooms
from controlplane.statestore.queries.queues.tree import asked_partitions
from controlplane.whatif import fleet, history, snapshot
from controlplane.whatif.cases import Case, Unanswerable
from controlplane.whatif.drained import Drain, Stuck
from controlplane.whatif.fleet import Fleet
from controlplane.whatif.history import Recorded
from controlplane.whatif.jobqueues import JobQueues
from controlplane.whatif.redrawing import block_note, resampled
from controlplane.whatif.snapshot import LiveJobs, LiveReader
from simulator.workload import RunningContainers, RunningJob, Submission, SubmittedGroup
from wire.counts import counted
from wire.resources import AXES

ARRIVALS = dt.timedelta(hours=1)  # so much of the past is taken to repeat
Json = dict[str, Any]
State = SubCluster.State


_THERE = """
SELECT count(*), count(*) FILTER (WHERE j.kind = 'service')
  FROM statestore_container c JOIN statestore_job j ON j.id = c.job_id WHERE c.sub_cluster_id = %s
"""


@dataclass(slots=True)
class _Now:
    """What was read of one moment. there: containers in the sub-cluster, and those of services. fleet: all nodes."""

    at: dt.datetime
    machines: Fleet
    fleet: Fleet
    there: tuple[int, int]
    live: LiveJobs
    come: Recorded | None
    sample: float
    notes: list[str]


def of(row: Simulation) -> Case:
    """Read all of it, of one moment. ``Unanswerable``, or ``Invalid`` where the policy is not valid any more."""
    horizon_s = (row.ends_at - row.begins_at).total_seconds()
    now = _read(row, horizon_s)
    name = row.sub_cluster.name if row.sub_cluster else ""
    deadlines = {sub.name: sub.deadline for sub in now.machines.known.values() if sub.state == State.DRAINING}
    emptied = {each: at and max(0.0, (at - now.at).total_seconds()) for each, at in deadlines.items()}
    document = versions.readable(row.document)
    policies = {"as it is": document, f"{name} drained": document}
    came = now.come.jobs if now.come else []
    coming = list(repeated(came, horizon_s))
    every = [*(each.job for each in now.live.running_jobs), *now.live.waiting, *coming]
    known = JobQueues({"": document}, list(now.machines.sub_clusters))
    queues = {job.queue for job in known.kept(every)}
    running_jobs = [each for each in now.live.running_jobs if each.job.queue in queues]
    came, waiting, coming = ([job for job in jobs if job.queue in queues] for jobs in (came, now.live.waiting, coming))
    if not (running_jobs or waiting or coming):
        raise Unanswerable("nothing is live and nothing came in the last hour, so nothing would wait")
    workload = f"from {now.at:%Y-%m-%d %H:%M:%S} UTC on, {horizon_s:,.0f} s ahead"
    case = Case(workload, [*waiting, *coming], now.machines.sub_clusters, policies, horizon_s, now.sample)
    case.running_jobs, case.accounts = running_jobs, True
    case.drained = {"as it is": emptied, f"{name} drained": emptied | {name: row.deadline_s}}
    if came:
        case.redraw = partial(_redrawn, waiting, came, horizon_s)
    ties = _TiedGroups(now.fleet, name, document, case.drained[f"{name} drained"])
    case.drain = Drain(
        name,
        now.at,
        row.deadline_s,
        len(running_jobs) + len(waiting),
        ties.live(running_jobs, waiting),
        sum(map(ties.tied, coming)),
        *now.there,
        now.sample,
    )
    live = [*(each.job for each in running_jobs), *waiting]
    case.notes = [
        *now.notes,
        *_homes_note(name, sum(ties.stays_home(job, name) for job in live)),
        *known.notes(every, remedy=""),
        *case.pace_note(),
        *([block_note(ARRIVALS.total_seconds())] if came and row.seeds > 1 else []),
    ]
    return case


def _redrawn(waiting: list[Submission], came: list[Submission], horizon_s: float, seed: int) -> list[Submission]:
    """What waits, and another hour of what came; the same in every hour."""
    return [*waiting, *repeated(resampled(came, ARRIVALS.total_seconds(), seed), horizon_s)]


def _homes_note(name: str, jobs: int) -> list[str]:
    if not jobs:
        return []
    text = f"{jobs:,} live jobs at home in {name} send no task elsewhere, by their queue's policy. In a drain they get "
    return [text + "another home once nothing is left there; here they wait to the end, so their waits are too long."]


def repeated(jobs: Sequence[Submission], horizon_s: float) -> Iterator[Submission]:
    """The same jobs in every hour of what is looked ahead, at their distances."""
    hour_s = ARRIVALS.total_seconds()
    begin_s = 0.0
    while begin_s < horizon_s:
        for job in jobs:
            if begin_s + job.at_s < horizon_s:
                yield replace(job, at_s=begin_s + job.at_s)
        begin_s += hour_s


def _read(row: Simulation, horizon_s: float) -> _Now:
    """Of one moment: some two dozen queries, whose work is bounded by what is live and by what an hour brought."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT now()")
        at: dt.datetime = cursor.fetchone()[0]
        since = at - ARRIVALS
        size = history.table(history.LIVE, at, at)
        if row.forecast:
            times = -(-horizon_s // ARRIVALS.total_seconds())
            came = history.table(history.CAME, since, at)
            size = int(size[0] + times * came[0]), int(size[1] + times * came[1])
        sample = history.sample_of(*size, history.CONTAINERS_MOST)
        machines = whole = fleet.read(closed_too=True)
        if sample < 1:
            machines = fleet.read(sample, closed_too=True)
        for each in (machines, whole):
            _checked(each, row)
        cursor.execute(_THERE, [row.sub_cluster_id])
        there = cursor.fetchone()
        history.table(history.LIVE, at, at, sample)
        reader = LiveReader(at, since)
        live = snapshot.assign_machines(reader, machines, sample)
        come = history.read_arrivals(since, at, sample) if row.forecast else None
    for name in ("before", "application"):
        del reader.counted[name]
    if come:
        reader.counted.update(come.counted)
    notes = [*history.sample_note(sample), *history.assumption_notes(reader.counted), _forecast(come), *machines.notes]
    return _Now(at, machines, whole, there, live, come, sample, notes)


def _forecast(come: Recorded | None) -> str:
    if come is None:
        return "No further job is taken to come."
    came = counted(len(come.jobs), "job of the last hour is", "jobs of the last hour are")
    return f"The {came} taken to come again in every hour, as before."


def _checked(machines: Fleet, row: Simulation) -> None:
    """That the drain makes sense still. What has no leader yet takes no work."""
    own = machines.known.get(row.sub_cluster_id or 0)
    if own is None or own.state != State.RUNNING:
        raise Unanswerable(
            f"the sub-cluster is {own.state if own else 'lost or gone'} by now; resume it, then ask again"
        )
    for sub in machines.known.values():
        if sub.state == State.JOINING:
            machines.sub_clusters[sub.name] = []
            machines.nodes[sub.name] = []
    takes = [sub.name for sub in machines.known.values() if sub.state == State.RUNNING and sub.pk != own.pk]
    if not any(m.duty == Node.Duty.IN_SERVICE for name in takes for m in machines.sub_clusters[name]):
        raise Unanswerable(
            "no other sub-cluster that takes work has an open node: all that waits or comes would wait until "
            f"{own.name} is resumed"
        )


class _TiedGroups:
    """Which groups only the drained sub-cluster has a node for, however empty the others are. Two queries."""

    def __init__(self, machines: Fleet, name: str, document: Json, deadlines: dict[str, float | None]) -> None:
        self._deadlines = {each: math.inf if at is None else at for each, at in deadlines.items()}
        self._numbers = {sub.name: number for number, sub in machines.known.items()}
        self._own = self._numbers[name]
        self._reach = reaches(document, self._numbers)
        self._partition = asked_partitions()
        every: list[dict[str, Any]] = [
            {"id": 0, "name": m.name, "rack": m.rack, "labels": m.labels, "sub": number}
            | {axis: getattr(m, axis) for axis in AXES}
            for number, sub in machines.known.items()
            for m in machines.sub_clusters[sub.name]
            if sub.state == State.RUNNING and m.duty == Node.Duty.IN_SERVICE
        ]
        self._rooms: dict[int, list[rooms.Room]] = {}
        for node, room in zip(every, rooms.of(every, {}), strict=True):
            self._rooms.setdefault(node["sub"], []).append(room)
        self._elsewhere = {number: found for number, found in self._rooms.items() if number != self._own}
        self._known: dict[tuple[object, ...], str] = {}

    def live(self, running_jobs: Sequence[RunningJob], waiting: Sequence[Submission]) -> list[Stuck]:
        """Groups of live jobs that have something to start, or that leave."""
        found = []
        for each in [*running_jobs, *(RunningJob(job, ()) for job in waiting)]:
            for no, group in enumerate(each.job.groups):
                mine = [part for part in each.running if part.group == no]
                stays = sum(self._stay(each.job, part) for part in mine)
                if group.count > stays and (why := self.why(each.job, group)):
                    found.append(Stuck(each.job.number, each.job.queue, group.name, group.count - stays, why))
        return found

    def _stay(self, job: Submission, part: RunningContainers) -> int:
        """How many of them end where they run; of what is drained, by its deadline."""
        if part.sub not in self._deadlines:
            return len(part.task)
        left_s = job.groups[part.group].run_s[part.task] - part.ran_s
        return 0 if job.service else int((left_s <= self._deadlines[part.sub]).sum())

    def tied(self, job: Submission) -> bool:
        """Whether some of it could start nowhere else."""
        return any(self.why(job, group) for group in job.groups)

    def why(self, job: Submission, group: SubmittedGroup) -> str:
        """Empty when it could start elsewhere too, or not even there."""
        shape = [getattr(group, axis) for axis in AXES]
        constraints = rooms.Constraints(group.node_labels, group.strict, group.nodes, group.racks)
        partition = self._partition(job.queue, group.partition)
        key = (job.queue, job.home, partition, constraints, *shape)
        if key not in self._known:
            here = {self._own: self._rooms.get(self._own, [])}
            never = bool(rooms.nowhere(constraints, shape, partition, here, {self._own}))
            may = self._may(job)
            self._known[key] = "" if never else rooms.nowhere(constraints, shape, partition, self._elsewhere, may)
        return self._known[key]

    def stays_home(self, job: Submission, name: str) -> bool:
        """Whether its home is this one and its policy sends none of its tasks elsewhere."""
        return job.home == name and not {*self._reach(job.queue, [self._own, *self._elsewhere])} - {self._own}

    def _may(self, job: Submission) -> set[int]:
        """Where its tasks may go from its home; of one that comes, or gets another home later, from any it may have."""
        homes = [self._numbers[job.home]] if job.home not in ("", *self._deadlines) else list(self._elsewhere)
        return {sub for home in homes for sub in (home, *self._reach(job.queue, [home, *self._elsewhere]))}
