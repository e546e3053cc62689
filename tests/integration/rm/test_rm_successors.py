"""What a successor has to find out by itself, because nobody will tell it."""

import pytest

from tests.integration.rm.cluster import Cluster
from tests.integration.rm.test_rm_spanning import Pair
from wire import keys
from wire.states import JobState


@pytest.fixture
def pair(cluster: Cluster) -> Pair:
    return Pair(cluster)


def test_a_job_being_stopped_ends_when_nothing_of_it_is_left_to_end(pair: Pair) -> None:
    """Its last tasks waited elsewhere, and were taken back before its leader was gone."""
    huge = {"count": 2, "resources": {"memory_mib": 8192, "vcores_milli": 1}}
    job = pair.home.submit(huge)
    pair.rounds()
    pair.hand_over(job, 2)
    pair.rounds()
    pair.home.kill(job)
    pair.west.round()
    assert pair.home.job(job).state == JobState.KILLING
    sub = pair.other.sub.pk
    pair.home.rows(f"UPDATE statestore_lease SET expires_at = NULL WHERE sub_cluster_id = {sub} RETURNING 1")
    assert pair.west.store.withdraw([(job, 0, sub)]) == [(job, 0, sub, 0)]
    pair.home.expire()
    pair.home.lead().round()
    assert pair.home.job(job).state == JobState.KILLED
    assert not pair.home.rows("SELECT 1 FROM statestore_ask")


def test_a_job_of_which_all_runs_elsewhere_runs_and_succeeds_after_a_take_over(pair: Pair) -> None:
    """The successor finds its tasks running before it reads that they have begun."""
    only = {"count": 2, "locality": {"nodes": ["east0"], "relax": False}}
    job = pair.home.submit(only)
    pair.west.round()
    pair.hand_over(job, 2)
    pair.east.round()
    pair.home.expire()
    pair.west = pair.home.lead()
    assert pair.home.job(job).state == JobState.ADMITTED
    pair.west.round()
    assert pair.home.job(job).state == JobState.RUNNING
    pair.east = pair.other.lead()
    assert pair.finish(job) == JobState.SUCCEEDED


def test_groups_of_a_job_being_stopped_stay_where_they_were(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 2}, {"count": 1, "resources": {"memory_mib": 8192, "vcores_milli": 1}})
    leader.round()
    cluster.nodes.step()
    leader.round()
    cluster.kill(job)
    leader.round()
    leader.close()
    successor = cluster.lead()
    successor.clock.ahead_s += 10.0
    successor.round()
    assert [g.state for g in cluster.job(job).groups.order_by("no")] == [2, 1], "running and pending"


def test_what_waits_for_its_template_gets_it_again_when_redis_has_lost_it(cluster: Cluster) -> None:
    """Also when its node has reported it meanwhile."""
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit({"count": 1})
    leader.round()
    (name,) = leader.bus._redis.keys(keys.template(cluster.sub.pk, "*"))
    leader.bus._redis.delete(name)
    t = leader.memory.containers
    t.echoed[t.live] = True
    leader.rounds.lost_redis(range(len(leader.memory.nodes)))
    leader.round()
    assert leader.bus._redis.exists(name)
