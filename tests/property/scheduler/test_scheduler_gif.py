"""Global instantaneous fairness against what makes it fair, and against one cluster where places do not matter."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scheduler.federation import gif
from scheduler.federation.bound import most_used
from scheduler.federation.comparators import centralised, load_based, oracle, uniform
from scheduler.shares.fair import fair_shares
from scheduler.shares.tree import ShareTree
from tests.examples import examples

EXAMPLES = examples(100)
FEWER = examples(40)
MORE = examples(300)
UNBOUNDED = 1 << 50
TINY = 1e-6  # part of all capacity that is rounding


@dataclass
class World:
    tree: ShareTree
    capacity: np.ndarray  # (s, r)
    demand: np.ndarray  # (q, s, r)

    def shares(self, exact: bool = True) -> gif.DividedShares:
        return gif.shares(self.tree, self.capacity, self.demand, exact)

    def raised(self, leaf: int, times: float) -> "World":
        """The same with so many times the weight at one leaf."""
        weight = self.tree.weight.copy()
        weight[leaf] *= times
        return replace(self, tree=self.tree._replace(weight=weight))

    @property
    def leaves(self) -> np.ndarray:
        return gif.leaves_of(self.tree.parent)

    @property
    def size(self) -> np.ndarray:
        """(r,): what amounts are measured against."""
        return np.maximum(self.capacity.sum(axis=0), 1)


@st.composite
def worlds(draw: st.DrawFn, maxima: bool = True, flat: bool = False, places: int = 4, resources: int = 2) -> World:
    q, s, r = draw(st.integers(2, 9)), draw(st.integers(1, places)), draw(st.integers(1, resources))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    parent = np.array([-1] + [0 if flat else int(rng.integers(0, c)) for c in range(1, q)], np.int32)
    capacity = rng.integers(0, 1000, (s, r)) * (rng.random((s, r)) < 0.95)
    leaf = ~np.isin(np.arange(q), parent)
    demand = rng.integers(0, draw(st.sampled_from([100, 1000, 5000])), (q, s, r)) * leaf[:, None, None]
    demand *= (rng.random((q, s)) < draw(st.sampled_from([0.4, 0.8, 1.0])))[:, :, None]
    guaranteed, maximum = np.zeros((q, r), np.int64), np.full((q, r), UNBOUNDED)
    guaranteed[0] = capacity.sum(axis=0)
    for p in range(q):
        kids = np.flatnonzero(parent == p)
        cut = rng.dirichlet(np.ones(len(kids) + 1))[:-1] if len(kids) else np.empty(0)
        guaranteed[kids] = np.floor(cut[:, None] * guaranteed[p])
    if maxima:
        capped = rng.random(q) < 0.3
        maximum[capped] = guaranteed[capped] + rng.integers(0, 500, (capped.sum(), r))
    return World(ShareTree(parent, guaranteed, maximum, rng.uniform(0.2, 5.0, q)), capacity, demand)


def at_maximum(w: World, due: np.ndarray) -> np.ndarray:
    """(q, r): rows that may not hold more, because they or a row above are at their maximum."""
    held = due.sum(axis=1)
    stuck = held >= w.tree.maximum - 1e-6 * w.size
    for c in range(1, len(held)):
        stuck[c] |= stuck[w.tree.parent[c]]
    return stuck


def holdable(want: np.ndarray, demand: np.ndarray, capacity: np.ndarray) -> bool:
    """Whether all leaves can hold ``want`` (l,) of one resource: no set of sub-clusters has to take too much."""
    every = range(len(capacity))
    for inside in chain.from_iterable(combinations(every, n) for n in range(1, len(capacity) + 1)):
        outside = [k for k in every if k not in inside]
        if np.maximum(want - demand[:, outside].sum(axis=1), 0).sum() > capacity[list(inside)].sum():
            return False
    return True


@pytest.mark.parametrize("exact", [True, False])
@EXAMPLES
@given(w=worlds())
def test_nobody_holds_more_than_there_is_or_than_it_may(w: World, exact: bool):
    due, spare = w.shares(exact)
    assert (due >= -TINY).all() and (spare >= -TINY).all()
    assert (due[w.leaves] <= w.demand[w.leaves] + TINY).all()
    assert ((due + spare)[w.leaves].sum(axis=0) <= w.capacity + TINY * w.size).all()
    assert ((due + spare).sum(axis=1) <= w.tree.maximum + TINY * w.size).all()


@EXAMPLES
@given(worlds())
def test_rows_hold_what_their_children_hold(w: World):
    for amounts in w.shares():
        for p in set(w.tree.parent.tolist()) - {-1}:
            kids = np.flatnonzero(w.tree.parent == p)
            assert np.allclose(amounts[p], amounts[kids].sum(axis=0))


@pytest.mark.parametrize("exact", [True, False])
@EXAMPLES
@given(w=worlds())
def test_nothing_wanted_is_idle(w: World, exact: bool):
    """In every sub-cluster, but for queues that are at a maximum."""
    due = w.shares(exact).due
    may = ~at_maximum(w, due)[w.leaves]
    lacking = ((w.demand - due)[w.leaves] * may[:, None, :]).max(axis=0, initial=0)
    idle = w.capacity - due[w.leaves].sum(axis=0)
    assert (np.minimum(lacking, idle) <= 10 * TINY * w.size).all()


@pytest.mark.parametrize("exact", [True, False])
@EXAMPLES
@given(w=worlds(maxima=False))
def test_without_maxima_nobody_could_use_more(w: World, exact: bool):
    due = w.shares(exact).due
    bound = most_used(w.tree, w.capacity, w.demand)
    assert np.allclose(due[w.leaves].sum(axis=(0, 1)), bound, rtol=1e-5, atol=10 * TINY * w.size.max())


@FEWER
@given(worlds(maxima=False))
def test_guarantees_are_met_wherever_all_can_be_held(w: World):
    """For each resource by itself."""
    due = w.shares().due[w.leaves].sum(axis=1)
    demand = np.minimum(w.demand[w.leaves], w.capacity)
    sure = np.minimum(demand.sum(axis=1), w.tree.guaranteed[w.leaves])
    checked = [i for i in range(sure.shape[1]) if holdable(sure[:, i], demand[:, :, i], w.capacity[:, i])]
    assume(checked)
    for i in checked:
        assert (due[:, i] >= sure[:, i] - TINY * w.size[i]).all()


@EXAMPLES
@given(worlds(places=1))
def test_one_sub_cluster_has_the_shares_of_one_cluster(w: World):
    wants = w.demand.sum(axis=1)
    alone = fair_shares(w.tree, w.capacity[0], np.zeros_like(wants), wants, False)
    due = w.shares().due[:, 0]
    assert np.abs(due - alone).sum(axis=0).max() <= 0.001 * max(alone[0].max(), 1.0)


def finer(w: World, times: int) -> World:
    """The same world in units of which it has ``times`` as many."""
    tree = w.tree._replace(guaranteed=w.tree.guaranteed * times, maximum=w.tree.maximum * times)
    return replace(w, tree=tree, capacity=w.capacity * times, demand=w.demand * times)


@EXAMPLES
@given(worlds())
def test_demand_everywhere_has_the_shares_of_one_cluster(w: World):
    """Each queue wants of every sub-cluster as much as the sub-cluster is of all. No single unit counts."""
    w = finer(w, 1000)
    wants = w.demand.sum(axis=1, keepdims=True)
    everywhere = np.floor(wants * (w.capacity / w.size))
    w = replace(w, demand=everywhere.astype(np.int64))
    due, ideal = w.shares().due.sum(axis=1), oracle(w.tree, w.capacity, w.demand)
    off = np.abs(due - ideal)[w.leaves].sum(axis=0)
    assert (off <= 0.001 * np.maximum(ideal[w.leaves].sum(axis=0), 1.0)).all()


@MORE
@given(worlds(resources=1), st.floats(1.1, 4.0))
def test_more_weight_is_never_less(w: World, times: float):
    never_less(w, times)


def never_less(w: World, times: float) -> None:
    before = w.shares().due.sum(axis=1)
    for leaf in w.leaves.tolist():
        after = w.raised(leaf, times).shares().due.sum(axis=1)
        assert (after[leaf] >= before[leaf] - TINY * w.size).all()


def test_more_weight_is_never_less_where_a_place_closes():
    """A queue has to be out of a crowded place before that is closed, however slowly its level shows."""
    tree = ShareTree(
        np.array([-1, 0, 0, 0, 0], np.int32),
        np.array([[688], [108], [258], [93], [186]]),
        np.full((5, 1), UNBOUNDED),
        np.array([4.73527361, 3.36239529, 3.82191662, 3.31490395, 0.65010081]),
    )
    demand = np.array([[[0], [0]], [[179], [261]], [[94], [14]], [[0], [795]], [[0], [420]]])
    w = World(tree, np.array([[385], [303]]), demand)
    before, after = (world.shares().due.sum(axis=1)[3, 0] for world in (w, w.raised(3, 3.0)))
    assert after >= before - TINY * w.size[0]


def test_a_guarantee_that_can_be_held_elsewhere_leaves_a_crowded_place():
    """The queue of large guarantee goes where the other one does not want to be; the rest by weight would be less."""
    tree = ShareTree(
        np.array([-1, 0, 0], np.int32),
        np.array([[1072], [13], [851]]),
        np.array([[1232], [307], [1251]]),
        np.array([1.0, 1.24, 2.86]),
    )
    demand = np.array([[[0], [0], [0]], [[974], [876], [117]], [[839], [876], [587]]])
    w = World(tree, np.array([[8], [575], [489]]), demand)
    assert w.shares().due.sum(axis=1).ravel() == pytest.approx([1072, 221, 851])


@FEWER
@given(worlds(maxima=False, flat=True, resources=1, places=2))
def test_who_shares_a_place_is_at_one_level(w: World):
    """Without guarantees: nobody lacks anything where a queue that has more by weight holds something."""
    w = replace(w, tree=w.tree._replace(guaranteed=np.zeros_like(w.tree.guaranteed)))
    due = w.shares().due[w.leaves, :, 0]
    level = due.sum(axis=1) / w.tree.weight[w.leaves]
    lacking = w.demand[w.leaves, :, 0] - due
    close = 10 * TINY * w.size[0]
    for k in range(len(w.capacity)):
        for a in np.flatnonzero(lacking[:, k] > close):
            for b in np.flatnonzero(due[:, k] > close):
                assert level[a] * w.tree.weight[w.leaves[b]] >= due[b].sum() - 3 * close


@EXAMPLES
@given(worlds())
def test_preemption_takes_only_what_others_are_owed(w: World):
    due = w.shares().due
    used = np.zeros_like(w.demand)
    used[w.leaves] = np.minimum(w.demand[w.leaves][::-1], w.capacity) // max(len(w.leaves), 1)
    taken = gif.amounts_to_give_back(w.tree, w.capacity, used, due)
    leaves = w.leaves
    lacking = np.maximum(due - used, 0)[leaves].sum(axis=0)
    free = w.capacity - used[leaves].sum(axis=0)
    assert (taken >= 0).all()
    assert (taken[leaves] <= np.maximum(used - due, 0)[leaves] + TINY).all()
    assert (taken[leaves].sum(axis=0) <= np.maximum(lacking - free, 0) + TINY * w.size).all()


@EXAMPLES
@given(worlds())
def test_comparators_keep_demand_capacity_and_maxima(w: World):
    coarse = partial(centralised, units=100)
    for rule in (uniform, load_based, coarse):
        due = rule(w.tree, w.capacity, w.demand)
        assert (due[w.leaves] <= w.demand[w.leaves] + TINY).all()
        assert (due[w.leaves].sum(axis=0) <= w.capacity + TINY * w.size).all()
        assert (due.sum(axis=1) <= w.tree.maximum + w.size * TINY).all()


def test_a_queue_without_demand_has_room_where_there_is_room():
    """It can start at once when work comes, by its guarantee; not where others use all."""
    tree = ShareTree(
        np.array([-1, 0, 0], np.int32), np.array([[200], [40], [160]]), np.full((3, 1), UNBOUNDED), np.ones(3)
    )
    demand = np.array([[[0], [0]], [[0], [0]], [[100], [50]]])
    due, spare = gif.shares(tree, np.array([[100], [100]]), demand)
    assert due[2].ravel().tolist() == [100, 50]
    assert np.allclose(spare[1].ravel(), [0, 10])
    assert np.allclose((due + spare)[0].ravel(), [100, 100])
