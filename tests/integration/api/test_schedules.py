"""Schedules over a real StateStore: who may, what is refused and how; each time once, whoever looks."""

import datetime as dt
import hashlib
import json
import threading
from random import Random
from typing import Any

import pytest
from django.db import connection, connections, transaction

from controlplane import duties
from controlplane.accounts.models import Role
from controlplane.router import cluster
from controlplane.router.schedules import running
from controlplane.statestore import retention
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import AuditEntry, Intent, Job, JobEvent, Schedule, ScheduleRun, SubCluster
from controlplane.statestore.queries.jobs import schedules as queries
from controlplane.statestore.queries.paging import Cursor
from tests.integration.api import rows
from tests.integration.api.test_fuzzed import Request, faults
from tests.integration.api.world import World, job
from wire.states import JobState

DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)


def asked(**fields: Any) -> dict[str, Any]:
    return {"name": "nightly", "cron": "0 * * * *", "job": json.dumps(job())} | fields


def create(world: World, who: str = "tenant", **fields: Any) -> Schedule:
    answer = world[who].post("schedules", asked(**fields))
    assert answer.status_code == 201, answer.content
    return Schedule.objects.get(pk=answer.json()["id"])


def change(world: World, row: Schedule, who: str = "tenant", **fields: Any) -> Any:
    row.refresh_from_db()
    return world[who]("PUT", f"schedules/{row.pk}", asked(name=row.name, revision=row.revision) | fields)


def look(now: dt.datetime) -> int:
    """At all that is due, however slow this machine is."""
    return running.step(now, budget_s=60)


def became(row: Schedule) -> list[tuple[dt.datetime, str, int]]:
    """Each time, oldest first, with what became of it and how many it stands for."""
    return list(ScheduleRun.objects.filter(schedule=row).order_by("at").values_list("at", "outcome", "times"))


def first(row: Schedule) -> dt.datetime:
    row.refresh_from_db()
    assert row.next_at is not None
    return row.next_at


def errors(answer: Any) -> list[tuple[str, int]]:
    assert answer.status_code == 422, answer.content
    return [(each["field"], each["line"]) for each in answer.json()["errors"]]


TEXT = """parameters: {schedule_time: , schedule_date: , who: world}
name: report
groups:
  - name: g
    command: [report, "${{ schedule_time }}", "${{ schedule_date }}", "${{ who }}"]
"""


def test_a_time_starts_one_job_as_its_owner_and_says_which(world: World) -> None:
    row = create(world, job=TEXT, cron="30 2 * * *", zone="Europe/Berlin", set={"who": "moon"})
    at = first(row)
    assert look(at - dt.timedelta(seconds=1)) == 0
    assert look(at) == 1 and look(at + HOUR) == 0
    made = Job.objects.get()
    assert made.owner_id == world.users["tenant"].pk and made.queue == "root.default"
    told = world["tenant"].get(f"schedules/{row.pk}").json()["upcoming"]
    assert [each[11:16] for each in told] == ["02:30"] * 5 and {each[-6:] for each in told} <= {"+01:00", "+02:00"}
    command = made.spec["groups"][0]["command"]
    assert dt.datetime.fromisoformat(command[1]) == at and command[1][11:19] == "02:30:00"
    assert command[2] == command[1][:10] and command[3] == "moon"
    shown = world["tenant"].get(f"jobs/{made.pk}").json()["schedule"]
    assert (shown["id"], shown["name"]) == (row.pk, "nightly") and dt.datetime.fromisoformat(shown["at"]) == at
    assert JobEvent.objects.get(kind="scheduled").message.startswith(f"started by schedule {row.pk} (nightly) for ")
    (run,) = world["tenant"].get(f"schedules/{row.pk}/runs").json()["results"]
    assert run["outcome"] == "started" and run["job"] == {"id": made.pk, "state": "SUBMITTED"} and run["by"] is None
    assert first(row) > at


def test_the_duty_of_every_second_starts_what_is_due(world: World) -> None:
    row = create(world)
    Schedule.objects.filter(pk=row.pk).update(next_at=first(row) - DAY, look_at=first(row) - DAY)
    duties.recur()
    assert [outcome for _, outcome, _ in became(row)] == ["late", "started"]


def test_after_a_long_outage_only_the_latest_time_counts(world: World) -> None:
    row = create(world, cron="*/10 * * * *")
    at = first(row)
    look(at + 3 * HOUR)
    assert became(row) == [(at, "late", 18), (at + 3 * HOUR, "started", 1)]
    assert Job.objects.count() == 1 and first(row) == at + 3 * HOUR + dt.timedelta(minutes=10)


def test_what_is_too_late_is_not_started(world: World) -> None:
    row = create(world, cron="0 0 * * *", start_within_s=600)
    at = first(row)
    look(at + dt.timedelta(seconds=601))
    assert became(row) == [(at, "late", 1)] and first(row) == at + DAY
    look(at + DAY + dt.timedelta(seconds=600))
    assert became(row)[1:] == [(at + DAY, "started", 1)]


def test_a_clock_put_back_starts_nothing_twice(world: World) -> None:
    row = create(world)
    at = first(row)
    for now in (at, at - 2 * HOUR, at, at - dt.timedelta(seconds=1), at + dt.timedelta(seconds=1)):
        look(now)
    assert became(row) == [(at, "started", 1)]
    Schedule.objects.filter(pk=row.pk).update(next_at=at, look_at=at)  # as if all of it were forgotten
    look(at)
    assert became(row) == [(at, "started", 1)] and Job.objects.count() == 1 and first(row) == at + HOUR


@pytest.mark.django_db(transaction=True)
def test_two_that_look_at_once_start_one_job(world: World) -> None:
    found = [create(world, name=f"s{n}") for n in range(6)]
    at, together = first(found[0]), threading.Barrier(3)

    def look() -> None:
        together.wait()
        running.step(at, budget_s=30)
        connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [became(row) for row in found] == [[(at, "started", 1)]] * 6
    assert Job.objects.count() == 6


def test_who_dies_in_between_has_done_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    row = create(world)
    at = first(row)

    class Died(BaseException):
        pass

    def dies(*_: object) -> None:
        assert Job.objects.count() == 1, "the job is there by then, in the same transaction"
        raise Died

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr(running.actions, "go_on", dies)
        look(at)
    assert became(row) == [] and Job.objects.count() == 0
    look(at)
    assert became(row) == [(at, "started", 1)] and Job.objects.count() == 1


def test_a_job_that_lives_is_left_alone_joined_or_replaced(world: World) -> None:
    found = {name: create(world, name=name, overlap=name) for name in ("skip", "allow", "replace")}
    at = first(found["skip"])
    look(at)
    before = {name: row.runs.get().job for name, row in found.items()}
    look(at + HOUR)
    assert {name: [o for _, o, _ in became(row)] for name, row in found.items()} == {
        "skip": ["started", "overlap"], "allow": ["started", "started"], "replace": ["started", "started"]
    }  # fmt: skip
    assert ScheduleRun.objects.get(outcome="overlap").message == f"job {before['skip'].pk} of before had not ended"
    (kill,) = Intent.objects.filter(kind="kill")
    assert kill.job_id == before["replace"].pk and "replaced by job" in kill.payload["message"]
    for each in before.values():
        rows.finish(each.pk, JobState.SUCCEEDED)
    look(at + 2 * HOUR)
    assert [o for _, o, _ in became(found["skip"])] == ["started", "overlap", "started"]


def test_what_may_not_be_submitted_is_told_and_not_tried_again(world: World) -> None:
    closed, stopped, looks = create(world), create(world, "other"), create(world, "submitter")
    at = first(closed)
    accounts.set_active(SYSTEM, world.users["tenant"], False)
    accounts.set_role(SYSTEM, world.users["submitter"], Role.VIEWER)
    Schedule.objects.filter(pk=stopped.pk).update(template=job(queue="root.closed"))
    look(at)
    look(at + dt.timedelta(minutes=1))
    assert [became(row) for row in (closed, stopped, looks)] == [[(at, "refused", 1)]] * 3
    assert "tenant is closed" in closed.runs.get().message
    assert "role viewer of submitter may not submit" in looks.runs.get().message
    assert "'root.closed' is stopped" in stopped.runs.get().message
    assert Job.objects.count() == 0


def sub_clusters(state: str) -> None:
    SubCluster.objects.update(state=state)
    cluster.forget()


def test_while_no_sub_cluster_takes_jobs_it_is_tried_until_it_is_too_late(world: World) -> None:
    row = create(world, start_within_s=60, overlap="allow")
    at = first(row)
    sub_clusters("draining")
    look(at)
    assert became(row) == [] and first(row) == at and row.look_at == at + running.AGAIN
    sub_clusters("running")
    look(at + running.AGAIN)
    assert became(row) == [(at, "started", 1)]
    sub_clusters("draining")
    for seconds in range(0, 90, 10):
        look(at + HOUR + dt.timedelta(seconds=seconds))
    assert became(row)[1:] == [(at + HOUR, "late", 1)] and first(row) == at + 2 * HOUR


def test_a_fault_of_one_keeps_no_other_from_its_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = create(world, name="bad"), create(world, name="good")
    at = first(bad)
    Schedule.objects.filter(pk=bad.pk).update(zone="Europe/Atlantis", look_at=at - HOUR)
    look(at)
    bad.refresh_from_db()
    assert bad.suspended and bad.look_at is None and "Atlantis" in bad.runs.get().message
    assert became(good) == [(at, "started", 1)]
    slips = create(world, name="slips")
    carried = running.calendars.due

    def stumbles(*words: Any) -> Any:
        if slips.pk == stumbling[0]:
            raise ZeroDivisionError
        return carried(*words)

    stumbling = [slips.pk]
    monkeypatch.setattr(running.calendars, "due", stumbles)
    with pytest.raises(ZeroDivisionError):
        look(first(slips))
    slips.refresh_from_db()
    assert slips.look_at == slips.next_at + running.AGAIN


def test_suspended_it_starts_nothing_and_tells_what_has_passed(world: World) -> None:
    row = create(world, cron="@daily")
    at = first(row)
    assert world["tenant"].post(f"schedules/{row.pk}/suspend").json()["next_at"] is None
    look(at + DAY)
    assert became(row) == []
    Schedule.objects.filter(pk=row.pk).update(next_at=at - 9 * DAY)
    answer = world["tenant"].post(f"schedules/{row.pk}/resume").json()
    assert not answer["suspended"] and dt.datetime.fromisoformat(answer["next_at"]) == at
    assert became(row) == [(at - 9 * DAY, "suspended", 9)]
    assert ScheduleRun.objects.get().message == "9 times passed while it was suspended"
    actions = AuditEntry.objects.filter(target=f"schedule/{row.pk}").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["schedule.create", "schedule.suspend", "schedule.resume"]


def test_run_now(world: World) -> None:
    row = create(world, "submitter", job=json.dumps(job(queue="root.prod.etl")), suspended=True)
    at = first(row)
    answer = world["admin"].post(f"schedules/{row.pk}/run")
    assert answer.status_code == 201 and answer.json()["by"] == "admin"
    made = Job.objects.get()
    assert made.owner_id == world.users["submitter"].pk and made.pk == answer.json()["job"]["id"]
    assert AuditEntry.objects.get(action="schedule.run").after == {"job": made.pk}
    again = world["admin"].post(f"schedules/{row.pk}/run")
    assert again.status_code == 409 and f"job {made.pk}" in again.json()["detail"]
    assert first(row) == at and Job.objects.count() == 1


def test_what_is_wrong_is_told_field_by_field_where_it_stands(world: World) -> None:
    text = "name: report\nqueue: root.nowhere\ngroups:\n  - name: g\n    comand: [x]\n"
    wrong = asked(cron="61 * * * *", zone="Berlin", except_days=["12-24", "someday"], job=text, set={"x": 1})
    for answer in (world["tenant"].post("schedules", wrong), world["tenant"].post("schedules/preview", wrong)):
        assert set(errors(answer)) == {
            ("cron", 0), ("zone", 0), ("except_days.1", 0), ("set.x", 0), ("job.queue", 2), ("job.groups.0.comand", 5),
            ("job.groups.0.command", 4),
        }  # fmt: skip
    assert errors(world["tenant"].post("schedules", asked(job="name: [")))[0][0] == "job"
    both = world["tenant"].post("schedules", asked(cron="61 * * * *", zone="Mars/Base", overlap="maybe"))
    assert {field for field, _ in errors(both)} == {"cron", "zone", "overlap"}, "whichever is looked at first"
    assert errors(world["tenant"].post("schedules", asked(job=json.dumps(job(kind="service"))))) == [("job.kind", 1)]
    assert errors(world["tenant"].post("schedules", asked(until="2020-01-01T00:00:00Z"))) == [("cron", 0)]
    file = {"path": "x", "digest": "0" * 64}
    assert errors(world["tenant"].post("schedules", asked(job=json.dumps(job(files=[file]))))) == [
        ("job.files.0.digest", 1)
    ]
    assert Schedule.objects.count() == 0


def test_whatever_is_sent_is_answered(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"max_schedules_per_user": 1000}
    row = create(world)
    times = {
        "until": "2120-01-01T00:00:00+01:00",
        "zone": "Europe/Berlin",
        "except_days": ["12-25", "2120-01-01/2120-02-01"],
    }
    sound = asked(name="x", job=TEXT, set={"who": "a"}, start_within_s="1h30m", overlap="replace", keep=3) | times
    sent = [
        Request("POST", "schedules/preview", sound), Request("POST", "schedules", sound),
        Request("PUT", f"schedules/{row.pk}", sound | {"revision": 1}),
        Request("GET", "schedules", query=(("name", "a"), ("owner", "x"), ("queue", "r"), ("cursor", "a"))),
    ]  # fmt: skip
    assert not list(faults(sent, "/api/v1/", f"Token {world['tenant'].token}", Random(3), 12))


def test_what_aliases_stand_for_is_bounded(world: World) -> None:
    """It is kept written out, and read at each of its times."""
    values = ", ".join(f"v{n}: *a" for n in range(200))
    text = f'{{parameters: {{a: &a "{"x" * 4000}", {values}}}, name: a, groups: [{{name: g, command: ls}}]}}'
    (wrong,) = world["tenant"].post("schedules", asked(job=text)).json()["errors"]
    assert wrong["field"] == "job" and "aliases written out" in wrong["message"]


def test_names_numbers_and_revisions(world: World, settings: Any) -> None:
    row = create(world)
    again = world["tenant"].post("schedules", asked())
    assert again.status_code == 409 and again.json()["errors"][0]["field"] == "name"
    assert world["other"].post("schedules", asked()).status_code == 201
    settings.HYDRA = settings.HYDRA | {"max_schedules_per_user": 1}
    many = world["tenant"].post("schedules", asked(name="more"))
    assert many.status_code == 409 and "HYDRA_MAX_SCHEDULES_PER_USER" in many.json()["detail"]
    assert change(world, row, cron="0 0 * * *", name="other-name").json()["words"] == "At 00:00 every day"
    stale = world["tenant"]("PUT", f"schedules/{row.pk}", asked(revision=1))
    assert stale.status_code == 412
    entry = AuditEntry.objects.get(action="schedule.update")
    assert entry.before["cron"] == "0 * * * *" and entry.after["cron"] == "0 0 * * *"
    assert "job" not in entry.after, "only that it was changed"


def test_nobody_runs_in_anothers_name_what_he_may_not_submit(world: World) -> None:
    """Who administers a queue changes what is scheduled there, and no further."""
    row = create(world, "submitter", job=json.dumps(job(queue="root.prod.etl")))
    accounts.grant_queue(SYSTEM, world.users["submitter"], "root", "submit")
    assert change(world, row, "tenant").status_code == 404
    theirs = json.dumps(job(queue="root.prod.web"))
    assert change(world, row, "admin", job=theirs).status_code == 200
    private = b"what only its owner has"
    digest = hashlib.sha256(private).hexdigest()
    assert world["submitter"].put(f"artifacts/{digest}", private).status_code in {200, 201}
    stolen = json.dumps(job(queue="root.prod.web", files=[{"path": "x", "digest": digest}]))
    assert errors(change(world, row, "admin", job=stolen)) == [("job.files.0.digest", 1)]
    assert change(world, row, "submitter", job=stolen).status_code == 200
    own = b"what only the admin has"
    digest = hashlib.sha256(own).hexdigest()
    assert world["admin"].put(f"artifacts/{digest}", own).status_code in {200, 201}
    given = json.dumps(job(queue="root.prod.web", files=[{"path": "x", "digest": digest}]))
    assert errors(change(world, row, "admin", job=given)) == [("job.files.0.digest", 1)], "it could never start"


def test_a_job_stays_in_the_queue_that_was_looked_at(world: World) -> None:
    """Parameters may make another of it at another time, where who wrote it could not submit."""
    row = create(world, "submitter", job=json.dumps(job(queue="root.prod.etl")))
    Schedule.objects.filter(pk=row.pk).update(queue="root.prod.web")  # as of the day on which it was written
    look(first(row))
    assert became(row) == [(first(row) - HOUR, "refused", 1)] and Job.objects.count() == 0
    assert "root.prod.etl" in row.runs.get().message


def test_who_has_much_to_start_keeps_no_other_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look starts a few large jobs; who is put last is so for a minute."""
    many = [create(world, name=f"s{n}") for n in range(3)]
    one = create(world, "other")
    at = first(one)
    Schedule.objects.filter(pk__in=[row.pk for row in many]).update(look_at=at - HOUR)
    monkeypatch.setattr(running, "parts", running.Parts())
    monkeypatch.setattr(running, "PART_S", 0.0)
    running.step(at, budget_s=0)
    running.step(at, budget_s=0)
    assert became(one) == [(at, "started", 1)] and sum(len(became(row)) for row in many) == 1
    look(at)
    assert all(became(row) == [(at, "started", 1)] for row in many)
    monkeypatch.setattr(running, "MINUTE_S", 0.0)
    assert running.parts.behind() == []


def test_its_history_is_bounded_and_forgets_no_job_that_lives(world: World) -> None:
    row = create(world, cron="0 * * * *", keep=3, overlap="allow")
    at = first(row)
    look(at)
    alive = Job.objects.get().pk
    for n in range(1, 7):
        look(at + n * HOUR)
        Job.objects.exclude(pk=alive).update(state=JobState.SUCCEEDED, finished_at=at)
    kept = [when for when, _, _ in became(row)]
    assert kept == [at, *(at + n * HOUR for n in (4, 5, 6))]
    rows.finish(alive, JobState.SUCCEEDED)
    look(at + 7 * HOUR)
    assert len(became(row)) == 3
    page = world["tenant"].get(f"schedules/{row.pk}/runs?page_size=2").json()
    assert len(page["results"]) == 2 and page["next"]


def test_what_it_names_is_kept_and_what_it_has_done_ends_with_its_jobs(world: World) -> None:
    data = b"a file of the schedule"
    digest = hashlib.sha256(data).hexdigest()
    world["tenant"].put(f"artifacts/{digest}", data)
    row = create(world, job=json.dumps(job(files=[{"path": "x", "digest": digest}])))
    assert row.digests == [digest] and digest in retention.wanted_by_live_jobs(first(row))
    look(first(row))
    made = Job.objects.get()
    Job.objects.filter(pk=made.pk).update(state=JobState.SUCCEEDED, finished_at=first(row) - 1000 * DAY)
    assert retention.purge_jobs(first(row)) == 1
    assert world["tenant"].get(f"schedules/{row.pk}/runs").json()["results"][0]["job"] is None
    assert world["tenant"]("DELETE", f"schedules/{row.pk}").status_code == 204
    assert ScheduleRun.objects.count() == 0


def test_lists_show_what_one_may_see_with_its_last_run_at_a_bounded_cost(
    world: World, django_assert_max_num_queries: Any
) -> None:
    for n in range(5):
        create(world, "submitter", name=f"s{n}", job=json.dumps(job(queue="root.prod.etl")), overlap="allow")
    create(world, "tenant")
    look(first(Schedule.objects.first()))  # type: ignore[arg-type]
    with django_assert_max_num_queries(3):
        page = queries.list_page(world.users["operator"], Cursor(), 50, None, None, None)
    assert len(page.results) == 6
    assert all({"job", "template", "given"} <= row.get_deferred_fields() for row, _ in page.results), "job files"
    named = {each["name"] for each in world["admin"].get("schedules?queue=root.prod.etl").json()["results"]}
    assert named == {f"s{n}" for n in range(5)}
    one = world["operator"].get("schedules?owner=submitter&name=s3").json()["results"]
    assert [each["name"] for each in one] == ["s3"] and one[0]["last_run"]["outcome"] == "started"
    assert world["other"].get("schedules").json()["results"] == []


def test_what_is_due_is_found_by_an_index(world: World) -> None:
    row = create(world)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = queries.due(first(row))[:1].explain()
    assert "schedule_by_look" in plan and "Sort" not in plan


def test_a_preview_says_when_and_keeps_nothing(world: World) -> None:
    answer = world["tenant"].post("schedules/preview", asked(cron="0 9 * * mon", zone="Asia/Tokyo"))
    told = answer.json()
    assert answer.status_code == 200 and told["words"] == "At 09:00 on Monday" and told["queue"] == "root.default"
    times = [dt.datetime.fromisoformat(each) for each in told["upcoming"]]
    assert len(times) == 5 and {(at.weekday(), at.hour, str(at.utcoffset())) for at in times} == {(0, 9, "9:00:00")}
    assert told["outlook"]["home"] in {"west", "east"}
    assert Schedule.objects.count() == 0
