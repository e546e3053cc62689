"""What is counted up a tree and handed down it: both forms of each say the same, and what the definition says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.shares import tree
from scheduler.shares.tree import QueueHierarchy
from tests.examples import examples


@st.composite
def paths(draw: st.DrawFn) -> list[str]:
    """Paths of a tree's queues, parents before children."""
    found = ["root"]
    for i in range(draw(st.integers(0, 11))):
        found.append(f"{draw(st.sampled_from(found))}.q{i}")
    return found


def above(path: str, other: str) -> bool:
    return f"{other}.".startswith(f"{path}.")


@examples(200)
@given(paths(), st.integers(0, 2**31 - 1))
def test_both_forms_are_the_definition(names: list[str], seed: int) -> None:
    shape = QueueHierarchy.of(names, [name.rpartition(".")[0] for name in names])
    own = np.random.default_rng(seed).integers(0, 1000, (len(names), 2))
    related = np.array([[above(path, other) for other in names] for path in names])
    total = related.astype(np.int64) @ own
    least = np.array([own[line].min(axis=0) for line in related.T])
    every = np.array([(own[line] > 200).all(axis=0) for line in related.T])
    assert (shape.subtree_sums(own) == total).all() and (tree.subtree_sums(shape.parent, own) == total).all()
    assert (tree.subtree_sums(shape.parent, own.astype(np.float64)) == total).all()
    assert (shape.path_combined(own, np.minimum) == least).all() and (
        tree.path_minimum(shape.parent, own) == least
    ).all()
    assert (shape.path_combined(own > 200, np.logical_and) == every).all()
    assert (tree.path_minimum(shape.parent, own > 200) == every).all()
    assert (tree.own_amounts(shape.parent, total) == own).all()
    assert (tree.is_leaf(shape.parent) == (related.sum(axis=1) == 1)).all()


def test_several_roots() -> None:
    parent, own = np.array([-1, -1, 0, 1, 1], np.int32), np.array([[1], [2], [4], [8], [16]])
    assert tree.subtree_sums(parent, own)[:, 0].tolist() == [5, 26, 4, 8, 16]
    assert tree.path_minimum(parent, own)[:, 0].tolist() == [1, 2, 1, 2, 2]
