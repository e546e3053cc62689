"""What waiting asks are told, word for word, in situations with one right answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scheduler.core.snapshot import Memo, Running, Snapshot
from scheduler.explain.columns import explain_all
from scheduler.explain.feasibility import free_pieces
from scheduler.explain.forecast import Forecast
from scheduler.explain.sentence import AskContext, describe
from scheduler.round import RoundPolicy, plan_round
from tests.worlds import Ask, Node, Queue, build
from wire.resources import NOTHING

GIB = 1024
WHOLE = (8 * GIB, 8000, 0)


def told(s: Snapshot, ask: int = 0, about: AskContext | None = None, before: Memo | None = None) -> dict[str, Any]:
    policy = RoundPolicy()
    plan, memo = plan_round(s, before or Memo(), policy, 0.0)
    assert plan.outcome is not None
    e = explain_all(s, plan.outcome, memo, policy.placement, 0.0)
    row = e.columns.ask.tolist().index(ask)
    assert plan.refused is not None
    why = dict(zip(plan.refused.ask.tolist(), plan.refused.why.tolist(), strict=True))[ask]
    answer = describe(e, row, about or AskContext())
    assert int(e.columns.limits[row]) >> why & 1, "what the round says is among the limits"
    return answer


def test_fragmentation():
    nodes = [Node(WHOLE, (5 * GIB, 1000, 0)), Node(WHOLE, (6 * GIB, 1000, 0))]
    answer = told(build(nodes, [Queue("root")], [Ask(0, 1)], [(4 * GIB, 1000, 0)]))
    assert answer["text"] == "Largest free piece 3,072 MiB of memory, asked 4,096; it starts when room is free."
    assert answer["limits"][0]["available"] == {"memory_mib": 3072}
    assert answer["change"]["per_container_at_most"] == {"memory_mib": 3072}
    assert answer["change"]["starts"]


def test_no_node_has_all_of_it():
    nodes = [Node(WHOLE, (7 * GIB, 0, 0)), Node(WHOLE, (0, 7500, 0))]
    answer = told(build(nodes, [Queue("root")], [Ask(0, 1)], [(2 * GIB, 1000, 0)]))
    assert answer["code"] == "no_room"
    assert "every resource at once: the nearest has" in answer["text"]
    assert answer["limits"][0]["asked"] in ({"memory_mib": 2048}, {"vcores_milli": 1000})


def test_the_largest_containers_are_counted_too():
    large = free_pieces(np.array([[2**24, 10**6, 0]]), np.array([True]), np.array([2**23, 1000, 0]))
    assert large.fits == 2


def test_too_large_for_any_node():
    answer = told(build([Node(WHOLE)], [Queue("root")], [Ask(0, 1)], [(900 * GIB, 1000, 0)]))
    assert answer["text"] == "Asked 921,600 MiB of memory per container; the largest node has 8,192."
    assert answer["change"]["per_container_at_most"] == {"memory_mib": 8192}
    assert answer["estimate"]["text"] == "It does not start here by waiting: no node of this sub-cluster can hold it."


def test_a_gpu_where_none_is_and_more_than_a_node_has():
    none = told(build([Node(WHOLE)], [Queue("root")], [Ask(0, 1)], [(GIB, 1000, 1)]))
    assert none["change"]["text"] == "Ask for no GPUs."
    assert none["change"]["per_container_at_most"] == {"gpus": 0}
    two = told(build([Node((8 * GIB, 8000, 2))], [Queue("root")], [Ask(0, 1)], [(GIB, 1000, 32)]))
    assert two["change"]["per_container_at_most"] == {"gpus": 2}


def test_several_limits_in_their_order():
    nodes = [Node(WHOLE, (7 * GIB, 7000, 0))]
    queues = [Queue("root"), Queue("root.prod", maximum=(GIB, 8000, 0), own=(GIB, 0, 0))]
    answer = told(build(nodes, queues, [Ask(1, 1)], [(2 * GIB, 1000, 0)]))
    assert [x["limit"] for x in answer["limits"]] == ["queue_maximum", "no_room"]
    assert answer["text"] == "The queue root.prod is at its maximum: 0 MiB of memory left, asked 2,048."
    assert answer["change"]["what"] == "several"
    assert answer["change"]["text"] == (
        "Raise the maximum of root.prod by 1,024 MiB of memory, and ask for at most 1,024 MiB of memory per container."
    )


@pytest.mark.parametrize(
    ("elsewhere", "says"),
    [
        (
            True,
            "The queue root.prod may hold none here (all that it may hold is in other sub-clusters): 0 MiB of memory",
        ),
        (
            False,
            "The queue root.prod may hold none here (its maximum is nothing, or a share of what its partition lacks)",
        ),
    ],
)
def test_a_queue_that_may_hold_none_here_is_told_why(elsewhere: bool, says: str):
    s = build([Node(WHOLE)], [Queue("root"), Queue("root.prod", maximum=(0, 8000, 0))], [Ask(1, 1)], [(GIB, 1000, 0)])
    where = np.zeros(s.queues.maximum.shape, np.bool_)
    where[1, 0] = elsewhere
    assert told(replace(s, queues=replace(s.queues, elsewhere=where)))["text"].startswith(says)


def test_a_user_at_the_maximum():
    asks = [Ask(0, 3, used=(GIB, *NOTHING[1:]))]
    s = build(
        [Node(WHOLE)],
        [Queue("root", own=(GIB, *NOTHING[1:]))],
        asks,
        [(GIB, 1000, 0)],
        None,
        {(0, 0): (2 * GIB, 8000, *NOTHING[2:])},
    )
    answer = told(s)
    assert (answer["code"], answer["waiting"]) == ("user_maximum", 2)
    assert answer["change"]["raise"] == [{"of": "what one user may hold in root", "by": {"memory_mib": 1024}}]


def test_a_gang_is_told_how_many_fit():
    answer = told(build([Node(WHOLE, (3 * GIB, 0, 0))], [Queue("root")], [Ask(0, 8, gang=True)], [(GIB, 1000, 0)]))
    assert answer["text"] == "Needs 8 at once; 5 fit now."
    assert answer["change"] == {"what": "gang", "at_once": 5, "text": "Ask for 5 instead of 8 at once.", "starts": True}


@pytest.mark.parametrize(("late_at", "level", "left"), [(-1.0, "node", 2.0), (-4.0, "rack", 2.0)])
def test_waiting_for_a_place_near_the_data(late_at: float, level: str, left: float):
    full, empty = Node(WHOLE, WHOLE), Node(WHOLE, rack=1)
    s = build([full, empty], [Queue("root")], [Ask(0, 1, near=[0], since=-1000.0)], [(GIB, 1000, 0)])
    held_back = Memo(delayed=np.array([0]), missed=np.array([1]), delayed_since=np.array([late_at]))
    answer = told(s, before=held_back)
    limit = answer["limits"][0]
    assert (limit["limit"], limit["level"], limit["wait_s"]) == ("locality_wait", level, left)
    assert answer["change"]["what"] == "locality"
    assert answer["change"]["starts"]


def test_a_node_that_is_full_and_held_free_takes_containers_all_the_same():
    shapes = [(2 * GIB, 1500, 0), (2 * GIB, 1600, 0)]
    s = build([Node((8 * GIB, 2000, 0), (GIB, 1500, 0))], [Queue("root")], [Ask(0, 1, 0), Ask(0, 1, 1)], shapes)
    holds = Memo(reserved=np.array([0]), reserved_node=np.array([0]), reserved_at=np.array([-60.0]))
    assert told(s, 0, before=holds)["text"].startswith("Largest free piece 0.5 cores, asked 1.5")
    assert (
        told(s, 1, before=holds)["text"] == "Every matching node is full, and held free for a job that waited longer."
    )
    shut = build(
        [Node(WHOLE, open=False), Node(WHOLE)], [Queue("root")], [Ask(0, 1)], [(GIB, 1000, 0)], [[True, False]]
    )
    assert told(shut)["text"] == "No matching node takes containers now."


def test_the_label_to_drop():
    s = build([Node(WHOLE)], [Queue("root")], [Ask(0, 1)], [(GIB, 1000, 0)], [[False]])
    answer = told(s, about=AskContext("gpu", relaxed=lambda: [("Drop the label condition 'gpu'.", np.array([True]))]))
    assert answer["text"] == "No node that it may use matches the labels 'gpu'."
    assert told(s)["text"] == "No node of its partition is among those it may run on."
    assert answer["change"] == {"what": "nodes", "text": "Drop the label condition 'gpu'.", "starts": True}


def test_of_several_things_that_are_short_the_shortest_is_told():
    """A gang's nodes lack a little memory and nearly all cores."""
    nodes = [Node(WHOLE, (7 * GIB, 7900, 0)), Node(WHOLE, (7 * GIB, 7900, 0))]
    answer = told(build(nodes, [Queue("root")], [Ask(0, 2, gang=True)], [(GIB + 1, 4000, 0)]))
    assert answer["text"] == "Largest free piece 0.1 cores, asked 4; it starts when room is free."
    answer = told(build([Node((GIB, 1000, 0))], [Queue("root")], [Ask(0, 2, gang=True)], [(GIB + 1, 4000, 0)]))
    assert answer["text"] == "Asked 4 cores per container; the largest node has 1."
    queues = [Queue("root"), Queue("root.a", maximum=(2 * GIB, 500, 0))]
    answer = told(build([Node(WHOLE)], queues, [Ask(1, 2, gang=True)], [(GIB + 1, 4000, 0)]))
    assert answer["text"] == "The queue root.a is at its maximum: 0.5 cores left, asked 8 for 2 at once."


def test_work_that_has_outlived_its_estimate_promises_nothing():
    """It was to take a second, and has run for half a minute: it may end soon, or go on."""
    s = build([Node(WHOLE, WHOLE)], [Queue("root", own=WHOLE)], [Ask(0, 1)], [(GIB, 1000, 0)])
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int32)
    running = Running(one, zero, zero - 1, zero, zero, np.array([WHOLE]), np.array([-30.0]), np.array([0.25]),
                      np.zeros(1, np.bool_), overdue=np.ones(1, np.bool_))  # fmt: skip
    plan, memo = plan_round(s, Memo(), RoundPolicy(), 0.0)
    assert plan.outcome is not None
    e = explain_all(s, plan.outcome, memo, RoundPolicy().placement, 0.0)
    forecast = Forecast(replace(s, running=running), plan.outcome.free, 0.0)
    found = describe(e, 0, AskContext(), forecast)["estimate"]
    assert (found["earliest_s"], found["latest_s"]) == (0.2, None)
    assert found["text"] == "At any moment, or later. Work that it waits for has outlived its estimate."
    known = replace(running, ends=np.array([30.0]), overdue=None)
    found = describe(e, 0, AskContext(), Forecast(replace(s, running=known), plan.outcome.free, 0.0))["estimate"]
    assert found["text"] == "In 30 s."
