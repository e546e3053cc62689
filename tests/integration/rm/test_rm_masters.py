"""Application masters that tenants bring: asks that grow, grants, launches, ends, new leaders, doubled intents."""

from typing import Any

import numpy as np
import pytest
from django.db import connection

from contract.masters import AskSpec, LaunchSpec
from controlplane.statestore.actions import masters as actions
from controlplane.statestore.actions.masters import NewAsk, NewLaunch
from controlplane.statestore.errors import Conflict, Invalid, TooMany
from controlplane.statestore.models import Container, ContainerHistory, Intent, MasterEvent, TaskGroup
from controlplane.statestore.queries.jobs import masters as queries
from tests.integration.rm.cluster import Cluster, Leading
from tests.stepped import memory_state
from wire.ids import format_container, parse_container
from wire.states import ContainerReason, ContainerState, JobState, Want

SMALL = {"memory_mib": 256, "vcores_milli": 250}


def submit(cluster: Cluster, queue: str = "root.default", **master: Any) -> int:
    master = {"command": ["am"], "resources": SMALL} | master
    return cluster.submit_spec({"name": "app", "kind": "application", "queue": queue, "master": master})


def running(cluster: Cluster, leader: Leading, **master: Any) -> int:
    """An application whose master runs; its number."""
    job = submit(cluster, **master)
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert cluster.job(job).state == JobState.RUNNING
    return job


def ask(job: int, name: str, target: int, release: tuple[str, ...] = (), **more: Any) -> None:
    spec = AskSpec(id=name, target=target, **({"resources": SMALL} | more))
    actions.allocate(job, [NewAsk(name, target, spec.stored())], release)


def launch(job: int, *containers: str, command: str = "work") -> None:
    made = [LaunchSpec(container=c, command=[command], timeout_s=9) for c in containers]
    actions.launch(job, [NewLaunch(one.container, one.stored()) for one in made])


def events(job: int, kind: str = "") -> list[dict[str, Any]]:
    found = queries.events(job, 0)["events"]
    assert [e["seq"] for e in found] == list(range(1, len(found) + 1))
    return [e for e in found if kind in ("", e["kind"])]


def live(job: int) -> list[str]:
    """Its containers but the master's."""
    rows = Container.objects.filter(job_id=job, group_no__gt=0).order_by("pk")
    return [format_container(pk) for pk in rows.values_list("pk", flat=True)]


def ended(container: str) -> tuple[str, str]:
    row = ContainerHistory.objects.get(pk=parse_container(container))
    return ContainerState(row.state).name, ContainerReason(row.reason).name


def test_an_ask_with_a_command_starts_at_once_and_grows(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "work", 2, command=["work"])
    leader.round()
    assert len(live(job)) == 2 and [e["launch"] for e in events(job, "granted")] == [False, False]
    cluster.nodes.step()
    leader.round()
    assert sorted(e["index"] for e in events(job, "started")) == [0, 1]
    ask(job, "work", 3, command=["work"])
    leader.round()
    assert len(live(job)) == 3
    cluster.nodes.step()
    cluster.nodes.finish(ContainerState.FAILED, {parse_container(live(job)[0])})
    cluster.nodes.step()
    leader.round()
    (gone,) = events(job, "ended")
    assert (gone["index"], gone["state"]) == (0, "FAILED")
    assert len(live(job)) == 2 and cluster.job(job).state == JobState.RUNNING
    group = TaskGroup.objects.get(job_id=job, no=1)
    assert (group.name, group.count) == ("work", 3)


def test_a_repeated_ask_changes_nothing_and_a_lower_one_takes_back_what_waits(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "work", 40, resources={"memory_mib": 1024, "vcores_milli": 1000}, command=["work"])
    for _ in range(3):
        leader.round()
    granted = len(live(job))
    assert 0 < granted < 40
    intents = Intent.objects.count()
    ask(job, "work", 40, resources={"memory_mib": 1024, "vcores_milli": 1000}, command=["work"])
    assert Intent.objects.count() == intents
    ask(job, "work", 1, resources={"memory_mib": 1024, "vcores_milli": 1000}, command=["work"])
    leader.round()
    assert len(live(job)) == granted == TaskGroup.objects.get(job_id=job, no=1).count
    ask(job, "work", granted + 1, resources={"memory_mib": 1024, "vcores_milli": 1000}, command=["work"])
    ask(job, "other", 0)
    leader.round()
    assert TaskGroup.objects.get(job_id=job, no=1).count == granted + 1
    assert TaskGroup.objects.get(job_id=job, no=2).count == 0


def test_a_grant_is_held_until_it_is_launched(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "slot", 2)
    leader.round()
    held = live(job)
    assert len(held) == 2 and all(e["launch"] for e in events(job, "granted"))
    cluster.nodes.step()
    leader.round()
    assert not cluster.nodes.all_held().keys() & {parse_container(c) for c in held}
    used = leader.memory.nodes.used.sum(axis=0)[0]
    assert used == 3 * 256, "what is granted is charged"
    launch(job, held[0])
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert [e["container"] for e in events(job, "started")] == [held[0]]
    with pytest.raises(Conflict, match="another command"):
        launch(job, held[0], command="other")
    launch(job, held[0])  # the same again
    slot = int(leader.memory.containers.slots_of(_ids(held[:1]))[0])
    own = leader.memory.masters.launches[parse_container(held[0])]
    assert own.timeout_s == 9 and b'"work"' in own.template and leader.memory.containers.want[slot] == Want.RUN


def _ids(containers: list[str]) -> Any:
    return np.array([parse_container(c) for c in containers], np.int64)


def test_grants_nobody_uses_are_taken_back_and_told(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "slot", 3)
    leader.round()
    held = live(job)
    assert 0 < leader.rounds.next_due_s() <= leader.memory.masters.grant_s
    actions.allocate(job, [], held[:1])
    leader.round()
    assert ended(held[0]) == ("KILLED", "STOPPED")
    launch(job, held[1])
    leader.clock.ahead_s += leader.memory.masters.grant_s + 1
    leader.round()
    assert ended(held[2]) == ("KILLED", "UNUSED") and live(job) == [held[1]]
    assert [e["reason"] for e in events(job, "ended")] == ["STOPPED", "UNUSED"]
    with pytest.raises(Conflict, match="no live container"):
        launch(job, held[2])


def test_the_master_says_how_the_job_ends(cluster: Cluster) -> None:
    leader = cluster.lead()
    for verdict in (JobState.SUCCEEDED, JobState.FAILED):
        job = running(cluster, leader)
        ask(job, "work", 2, command=["work"])
        leader.round()
        cluster.nodes.step()
        leader.round()
        actions.finish(job, verdict, "as it said")
        with pytest.raises(Conflict, match="has finished"):
            ask(job, "work", 3, command=["work"])
        for _ in range(3):
            leader.round()
            cluster.nodes.step()
        assert not live(job) and cluster.job(job).state == JobState.RUNNING, "its master may still write its results"
        cluster.nodes.finish()
        cluster.nodes.step()
        leader.round()
        assert (cluster.job(job).state, cluster.job(job).message) == (verdict, "as it said")


@pytest.mark.parametrize("end", [ContainerState.SUCCEEDED, ContainerState.FAILED, ContainerState.LOST])
def test_a_verdict_counts_though_it_is_read_after_the_masters_end(cluster: Cluster, end: ContainerState) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    cluster.nodes.step()
    leader.round()
    ((node, cid),) = Container.objects.filter(job_id=job).values_list("node_id", "pk")
    actions.finish(job, JobState.FAILED, "as it said")
    lost = [node] if end == ContainerState.LOST else []
    if not lost:
        assert cluster.nodes.finish(end, {cid}) == 1
        cluster.nodes.step()
    leader.round(*lost, intents=False)
    assert (cluster.job(job).state, cluster.job(job).message) == (JobState.FAILED, "as it said")
    leader.round()
    assert (cluster.job(job).state, cluster.job(job).message) == (JobState.FAILED, "as it said")


def test_a_master_that_has_finished_and_stays_is_stopped(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    actions.finish(job, JobState.SUCCEEDED, "")
    leader.round()
    leader.clock.ahead_s += 31
    for _ in range(3):
        leader.round()
        cluster.nodes.step()
    leader.round()
    assert cluster.job(job).state == JobState.SUCCEEDED


def test_a_failed_master_starts_again_and_its_containers_stay(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "work", 2, command=["work"])
    leader.round()
    cluster.nodes.step()
    leader.round()
    before = live(job)
    for attempt in (1, 2):
        (number,) = Container.objects.filter(job_id=job, group_no=0, attempt=attempt).values_list("pk", flat=True)
        cluster.nodes.finish(ContainerState.FAILED, {number})
        cluster.nodes.step()
        leader.round()
        if attempt == 1:
            assert live(job) == before
            leader.clock.ahead_s += 1
            leader.round()
            cluster.nodes.step()
            leader.round()
    for _ in range(2):
        cluster.nodes.step()
        leader.round()
    assert cluster.job(job).state == JobState.FAILED and not live(job)
    assert "after 2 attempts" in cluster.job(job).message


def test_a_new_leader_knows_all_of_it(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "work", 2, command=["work"])
    ask(job, "slot", 3)
    leader.round()
    held = [e["container"] for e in events(job, "granted") if e["launch"]]
    launch(job, held[0])
    actions.allocate(job, [], [held[1]])
    leader.round()
    cluster.nodes.step()
    leader.round()
    again = leader.rebuilt()
    assert memory_state(again) == memory_state(leader.memory)
    assert again.masters.launches == leader.memory.masters.launches
    assert again.masters.open_grants.keys() == leader.memory.masters.open_grants.keys() == {parse_container(held[2])}
    assert again.jobs[job].application.last_event == leader.memory.jobs[job].application.last_event
    cluster.expire()
    ask(job, "work", 3, command=["work"])
    actions.finish(job, JobState.SUCCEEDED, "over")
    successor = cluster.lead()
    for _ in range(4):
        successor.round()
        cluster.nodes.step()
    cluster.nodes.finish()
    cluster.nodes.step()
    successor.round()
    assert (cluster.job(job).state, cluster.job(job).message) == (JobState.SUCCEEDED, "over")
    events(job)


@pytest.mark.parametrize("told", [False, True])
def test_a_leader_that_comes_while_a_job_is_ending_ends_it(cluster: Cluster, told: bool) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "work", 1, command=["work"])
    leader.round()
    cluster.nodes.step()
    leader.round()
    actions.finish(job, JobState.FAILED, "no use")
    if told:
        leader.round()
    cluster.expire()
    successor = cluster.lead()
    for _ in range(3):
        successor.round()
        cluster.nodes.step()
    cluster.nodes.finish()
    cluster.nodes.step()
    successor.round()
    assert (cluster.job(job).state, cluster.job(job).message) == (JobState.FAILED, "no use")


def test_doubled_and_late_intents_change_nothing(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "slot", 2)
    kept = list(Intent.objects.values("sub_cluster_id", "kind", "job_id", "payload"))
    leader.round()
    held = live(job)
    launch(job, held[0])
    kept += list(Intent.objects.values("sub_cluster_id", "kind", "job_id", "payload"))
    leader.round()
    cluster.nodes.step()
    leader.round()
    before, told = memory_state(leader.memory), MasterEvent.objects.count()
    for _ in range(2):
        Intent.objects.bulk_create([Intent(**row) for row in kept])
        leader.round()
    assert memory_state(leader.memory) == before and MasterEvent.objects.count() == told


def test_a_lost_node_is_told(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    (home,) = Container.objects.filter(job_id=job).values_list("node_id", flat=True)
    other = next(n for n in cluster.ids if n != home)
    name = f"n{cluster.ids.index(other)}"
    ask(job, "work", 1, command=["work"], locality={"nodes": [name], "relax": False})
    ask(job, "slot", 1, locality={"nodes": [name], "relax": False})
    leader.round()
    assert len(live(job)) == 2
    cluster.nodes.step()
    leader.round()
    assert len(events(job, "started")) == 1
    leader.round(other)
    assert [(e["reason"], e["exit_code"]) for e in events(job, "ended")] == [("NODE_LOST", None)] * 2 and not live(job)


def test_limits_and_what_cannot_be(cluster: Cluster, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"master_max_asks": 2, "master_max_containers": 5}
    leader = cluster.lead()
    job = running(cluster, leader)
    with pytest.raises(TooMany):
        ask(job, "work", 6)
    ask(job, "work", 3)
    with pytest.raises(Conflict, match="another resources"):
        ask(job, "work", 3, resources={"memory_mib": 300, "vcores_milli": 250})
    ask(job, "more", 2)
    with pytest.raises(Invalid):
        ask(job, "third", 0)
    with pytest.raises(Invalid):
        ask(job, "master", 0)
    leader.round()
    other = running(cluster, leader)
    with pytest.raises(Conflict, match="no live container"):
        launch(other, live(job)[0])
    (master,) = Container.objects.filter(job_id=job, group_no=0).values_list("pk", flat=True)
    actions.allocate(job, [], [format_container(master)])
    actions.allocate(other, [], live(job))
    leader.round()
    assert len(live(job)) == 5 and Container.objects.filter(pk=master).exists(), (
        "neither its own nor others' are stopped"
    )
    cluster.kill(job)
    cluster.kill(other)
    for _ in range(3):
        leader.round()
        cluster.nodes.step()
    leader.round()
    with pytest.raises(Conflict, match="has ended"):
        ask(job, "work", 4)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM statestore_intent")


def test_masters_hold_only_their_queues_share(cluster: Cluster) -> None:
    cluster.policy({"default": {"guaranteed": 1.0, "open_to_all": True, "max_am_share": 0.1}})  # of 8 GiB and 8 cores
    leader = cluster.lead()
    cluster.nodes.step()
    jobs = [submit(cluster, resources={"memory_mib": 256, "vcores_milli": 250}) for _ in range(4)]
    leader.round()
    states = [cluster.job(job).state for job in jobs]
    assert states == [JobState.RUNNING] * 3 + [JobState.SUBMITTED]
    reason = TaskGroup.objects.get(job_id=jobs[3], no=0).reason
    assert (
        reason["limits"][0]["limit"] == "max_am_share"
        and "Application masters of root.default hold 7" in reason["text"]
    )
    ask(jobs[0], "work", 4, command=["work"])
    leader.round()
    assert len(live(jobs[0])) == 4, "what masters ask for is not theirs"
    assert memory_state(leader.rebuilt()) == memory_state(leader.memory)
    cluster.kill(jobs[0])
    for _ in range(3):
        leader.round()
        cluster.nodes.step()
    assert cluster.job(jobs[3]).state == JobState.RUNNING
    huge = submit(cluster, resources={"memory_mib": 1024, "vcores_milli": 250})
    leader.round()
    reason = TaskGroup.objects.get(job_id=huge, no=0).reason
    assert "does not start by waiting" in reason["estimate"]["text"]
