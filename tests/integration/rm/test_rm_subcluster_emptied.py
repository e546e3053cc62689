"""The jobs at home in a sub-cluster that is emptied leave it last, and go on elsewhere."""

from threading import Thread

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection

from controlplane.rm import tasks
from controlplane.rm.driver.emptying import AGAIN_S, LOOK_S, Emptying
from controlplane.rm.ports import Fenced, Outdated, StoreDown
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.membership import conninfo
from controlplane.statestore.models import Container, Intent, JobEvent, SubCluster
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, SMALL, Federation
from tests.integration.rm.test_rm_rehoming import finish, rounds
from tests.patience import stretched, wait_until
from wire.states import JobState


@pytest.fixture
def federation(cluster: Cluster, settings: LazySettings) -> Federation:
    """Three sub-clusters; tasks stay at home."""
    settings.HYDRA = settings.HYDRA | {"lease_s": 60.0}
    made = Federation(cluster, pace_s=0.5)
    cluster.policy({"default": {"guaranteed": 1.0} | OPEN}, amrmproxy={"policy": "home", "parameters": {}})
    made.rounds()
    return made


def west(f: Federation) -> Leading:
    leader = f.leaders[0]
    assert leader is not None
    return leader


def emptying(f: Federation) -> Emptying:
    leader = west(f)
    return Emptying(lambda: tasks.move_out(leader.leadership, leader.store))


def homes(f: Federation, *jobs: int) -> set[str]:
    names = {c.sub.pk: c.sub.name for c in f.clusters}
    return {names[f.west.job(job).home_id] for job in jobs}


def emptied(f: Federation) -> None:
    """Its containers are gone, and its jobs with them."""
    subclusters.drain(SYSTEM, f.west.sub, 0, "sold")
    look = emptying(f)
    look.look(west(f).memory, west(f).clock)
    f.rounds(4)
    assert f.live()[0] == 0
    look.next_s = 0.0
    with pytest.raises(Outdated, match="have other homes now"):
        look.look(west(f).memory, west(f).clock)
    f.stop(0)


def test_services_and_what_waits_go_on_elsewhere_and_it_can_leave_meanwhile(federation: Federation) -> None:
    f = federation
    batch, service = f.west.submit(SMALL | {"count": 30}), f.west.submit(SMALL | {"count": 4}, kind="service")
    f.rounds(3)
    assert f.live()[0] > 0 and homes(f, batch, service) == {"west"}
    emptied(f)
    assert "west" not in homes(f, batch, service)
    told = JobEvent.objects.filter(job_id=service, kind="rehomed").values_list("message", flat=True)
    assert len(told) == 1 and told[0].startswith("its home west is being emptied; ")
    subclusters.decommission(SYSTEM, SubCluster.objects.get(pk=f.west.sub.pk))
    rounds(f, 4)
    assert Container.objects.filter(job_id=service).count() == 4
    finish(f, batch)
    assert f.west.job(service).state == JobState.RUNNING


def test_limits_on_jobs_hold_while_they_move(federation: Federation) -> None:
    f = federation
    limited = {"guaranteed": 1.0, "max_running_jobs": 2} | OPEN
    f.west.policy({"default": limited}, amrmproxy={"policy": "home", "parameters": {}})
    f.rounds(2)
    jobs = [f.west.submit(SMALL | {"count": 2}, kind="service") for _ in range(2)]
    f.rounds(3)
    waiting = [f.clusters[at].submit(SMALL) for at in (1, 2)]
    f.rounds(2)
    assert [f.west.job(job).state for job in waiting] == [JobState.SUBMITTED] * 2
    emptied(f)
    for _ in range(4):
        rounds(f, 1)
        assert [f.west.job(job).state for job in waiting] == [JobState.SUBMITTED] * 2
    f.west.kill(jobs[0])
    finish(f, *waiting)


def test_a_round_of_another_leader_and_the_move_wait_for_one_another_and_lose_nothing(
    federation: Federation,
) -> None:
    """It locks the row of an ask, and what it tells the home refers to the job's row."""
    f = federation
    f.proxy()
    job = f.west.submit(SMALL | {"count": 30})
    f.rounds(4)
    assert f.live()[1] > 0
    subclusters.drain(SYSTEM, f.west.sub, 0)
    f.rounds(3)
    assert f.live()[0] == 0
    look, leader, east, met = emptying(f), west(f), f.clusters[1].sub.pk, list[BaseException]()

    def move() -> None:
        try:
            look.look(leader.memory, leader.clock)
        except BaseException as problem:
            met.append(problem)
        finally:
            connection.close()

    with psycopg.connect(conninfo("test")) as rival:
        rival.execute("SELECT 1 FROM statestore_ask WHERE job_id = %s AND sub_cluster_id = %s FOR UPDATE", (job, east))
        rival.execute(
            "INSERT INTO statestore_report (home_id, job_id, sub_cluster_id, events)"
            " SELECT home_id, id, %s, '' FROM statestore_job WHERE id = %s",
            (east, job),
        )
        thread = Thread(target=move)
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%statestore_ask%'"
        wait_until(lambda: f.west.one(waits) or met, 10, "it waits for the round")
        rival.commit()
        thread.join(stretched(10))
    assert [type(problem) for problem in met] == [Outdated], met
    (row,) = f.west.rows(f"SELECT home_id FROM statestore_report WHERE job_id = {job} AND events = ''")
    assert row[0] == f.west.job(job).home_id != f.west.sub.pk


def test_a_drain_that_has_ended_meanwhile_moves_nothing(federation: Federation) -> None:
    f = federation
    job = f.west.submit(SMALL)
    subclusters.drain(SYSTEM, f.west.sub, 0)
    f.rounds(3)
    subclusters.resume(SYSTEM, SubCluster.objects.get(pk=f.west.sub.pk))
    look = emptying(f)
    look.look(west(f).memory, west(f).clock)
    assert homes(f, job) == {"west"}


def test_what_is_still_asked_of_its_former_home_reaches_a_job(federation: Federation) -> None:
    f = federation
    waiting, killed, unread = (f.west.submit(SMALL | {"count": 20}) for _ in range(3))
    f.rounds(3)
    late = f.west.submit(SMALL)
    emptied(f)
    for job in (killed, unread):
        f.west.kill(job)
        Intent.objects.filter(job_id=job, kind=Intent.Kind.KILL).update(sub_cluster=f.west.sub)
    f.lead(0)
    rounds(f, 1)
    f.stop(0)
    rounds(f, 3)
    assert {f.west.job(job).state for job in (killed, unread)} == {JobState.KILLED}
    assert not Intent.objects.filter(job_id__isnull=False).exists()
    finish(f, waiting, late)


def test_nothing_moves_before_it_is_empty_nor_without_a_drain(federation: Federation) -> None:
    f = federation
    job = f.west.submit(SMALL | {"count": 2})
    f.rounds(3)
    look = emptying(f)
    look.look(west(f).memory, west(f).clock)
    assert look.next_s == 0.0, "it is not being emptied"
    subclusters.drain(SYSTEM, f.west.sub, None)
    f.rounds(2)
    now = west(f).clock.monotonic()
    look.look(west(f).memory, west(f).clock)
    assert now + LOOK_S <= look.next_s < now + AGAIN_S and homes(f, job) == {"west"}
    finish(f, job)
    look.next_s = 0.0
    look.look(west(f).memory, west(f).clock)
    assert look.next_s < now + AGAIN_S, "no job is left"


def test_jobs_that_nobody_takes_stay_and_it_is_led_on(federation: Federation) -> None:
    f = federation
    for each in f.clusters:
        subclusters.drain(SYSTEM, each.sub, 0)
    job = f.west.submit(SMALL)
    f.rounds(2)
    look, now = emptying(f), west(f).clock.monotonic()
    look.look(west(f).memory, west(f).clock)
    assert look.next_s >= now + AGAIN_S and homes(f, job) == {"west"}
    f.rounds(1)


def test_a_former_leader_moves_nothing(federation: Federation) -> None:
    f = federation
    job = f.west.submit(SMALL | {"count": 2})
    subclusters.drain(SYSTEM, f.west.sub, 0)
    f.rounds(3)
    look, before = emptying(f), west(f)
    f.west.expire()
    f.lead(0)
    with pytest.raises((Fenced, StoreDown)):
        look.look(before.memory, before.clock)
    assert homes(f, job) == {"west"}
