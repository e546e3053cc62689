"""The generator of federations: seeded, as deep as told, and skewed; the policies on what it makes."""

import numpy as np
import pytest

from scheduler.federation import gif
from scheduler.federation.bound import most_used
from scheduler.federation.comparators import fairness_error, oracle, uniform
from simulator.setups import SetupParameters, generate

SHAPE = SetupParameters(sub_clusters=6, leaves=60)


def test_a_seed_gives_the_same_setup():
    one, same, other = generate(3, SHAPE), generate(3, SHAPE), generate(4, SHAPE)
    assert (one.demand == same.demand).all() and (one.tree.guaranteed == same.tree.guaranteed).all()
    assert one.demand.shape != other.demand.shape or (one.demand != other.demand).any()


def test_hierarchies_are_as_deep_as_told():
    setup = generate(1, SetupParameters(leaves=500))
    level = np.ones(len(setup.tree.parent), int)
    for c in range(1, len(level)):
        assert setup.tree.parent[c] < c
        level[c] = level[setup.tree.parent[c]] + 1
    assert len(setup.leaves) == 500
    assert level[setup.leaves].min() >= 5
    assert level[setup.leaves].max() <= 12


def test_guarantees_and_maxima_fit_their_parents():
    setup = generate(2, SHAPE)
    tree, total = setup.tree, setup.capacity.sum(axis=0)
    for p in set(tree.parent.tolist()) - {-1}:
        kids = np.flatnonzero(tree.parent == p)
        assert (tree.guaranteed[kids].sum(axis=0) <= tree.guaranteed[p]).all()
        assert (tree.maximum[kids] <= np.maximum(tree.maximum[p], tree.guaranteed[kids])).all()
    assert (tree.guaranteed[0] <= total).all()
    assert (tree.guaranteed <= tree.maximum).all()


def test_demand_is_as_much_as_told_and_uneven():
    setup = generate(5, SetupParameters(sub_clusters=12, leaves=300, load=1.5, skew=0.5))
    load = setup.demand.sum(axis=0) / setup.capacity
    assert setup.demand.sum(axis=(0, 1)) / setup.capacity.sum(axis=0) == pytest.approx(1.5, rel=0.5)
    assert load.max() > 2 * load.min()


@pytest.mark.parametrize("seed", range(4))
def test_shares_use_what_can_be_used_and_are_no_less_fair_than_quotas(seed: int):
    s = generate(seed, SetupParameters(sub_clusters=5, leaves=40, capped=0.0))
    due = gif.shares(s.tree, s.capacity, s.demand).due
    assert due[s.leaves].sum(axis=(0, 1)) == pytest.approx(most_used(s.tree, s.capacity, s.demand), rel=1e-4)
    ideal = oracle(s.tree, s.capacity, s.demand)
    alone = uniform(s.tree, s.capacity, s.demand)
    assert fairness_error(due, ideal, s.leaves) <= fairness_error(alone, ideal, s.leaves) + 0.001
