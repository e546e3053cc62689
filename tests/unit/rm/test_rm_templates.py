"""Templates lie in Redis for as long as something may start by them, and no longer."""

import pytest

from controlplane.rm.ports import BusDown
from tests.doubles import MemoryCluster


def held(cluster: MemoryCluster) -> int:
    return len(cluster.nodes.redis.templates)


def test_with_its_group_a_template_goes(cluster: MemoryCluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 2}, {"count": 1, "name": "then", "after": ["g0"]})
    for expected in (1, 1):
        leader.round()
        cluster.nodes.step()
        assert held(cluster) == expected
    cluster.nodes.finish()
    cluster.nodes.step()
    leader.round()
    assert held(cluster) == 1, "that of the group that follows, and that alone"
    cluster.nodes.step()
    leader.round()
    cluster.nodes.finish()
    cluster.nodes.step()
    leader.round()
    assert (held(cluster), cluster.state(job)) == (0, 10)


def test_equal_groups_share_one_and_the_last_takes_it_along(cluster: MemoryCluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    first, second = (cluster.submit({"count": 1}) for _ in range(2))
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert held(cluster) == 1
    for job, left in ((first, 1), (second, 0)):
        cluster.nodes.finish(ids={each.id for each in cluster.live(job)})
        cluster.nodes.step()
        leader.round()
        assert held(cluster) == left


def test_what_a_former_leader_put_goes_as_well(cluster: MemoryCluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit({"count": 2})
    leader.round()
    cluster.nodes.step()
    leader.round()
    cluster.expire()
    leader = cluster.lead()
    cluster.nodes.finish()
    cluster.nodes.step()
    leader.round()
    assert held(cluster) == 0


def test_a_redis_that_is_full_gets_room_again_by_what_ends(cluster: MemoryCluster) -> None:
    """What is withdrawn needs no room; what could not be while Redis was away goes with the next round."""
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit({"count": 2})
    leader.round()
    cluster.nodes.step()
    leader.round()
    cluster.nodes.finish()
    cluster.nodes.step()
    redis = cluster.nodes.redis
    redis.full = True
    with pytest.raises(BusDown):  # the document, which is put again
        leader.round()
    assert held(cluster) == 0


def test_what_could_not_be_withdrawn_goes_later(cluster: MemoryCluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit({"count": 2})
    leader.round()
    cluster.nodes.step()
    leader.round()
    (digest,) = cluster.nodes.redis.templates
    leader.memory.templates.enter(digest)
    leader.memory.templates.leave(digest)
    assert not leader.memory.templates.unneeded, "its group needs it"
    cluster.nodes.finish()
    cluster.nodes.step()
    leader.memory.dirty_nodes.clear()
    statuses, down = leader.bus.statuses, cluster.nodes.redis

    def answered_once(ids: list[int]) -> list[bytes | None]:
        found = statuses(ids)
        down.down = True
        return found

    leader.bus.statuses = answered_once  # type: ignore[method-assign,assignment]
    with pytest.raises(BusDown):
        leader.round()
    leader.bus.statuses, down.down = statuses, False  # type: ignore[method-assign]
    assert held(cluster) == 1
    leader.round()
    assert held(cluster) == 0
