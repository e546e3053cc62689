"""Splitting demand over sub-clusters: exact totals, nothing where nothing may go, and no more than there is room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.federation.split import (
    POLICIES,
    UNKNOWN_HEADROOM,
    SplitTargets,
    blend,
    capped_split,
    integer_split,
    redistribute,
    split,
)
from tests.examples import examples

EXAMPLES = examples(400)
COUNTS = st.one_of(st.integers(0, 50), st.integers(0, 10**9))
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1.0, 1 / 3, 0.1, -1.0, 1e-300, 1e300, float("nan"), float("inf")]), st.floats(-1, 100)
)


@st.composite
def worlds(draw: st.DrawFn) -> SplitTargets:
    n = draw(st.integers(1, 24))
    each = {"min_size": n, "max_size": n}
    return SplitTargets(
        usable=np.array(draw(st.lists(st.booleans(), **each))),
        weights=np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.5, 1e6]), **each))),
        headroom=np.array(
            draw(st.lists(st.one_of(st.just(UNKNOWN_HEADROOM), st.just(0), st.integers(0, 10**6)), **each))
        ),
        home=draw(st.integers(0, n - 1)),
    )


@EXAMPLES
@given(total=COUNTS, weights=st.lists(WEIGHTS, min_size=1, max_size=40), seed=st.none() | st.integers(0, 9))
def test_whole_parts_sum_exactly_and_stay_within_one_of_their_share(
    total: int, weights: list[float], seed: int | None
) -> None:
    w = np.array(weights)
    got = integer_split(total, w, None if seed is None else np.random.default_rng(seed))
    positive = np.where(np.isfinite(w) & (w > 0), w, 0.0)
    assert (got >= 0).all() and (got[positive == 0] == 0).all()
    assert got.sum() == (total if positive.any() else 0)
    if positive.any():
        scaled = positive / positive.max()
        assert (np.abs(got - total * (scaled / scaled.sum())) < 1 + 1e-6).all()


def test_equal_remainders_go_by_index_or_to_the_first_named_or_by_chance() -> None:
    even = np.ones(4)
    assert integer_split(6, even).tolist() == [2, 2, 1, 1]
    assert integer_split(5, even, first=3).tolist() == [1, 1, 1, 2]
    rng = np.random.default_rng(1)
    assert len({tuple(integer_split(5, even, rng)) for _ in range(100)}) == 4


@EXAMPLES
@given(total=COUNTS, world=worlds())
def test_capped_parts_stay_within_room_and_leave_none_of_it_idle(total: int, world: SplitTargets) -> None:
    got = capped_split(total, world.weights, world.headroom)
    room = np.where(world.weights > 0, np.maximum(world.headroom, 0), 0)
    assert (got >= 0).all() and (got <= room).all()
    assert got.sum() == min(total, room.sum())


@EXAMPLES
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    count=COUNTS,
    world=worlds(),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
    prefer_home=st.booleans(),
    within=st.booleans(),
    data=st.data(),
)
def test_splits_are_exact_and_never_ask_an_unusable_sub_cluster(
    policy: str, count: int, world: SplitTargets, alpha: float, prefer_home: bool, within: bool, data: st.DataObject
) -> None:
    n = len(world.usable)
    owned = np.array(data.draw(st.none() | st.lists(st.integers(0, 40), min_size=n, max_size=n)) or [0] * n)
    got = split(policy, count, world, owned=owned, alpha=alpha, prefer_home=prefer_home, within=within)
    open_to = world.usable & ((world.weights > 0) | (policy == "broadcast") | (policy == "home"))
    if policy == "home":
        open_to = open_to & (np.arange(n) == world.home)
    assert got.dtype == np.int64
    assert (got >= 0).all() and (got[~open_to] == 0).all()
    if within:
        assert got.sum() <= count
        assert (got <= np.where(world.headroom == UNKNOWN_HEADROOM, got, world.headroom)).all()
    else:
        assert got.sum() == (count if open_to.any() else 0)


@EXAMPLES
@given(world=worlds(), alpha=st.floats(0, 1))
def test_the_blend_sums_to_one(world: SplitTargets, alpha: float) -> None:
    assert blend(world, alpha).sum() == pytest.approx(float((world.usable & (world.weights > 0)).any()))


@EXAMPLES
@given(unmet=COUNTS, loads=st.lists(st.floats(0, 20) | st.just(float("inf")), min_size=1, max_size=20))
def test_what_a_lost_sub_cluster_owed_goes_to_the_others_inversely_to_load(unmet: int, loads: list[float]) -> None:
    load = np.array(loads)
    got = redistribute(unmet, load)
    assert got.sum() == unmet
    order = np.argsort(load, kind="stable")
    assert (np.diff(got[order]) <= 1).all()  # rounding alone may favour the busier


def site(usable: list[int], weights: list[float], headroom: list[int], home: int = 0) -> SplitTargets:
    return SplitTargets(np.array(usable, bool), np.array(weights), np.array(headroom), home)


def test_home_first_then_where_there_is_room_then_everywhere() -> None:
    three = site([1, 1, 1], [1, 1, 1], [10, 30, 10])
    assert split("locality", 8, three).tolist() == [8, 0, 0]
    assert split("locality", 30, three, alpha=1.0).tolist() == [10, 15, 5]
    assert split("locality", 50, three).tolist() == [10, 30, 10]
    assert split("locality", 80, three, within=True).sum() == 50
    assert split("locality", 80, three, alpha=0.0).tolist() == [20, 40, 20]


def test_names_go_to_their_owners_and_wait_there() -> None:
    three = site([1, 1, 1], [1, 1, 1], [5, 5, 90])
    owned = np.array([0, 20, 0])
    assert split("locality", 30, three, owned=owned).tolist() == [5, 20, 5]
    assert split("locality", 30, three, owned=owned, within=True).tolist() == [5, 5, 5]
    assert split("locality", 30, three, owned=np.array([0, 60, 30])).tolist() == [0, 20, 10]
    gone = site([1, 0, 1], [1, 1, 1], [5, 5, 90])
    assert split("locality", 30, gone, owned=owned).tolist() == [5, 0, 25]
    assert split("weighted", 30, three, owned=owned, prefer_home=False).tolist() == [10, 10, 10]


def test_unknown_headroom_counts_as_average() -> None:
    assert blend(site([1, 1, 1], [1, 1, 1], [30, 10, UNKNOWN_HEADROOM]), 1.0) == pytest.approx([0.5, 1 / 6, 1 / 3])
    nobody = site([1, 1], [1, 1], [UNKNOWN_HEADROOM, UNKNOWN_HEADROOM])
    assert split("locality", 7, nobody).tolist() == [7, 0]
    assert split("locality", 7, nobody, prefer_home=False).tolist() == [4, 3]


def test_a_lost_home_keeps_nothing() -> None:
    lost = site([0, 1, 1], [1, 1, 1], [10, 10, 10])
    assert split("home", 5, lost).tolist() == [0, 0, 0]
    assert split("broadcast", 5, lost).tolist() == [0, 3, 2]


def test_redistribution_spares_the_busy() -> None:
    assert redistribute(90, np.array([0.9, 0.45, 0.3])).tolist() == [15, 30, 45]
    assert redistribute(90, np.array([0.9, 0.45, 0.3]), np.array([True, False, True])).tolist() == [23, 0, 67]
    assert redistribute(4, np.array([np.inf, np.inf])).tolist() == [2, 2]
    room = np.array([10, 0, 40])
    assert redistribute(90, np.array([0.9, 0.45, 0.3]), room=room).tolist() == [17, 13, 60], "room first"
    assert redistribute(100, np.array([0.0, 1.0])).tolist() == [99, 1]
