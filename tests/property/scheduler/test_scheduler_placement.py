"""Placement against a reference that places one container at a time."""

from dataclasses import fields

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.plan import Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementOutcome, PlacementPolicy, PlacementRound, begin, finish, run
from tests.amounts import R, amounts
from tests.examples import examples
from tests.placement_reference import PlacementReference
from tests.worlds import Ask, Node, Queue, build, snapshots

EXAMPLES = examples(300)
NOW = 0.0

policies = st.builds(
    PlacementPolicy,
    fill=st.sampled_from(list(Fill)),
    batch=st.sampled_from([1, 9, *[10_000] * 6]),
    node_wait_s=st.sampled_from([50.0, 3.0, 0.0]),
    rack_wait_s=st.sampled_from([500.0, 3.0, 0.0]),
    node_misses=st.integers(0, 2),
    rack_misses=st.integers(0, 2),
    reserve_after_s=st.sampled_from([0.0, 10.0]),
    reserve_max_node_share=st.sampled_from([0.0, 0.05, 0.5, 0.5]),
)
Passes = list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]


@st.composite
def memos(draw: st.DrawFn, s: Snapshot) -> Memo:
    """What an earlier round may have left, asks and nodes that no longer qualify among it."""
    keys = [*s.asks.key[~s.asks.gang].tolist(), 7]
    late = sorted(draw(st.sets(st.sampled_from(keys))))
    misses = [draw(st.integers(1, 5)) for _ in late]
    n = len(s.nodes.open)
    held = draw(st.lists(st.sampled_from(keys), max_size=3)) if n else []
    nodes = [draw(st.integers(0, n - 1)) for _ in held]
    since = [draw(st.sampled_from([-1000.0, -5.0])) for _ in held]
    return Memo(
        draw(st.integers(0, 8)),
        np.array(late, np.int64),
        np.array(misses, np.int64),
        np.array([NOW - draw(st.sampled_from([1.0, 4.0, 100.0])) for _ in late]),
        np.array(held, np.int64),
        np.array(nodes, np.int64),
        np.array(since, np.float64),
        np.array([5], np.int64),
        np.array([1.0]),
    )


_machine = st.sampled_from([amounts(16, 16), amounts(32, 16), amounts(24, 24, 4), amounts(64, 32)])


@st.composite
def roomy(draw: st.DrawFn) -> Snapshot:
    """A few racks of machines with room on many of them, and limits that seldom bind."""
    n = draw(st.integers(3, 12))
    capacity = [draw(_machine) for _ in range(n)]
    load = draw(st.sampled_from([1.0, 0.5, 0.0]))
    used = [tuple(int(draw(st.floats(0, 1)) * load * c) for c in row) for row in capacity]
    nodes = [
        Node(c, u, not draw(st.sampled_from([False] * 9 + [True])), draw(st.integers(0, 2)))
        for c, u in zip(capacity, used, strict=True)
    ]
    some = st.tuples(*[st.sampled_from([1 << 40, 80, 40, 20])] * R)
    seldom = st.sampled_from([False] * 7 + [True])
    queues = [Queue("root"), Queue("root.a"), Queue("root.b", draw(some) if draw(seldom) else (1 << 40,) * R)]
    shapes = draw(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=3))
    masks = [[True] * n, [draw(st.booleans()) for _ in range(n)]]
    nearby = st.lists(st.integers(0, n - 1), max_size=3, unique=True)
    asks = [
        Ask(
            queue=draw(st.integers(1, 2)),
            count=draw(st.integers(1, 9)),
            shape=draw(st.integers(0, len(shapes) - 1)),
            mask=draw(st.sampled_from([0, 0, 0, 1])),
            since=draw(st.sampled_from([0.0, -4.0, -100.0, 0.0])),
            gang=draw(seldom),
            near=draw(nearby),
            near_racks=draw(st.lists(st.integers(0, 2), max_size=1)),
        )
        for _ in range(draw(st.integers(3, 12)))
    ]
    most = {(a.queue, a.user): draw(some) for a in asks if draw(seldom)}
    return build(nodes, queues, asks, shapes, masks, most)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Snapshot, Memo, PlacementPolicy, Passes]:
    """A snapshot, a memo, a policy, and one to three passes with shares of their own."""
    s = draw(st.one_of(roomy(), snapshots()))
    a = len(s.asks.key)
    s.asks.fill[:] = [draw(st.integers(-1, len(Fill) - 1)) for _ in range(a)]
    entities = draw(st.integers(1, 3))
    entity = np.array([draw(st.integers(0, entities - 1)) for _ in range(a)], np.int32)
    passes: Passes = []
    for _ in range(draw(st.integers(1, 3))):
        order = np.array(draw(st.permutations(range(a)))[: draw(st.sampled_from([a, a, a // 2]))], np.int32)
        share = [draw(st.sampled_from([*[10_000] * 12, 40, 12, 0])) for _ in range(R * entities)]
        passes.append((order, entity, np.array(share, np.int64).reshape(-1, R), draw(st.booleans())))
    return s, draw(memos(s)), draw(policies), passes


def held_nodes(s: Snapshot, memo: Memo, policy: PlacementPolicy) -> dict[int, int]:
    """By ask, the node that stays reserved for it."""
    found: dict[int, int] = {}
    if not policy.reserve_max_node_share:
        return found
    for key, node, at in zip(memo.reserved, memo.reserved_node, memo.reserved_at, strict=True):
        ask = np.flatnonzero(s.asks.key == key)
        if not len(ask) or NOW - at > policy.reserve_max_s or not s.nodes.open[node]:
            continue
        i = int(ask[0])
        shape, fits = s.asks.shapes[s.asks.shape[i]], s.asks.masks[s.asks.mask[i], node]
        fits = fits and ((s.nodes.capacity[node] >= shape) | (shape == 0)).all()
        fits = fits and within_maxima(s, i)
        if fits and s.asks.count[i] and not s.asks.gang[i] and i not in found and node not in found.values():
            found[i] = int(node)
    return found


def within_maxima(s: Snapshot, a: int) -> bool:
    """Whether one more container of a single ask is within every maximum it meets."""
    user, shape = s.jobs.user[s.asks.job[a]], s.asks.shapes[s.asks.shape[a]]
    left = s.users.maximum[user] - s.users.used[user]
    queue = s.users.queue[user]
    while queue >= 0:
        left = np.minimum(left, s.queues.maximum[queue] - s.queues.used[queue])
        queue = s.queues.parent[queue]
    return bool(((shape <= left) | (shape == 0)).all())


def play(
    s: Snapshot, memo: Memo, policy: PlacementPolicy, passes: Passes
) -> tuple[PlacementRound, PlacementOutcome, list[int]]:
    placement = begin(s, memo, policy, NOW, s.nodes.free)
    placed = [run(placement, *one) for one in passes]
    return placement, finish(placement, *passes[-1][:2]), placed


def follow(
    s: Snapshot, memo: Memo, policy: PlacementPolicy, passes: Passes
) -> tuple[PlacementReference, PlacementOutcome]:
    """Play a round and check every choice of it."""
    _, outcome, placed = play(s, memo, policy, passes)
    reference = PlacementReference(s, memo, policy, NOW, held_nodes(s, memo, policy))
    rows = list(zip(outcome.place.ask.tolist(), outcome.place.node.tolist(), strict=True))
    assert sum(placed) == len(rows)
    for one, count in zip(passes, placed, strict=True):
        reference.follow(*one, rows[:count])
        rows = rows[count:]
    reference.settle()
    return reference, outcome


@EXAMPLES
@given(rounds())
def test_every_choice_and_every_reason_is_that_of_the_rules(drawn) -> None:
    s, _memo, _policy, _passes = drawn
    reference, placed = follow(*drawn)
    np.testing.assert_array_equal(placed.left, reference.left)
    assert [(Why(w), d) for w, d in zip(placed.why.tolist(), placed.binding_row.tolist(), strict=True)] == list(
        zip(map(Why, reference.why.tolist()), reference.detail.tolist(), strict=True)
    )
    given_some = s.asks.count - reference.left
    expected = [
        0 if given_some[a] or not reference.left[a] else reference.misses[a] + (a in reference.missed)
        for a in range(len(given_some))
    ]
    late = [a for a, times in enumerate(expected) if times]
    assert placed.memo.delayed.tolist() == s.asks.key[late].tolist()
    assert placed.memo.missed.tolist() == [expected[a] for a in late]
    assert placed.memo.delayed_since.tolist() == [reference.late_at[a] for a in late]
    if len(s.nodes.open) and len(placed.place.node):
        assert placed.memo.cursor == reference.cursor


@EXAMPLES
@given(rounds())
def test_reservations_are_for_the_first_in_line_and_within_bounds(drawn) -> None:
    s, memo, policy, passes = drawn
    reference, placed = follow(*drawn)
    order, entity = passes[-1][:2]
    new, held = placed.reserve, held_nodes(s, memo, policy)
    kept = list(zip(placed.memo.reserved.tolist(), placed.memo.reserved_node.tolist(), strict=True))
    assert len({node for _, node in kept}) == len(kept), "a node is held for one ask"
    share = policy.reserve_max_node_share
    most = max(1, int(share * s.nodes.open.sum())) if share else 0
    room = max(0, most - len(held))
    assert len(new.ask) <= room
    served = set(zip(placed.place.ask.tolist(), placed.place.node.tolist(), strict=True))
    rows = list(zip(new.ask.tolist(), new.node.tolist(), strict=True))
    waiting = [(a, n) for a, n in held.items() if reference.left[a] and (a, n) not in served]
    assert sorted(kept) == sorted((int(s.asks.key[a]), n) for a, n in waiting + rows)
    first = {}
    for a in order.tolist():
        if placed.left[a] and placed.why[a] in (Why.NO_ROOM, Why.GANG):
            first.setdefault(int(entity[a]), a)
    taken, expected = set(held.values()), iter(rows)
    for a in first.values():
        units = int(a in held)
        wanted = int(placed.left[a]) if s.asks.gang[a] else 1
        while NOW - s.asks.since[a] > policy.reserve_after_s and units < wanted and room:
            able = [n for n in range(len(s.nodes.open)) if n not in taken and could_hold(s, a, n)]
            if not able:
                break
            ask, node = next(expected)
            assert ask == a
            missing = {n: to_be_freed(s, reference.free, a, n) for n in able}
            assert missing[node] <= min(missing.values()) + 1e-12
            taken.add(node)
            units += when_empty(s, a, node)
            room -= 1
    assert next(expected, None) is None


def when_empty(s: Snapshot, a: int, n: int) -> int:
    shape = s.asks.shapes[s.asks.shape[a]]
    return int((s.nodes.capacity[n][shape > 0] // shape[shape > 0]).min())


def could_hold(s: Snapshot, a: int, n: int) -> bool:
    shape = s.asks.shapes[s.asks.shape[a]]
    large = ((s.nodes.capacity[n] >= shape) | (shape == 0)).all()
    return bool(s.nodes.open[n] and s.asks.masks[s.asks.mask[a], n] and large)


def to_be_freed(s: Snapshot, free: np.ndarray, a: int, n: int) -> float:
    shape = s.asks.shapes[s.asks.shape[a]].tolist()
    rows = zip(shape, free[n].tolist(), s.nodes.capacity[n].tolist(), strict=True)
    return max([0.0, *((asked - has) / most for asked, has, most in rows if asked)])


def same(one: PlacementOutcome, other: PlacementOutcome) -> None:
    for f in fields(one):
        x, y = getattr(one, f.name), getattr(other, f.name)
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y)
        else:
            for inner in fields(x):
                np.testing.assert_array_equal(getattr(x, inner.name), getattr(y, inner.name))


@EXAMPLES
@given(rounds())
def test_same_arguments_same_outcome_and_nothing_is_changed(drawn) -> None:
    s, memo, _policy, passes = drawn
    inputs = [getattr(t, f.name) for t in (s.nodes, s.queues, s.users, s.jobs, s.asks, memo) for f in fields(t)]
    inputs = [x for x in inputs if isinstance(x, np.ndarray)] + [x for one in passes for x in one[:3]]
    before = [x.copy() for x in inputs]
    first, second = play(*drawn)[1], play(*drawn)[1]
    same(first, second)
    for old, new in zip(before, inputs, strict=True):
        np.testing.assert_array_equal(old, new)
