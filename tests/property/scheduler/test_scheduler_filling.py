"""Both solvers of weighted max-min divide alike what both can be asked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.preemption import ideal
from scheduler.shares import filling
from tests.examples import examples

AMOUNTS = st.integers(0, 1000).map(float)


@st.composite
def budgets(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """What each claimant has at least and at most, its weight, and a budget between all of the one and of the other."""
    k = draw(st.integers(1, 6))
    low = np.array(draw(st.lists(AMOUNTS, min_size=k, max_size=k)))
    high = low + np.array(draw(st.lists(AMOUNTS, min_size=k, max_size=k)))
    weight = np.array(draw(st.lists(st.sampled_from([0.1, 1.0, 2.5, 40.0]), min_size=k, max_size=k)))
    return low, high, weight, low.sum() + draw(st.floats(0, 1)) * (high - low).sum()


@examples(300)
@given(budgets())
def test_both_divide_alike(drawn: tuple[np.ndarray, np.ndarray, np.ndarray, float]) -> None:
    low, high, weight, budget = drawn
    limit, start = high / weight, np.empty(len(low))
    filling.start_levels(low, weight, start)
    x = filling.fill_level(low, weight, start, limit, 0.0, budget)
    filled = np.maximum(low, weight * np.minimum(x, limit))
    divided = ideal.divide_max_min(np.zeros(len(low)), weight, low, high, budget)
    np.testing.assert_allclose(filled, divided, rtol=1e-9, atol=1e-5)
    assert abs(divided.sum() - budget) < 1e-5
