"""Services that are scaled and restarted by what web does, over the real stores, and whoever leads."""

from copy import deepcopy

import pytest
from django.utils import timezone

from controlplane.rm.driver.readahead import made_ahead
from controlplane.rm.ports import StoreDown
from controlplane.statestore.actions import services
from controlplane.statestore.models import Container, Endpoint, Task, TaskGroup
from controlplane.statestore.queries.jobs.live import live
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import SMALL, leading
from tests.playing import turn
from tests.stepped import memory_state
from wire.states import ContainerState

CHECKED = SMALL | {"name": "web", "ports": [{"name": "http"}], "health_check": {"port": "http", "tcp": True}}


def attempts(job: int) -> list[tuple[int, int]]:
    return list(Container.objects.filter(job_id=job).order_by("task_index").values_list("task_index", "attempt"))


def serve(job: int) -> None:
    """Nodes say that all that runs is healthy."""
    for container in Container.objects.filter(job_id=job, state=ContainerState.RUNNING):
        said = {"host": "h", "port": 80, "healthy": True, "checked_at": timezone.now(), "job_id": job}
        Endpoint.objects.update_or_create(container_id=container.pk, name="http", defaults=said)


def same_when_rebuilt(leader: Leading) -> None:
    assert memory_state(leader.memory) == memory_state(leader.rebuilt())


def test_a_service_is_scaled_and_its_successor_knows(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(SMALL | {"name": "web", "count": 2}, kind="service")
    turn(cluster, leader)
    services.scale(cluster.actor, cluster.job(job), "web", 5, "ann")
    turn(cluster, leader)
    assert attempts(job) == [(task, 1) for task in range(5)]
    assert TaskGroup.objects.get(job_id=job).count == 5
    assert live(cluster.job(job).owner_id) == [("root.default", 1, 5, cluster.job(job).spec_bytes)]
    services.scale(cluster.actor, cluster.job(job), "web", 1, "ann")
    leader.round()
    same_when_rebuilt(leader)
    leader.close()
    leader = leading(cluster, leader.clock.ahead_s)
    turn(cluster, leader)
    assert attempts(job) == [(0, 1)]
    same_when_rebuilt(leader)
    assert cluster.events(job, "scaled")[-1] == "web from 5 tasks to 1, asked for by ann"


def test_its_tasks_restart_one_after_the_other_as_their_nodes_find_them_healthy(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(CHECKED | {"count": 2}, kind="service")
    turn(cluster, leader)
    services.restart(cluster.actor, cluster.job(job), "web", None, "ann")
    turn(cluster, leader, 3, seconds=1.1)
    assert attempts(job) == [(0, 2), (1, 1)]
    assert cluster.job(job).services == {
        "0": {"count": 2, "asked_us": 0, "now": [], "queue": [[0, 2, 1]], "unsure": [], "width": 1, "by": "ann"},
    }  # fmt: skip
    same_when_rebuilt(leader)
    leader.close()
    leader = leading(cluster, leader.clock.ahead_s)
    for _ in range(4):
        serve(job)
        turn(cluster, leader, seconds=1.1)
    assert attempts(job) == [(0, 2), (1, 2)]
    assert cluster.job(job).services == {} and cluster.group(job).failed == 0


def test_a_restart_ends_a_pause_and_a_successor_knows(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(SMALL | {"name": "web", "count": 2}, kind="service")
    turn(cluster, leader)
    (container,) = Container.objects.filter(job_id=job, task_index=0)
    assert cluster.nodes.finish(ContainerState.FAILED, {container.pk}) == 1
    cluster.nodes.step()
    leader.round()
    assert attempts(job) == [(1, 1)] and leader.memory.jobs[job].groups[0].run.next_due is not None
    services.restart(cluster.actor, cluster.job(job), "web", 0, "ann")
    leader.round()
    assert attempts(job) == [(0, 2), (1, 1)], "and no time has passed"
    assert Task.objects.get(job_id=job).failures == 0
    same_when_rebuilt(leader)


def test_a_round_that_fails_has_changed_nothing_and_the_next_leader_does_it(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(SMALL | {"name": "web", "count": 2}, kind="service")
    turn(cluster, leader)
    services.scale(cluster.actor, cluster.job(job), "web", 3, "ann")
    leader.leadership.connection.close()
    with pytest.raises(StoreDown):
        leader.round()
    assert TaskGroup.objects.get(job_id=job).count == 2
    (held,) = live(cluster.job(job).owner_id)
    assert (held.tasks, cluster.job(job).task_count) == (3, 2), "what is asked for and not done yet counts"
    cluster.expire()
    leader = leading(cluster)
    turn(cluster, leader)
    assert attempts(job) == [(0, 1), (1, 1), (2, 1)]


RULES = {"max_unavailable": 1, "min_ready_s": 0.0, "deadline_s": 30.0, "max_failures": 0}


def update(cluster: Cluster, job: int, revision: int, command: str, **rules: float) -> None:
    row = cluster.job(job)
    spec = deepcopy(row.spec)
    spec["groups"][0]["command"] = [command]
    asked = {"revision": revision, "spec": spec, "size": 77, "rules": RULES | rules, "by": "ann", "back": None}
    services.update(cluster.actor, row, asked)


def test_a_service_runs_another_revision_and_its_successor_knows(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(SMALL | {"name": "web", "count": 2}, kind="service")
    turn(cluster, leader)
    update(cluster, job, 1, "better")
    turn(cluster, leader, seconds=1.1)
    same_when_rebuilt(leader)
    ahead = made_ahead(leader.store.jobs([job])[0], 1 << 20)
    assert ahead is not None and memory_state(leader.rebuilt({job: ahead})) == memory_state(leader.memory)
    leader.close()
    leader = leading(cluster, leader.clock.ahead_s)
    turn(cluster, leader, 4, seconds=1.1)
    assert attempts(job) == [(0, 2), (1, 2)]
    row = cluster.job(job)
    assert row.services == {"revision": 2, "rollout": None} and row.spec_bytes == 77
    assert row.spec["groups"][0]["command"] == ["better"]
    assert [(r["revision"], r["by"], r["outcome"]) for r in row.revisions] == [(1, "tenant", ""), (2, "ann", "")]
    assert leader.memory.jobs[job].groups[0].digest == leader.rebuilt().jobs[job].groups[0].digest
    same_when_rebuilt(leader)


def test_a_revision_that_is_late_is_taken_back_by_whoever_leads_then(cluster: Cluster) -> None:
    leader = leading(cluster)
    job = cluster.submit(CHECKED | {"count": 2}, kind="service")
    turn(cluster, leader)
    update(cluster, job, 1, "worse")
    turn(cluster, leader, 2, seconds=1.1)
    leader.close()
    leader = leading(cluster, leader.clock.ahead_s)
    turn(cluster, leader, seconds=31.0)
    for _ in range(3):
        serve(job)
        turn(cluster, leader, seconds=1.1)
    assert attempts(job) == [(0, 3), (1, 1)], "who ran the old one serves on"
    row = cluster.job(job)
    assert [(r["outcome"], r["back"]) for r in row.revisions] == [
        ("", None), ("failed: it was not done within 30 s", None), ("", 1),
    ]  # fmt: skip
    assert row.spec["groups"][0]["command"] == ["true"] and row.services == {"revision": 3, "rollout": None}
    assert cluster.events(job, "updated") == ["all tasks run revision 3"]
    same_when_rebuilt(leader)
