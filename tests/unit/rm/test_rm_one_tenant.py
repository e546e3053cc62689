"""Nodes on which all tasks run as one user: they are given tasks of one tenant at a time."""

import pytest

from controlplane.rm.steps.handover import TURN_S
from tests.doubles import MemoryCluster as Cluster
from tests.playing import ONE_GIB, finish, ready, turn
from wire.states import ContainerState

ALONE = {"memory_mib": 4096, "vcores_milli": 4000, "one_tenant": True}


@pytest.fixture
def alone(cluster: Cluster) -> Cluster:
    """With two such nodes, and no others."""
    for node in list(cluster.nodes.known()):
        cluster.decommission(node)
    for name in ("alone-1", "alone-2"):
        cluster.add_node(name, **ALONE)
    return cluster


def test_another_tenants_tasks_wait_until_such_a_node_is_free(alone: Cluster) -> None:
    leader = ready(alone)
    first = alone.submit(ONE_GIB | {"count": 5})
    turn(alone, leader, 3)
    assert sum(alone.where(first).values()) == 5 and len(alone.where(first)) == 2
    alone.become("second")
    other = alone.submit(ONE_GIB | {"count": 2})
    turn(alone, leader, 6)
    assert alone.held(other) == [0]
    reason = alone.group(other).reason
    assert (
        reason["code"] == "one_tenant"
        and "serve one tenant at a time" in reason["text"]
        and reason["limits"][0]["limit"] == "one_tenant"
    )
    alone.kill(first)
    turn(alone, leader, 6)
    assert alone.held(first, other) == [0, 2] and alone.reasons(other) == {}


def test_tenants_that_come_at_once_get_different_nodes(alone: Cluster) -> None:
    leader = ready(alone)
    first = alone.submit(ONE_GIB | {"count": 1})
    alone.become("second")
    other = alone.submit(ONE_GIB | {"count": 1})
    gang = alone.submit(ONE_GIB | {"count": 3, "gang": True})
    turn(alone, leader, 6)
    assert alone.held(first, other, gang) == [1, 1, 3]
    assert (
        set(alone.where(first)).isdisjoint(alone.where(other)) and alone.where(gang).keys() == alone.where(other).keys()
    )
    assert not any(live.state == ContainerState.FAILED for job in (first, other, gang) for live in alone.live(job))


def test_other_nodes_take_what_such_ones_may_not(alone: Cluster) -> None:
    alone.add_node("shared", memory_mib=4096, vcores_milli=4000)
    leader = ready(alone)
    first = alone.submit(ONE_GIB | {"count": 8})
    turn(alone, leader, 3)
    alone.become("second")
    other = alone.submit(ONE_GIB | {"count": 4})
    turn(alone, leader, 6)
    assert alone.held(first, other)[0] == 8 and alone.where(other)
    assert set(alone.where(first)) & set(alone.where(other)) <= {"shared"}


def test_who_goes_on_submitting_does_not_keep_every_such_node(alone: Cluster) -> None:
    leader = ready(alone)
    mine = alone.submit(ONE_GIB | {"count": 100})
    turn(alone, leader, 2)
    assert len(alone.where(mine)) == 2
    alone.become("second")
    other = alone.submit(ONE_GIB | {"count": 2})
    for _ in range(round(TURN_S) + 10):
        finish(alone, leader, mine, 1)  # there are always others of it on each node
        turn(alone, leader)
    assert alone.held(other) == [2]
    assert len(alone.where(other)) == 1
    assert alone.held(mine) == [4], "the first keeps the other node, which it fills"
    for _ in range(round(TURN_S) + 10):
        finish(alone, leader, mine, 1)
        turn(alone, leader)
    assert alone.held(mine, other) == [4, 2], "one at a time: who has a node waits for no turn"


def test_what_is_kept_for_who_needs_more_than_a_node_is_given_up(alone: Cluster) -> None:
    leader = ready(alone)
    mine = alone.submit(ONE_GIB | {"count": 100})
    turn(alone, leader, 2)
    alone.become("second")
    alone.submit(ONE_GIB | {"count": 6, "gang": True})
    for _ in range(round(TURN_S) + 10):
        finish(alone, leader, mine, 1)
        turn(alone, leader)
    assert alone.held(mine) == [8]
