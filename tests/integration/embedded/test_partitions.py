"""Partitions and retention against a real Postgres."""

import datetime as dt
import threading

import pytest
from django.db import connection, connections

from controlplane.accounts.models import User
from controlplane.statestore import partitions, retention
from controlplane.statestore.models import IdempotencyKey, Job, SubCluster, Task, TaskGroup
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


def test_idempotency_keys_last_a_day():
    owner = User.objects.create(username="other")
    IdempotencyKey.objects.create(owner=owner, key="k", request_sha256="", response={})
    assert retention.purge_idempotency_keys(dt.datetime.now(dt.UTC)) == 0
    assert retention.purge_idempotency_keys(dt.datetime.now(dt.UTC) + dt.timedelta(days=2)) == 1
