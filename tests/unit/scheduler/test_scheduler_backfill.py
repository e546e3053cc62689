"""Backfilling rule by rule: who is promised what, who may pass, and what those are told who may not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scheduler.core.plan import Plan, PromisedStarts, Why
from scheduler.core.snapshot import Backfill, Memo, Running, Snapshot
from scheduler.explain.columns import explain_all
from scheduler.explain.sentence import AskContext, describe
from scheduler.placement.place import PlacementPolicy
from scheduler.preemption.policy import POLICIES, PreemptionPolicy
from scheduler.round import RoundPolicy, plan_round
from tests.amounts import vector
from tests.worlds import Ask, Node, Queue, build

NOW = 100.0
FREE, EASY, KEEPS, STRICT = Backfill.NONE, Backfill.EASY, Backfill.CONSERVATIVE, Backfill.STRICT
CORE = (1, 1, 0)
Ends = list[tuple[int, float]]  # cores of a node of their own, and when they are expected to be free


def gang(count: int, duration: float = 0.0, queue: int = 1, **more: Any) -> Ask:
    return Ask(queue, count, gang=True, duration=duration, **more)


def machine(ends: Ends, free: int, *asks: Ask, queues: list[Queue] | None = None, **more: Any) -> Snapshot:
    """A node that is idle, and one for each of ``ends``; every container is a core, of the first leaf."""
    cores = [n for n, _ in ends]
    nodes = [Node((free, free, 0)), *(Node((n, n, 0), (n, n, 0)) for n in cores)]
    used = (sum(cores), sum(cores), 0)
    queues = queues or [Queue("root"), Queue("root.a", backfill=EASY)]
    queues = [replace(q, own=used) if at == 1 else q for at, q in enumerate(queues)]
    node = np.repeat(np.arange(1, len(ends) + 1), cores).astype(np.int32)
    c = len(node)
    late = np.repeat([end < NOW for _, end in ends], cores)
    running = Running(
        np.arange(c), node, np.full(c, -1, np.int32), np.ones(c, np.int32), np.zeros(c, np.int32),
        np.tile(vector(*CORE), (c, 1)), np.zeros(c), np.repeat([end for _, end in ends], cores),
        np.zeros(c, np.bool_), overdue=late,
    )  # fmt: skip
    s = build(nodes, queues, list(asks), [CORE, (2, 1, 0)], **more)
    return replace(s, running=running, reclaim=False)


def plan(s: Snapshot, memo: Memo | None = None, **policy: Any) -> tuple[Plan, PromisedStarts]:
    given = RoundPolicy(PlacementPolicy(**policy), PreemptionPolicy(POLICIES["off"]))
    found, _ = plan_round(s, memo or Memo(), given, NOW)
    assert found.outcome is not None and found.outcome.promised is not None
    return found, found.outcome.promised


def outcome(s: Snapshot, **policy: Any) -> tuple[list[int], dict[int, float], dict[int, int]]:
    """(containers placed of each ask, promised starts, whom promises keep back and for whose sake)."""
    found, ahead = plan(s, **policy)
    placed = np.bincount(found.place.ask, minlength=len(s.asks.key)).tolist()
    promised = dict(zip(ahead.ask.tolist(), ahead.start.tolist(), strict=True))
    return placed, promised, {a: by for a, by in enumerate(ahead.kept_back_by.tolist()) if by >= 0}


def whys(s: Snapshot) -> list[Why]:
    found, _ = plan(s)
    assert found.outcome is not None
    return [Why(int(w)) for w in found.outcome.why]


# what is promised


def test_the_first_in_line_is_promised_the_shadow_time() -> None:
    s = machine([(2, 110.0), (2, 120.0), (2, 130.0)], 2, gang(5), gang(2, 20.0), gang(2, 21.0))
    placed, promised, behind = outcome(s)
    assert promised == {0: 120.0}, "two are free, two more from 110 on, two from 120 on"
    assert placed == [0, 2, 0] and behind == {}, "the one that ends by then starts, and takes all there is"


@pytest.mark.parametrize(
    ("duration", "count", "starts"),
    [(20.0, 2, True), (20.1, 1, True), (20.1, 2, False), (0.0, 1, True), (0.0, 2, False)],
)
def test_others_end_by_then_or_take_what_is_to_spare(duration: float, count: int, starts: bool) -> None:
    s = machine([(2, 110.0), (2, 120.0)], 2, gang(5), gang(count, duration))
    placed, promised, behind = outcome(s)
    assert promised == {0: 120.0} and placed == [0, count if starts else 0]
    assert behind == ({} if starts else {1: 0})


def test_containers_of_this_round_end_too() -> None:
    s = machine([(2, 150.0)], 3, gang(3, 10.0), gang(4, 5.0), gang(1))
    assert outcome(s)[:2] == ([3, 0, 0], {1: 150.0}), "three are free at 110, all five at 150"
    s = machine([(2, 150.0)], 3, gang(3, 10.0), gang(3, 5.0), gang(1))
    assert outcome(s)[1] == {1: 110.0}


def test_one_that_has_outlived_its_estimate_is_expected_to_end_now() -> None:
    s = machine([(2, 90.0), (2, 120.0)], 2, gang(4), gang(1, 1.0))
    assert outcome(s) == ([0, 0], {0: NOW}, {1: 0})


def test_conservative_promises_to_all_as_far_as_its_depth_goes() -> None:
    queues = [Queue("root"), Queue("root.a", backfill=KEEPS)]
    asks = gang(4, 10.0), gang(3, 10.0), gang(1, 25.0), gang(1, 10.0)
    s = machine([(2, 110.0), (1, 140.0)], 2, *asks, queues=queues)
    assert outcome(s) == ([0, 0, 0, 1], {0: 110.0, 1: 120.0, 2: 120.0}, {2: 0})
    s = machine([(2, 110.0), (1, 140.0)], 2, gang(4, 10.0), gang(3, 10.0), gang(2, 25.0), queues=queues)
    assert outcome(s, backfill_depth=2) == ([0, 0, 0], {0: 110.0, 1: 120.0}, {2: 0})


def test_a_promise_may_end_as_another_begins() -> None:
    queues = [Queue("root"), Queue("root.a", backfill=KEEPS)]
    for lasts, start in ((5.0, 105.0), (5.1, 120.0)):
        s = machine([(1, 105.0), (1, 110.0)], 0, gang(2, 10.0), gang(1, lasts), queues=queues)
        assert outcome(s)[1] == {0: 110.0, 1: start}


def test_nobody_passes_in_strict_order() -> None:
    s = machine([(2, 110.0)], 2, gang(3), gang(1, 1.0), queues=[Queue("root"), Queue("root.a", backfill=STRICT)])
    assert outcome(s) == ([0, 0], {}, {1: 0})


def test_what_cannot_be_foreseen_keeps_nobody_back() -> None:
    s = machine([(2, np.inf), (2, 120.0)], 2, gang(5), gang(4), gang(2))
    assert outcome(s) == ([0, 0, 0], {1: 120.0}, {2: 1}), "the first waits for what nobody knows, the second does not"
    s = machine([(2, np.inf)], 2, gang(3), gang(2))
    assert outcome(s) == ([0, 2], {}, {})


def test_an_ask_that_is_no_gang_is_promised_the_rest_of_what_it_wants() -> None:
    s = machine([(2, 110.0), (2, 120.0)], 1, Ask(1, 4, duration=50.0), gang(1))
    assert outcome(s)[:2] == ([1, 0], {0: 120.0})
    s = machine([(2, 110.0), (2, np.inf)], 1, Ask(1, 40))
    assert outcome(s)[1] == {0: 110.0}, "as much as there will ever be room for"


# whom it concerns


def test_queues_without_a_rule_neither_keep_promises_nor_have_any() -> None:
    queues = [Queue("root"), Queue("root.a", backfill=EASY), Queue("root.b")]
    s = machine([(2, 110.0)], 2, gang(4), Ask(2, 1), gang(3, queue=2), queues=queues)
    placed, promised, behind = outcome(s)
    assert placed == [0, 1, 0] and behind == {}
    assert promised in ({}, {0: 110.0}), "who comes first is a matter of shares"


def test_every_leaf_has_a_first_in_line_and_keeps_what_others_were_promised() -> None:
    queues = [Queue("root"), Queue("root.a", backfill=EASY), Queue("root.b", backfill=EASY)]
    s = machine([(4, 110.0), (4, 120.0)], 1, gang(3), gang(5, queue=2), gang(1, 15.0, queue=2), gang(1), queues=queues)
    placed, promised, behind = outcome(s)
    assert set(promised) == {0, 1} and sum(placed) == 0
    assert set(behind) == {2, 3}


def test_maxima_of_queues_are_waited_for_like_nodes() -> None:
    queues = [Queue("root"), Queue("root.a", (6, 6, 0), backfill=EASY)]
    s = machine([(2, 110.0), (2, 120.0)], 9, gang(5), gang(2, 20.0), gang(1), queues=queues)
    assert outcome(s)[:2] == ([0, 2, 0], {0: 120.0})
    s = machine([(2, 110.0), (2, 120.0)], 9, gang(5), gang(2, 21.0), gang(2, 5.0), queues=queues)
    assert outcome(s)[:2] == ([0, 0, 2], {0: 120.0}) and whys(s)[1] == Why.RESERVED


def test_who_is_kept_by_the_users_maximum_is_passed() -> None:
    s = machine([(2, 110.0)], 3, gang(2), gang(3, user=1), user_maximum={(1, 0): CORE})
    assert outcome(s) == ([0, 3], {}, {})
    assert whys(s)[0] == Why.USER_MAXIMUM


def test_nobody_passes_in_his_line_who_is_kept_by_his_share_alone() -> None:
    """The leaf's share is three of seven: its gang of four waits, and gets them once nobody else is owed any."""
    queues = [Queue("root"), Queue("root.a", backfill=EASY), Queue("root.b", guaranteed=(4, 4, 0))]
    s = machine([(1, 300.0)], 7, gang(4), gang(3), Ask(2, 2), queues=queues)
    assert outcome(s)[0] == [4, 0, 2]


def test_who_is_promised_a_start_holds_no_nodes_nor_does_anybody_behind_him() -> None:
    asks = [gang(3, since=0.0), gang(3, since=0.0)]
    found, _ = plan(machine([(2, 110.0)], 2, *asks))
    assert not len(found.reserve.ask)
    found, ahead = plan(machine([(2, np.inf)], 2, *asks))
    assert found.reserve.ask.tolist() == [0] and not len(ahead.ask), "without a promise they hold nodes as ever"


def test_shapes_are_weighed_against_one_another_on_the_nodes_themselves() -> None:
    """The first wants pairs: what leaves every pair whole may stay."""
    nodes = [Node((2, 1, 0)), Node((1, 1, 0)), Node((2, 1, 0), (2, 1, 0))]
    asks = [gang(2, shape=1), gang(1), gang(1)]
    s = build(nodes, [Queue("root"), Queue("root.a", own=(2, 1, 0), backfill=EASY)], asks, [CORE, (2, 1, 0)])
    running = Running(
        np.zeros(1, np.int64), np.array([2], np.int32), np.full(1, -1, np.int32), np.ones(1, np.int32),
        np.zeros(1, np.int32), vector(2, 1)[None], np.zeros(1), np.array([110.0]), np.zeros(1, np.bool_),
    )  # fmt: skip
    found, ahead = plan(replace(s, running=running, reclaim=False))
    assert ahead.start.tolist() == [110.0]
    assert list(zip(found.place.ask.tolist(), found.place.node.tolist(), strict=True)) == [(1, 1)]
    assert ahead.kept_back_by.tolist() == [-1, -1, 0]


def test_nobody_is_preempted_for_those_whom_promises_keep_back() -> None:
    queues = [
        Queue("root"), Queue("root.a", backfill=EASY, guaranteed=(6, 6, 0)), Queue("root.b", own=(2, 2, 0)),
    ]  # fmt: skip
    s = machine([(2, 110.0)], 2, gang(3), gang(2, 60.0), queues=queues)
    running = replace(s.running, queue=np.full(len(s.running.id), 2, np.int32)) if s.running else None
    s = replace(s, running=running, reclaim=True, queues=replace(s.queues, used=s.queues.used))
    found, _ = plan_round(s, Memo(), RoundPolicy(), NOW)
    assert found.outcome is not None and found.outcome.why.tolist() == [Why.GANG, Why.RESERVED]
    assert len(found.preempt.warn) <= 1, "one core more lets the first start; nothing is taken for the second"


# what they are told


def told(s: Snapshot, ask: int) -> dict[str, Any]:
    policy = RoundPolicy()
    found, memo = plan_round(s, Memo(), policy, NOW)
    assert found.outcome is not None
    e = explain_all(s, found.outcome, memo, policy.placement, NOW)
    return describe(e, e.columns.ask.tolist().index(ask), AskContext())


def test_what_is_said_to_who_waits_for_his_own_start() -> None:
    answer = told(machine([(2, 110.0), (2, 720.0)], 2, gang(5), gang(2, 620.0)), 0)
    assert (answer["code"], answer["text"]) == ("gang", "Needs 5 at once; 0 fit now.")
    assert answer["estimate"] == {"earliest_s": 620.0, "latest_s": 620.0, "text": "In 10 min."}


@pytest.mark.parametrize(
    ("duration", "asked", "text"),
    [
        (900.0, {"seconds": 900}, "this one is expected to take 15 min."),
        (0.0, {}, "nobody said how long this one takes."),
    ],
)
def test_what_is_said_to_who_would_run_too_long(duration: float, asked: dict[str, int], text: str) -> None:
    for ask in (gang(2, duration), Ask(1, 2, duration=duration)):
        answer = told(machine([(2, 110.0), (2, 725.0)], 2, gang(6), ask), 1)
        (limit,) = answer["limits"]
        assert (answer["code"], limit["asked"], limit["available"]) == ("reserved", asked, {"seconds": 600})
        assert (
            answer["text"]
            == f"There is room for 10 min only, until a job that waits before it is to start there; {text}"
        )
        assert answer["change"]["text"] == (
            "It could start now if it ended within 10 min, and said so (estimated_duration_s)."
        )


def test_what_is_said_where_the_start_is_due_or_unknown() -> None:
    answer = told(machine([(2, 90.0)], 2, gang(4), gang(1, 5.0)), 1)
    assert answer["text"].startswith("There is room only until, at any moment, a job that waits before it")
    strict = [Queue("root"), Queue("root.a", backfill=STRICT)]
    answer = told(machine([(2, 110.0)], 2, gang(4), gang(1, 5.0), queues=strict), 1)
    assert answer["text"] == "There is room, but its queue starts jobs strictly in order, and one before it waits."
    assert answer["change"]["text"] == "Nothing of the job's own: wait for the jobs before it."
