"""What a successor has to find out by itself, because nobody will tell it."""

import pytest

from controlplane.rm.adapters.aheadrows import job_source
from controlplane.rm.adapters.clock import HostClock
from controlplane.rm.driver.readahead import ReadAhead
from controlplane.statestore import posts
from controlplane.statestore.membership import take
from tests.integration.rm.cluster import FOR_EVER_S, LEASE_S, Cluster
from tests.integration.rm.test_rm_spanning import Pair
from tests.patience import wait_until
from tests.stepped import LOG_BYTES, memory_state
from wire import keys
from wire.states import JobState

MASTER = {"command": ["decide"], "resources": {"memory_mib": 512, "vcores_milli": 500}}


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
    assert pair.east.memory.guests == {job}, "it has read nothing since it stood still"
    pair.east.round()
    assert not pair.east.memory.guests and not pair.home.rows("SELECT 1 FROM statestore_intent")


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


def test_who_has_lost_the_session_is_succeeded_at_once_and_who_is_merely_still_is_not(cluster: Cluster) -> None:
    """A leader that is killed leaves no session behind; one that is stopped does, and has its lease."""
    first = take(cluster.sub.pk, "a", FOR_EVER_S)
    assert first is not None
    assert posts.free() == [] and take(cluster.sub.pk, "b", LEASE_S) is None
    first.connection.close()
    second = wait_until(lambda: take(cluster.sub.pk, "b", FOR_EVER_S), 10, "its session has ended")
    assert (second.epoch, posts.free()) == (2, [])
    second.connection.close()
    wait_until(lambda: posts.free() == [(cluster.sub.pk, cluster.sub.name)], 10, "workers see it, too")
    assert posts.free("b") == [] and take(cluster.sub.pk, "b", LEASE_S) is None, "who comes back has nothing ready"
    cluster.expire()
    assert posts.free("b") == [(cluster.sub.pk, cluster.sub.name)]
    third = take(cluster.sub.pk, "b", LEASE_S)
    assert third is not None and third.epoch == 3, "where nobody else is, it leads when the lease has run out"
    third.release()


def test_a_successor_that_read_ahead_knows_what_any_other_would(cluster: Cluster) -> None:
    ahead = ReadAhead(LOG_BYTES, 1000, HostClock(), lambda seconds: True)
    old = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 6})
    old.round()
    cluster.nodes.step()
    second = cluster.submit({"count": 2})
    app = cluster.submit_spec({"name": "app", "kind": "application", "master": MASTER})
    long = cluster.submit({"command": ["echo", "x" * 5000]})
    with job_source() as source:
        ahead.follow([cluster.sub.pk], source)
    cluster.nodes.finish(ids=set(list(cluster.nodes.all_held())[:2]))
    cluster.kill(second)
    cluster.nodes.step()
    old.round()
    made = ahead.take(cluster.sub.pk)
    assert made.keys() == {job, second} and {job, app, long} <= old.memory.jobs.keys()
    assert {row.id: bool(row.spec) for row in old.store.live_jobs(made)} == {
        known: known not in made for known in old.memory.jobs
    }
    assert memory_state(old.rebuilt(made)) == memory_state(old.memory)
    cluster.kill(app)
    cluster.play(old, job, app, long)
