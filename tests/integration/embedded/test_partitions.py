"""Partitions and retention against a real Postgres."""

import datetime as dt
import threading

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, connections
from knox.models import AuthToken

from controlplane.accounts.models import User
from controlplane.statestore import partitions, retention
from controlplane.statestore.actions.audit import SYSTEM, record
from controlplane.statestore.models import (
    AuditEntry,
    IdempotencyKey,
    Job,
    JoinToken,
    LogChunk,
    SubCluster,
    SubClusterToken,
    Task,
    TaskGroup,
)
from wire.states import JobState

TODAY = dt.date(2031, 5, 10)
NOW = dt.datetime(2031, 5, 10, 12, tzinfo=dt.UTC)
TASK = partitions.TABLES[1]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def clean(transactional_db: None):
    yield
    with connection.cursor() as cursor:
        for table in partitions.existing():
            if not table.endswith("_default"):
                cursor.execute(f"DROP TABLE {table}")


def add_task(day: dt.date, job: int) -> None:
    Task.objects.create(
        submitted_on=day, job_id=job, group_no=0, index=0, state=10, attempts=1, failures=1, container_id=1,
        exit_code=0, finished_at=NOW,
    )  # fmt: skip


def add_job(submitted: dt.datetime, state: JobState, finished: dt.datetime | None = None) -> Job:
    owner, _ = User.objects.get_or_create(username="someone")
    home, _ = SubCluster.objects.get_or_create(name="east")
    job = Job.objects.create(
        name="j", queue="root.default", owner=owner, spec={"groups": []}, home=home,
        submitted_at=submitted, state=state, finished_at=finished,
    )  # fmt: skip
    TaskGroup.objects.create(job=job, no=0, name="g", count=1, memory_mib=1, vcores_milli=1)
    return job


def test_partitions_are_made_once_for_today_and_the_days_ahead():
    made = partitions.ensure(TODAY)
    assert len(made) == len(partitions.TABLES) * (partitions.AHEAD_DAYS + 1)
    assert partitions.ensure(TODAY) == []
    assert set(made) <= set(partitions.existing())


def test_rows_that_fell_into_the_default_partition_move_into_their_own():
    add_task(TODAY, 7)
    partitions.ensure(TODAY)
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM statestore_task WHERE job_id = 7")
        assert cursor.fetchone()[0] == partitions.name(TASK, TODAY)


def test_two_at_once_do_no_harm():
    problems = []

    def make() -> None:
        try:
            partitions.ensure(TODAY)
        except Exception as problem:
            problems.append(problem)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(partitions.existing()) == len(partitions.TABLES) * (partitions.AHEAD_DAYS + 2)


def test_old_partitions_go_and_those_with_a_kept_job_stay():
    first = TODAY - dt.timedelta(days=30)
    partitions.ensure(first)
    live = add_job(dt.datetime(first.year, first.month, first.day, 9, tzinfo=dt.UTC), JobState.RUNNING)
    add_task(first, live.pk)
    dropped = partitions.drop_old(TODAY)
    assert partitions.name(TASK, first) not in dropped
    assert partitions.name(TASK, first + dt.timedelta(days=1)) in dropped
    live.delete()
    assert partitions.drop_old(TODAY) == [partitions.name(TASK, first)]


def test_ended_jobs_past_their_time_are_purged_and_no_others():
    old, recent = NOW - dt.timedelta(days=20), NOW - dt.timedelta(days=2)
    gone = add_job(old, JobState.SUCCEEDED, old)
    kept = [add_job(old, JobState.RUNNING), add_job(old, JobState.FAILED, recent)]
    assert retention.purge_jobs(NOW) == 1
    assert set(Job.objects.values_list("pk", flat=True)) == {job.pk for job in kept}
    assert not TaskGroup.objects.filter(job_id=gone.pk).exists()


@pytest.mark.parametrize(
    ("setting", "most", "kept"),
    [
        ("history_jobs_per_user", 3, 3), ("history_max_gib_per_user", 2500 / 2**30, 2), ("history_jobs_per_user", 9, 5),
        ("history_jobs_per_user", 1, 1), ("history_jobs_per_user", 0, 5), ("history_max_gib_per_user", 0, 5),
    ],
)  # fmt: skip
def test_of_one_account_the_jobs_that_ended_first_go_beyond_what_it_may_keep(monkeypatch, setting, most, kept):
    monkeypatch.setitem(settings.HYDRA, setting, most)
    live = add_job(NOW, JobState.RUNNING)
    lately = add_job(NOW, JobState.FAILED, NOW)
    ended = [add_job(NOW, JobState.FAILED, NOW - dt.timedelta(hours=2 + n)) for n in range(4)]
    Job.objects.update(spec_bytes=1000)
    other = User.objects.create(username="other")
    others = add_job(NOW, JobState.FAILED, NOW)
    Job.objects.filter(pk=others.pk).update(owner=other)
    assert retention.purge_crowds(NOW) == 5 - kept
    left = {live.pk, others.pk, lately.pk} | {job.pk for job in ended[: kept - 1]}
    assert set(Job.objects.values_list("pk", flat=True)) == left


def test_who_waits_for_the_end_of_a_job_finds_it_however_many_there_are(monkeypatch):
    monkeypatch.setitem(settings.HYDRA, "history_jobs_per_user", 1)
    for _ in range(3):
        add_job(NOW, JobState.FAILED, NOW - retention.SPARED / 2)
    assert retention.purge_crowds(NOW) == 0
    assert retention.purge_crowds(NOW + retention.SPARED) == 2


def test_idempotency_keys_last_a_day():
    owner = User.objects.create(username="other")
    IdempotencyKey.objects.create(owner=owner, key="k", request_sha256="", response={})
    assert retention.purge_idempotency_keys(dt.datetime.now(dt.UTC)) == 0
    assert retention.purge_idempotency_keys(dt.datetime.now(dt.UTC) + dt.timedelta(days=2)) == 1


def test_late_rows_of_days_that_have_no_partition_end_as_well():
    partitions.ensure(TODAY)
    for day in (TODAY - dt.timedelta(days=40), TODAY - dt.timedelta(days=1)):
        LogChunk.objects.create(container_id=1, stream=1, offset=0, day=day, data=b"late")
    live = add_job(NOW - dt.timedelta(days=40), JobState.RUNNING)
    add_task(TODAY - dt.timedelta(days=40), live.pk)
    partitions.drop_old(TODAY)
    assert [row.day for row in LogChunk.objects.all()] == [TODAY - dt.timedelta(days=1)]
    assert Task.objects.filter(job_id=live.pk).exists()


def test_the_audit_log_is_kept_for_its_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "BATCH", 3)
    monkeypatch.setitem(settings.HYDRA, "audit_days", 100)
    for n in range(10):
        record(SYSTEM, "job.kill", f"job/{n}")
    AuditEntry.objects.filter(target__in=[f"job/{n}" for n in range(7)]).update(at=NOW - dt.timedelta(days=101))
    AuditEntry.objects.filter(target__in=[f"job/{n}" for n in range(7, 10)]).update(at=NOW - dt.timedelta(days=99))
    assert retention.run(NOW)["audit"] == 7
    assert set(AuditEntry.objects.values_list("target", flat=True)) == {"job/7", "job/8", "job/9"}
    assert retention.purge_audit(NOW) == 0


def test_what_nobody_can_sign_in_with_any_more_is_removed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    owner = User.objects.create(username="someone")
    east = SubCluster.objects.create(name="east")
    for n, past in enumerate([True] * 5 + [False]):
        at = NOW + dt.timedelta(hours=-1 if past else 1)
        Session.objects.create(session_key=f"key-{n}", session_data="", expire_date=at)
        token, _ = AuthToken.objects.create(owner)
        AuthToken.objects.filter(pk=token.pk).update(expiry=at)
    AuthToken.objects.create(owner, expiry=None)  # good for ever
    for n, days in enumerate((40, 1)):
        ended = NOW - dt.timedelta(days=days)
        JoinToken.objects.create(sub_cluster=east, sha256=f"{n}", expires_at=ended)
        SubClusterToken.objects.create(sha256=f"{n}", expires_at=ended)
    JoinToken.objects.create(sub_cluster=east, sha256="for ever")
    removed = retention.run(NOW)
    assert (removed["sign_ins"], removed["join_tokens"]) == (10, 2)
    assert (Session.objects.count(), AuthToken.objects.count()) == (1, 2)
    assert (JoinToken.objects.count(), SubClusterToken.objects.count()) == (2, 1)
