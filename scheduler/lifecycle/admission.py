"""Admission: which of the jobs that wait may begin, and what keeps each of the others.

Each leaf queue has its jobs in its own ordering. Among leaves the one with the
fewest running jobs is served first. A job is admitted when every limit it
meets has room for it; whoever is admitted stays so, whatever limits become.

Limits are of two kinds. Numbers of jobs (of a queue with all below it, of a
user in a leaf) keep everyone alike behind them. Amounts (what gangs need at
once, what application masters hold) keep only who asks for them; smaller ones
behind may pass, but not for ever: after ``max_passed`` of them, or
``max_wait_s``, what a job lacks is earmarked for it.

Cost: a sort of n waiting jobs, and for each that is admitted the queues above it; jobs that may not be are passed in
blocks that double.
"""

import heapq
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from scheduler.core.snapshot import Ordering
from scheduler.shares.tree import upwards

_BLOCK = 16  # jobs that are looked at together once one may not be admitted; then twice as many, and so on
_NOBODY = np.iinfo(np.int64).max


class AdmissionWhy(IntEnum):
    """What keeps a job from being admitted."""

    ADMITTED = 0
    QUEUE_JOBS = 1  # the queue, or one above it, runs as many jobs as it may
    USER_JOBS = 2  # its user runs as many jobs in this leaf as one may
    AMOUNT = 3  # it asks for more of a column than the queue has left
    EARMARKED = 4  # what is left is earmarked for a job that has waited longer
    DECISION_FULL = 5  # enough for this time; its turn comes with the next decision


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """n jobs that wait, in any order.

    leaf: (n,) int32 queue. user: (n,) int32, numbered over pairs of leaf and
    user. priority: (n,) int32. order: (n,) int64 of submission, no two alike.
    since: (n,) float64 s. passed: (n,) int64, by how many it was passed so
    far. demand: (n, d) int64, columns of amounts.
    """

    leaf: np.ndarray
    user: np.ndarray
    priority: np.ndarray
    order: np.ndarray
    since: np.ndarray
    passed: np.ndarray
    demand: np.ndarray


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """q queues, parents first, and u pairs of leaf and user, with what they run and may run.

    parent: (q,) int32, -1 at the root. ordering: (q,) int8. jobs, most_jobs:
    (q,) int64, of the whole subtree. user_jobs, most_user_jobs: (u,) int64.
    held, most: (q, d) int64 amounts, of the whole subtree. What is over its
    limit already admits nothing more.
    """

    parent: np.ndarray
    ordering: np.ndarray
    jobs: np.ndarray
    most_jobs: np.ndarray
    user_jobs: np.ndarray
    most_user_jobs: np.ndarray
    held: np.ndarray
    most: np.ndarray


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """How many jobs one decision admits, and after what a job that is passed by others has them wait."""

    batch: int = 1000
    max_passed: int = 100
    max_wait_s: float = 600.0


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """What became of n waiting jobs.

    admitted: (k,) int64 positions, in that order. Of each of the n: why int8;
    queue int32, whose limit; column int32, which amount, or -1; now, most
    int64, that limit after this decision; ahead int64, how many wait before it
    in its leaf; passed int64, the new count.
    """

    admitted: np.ndarray
    why: np.ndarray
    queue: np.ndarray
    column: np.ndarray
    now: np.ndarray
    most: np.ndarray
    ahead: np.ndarray
    passed: np.ndarray


def waiting_order(waiting: WaitingJobs, ordering: np.ndarray) -> np.ndarray:
    """All positions, leaf by leaf, each in its leaf's ordering: (n,) int64."""
    rank = np.where(ordering[waiting.leaf] == Ordering.PRIORITY, -waiting.priority.astype(np.int64), 0)
    return np.lexsort((waiting.order, rank, waiting.leaf))


def decide(waiting: WaitingJobs, limits: AdmissionLimits, rules: AdmissionRules, now: float) -> AdmissionDecision:
    """Admit what the limits allow. ``now``: s, on the clock of ``since``."""
    ordered = waiting_order(waiting, limits.ordering)
    state = _AdmissionState(waiting, limits, rules, now)
    for of_leaf in np.split(ordered, np.flatnonzero(np.diff(waiting.leaf[ordered])) + 1) if len(ordered) else ():
        state.enter(of_leaf)
    state.admit_in_turn()
    return state.decision(ordered)


@dataclass(slots=True)
class _LeafQueue:
    """What may still be admitted of a leaf, in its ordering.

    position: of the next to look at. overdue_end: after the last job that has waited too long.
    """

    chain: list[int]  # the leaf and its ancestors, upwards
    jobs: np.ndarray
    overdue_end: int = 0
    position: int = 0


@dataclass(slots=True)
class _Earmark:
    """What of a queue is earmarked for jobs of a leaf. rank, order: (d,) int64, the least of theirs, or ``_NOBODY``."""

    rank: np.ndarray
    order: np.ndarray


@dataclass(slots=True)
class _AdmissionState:
    waiting: WaitingJobs
    limits: AdmissionLimits
    rules: AdmissionRules
    now: float
    why: np.ndarray = field(init=False)
    queue: np.ndarray = field(init=False)
    column: np.ndarray = field(init=False)
    rank: np.ndarray = field(init=False)
    overdue: np.ndarray = field(init=False)  # asks for amounts and has waited too long
    jobs: np.ndarray = field(init=False)
    user_jobs: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)
    wants_amounts: np.ndarray = field(init=False)
    admitted: list[int] = field(default_factory=list)
    leaf_queues: list[_LeafQueue] = field(default_factory=list)
    chains: dict[int, list[int]] = field(default_factory=dict)
    earmarks: dict[int, dict[int, _Earmark]] = field(default_factory=dict)  # queue -> leaf -> its earmark

    def __post_init__(self) -> None:
        waiting, n = self.waiting, len(self.waiting.leaf)
        self.why, self.queue = np.full(n, AdmissionWhy.DECISION_FULL, np.int8), waiting.leaf.astype(np.int32)
        self.column, self.rank = np.full(n, -1, np.int32), np.zeros(n, np.int64)
        self.wants_amounts = np.asarray(waiting.demand.any(axis=1))
        waited = (waiting.passed >= self.rules.max_passed) | (self.now - waiting.since >= self.rules.max_wait_s)
        self.overdue = np.asarray(waited & self.wants_amounts)
        self.jobs, self.user_jobs = self.limits.jobs.copy(), self.limits.user_jobs.copy()
        self.held = self.limits.held.copy()

    def enter(self, ordered: np.ndarray) -> None:
        """Sort out of a leaf's jobs what no admission of this decision can help: limits only get tighter."""
        leaf = int(self.waiting.leaf[ordered[0]])
        chain = self.chains[leaf] = upwards(self.limits.parent, leaf)
        self.rank[ordered] = np.arange(len(ordered))
        full = self._full(chain)
        if full >= 0:
            self.why[ordered], self.queue[ordered] = AdmissionWhy.QUEUE_JOBS, full
            return
        over = self._user_full(ordered)
        self.why[ordered[over]] = AdmissionWhy.USER_JOBS
        ordered = ordered[~over]
        ordered = ordered[~self._lacks_amounts(chain, ordered)]
        if len(ordered):
            overdue = np.flatnonzero(self.overdue[ordered])
            self.leaf_queues.append(_LeafQueue(chain, ordered, int(overdue[-1]) + 1 if len(overdue) else 0))

    def _full(self, chain: list[int]) -> int:
        """The first queue upwards that runs as many jobs as it may; -1 without one."""
        return next((q for q in chain if self.jobs[q] >= self.limits.most_jobs[q]), -1)

    def _lacks_amounts(self, chain: list[int], ordered: np.ndarray) -> np.ndarray:
        """Which of these ask for more than is left; for those that waited too long what is left is earmarked."""
        lacking = np.zeros(len(ordered), np.bool_)
        asking = np.flatnonzero(self.wants_amounts[ordered])
        for q in chain:
            if not len(asking):
                break
            over = self._over_amounts(ordered[asking], q)
            short = over.any(axis=1)
            self._bar_by_amount(ordered[asking[short]], q, over[short].argmax(axis=1))
            lacking[asking[short]] = True
            asking = asking[~short]
        return lacking

    def _over_amounts(self, jobs: np.ndarray, q: int) -> np.ndarray:
        """Of what these jobs ask for more than the queue has left: (k, d) bool."""
        demand = self.waiting.demand[jobs]
        over: np.ndarray = (demand > 0) & (demand > self.limits.most[q] - self.held[q])
        return over

    def _bar_by_amount(self, jobs: np.ndarray, q: int, column: np.ndarray) -> None:
        """These jobs of one leaf (in its ordering) ask for more than the queue has left."""
        self.why[jobs], self.queue[jobs], self.column[jobs] = AdmissionWhy.AMOUNT, q, column
        jobs = jobs[self.overdue[jobs]]
        if not len(jobs):
            return
        leaf = int(self.waiting.leaf[jobs[0]])
        never = (self.waiting.demand[jobs, None] > self.limits.most[self.chains[leaf]]).any(axis=(1, 2))
        jobs = jobs[~never]  # for what never fits nothing is earmarked
        if not len(jobs):
            return
        asked = self.waiting.demand[jobs] > 0
        rank, order = (np.where(asked, x[jobs, None], _NOBODY).min(axis=0) for x in (self.rank, self.waiting.order))
        known = self.earmarks.setdefault(q, {}).setdefault(leaf, _Earmark(rank, order))
        known.rank, known.order = np.minimum(known.rank, rank), np.minimum(known.order, order)

    def admit_in_turn(self) -> None:
        """Admit job by job: first leaves in which somebody waited too long, then the leaf with the fewest jobs."""
        heap = [self._turn(number) for number in range(len(self.leaf_queues))]
        heapq.heapify(heap)
        while heap and len(self.admitted) < self.rules.batch:
            number = heapq.heappop(heap)[-1]
            if self._admit_next(self.leaf_queues[number]):
                heapq.heappush(heap, self._turn(number))

    def _turn(self, number: int) -> tuple[bool, int, int, int]:
        leaf_queue = self.leaf_queues[number]
        none_overdue = leaf_queue.position >= leaf_queue.overdue_end
        running, first = self.jobs[leaf_queue.chain[0]], leaf_queue.jobs[leaf_queue.position]
        return none_overdue, int(running), int(self.waiting.order[first]), number

    def _admit_next(self, leaf_queue: _LeafQueue) -> bool:
        """Admit the next of a leaf that may be; whether there is more to look at."""
        full = self._full(leaf_queue.chain)
        if full >= 0:
            rest = leaf_queue.jobs[leaf_queue.position :]
            self.why[rest], self.queue[rest] = AdmissionWhy.QUEUE_JOBS, full
            return False
        while leaf_queue.position < len(leaf_queue.jobs):
            i = int(leaf_queue.jobs[leaf_queue.position])
            leaf_queue.position += 1
            if self._may(i, leaf_queue.chain):
                self._admit(i, leaf_queue.chain)
                return leaf_queue.position < len(leaf_queue.jobs)
            self._skip_barred(leaf_queue)
        return False

    def _skip_barred(self, leaf_queue: _LeafQueue) -> None:
        """Pass those that come next and may not be admitted, ever more at once: what bars them does not go away."""
        size = _BLOCK
        while leaf_queue.position < len(leaf_queue.jobs):
            block = leaf_queue.jobs[leaf_queue.position : leaf_queue.position + size]
            others = np.flatnonzero(~self._barred(block, leaf_queue.chain))
            barred = block[: others[0]] if len(others) else block
            self._bar(barred, leaf_queue.chain)
            leaf_queue.position += len(barred)
            if len(others):
                return
            size *= 2

    def _may(self, i: int, chain: list[int]) -> bool:
        if (
            not self.wants_amounts[i]
            and self.user_jobs[self.waiting.user[i]] < self.limits.most_user_jobs[self.waiting.user[i]]
        ):
            return True
        job = np.array([i])
        barred = bool(self._barred(job, chain)[0])
        if barred:
            self._bar(job, chain)
        return not barred

    def _barred(self, jobs: np.ndarray, chain: list[int]) -> np.ndarray:
        """Which of these jobs of one leaf a limit bars, or what is earmarked for others already: (k,) bool."""
        found = self._user_full(jobs)
        for q in chain:
            found |= self._over_amounts(jobs, q).any(axis=1)
            for leaf, earmark in self.earmarks.get(q, {}).items():
                found |= self._earmarked_before(jobs, leaf, earmark).any(axis=1)
        return found

    def _bar(self, jobs: np.ndarray, chain: list[int]) -> None:
        """Take down what bars these jobs of one leaf, in its ordering."""
        over = self._user_full(jobs)
        self.why[jobs[over]] = AdmissionWhy.USER_JOBS
        jobs = jobs[~over]
        jobs = jobs[~self._lacks_amounts(chain, jobs)]
        for q in chain:
            for leaf, earmark in self.earmarks.get(q, {}).items():
                shared = self._earmarked_before(jobs, leaf, earmark)
                held = shared.any(axis=1)
                self.why[jobs[held]], self.queue[jobs[held]] = AdmissionWhy.EARMARKED, q
                self.column[jobs[held]] = shared[held].argmax(axis=1)
                jobs = jobs[~held]

    def _user_full(self, jobs: np.ndarray) -> np.ndarray:
        """Which of these jobs have a user who runs as many in their leaf as one may: (k,) bool."""
        user = self.waiting.user[jobs]
        full: np.ndarray = self.user_jobs[user] >= self.limits.most_user_jobs[user]
        return full

    def _earmarked_before(self, jobs: np.ndarray, leaf: int, earmark: _Earmark) -> np.ndarray:
        """What these jobs of one leaf ask for and is earmarked for jobs of ``leaf`` before them: (k, d) bool."""
        same = len(jobs) > 0 and leaf == self.waiting.leaf[jobs[0]]
        before = self.rank[jobs, None] > earmark.rank if same else self.waiting.order[jobs, None] > earmark.order
        found: np.ndarray = before & (self.waiting.demand[jobs] > 0)
        return found

    def _admit(self, i: int, chain: list[int]) -> None:
        self.why[i] = AdmissionWhy.ADMITTED
        self.admitted.append(i)
        self.user_jobs[self.waiting.user[i]] += 1
        for q in chain:
            self.jobs[q] += 1
        if self.wants_amounts[i]:
            for q in chain:
                self.held[q] += self.waiting.demand[i]

    def decision(self, ordered: np.ndarray) -> AdmissionDecision:
        waiting, limits = self.waiting, self.limits
        now, most = self.jobs[self.queue], limits.most_jobs[self.queue]
        user = waiting.user[self.why == AdmissionWhy.USER_JOBS]
        now[self.why == AdmissionWhy.USER_JOBS] = self.user_jobs[user]
        most[self.why == AdmissionWhy.USER_JOBS] = limits.most_user_jobs[user]
        amount = np.flatnonzero(self.column >= 0)
        at = self.queue[amount], self.column[amount]
        now[amount], most[amount] = self.held[at], limits.most[at]
        ahead = np.zeros(len(ordered), np.int64)
        waits = (self.why[ordered] != AdmissionWhy.ADMITTED).astype(np.int64)
        before = np.cumsum(waits) - waits
        first = np.r_[True, np.diff(waiting.leaf[ordered]) != 0] if len(ordered) else np.empty(0, np.bool_)
        ahead[ordered] = before - np.maximum.accumulate(np.where(first, before, 0))
        admitted = np.array(self.admitted, np.int64)
        passed = waiting.passed + self._passed(admitted)
        return AdmissionDecision(admitted, self.why, self.queue, self.column, now, most, ahead, passed)

    def _passed(self, admitted: np.ndarray) -> np.ndarray:
        """By how many later ones, which took of what it lacks, each was passed: (n,) int64."""
        waiting = self.waiting
        passed = np.zeros(len(waiting.leaf), np.int64)
        lacking = np.flatnonzero(self.why == AdmissionWhy.AMOUNT)
        takers = [i for i in admitted.tolist() if self.wants_amounts[i]]
        for q in np.unique(self.queue[lacking]).tolist() if takers else ():
            below = [i for i in takers if q in self.chains[int(waiting.leaf[i])]]
            orders = np.sort(waiting.order[below])
            mine = lacking[self.queue[lacking] == q]
            passed[mine] = len(orders) - np.searchsorted(orders, waiting.order[mine])
        return passed
