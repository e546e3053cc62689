"""Admission: which of the jobs that wait may begin, and what keeps each of the others.

Each leaf queue has a line, in its own ordering. Among leaves the one with the
fewest running jobs is served first. A job is admitted when every limit it
meets has room for it; whoever is admitted stays so, whatever limits become.

Limits are of two kinds. Numbers of jobs (of a queue with all below it, of a
user in a leaf) keep everyone alike behind them. Amounts (what gangs need at
once, what application masters hold) keep only who asks for them; smaller ones
behind may pass, but not for ever: after ``max_passed`` of them, or
``max_wait_s``, what a job lacks is held for it.
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
    HELD = 4  # what is left is held for a job that has waited longer
    LATER = 5  # enough for this time; its turn comes with the next decision


@dataclass(frozen=True, slots=True)
class Waiting:
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
class Rules:
    batch: int = 1000  # admitted in one decision
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


def in_line(w: Waiting, ordering: np.ndarray) -> np.ndarray:
    """All positions, leaf by leaf, each in its leaf's ordering: (n,) int64."""
    rank = np.where(ordering[w.leaf] == Ordering.PRIORITY, -w.priority.astype(np.int64), 0)
    return np.lexsort((w.order, rank, w.leaf))


def decide(w: Waiting, limits: AdmissionLimits, rules: Rules, now: float) -> AdmissionDecision:
    """Admit what the limits allow. ``now``: s, on the clock of ``since``."""
    line = in_line(w, limits.ordering)
    state = _State(w, limits, rules, now)
    for of_leaf in np.split(line, np.flatnonzero(np.diff(w.leaf[line])) + 1) if len(line) else ():
        state.enter(of_leaf)
    state.serve()
    return state.decision(line)


@dataclass(slots=True)
class _Line:
    """What may still be admitted of a leaf. ``late``: index after the last job that has waited too long."""

    chain: list[int]  # the leaf and its ancestors, upwards
    jobs: np.ndarray
    late: int = 0
    at: int = 0


@dataclass(slots=True)
class _Hold:
    """What of a queue is held for jobs of a leaf. rank, order: (d,) int64, the least of theirs, or ``_NOBODY``."""

    rank: np.ndarray
    order: np.ndarray


@dataclass(slots=True)
class _State:
    w: Waiting
    limits: AdmissionLimits
    rules: Rules
    now: float
    why: np.ndarray = field(init=False)
    queue: np.ndarray = field(init=False)
    column: np.ndarray = field(init=False)
    rank: np.ndarray = field(init=False)
    overdue: np.ndarray = field(init=False)  # asks for amounts and has waited too long
    jobs: np.ndarray = field(init=False)
    user_jobs: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)
    asks: np.ndarray = field(init=False)
    admitted: list[int] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)
    chains: dict[int, list[int]] = field(default_factory=dict)
    holds: dict[int, dict[int, _Hold]] = field(default_factory=dict)  # queue -> leaf -> its hold

    def __post_init__(self) -> None:
        w, n = self.w, len(self.w.leaf)
        self.why, self.queue = np.full(n, AdmissionWhy.LATER, np.int8), w.leaf.astype(np.int32)
        self.column, self.rank = np.full(n, -1, np.int32), np.zeros(n, np.int64)
        self.asks = np.asarray(w.demand.any(axis=1))
        waited = (w.passed >= self.rules.max_passed) | (self.now - w.since >= self.rules.max_wait_s)
        self.overdue = np.asarray(waited & self.asks)
        self.jobs, self.user_jobs = self.limits.jobs.copy(), self.limits.user_jobs.copy()
        self.held = self.limits.held.copy()

    def enter(self, line: np.ndarray) -> None:
        """Sort out of a leaf's line what no admission of this decision can help: limits only get tighter."""
        leaf = int(self.w.leaf[line[0]])
        chain = self.chains[leaf] = upwards(self.limits.parent, leaf)
        self.rank[line] = np.arange(len(line))
        full = self._full(chain)
        if full >= 0:
            self.why[line], self.queue[line] = AdmissionWhy.QUEUE_JOBS, full
            return
        over = self._user_full(line)
        self.why[line[over]] = AdmissionWhy.USER_JOBS
        line = line[~over]
        line = line[~self._lacking(chain, line)]
        if len(line):
            late = np.flatnonzero(self.overdue[line])
            self.lines.append(_Line(chain, line, int(late[-1]) + 1 if len(late) else 0))

    def _full(self, chain: list[int]) -> int:
        """The first queue upwards that runs as many jobs as it may; -1 without one."""
        return next((q for q in chain if self.jobs[q] >= self.limits.most_jobs[q]), -1)

    def _lacking(self, chain: list[int], line: np.ndarray) -> np.ndarray:
        """Which of the line ask for more than is left; those that waited too long make what is left be held."""
        lacking = np.zeros(len(line), np.bool_)
        asking = np.flatnonzero(self.asks[line])
        for q in chain:
            if not len(asking):
                break
            over = self._over(line[asking], q)
            short = over.any(axis=1)
            self._lacks(line[asking[short]], q, over[short].argmax(axis=1))
            lacking[asking[short]] = True
            asking = asking[~short]
        return lacking

    def _over(self, jobs: np.ndarray, q: int) -> np.ndarray:
        """Of what these jobs ask for more than the queue has left: (k, d) bool."""
        demand = self.w.demand[jobs]
        over: np.ndarray = (demand > 0) & (demand > self.limits.most[q] - self.held[q])
        return over

    def _lacks(self, jobs: np.ndarray, q: int, column: np.ndarray) -> None:
        """These jobs of one leaf (in line order) ask for more than the queue has left."""
        self.why[jobs], self.queue[jobs], self.column[jobs] = AdmissionWhy.AMOUNT, q, column
        jobs = jobs[self.overdue[jobs]]
        if not len(jobs):
            return
        leaf = int(self.w.leaf[jobs[0]])
        never = (self.w.demand[jobs, None] > self.limits.most[self.chains[leaf]]).any(axis=(1, 2))
        jobs = jobs[~never]  # for what never fits nothing is held
        if not len(jobs):
            return
        asked = self.w.demand[jobs] > 0
        rank, order = (np.where(asked, x[jobs, None], _NOBODY).min(axis=0) for x in (self.rank, self.w.order))
        known = self.holds.setdefault(q, {}).setdefault(leaf, _Hold(rank, order))
        known.rank, known.order = np.minimum(known.rank, rank), np.minimum(known.order, order)

    def serve(self) -> None:
        """Admit job by job: first lines in which somebody waited too long, then the leaf with the fewest jobs."""
        heap = [self._turn(number) for number in range(len(self.lines))]
        heapq.heapify(heap)
        while heap and len(self.admitted) < self.rules.batch:
            number = heapq.heappop(heap)[-1]
            if self._serve_one(self.lines[number]):
                heapq.heappush(heap, self._turn(number))

    def _turn(self, number: int) -> tuple[bool, int, int, int]:
        line = self.lines[number]
        return line.at >= line.late, int(self.jobs[line.chain[0]]), int(self.w.order[line.jobs[line.at]]), number

    def _serve_one(self, line: _Line) -> bool:
        """Admit the next of the line that may be; whether there is more to look at."""
        full = self._full(line.chain)
        if full >= 0:
            rest = line.jobs[line.at :]
            self.why[rest], self.queue[rest] = AdmissionWhy.QUEUE_JOBS, full
            return False
        while line.at < len(line.jobs):
            i = int(line.jobs[line.at])
            line.at += 1
            if self._may(i, line.chain):
                self._admit(i, line.chain)
                return line.at < len(line.jobs)
            self._skip(line)
        return False

    def _skip(self, line: _Line) -> None:
        """Pass those next in line that may not be admitted, ever more at once: what bars them does not go away."""
        size = _BLOCK
        while line.at < len(line.jobs):
            block = line.jobs[line.at : line.at + size]
            others = np.flatnonzero(~self._barred(block, line.chain))
            barred = block[: others[0]] if len(others) else block
            self._bar(barred, line.chain)
            line.at += len(barred)
            if len(others):
                return
            size *= 2

    def _may(self, i: int, chain: list[int]) -> bool:
        if not self.asks[i] and self.user_jobs[self.w.user[i]] < self.limits.most_user_jobs[self.w.user[i]]:
            return True
        job = np.array([i])
        barred = bool(self._barred(job, chain)[0])
        if barred:
            self._bar(job, chain)
        return not barred

    def _barred(self, jobs: np.ndarray, chain: list[int]) -> np.ndarray:
        """Which of these jobs of one leaf a limit bars, or what is held for others already: (k,) bool."""
        found = self._user_full(jobs)
        for q in chain:
            found |= self._over(jobs, q).any(axis=1)
            for leaf, hold in self.holds.get(q, {}).items():
                found |= self._held_before(jobs, leaf, hold).any(axis=1)
        return found

    def _bar(self, jobs: np.ndarray, chain: list[int]) -> None:
        """Take down what bars these jobs of one leaf, in line order."""
        over = self._user_full(jobs)
        self.why[jobs[over]] = AdmissionWhy.USER_JOBS
        jobs = jobs[~over]
        jobs = jobs[~self._lacking(chain, jobs)]
        for q in chain:
            for leaf, hold in self.holds.get(q, {}).items():
                shared = self._held_before(jobs, leaf, hold)
                held = shared.any(axis=1)
                self.why[jobs[held]], self.queue[jobs[held]] = AdmissionWhy.HELD, q
                self.column[jobs[held]] = shared[held].argmax(axis=1)
                jobs = jobs[~held]

    def _user_full(self, jobs: np.ndarray) -> np.ndarray:
        """Which of these jobs have a user who runs as many in their leaf as one may: (k,) bool."""
        user = self.w.user[jobs]
        full: np.ndarray = self.user_jobs[user] >= self.limits.most_user_jobs[user]
        return full

    def _held_before(self, jobs: np.ndarray, leaf: int, hold: _Hold) -> np.ndarray:
        """What these jobs of one leaf ask for and is held for jobs of ``leaf`` before them: (k, d) bool."""
        same = len(jobs) > 0 and leaf == self.w.leaf[jobs[0]]
        before = self.rank[jobs, None] > hold.rank if same else self.w.order[jobs, None] > hold.order
        found: np.ndarray = before & (self.w.demand[jobs] > 0)
        return found

    def _admit(self, i: int, chain: list[int]) -> None:
        self.why[i] = AdmissionWhy.ADMITTED
        self.admitted.append(i)
        self.user_jobs[self.w.user[i]] += 1
        for q in chain:
            self.jobs[q] += 1
        if self.asks[i]:
            for q in chain:
                self.held[q] += self.w.demand[i]

    def decision(self, line: np.ndarray) -> AdmissionDecision:
        w, limits = self.w, self.limits
        now, most = self.jobs[self.queue], limits.most_jobs[self.queue]
        user = w.user[self.why == AdmissionWhy.USER_JOBS]
        now[self.why == AdmissionWhy.USER_JOBS] = self.user_jobs[user]
        most[self.why == AdmissionWhy.USER_JOBS] = limits.most_user_jobs[user]
        amount = np.flatnonzero(self.column >= 0)
        at = self.queue[amount], self.column[amount]
        now[amount], most[amount] = self.held[at], limits.most[at]
        ahead = np.zeros(len(line), np.int64)
        waits = (self.why[line] != AdmissionWhy.ADMITTED).astype(np.int64)
        before = np.cumsum(waits) - waits
        first = np.r_[True, np.diff(w.leaf[line]) != 0] if len(line) else np.empty(0, np.bool_)
        ahead[line] = before - np.maximum.accumulate(np.where(first, before, 0))
        admitted = np.array(self.admitted, np.int64)
        passed = w.passed + self._passed(admitted)
        return AdmissionDecision(admitted, self.why, self.queue, self.column, now, most, ahead, passed)

    def _passed(self, admitted: np.ndarray) -> np.ndarray:
        """By how many later ones, which took of what it lacks, each was passed: (n,) int64."""
        w = self.w
        passed = np.zeros(len(w.leaf), np.int64)
        lacking = np.flatnonzero(self.why == AdmissionWhy.AMOUNT)
        takers = [i for i in admitted.tolist() if self.asks[i]]
        for q in np.unique(self.queue[lacking]).tolist() if takers else ():
            below = [i for i in takers if q in self.chains[int(w.leaf[i])]]
            orders = np.sort(w.order[below])
            mine = lacking[self.queue[lacking] == q]
            passed[mine] = len(orders) - np.searchsorted(orders, w.order[mine])
        return passed
