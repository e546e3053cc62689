"""Jobs whose home is lost: a new home, once, and nothing that runs elsewhere is the worse for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import LazySettings

from controlplane.rm import tasks
from controlplane.rm.ports import Outdated
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import JobEvent, SubCluster
from controlplane.statestore.queries.federation import components
from controlplane.statestore.queries.subclusters import places
from tests.integration.rm.cluster import Cluster, Nodes
from tests.integration.rm.federation import OPEN, SMALL, Federation
from wire.states import ContainerState, JobState

LOST = {"policy": "rehome", "parameters": {"after_s": 1.0}}


@pytest.fixture
def federation(cluster: Cluster, settings: LazySettings) -> Federation:
    settings.HYDRA = settings.HYDRA | {"heartbeat_s": 0.1, "lease_s": 60.0}
    made = Federation(cluster, pace_s=0.0)
    cluster.policy({"default": {"guaranteed": 1.0} | OPEN}, lost_sub_clusters=LOST)
    made.rounds()
    return made


def fall_silent(f: Federation, at: int) -> None:
    """Its RM is gone for longer than jobs wait."""
    leader = f.leaders[at]
    assert leader is not None
    f.leaders[at] = None
    leader.leadership.connection.close()
    expire(f, at)


def expire(f: Federation, at: int) -> None:
    f.west.rows(
        "UPDATE statestore_lease SET expires_at = clock_timestamp() - interval '5 s'"
        f" WHERE sub_cluster_id = {f.clusters[at].sub.pk} RETURNING 1"
    )


def reap(f: Federation) -> None:
    """Sub-clusters are seen to be silent for longer than jobs wait."""
    tasks.reap()
    f.west.rows("UPDATE statestore_lease SET silent_since = silent_since - interval '5 s' RETURNING 1")
    tasks.reap()


@contextmanager
def reporting(nodes: Nodes) -> Iterator[None]:
    """These nodes report all the while."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.05):
            nodes.step()

    beats = threading.Thread(target=beat)
    beats.start()
    try:
        yield
    finally:
        stop.set()
        beats.join()


def rounds(f: Federation, n: int = 3) -> None:
    """As ``f.rounds``; a leader to whom jobs have moved leads anew."""
    for _ in range(n):
        for at, leader in enumerate(f.leaders):
            try:
                if leader is not None:
                    f.one_round(at)
            except Outdated:
                leader.close()  # type: ignore[union-attr]
                f.lead(at)


def finish(f: Federation, *jobs: int) -> None:
    for _ in range(60):
        rounds(f, 1)
        if all(f.west.job(job).state >= JobState.SUCCEEDED for job in jobs):
            break
        for at, cluster in enumerate(f.clusters):
            if f.leaders[at] is not None:
                cluster.nodes.finish()
    assert [f.west.job(job).state for job in jobs] == [JobState.SUCCEEDED] * len(jobs)


def attempts(f: Federation, job: int) -> list[tuple[int, int]]:
    return f.west.rows(f"SELECT task_index, state FROM statestore_container_history WHERE job_id = {job}")


def test_a_job_goes_on_when_its_home_and_all_its_nodes_are_gone(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 60})
    rounds(federation, 4)
    assert federation.live() == [16, 16, 16]
    away = f"SELECT id FROM statestore_container WHERE sub_cluster_id <> {federation.west.sub.pk}"
    elsewhere = federation.west.rows(away)
    fall_silent(federation, 0)
    reap(federation)
    assert SubCluster.objects.get(pk=federation.west.sub.pk).state == "lost"
    home = federation.west.job(job).home_id
    assert home != federation.west.sub.pk
    assert JobEvent.objects.filter(job_id=job, kind="rehomed").count() == 1
    assert federation.live() == [0, 16, 16]
    reap(federation)
    assert federation.west.job(job).home_id == home, "a job moves once"
    rounds(federation)
    kept = federation.west.rows("SELECT id FROM statestore_container")
    assert set(elsewhere) <= set(kept), "what runs elsewhere is kept"
    finish(federation, job)
    found = attempts(federation, job)
    assert sorted(t for t, state in found if state == ContainerState.SUCCEEDED) == list(range(60))
    assert sum(state == ContainerState.LOST for _, state in found) == 16


def test_what_jobs_need_at_once_is_nobody_elses_while_they_move(federation: Federation) -> None:
    f = federation
    f.west.policy({"default": {"guaranteed": 1.0} | OPEN}, lost_sub_clusters=LOST, admission={"policy": "gac"})
    rounds(f, 2)
    job = f.west.submit(SMALL | {"count": 4, "gang": True})
    rounds(f, 2)
    held = sum(amounts(f).values())
    assert held == amounts(f)[f.west.sub.pk] > 0
    fall_silent(f, 0)
    reap(f)
    home = f.west.job(job).home_id
    assert home != f.west.sub.pk
    for cluster in f.clusters[1:]:
        if cluster.sub.pk != home:
            assert seen_elsewhere(f, cluster.sub.pk) == held
    rounds(f, 2)
    assert amounts(f) == {home: held}
    finish(f, job)
    assert not any(amounts(f).values())


def amounts(f: Federation) -> dict[int, int]:
    """Of the memory that jobs need at once, what is counted where."""
    asked = "SELECT sub_cluster_id, running FROM statestore_admissioncount WHERE queue = 'root.default#' AND owner = -1"
    return {sub: running for sub, running in f.west.rows(asked) if running}


def seen_elsewhere(f: Federation, sub: int) -> int:
    version = f.west.one("SELECT id FROM statestore_policyversion WHERE active")
    of_others = (
        f"statestore_admitted_elsewhere({sub}::smallint, {version}, ARRAY['root.default#'], ARRAY[-1]::bigint[])"
    )
    return int(f.west.one(f"SELECT running FROM {of_others}"))


def test_nodes_that_still_report_keep_their_containers_for_the_new_home(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 40})
    rounds(federation, 4)
    fall_silent(federation, 0)
    with reporting(federation.west.nodes):
        reap(federation)
    assert SubCluster.objects.get(pk=federation.west.sub.pk).state == "running"
    assert federation.west.job(job).home_id != federation.west.sub.pk
    assert federation.live()[0] == 16
    rounds(federation)
    federation.west.nodes.finish()
    federation.lead(0)
    finish(federation, job)
    found = attempts(federation, job)
    assert sorted(found) == [(task, int(ContainerState.SUCCEEDED)) for task in range(40)], "each ran once"


def test_a_job_moves_to_where_tasks_of_it_wait_and_there_is_room_by_then(federation: Federation) -> None:
    """Who learns that it is the home now starts nothing any more of what was handed to it before."""
    f = federation
    neighbours = [leader for leader in f.leaders[1:] if leader is not None]
    for cluster, leader in zip(f.clusters[1:], neighbours, strict=True):
        cluster.submit(SMALL | {"count": 16})
        cluster.nodes.step()
        leader.round()  # nobody is told of its load
    job = f.west.submit(SMALL | {"count": 30})
    f.one_round(0)
    f.one_round(0)
    for leader in neighbours:
        leader.round()
    assert f.live() == [16, 16, 16] and f.waiting() == 14
    fall_silent(f, 0)
    reap(f)
    for cluster in f.clusters[1:]:
        cluster.nodes.step()
        assert cluster.nodes.finish() == 16
    rounds(f)
    finish(f, job)
    done = [task for task, state in attempts(f, job) if state == ContainerState.SUCCEEDED]
    assert sorted(done) == list(range(30))


def test_routing_by_locality_looks_at_what_jobs_name_when_they_move_too(federation: Federation) -> None:
    lost = {"policy": "rehome", "parameters": {"after_s": 1.0}}
    queues = {"default": {"guaranteed": 1.0} | OPEN}
    federation.west.policy(queues, lost_sub_clusters=lost, routing={"policy": "locality"})
    federation.rounds()
    named = [{"node_labels": "name == south1"}, {"locality": {"nodes": ["south0"]}}]
    jobs = [federation.west.submit(SMALL | {"count": 4} | each) for each in named * 2]
    other = federation.west.submit(SMALL | {"count": 20})
    fall_silent(federation, 0)
    places.forget()
    reap(federation)
    south = federation.clusters[2].sub.pk
    assert [federation.west.job(job).home_id for job in jobs] == [south] * 4
    assert federation.west.job(other).home_id == federation.clusters[1].sub.pk, "where the load is least by then"
    finish(federation, *jobs, other)


def test_what_was_on_its_way_to_the_lost_home_reaches_the_new_one(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 48}, {"count": 3, "name": "later"})
    rounds(federation, 4)
    second = federation.west.submit(SMALL | {"count": 2}, name="not-yet-taken-in")
    federation.west.kill(second)
    federation.clusters[1].nodes.step()
    federation.clusters[1].nodes.finish()
    federation.clusters[1].nodes.step()
    federation.leaders[1].round()  # type: ignore[union-attr]  # tells west of 16 ends
    assert federation.west.one("SELECT count(*) FROM statestore_report") > 0
    fall_silent(federation, 0)
    reap(federation)
    finish(federation, job)
    rounds(federation)
    assert federation.west.job(second).state == JobState.KILLED
    assert federation.west.one("SELECT count(*) FROM statestore_report") == 0
    assert federation.west.one("SELECT count(*) FROM statestore_intent WHERE job_id IS NOT NULL") == 0


def test_a_former_leader_that_wakes_up_changes_nothing(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 30})
    rounds(federation, 4)
    west = federation.leaders[0]
    assert west is not None
    expire(federation, 0)
    federation.leaders[0] = None
    reap(federation)
    before = federation.west.rows("SELECT * FROM statestore_container ORDER BY id")
    federation.west.nodes.step()
    with pytest.raises(Exception, match=r"terminat|closed|epoch|lost"):
        west.round()
        west.store.renew()
    assert federation.west.rows("SELECT * FROM statestore_container ORDER BY id") == before
    finish(federation, job)


def test_a_lost_sub_cluster_that_returns_works_again_and_holds_nothing_stale(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 30})
    rounds(federation, 4)
    fall_silent(federation, 0)
    reap(federation)
    assert len(federation.west.nodes.all_held()) == 16
    federation.west.nodes.step()
    federation.west.nodes.step()
    assert not federation.west.nodes.all_held(), "its nodes obey the reaper"
    federation.lead(0)
    rounds(federation, 2)
    reap(federation)
    assert SubCluster.objects.get(pk=federation.west.sub.pk).state == "running"
    rounds(federation)
    finish(federation, job)


def test_jobs_that_no_other_takes_keep_a_lost_sub_cluster_until_they_are_stopped_or_may_go(
    federation: Federation,
) -> None:
    """Every way out that an operator is told of is one."""
    f = federation
    queues = {"default": {"guaranteed": 1.0} | OPEN}
    f.west.policy(queues, lost_sub_clusters=LOST, routing={"policy": "reject"})
    stopped, moved = (f.west.submit(SMALL | {"count": 2}) for _ in range(2))
    rounds(f)
    fall_silent(f, 0)
    reap(f)
    lost = SubCluster.objects.get(pk=f.west.sub.pk)
    for step in (lambda: subclusters.decommission(SYSTEM, lost), lambda: subclusters.drain(SYSTEM, lost, None)):
        with pytest.raises(Conflict, match=r"start a worker for queue rm\.west, then: hydractl kill JOB"):
            step()
    found = health(f)
    assert found["text"] == "Its RM and its nodes are silent; 2 jobs found no other home."
    assert "hydractl kill JOB" in found["remedy"]
    f.west.kill(stopped)
    f.lead(0)
    for _ in range(2):
        f.leaders[0].round()  # type: ignore[union-attr]  # its nodes stay silent
    assert f.west.job(stopped).state == JobState.KILLED and f.west.job(moved).home_id == lost.pk
    assert health(f)["text"] == "Its nodes are silent; 1 job found no other home."
    fall_silent(f, 0)
    f.west.policy(queues, lost_sub_clusters=LOST)
    reap(f)
    assert f.west.job(moved).home_id != lost.pk
    assert health(f)["remedy"].endswith("decommission it: none of its jobs is left there")
    subclusters.decommission(SYSTEM, lost)
    assert SubCluster.objects.get(pk=lost.pk).state == "decommissioned"
    finish(f, moved)


def health(f: Federation) -> dict[str, Any]:
    """What operators are told of west's RM."""
    told = components.read()
    (found,) = (item for item in told if (item["kind"], item["name"]) == ("rm", f.west.sub.name))
    return found


def test_what_was_silent_while_nobody_watched_is_given_time(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 4})
    rounds(federation)
    fall_silent(federation, 0)
    tasks.reap()
    long_ago = (
        "UPDATE statestore_lease SET silent_since = silent_since - interval '1 h', silent_seen = silent_seen - interval"
    )
    federation.west.rows(f"{long_ago} '1 h' RETURNING 1")
    tasks.reap()  # as after a night without a control plane
    assert federation.west.job(job).home_id == federation.west.sub.pk
    federation.lead(0)
    finish(federation, job)


def test_when_most_sub_clusters_are_silent_nothing_is_moved(federation: Federation) -> None:
    job = federation.west.submit(SMALL | {"count": 4})
    rounds(federation)
    for at in (0, 1):
        fall_silent(federation, at)
    reap(federation)
    assert federation.west.job(job).home_id == federation.west.sub.pk
    for at in (0, 1):
        federation.lead(at)
    finish(federation, job)
