"""The recorded history as a workload: jobs that were submitted in a window, and what was left of those live before.

Run times are those of the attempts that succeeded. What cannot be known is
assumed, and ``Recorded.notes`` says what and how often.
"""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from django.db import connection, transaction

from contract import stored
from contract.stored import StoredGroup
from controlplane.accounts.models import User
from controlplane.statestore.resourcecolumns import per_axis
from controlplane.whatif.recorded import Tasks, read_tasks
from simulator.workload import Submission, SubmittedGroup
from wire.resources import AXES
from wire.states import TERMINAL, JobState

CONTAINERS_MOST, JOBS_MOST = 1_000_000, 200_000  # more are sampled
ASSUMED_S = 60.0  # a task of which nothing is known at all
LEAST_S = 0.001
_CHUNK = 2000
_HASH = "((({0} %% 2147483647) * 2654435761) & 4294967295)"  # the same bits of each number, wherever it is asked
CAME = "SELECT id FROM statestore_job WHERE submitted_at >= %(begin)s AND submitted_at < %(end)s"
LIVE = f"SELECT id FROM statestore_job WHERE state < {int(JobState.KILLING)}"
# Whoever was live when the window began, and whoever came in it.
_ALL = f"""{CAME}
    UNION SELECT id FROM statestore_job WHERE submitted_at < %(begin)s AND finished_at > %(begin)s
    UNION SELECT id FROM statestore_job WHERE submitted_at < %(begin)s AND state < {int(JobState.SUCCEEDED)}
"""
_CHOSEN = f"""
CREATE TEMPORARY TABLE whatif_job ON COMMIT DROP AS
SELECT id FROM ({{jobs}}) found WHERE {_HASH.format("id")} >= %(from)s AND {_HASH.format("id")} < %(below)s
"""
_SIZE = """
SELECT count(DISTINCT w.id), COALESCE(sum(g.count), 0)
  FROM whatif_job w JOIN statestore_taskgroup g ON g.job_id = w.id
"""
_DROPPED = "array,command,env,files,inputs,outputs,ports,health_check"
_JOBS = f"""
SELECT j.id, j.queue, j.owner_id, j.priority, j.kind, j.state, s.name, j.submitted_at,
       (SELECT jsonb_agg(jsonb_build_object('no', g.no, 'name', g.name, 'count', g.count,
                         {per_axis("'{0}', g.{0}")},
                         'spec', COALESCE((j.spec -> 'groups' -> g.no::integer) - '{{{_DROPPED}}}'::text[], '{{}}'))
                         ORDER BY g.no)
          FROM statestore_taskgroup g WHERE g.job_id = j.id)::text
  FROM whatif_job w JOIN statestore_job j ON j.id = w.id JOIN statestore_subcluster s ON s.id = j.home_id
 ORDER BY j.submitted_at, j.id
"""
# Tasks that were over before the window began, by job and group.
_OVER = f"""
SELECT t.job_id, t.group_no, count(*)
  FROM whatif_job w JOIN statestore_job j ON j.id = w.id
  JOIN statestore_task t ON t.job_id = j.id AND t.submitted_on = (j.submitted_at AT TIME ZONE 'UTC')::date
 WHERE j.submitted_at < %s AND t.state >= {TERMINAL} AND t.finished_at <= %s GROUP BY 1, 2
"""
_USER = "u"  # before the number of an account
_TIMES = {"assumed": "tasks that have not run yet run for as long as others of their group did, else as their "
          "submitter estimated, else for a minute",
          "live": "tasks are still running; they run for as long as they have so far",
          "cut": "tasks had been stopped and were to run again; they run for as long as their submitter estimated, "
          "else as others of their group did, else for twice as long as they had, a minute at least",
          "foreseen": "tasks that run now go on for as long as their submitter estimated, else as others of their "
          "group did, else for as long again as so far, a minute at least",
          "elsewhere": "containers run on nodes that are not simulated; they begin anew",
          "before": "jobs were live when the window began: they come at its beginning with what was left of them",
          "unrun": "jobs ended without anything having run; they are left out",
          "service": "services come as batch jobs whose tasks outlast the window: none is moved to make room",
          "application": "applications ask for all their containers at once, when they come; nothing is held for what "
          "their masters declared to need at once",
          "partition": "task groups name a partition; they go to their queue's own here"}  # fmt: skip


@dataclass(slots=True)
class Recorded:
    """jobs: in order of submission. sample: the part of all that they are. counted: what had to be assumed.

    others: further samples as large, of which no two have a job in common.
    """

    jobs: list[Submission]
    window_s: float
    sample: float = 1.0
    counted: Counter[str] = field(default_factory=Counter)
    others: list[list[Submission]] = field(default_factory=list)

    @property
    def containers(self) -> int:
        return sum(group.count for job in self.jobs for group in job.groups)

    @property
    def notes(self) -> list[str]:
        return sample_note(self.sample, 1 + len(self.others)) + assumption_notes(self.counted)


def sample_note(sample: float, samples: int = 1) -> list[str]:
    """What a reader has to know of a sample, or of several."""
    part = f"{100 * sample:.2g} %"
    what = "A sample" if samples == 1 else f"{samples} samples, of which none has a job of another, one for each seed"
    text = (
        f"{what}: {part} of the jobs on {part} of the nodes of each sub-cluster. Limits that a policy names in units "
        "of resources are not made smaller."
    )
    return [text] if sample < 1 else []


def assumption_notes(counted: Counter[str]) -> list[str]:
    """What was assumed, and how often."""
    return [f"{counted[name]:,} {text}." for name, text in _TIMES.items() if counted[name]]


def accounts_called(users: Iterable[str]) -> dict[str, str]:
    """Accounts' own names by what they are called here; without those that are gone. One query."""
    numbers = {int(user.removeprefix(_USER)): user for user in users if user.removeprefix(_USER).isdecimal()}
    found = User.objects.filter(pk__in=numbers).values_list("pk", "username")
    return {numbers[number]: name for number, name in found}


def read(begin: dt.datetime, end: dt.datetime, most: int = CONTAINERS_MOST, samples: int = 1) -> Recorded:
    """Five queries, one of them over the attempts. most: containers; of more, jobs are sampled.

    samples: into how many a sample is divided, each read by five queries of its own.
    """
    with transaction.atomic():
        sample = sample_of(*table(_ALL, begin, end), most)
        if sample == 1:
            return _read(begin, end, 1.0)
        first, *more = (_read(begin, end, sample / samples, which) for which in range(samples))
    for each in more:
        first.others.append(each.jobs)
        first.counted.update(each.counted)
    return first


def _read(begin: dt.datetime, end: dt.datetime, sample: float, which: int = 0) -> Recorded:
    if sample < 1:
        table(_ALL, begin, end, sample, which)
    reader = HistoryReader(begin, end, read_tasks(begin), ended_tasks(begin))
    return Recorded(reader.in_order(), reader.window_s, sample, reader.counted)


def read_arrivals(begin: dt.datetime, end: dt.datetime, sample: float) -> Recorded:
    """Only what was submitted, as a forecast: what still runs is taken to go on, under the same policy.

    Within a transaction of the caller's.
    """
    table(CAME, begin, end, sample)
    reader = HistoryReader(begin, end, read_tasks(begin), {}, foreseen=True)
    return Recorded(reader.in_order(), reader.window_s, sample, reader.counted)


def ended_tasks(at: dt.datetime) -> dict[tuple[int, int], int]:
    """Of chosen jobs, by job and group: tasks that were over then."""
    with connection.cursor() as cursor:
        cursor.execute(_OVER, [at, at])
        return {(job, group): count for job, group, count in cursor.fetchall()}


def expected_run_s(ran_s: np.ndarray, estimate_s: float, known_s: float) -> np.ndarray:
    """How long what still runs will have run: as its submitter estimated, else as others of its group did, else as
    long again as it has so far, a minute at least. (k,) each."""
    usual = np.where(known_s > ran_s, known_s, np.maximum(2 * ran_s, ASSUMED_S))
    found: np.ndarray = np.where(estimate_s > ran_s, estimate_s, usual)
    return found


def rank(number: int) -> int:
    """Evenly spread over 32 bits, and always the same."""
    return (number % 2147483647) * 2654435761 & 0xFFFFFFFF


def sample_of(jobs: int, containers: int, most: int) -> float:
    """The part of so much that is not too much."""
    return min(1.0, most / max(1, containers), JOBS_MOST / max(1, jobs))


def table(wanted: str, begin: dt.datetime, end: dt.datetime, sample: float = 1.0, which: int = 0) -> tuple[int, int]:
    """Make it with this part of them, in place of one that was there: how many jobs and containers these are.

    wanted: a query of ours for numbers of jobs. which: of the parts of this size that have no job in common.
    """
    part = {"from": int(which * sample * 2**32), "below": int((which + 1) * sample * 2**32)}
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS whatif_job")
        cursor.execute(_CHOSEN.format(jobs=wanted), {"begin": begin, "end": end} | part)
        cursor.execute("ANALYZE whatif_job")
        cursor.execute(_SIZE)
        jobs, containers = cursor.fetchone()
    return jobs, int(containers)


class HistoryReader:
    """Makes submissions of the rows of chosen jobs. foreseen: they go on after the window, under the same policy."""

    def __init__(
        self, begin: dt.datetime, end: dt.datetime, tasks: Tasks, ended_tasks: dict[tuple[int, int], int],
        foreseen: bool = False,
    ) -> None:  # fmt: skip
        self.begin, self.tasks, self.ended_tasks, self.foreseen = begin, tasks, ended_tasks, foreseen
        self.window_s = (end - begin).total_seconds()
        self.counted: Counter[str] = Counter()

    def in_order(self) -> list[Submission]:
        """Stable: in order of submission where they come together."""
        return sorted(self.jobs(), key=lambda job: job.at_s)

    def jobs(self) -> Iterator[Submission]:
        with connection.cursor() as cursor:
            cursor.execute(_JOBS)
            while rows := cursor.fetchmany(_CHUNK):
                for row in rows:
                    job = self._job(*row)
                    if job is not None:
                        yield job

    def _job(
        self, number: int, queue: str, owner: int, priority: int, kind: str, state: int, home: str,
        at: dt.datetime, groups: str,
    ) -> Submission | None:  # fmt: skip
        before = at < self.begin
        read = [(row["no"], _stored(row)) for row in json.loads(groups or "[]")]
        found = [each for no, g in read if (each := self.group(number, no, g, kind, state)) is not None]
        if not found:
            self.counted["unrun"] += not before
            return None
        names = {group.name for group in found}
        found = [_after(group, names) for group in found]
        self.counted["before"] += before
        self.counted["application"] += kind == "application"
        self.counted["service"] += kind == "service" and not self.foreseen
        at_s = max(0.0, (at - self.begin).total_seconds())
        stays = self.foreseen and kind == "service" and state < JobState.SUCCEEDED
        return Submission(at_s, queue, f"{_USER}{owner}", tuple(found), number, priority, home if before else "", stays)

    def group(self, job: int, no: int, g: StoredGroup, kind: str, state: int) -> SubmittedGroup | None:
        """What there is to run of a job's group ``no``; None: nothing."""
        t, where = self.tasks, self.tasks.of(job)
        mine = where.start + np.flatnonzero(t.group[where] == no)
        run_s, live = t.run_s[mine], t.live[mine]
        # An application's master asks for others; of a service that was made smaller the last ones do not come back.
        goes_on = state < JobState.SUCCEEDED and kind != "application"
        cut = t.cut[mine] & (t.index[mine] < g.count) & goes_on
        missing = g.count - len(mine) - self.ended_tasks.get((job, no), 0)
        if kind == "application" or state in (JobState.FAILED, JobState.KILLED):
            missing = 0  # what nobody ever granted, or what was given up
        if kind == "service":
            run_s = np.where(live | cut, max(self.window_s * 2, 1.0), run_s)
        else:
            unknown, whole = cut | (live & self.foreseen), ~(cut | live)
            known = float(run_s[whole].mean()) if whole.any() else 0.0
            run_s = np.where(unknown, expected_run_s(run_s, g.estimated_duration_s, known), run_s)
            self.counted["cut"] += int(cut.sum())
            self.counted["foreseen" if self.foreseen else "live"] += int(live.sum())
        if missing > 0:
            known = float(run_s.mean()) if len(run_s) else g.estimated_duration_s or ASSUMED_S
            run_s = np.append(run_s, np.full(missing, self.window_s * 2 if kind == "service" else known))
            self.counted["assumed"] += missing if kind != "service" else 0
        if not len(run_s):
            return None
        self.counted["partition"] += g.partition is not None and not self.foreseen
        # What fails of an application is its master's affair.
        fails = () if kind == "application" else tuple(np.flatnonzero(t.fails[mine]).tolist())
        return submitted_group(g, np.maximum(run_s, LEAST_S), fails, g.partition if self.foreseen else None, kind)


def _stored(row: dict[str, Any]) -> StoredGroup:
    """A group as its row and what was read of its specification say; a master's ask has its row alone."""
    own = {"name": row["name"], "count": row["count"], "resources": {axis: row[axis] for axis in AXES}}
    return stored.group(row["spec"] | own | {"command": []})


def submitted_group(
    g: StoredGroup, run_s: np.ndarray, fails: tuple[int, ...], partition: str | None, kind: str
) -> SubmittedGroup:
    """What is submitted of a group of a job of this kind: tasks that run for ``run_s``, and no longer than they may."""
    timeout_s = 0.0 if kind == "service" else float(g.timeout_s)
    run_s = np.minimum(run_s, timeout_s) if timeout_s else run_s
    return SubmittedGroup(
        count=len(run_s), run_s=run_s, name=g.name, **dict(zip(AXES, g.resources, strict=True)),
        estimate_s=float(g.estimated_duration_s), gang=g.gang, node_labels=g.node_labels, nodes=g.nodes, racks=g.racks,
        strict=not g.relax, after=tuple(g.after), retries=g.retries, fails=fails, partition=partition,
        parallelism=min(g.parallelism, len(run_s)), timeout_s=timeout_s,
        placement=g.placement or ("spread" if kind == "service" else None),  # as leaders have it
    )  # fmt: skip


def _after(group: SubmittedGroup, names: set[str]) -> SubmittedGroup:
    """Without what is over already."""
    kept = tuple(name for name in group.after if name in names)
    return group if kept == group.after else replace(group, after=kept)
