"""Who is lost, and when nobody is."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.rm.driver.liveness import AnsweredClock, lost_nodes
from tests.examples import examples
from wire.states import NodeState

LOST_S, CERTAIN_S = 8.0, 608.0
nodes = st.lists(st.tuples(st.sampled_from(list(NodeState)), st.floats(0, 1000)), max_size=30)


@given(nodes, st.floats(0, 1000))
@examples(300)
def test_lost_nodes_against_its_meaning(nodes: list[tuple[NodeState, float]], now: float) -> None:
    state, seen = np.array([s for s, _ in nodes], np.int8), np.array([t for _, t in nodes], float)
    lost, frozen = lost_nodes(state, seen, now, LOST_S, CERTAIN_S)
    watched = [i for i, (s, _) in enumerate(nodes) if s in (NodeState.UP, NodeState.UNHEALTHY)]
    silent = [i for i in watched if now - seen[i] >= LOST_S]
    assert frozen is (len([i for i in watched if now - seen[i] >= LOST_S / 2]) * 2 > len(watched))
    expected = [i for i in silent if now - seen[i] >= CERTAIN_S] if frozen else silent
    assert lost.tolist() == expected


def test_half_the_nodes_may_be_lost_and_over_half_may_not() -> None:
    state = np.full(4, NodeState.UP, np.int8)
    assert lost_nodes(state, np.array([0.0, 0, 9, 9]), 10, LOST_S, CERTAIN_S)[0].tolist() == [0, 1]
    lost, frozen = lost_nodes(state, np.array([0.0, 0, 0, 9]), 10, LOST_S, CERTAIN_S)
    assert (lost.tolist(), frozen) == ([], True)
    assert lost_nodes(state, np.array([0.0, 0, 0, 699]), 700, LOST_S, CERTAIN_S)[0].tolist() == [0, 1, 2]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
@examples(100)
def test_the_answered_clock_never_goes_back_nor_jumps(times: list[float]) -> None:
    clock = AnsweredClock()
    before = clock.answered(times[0])
    for previous, at in pairwise(times):
        now = clock.answered(at)
        assert 0 <= now - before <= min(max(0.0, at - previous), 2.0) + 1e-6
        before = now


def test_a_pause_of_an_hour_makes_nobody_lost() -> None:
    clock = AnsweredClock()
    for at in (0.0, 1.0, 2.0):
        now = clock.answered(at)
    seen = np.array([now] * 3)
    now = clock.answered(3602.0)
    assert lost_nodes(np.full(3, NodeState.UP, np.int8), seen, now, LOST_S, CERTAIN_S)[0].size == 0


@given(st.integers(1, 50), st.floats(0.001, 1.0), st.floats(0, 1.0))
@examples(100)
def test_nodes_that_fall_silent_at_once_are_not_lost_one_by_one(n: int, heartbeat_s: float, phase: float) -> None:
    """Their last heartbeats lie up to a heartbeat apart, and so do the moments at which they would be lost."""
    state, seen = np.full(n, NodeState.UP, np.int8), np.arange(n) / n * heartbeat_s
    for sweep in range(60):
        now = heartbeat_s + (sweep + phase) * heartbeat_s / 2 + LOST_S / 2
        lost, _ = lost_nodes(state, seen, now, LOST_S, CERTAIN_S)
        assert not len(lost)
