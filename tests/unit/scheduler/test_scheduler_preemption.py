"""Preemption's rules one at a time, on sub-clusters small enough to follow."""

from dataclasses import replace

import numpy as np

from scheduler.core.plan import Preempt, Why
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.plan import plan_preemption
from scheduler.preemption.policy import POLICIES, PreemptionPolicy
from tests.live import Live, live
from tests.worlds import Ask, Node, Queue

Memo = tuple[np.ndarray, np.ndarray]
NONE: Memo = (np.empty(0, np.int64), np.empty(0))
POLICY = PreemptionPolicy(per_round=1.0, grace_s=10.0)
ONE = (1, 1, 0)
HALVES = [Queue("root", guaranteed=(10, 10, 0)), *(Queue(f"root.{x}", guaranteed=(5, 5, 0)) for x in "ab")]


def decide(
    s: Snapshot,
    policy: PreemptionPolicy = POLICY,
    memo: Memo = NONE,
    now: float = 0.0,
    why: Why = Why.NO_ROOM,
    reserved_for: np.ndarray | None = None,
) -> tuple[Preempt, Memo]:
    reasons = np.full(len(s.asks.count), why, np.int8)
    plan, ids, due = plan_preemption(s, s.nodes.free, s.asks.count, reasons, memo, policy, now, reserved_for)
    return plan, (ids, due)


def full(count: int = 2, running: list[Live] | None = None, **ask: object) -> Snapshot:
    """One node full of queue a's containers, the later the newer; queue b asks for some."""
    running = running or [Live(1, 0, ONE, started=float(i)) for i in range(10)]
    return live([Node((10, 10, 0))], HALVES, [Ask(2, count, **ask)], [ONE], running)  # type: ignore[arg-type]


def test_the_newest_go():
    assert decide(full())[0].warn.tolist() == [8, 9]


def test_the_lowest_priority_goes_before_the_newest():
    running = [Live(1, 0, ONE, priority=0 if i in (2, 5) else 1, started=float(i)) for i in range(10)]
    assert decide(full(running=running))[0].warn.tolist() == [2, 5]


def test_one_large_container_is_better_than_it_and_the_small_ones_before_it():
    running = [Live(1, 0, (7, 7, 0)), Live(1, 0, ONE, started=1.0), Live(1, 0, (2, 2, 0), started=2.0)]
    s = live([Node((10, 10, 0))], HALVES, [Ask(2, 1)], [(4, 4, 0)], running)
    assert decide(s)[0].warn.tolist() == [0]


def test_what_is_asked_for_after_all_is_all_that_is_taken():
    assert len(decide(full(count=9))[0].warn) == 5  # its guarantee


def test_a_warning_is_followed_by_the_kill():
    plan, memo = decide(full())
    assert memo[0].tolist() == [1008, 1009] and memo[1].tolist() == [10.0, 10.0]
    for now in (1.0, 9.9):
        plan, memo = decide(full(), memo=memo, now=now)
        assert not len(plan.warn) and not len(plan.kill)
    plan, _ = decide(full(), memo=memo, now=10.0)
    assert plan.kill.tolist() == [8, 9]


def test_those_no_longer_needed_may_stay():
    _, memo = decide(full(count=3))
    plan, memo = decide(full(count=1), memo=memo, now=20.0)
    assert plan.kill.tolist() == [9] and plan.spared.tolist() == [1007, 1008]
    plan, memo = decide(full(count=0), memo=memo, now=21.0)
    assert plan.spared.tolist() == [1009] and not len(memo[0])


def test_what_ends_in_time_by_itself_is_not_preempted():
    running = [Live(1, 0, ONE, started=float(i), ends=8.0 if i == 0 else np.inf) for i in range(10)]
    assert decide(full(running=running))[0].warn.tolist() == [9]
    late = decide(full(running=running), now=8.5)[0]  # its end was expected, and did not come
    assert late.warn.tolist() == [8, 9]


def test_masters_that_are_spared_stay():
    running = [Live(1, 0, ONE, started=float(i), spared=i == 9) for i in range(10)]
    assert decide(full(running=running))[0].warn.tolist() == [7, 8]


def test_masters_go_last():
    running = [Live(1, 0, ONE, started=float(i), last=i > 2) for i in range(10)]
    assert decide(full(running=running))[0].warn.tolist() == [1, 2]
    assert decide(full(5, running=running))[0].warn.tolist() == [0, 1, 2, 8, 9]


def test_no_master_goes_while_the_bound_of_the_round_lets_others_stay():
    """After one large container, two small ones are too much for a round of three; a small master would not be."""
    nodes = [(2, 2, 0), (2, 2, 0), (2, 2, 0), (4, 4, 0)]
    others = [Live(1, 0, nodes[0], started=2.0), Live(1, 1, ONE, started=1.0), Live(1, 1, ONE)]
    masters = [Live(1, 2, ONE, last=True), Live(1, 3, nodes[3], last=True)]
    s = live([Node(size) for size in nodes], HALVES, [Ask(2, 3)], [(2, 2, 0)], others + masters)
    assert decide(s)[0].warn.tolist() == [0, 1, 2]
    assert decide(s, replace(POLICY, per_round=0.3))[0].warn.tolist() == [0]


def test_what_is_free_is_given_before_a_master_goes():
    s = live(
        [Node((10, 10, 0))],
        HALVES,
        [Ask(2, 1), Ask(2, 2, shape=1)],
        [(5, 5, 0), (2, 2, 0)],
        [Live(1, 0, (6, 6, 0), last=True)],
    )
    assert not len(decide(s)[0].warn), "what is owed beyond what is free is too little for the large one"


def test_own_limits_are_no_reason():
    for why in (Why.QUEUE_MAXIMUM, Why.USER_MAXIMUM, Why.NO_NODE_MATCHES, Why.LOCALITY_WAIT, Why.ROUND_FULL):
        assert not len(decide(full(), why=why)[0].warn)


def test_within_the_dead_zone_nobody_pays():
    running = [Live(1 + (i >= 6), 0, ONE) for i in range(10)]  # 6 of 5, 4 of 5
    s = full(running=running)
    assert not len(decide(s, replace(POLICY, dead_zone=0.2))[0].warn)
    assert len(decide(s, replace(POLICY, dead_zone=0.1))[0].warn) == 1


def test_a_part_of_a_debt_at_a_time():
    assert len(decide(full(count=5), replace(POLICY, natural_termination=0.4))[0].warn) == 2


def test_a_part_of_the_cluster_at_a_time():
    assert len(decide(full(count=5), replace(POLICY, per_round=0.3))[0].warn) == 3


def test_pieces_on_different_nodes_are_no_room():
    running = [Live(1, n, ONE) for n in range(5) for _ in range(2)]
    s = live([Node((2, 2, 0)) for _ in range(5)], HALVES, [Ask(2, 1)], [(3, 3, 0)], running)
    assert not len(decide(s)[0].warn)


def test_nodes_that_the_ask_may_not_use_are_left_alone():
    running = [Live(1, n, ONE, started=float(n)) for n in range(5) for _ in range(2)]
    nodes = [Node((2, 2, 0), open=n != 3) for n in range(5)]
    s = live(nodes, HALVES, [Ask(2, 1)], [ONE], running, [[False, True, True, True, False]])
    reserved_for = np.array([-1, -1, 7, -1, -1])
    assert s.running and s.running.node[decide(s, reserved_for=reserved_for)[0].warn].tolist() == [1]


def test_a_node_held_for_the_ask_is_where_room_is_made():
    running = [Live(1, n, ONE, started=float(n)) for n in range(5) for _ in range(2)]
    s = live(
        [Node((2, 2, 0)) for _ in range(5)], HALVES, [Ask(2, 1)], [ONE], running, [[False, True, False, False, False]]
    )
    assert s.running and s.running.node[decide(s, reserved_for=np.array([-1, 0, -1, -1, -1]))[0].warn].tolist() == [1]


def test_a_gang_gets_room_for_all_or_for_none():
    assert len(decide(full(count=5, gang=True))[0].warn) == 5
    plan, memo = decide(full(count=6, gang=True))  # more than it is owed
    assert not len(plan.warn) and not len(memo[0])


def test_a_queue_smaller_than_its_container_gets_one_but_starves_nobody():
    queues = [
        Queue("root", guaranteed=(10, 10, 0)),
        Queue("root.a", guaranteed=(8, 8, 0)),
        Queue("root.b", guaranteed=(2, 2, 0)),
    ]
    two = live([Node((10, 10, 0))], queues, [Ask(2, 1)], [(4, 4, 0)], [Live(1, 0, (5, 5, 0)), Live(1, 0, (5, 5, 0))])
    assert len(decide(two)[0].warn) == 1
    one = live([Node((10, 10, 0))], queues, [Ask(2, 1)], [(4, 4, 0)], [Live(1, 0, (10, 10, 0))])
    assert not len(decide(one)[0].warn)


def within(asks: list[Ask], running: list[Live], ordering: Ordering = Ordering.PRIORITY) -> Snapshot:
    """One leaf on one node of ten."""
    queues = [Queue("root"), Queue("root.a", maximum=(10, 10, 0), ordering=ordering)]
    return live([Node((10, 10, 0))], queues, asks, [ONE], running)


def test_jobs_yield_to_those_of_higher_priority_in_their_leaf():
    running = [Live(1, 0, ONE, priority=i // 5, started=float(i)) for i in range(10)]
    for why in (Why.NO_ROOM, Why.QUEUE_MAXIMUM):
        plan, _ = decide(within([Ask(1, 3, priority=1)], running), why=why)
        assert plan.warn.tolist() == [2, 3, 4] and plan.intra.all() and plan.owed_to.tolist() == [1, 1, 1]
    assert not len(decide(within([Ask(1, 3, priority=0)], running))[0].warn)  # equals never
    assert not len(decide(within([Ask(1, 3, priority=1)], running, Ordering.FIFO))[0].warn)  # it would not be its turn
    assert not len(decide(within([Ask(1, 3, priority=1)], running), replace(POLICY, intra_priority=False))[0].warn)


def test_users_yield_to_those_below_their_part():
    asks = [Ask(1, 0, user=0), Ask(1, 9, user=1)]
    running = [Live(1, 0, ONE, started=float(i), ask=0) for i in range(10)]
    policy = replace(POLICY, intra_user=True)
    assert decide(within(asks, running), policy)[0].warn.tolist() == [5, 6, 7, 8, 9]
    assert not len(decide(within(asks, running))[0].warn)
    waiting = [replace(asks[0], count=1), asks[1]]  # of equal priority: it is the other's turn
    assert decide(within(waiting, running), policy)[0].warn.tolist() == [5, 6, 7, 8, 9]
    waiting = [replace(asks[0], count=1, priority=1), asks[1]]  # the room would only be the first's again
    assert not len(decide(within(waiting, running), replace(policy, intra_priority=False))[0].warn)


def test_switched_off_it_takes_its_warnings_back():
    _, memo = decide(full())
    plan, memo = decide(full(), replace(POLICY, reclaiming=POLICIES["off"]), memo, 5.0)
    assert plan.spared.tolist() == [1008, 1009] and not len(memo[0])


def test_marks_of_those_that_are_gone_are_forgotten():
    plan, memo = decide(full(count=0), memo=(np.array([5, 1003]), np.array([0.0, 0.0])), now=1.0)
    assert plan.spared.tolist() == [1003] and not len(memo[0])
