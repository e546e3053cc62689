"""plan_round against a slow reference that places one container at a time, and against what it claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.invariants import InvariantError, check_plan, check_reserved
from scheduler.core.plan import Place, Plan, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from tests.amounts import amounts
from tests.examples import examples
from tests.worlds import Ask, Node, Queue, build, snapshots

EXAMPLES = examples(150)


policies = st.builds(
    lambda fill, batch: RoundPolicy(PlacementPolicy(fill, batch, reserve_max_node_share=0.0)),
    st.sampled_from(list(Fill)),
    st.sampled_from([1, 4, 9, 10_000]),
)


def plan(s: Snapshot, policy: RoundPolicy, cursor: int = 0) -> tuple[Plan, Memo]:
    return plan_round(s, Memo(cursor), policy, 0.0)


@EXAMPLES
@given(snapshots(), policies)
def test_it_keeps_every_limit_and_every_reason_is_true(s: Snapshot, policy: RoundPolicy) -> None:
    found, _ = plan(s, policy)
    check_plan(s, found)
    placed = np.bincount(found.place.ask, minlength=len(s.asks.count))
    most = max([policy.placement.batch, *s.asks.count[s.asks.gang].tolist()])  # a larger gang is a batch
    assert placed.sum() <= most
    refused = {} if found.refused is None else dict(zip(found.refused.ask.tolist(), range(99), strict=False))
    if placed.sum() < policy.placement.batch:
        assert set(refused) == set(np.flatnonzero(placed < s.asks.count).tolist()), "an ask short of its count says why"
    if placed.sum() >= policy.placement.batch or most > policy.placement.batch:
        return
    for ask, row in refused.items():
        assert found.refused.missing[row] == s.asks.count[ask] - placed[ask]
        why = Why(int(found.refused.why[row]))
        if why is Why.ROUND_FULL:  # a gang came after others, and not all of it had room in what was left of the batch
            assert s.asks.gang[ask] and placed.sum() + s.asks.count[ask] > policy.placement.batch
        else:
            reason_holds(s, found, ask, why, int(found.refused.binding_row[row]))


def reason_holds(s: Snapshot, found: Plan, ask: int, why: Why, detail: int) -> None:
    asks, nodes = s.asks, s.nodes
    shape, mask = asks.shapes[asks.shape[ask]], asks.masks[asks.mask[ask]]
    shapes = asks.shapes[asks.shape[found.place.ask]]
    free = nodes.free.copy()
    np.subtract.at(free, found.place.node, shapes)
    units = int(asks.count[ask]) if asks.gang[ask] else 1
    asked = shape > 0
    room = np.where(nodes.open & mask, (free[:, asked] // shape[asked]).min(axis=1, initial=99), 0).clip(0).sum()
    empty = np.where(mask, (nodes.capacity[:, asked] // shape[asked]).min(axis=1, initial=99), 0).sum()
    if why in (Why.QUEUE_MAXIMUM, Why.USER_MAXIMUM):
        used, most = usage_of(s, found, shapes, ask, why, detail)
        assert ((used + shape * units > most) & asked).any()
        return
    assert detail == -1
    assert why not in (Why.ROUND_FULL, Why.QUEUE_SHARE, Why.RESERVED), "nothing of this kind is left over"
    if why == Why.LOCALITY_WAIT:
        assert room and asks.near_from[ask + 1] + asks.near_rack_from[ask + 1] > 0
        return
    assert room < units, "the nodes have room, so room was not the reason"
    if not nodes.open.any():
        assert why == Why.NO_NODES
    elif empty < units:
        assert why == Why.NO_NODE_MATCHES
    else:
        assert why == (Why.GANG if asks.gang[ask] and room else Why.NO_ROOM)


def usage_of(s: Snapshot, found: Plan, shapes: np.ndarray, ask: int, why: Why, row: int) -> tuple:
    """What the queue or user holds after the plan, and may hold."""
    queue = s.ask_queue
    if why == Why.USER_MAXIMUM:
        user = s.jobs.user[s.asks.job]
        assert row == user[ask]
        return s.users.used[row] + shapes[user[found.place.ask] == row].sum(axis=0), s.users.maximum[row]
    assert any_above(s, int(queue[ask]), row)
    below = [any_above(s, int(x), row) for x in queue[found.place.ask]]
    return s.queues.used[row] + shapes[np.array(below, bool)].sum(axis=0), s.queues.maximum[row]


def any_above(s: Snapshot, queue: int, wanted: int) -> bool:
    while queue >= 0:
        if queue == wanted:
            return True
        queue = int(s.queues.parent[queue])
    return False


@EXAMPLES
@given(snapshots(), policies)
def test_same_arguments_same_plan_and_nothing_is_changed(s: Snapshot, policy: RoundPolicy) -> None:
    before = [x.copy() for x in (s.nodes.free, s.queues.used, s.asks.count)]
    first, memo = plan(s, policy, 0)
    second, again = plan(s, policy, 0)
    np.testing.assert_array_equal(first.place.ask, second.place.ask)
    np.testing.assert_array_equal(first.place.node, second.place.node)
    assert memo.cursor == again.cursor
    for old, new in zip(before, (s.nodes.free, s.queues.used, s.asks.count), strict=True):
        np.testing.assert_array_equal(old, new)


def small() -> Snapshot:
    return build(
        [Node((8, 8, 1)), Node((8, 8, 1), open=False)],
        [Queue("root", (16, 16, 2)), Queue("root.a", (3, 16, 2))],
        [Ask(0, 9), Ask(1, 9, mask=1)],
        [(2, 2, 0)],
        [[True, True], [False, True]],
    )


@pytest.mark.parametrize(
    ("change", "ask", "node", "told"),
    [
        ("", [0] * 5, [0] * 5, "more than they have"),
        ("", [0], [1], "takes none"),
        ("open", [0] * 4 + [1], [0] * 4 + [0], "more than they have|labels exclude"),
        ("open", [1], [0], "labels exclude"),
        ("open", [1, 1], [1, 1], "over their maximum.*root.a"),
        ("few", [0, 0], [0, 0], "more than it wants"),
    ],
)
def test_planted_violations_are_found(change: str, ask: list[int], node: list[int], told: str) -> None:
    s = small()
    if change == "open":
        s.nodes.open[:] = True
    if change == "few":
        s.asks.count[:] = 1
    with pytest.raises(InvariantError, match=told):
        check_plan(s, Plan(Place(np.array(ask, np.int32), np.array(node, np.int32))))


def test_planted_violations_of_users_gangs_and_reservations_are_found() -> None:
    s = build(
        [Node((8, 8, 1))],
        [Queue("root", (16, 16, 2))],
        [Ask(0, 3, gang=True), Ask(0, 3, user=1)],
        [(2, 2, 0)],
        user_maximum={(0, 1): (2, 2, 0)},
    )

    def placed(*asks: int) -> Plan:
        return Plan(Place(np.array(asks, np.int32), np.zeros(len(asks), np.int32)))

    check_plan(s, placed(0, 0, 0, 1))
    for ask, told in ((0, "gang"), (1, "user")):
        with pytest.raises(InvariantError, match=told):
            check_plan(s, placed(ask, ask))
    held = Memo(reserved=s.asks.key[:1], reserved_node=np.zeros(1, np.int64), reserved_at=np.zeros(1))
    check_reserved(s, placed(0, 0, 0), held, held)
    check_reserved(s, placed(1), held, Memo())
    with pytest.raises(InvariantError, match="reserved"):
        check_reserved(s, placed(1), held, held)


def test_a_large_round_in_one_go() -> None:
    """Thousands of containers of 300 asks on 3,000 nodes: every limit holds, and nothing placeable is left."""
    rng = np.random.default_rng(5)
    capacity = amounts(64_000, 32_000)
    nodes = [Node(capacity, (int(rng.integers(60_000)), 0, 0), bool(rng.random() < 0.95)) for _ in range(3000)]
    top = np.array(capacity) * len(nodes)
    queues = [Queue("root", top.tolist()), Queue("root.a", (top // 2).tolist()), Queue("root.b", (top // 50).tolist())]
    asks = [
        Ask(*(int(rng.integers(*x)) for x in ((1, 3), (1, 130), (0, 3))), priority=int(rng.integers(3)))
        for _ in range(300)
    ]
    s = build(nodes, queues, asks, [(256, 100, 0), (2048, 1000, 0), (30_000, 4000, 0)])
    found, _ = plan(s, RoundPolicy(PlacementPolicy(batch=20_000)))
    check_plan(s, found)
    assert len(found.place.ask) > 8_000
    for row, ask in enumerate([] if found.refused is None else found.refused.ask.tolist()):
        reason_holds(s, found, ask, Why(int(found.refused.why[row])), int(found.refused.binding_row[row]))
