"""Properties of what the GPG adds to the pure shares: guaranteed parts, and ceilings while RMs change over."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.gpg.ceilings import ceilings
from controlplane.gpg.shares import guaranteed_part
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.memory.shares import KnownShares
from controlplane.rm.rows import QueueRow
from controlplane.statestore.capacities import R
from controlplane.statestore.shares import UNLIMITED, Assignment

_amount = st.integers(0, 1000)


@st.composite
def _arrays(draw: st.DrawFn, *shape: int) -> np.ndarray:
    size = int(np.prod(shape))
    return np.array(draw(st.lists(_amount, min_size=size, max_size=size)), np.int64).reshape(shape)


@given(st.data())
def test_guaranteed_parts_add_up_to_the_guarantee(data: st.DataObject) -> None:
    s, q = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    due, guaranteed = data.draw(_arrays(s, q, R)), data.draw(_arrays(q, R))
    part = guaranteed_part(due, guaranteed)
    assert (part >= 0).all() and (part <= due).all()
    np.testing.assert_array_equal(part.sum(axis=0), np.minimum(due.sum(axis=0), guaranteed))


@given(st.data())
def test_whatever_mixture_of_ceilings_is_in_force_the_maximum_holds(data: st.DataObject) -> None:
    """RMs take assignments late, in any order; each goes by one it has read, and uses no more."""
    s, q = data.draw(st.integers(1, 4)), 2
    maximum, capacity = data.draw(_arrays(q, R)), data.draw(_arrays(s, R)) + 1
    before = np.zeros((s, q, R), np.int64)
    before[0] = maximum
    versions, running = [before], [0] * s
    used = np.zeros((s, q, R), np.int64)
    for _ in range(data.draw(st.integers(1, 6))):
        due = data.draw(_arrays(s, q, R))
        due = np.floor(due * np.minimum(1.0, maximum / np.maximum(due.sum(axis=0), 1))).astype(np.int64)
        told = used.copy()
        settled = all(version == len(versions) - 1 for version in running)
        versions.append(ceilings(maximum, due, versions[-1], told, capacity, settled))
        assert (versions[-1] >= 0).all()
        for at in range(s):
            if data.draw(st.booleans()):
                running[at] = len(versions) - 1
            here = versions[running[at]][at]
            used[at] = np.where(data.draw(st.booleans()), np.maximum(used[at], here), np.minimum(used[at], here))
            in_force = np.array([versions[running[i]][i] for i in range(s)])
            assert (in_force.sum(axis=0) <= maximum).all()


@given(st.data())
def test_an_rm_keeps_within_what_there_is(data: st.DataObject) -> None:
    """Whatever was assigned, and whatever became of capacity and policy: children stay within their parents."""
    rows = [QueueRow("root", "")]
    share = {"share": [0.0] * R, "units": [0] * R}
    for path in ("root.a", "root.a.x", "root.a.y", "root.b"):
        limits = {
            "guaranteed": {**share, "share": [data.draw(st.sampled_from([0.0, 0.3, 0.5]))] * R},
            "maximum": {**share, "share": [data.draw(st.sampled_from([0.0, 0.5, 1.0]))] * R},
        }
        rows.append(QueueRow(path, path.rpartition(".")[0], capacities={"": limits}))
    tree = QueueTree(data.draw(st.integers(1, 2)), rows)
    paths = data.draw(st.lists(st.sampled_from([*tree.paths, "root.gone"]), unique=True))
    table = data.draw(_arrays(len(paths), 3 * R))
    table[data.draw(st.booleans()) :, 2 * R :] = UNLIMITED
    tree.shares = KnownShares(Assignment(1, 0, 1, {"": (paths, table)}))
    capacity = data.draw(_arrays(R))
    view = tree.view("", capacity, np.zeros((len(tree.paths), R), np.int64))
    for amounts in (view.guaranteed, view.owed):
        assert amounts is not None and (amounts >= 0).all() and (amounts <= view.maximum).all()
        below = np.zeros_like(amounts)
        np.add.at(below, view.parent[1:], amounts[1:])
        assert (below <= np.where((below > 0).any(axis=1)[:, None], amounts, below)).all()
    assert (view.owed[1:] <= view.guaranteed[1:]).all()
    assert (view.maximum[1:] <= view.maximum[view.parent[1:]]).all() and (view.maximum <= capacity).all()
