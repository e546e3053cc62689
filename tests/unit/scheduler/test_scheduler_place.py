"""Placement rule by rule: localities and what they wait for, fills, gangs, reservations, and reasons."""

from dataclasses import replace

import numpy as np
import pytest

from scheduler.core.plan import Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementOutcome, PlacementPolicy, begin, finish, run
from tests.amounts import R
from tests.worlds import Ask, Node, Queue, build

ALL = 1 << 40
QUEUES = [Queue("root"), Queue("root.a")]


def one_pass(
    s: Snapshot, policy: PlacementPolicy, memo: Memo | None = None, now: float = 0.0, share: int = ALL, **more: bool
) -> PlacementOutcome:
    """One pass over all asks in order, all of one entity."""
    placement = begin(s, memo or Memo(), policy, now, s.nodes.free)
    a = len(s.asks.key)
    order, entity = np.arange(a, dtype=np.int32), np.zeros(a, np.int32)
    run(placement, order, entity, np.full((1, R), share, np.int64), more.get("overshoot", False))
    return finish(placement, order, entity)


def held_out(since: float) -> Memo:
    """The first ask has let an opportunity pass."""
    return Memo(delayed=np.zeros(1, np.int64), missed=np.ones(1, np.int64), delayed_since=np.array([since]))


def racks(*used: int) -> list[Node]:
    """Two nodes to a rack, room for four each."""
    return [Node((4, 4, 4), (u, u, u), rack=i // 2) for i, u in enumerate(used)]


def reasons(found: PlacementOutcome) -> list[Why]:
    return [Why(w) for w in found.why.tolist()]


# Node 0 is preferred and full, 1 is in its rack, 2 and 3 are in another.
@pytest.mark.parametrize(
    ("used", "now", "node", "why"),
    [
        ((0, 0, 0, 0), 0.0, 0, Why.PLACED),
        ((4, 0, 0, 0), 2.9, None, Why.LOCALITY_WAIT),
        ((4, 0, 0, 0), 3.0, 1, Why.PLACED),
        ((4, 4, 0, 0), 6.9, None, Why.LOCALITY_WAIT),
        ((4, 4, 4, 0), 7.0, 3, Why.PLACED),
        ((4, 0, 0, 0), 7.0, 1, Why.PLACED),  # may go anywhere, and still takes the nearest
        ((0, 0, 0, 0), 7.0, 0, Why.PLACED),
        ((4, 4, 4, 4), 0.0, None, Why.NO_ROOM),  # nothing was held back
    ],
)
def test_levels_open_by_time(used, now: float, node: int | None, why: Why) -> None:
    s = build(racks(*used), QUEUES, [Ask(1, 1, near=[0])], [(1, 1, 1)])
    found = one_pass(s, PlacementPolicy(node_wait_s=3.0, rack_wait_s=4.0), held_out(0.0), now)
    assert found.place.node.tolist() == ([] if node is None else [node])
    assert reasons(found) == [why]


def test_levels_open_by_missed_opportunities_which_rounds_carry_on() -> None:
    s = build(racks(4, 4, 0, 0), QUEUES, [Ask(1, 1, near=[0])], [(1, 1, 1)])
    policy = PlacementPolicy(node_wait_s=1e9, rack_wait_s=1e9, node_misses=2, rack_misses=1)
    memo, placed = Memo(), []
    for _ in range(4):
        found = one_pass(s, policy, memo)
        memo = found.memo
        placed.append(len(found.place.node))
    assert placed == [0, 0, 0, 1]
    assert not len(memo.delayed)


def test_an_opportunity_counts_once_a_round_and_only_if_there_was_one() -> None:
    s = build(racks(4, 4, 0, 0), QUEUES, [Ask(1, 1, near=[0])], [(1, 1, 1)])
    placement = begin(s, Memo(), PlacementPolicy(), 0.0, s.nodes.free)
    order, entity, share = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full((1, R), ALL)
    for _ in range(3):
        run(placement, order, entity, share, False)
    assert finish(placement, order, entity).memo.missed.tolist() == [1]
    full = build(racks(4, 4, 4, 4), QUEUES, [Ask(1, 1, near=[0])], [(1, 1, 1)])
    assert not len(one_pass(full, PlacementPolicy()).memo.delayed)


def test_nobody_waits_for_what_cannot_come() -> None:
    closed = [Node((4, 4, 4), open=False, rack=0), Node((4, 4, 4), rack=1)]
    s = build(closed, QUEUES, [Ask(1, 1, near=[0]), Ask(1, 1, near_racks=[0])], [(1, 1, 1)])
    assert one_pass(s, PlacementPolicy()).place.node.tolist() == [1, 1]


def test_racks_named_by_an_ask_come_before_those_of_its_nodes() -> None:
    s = build(racks(4, 0, 0, 0), QUEUES, [Ask(1, 2, near=[0], near_racks=[1])], [(3, 3, 3)])
    assert sorted(one_pass(s, PlacementPolicy(), held_out(-5.0)).place.node.tolist()) == [2, 3]


FOUR = [Node((8, 8, 8), (u, u, u)) for u in (4, 1, 0, 6)]


@pytest.mark.parametrize(
    ("fill", "nodes"),
    [
        (Fill.PACK, [3, 3, 0, 0, 0]),
        (Fill.SPREAD, [2, 1, 2, 1, 2]),
        (Fill.FIRST_FIT, [0, 0, 0, 0, 1]),
    ],
)
def test_fills(fill: Fill, nodes: list[int]) -> None:
    s = build(FOUR, QUEUES, [Ask(1, 5)], [(1, 1, 1)])
    assert one_pass(s, PlacementPolicy(fill=fill)).place.node.tolist() == nodes


def test_align_takes_the_node_that_has_what_the_ask_wants() -> None:
    nodes = [Node((8, 8, 8), (6, 0, 0)), Node((8, 8, 8), (0, 6, 0))]
    s = build(nodes, QUEUES, [Ask(1, 1, shape=0), Ask(1, 1, shape=1)], [(2, 1, 0), (1, 2, 0)])
    assert one_pass(s, PlacementPolicy(fill=Fill.ALIGN)).place.node.tolist() == [1, 0]


def test_an_ask_may_name_its_own_fill() -> None:
    s = build(FOUR, QUEUES, [Ask(1, 2), Ask(1, 2, fill=Fill.PACK)], [(1, 1, 1)])
    assert one_pass(s, PlacementPolicy(fill=Fill.SPREAD)).place.node.tolist() == [2, 1, 3, 3]


def test_spreading_is_level_over_rounds_and_kinds() -> None:
    """Asks of many kinds leave nodes of equal size equally full, to the size of a container."""
    nodes = [Node((60, 60, 0)) for _ in range(10)]
    s = build(nodes, QUEUES, [Ask(1, 1, shape=i % 3) for i in range(120)], [(1, 1, 0), (2, 1, 0), (3, 1, 0)])
    found = one_pass(s, PlacementPolicy())
    load = np.bincount(found.place.node, weights=s.asks.shapes[s.asks.shape[found.place.ask], 0])
    assert load.max() - load.min() <= 5


@pytest.mark.parametrize(
    ("count", "limit", "why"),
    [
        (6, (ALL,) * R, Why.PLACED),
        (7, (ALL,) * R, Why.GANG),
        (17, (ALL,) * R, Why.NO_NODE_MATCHES),  # not even on the empty cluster
        (6, (5, 9, 9), Why.QUEUE_MAXIMUM),
    ],
)
def test_a_gang_is_placed_whole_or_not_at_all(count: int, limit, why: Why) -> None:
    nodes = [Node((8, 8, 0), (u, 0, 0), rack=i) for i, u in enumerate((2, 8))]
    s = build(nodes, [QUEUES[0], Queue("root.a", limit)], [Ask(1, count, gang=True, near=[1])], [(1, 1, 0)])
    found = one_pass(s, PlacementPolicy(batch=3))
    assert reasons(found) == [why]
    assert len(found.place.node) == (count if why == Why.PLACED else 0)


def test_shares_hold_and_overshoot_is_one_container_of_each_entity() -> None:
    s = build(FOUR, QUEUES, [Ask(1, 2), Ask(1, 2)], [(2, 2, 2)])
    found = one_pass(s, PlacementPolicy(), share=3)
    assert np.bincount(found.place.ask).tolist() == [1]
    assert reasons(found) == [Why.QUEUE_SHARE] * 2
    found = one_pass(s, PlacementPolicy(), share=3, overshoot=True)
    assert np.bincount(found.place.ask, minlength=2).tolist() == [2, 0]


def test_reasons_name_the_row_that_binds() -> None:
    queues = [Queue("root", (9, 9, 9)), Queue("root.a", (3, 3, 3)), Queue("root.b")]
    asks = [Ask(1, 9), Ask(2, 9, user=5), Ask(2, 9, user=6)]
    s = build(FOUR, queues, asks, [(1, 1, 1)], user_maximum={(2, 5): (2, 9, 9)})
    found = one_pass(s, PlacementPolicy())
    assert reasons(found) == [Why.QUEUE_MAXIMUM, Why.USER_MAXIMUM, Why.QUEUE_MAXIMUM]
    assert found.binding_row.tolist() == [1, 1, 0]


def test_a_full_round_says_so() -> None:
    s = build(FOUR, QUEUES, [Ask(1, 2), Ask(1, 2)], [(1, 1, 1)])
    found = one_pass(s, PlacementPolicy(batch=3))
    assert reasons(found) == [Why.PLACED, Why.ROUND_FULL]


def test_a_node_is_reserved_for_the_large_ask_and_given_to_it() -> None:
    policy = PlacementPolicy(reserve_after_s=10.0)
    nodes = [Node((8, 8, 8), (5, 5, 5)), Node((8, 8, 8), (3, 3, 3)), Node((4, 4, 4))]
    s = build(nodes, QUEUES, [Ask(1, 1), Ask(1, 9, shape=1)], [(8, 8, 8), (1, 1, 1)])
    first = one_pass(s, policy, now=11.0)
    assert first.reserve.ask.tolist() == [0]
    assert first.reserve.node.tolist() == [1]  # where the least has to be freed
    held = build(nodes, QUEUES, [Ask(1, 1), Ask(1, 99, shape=1)], [(8, 8, 8), (1, 1, 1)])
    second = one_pass(held, policy, first.memo, now=12.0)
    assert 1 not in second.place.node.tolist()
    assert reasons(second) == [Why.NO_ROOM, Why.RESERVED]
    assert second.memo.reserved_at.tolist() == [11.0]
    drained = build(
        [nodes[0], Node((8, 8, 8)), nodes[2]], QUEUES, [Ask(1, 1), Ask(1, 99, shape=1)], [(8, 8, 8), (1, 1, 1)]
    )
    third = one_pass(drained, policy, second.memo, now=13.0)
    assert (0, 1) in zip(third.place.ask.tolist(), third.place.node.tolist(), strict=True)
    assert not len(third.memo.reserved)


def test_a_reservation_ends() -> None:
    nodes = [Node((8, 8, 8), (5, 5, 5)), Node((8, 8, 8), (3, 3, 3))]
    memo = Memo(reserved=np.array([0]), reserved_node=np.array([1]), reserved_at=np.array([0.0]))

    def kept(now: float, ask: Ask, *, open_: bool = True) -> list[int]:
        s = build([nodes[0], Node((8, 8, 8), (3, 3, 3), open_)], QUEUES, [ask], [(8, 8, 8), (4, 4, 4)])
        return one_pass(s, PlacementPolicy(reserve_max_s=600.0, reserve_after_s=1e9), memo, now).memo.reserved.tolist()

    assert kept(600.0, Ask(1, 1)) == [0]
    assert kept(601.0, Ask(1, 1)) == []
    assert kept(1.0, Ask(1, 0)) == []
    assert kept(1.0, Ask(1, 2, gang=True)) == [0]
    assert kept(1.0, Ask(1, 1), open_=False) == []
    assert kept(1.0, Ask(1, 1, shape=1)) == []  # fits by now, on that node


def test_a_reservation_ends_with_the_room_below_its_maxima() -> None:
    """Of the queue, one above it, and the user; a gang needs room for all of it."""
    memo = Memo(reserved=np.array([0]), reserved_node=np.array([0]), reserved_at=np.array([0.0]))

    def kept(queue: int, above: int, user: int, ask: Ask) -> tuple[list[int], int]:
        queues = [Queue("root"), Queue("root.a", (above,) * 3), Queue("root.a.b", (queue,) * 3, own=(4, 4, 4))]
        small = Ask(0, 9, shape=1)
        s = build(
            [Node((8, 8, 8), (4, 4, 4))], queues, [ask, small], [(8, 8, 8), (1, 1, 1)], None, {(2, 0): (user,) * 3}
        )
        found = one_pass(s, PlacementPolicy(reserve_after_s=1e9), memo, 1.0)
        return found.memo.reserved.tolist(), len(found.place.ask)

    assert kept(12, 12, 8, Ask(2, 1)) == ([0], 0)
    assert kept(11, 12, 8, Ask(2, 1)) == ([], 4), "what is free is given away"
    assert kept(12, 11, 8, Ask(2, 1)) == ([], 4)
    assert kept(12, 12, 7, Ask(2, 1)) == ([], 4)
    assert kept(20, 20, 16, Ask(2, 2, gang=True))[0] == [0]
    assert kept(19, 20, 16, Ask(2, 2, gang=True))[0] == []
    assert kept(19, 20, 16, Ask(2, 2))[0] == [0], "one of them may still start"


def test_a_node_that_may_not_be_held_is_neither_chosen_nor_kept() -> None:
    nodes, policy = [Node((8, 8, 8), (2, 2, 2)), Node((8, 8, 8), (3, 3, 3))], PlacementPolicy(reserve_after_s=1.0)
    s = build(nodes, QUEUES, [Ask(1, 1)], [(8, 8, 8)])
    first = one_pass(s, policy, now=2.0)
    assert first.memo.reserved_node.tolist() == [0]
    barred = replace(s, nodes=replace(s.nodes, reservable=np.array([False, True])))
    assert one_pass(barred, policy, first.memo, now=3.0).memo.reserved_node.tolist() == [1]


@pytest.mark.parametrize("large", [Ask(1, 1), Ask(1, 24, shape=1, gang=True)])
@pytest.mark.parametrize("reserving", [True, False])
def test_a_large_ask_starts_in_spite_of_endless_small_ones(reserving: bool, large: Ask) -> None:
    """Small ones end one by one and others are always there; only reservations ever free whole nodes."""
    policy = PlacementPolicy(reserve_after_s=5.0, reserve_max_node_share=0.2 if reserving else 0.0)
    rng, n, memo = np.random.default_rng(4), 20, Memo()
    running: list[list[float]] = [[float(rng.uniform(0, 30)) for _ in range(8)] for _ in range(n)]
    started = None
    for now in range(200):
        running = [[end for end in ends if end > now] for ends in running]
        nodes = [Node((8, 8, 0), (len(ends), len(ends), 0)) for ends in running]
        s = build(nodes, QUEUES, [large, Ask(1, 500, shape=1)], [(8, 8, 0), (1, 1, 0)])
        found = one_pass(s, policy, memo, float(now))
        memo = found.memo
        for ask, node in zip(found.place.ask.tolist(), found.place.node.tolist(), strict=True):
            if ask == 0:
                started = now
            running[node].append(now + float(rng.uniform(20, 30)))
        if started is not None:
            break
    assert (started is not None and started <= 5 + 30 + 2) == reserving
