"""plan_round against a slow reference that places one container at a time, and against what it claims."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.invariants import InvariantError, check_plan
from scheduler.core.plan import Place, Plan, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.round import RoundPolicy, plan_round, service_order
from tests.worlds import Ask, Node, Queue, build, snapshots

EXAMPLES = settings(max_examples=150, deadline=None)


policies = st.builds(
    RoundPolicy, placement=st.sampled_from(["spread", "first_fit"]), batch=st.sampled_from([1, 4, 9, 10_000])
)


def plan(s: Snapshot, policy: RoundPolicy, cursor: int = 0, proposals: tuple[Place, ...] = ()) -> tuple[Plan, Memo]:
    return plan_round(s, Memo(cursor), proposals, policy, 0.0, np.random.default_rng(1))


class Reference:
    """One container at a time: is there a node, does every queue above allow it?"""

    def __init__(self, s: Snapshot, policy: RoundPolicy, cursor: int):
        self.s, self.policy, self.cursor = s, policy, cursor
        self.free, self.used = s.nodes.free.copy(), s.queues.used.copy()
        self.left = policy.batch
        self.placed: list[tuple[int, int]] = []
        self._run()

    def _run(self) -> None:
        asks = self.s.asks
        runs: list[list[int]] = []
        for a in service_order(self.s).tolist():
            kind = (self.s.ask_queue[a], asks.shape[a], asks.mask[a])
            if runs and kind == tuple(x[runs[-1][0]] for x in (self.s.ask_queue, asks.shape, asks.mask)):
                runs[-1].append(a)
            else:
                runs.append([a])
        for run in runs:
            self._place(run)

    def _allowed(self, queue: int, shape: np.ndarray) -> bool:
        while queue >= 0:
            if ((self.used[queue] + shape > self.s.queues.maximum[queue]) & (shape > 0)).any():
                return False
            queue = int(self.s.queues.parent[queue])
        return True

    def _place(self, run: list[int]) -> None:
        s, asks, queue = self.s, self.s.asks, int(self.s.ask_queue[run[0]])
        shape, n = asks.shapes[asks.shape[run[0]]], len(s.nodes.open)
        order = [(self.cursor + i) % n for i in range(n)]
        given = dict.fromkeys(order, 0)
        for _ in range(int(asks.count[run].sum())):
            able = [
                at
                for at in order
                if s.nodes.open[at]
                and asks.masks[asks.mask[run[0]], at]
                and ((self.free[at] >= shape) | (shape == 0)).all()
            ]
            if not able or not self.left or not self._allowed(queue, shape):
                break
            at = able[0] if self.policy.placement == "first_fit" else min(able, key=lambda x: given[x])
            self.free[at] -= shape
            given[at] += 1
            self.left -= 1
            up = queue
            while up >= 0:
                self.used[up] += shape
                up = int(s.queues.parent[up])
        nodes = sorted(at for at, k in given.items() for _ in range(k))
        owners = [a for a in run for _ in range(int(asks.count[a]))]
        self.placed += zip(owners, nodes, strict=False)
        if nodes:
            self.cursor = (nodes[-1] + 1) % n


@EXAMPLES
@given(snapshots(), policies, st.integers(0, 5))
def test_it_places_what_the_reference_places(s: Snapshot, policy: RoundPolicy, cursor: int) -> None:
    cursor %= max(1, len(s.nodes.open))
    found, memo = plan(s, policy, cursor)
    expected = Reference(s, policy, cursor)
    assert sorted(zip(found.place.ask.tolist(), found.place.node.tolist(), strict=True)) == sorted(expected.placed)
    assert memo.cursor == expected.cursor


@EXAMPLES
@given(snapshots(), policies)
def test_it_keeps_every_limit_and_every_reason_is_true(s: Snapshot, policy: RoundPolicy) -> None:
    found, _ = plan(s, policy)
    check_plan(s, found)
    placed = np.bincount(found.place.ask, minlength=len(s.asks.count))
    assert placed.sum() <= policy.batch
    refused = {} if found.refused is None else dict(zip(found.refused.ask.tolist(), range(99), strict=False))
    if placed.sum() < policy.batch:
        assert set(refused) == set(np.flatnonzero(placed < s.asks.count).tolist()), "an ask short of its count says why"
    for ask, row in refused.items():
        assert found.refused.missing[row] == s.asks.count[ask] - placed[ask]
        reason_holds(s, found, ask, Why(int(found.refused.why[row])), int(found.refused.detail[row]))


def reason_holds(s: Snapshot, found: Plan, ask: int, why: Why, detail: int) -> None:
    asks, nodes = s.asks, s.nodes
    shape, mask = asks.shapes[asks.shape[ask]], asks.masks[asks.mask[ask]]
    shapes = asks.shapes[asks.shape[found.place.ask]]
    free = nodes.free.copy()
    np.subtract.at(free, found.place.node, shapes)
    fits = nodes.open & mask & ((free >= shape) | (shape == 0)).all(axis=1)
    big_enough = mask & (nodes.capacity >= shape).all(axis=1)
    if why == Why.QUEUE_MAXIMUM:
        path, q = [], int(s.ask_queue[ask])
        while q >= 0:
            path.append(q)
            q = int(s.queues.parent[q])
        assert detail in path
        below = [any_above(s, int(x), detail) for x in s.ask_queue[found.place.ask]]
        used = s.queues.used[detail] + shapes[np.array(below, bool)].sum(axis=0)
        assert ((used + shape > s.queues.maximum[detail]) & (shape > 0)).any()
        return
    assert detail == -1
    assert not fits.any(), "a node has room, so room was not the reason"
    assert why == (Why.NO_NODES if not nodes.open.any() else Why.NO_ROOM if big_enough.any() else Why.NO_NODE_MATCHES)


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


@EXAMPLES
@given(snapshots(), policies, st.data())
def test_a_proposal_is_taken_whole_or_rejected_and_never_breaks_a_limit(s, policy, data) -> None:
    if not len(s.asks.count) or not len(s.nodes.open):
        return
    pairs = st.tuples(st.integers(0, len(s.asks.count) - 1), st.integers(0, len(s.nodes.open) - 1))
    drawn = data.draw(st.lists(st.lists(pairs, min_size=1, max_size=4), min_size=1, max_size=3))
    proposals = tuple(Place(*np.array(pairs, np.int32).T) for pairs in drawn)
    found, _ = plan(s, policy, proposals=proposals)
    check_plan(s, found)
    alone = replace(s, asks=replace(s.asks, count=np.zeros_like(s.asks.count)))
    assert len(plan(alone, policy, proposals=proposals)[0].rejected) == len(proposals), "nothing is wanted"
    assert len(found.rejected) <= len(proposals)
    # What one container at a time would allow of the first proposal is what is taken of it.
    one = Plan(place=proposals[0])
    try:
        check_plan(s, one)
    except InvariantError:
        assert found.rejected
    else:
        taken = list(zip(found.place.ask.tolist(), found.place.node.tolist(), strict=True))[: len(drawn[0])]
        assert taken == drawn[0]


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


def test_a_large_round_in_one_go() -> None:
    """Thousands of containers of 300 asks on 3,000 nodes: every limit holds, and nothing placeable is left."""
    rng = np.random.default_rng(5)
    capacity = (64_000, 32_000, 0)
    nodes = [Node(capacity, (int(rng.integers(60_000)), 0, 0), bool(rng.random() < 0.95)) for _ in range(3000)]
    top = np.array(capacity) * len(nodes)
    queues = [Queue("root", top.tolist()), Queue("root.a", (top // 2).tolist()), Queue("root.b", (top // 50).tolist())]
    asks = [
        Ask(*(int(rng.integers(*x)) for x in ((1, 3), (1, 130), (0, 3))), priority=int(rng.integers(3)))
        for _ in range(300)
    ]
    s = build(nodes, queues, asks, [(256, 100, 0), (2048, 1000, 0), (30_000, 4000, 0)])
    found, _ = plan(s, RoundPolicy(batch=20_000))
    check_plan(s, found)
    assert len(found.place.ask) > 8_000
    for row, ask in enumerate([] if found.refused is None else found.refused.ask.tolist()):
        reason_holds(s, found, ask, Why(int(found.refused.why[row])), int(found.refused.detail[row]))
