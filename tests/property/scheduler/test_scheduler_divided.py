"""By how much a divided limit must rise: so much is enough where it was told, and a user's no less is."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.statestore.capacities import QueueLimits, resolve, resolve_part
from scheduler.explain.divided import WholeLimits
from scheduler.shares.tree import QueueHierarchy
from tests.examples import examples
from wire.resources import AXES

R = len(AXES)
EXAMPLES = examples(200)
amounts = st.tuples(st.integers(1, 50_000), st.integers(1, 64_000), st.integers(0, 16))


@st.composite
def divided(draw: st.DrawFn) -> tuple[QueueHierarchy, QueueLimits, list[np.ndarray], int, float]:
    """A root with one leaf that has a maximum; sub-clusters, which of them it is about, and a user's share."""
    hierarchy = QueueHierarchy.of(["root", "root.a"], ["", "root"])
    sides = [np.array(side, np.int64) for side in draw(st.lists(amounts, min_size=2, max_size=4))]
    whole = np.sum(sides, axis=0)
    units = draw(st.booleans())
    none = np.zeros((2, R))
    share = np.array([[1.0] * R, [0.0 if units else draw(st.sampled_from((0.1, 0.25, 0.5)))] * R])
    most = np.array([np.zeros(R), whole // 4 if units else np.zeros(R)], np.float64)
    at = draw(st.integers(0, len(sides) - 1))
    return hierarchy, QueueLimits(none, none, share, most), sides, at, draw(st.sampled_from((0.1, 0.25, 0.5, 0.75)))


def part(hierarchy: QueueHierarchy, limits: QueueLimits, sides: list[np.ndarray], at: int) -> np.ndarray:
    before, whole = np.sum([np.zeros(R, np.int64), *sides[:at]], axis=0), np.sum(sides, axis=0)
    return resolve_part(hierarchy, limits, sides[at], before, whole).maximum


def whole_limits(
    hierarchy: QueueHierarchy, limits: QueueLimits, sides: list[np.ndarray], at: int, share: float
) -> WholeLimits:
    everywhere = resolve(hierarchy, limits, np.sum(sides, axis=0)).maximum
    return WholeLimits(part(hierarchy, limits, sides, at), everywhere, np.array([1.0, share]))


@given(divided(), st.tuples(*[st.integers(0, 3000)] * R))
@EXAMPLES
def test_a_queues_maximum_that_rises_by_so_much_is_enough(world, more):
    hierarchy, limits, sides, at, share = world
    known, lacks = whole_limits(hierarchy, limits, sides, at, share), np.array(more, np.int64)
    rise = known.queue_rise(lacks)
    assert ((rise >= lacks) & ((rise > 0) == (lacks > 0))).all()
    raised = limits.maximum_units.copy()
    raised[1] += rise
    after = part(hierarchy, replace(limits, maximum_units=raised), sides, at)[1]
    wanted = known.here[1] + lacks
    assert (after >= np.minimum(wanted, known.here[0])).all(), "all there is here is always enough"


@given(divided(), st.tuples(*[st.integers(1, 3000)] * R))
@EXAMPLES
def test_what_one_user_may_hold_rises_by_enough_and_less_would_not_do(world, more):
    hierarchy, limits, sides, at, share = world
    known, lacks = whole_limits(hierarchy, limits, sides, at, share), np.array(more, np.int64)
    here, everywhere = known.here[1], known.everywhere[1]
    rise = known.user_rise(1, lacks)

    def held(by: np.ndarray) -> np.ndarray:
        return np.floor(here * ((everywhere * share + by) / np.maximum(everywhere, 1)) + 1e-6)

    there = here > 0  # a share of nothing is nothing
    wanted = held(rise * 0) + lacks
    assert (held(rise) >= wanted)[there].all()
    assert (held(rise - 1) < wanted)[there].all()
