"""Random trees: what the document says, through rows to the arrays of a plan."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.policy.documents import validate
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.rows import CapacityRow, QueueRow
from controlplane.statestore.errors import Invalid
from scheduler.core.snapshot import Queues
from tests.amounts import R, vector
from tests.examples import examples
from tests.worlds import drawn

SHARES = st.sampled_from([0, 0.1, 1 / 3, 0.25, "50%", 1])
LIMITS = st.one_of(
    SHARES,
    st.fixed_dictionaries(
        {},
        optional={
            "memory_mib": st.one_of(SHARES, st.sampled_from([512, "4 GiB", "1 TiB"])),
            "vcores_milli": st.one_of(SHARES, st.sampled_from([100, "2 cores"])),
            "gpus": st.one_of(SHARES, st.sampled_from([2, "1 gpu", "0 gpus"])),
        },
    ),
)
FIELDS = {
    "guaranteed": LIMITS, "maximum": LIMITS, "weight": st.sampled_from([0.5, 3.0]), "preemptable": st.booleans(),
    "partitions": st.fixed_dictionaries({}, optional={"gpu": st.fixed_dictionaries({"guaranteed": LIMITS})}),
}  # fmt: skip
NAMES = st.sampled_from(["a", "a-b", "b", "c_c", "a0"])
LEAF = st.fixed_dictionaries({}, optional=FIELDS)
QUEUES = st.recursive(
    LEAF,
    lambda inner: st.fixed_dictionaries(
        {"children": st.dictionaries(NAMES, inner, min_size=1, max_size=4)}, optional=FIELDS
    ),
    max_leaves=15,
)
NAMED = [name for name in QueueRow._fields if name != "version"]
DOCUMENTS = st.dictionaries(NAMES, QUEUES, min_size=1, max_size=4).map(
    lambda tree: {"queues": tree, "partitions": {"gpu": {"nodes": "gpu"}}}
)
CAPACITY = drawn(10**6, gpus=20).map(np.array)


def idle(tree: QueueTree, capacity: np.ndarray) -> Queues:
    """The view of an empty sub-cluster."""
    return tree.view("", capacity, np.zeros((len(tree.paths), R), np.int64))


def tree_of(document: dict[str, Any]) -> QueueTree | None:
    """The RM's tree, or nothing where siblings guarantee too much."""
    try:
        rows = validate(document)[1]
    except Invalid:
        return None
    return QueueTree(1, [QueueRow(*(getattr(row, name) for name in NAMED)) for row in reversed(rows)])


@examples(150)
@given(DOCUMENTS, CAPACITY, st.sampled_from(["", "gpu"]), st.integers(0, 2**32 - 1))
def test_limits_nest_and_usage_sums_up(document: Any, capacity: np.ndarray, partition: str, seed: int) -> None:
    tree = tree_of(document)
    if tree is None:
        return
    own = np.random.default_rng(seed).integers(0, 50, (len(tree.paths), R))
    q = tree.view(partition, capacity, own)
    assert (q.guaranteed <= q.maximum).all() and (q.guaranteed >= 0).all() and (q.weight > 0).all()
    assert q.maximum[0].tolist() == q.guaranteed[0].tolist() == capacity.tolist()
    for at, path in enumerate(tree.paths):
        up = q.parent[at]
        assert up < at and (up < 0 or path.rpartition(".")[0] == tree.paths[up])
        below = [i for i, other in enumerate(tree.paths) if (other + ".").startswith(path + ".")]
        assert (q.used[at] == own[below].sum(axis=0)).all()
        children = q.parent == at
        assert (q.guaranteed[children].sum(axis=0) <= q.guaranteed[at]).all()
        assert (q.maximum[children] <= q.maximum[at]).all()
        assert up < 0 or not q.preemptable[at] or q.preemptable[up]


@examples(150)
@given(DOCUMENTS, st.lists(CAPACITY, min_size=1, max_size=5))
def test_what_sub_clusters_may_hold_adds_up_to_what_the_federation_may(document: Any, parts: list[np.ndarray]) -> None:
    tree = tree_of(document)
    if tree is None:
        return
    whole, nothing = sum(parts), np.zeros((len(tree.paths), R), np.int64)
    total = idle(tree, whole)
    maximum, guaranteed, before = nothing.copy(), nothing.copy(), np.zeros(R, np.int64)
    for capacity in parts:
        tree.elsewhere = {"": (before, whole - before - capacity)}
        q = idle(tree, capacity)
        children = q.parent[:, None] == np.arange(len(tree.paths))
        assert (q.maximum <= capacity).all() and (q.guaranteed <= q.maximum).all()
        if (whole - capacity).any():
            assert q.elsewhere is not None and (q.elsewhere == (q.maximum <= 0) & (total.maximum > 0)).all()
        assert all((q.guaranteed[children[:, at]].sum(axis=0) <= q.guaranteed[at]).all() for at in range(len(children)))
        maximum, guaranteed, before = maximum + q.maximum, guaranteed + q.guaranteed, before + capacity
    depth = np.array([path.count(".") for path in tree.paths])[:, None]
    assert (np.abs(maximum - total.maximum) <= depth * len(parts)).all()
    assert (guaranteed <= total.guaranteed + depth * len(parts)).all()


def test_weights_left_out_are_the_guaranteed_shares() -> None:
    def weights(**queues: Any) -> list[float]:
        tree = tree_of({"queues": queues})
        assert tree is not None
        return idle(tree, vector(1000, 1000, 10)).weight[1:].round(9).tolist()

    assert weights(a={}, b={}) == [1, 1]
    assert weights(a={"guaranteed": 0.5}, b={"guaranteed": 0.2}, c={}) == [0.5, 0.2, 0.2]
    assert weights(a={"guaranteed": 0.5, "weight": 7.0}, b={"weight": 2.0}, c={}) == [7, 2, 2]
    assert weights(a={"guaranteed": {"gpus": 5}}, b={"guaranteed": {"gpus": "20%"}}) == [0.5, 0.2]


def test_few_units_over_many_sub_clusters_are_not_lost() -> None:
    tree = tree_of({"queues": {"a": {"maximum": {"gpus": 4}, "guaranteed": {"gpus": "1 gpu"}}}})
    assert tree is not None
    capacity = vector(1000, 1000, 2)
    views = []
    for i in range(20):
        others = [CapacityRow(j < i, f"n{j}", "", {}, *capacity.tolist()) for j in range(20) if j != i]
        tree.share_out(others)
        views.append(idle(tree, capacity))
    assert sum(int(q.maximum[1, 2]) for q in views) == 4 and sum(int(q.guaranteed[1, 2]) for q in views) == 1


def test_a_queue_that_is_gone_is_its_nearest_ancestor() -> None:
    tree = tree_of({"queues": {"a": {"children": {"b": {}}}}})
    assert tree is not None
    assert [tree.paths[tree.at(p)] for p in ("root.a.b", "root.a.x.y", "root.z", "z")] == [
        "root.a.b", "root.a", "root", "root",
    ]  # fmt: skip
    assert QueueTree(0, []).paths == ["root"]
