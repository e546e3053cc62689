"""A sub-cluster that is drained, resumed and decommissioned, as its RM sees it."""

import psycopg
import pytest
from django.db import connection

from controlplane.rm.ports import Fenced
from controlplane.statestore import posts
from controlplane.statestore.actions import duty, subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.errors import Conflict, Unavailable
from controlplane.statestore.membership import take
from controlplane.statestore.models import (
    AuditEntry,
    Container,
    JobEvent,
    Lease,
    Node,
    NodeCredential,
    SubCluster,
)
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import Federation, another
from tests.integration.rm.test_rm_drain import TINY, running, turn
from tests.patience import stretched
from wire.states import ContainerState, JobState, NodeState, Want

State = SubCluster.State


def sub(cluster: Cluster) -> SubCluster:
    return SubCluster.objects.get(pk=cluster.sub.pk)


def test_a_draining_sub_cluster_places_nothing_and_lets_batch_tasks_end(cluster: Cluster) -> None:
    leader = cluster.lead()
    first = running(cluster, leader, TINY | {"count": 4})
    row = subclusters.drain(SYSTEM, cluster.sub, None, "the hall is sold")
    assert (row.state, row.state_message, row.deadline) == (State.DRAINING, "the hall is sold", None)
    second = cluster.submit(TINY | {"count": 4})
    turn(cluster, leader, 3)
    assert Container.objects.filter(job_id=first).count() == 4, "what runs, runs on"
    assert not Container.objects.filter(job_id=second).exists()
    cluster.nodes.finish()
    turn(cluster, leader, 2)
    assert cluster.job(first).state == JobState.SUCCEEDED
    assert cluster.job(second).state == JobState.ADMITTED
    subclusters.resume(SYSTEM, cluster.sub)
    turn(cluster, leader, 2)
    assert Container.objects.filter(job_id=second).count() == 4
    actions = AuditEntry.objects.filter(action__startswith="sub-cluster.").order_by("id")
    assert list(actions.values_list("action", flat=True))[-2:] == ["sub-cluster.draining", "sub-cluster.running"]


def test_its_services_leave_now_and_everything_at_the_deadline(cluster: Cluster) -> None:
    leader = cluster.lead()
    batch = running(cluster, leader, TINY | {"count": 2})
    service = running(cluster, leader, TINY | {"count": 4}, kind="service")
    subclusters.drain(SYSTEM, cluster.sub, 60, "new floor")
    turn(cluster, leader, 3)
    assert Container.objects.filter(job_id=service).count() == 2, "half of it serves on, since nobody else takes it"
    assert Container.objects.filter(job_id=batch).count() == 2
    leader.clock.ahead_s += 60
    turn(cluster, leader, 3)
    assert not Container.objects.exists()
    told = JobEvent.objects.filter(job_id=batch, kind="drain").values_list("message", flat=True)
    assert told[0].endswith("is being emptied with its sub-cluster: new floor")
    assert cluster.job(batch).state == JobState.RUNNING, "its job master is where it was"


def test_a_node_that_joins_a_draining_sub_cluster_is_closed_and_a_new_leader_knows_it(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    subclusters.drain(SYSTEM, cluster.sub, None)
    leader.round()
    cluster.ids.append(cluster.add_node("late"))
    duty.cordon(SYSTEM, Node.objects.get(pk=cluster.ids[0]))
    turn(cluster, leader)
    assert leader.memory.nodes.closed[:3].all() and leader.memory.nodes.leaving[:3].all()
    leader.close()
    again = cluster.lead()
    job = cluster.submit(TINY)
    turn(cluster, again, 2)
    assert again.memory.nodes.closed[:3].all() and not Container.objects.filter(job_id=job).exists()
    subclusters.resume(SYSTEM, cluster.sub)
    turn(cluster, again)
    assert again.memory.nodes.closed[:3].tolist() == [True, False, False], "what was cordoned stays so"


def test_only_an_empty_sub_cluster_is_decommissioned_and_then_nothing_leads_it(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader, TINY | {"count": 3})
    with pytest.raises(Conflict, match="drain it first"):
        subclusters.decommission(SYSTEM, cluster.sub)
    subclusters.drain(SYSTEM, cluster.sub, None)
    leader.round()
    with pytest.raises(Conflict, match="still has 1 job and 3 containers"):
        subclusters.decommission(SYSTEM, cluster.sub)
    assert Lease.objects.get(pk=cluster.sub.pk).epoch == leader.epoch, "a refusal changes nothing"
    cluster.nodes.finish()
    turn(cluster, leader, 2)
    assert cluster.job(job).state == JobState.SUCCEEDED
    subclusters.decommission(SYSTEM, cluster.sub, "sold")
    assert sub(cluster).state == State.DECOMMISSIONED
    assert set(Node.objects.values_list("state", flat=True)) == {NodeState.DECOMMISSIONED}
    assert not NodeCredential.objects.filter(revoked_at=None).exists()
    with pytest.raises(Fenced):
        leader.store.renew()
    assert posts.free() == [] and take(cluster.sub.pk, "late", 3.0) is None


def test_a_submit_waits_for_a_decommission_that_is_under_way_and_is_then_refused(cluster: Cluster) -> None:
    """The two lock the sub-cluster's row, so that neither overlooks the other."""
    from threading import Thread

    subclusters.drain(SYSTEM, cluster.sub, None)
    met: list[BaseException | int] = []

    def submit() -> None:
        try:
            met.append(cluster.submit(TINY))
        except BaseException as problem:
            met.append(problem)
        finally:
            connection.close()

    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as rival:
        rival.execute("SELECT 1 FROM statestore_subcluster WHERE id = %s FOR UPDATE", (cluster.sub.pk,))
        rival.execute("UPDATE statestore_subcluster SET state = 'decommissioned' WHERE id = %s", (cluster.sub.pk,))
        thread = Thread(target=submit)
        thread.start()
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%statestore_job%'"
        )
        while not cluster.one(waiting):
            assert thread.is_alive()
        rival.commit()
        thread.join(stretched(10))
    assert len(met) == 1 and isinstance(met[0], Unavailable)


def test_a_lost_sub_cluster_comes_back_as_what_it_was(cluster: Cluster) -> None:
    subclusters.lose(cluster.sub.pk, "no heartbeat for 30 s")
    assert (sub(cluster).state, sub(cluster).state_message) == (State.LOST, "no heartbeat for 30 s")
    with pytest.raises(Conflict, match="runs again by itself"):
        subclusters.resume(SYSTEM, cluster.sub)
    subclusters.found(cluster.sub.pk)
    assert sub(cluster).state == State.RUNNING
    deadline = subclusters.drain(Actor(cluster.user.pk), cluster.sub, 600, "disks").deadline
    subclusters.lose(cluster.sub.pk, "no heartbeat for 30 s")
    subclusters.found(cluster.sub.pk)
    assert (sub(cluster).state, sub(cluster).deadline, sub(cluster).lost_from) == (State.DRAINING, deadline, "")


def capacity_elsewhere(leader: Leading) -> int:
    """Memory of all other sub-clusters, in MiB, as this leader knows it."""
    return int(sum(side[0] for sides in leader.memory.queues.elsewhere.values() for side in sides))


def test_a_joining_sub_cluster_runs_once_it_is_led_and_has_a_node_and_the_others_are_told(cluster: Cluster) -> None:
    first = cluster.lead()
    turn(cluster, first)
    assert capacity_elsewhere(first) == 0
    joined = another(cluster, "third")
    SubCluster.objects.filter(pk=joined.sub.pk).update(state=State.JOINING)
    assert subclusters.take_in() == []
    leader = joined.lead()
    assert subclusters.take_in() == [], "it is led and has no node yet"
    joined.nodes.step()
    leader.round()
    assert subclusters.take_in() == ["third"] and subclusters.take_in() == []
    assert sub(joined).state == State.RUNNING
    first.round()
    assert capacity_elsewhere(first) == sum(
        Node.objects.filter(sub_cluster=joined.sub).values_list("memory_mib", flat=True)
    )


def test_a_service_leaves_two_sub_clusters_one_after_the_other_and_half_of_it_serves(cluster: Cluster) -> None:
    """Neither waits for its deadline, and together they never stop more than half."""
    f = Federation(cluster, pace_s=0.3)
    f.proxy("weighted", weights={"west": 1, "east": 1, "south": 0})
    service = f.west.submit(TINY | {"count": 8}, kind="service")
    f.rounds(5)
    assert f.live() == [4, 4, 0]
    f.proxy()
    serves = "SELECT count(*) FROM statestore_container WHERE state = 2"
    for each in f.clusters[:2]:
        subclusters.drain(SYSTEM, each.sub, 3600, "both halls are sold")
    least, east_alone = 8, False
    for _ in range(40):
        for at in range(3):
            f.one_round(at)
            least = min(least, f.west.one(serves) - _stopping(f))
        west, east, south = f.live()
        east_alone |= west == 0 and east == 4
        if south == 8:
            break
    assert f.live() == [0, 0, 8] and least >= 4 and east_alone
    assert f.west.job(service).state == JobState.RUNNING


def _stopping(f: Federation) -> int:
    """Containers that run by their rows and were told to stop."""
    found = 0
    for leader in f.leaders:
        assert leader is not None
        t = leader.memory.containers
        found += int((t.live & (t.state == ContainerState.RUNNING) & (t.want == Want.STOP)).sum())
    return found
