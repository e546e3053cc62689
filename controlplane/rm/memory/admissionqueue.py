"""Jobs that wait for admission, and how many of those admitted count against a limit."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.claims import Claimed, Counts, Key
from controlplane.rm.memory import quota
from controlplane.rm.memory.queues import UNLIMITED, QueueTree
from controlplane.rm.memory.table import Table, column
from scheduler.lifecycle.admission import AdmissionLimits, WaitingJobs
from wire.resources import AXES
from wire.states import JobState

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import JobEntry
    from controlplane.rm.memory.memory import Memory

R = len(AXES)
UNREPORTED = -1
_At = tuple[int, int]  # queue position, owner; owner 0: the queue with all below it; below 0: an amount, see ``quota``


class AdmissionQueue(Table):
    """A row per waiting job, free where ``jobs`` has None, and counts of admitted ones under one policy.

    limited: queue position -> those of it and its ancestors that limit jobs;
    only where any does, or where users are limited. own: admitted jobs of this
    sub-cluster. elsewhere: those of all others, as last heard. running: (q,)
    int64, own of the queue itself. gangs: (q, p * R) int64, what admitted gangs
    of the queue itself may need at once, by partition and resource. masters:
    likewise, what application masters of admitted jobs hold; am_limited: queues
    that they, or their ancestors, leave only a share to. gac: amounts are
    claimed from quotas (q, p * R) of the whole federation, which ``own`` and
    ``elsewhere`` count, too. patience: by how many jobs that waited already
    were passed.
    """

    leaf: np.ndarray = column(np.int64)
    owner: np.ndarray = column(np.int64)
    priority: np.ndarray = column(np.int64)
    order: np.ndarray = column(np.int64)
    since: np.ndarray = column(np.float64)
    passed: np.ndarray = column(np.int64)
    reported: np.ndarray = column(np.int64, fill=UNREPORTED)
    demand: np.ndarray = column(np.int64)  # (n, 3 * p * R): of gangs, of masters, claimed from quotas

    def __init__(self, queues: QueueTree, partitions: int, patience: dict[int, int]):
        self.queues, self._patience = queues, patience
        self.amounts = partitions * R
        self.jobs: list[JobEntry | None] = []
        super().__init__(demand=(3 * self.amounts,))
        self.limited = _limited(queues)
        self.own: defaultdict[_At, int] = defaultdict(int)
        self.elsewhere: dict[_At, int] = {}
        self.counted_us = 0  # when ``elsewhere`` was asked for
        self.running = np.zeros(len(queues.paths), np.int64)
        self.gangs = np.zeros((len(queues.paths), self.amounts), np.int64)
        self.masters = np.zeros((len(queues.paths), self.amounts), np.int64)
        self.am_limited = _am_limited(queues)
        self.gac = queues.components.admission.policy == "gac"
        self.quotas = np.zeros((len(queues.paths), self.amounts), np.int64)
        self._counted: set[int] = set()  # jobs in the counts
        self.recount = bool(self.limited) or self.gac  # others do not know all of ``own`` yet
        self.changed = True  # somebody may be admitted who was not
        self.next_us = 0  # when to look again anyway
        self.report_us = 0
        self._touched: set[_At] = set()
        self._written: dict[_At, int] = {}

    def _grow(self, size: int) -> None:
        self.jobs += [None] * (size - self.size)
        super()._grow(size)

    def patience(self) -> dict[int, int]:
        """By how many each waiting job was passed."""
        return {job.id: int(self.passed[job.waiting_row]) for job in self.jobs if job is not None}

    def enter(self, job: JobEntry, known: bool = False) -> None:
        """A job came, with its queue and its groups' partitions; it counts, or waits if a limit may concern it.

        known: it waited before, and there may have been limits then.
        """
        if job.run.state != JobState.SUBMITTED:
            self._count(job, 1)
        elif known or self._gathers(job) or self._is_am_limited(job) or self._limited(job):
            self._wait(job)

    def _limited(self, job: JobEntry) -> bool:
        return job.queue_row in self.limited or (self.gac and (job.gang or job.declares))

    def _gathers(self, job: JobEntry) -> bool:
        """Whether it waits here until its queue may hold its gangs. A queue that backfills promises them a start."""
        rules = self.queues.backfill
        return job.gang and (rules is None or not rules[job.queue_row])

    def _is_am_limited(self, job: JobEntry) -> bool:
        return job.application is not None and bool(self.am_limited[job.queue_row])

    def _wait(self, job: JobEntry) -> None:
        at = job.waiting_row = self.take()
        self.jobs[at] = job
        self.leaf[at], self.owner[at], self.priority[at] = job.queue_row, job.owner, job.priority
        self.order[at], self.since[at] = job.id, job.submitted_us / 1e6
        self.passed[at] = self._patience.pop(job.id, 0)
        self.demand[at] = np.concatenate((
            self._gangs(job), quota.master_demand(job, self.amounts), self._claim(job),
        ))  # fmt: skip
        self.changed = True

    def _gangs(self, job: JobEntry) -> np.ndarray:
        """What the job's gangs may need at once, if that matters here: (amounts,) int64."""
        return quota.demand(job, self.amounts) if self._gathers(job) else np.zeros(self.amounts, np.int64)

    def reorder(self, job: JobEntry) -> None:
        """The job's priority is another one."""
        if job.waiting_row >= 0:
            self.priority[job.waiting_row], self.changed = job.priority, True

    def admit(self, job: JobEntry) -> None:
        """The job waits no more; it counts."""
        self._drop(job)
        self._count(job, 1)

    def leave(self, job: JobEntry) -> None:
        """The job has ended."""
        if job.waiting_row >= 0:
            self._drop(job)
        else:
            self._count(job, -1)

    def _drop(self, job: JobEntry) -> None:
        self.jobs[job.waiting_row], self.order[job.waiting_row] = None, 0
        self.give_back([job.waiting_row])
        job.waiting_row = -1

    def _count(self, job: JobEntry, by: int) -> None:
        """Enter the job into the counts, or take it out; one at home elsewhere is counted there."""
        if (by > 0 and job.home) or (by < 0 and job.id not in self._counted):
            return
        (self._counted.add if by > 0 else self._counted.discard)(job.id)
        for at, need in self.needs(job).items():
            self.own[at] += by * need
            self._touched.add(at)
        if job.queue_row in self.limited:
            self.running[job.queue_row] += by
            self.changed |= by < 0
        if self._gathers(job):
            self.gangs[job.queue_row] += by * self._gangs(job)
        if self._is_am_limited(job):
            self.masters[job.queue_row] += by * quota.master_demand(job, self.amounts)
        self.changed |= by < 0 and (job.gang or job.declares or self._is_am_limited(job))

    def _claim(self, job: JobEntry) -> np.ndarray:
        """What the job claims from quotas: (amounts,) int64."""
        if not (self.gac and (job.gang or job.declares)):
            return np.zeros(self.amounts, np.int64)
        return quota.demand(job, self.amounts, quota=True)

    def needs(self, job: JobEntry, row: int | None = None) -> dict[_At, int]:
        """Every limit of the whole federation that concerns the job, and what it takes of each. row: if moved."""
        row = job.queue_row if row is None else row
        found = dict.fromkeys(self._keys(row, job.owner), 1)
        if not (self.gac and (job.gang or job.declares)):
            return found
        needed = self._claim(job)
        for at in quota.amount_keys(self.queues, row, needed):
            found[at] = int(needed[-1 - at[1]])
        return found

    def _keys(self, row: int, owner: int) -> list[_At]:
        found = [(q, 0) for q in self.limited.get(row, ())]
        if self.queues.max_running_jobs_per_user[row] < UNLIMITED:
            found.append((row, owner))
        return found

    def most(self, at: _At) -> int:
        if at[1] < 0:
            return int(self.quotas[at[0], -1 - at[1]])
        limits = self.queues.max_running_jobs_per_user if at[1] else self.queues.max_running_jobs
        return int(limits[at[0]])

    def key(self, at: _At) -> Key:
        if at[1] < 0:
            return quota.ledger_key(self.queues, at)
        return self.queues.paths[at[0]], at[1]

    def due_us(self, now_us: int) -> float:
        """When a decision is due; never while nobody waits and nothing has to be written."""
        if not (len(self) or self.recount):
            return np.inf
        return now_us if self.changed or self.recount else self.next_us

    def take_claimed(self, at: _At, claimed: Claimed) -> None:
        """What others run, and the own count that now stands in the StateStore."""
        self.elsewhere[at], self._written[at] = claimed
        self._touched.add(at)

    def counts(self) -> Counts | None:
        """What the StateStore does not know yet of the own counts; None when it knows all. Told once."""
        if not (self._touched or self.recount):
            return None
        touched, self._touched = set(self.own) if self.recount else self._touched, set()
        news = {at: self.own[at] for at in touched if self.own[at] != self._written.get(at, 0)}
        self._written |= news
        for at in touched:
            if not self.own[at]:  # users come and go
                del self.own[at]
                self._written.pop(at, None)
        version = self.queues.version if self.recount else None
        reported, self.recount = bool(news) or self.recount, False
        return Counts({self.key(at): n for at, n in news.items()}, version) if reported else None

    def rows(self) -> np.ndarray:
        """Of the jobs that wait: (n,) int64."""
        return np.flatnonzero(self.order)

    def waiting_users(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Leaf (u,) and owner (u,) of the users that wait, and which of them each row's is (n,)."""
        pairs, user = np.unique(np.stack((self.leaf[rows], self.owner[rows])), axis=1, return_inverse=True)
        return pairs[0], pairs[1], user.reshape(-1).astype(np.int32)

    def contended(self, rows: np.ndarray) -> list[_At]:
        """Every limit of the whole federation that these rows meet."""
        leaves, owners, _ = self.waiting_users(rows)
        found = dict.fromkeys(at for pair in zip(leaves.tolist(), owners.tolist(), strict=True)
                              for at in self._keys(*pair))  # fmt: skip
        for leaf in leaves.tolist() if self.gac else ():
            needed = self.demand[rows[self.leaf[rows] == leaf], 2 * self.amounts :].max(axis=0)
            found |= dict.fromkeys(quota.amount_keys(self.queues, leaf, needed))
        return list(found)

    def arrays(self, m: Memory, rows: np.ndarray) -> tuple[WaitingJobs, AdmissionLimits]:
        """What a decision sees. Amounts: what gangs need at once, what application masters hold.

        With gang admission control also what is claimed from quotas.
        """
        q, (leaves, owners, user) = self.queues, self.waiting_users(rows)
        demand = self.demand[rows, : (3 if self.gac else 2) * self.amounts]
        w = WaitingJobs(
            self.leaf[rows].astype(np.int32), user, self.priority[rows].astype(np.int32), self.order[rows],
            self.since[rows], self.passed[rows], demand,
        )  # fmt: skip
        jobs = self.running.copy()
        for at in {at for row in set(leaves.tolist()) for at in self.limited.get(row, ())}:
            jobs[at] = self._all((at, 0))
        of_user = [self._all(at) for at in zip(leaves.tolist(), owners.tolist(), strict=True)]
        maximum = _maxima(m) if demand.any() else np.zeros_like(self.gangs)
        share = q.max_am_share[:, None]
        masters = np.where(share < 1, np.floor(maximum * share + 1e-6).astype(np.int64), UNLIMITED)
        held, most = [q.hierarchy.subtree_sums(self.gangs), q.hierarchy.subtree_sums(self.masters)], [maximum, masters]
        if self.gac:
            self.quotas = quota.quotas(m)
            held.append(self._claimed())
            most.append(self.quotas)
        return w, AdmissionLimits(
            q.parent, q.ordering, jobs, q.max_running_jobs, np.array(of_user, np.int64),
            q.max_running_jobs_per_user[leaves], np.concatenate(held, axis=1),
            np.concatenate(most, axis=1),
        )  # fmt: skip

    def _claimed(self) -> np.ndarray:
        """Amounts that jobs hold in the whole federation: (q, amounts) int64."""
        found = np.zeros_like(self.gangs)
        for at in {at for at in (*self.own, *self.elsewhere) if at[1] < 0}:
            found[at[0], -1 - at[1]] = self._all(at)
        return found

    def _all(self, at: _At) -> int:
        return self.own.get(at, 0) + self.elsewhere.get(at, 0)


def _limited(queues: QueueTree) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    users = queues.max_running_jobs_per_user < UNLIMITED
    for row, (up, most) in enumerate(zip(queues.parent.tolist(), queues.max_running_jobs.tolist(), strict=True)):
        chain = ((row,) if most < UNLIMITED else ()) + found.get(up, ())
        if chain or users[row]:
            found[row] = chain
    return found


def _am_limited(queues: QueueTree) -> np.ndarray:
    """Queues in which application masters may hold only a share, theirs or an ancestor's: (q,) bool."""
    return queues.hierarchy.path_combined(queues.max_am_share < 1, np.logical_or)


def _maxima(m: Memory) -> np.ndarray:
    """What each queue may hold in this sub-cluster: (q, p * R) int64."""
    found = []
    for partition, name in enumerate(m.partitions):
        nodes, own = m.nodes_of(partition)
        found.append(m.queues.view(name, m.capacity(nodes[own]), m.ledger.queues[partition]).maximum)
    return np.concatenate(found, axis=1)
