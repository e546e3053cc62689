"""Admission against a slow reference that asks one job at a time, and what must hold whatever happens."""

import sys
import time
from dataclasses import dataclass, replace
from types import FrameType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.snapshot import Ordering
from scheduler.lifecycle.admission import (
    AdmissionDecision,
    AdmissionLimits,
    AdmissionRules,
    AdmissionWhy,
    WaitingJobs,
    decide,
)
from tests.examples import examples
from tests.limits import limit

NONE = np.iinfo(np.int64).max


@dataclass
class World:
    w: WaitingJobs
    limits: AdmissionLimits
    rules: AdmissionRules
    now: float = 100.0

    def decide(self) -> AdmissionDecision:
        return decide(self.w, self.limits, self.rules, self.now)

    def chain(self, q: int) -> list[int]:
        return [] if q < 0 else [q, *self.chain(int(self.limits.parent[q]))]

    @property
    def overdue(self) -> np.ndarray:
        waited = (self.w.passed >= self.rules.max_passed) | (self.now - self.w.since >= self.rules.max_wait_s)
        return self.w.demand.any(axis=1) & waited


@st.composite
def worlds(draw: st.DrawFn) -> World:
    q, d = draw(st.integers(2, 7)), 2
    parent = [-1] + [draw(st.integers(0, i - 1)) for i in range(1, q)]
    leaves = [i for i in range(q) if i not in parent]
    owners = [(leaf, owner) for leaf in leaves for owner in range(2)]
    n = draw(st.integers(0, 14))
    who = [draw(st.sampled_from(range(len(owners)))) for _ in range(n)]
    small = st.integers(0, 5)
    limit = st.one_of(st.just(NONE), small)

    def column(strategy: st.SearchStrategy[int], size: int, kind: type = np.int64) -> np.ndarray:
        return np.array([draw(strategy) for _ in range(size)], kind)

    demand = column(st.sampled_from([0, 0, 1, 2, 4]), n * d).reshape(n, d)
    w = WaitingJobs(
        np.array([owners[i][0] for i in who], np.int32),
        np.array(who, np.int32),
        column(st.integers(0, 2), n, np.int32),
        np.array(draw(st.permutations(range(n))), np.int64),
        column(st.sampled_from([0, 95]), n, np.float64),
        column(st.sampled_from([0, 0, 2, 3]), n),
        demand,
    )
    limits = AdmissionLimits(
        np.array(parent, np.int32),
        column(st.sampled_from([0, 1, 2]), q, np.int8),
        column(small, q),
        column(limit, q),
        column(small, len(owners)),
        column(limit, len(owners)),
        column(small, q * d).reshape(q, d),
        column(st.integers(0, 9), q * d).reshape(q, d),
    )
    rules = AdmissionRules(
        batch=draw(st.sampled_from([3, 1000])), max_passed=3, max_wait_s=draw(st.sampled_from([50.0, 1e9]))
    )
    return World(w, limits, rules)


class Reference:
    """Asks every waiting job in turn, from the start again after each admission."""

    def __init__(self, world: World):
        self.x, self.w, self.l = world, world.w, world.limits
        self.jobs, self.user = self.l.jobs.tolist(), self.l.user_jobs.tolist()
        self.held = self.l.held.tolist()
        self.admitted: list[int] = []
        self.overdue = world.overdue.tolist()
        self.holders = {i: self.holds(i) for i in self.waiting() if self.holds(i) >= 0}

    def key(self, i: int) -> tuple[int, int]:
        by_priority = self.l.ordering[self.w.leaf[i]] == Ordering.PRIORITY
        return (-int(self.w.priority[i]) if by_priority else 0, int(self.w.order[i]))

    def waiting(self, leaf: int | None = None) -> list[int]:
        found = [i for i in range(len(self.w.leaf)) if i not in self.admitted and leaf in (None, self.w.leaf[i])]
        return sorted(found, key=self.key)

    def lacks(self, i: int) -> int:
        """The first queue upwards of whose amounts job ``i`` asks for more than is left; -1 without one."""
        for q in self.x.chain(int(self.w.leaf[i])):
            for c in range(self.w.demand.shape[1]):
                if 0 < self.w.demand[i, c] > self.l.most[q, c] - self.held[q][c]:
                    return q
        return -1

    def by_numbers(self, i: int) -> bool:
        full = any(self.jobs[q] >= self.l.most_jobs[q] for q in self.x.chain(int(self.w.leaf[i])))
        return full or self.user[self.w.user[i]] >= self.l.most_user_jobs[self.w.user[i]]

    def holds(self, i: int) -> int:
        """The queue in which what job ``i`` lacks is held for it; -1 when nothing is."""
        ever = all((self.w.demand[i] <= self.l.most[q]).all() for q in self.x.chain(int(self.w.leaf[i])))
        return self.lacks(i) if self.overdue[i] and ever and not self.by_numbers(i) else -1

    def held_back(self, i: int) -> bool:
        for h, q in self.holders.items():
            same = self.w.leaf[h] == self.w.leaf[i]
            before = self.key(h) < self.key(i) if same else self.w.order[h] < self.w.order[i]
            shared = (self.w.demand[h] > 0) & (self.w.demand[i] > 0)
            if before and q in self.x.chain(int(self.w.leaf[i])) and shared.any():
                return True
        return False

    def may(self, i: int) -> bool:
        if self.holds(i) >= 0:
            self.holders[i] = self.holds(i)
        return not self.by_numbers(i) and self.lacks(i) < 0 and not self.held_back(i)

    def final(self, decision: AdmissionDecision) -> None:
        """Take in what was admitted, each of them having been allowed by every limit at its time."""
        for i in decision.admitted.tolist():
            assert not self.by_numbers(i) and self.lacks(i) < 0, i
            self.admitted.append(i)
            self.user[self.w.user[i]] += 1
            for q in self.x.chain(int(self.w.leaf[i])):
                self.jobs[q] += 1
                for c, amount in enumerate(self.w.demand[i].tolist()):
                    self.held[q][c] += amount


@given(worlds())
@examples(200)
def test_no_limit_is_exceeded_and_nobody_waits_without_need(world: World) -> None:
    decision, reference = world.decide(), Reference(world)
    reference.final(decision)
    assert len(set(decision.admitted.tolist())) == len(decision.admitted) <= world.rules.batch
    for i in reference.waiting():
        why = AdmissionWhy(decision.why[i])
        if why == AdmissionWhy.DECISION_FULL:
            assert len(decision.admitted) == world.rules.batch
        elif why == AdmissionWhy.EARMARKED:
            assert any(reference.overdue)
        else:
            assert reference.by_numbers(i) or reference.lacks(i) >= 0, (i, why)
    assert decide(world.w, world.limits, world.rules, world.now).admitted.tolist() == decision.admitted.tolist()


@given(worlds())
@examples(200)
def test_numbers_told_are_those_that_bind(world: World) -> None:
    decision, reference = world.decide(), Reference(world)
    reference.final(decision)
    w, told = world.w, decision
    for i in reference.waiting():
        line = reference.waiting(int(w.leaf[i]))
        assert told.ahead[i] == line.index(i)
        q, c = int(told.queue[i]), int(told.column[i])
        assert q in world.chain(int(w.leaf[i]))
        match AdmissionWhy(told.why[i]):
            case AdmissionWhy.QUEUE_JOBS:
                assert (told.now[i], told.most[i]) == (reference.jobs[q], world.limits.most_jobs[q])
                assert told.now[i] >= told.most[i]
            case AdmissionWhy.USER_JOBS:
                assert told.now[i] == reference.user[w.user[i]] >= told.most[i] and q == w.leaf[i]
            case AdmissionWhy.AMOUNT | AdmissionWhy.EARMARKED:
                assert w.demand[i, c] > 0
                assert (told.now[i], told.most[i]) == (reference.held[q][c], world.limits.most[q, c])


@given(worlds())
@examples(200)
def test_one_leaf_alone_is_what_asking_one_by_one_gives(world: World) -> None:
    """Within a leaf the reference is exact: go down the line, admit whoever may be, mind what is held."""
    if not len(world.w.leaf):
        return
    leaf = world.w.leaf[0]
    chosen = world.w.leaf == leaf
    w = WaitingJobs(*(getattr(world.w, name)[chosen] for name in WaitingJobs.__slots__))
    world = replace(world, w=w)
    decision, reference = world.decide(), Reference(world)
    for i in reference.waiting():
        if len(reference.admitted) < world.rules.batch and reference.may(i):
            one = replace(decision, admitted=np.array([i]))
            reference.final(one)
    assert decision.admitted.tolist() == reference.admitted


@given(worlds())
@examples(200)
def test_the_order_of_a_line_is_kept_among_equals(world: World) -> None:
    """Of two jobs of one user in one leaf that ask for the same, the later is never admitted without the earlier."""
    reference, decision = Reference(world), world.decide()
    place = {i: at for at, i in enumerate(decision.admitted.tolist())}
    for i in range(len(world.w.leaf)):
        for k in range(len(world.w.leaf)):
            same = world.w.user[i] == world.w.user[k] and (world.w.demand[i] == world.w.demand[k]).all()
            if same and reference.key(i) < reference.key(k) and k in place:
                assert i in place and place[i] < place[k]


@given(st.integers(0, 30), st.integers(1, 3), st.booleans())
@examples(60)
def test_a_large_gang_is_passed_only_so_often(most: int, size: int, other_leaf: bool) -> None:
    """Small gangs keep coming, here or in another leaf; each runs for a few steps. The large one has its turn."""
    rules = AdmissionRules(max_passed=most, max_wait_s=1e9)
    capacity, running = 8, []
    big = {"leaf": 1, "order": 0, "passed": 0, "demand": capacity}
    line = [big]
    for step in range(400):
        line.append({"leaf": 1 + other_leaf, "order": step + 1, "passed": 0, "demand": size})
        running = [(end, amount) for end, amount in running if end > step]
        used = sum(amount for _, amount in running)
        held = np.array([[used], [used], [0]]) if not other_leaf else np.array([[used], [0], [used]])
        columns = {name: np.array([job[name] for job in line]) for name in ("leaf", "order", "passed")}
        demand = np.array([[job["demand"]] for job in line])
        n, nothing = len(line), np.zeros(3, np.int64)
        w = WaitingJobs(columns["leaf"], columns["leaf"] - 1, np.zeros(n, np.int32), columns["order"], np.zeros(n),
                    columns["passed"], demand)  # fmt: skip
        unlimited, full = np.full(3, NONE), np.full((3, 1), capacity)
        fifo = np.zeros(3, np.int8)
        limits = AdmissionLimits(np.array([-1, 0, 0]), fifo, nothing, unlimited, nothing[:2], unlimited[:2], held, full)
        decision = decide(w, limits, rules, float(step))
        for job, passed in zip(line, decision.passed.tolist(), strict=True):
            job["passed"] = passed
        gone = set(decision.admitted.tolist())
        running += [(step + 3 + (at % 3), line[at]["demand"]) for at in gone]
        if 0 in gone:
            return
        line = [job for at, job in enumerate(line) if at not in gone]
        assert line[0]["passed"] <= most + 8, "held from then on"
    raise AssertionError("it starved")


def crowd(n: int, demand: np.ndarray, passed: int = 0) -> World:
    """So many gangs of one user in one leaf; the leaf has room for 60 of each amount."""
    alike, none = np.zeros(n, np.int64), np.zeros(2, np.int64)
    w = WaitingJobs(alike + 1, alike, alike, np.arange(n), np.zeros(n), alike + passed, demand)
    unlimited, room = np.full(2, NONE), np.full((2, 3), 60)
    limits = AdmissionLimits(
        np.array([-1, 0]), none, none, unlimited, none, unlimited, np.zeros((2, 3), np.int64), room
    )
    return World(w, limits, AdmissionRules())


@pytest.mark.parametrize("passed", [0, 200])
def test_those_behind_whoever_does_not_fit_are_not_looked_at_one_by_one(passed: int) -> None:
    """Each of the gangs alone would fit; after some were admitted none of the others does."""
    world, calls = crowd(5000, np.full((5000, 3), 5), passed), 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        decision = world.decide()
    finally:
        sys.setprofile(before)
    assert decision.admitted.tolist() == list(range(12))
    assert (decision.why[12:] == AdmissionWhy.AMOUNT).all()
    assert calls < 1000


@given(st.lists(st.integers(1, 30), min_size=100, max_size=300), st.sampled_from([0, 200]))
@examples(20)
def test_a_long_line_is_decided_as_if_asked_one_by_one(sizes: list[int], passed: int) -> None:
    world = crowd(len(sizes), np.array(sizes)[:, None] * np.ones((1, 3), np.int64), passed)
    expected, left = [], 60
    for i, size in enumerate(sizes):
        if size <= left:
            expected.append(i)
            left -= size
        elif passed:  # what it lacks is held for it
            break
    assert world.decide().admitted.tolist() == expected


@pytest.mark.faults
def test_twenty_thousand_wait_and_a_decision_is_quick() -> None:
    n = 20_000
    rng = np.random.default_rng(1)
    w = WaitingJobs(
        rng.integers(1, 51, n).astype(np.int32), np.zeros(n, np.int32), rng.integers(0, 9, n).astype(np.int32),
        np.arange(n), np.zeros(n), np.zeros(n, np.int64), rng.integers(0, 3, (n, 3)),
    )  # fmt: skip
    w = replace(w, user=(w.leaf - 1) * 10 + rng.integers(0, 10, n).astype(np.int32))
    q, u = 51, 500
    limits = AdmissionLimits(
        np.r_[-1, np.zeros(50, np.int64)], np.ones(q, np.int8), np.zeros(q, np.int64), np.full(q, 40),
        np.zeros(u, np.int64), np.full(u, 3), np.zeros((q, 3), np.int64), np.full((q, 3), 60),
    )  # fmt: skip
    with limit("admission among 20,000 waiting jobs (processor)", 0.5, time.process_time):  # about ten milliseconds
        decision = decide(w, limits, AdmissionRules(), 10.0)
    assert len(decision.admitted) == 40
