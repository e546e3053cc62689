"""Tables of global share determination: the Hydra authors' trees and the paper's example, one adapter per kind."""

import numpy as np
import pytest

from scheduler.federation import gif
from scheduler.shares.tree import ShareTree
from tests.peer_cases import Case, cases

UNBOUNDED = 1 << 50
SUB_CLUSTERS = 20


def amounts(case: Case, what: str) -> np.ndarray:
    """(q, 1, r) of the queues, the root first; given at leaves, summed by the case's own rows above."""
    return np.array([[[0, 0]], *([q[what]] for q in case["queues"])], np.int64)


def tree_of(case: Case, times: int) -> tuple[ShareTree, np.ndarray]:
    """(the tree with what ``times`` sub-clusters guarantee together, rows of its leaves)."""
    names = ["root", *(q["name"] for q in case["queues"])]
    parent = np.array([-1, *(names.index(q["parent"]) for q in case["queues"])], np.int32)
    total = [case["total"]["memory"], case["total"]["vcores"]]
    guaranteed = times * np.array([total, *(q["guaranteed"] for q in case["queues"])], np.int64)
    most = times * np.array([total, *(q["max"] for q in case["queues"])], np.int64)
    leaves = np.setdiff1d(np.arange(len(names)), parent)
    return ShareTree(parent, guaranteed, most, guaranteed[:, 0].astype(np.float64)), leaves


@pytest.mark.parametrize("times", [1, SUB_CLUSTERS])
@pytest.mark.parametrize("case", cases("gif_preemption"))
def test_gif_preemption(case: Case, times: int):
    given = case["input"]
    tree, leaves = tree_of(given, times)
    capacity = np.repeat([[given["total"]["memory"], given["total"]["vcores"]]], times, axis=0)
    used, pending = (np.repeat(amounts(given, what), times, axis=1) for what in ("used", "demand"))
    demand = np.zeros_like(used)
    demand[leaves] = used[leaves] + pending[leaves]
    due = gif.shares(tree, capacity, demand).due
    taken = gif.amounts_to_give_back(tree, capacity, used, due)
    names = ["root", *(q["name"] for q in given["queues"])]
    for name, expected in case["expected"]["to_be_preempted"].items():
        assert taken[names.index(name)] == pytest.approx(np.repeat([expected], times, axis=0), abs=0.5), name


@pytest.mark.parametrize("case", cases("gif_merge"))
def test_gif_merge(case: Case):
    """What twenty sub-clusters tell of their leaves, summed up the tree."""
    [tree_case] = [c for p in cases("gif_preemption") for c in p.values]
    times = case["input"]["sub_clusters"]
    tree, leaves = tree_of(tree_case["input"], times)
    names = ["root", *(q["name"] for q in tree_case["input"]["queues"])]
    told = {
        what: gif.subtree_totals(
            tree.parent, leaves, np.repeat(amounts(tree_case["input"], what)[leaves], times, axis=1).T
        ).sum(axis=1)
        for what in ("used", "demand")
    }
    told["guaranteed"] = tree.guaranteed
    for name, row in case["expected"]["merged"].items():
        for what, expected in row.items():
            assert told[what][names.index(name)].tolist() == expected, (name, what)


@pytest.mark.parametrize("case", cases("gif_split"))
def test_gif_split(case: Case):
    """The queue's part of all, where its demand is; another queue wants everything everywhere."""
    given = case["input"]
    sizes = np.array([[s["size"]] for s in given["sub_clusters"].values()])
    sure = round(given["global_share"] * sizes.sum())
    tree = ShareTree(
        np.array([-1, 0, 0], np.int32),
        np.array([[sizes.sum()], [sure], [sizes.sum() - sure]]),
        np.full((3, 1), UNBOUNDED),
        np.array([1.0, given["global_share"], 1 - given["global_share"]]),
    )
    parts = [int(text.split("%")[0]) for text in given["demand"].values()]
    demand = np.stack([np.zeros_like(sizes), sizes * np.array(parts)[:, None] // 100, sizes])
    due = gif.shares(tree, sizes, demand).due
    expected = case["expected"]["q1"]
    assert due[1, :, 0] == pytest.approx(list(expected.values()), abs=1e-3)
    assert due[1].sum() == pytest.approx(case["expected"]["global_total_unchanged"])
    assert due[0].sum() == pytest.approx(sizes.sum())
