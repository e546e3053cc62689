"""Fair shares against an exact reference, and against what makes a division fair."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.shares.fair import fair_shares, held_part, shares_of_rows
from scheduler.shares.tree import ShareTree, dominant_shares, entity_demand
from tests.examples import examples
from tests.fair_reference import reference

EXAMPLES = examples(300)
UNBOUNDED = 1 << 60
CLOSE = 1e-5


@dataclass
class World:
    tree: ShareTree
    capacity: np.ndarray
    used: np.ndarray
    demand: np.ndarray

    def share(self, floor: bool) -> np.ndarray:
        return fair_shares(self.tree, self.capacity, self.used, self.demand, floor)

    @property
    def e(self) -> int:
        return len(self.tree.parent)

    def kids(self, node: int) -> np.ndarray:
        return np.flatnonzero(self.tree.parent == node)

    def totals(self, amounts: np.ndarray, most: np.ndarray | None = None) -> np.ndarray:
        """Summed up the tree, each row within ``most``."""
        total = amounts.copy()
        for c in range(self.e - 1, -1, -1):
            if most is not None:
                total[c] = np.minimum(total[c], most[c])
            if self.tree.parent[c] >= 0:
                total[self.tree.parent[c]] += total[c]
        return total

    def wants(self, floor: bool) -> np.ndarray:
        """What each row could take."""
        held = self.totals(self.used)
        demand = np.where(self.capacity > 0, self.demand, 0)
        if not floor:
            return self.totals(demand, self.tree.maximum)
        return self.totals(np.maximum(demand, self.used), np.maximum(self.tree.maximum, held))


@st.composite
def worlds(draw: st.DrawFn, flat: bool = False) -> World:
    e = draw(st.integers(1, 9))
    parent = [-1] + [0 if flat else draw(st.integers(0, c - 1)) for c in range(1, e)]
    r = draw(st.integers(1, 3))
    scale = draw(st.sampled_from([1, 7, 65_536]))
    amount = st.integers(0, 12)
    rows = st.lists(st.lists(amount, min_size=r, max_size=r), min_size=e, max_size=e)
    lowest = np.array([c not in parent for c in range(e)])[:, None]
    used = np.array(draw(rows), np.int64) * scale * lowest
    pending = np.array(draw(rows), np.int64) * scale * lowest
    limits = st.lists(st.one_of(st.just(UNBOUNDED), st.integers(0, 20 * scale)), min_size=r, max_size=r)
    tree = ShareTree(
        np.array(parent, np.int32),
        np.array(draw(rows), np.int64) * scale * draw(st.integers(0, 1)),
        np.array([draw(limits) for _ in range(e)], np.int64),
        np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=e, max_size=e))),
    )
    capacity = np.array(draw(st.lists(st.integers(0, 60), min_size=r, max_size=r)), np.int64) * scale
    return World(tree, capacity, used, used + pending)


def flat(capacity: list[int], demand: list[list[int]], **given: list) -> World:
    """A root and its children."""
    e, r = len(demand) + 1, len(capacity)
    none = np.zeros((1, r), np.int64)
    table = {
        name: np.concatenate((none + default, given[name])) if name in given else np.full((e, r), default, np.int64)
        for name, default in (("guaranteed", 0), ("maximum", UNBOUNDED), ("used", 0))
    }
    weight = np.array([1.0, *given.get("weight", [1.0] * (e - 1))])
    tree = ShareTree(np.array([-1] + [0] * (e - 1), np.int32), table["guaranteed"], table["maximum"], weight)
    return World(tree, np.array(capacity), table["used"], np.concatenate((none, demand)))


@EXAMPLES
@given(worlds(), st.booleans())
def test_shares_are_those_of_the_exact_reference(w: World, floor: bool):
    exact = np.array(reference(w.tree, w.capacity, w.used, w.demand, floor), float)
    np.testing.assert_allclose(w.share(floor), exact, rtol=1e-9, atol=CLOSE)


@EXAMPLES
@given(worlds(), st.booleans())
def test_nobody_gets_more_than_it_wants_nor_children_more_than_their_parent(w: World, floor: bool):
    share, held = w.share(floor), w.totals(w.used) if floor else np.zeros_like(w.used)
    assert (share <= w.wants(floor) + CLOSE).all()
    for node in range(-1, w.e):
        kids = w.kids(node)
        budget = share[node] if node >= 0 else np.maximum(w.capacity, held[kids].sum(axis=0))
        assert (share[kids].sum(axis=0) <= budget + CLOSE).all() or not len(kids)


@EXAMPLES
@given(worlds())
def test_with_a_floor_nobody_gets_less_than_it_holds(w: World):
    assert (w.share(True) >= w.totals(w.used) - CLOSE).all()


@EXAMPLES
@given(worlds(), st.booleans())
def test_nothing_is_left_over_while_somebody_wants_it(w: World, floor: bool):
    share, want = w.share(floor), w.wants(floor)
    for node in range(-1, w.e):
        kids = w.kids(node)
        budget = share[node] if node >= 0 else w.capacity
        left = budget - share[kids].sum(axis=0)
        short = (want[kids] - share[kids]).sum(axis=0)
        assert (np.minimum(left, short) <= CLOSE).all() or not len(kids)


@EXAMPLES
@given(worlds())
def test_guarantees_are_met_where_the_parent_can(w: World):
    share, want = w.share(False), w.wants(False)
    for node in range(-1, w.e):
        kids = w.kids(node)
        budget = share[node] if node >= 0 else w.capacity
        owed = np.minimum(want[kids], w.tree.guaranteed[kids])
        met = owed.sum(axis=0) <= budget
        assert ((share[kids] >= owed - CLOSE) | ~met).all()


@EXAMPLES
@given(worlds(flat=True))
def test_nobody_can_be_raised_but_by_lowering_one_with_less(w: World):
    """Max-min: whoever is short of something lacks a resource that only others with no higher level, or a guarantee,
    hold."""
    kids, share, want = w.kids(0), w.share(False), w.wants(False)
    dominant = dominant_shares(want, w.capacity)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(want > 0, share / want, 1)
    level = part.min(axis=1) * dominant / w.tree.weight  # at which its dominant share, over its weight, stands
    owed = np.minimum(want, w.tree.guaranteed)
    for c in kids:
        if not want[c].any() or part[c].min() >= 1 - 1e-9:
            continue
        binding = np.flatnonzero(part[c] <= part[c].min() + 1e-9)

        def lowers(i: int, c: int = c) -> bool:
            others = [d for d in kids if d != c and share[d, i] > owed[d, i] + CLOSE]
            return all(part[d, i] * dominant[d] / w.tree.weight[d] <= level[c] + 1e-6 for d in others)

        assert any(share[kids, i].sum() >= share[0, i] - CLOSE and lowers(i) for i in binding)


@EXAMPLES
@given(worlds())
def test_who_uses_nothing_gets_something(w: World):
    """Unless guarantees take all (here there are none), or a maximum above allows nothing of what it needs."""
    tree = w.tree._replace(guaranteed=np.zeros_like(w.tree.guaranteed))
    share, want = fair_shares(tree, w.capacity, w.used, w.demand, False), w.wants(False)
    above = np.concatenate((w.capacity[None], share[tree.parent[1:]]))
    able = ((want == 0) | (above > 0)).all(axis=1, keepdims=True)
    assert (share[(want > 0) & able] > 0).all()


@EXAMPLES
@given(worlds(flat=True), st.booleans(), st.randoms(use_true_random=False))
def test_positions_make_no_difference(w: World, floor: bool, random):
    order = [0, *random.sample(range(1, w.e), w.e - 1)]
    moved = World(
        ShareTree(w.tree.parent, w.tree.guaranteed[order], w.tree.maximum[order], w.tree.weight[order]),
        w.capacity,
        w.used[order],
        w.demand[order],
    )
    np.testing.assert_allclose(moved.share(floor), w.share(floor)[order], rtol=1e-9, atol=CLOSE)
    assert (w.share(floor) == w.share(floor)).all()


@pytest.mark.kernels
def test_compiled_shares_are_the_same():
    compiled, rng = shares_of_rows.prepare(), np.random.default_rng(7)
    for e in (3, 40, 400):
        parent = np.array([-1, *(rng.integers(0, c) // 2 for c in range(1, e))], np.int32)
        lowest = np.isin(np.arange(e), parent, invert=True)[:, None]
        used, pending, guaranteed = (rng.integers(0, 1000, (e, 3)) * (rng.random((e, 3)) < 0.7) for _ in range(3))
        tree = ShareTree(parent, guaranteed, rng.integers(1000, 100_000, (e, 3)), rng.choice([1.0, 2.0], e))
        w = World(tree, np.array([150, 200, 250]) * e, used * lowest, (used + pending) * lowest)
        for floor in (True, False):
            same = compiled(*w.tree, w.capacity, w.used, w.demand, floor)
            np.testing.assert_allclose(same, w.share(floor), rtol=1e-12)


def test_the_classic_example_of_dominant_resource_fairness():
    """9 cores and 18 GB, tasks of (1 core, 4 GB) and (3 cores, 1 GB): three tasks and two."""
    w = flat([9, 18], [[100, 400], [300, 100]])
    share = w.share(False)[1:]
    np.testing.assert_allclose(share[:, 0], [3, 6])
    assert (share // [[1, 4], [3, 1]]).min(axis=1).tolist() == [3, 2]
    assert dominant_shares(np.array([[3, 12], [6, 2]]), w.capacity) == pytest.approx([2 / 3, 2 / 3])


def test_weights_divide_what_is_beyond_the_guarantees():
    w = flat([100], [[100], [100], [100]], guaranteed=[[50], [0], [0]], weight=[1.0, 1.0, 4.0])
    np.testing.assert_allclose(w.share(False)[1:, 0], [50, 10, 40])


def test_running_work_keeps_what_it_has_and_the_rest_is_divided_below_it():
    w = flat([100], [[90], [90], [90]], used=[[70], [0], [0]])
    np.testing.assert_allclose(w.share(True)[1:, 0], [70, 15, 15])
    np.testing.assert_allclose(w.share(False)[1:, 0], [100 / 3] * 3)


def test_running_work_beyond_the_capacity_leaves_nothing():
    w = flat([10], [[12], [5]], used=[[12], [0]])
    np.testing.assert_allclose(w.share(True)[1:, 0], [12, 0])


def test_a_queue_whose_gpus_are_gone_may_still_use_what_is_left():
    w = flat([100, 4], [[40, 4], [50, 4]], used=[[40, 4], [0, 0]])
    np.testing.assert_allclose(w.share(True)[1:], [[40, 4], [50, 0]])


def test_what_does_not_exist_is_not_asked_for():
    w = flat([100, 0], [[80, 8], [80, 0]])
    np.testing.assert_allclose(w.share(False)[1:], [[50, 0], [50, 0]])


def test_what_is_held_is_measured_by_the_share_that_is_due():
    share = np.array([[10.0], [10.0], [0.0], [40.0], [10.0]])
    used = np.array([[10], [4], [0], [8], [4]], np.int64)
    assert held_part(used, share, np.array([100])).tolist() == pytest.approx([1.0, 0.4, np.inf, 0.2, 0.4])


def test_demand_is_what_is_used_and_what_living_asks_want():
    entity, shape = np.array([1, 1, 2], np.int32), np.array([0, 1, 1], np.int32)
    count, alive = np.array([2, 3, 4]), np.array([True, True, False])
    used = np.array([[0, 0], [5, 5], [7, 7]])
    demand = entity_demand(entity, shape, count, alive, np.array([[1, 2], [10, 0]]), used)
    assert demand.tolist() == [[0, 0], [37, 9], [7, 7]]
