"""plan_preemption against a slow reference in plain Python, and against what it promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.preemption_reference import LITTLE, Plain, cheapest_first
from scheduler.core.invariants import check_preempt
from scheduler.core.plan import Preempt, Why
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.eligibleasks import contested
from scheduler.preemption.plan import plan_preemption
from scheduler.preemption.policy import PreemptionPolicy
from tests.examples import examples
from tests.live import Live, live
from tests.worlds import Ask, Node, Queue

EXAMPLES = examples(250)
NONE = (np.empty(0, np.int64), np.empty(0))
SHAPES = [(4, 2, 0), (2, 2, 0), (6, 1, 0), (3, 3, 1), (9, 4, 0)]
BETWEEN_QUEUES = PreemptionPolicy(per_round=0.5, intra_priority=False, intra_user=False)
ALL = PreemptionPolicy(per_round=1.0, dead_zone=0.0, intra_priority=True, intra_user=True)


def world(seed: int, gangs: bool = False) -> Snapshot:
    """Nearly full nodes, held mostly by queues that were guaranteed little; those that hold little ask for more."""
    rng = np.random.default_rng(seed)
    n, capacity = int(rng.integers(1, 5)), [(12, 8, 1), (20, 12, 2)][seed % 2]
    queues = tree(rng, np.array(capacity) * n)
    tops = {q.path.rpartition(".")[0] for q in queues}
    rows = [i for i, q in enumerate(queues) if q.path not in tops]
    rich, poor = rows[::2], rows[1::2] or rows
    asks = [
        Ask(
            int(rng.choice(poor if rng.random() < 0.8 else rich)),
            int(rng.integers(1, 5)),
            shape=int(rng.integers(0, len(SHAPES))),
            mask=int(rng.random() < 0.3),
            user=int(rng.integers(0, 2)),
            priority=int(rng.integers(0, 3)),
            gang=gangs and bool(rng.random() < 0.3),
        )
        for _ in range(rng.integers(1, 6))
    ]
    running = []
    for node in range(n):
        room = np.array(capacity)
        for _ in range(rng.integers(2, 12)):
            shape = SHAPES[rng.integers(0, len(SHAPES))]
            if (room >= shape).all():
                room -= shape
                running.append(container(rng, node, shape, rich if rng.random() < 0.8 else poor, asks))
    masks = [[True] * n, (rng.random(n) < 0.6).tolist()]
    return live([Node(capacity, open=rng.random() < 0.9) for _ in range(n)], queues, asks, SHAPES, running, masks)


def tree(rng: np.random.Generator, total: np.ndarray) -> list[Queue]:
    """Two levels at most. Every other leaf is guaranteed much."""
    queues = [Queue("root", guaranteed=tuple(total.tolist()))]
    inner = rng.random() < 0.5
    if inner:
        queues.append(Queue("root.p", guaranteed=tuple((total // 2).tolist()), preemptable=rng.random() < 0.8))
    for i in range(int(rng.integers(2, 6))):
        top = "root.p" if inner and (i == 0 or rng.random() < 0.5) else "root"
        part = rng.choice([0.25, 0.5]) if i % 2 else rng.choice([0.0, 0.1, 0.25])
        queues.append(
            Queue(
                f"{top}.q{i}",
                guaranteed=tuple(int(x * part) for x in total.tolist()),
                weight=float(rng.choice([1.0, 2.0])),
                ordering=int(rng.integers(0, len(Ordering))),
                preemptable=rng.random() < 0.85,
            )
        )
    return queues


def container(rng: np.random.Generator, node: int, shape: tuple[int, ...], rows: list[int], asks: list[Ask]) -> Live:
    ask = int(rng.integers(-1, len(asks)))
    priority, started, spared = int(rng.integers(0, 3)), float(rng.integers(0, 9)), bool(rng.random() < 0.1)
    if ask < 0 or rng.random() < 0.4:
        return Live(int(rng.choice(rows)), node, shape, priority, started, spared=spared)
    return Live(asks[ask].queue, node, shape, asks[ask].priority, started, spared=spared, ask=ask)


def with_masters(s: Snapshot, seed: int) -> Snapshot:
    """Some of what runs are application masters."""
    assert s.running is not None
    last = np.random.default_rng(seed).random(len(s.running.id)) < 0.4
    return replace(s, running=replace(s.running, master=last))


seeds = st.integers(0, 1 << 32)
worlds = st.builds(world, seeds)
gang_worlds = st.builds(world, seeds, st.just(True))
master_worlds = st.builds(with_masters, worlds, seeds)
any_worlds = gang_worlds | st.builds(with_masters, gang_worlds, seeds)


def preempt(
    s: Snapshot,
    policy: PreemptionPolicy,
    memo: tuple[np.ndarray, np.ndarray] = NONE,
    now: float = 0.0,
    why: int = Why.NO_ROOM,
) -> tuple[Preempt, tuple[np.ndarray, np.ndarray]]:
    reasons = np.full(len(s.asks.count), why, np.int8)
    plan, ids, due = plan_preemption(s, s.nodes.free, s.asks.count, reasons, memo, policy, now)
    check_preempt(s, plan, ids, policy.per_round)
    return plan, (ids, due)


@EXAMPLES
@given(worlds)
def test_queues_are_made_to_pay_as_the_reference_says(s: Snapshot):
    plain = Plain(s, BETWEEN_QUEUES)
    assert set(preempt(s, BETWEEN_QUEUES)[0].warn.tolist()) == plain.chosen


@pytest.mark.parametrize("per_round", [0.2, 0.5, 1.0])
@EXAMPLES
@example(s=with_masters(world(672), 0))  # what an exception left free is for the next claim of its group
@given(master_worlds)
def test_masters_go_as_the_reference_says(per_round: float, s: Snapshot):
    policy = replace(BETWEEN_QUEUES, per_round=per_round)
    assert set(preempt(s, policy)[0].warn.tolist()) == Plain(s, policy).chosen


class Watched(Plain):
    """Says for whom a master goes that others could have satisfied, had they all gone and the round no bound."""

    def place(self, a: int, node: int, given: list[int]) -> None:
        if any(self.master[x] for x in given):
            assert not self.refused, "a master goes in a round whose bound let another stay"
            assert not any(self.others_suffice(a, n) for n in range(len(self.room))), f"a master goes for ask {a}"
        super().place(a, node, given)

    def others_suffice(self, a: int, node: int) -> bool:
        """Whether ask a fits on the node with all gone that are no masters, as long as their queues are in debt."""
        live, q, room = self.live, self.queue[a], np.array(self.room[node])
        debt, alive, asked = np.array(self.debt), list(self.alive), np.array(self.shape[a])
        for x in cheapest_first(live):
            p, may = live.queue[x], not (self.master[x] or live.protected[x] or x in self.chosen)
            starves = alive[p] <= 1 and self.wants(a) == "exception"
            if not may or live.node[x] != node or p == q or starves:
                continue
            if ((debt[p] > LITTLE) & (asked > 0) & (live.shape[x] > 0)).any():
                room, debt[p], alive[p] = room + live.shape[x], debt[p] - live.shape[x], alive[p] - 1
        return self.usable(a, node) and bool(((room >= asked) | (asked == 0)).all())


@EXAMPLES
@given(master_worlds, st.sampled_from([0.2, 0.5, 1.0]))
def test_a_master_goes_only_for_a_queue_that_nothing_else_can_satisfy(s: Snapshot, per_round: float):
    policy = replace(BETWEEN_QUEUES, per_round=per_round)
    assert set(preempt(s, policy)[0].warn.tolist()) == Watched(s, policy).chosen


@EXAMPLES
@given(any_worlds)
def test_a_master_never_goes_for_its_own_queue(s: Snapshot):
    assert s.running is not None and s.running.master is not None
    plan, _ = preempt(s, ALL)
    assert not (s.running.master[plan.warn] & plan.intra).any(), "neither for another job of it nor for another user"


@EXAMPLES
@given(any_worlds, st.sampled_from([BETWEEN_QUEUES, ALL, replace(ALL, per_round=0.1)]))
def test_it_says_the_same_again(s: Snapshot, policy: PreemptionPolicy):
    first, memo = preempt(s, policy)
    again, _ = preempt(s, policy)
    assert np.array_equal(first.warn, again.warn) and np.array_equal(first.owed_to, again.owed_to)
    second, after = preempt(s, policy, memo, 1.0)
    assert not len(second.warn) and not len(second.kill) and not len(second.spared)
    assert np.array_equal(memo[0], after[0]) and np.array_equal(memo[1], after[1])
    third, _ = preempt(s, policy, memo, policy.grace_s)
    assert np.array_equal(third.kill, first.warn)


def others_of(s: Snapshot) -> np.ndarray:
    """Of each ask how many other jobs run something in its leaf; what runs of no known job counts as another."""
    live = s.running
    assert live is not None
    same = (live.queue[None] == s.ask_queue[:, None]) & (live.job[None] != s.asks.job[:, None])
    return same.sum(axis=1)


@EXAMPLES
@given(any_worlds, st.sampled_from(Why))
def test_nothing_goes_where_nobody_waits_for_what_others_hold(s: Snapshot, why: Why):
    reasons = np.full(len(s.asks.count), why, np.int8)
    if not contested(s.asks.count, reasons, others_of(s)):
        plan, _ = preempt(s, ALL, why=why)
        assert not len(plan.warn)


def paid_for(s: Snapshot, plan: Preempt, policy: PreemptionPolicy) -> list[int]:
    """Nodes on which, once those warned are gone, no ask of the queue they were taken for would fit."""
    live, wrong = s.running, []
    assert live is not None
    for node in np.unique(live.node[plan.warn]).tolist():
        here = plan.warn[live.node[plan.warn] == node]
        room = s.nodes.free[node] + live.shape[here].sum(axis=0)
        for queue in np.unique(plan.owed_to[live.node[plan.warn] == node]).tolist():
            asks = np.flatnonzero(s.asks.masks[s.asks.mask, node] & (s.ask_queue == queue))
            shapes = s.asks.shapes[s.asks.shape[asks]]
            if not s.nodes.open[node] or not ((shapes <= room) | (shapes == 0)).all(axis=1).any():
                wrong.append(node)
    return wrong


@EXAMPLES
@given(any_worlds, st.sampled_from([BETWEEN_QUEUES, ALL]), st.sampled_from([Why.NO_ROOM, Why.QUEUE_SHARE]))
def test_nothing_goes_where_nothing_would_fit(s: Snapshot, policy: PreemptionPolicy, why: Why):
    plan, _ = preempt(s, policy, why=why)
    assert not paid_for(s, plan, policy)


@EXAMPLES
@given(worlds)
def test_nobody_pays_when_everything_fits(s: Snapshot):
    """Without the containers of one queue there is room for all; whoever runs then stays."""
    roomy = replace(s, nodes=replace(s.nodes, capacity=s.nodes.capacity + 100, free=s.nodes.free + 100))
    mask = replace(s.asks, masks=s.asks.masks | roomy.nodes.open)
    if roomy.nodes.open.all():
        assert not len(preempt(replace(roomy, asks=mask), BETWEEN_QUEUES)[0].warn)


@EXAMPLES
@given(worlds, st.sampled_from([Why.QUEUE_MAXIMUM, Why.NO_ROOM]))
def test_only_lower_priorities_of_the_same_leaf_yield(s: Snapshot, why: Why):
    live = s.running
    assert live is not None
    plan, _ = preempt(s, replace(ALL, intra_user=False), why=why)
    highest = {q: s.jobs.priority[s.asks.job[s.ask_queue == q]].max() for q in s.ask_queue.tolist()}
    within = plan.warn[plan.intra]
    assert np.array_equal(live.queue[within], plan.owed_to[plan.intra])
    assert all(live.priority[x] < highest[live.queue[x]] for x in within.tolist())
    assert all(s.queues.ordering[live.queue[x]] == Ordering.PRIORITY for x in within.tolist())
    if why == Why.QUEUE_MAXIMUM:
        assert plan.intra.all()  # a queue's own maximum is no reason to take from others


@EXAMPLES
@given(worlds | master_worlds)
def test_those_who_gave_are_not_left_with_less_than_they_were_owed(s: Snapshot):
    """A payer keeps its ideal but for one container, in some resource that it had too much of."""
    plain, live = Plain(s, BETWEEN_QUEUES, lambda ask: True), s.running
    assert live is not None
    before = s.queues.used
    plan, _ = preempt(s, BETWEEN_QUEUES)
    for q in np.unique(live.queue[plan.warn]).tolist():
        mine = live.shape[plan.warn[live.queue[plan.warn] == q]]
        ideal, over = np.array(plain.ideal[q]), before[q] > np.array(plain.ideal[q]) + 1e-6
        kept = before[q] - mine.sum(axis=0)
        assert (kept[over] + mine.max(axis=0)[over] >= ideal[over] - 1e-6).any()
