"""Why a group waits, as the leader writes it: true numbers, advice that works, nothing written without news."""

from typing import Any

from contract.waiting import WaitReason
from controlplane.statestore.models import TaskGroup
from tests.integration.rm.cluster import Cluster, Leading
from wire.states import ContainerState

ONE_GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}}


def reason(cluster: Cluster, job_id: int) -> dict[str, Any]:
    told: dict[str, Any] = TaskGroup.objects.get(job_id=job_id, no=0).reason
    WaitReason.model_validate(told, extra="forbid")
    return told


def settled(leader: Leading, rounds: int = 3) -> None:
    """Rounds some time apart, so that all reasons are written."""
    for _ in range(rounds):
        leader.clock.ahead_s += 6.0
        leader.round()


def ready(cluster: Cluster) -> Leading:
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    return leader


def test_the_queue_at_its_maximum_is_told_with_what_would_help(cluster: Cluster) -> None:
    cluster.policy({"default": {"open_to_all": True}, "small": {"maximum": 0.125}})
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"count": 5}, queue="root.small")
    behind = cluster.submit(ONE_GIB | {"count": 2}, queue="root.small")
    settled(leader)
    told, other = reason(cluster, job), reason(cluster, behind)
    assert [x["limit"] for x in told["limits"]] == ["queue_maximum"]
    assert told["limits"][0]["asked"] == {"memory_mib": 1024, "vcores_milli": 1000}
    assert told["change"]["starts"]
    assert told["change"]["raise"] == [
        {"of": "the maximum of root.small", "by": {"memory_mib": 1024, "vcores_milli": 1000}}
    ]
    assert (told["position"], other["position"]) == (
        {"jobs_ahead": 0, "containers_ahead": 0},
        {"jobs_ahead": 1, "containers_ahead": 4},
    )


def test_labels_that_keep_it_waiting_are_named(cluster: Cluster) -> None:
    leader = ready(cluster)
    job = cluster.submit(
        {"node_labels": "name == n0 && !(gpu || fast)"}, {"name": "b", "node_labels": "name in (n0, n1) && fast"}
    )
    settled(leader)
    told = TaskGroup.objects.get(job_id=job, no=1).reason
    assert told["code"] == "no_node_matches"
    assert told["change"] == {"what": "nodes", "text": "Drop the label term 'fast'.", "starts": True}


def test_when_it_starts_follows_from_what_runs(cluster: Cluster) -> None:
    leader = ready(cluster)
    whole = {"resources": {"memory_mib": 4096, "vcores_milli": 4000}, "count": 2}
    running = cluster.submit(whole | {"estimated_duration_s": 600.0})
    settled(leader)
    cluster.nodes.step()
    next_one, last = cluster.submit(whole | {"count": 1}), cluster.submit(whole)
    settled(leader)
    first, later = reason(cluster, next_one), reason(cluster, last)
    assert first["code"] == later["code"] == "no_room"
    for told in (first, later):
        assert 0 < told["estimate"]["earliest_s"] <= told["estimate"]["latest_s"] <= 600
    assert later["position"] == {"jobs_ahead": 1, "containers_ahead": 1}
    cluster.kill(running)
    settled(leader)


def test_nothing_is_written_without_news(cluster: Cluster) -> None:
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"count": 50})
    settled(leader)
    version = f"SELECT xmin::text FROM {TaskGroup._meta.db_table} WHERE job_id = {job}"
    before = cluster.one(version)
    settled(leader, 5)
    assert cluster.one(version) == before
    cluster.submit(ONE_GIB | {"count": 1}, priority=7)
    settled(leader)
    assert reason(cluster, job)["position"]["jobs_ahead"] == 1, "somebody came before it"


def test_a_pause_after_a_failure_is_a_reason_too(cluster: Cluster) -> None:
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"retries": 3})
    leader.round()
    cluster.nodes.step()
    cluster.nodes.finish(ContainerState.FAILED)
    cluster.nodes.step()
    leader.round()
    leader.round()
    told = reason(cluster, job)
    assert (told["code"], told["waiting"]) == ("backoff", 1)
    assert told["text"].startswith("1 task failed and pauses before it starts again")
    assert 0 < told["limits"][0]["wait_s"] <= 0.5
    leader.clock.ahead_s += 10.0
    leader.round()
    leader.clock.ahead_s += 10.0
    leader.round()
    assert TaskGroup.objects.get(job_id=job).reason is None, "it runs again"


def test_every_waiting_group_is_told_however_many(cluster: Cluster) -> None:
    leader = ready(cluster)
    jobs = [cluster.submit(ONE_GIB | {"count": 20}) for _ in range(40)]
    for _ in range(60):
        leader.clock.ahead_s += 2.0
        leader.round()
        if not leader.rounds.planner.reporter.more:
            break
    leader.clock.ahead_s += 2.0
    leader.round()
    told = TaskGroup.objects.filter(job_id__in=jobs).exclude(reason=None).count()
    assert told == 40
