"""What is live at one moment: what runs, on which nodes and for how long yet, and what waits.

What cannot be known is assumed as for a recorded history, and counted.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import ge, sub
from typing import NamedTuple

import numpy as np
from django.db import connection

from contract.stored import StoredGroup
from controlplane.rm.memory.nodes import lowest
from controlplane.whatif.fleet import Fleet
from controlplane.whatif.history import ASSUMED_S, LEAST_S, HistoryReader, ended_tasks, expected_run_s, submitted_group
from controlplane.whatif.recorded import Columns, Tasks, copied, unix_us
from simulator.workload import Machine, RunningContainers, RunningJob, Submission, SubmittedGroup
from wire.resources import DIVISIBLE, Amounts
from wire.states import ContainerState

_COLUMNS: Columns = (("job", 8), ("group", 2), ("index", 4), ("sub", 2), ("node", 8), ("gpus", 8), ("began_us", 8))
_LIVE = """
COPY (
    SELECT c.job_id, c.group_no, c.task_index, c.sub_cluster_id, c.node_id, c.gpus,
           COALESCE(c.started_at, c.allocated_at)
      FROM statestore_container c JOIN whatif_job j ON j.id = c.job_id
) TO STDOUT (FORMAT BINARY)
"""
# How long tasks of chosen jobs have run that succeeded since then, on average by group.
_LASTED = f"""
SELECT c.job_id, c.group_no, avg(extract(epoch FROM c.finished_at - c.started_at))::float8
  FROM statestore_container_history c JOIN whatif_job j ON j.id = c.job_id
 WHERE c.finished_at > %s AND c.state = {ContainerState.SUCCEEDED} AND c.started_at IS NOT NULL GROUP BY 1, 2
"""
_NO_TASKS = Tasks(*(np.zeros(0, kind) for kind in (*[np.int64] * 3, np.float64, *[np.bool_] * 3)))
_FOREVER_S = 1e8  # of a service, s


class MachineAssignment(NamedTuple):
    """A machine by its position in the sub-cluster, and the devices (a bit mask) that a container has there."""

    sub_cluster: str
    machine: int
    gpus: int


@dataclass(slots=True)
class Live:
    """One group's containers: (k,) each. node, sub: numbers."""

    sub: np.ndarray
    node: np.ndarray
    gpus: np.ndarray
    ran_s: np.ndarray


@dataclass(slots=True)
class LiveJobs:
    """running_jobs: those of which something runs. waiting: the others. Both in order of submission."""

    running_jobs: list[RunningJob] = field(default_factory=list)
    waiting: list[Submission] = field(default_factory=list)


class LiveReader(HistoryReader):
    """Makes of the rows of live jobs what is left of them. Of each group, what runs comes first."""

    def __init__(self, at: dt.datetime, since: dt.datetime) -> None:
        """Three queries, for chosen jobs. since: so far back is looked for how long tasks have run."""
        super().__init__(at, at, _NO_TASKS, ended_tasks(at), foreseen=True)
        rows = copied(_LIVE, _COLUMNS)
        order = np.lexsort((rows["index"], rows["group"], rows["job"]))
        self._rows = {name: rows[name][order].astype(np.int64) for name, _ in _COLUMNS}
        self._ran_s = np.maximum(at.timestamp() - unix_us(self._rows["began_us"]) / 1e6, 0.0)
        with connection.cursor() as cursor:
            cursor.execute(_LASTED, [since])
            self._lasted = {(job, group): mean_s for job, group, mean_s in cursor.fetchall()}
        self.live: dict[tuple[int, str], Live] = {}  # by job and the group's name

    def _of(self, job: int, group: int) -> Live:
        begin, end = np.searchsorted(self._rows["job"], (job, job + 1)).tolist()
        rows = begin + np.flatnonzero(self._rows["group"][begin:end] == group)
        sub, node, gpus = (self._rows[name][rows] for name in ("sub", "node", "gpus"))
        return Live(sub, node, gpus, self._ran_s[rows])

    def group(self, job: int, no: int, g: StoredGroup, kind: str, state: int) -> SubmittedGroup | None:
        """What runs, and what waits yet; but what an application's master was not granted is not known."""
        live = self._of(job, no)
        k = len(live.ran_s)
        waiting = 0 if kind == "application" else g.count - k - self.ended_tasks.get((job, no), 0)
        if k + max(0, waiting) == 0:
            return None
        estimate_s, known_s = g.estimated_duration_s, self._lasted.get((job, no), 0.0)
        run_s = expected_run_s(live.ran_s, estimate_s, known_s)
        usual_s = known_s or estimate_s or (float(run_s.mean()) if k else ASSUMED_S)
        if kind == "service":
            run_s, usual_s = np.full(k, _FOREVER_S), _FOREVER_S
        else:
            self.counted["foreseen"] += k
            self.counted["assumed"] += max(0, waiting)
        self.live[job, g.name] = live
        run_s = np.maximum(np.append(run_s, np.full(max(0, waiting), usual_s)), LEAST_S)
        return submitted_group(g, run_s, (), g.partition, kind)


class MachineAssigner:
    """Gives containers their machines: their own, or another one with room."""

    def __init__(self, machines: Fleet) -> None:
        self.names = {number: sub.name for number, sub in machines.known.items()}
        self._own = {node: at for name in machines.nodes for at, node in enumerate(machines.nodes[name])}
        self._machines = machines.sub_clusters
        self._free = {name: [_room(m) for m in every] for name, every in machines.sub_clusters.items()}
        self._next = dict.fromkeys(machines.sub_clusters, 0)
        self._full: set[tuple[str, Amounts, int]] = set()  # what finds nothing any more

    def reserve(self, sub: int, node: int, gpus: int, group: SubmittedGroup) -> MachineAssignment | None:
        """Its own machine."""
        name, at = self.names.get(sub, ""), self._own.get(node)
        if name not in self._free or at is None:
            return None
        self._take(name, at, gpus, group)
        return MachineAssignment(name, at, gpus)

    def find(self, sub: int, group: SubmittedGroup) -> MachineAssignment | None:
        """Any machine of the sub-cluster, looking on from where the last one was found."""
        name = self.names.get(sub, "")
        free = self._free.get(name, [])
        asked = _amounts(group)
        wanted = (name, asked, group.gpus)
        if wanted in self._full:
            return None
        for step in range(len(free)):
            at = (self._next[name] + step) % len(free)
            left, devices = free[at]
            fits = all(map(ge, left, asked)) and devices.bit_count() >= group.gpus
            if fits and self._machines[name][at].duty == "in_service":
                self._next[name] = at
                gpus = lowest(devices, group.gpus)
                self._take(name, at, gpus, group)
                return MachineAssignment(name, at, gpus)
        self._full.add(wanted)
        return None

    def _take(self, name: str, at: int, gpus: int, group: SubmittedGroup) -> None:
        left, devices = self._free[name][at]
        self._free[name][at] = tuple(map(sub, left, _amounts(group))), devices & ~gpus


def _room(m: Machine) -> tuple[Amounts, int]:
    """What is free there of ``DIVISIBLE``, and which devices."""
    return _amounts(m), (1 << m.gpus) - 1


def _amounts(of: Machine | SubmittedGroup) -> Amounts:
    return tuple([getattr(of, axis) for axis in DIVISIBLE])


def assign_machines(reader: LiveReader, machines: Fleet, sample: float) -> LiveJobs:
    """Every live job, with what runs on its machines. What finds none begins anew, and is counted.

    In a sample most machines are not there, and others of the sub-cluster stand for them.
    """
    jobs, assigner, found = reader.in_order(), MachineAssigner(machines), LiveJobs()
    parts = [(job, no, live) for job in jobs for no, live in _live(reader, job)]
    given: dict[tuple[int, int], list[MachineAssignment | None]] = {}
    for job, no, live in parts:  # everybody's own first
        columns = zip(live.sub.tolist(), live.node.tolist(), live.gpus.tolist(), strict=True)
        given[job.number, no] = [assigner.reserve(*row, job.groups[no]) for row in columns]
    running: dict[int, list[RunningContainers]] = {}
    for job, no, live in parts:
        own = zip(given[job.number, no], live.sub.tolist(), strict=True)
        taken = [assignment or (assigner.find(sub, job.groups[no]) if sample < 1 else None) for assignment, sub in own]
        reader.counted["elsewhere"] += taken.count(None)
        running.setdefault(job.number, []).extend(_running(no, taken, live.ran_s))
    for job in jobs:
        mine = running.get(job.number)
        home = job.home if job.home in machines.sub_clusters else ""
        if mine:
            found.running_jobs.append(RunningJob(replace(job, home=home or mine[0].sub), tuple(mine)))
        else:
            found.waiting.append(replace(job, home=home))
    return found


def _live(reader: LiveReader, job: Submission) -> Iterator[tuple[int, Live]]:
    for no, group in enumerate(job.groups):
        live = reader.live[job.number, group.name]
        if len(live.ran_s):
            yield no, live


def _running(no: int, assignments: list[MachineAssignment | None], ran_s: np.ndarray) -> Iterator[RunningContainers]:
    """By sub-cluster. Tasks are those at the group's beginning, in this order."""
    for name in sorted({assignment.sub_cluster for assignment in assignments if assignment}):
        mine = {
            k: assignment for k, assignment in enumerate(assignments) if assignment and assignment.sub_cluster == name
        }
        task = list(mine)
        node = np.array([assignment.machine for assignment in mine.values()], np.int64)
        gpus = np.array([assignment.gpus for assignment in mine.values()], np.int64)
        yield RunningContainers(no, name, np.array(task), node, gpus, ran_s[task])
