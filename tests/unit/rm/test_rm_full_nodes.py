"""Nodes with more containers than a status tells of: none is given so many, and none is judged by what is left out."""

from typing import Any

import pytest

from controlplane.rm.memory.nodes import CONTAINERS_MAX
from controlplane.rm.steps import collect
from tests.doubles import MemoryCluster as Cluster
from tests.playing import ONE_GIB, ready, turn

TINY: dict[str, Any] = {"resources": {"memory_mib": 1, "vcores_milli": 1}}
HUGE = {"memory_mib": 1 << 20, "vcores_milli": 1 << 20}


@pytest.fixture
def roomy(cluster: Cluster) -> Cluster:
    """With two nodes that have room for a million tiny containers each."""
    for name in ("big-1", "big-2"):
        cluster.add_node(name, **HUGE)
    return cluster


def test_no_node_is_given_more_than_its_status_can_tell(roomy: Cluster) -> None:
    leader = ready(roomy)
    job = roomy.submit(TINY | {"count": 30_000})
    turn(roomy, leader, 6)
    where = roomy.where(job)
    assert where["big-1"] == where["big-2"] == CONTAINERS_MAX
    assert max(where.values()) <= CONTAINERS_MAX
    turn(roomy, leader, 3)
    assert roomy.where(job) == where and roomy.reasons(job) == {}, "all that were started run on"


def test_a_gang_that_nodes_cannot_tell_of_is_not_torn_and_holds_up_nobody(roomy: Cluster) -> None:
    leader = ready(roomy)
    gang = roomy.submit(TINY | {"count": 20_000, "gang": True})
    other = roomy.submit(TINY | {"count": 10})
    turn(roomy, leader, 6)
    assert roomy.held(gang, other) == [0, 10]


@pytest.mark.parametrize(("most", "judged"), [(3, 0), (4, 1)])
def test_a_full_status_proves_no_absence(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, most: int, judged: int
) -> None:
    leader = ready(cluster)
    cluster.submit(ONE_GIB | {"count": 8})
    turn(cluster, leader)
    node = next(iter(cluster.nodes.known()))
    held = cluster.nodes.holds(node)
    assert len(held) == 4
    cluster.nodes.lose(node, min(held))
    monkeypatch.setattr(collect, "MAX_ENTRIES", most)
    cluster.nodes.step()
    assert leader.round().ended == judged
