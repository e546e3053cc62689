"""Numbers of queues as bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.statestore.packed import pack, unpack

_names = st.text(min_size=0, max_size=8)


@st.composite
def _tables(draw: st.DrawFn) -> dict[str, tuple[list[str], np.ndarray]]:
    found = {}
    for name in draw(st.lists(_names, max_size=3, unique=True)):
        paths, width = draw(st.lists(_names, max_size=5)), draw(st.integers(1, 6))
        size = len(paths) * width
        values = draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=size, max_size=size))
        found[name] = paths, np.array(values, np.int64).reshape(len(paths), width)
    return found


@given(_tables())
def test_what_is_packed_comes_back(tables: dict[str, tuple[list[str], np.ndarray]]) -> None:
    found = unpack(pack(tables))
    assert list(found) == list(tables)
    for name, (paths, values) in tables.items():
        assert found[name][0] == paths
        np.testing.assert_array_equal(found[name][1], values)
