"""Submit, look at and change jobs over the API."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contract.jobs import ContainerPage, EventPage, JobDetail, JobSubmitted, TaskPage
from contract.jobspec import Resources
from contract.problems import Problem
from contract.waiting import JobExplanation
from controlplane.router import cluster, submission
from controlplane.statestore.models import AuditEntry, Intent, Job, TaskGroup
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.ids import container_id
from wire.states import ContainerReason, ContainerState, GroupState, JobState, TaskState

MISSING = {"path": "f", "digest": "0" * 64}


def submitted(world: World, who: str = "tenant", **fields: object) -> Job:
    answer = world[who].post("jobs", job(**fields))
    assert answer.status_code == 201, answer.content
    return Job.objects.get(pk=answer.json()["id"])


def test_a_submit_stores_the_job_its_groups_an_intent_and_who_did_it(world: World) -> None:
    answer = world["tenant"].post("jobs", job(tags=["x"], priority=7))
    assert answer.status_code == 201
    JobSubmitted.model_validate(answer.json(), extra="forbid")
    row = Job.objects.get(pk=answer.json()["id"])
    assert (row.owner, row.priority, row.tags, row.state) == (world.users["tenant"], 7, ["x"], JobState.SUBMITTED)
    assert row.spec["groups"][0]["resources"] == Resources().model_dump()
    assert row.spec["groups"][0]["retries"] == 0
    assert TaskGroup.objects.get(job=row).count == 3
    intent = Intent.objects.get(job=row)
    assert (intent.kind, intent.sub_cluster_id) == ("submit", row.home_id)
    entry = AuditEntry.objects.get(action="job.submit")
    assert (entry.actor, entry.target, entry.address) == (world.users["tenant"], f"job/{row.pk}", "127.0.0.1")


def test_the_answer_to_a_submit_is_what_the_list_shows(world: World) -> None:
    answer = world["tenant"].post("jobs", job()).json()
    assert answer.pop("warnings") == []
    assert world["tenant"].get("jobs").json()["results"] == [answer]
    detail = world["tenant"].get(f"jobs/{answer['id']}").json()
    JobDetail.model_validate(detail, extra="forbid")
    own = ("spec", "tracking", "revision", "rollout", "schedule")
    assert {k: v for k, v in detail.items() if k not in own} == answer
    assert "taken it in yet" in answer["waiting"]


def test_a_submit_costs_few_queries_however_many_jobs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in ("FRESH_S", "COUNT_FRESH_S"):
        monkeypatch.setattr(cluster, age, 3600)  # what every request shares stays, on a slow machine too
    world["tenant"].post("jobs", job())  # fills what is cached
    with CaptureQueriesContext(connection) as one:
        world["tenant"].post("jobs", job())
    with CaptureQueriesContext(connection) as many:
        answer = world["tenant"].post("jobs/bulk", {"jobs": [job()] * 300})
    assert answer.status_code == 201 and len(answer.json()["ids"]) == 300
    assert len(one) == len(many) == 2, [q["sql"][:80] for q in many]  # the token, the statement


def test_bulk_is_all_or_nothing_and_keeps_the_order(world: World) -> None:
    bad = world["tenant"].post("jobs/bulk", {"jobs": [job(), job(name="Not A Name")]})
    assert bad.status_code == 422 and bad.json()["errors"][0]["field"] == "jobs.1.name"
    assert not Job.objects.exists()
    ids = world["tenant"].post("jobs/bulk", {"jobs": [job(name=f"j{i}") for i in range(5)]}).json()["ids"]
    assert [Job.objects.get(pk=i).name for i in ids] == [f"j{i}" for i in range(5)]
    for wrong in ({}, {"jobs": []}, {"jobs": [job()] * 1001}, {"jobs": [job()], "more": 1}, []):
        assert world["tenant"].post("jobs/bulk", wrong).status_code == 422


def test_jobs_of_too_many_groups_come_in_several_requests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_GROUPS", 5)
    wide = job(groups=[{"name": name, "command": ["true"]} for name in "abc"])
    answer = world["tenant"].post("jobs/bulk", {"jobs": [wide] * 2})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "jobs")
    assert "6 groups" in answer.json()["errors"][0]["message"] and answer.json()["errors"][0]["remedy"]
    assert world["tenant"].post("jobs/bulk", {"jobs": [wide, job()]}).status_code == 201


def test_a_repeated_key_gets_the_first_answer_and_stores_nothing(world: World) -> None:
    first = world["tenant"].post("jobs", job(), **{"Idempotency-Key": "k1"})
    again = world["tenant"].post("jobs", job(), **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert Job.objects.count() == 1
    other = world["tenant"].post("jobs", job(name="another"), **{"Idempotency-Key": "k1"})
    assert other.status_code == 422
    assert world["other"].post("jobs", job(), **{"Idempotency-Key": "k1"}).json()["id"] != first.json()["id"]
    bulk = [world["tenant"].post("jobs/bulk", {"jobs": [job()]}, **{"Idempotency-Key": "k2"}) for _ in range(2)]
    assert bulk[0].json() == bulk[1].json()
    assert world["tenant"].post("jobs", job(), **{"Idempotency-Key": "x" * 129}).status_code == 422


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"queue": "root.nowhere"}, "queue"),
        ({"queue": "root.prod"}, "queue"),
        ({"queue": "root.prod.etl"}, "queue"),
        ({"queue": "root.closed"}, "queue"),
        ({"owner": "operator"}, "owner"),
        ({"state": "RUNNING"}, "state"),
        ({"home": "east"}, "home"),
        ({"groups": []}, "groups"),
        (
            {"groups": [{"name": "a", "command": ["x"], "files": [{"path": "f", "digest": "0" * 64}]}]},
            "groups.0.files.0",
        ),
    ],
)
def test_what_a_tenant_may_not_say(world: World, fields: dict, field: str) -> None:
    answer = world["tenant"].post("jobs", job(**fields))
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    problem = Problem.model_validate(answer.json(), extra="forbid")
    assert problem.errors[0].field.startswith(field) and problem.errors[0].remedy
    assert not Job.objects.exists()


def test_kill_and_priority_are_asked_of_the_home(world: World) -> None:
    row = submitted(world)
    answer = world["tenant"].post(f"jobs/{row.pk}/kill", {"message": "enough"})
    assert answer.status_code == 202 and answer.json()["id"] == row.pk
    assert Intent.objects.get(kind="kill").payload == {"message": "killed by tenant: enough"}
    assert world["tenant"].post(f"jobs/{row.pk}/priority", {"priority": 5}).status_code == 202
    assert Intent.objects.get(kind="priority").payload == {"priority": 5}
    assert world["tenant"].post(f"jobs/{row.pk}/priority", {"priority": 500}).status_code == 422
    assert world["tenant"].post(f"jobs/{row.pk}/retry").status_code == 409
    rows.finish(row.pk, JobState.FAILED)
    again = world["tenant"].post(f"jobs/{row.pk}/retry")
    assert again.status_code == 201 and again.json()["retry_of"] == row.pk
    assert Intent.objects.filter(kind="submit", job=again.json()["id"]).count() == 1
    killed = world["tenant"].post(f"jobs/{row.pk}/kill")
    assert killed.status_code == 409 and "FAILED" in killed.json()["detail"]


def test_services_that_said_retries_when_that_was_taken_are_tried_again(world: World) -> None:
    refused = world["tenant"].post("jobs", job(kind="service", groups=[job()["groups"][0] | {"retries": 3}]))
    assert refused.status_code == 422 and refused.json()["errors"][0]["field"] == "groups.0.retries"
    row = submitted(world, kind="service")
    Job.objects.filter(pk=row.pk).update(spec=row.spec | {"groups": [row.spec["groups"][0] | {"retries": 3}]})
    rows.finish(row.pk, JobState.KILLED)
    again = world["tenant"].post(f"jobs/{row.pk}/retry")
    assert again.status_code == 201, again.content


def test_who_sees_and_who_changes_a_job_of_a_shared_queue(world: World) -> None:
    row = submitted(world, "submitter", queue="root.prod.etl")
    assert world["admin"].post(f"jobs/{row.pk}/kill").status_code == 202
    assert world["viewer"].post(f"jobs/{row.pk}/kill").status_code == 403
    assert world["tenant"].post(f"jobs/{row.pk}/kill").status_code == 404
    mine = submitted(world, "admin", queue="root.prod.etl")
    assert world["submitter"].get(f"jobs/{mine.pk}").status_code == 200
    assert world["submitter"].post(f"jobs/{mine.pk}/kill").status_code == 403
    for who, n in {"submitter": 2, "admin": 2, "operator": 2, "viewer": 2, "tenant": 0}.items():
        assert len(world[who].get("jobs").json()["results"]) == n, who


def test_pages_go_forward_and_back_without_gaps(world: World) -> None:
    world["tenant"].post("jobs/bulk", {"jobs": [job(name=f"j{i}") for i in range(7)]})
    seen, address, pages = [], "jobs?page_size=3", []
    while address:
        page = world["tenant"].get(address.replace("http://testserver", "")).json()
        pages.append([r["name"] for r in page["results"]])
        seen += pages[-1]
        back, address = page["previous"], page["next"]
    assert seen == [f"j{i}" for i in reversed(range(7))]
    previous = world["tenant"].get(back.replace("http://testserver", "")).json()
    assert [r["name"] for r in previous["results"]] == pages[-2]
    for wrong in ("cursor=!!", "cursor=" + "a" * 600, "page_size=0", "page_size=x", "state=NOPE", "queue=%00"):
        assert world["tenant"].get(f"jobs?{wrong}").status_code == 422, wrong


def test_filters(world: World) -> None:
    submitted(world, name="one", tags=["a", "b"])
    submitted(world, "other", name="two", kind="service")
    ended = submitted(world, name="three")
    rows.finish(ended.pk, JobState.SUCCEEDED)

    def names(query: str) -> list[str]:
        return [r["name"] for r in world["operator"].get(f"jobs?{query}").json()["results"]]

    assert names("tag=a") == ["one"]
    assert names("kind=service") == ["two"]
    assert names("owner=other") == ["two"]
    assert names("state=SUCCEEDED") == ["three"]
    assert names("state=live") == ["two", "one"]
    assert names("name=t") == ["three", "two"]
    assert names("queue=root.default&state=ended") == ["three"]


def test_a_list_costs_the_same_however_long_it_is(world: World) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert world["submitter"].get("jobs").status_code == 200
        return len(found)

    world["submitter"].post("jobs", job())
    few = queries()
    world["submitter"].post("jobs/bulk", {"jobs": [job()] * 60})
    assert queries() == few <= 7


def test_tasks_without_rows_are_pending_and_pages_cross_groups(world: World) -> None:
    groups = [{"name": "map", "count": 3, "command": ["x"]}, {"name": "red", "count": 2, "command": ["x"]}]
    row = submitted(world, groups=groups)
    node = world.nodes[0].session.node_id
    rows.end(rows.container(row, node, 0, 1), TaskState.FAILED, 3)
    rows.container(row, node, 1, 0)

    def tasks(query: str = "") -> list[tuple[str, int, str]]:
        found = world["tenant"].get(f"jobs/{row.pk}/tasks?{query}").json()["results"]
        TaskPage.model_validate({"results": found, "next": None, "previous": None}, extra="forbid")
        return [(t["group"], t["index"], t["state"]) for t in found]

    everything = [
        ("map", 0, "PENDING"), ("map", 1, "FAILED"), ("map", 2, "PENDING"),
        ("red", 0, "RUNNING"), ("red", 1, "PENDING"),
    ]  # fmt: skip
    assert tasks() == everything
    assert tasks("state=PENDING") == [t for t in everything if t[2] == "PENDING"]
    assert tasks("state=RUNNING&group=red") == [("red", 0, "RUNNING")]
    assert tasks("state=FAILED") == [("map", 1, "FAILED")]
    (wrong,) = world["tenant"].get(f"jobs/{row.pk}/tasks?group=rde").json()["errors"]
    assert (wrong["field"], wrong["remedy"]) == ("group", "use one of map, red")
    first = world["tenant"].get(f"jobs/{row.pk}/tasks?page_size=2").json()
    second = world["tenant"].get(first["next"].replace("http://testserver", "")).json()
    assert [t["index"] for t in second["results"]] == [2, 0]
    back = world["tenant"].get(second["previous"].replace("http://testserver", "")).json()
    assert back["results"] == first["results"]
    failed = world["tenant"].get(f"jobs/{row.pk}/tasks?state=FAILED").json()["results"][0]
    assert (failed["exit_code"], failed["node"]) == (3, "west-1")


def test_tasks_that_never_ran_were_killed_with_their_group(world: World) -> None:
    row = submitted(world, groups=[{"name": "map", "count": 3, "command": ["x"]}])
    node = world.nodes[0].session.node_id
    rows.end(rows.container(row, node, 0, 1), TaskState.KILLED, -9)
    TaskGroup.objects.filter(job=row).update(state=GroupState.KILLED)

    def tasks(query: str) -> list[tuple[int, str]]:
        found = world["tenant"].get(f"jobs/{row.pk}/tasks?{query}").json()["results"]
        return [(t["index"], t["state"]) for t in found]

    assert tasks("") == tasks("state=KILLED") == [(0, "KILLED"), (1, "KILLED"), (2, "KILLED")]
    assert tasks("state=PENDING") == []


@pytest.mark.parametrize(
    ("state", "reason", "code", "began", "told"),
    [
        ("LOST", "NODE_LOST", 0, True, None),
        ("FAILED", "EXIT_UNKNOWN", 0, True, None),
        ("FAILED", "LOCALIZATION", 0, False, None),
        ("KILLED", "STOPPED", 0, False, None),
        ("KILLED", "STOPPED", 0, True, 0),
        ("FAILED", "OUTPUT", 0, True, 0),
        ("FAILED", "EXIT_CODE", 3, False, 3),
    ],
)
def test_an_exit_that_nobody_reported_has_no_code(
    world: World, state: str, reason: str, code: int, began: bool, told: int | None
) -> None:
    row = submitted(world)
    live = rows.container(row, world.nodes[0].session.node_id, **({} if began else {"started_at": None}))
    of_task = TaskState.KILLED if state == "KILLED" else TaskState.FAILED
    rows.end(live, of_task, code, how=(ContainerState[state], ContainerReason[reason]))
    (container,) = world["tenant"].get(f"jobs/{row.pk}/containers").json()["results"]
    task = world["tenant"].get(f"jobs/{row.pk}/tasks").json()["results"][0]
    assert (container["state"], container["exit_code"], task["exit_code"]) == (state, told, told)


def test_containers_of_both_tables_in_one_order(world: World) -> None:
    row = submitted(world)
    node = world.nodes[0].session.node_id
    first = rows.container(row, node, 0, 0)
    rows.end(first, TaskState.FAILED, 1)
    rows.container(row, node, 0, 0, attempt=2)
    rows.container(row, node, 0, 1, gpus=5)
    found = world["tenant"].get(f"jobs/{row.pk}/containers").json()
    ContainerPage.model_validate(found, extra="forbid")
    assert [(c["index"], c["attempt"], c["state"]) for c in found["results"]] == [
        (0, 1, "FAILED"), (0, 2, "RUNNING"), (1, 1, "RUNNING"),
    ]  # fmt: skip
    assert found["results"][2]["gpus"] == [0, 2]
    assert len(world["tenant"].get(f"jobs/{row.pk}/containers?task=map/0").json()["results"]) == 2
    assert world["tenant"].get(f"jobs/{row.pk}/containers?task=map/x").status_code == 422


def test_the_newest_attempts_of_a_task_come_first_wherever_they_ran(world: World) -> None:
    """The one that runs now is on the first page, also beside a sub-cluster whose containers have greater ids."""
    row = submitted(world)
    node = world.nodes[0].session.node_id
    for attempt in range(1, 60):
        elsewhere = {"id": container_id(9, 1, attempt)} if attempt < 55 else {}
        rows.end(rows.container(row, node, 0, 0, attempt, **elsewhere), TaskState.FAILED, 1)
    rows.container(row, node, 0, 0, attempt=60)
    rows.container(row, node, 0, 1, attempt=61)
    at = f"jobs/{row.pk}/containers?order=newest"
    first = world["tenant"].get(f"{at}&task=map/0").json()
    assert [c["attempt"] for c in first["results"]] == list(range(60, 10, -1)) and first["previous"] is None
    assert first["results"][0]["state"] == "RUNNING"
    then = world["tenant"].get(first["next"].partition("/api/v1/")[2]).json()
    assert [c["attempt"] for c in then["results"]] == list(range(10, 0, -1)) and then["next"] is None
    assert world["tenant"].get(then["previous"].partition("/api/v1/")[2]).json()["results"] == first["results"]
    (wrong,) = world["tenant"].get(at).json()["errors"]
    assert (wrong["field"], wrong["remedy"]) == ("order", "name the task, or leave order out")


def test_attempts_are_told_although_a_clock_an_hour_behind_stamped_them(world: World) -> None:
    """As after a database was replaced by one whose clock is off."""
    row = submitted(world)
    rows.end(rows.container(row, world.nodes[0].session.node_id, 0, 0), TaskState.FAILED, 1, ago_s=3600)
    found = world["tenant"].get(f"jobs/{row.pk}/containers").json()["results"]
    assert [(c["attempt"], c["state"]) for c in found] == [(1, "FAILED")]
    assert world["tenant"].get(f"jobs/{row.pk}/tasks").json()["results"][0]["node"] == "west-1"


def test_events_oldest_first_or_newest(world: World) -> None:
    row = submitted(world)
    rows.tell(row.pk, "retry", "one")
    rows.tell(row.pk, "retry", "two")
    found = world["tenant"].get(f"jobs/{row.pk}/events").json()
    EventPage.model_validate(found, extra="forbid")
    assert [e["kind"] for e in found["results"]] == ["routed", "retry", "retry"]
    assert [e["message"] for e in found["results"]][1:] == ["one", "two"]
    first = world["tenant"].get(f"jobs/{row.pk}/events?order=newest&page_size=2").json()
    assert [e["message"] for e in first["results"]] == ["two", "one"]
    (last,) = world["tenant"].get(first["next"].split("/api/v1/")[1]).json()["results"]
    assert last["kind"] == "routed"
    refused = world["tenant"].get(f"jobs/{row.pk}/events?order=up")
    assert refused.status_code == 422 and refused.json()["errors"][0]["field"] == "order"


def test_too_many_live_jobs_are_refused(world: World, settings) -> None:
    settings.HYDRA = settings.HYDRA | {"max_live_jobs_per_user": 3}
    assert world["tenant"].post("jobs/bulk", {"jobs": [job()] * 3}).status_code == 201
    answer = world["tenant"].post("jobs", job())
    assert answer.status_code == 429 and int(answer["Retry-After"]) > 0
    assert world["other"].post("jobs", job()).status_code == 201


def test_what_jobs_say_is_bounded_for_each_and_for_an_account(world: World, settings) -> None:
    """Their templates lie in Redis while they live."""
    settings.HYDRA = settings.HYDRA | {"job_max_kib": 4, "live_jobs_max_mib_per_user": 8 / 1024}
    fat = job(groups=[{"name": "fat", "command": ["true"], "env": {"A": "ä" * 1500}}])
    much = job(groups=[{"name": "much", "command": ["true"], "env": {"A": "ä" * 2100}}])
    refused = world["tenant"].post("jobs/bulk", {"jobs": [job(), much]})
    assert refused.status_code == 422
    (wrong,) = refused.json()["errors"]
    assert wrong["field"] == "jobs.1.groups" and "4,096 are allowed" in wrong["message"] and wrong["remedy"]
    assert world["tenant"].post("jobs", fat).status_code == 201
    assert world["tenant"].post("jobs", fat).status_code == 201
    answer = world["tenant"].post("jobs", fat)
    assert answer.status_code == 429 and int(answer["Retry-After"]) > 0 and "MiB" in answer.json()["detail"]
    assert world["other"].post("jobs", fat).status_code == 201
    sizes = Job.objects.filter(owner__username="tenant").values_list("spec_bytes", flat=True)
    assert len(sizes) == 2 and all(3000 < size < 4096 for size in sizes)
    cluster.forget()
    assert world["tenant"].post("jobs", fat).status_code == 429, "counted anew from the rows"
    Job.objects.update(state=10)
    cluster.forget()
    assert world["tenant"].post("jobs", fat).status_code == 201


def test_the_api_can_be_browsed(world: World) -> None:
    made = world["tenant"].post("jobs", job()).json()["id"]
    for address in ("jobs", f"jobs/{made}", f"jobs/{made}/tasks", "overview", "nodes/9999", "jobs?page_size=0"):
        page = world["tenant"].get(address, accept="text/html")
        assert page["Content-Type"].startswith("text/html"), address
        assert b"<html" in page.content


def test_why_each_group_waits_comes_from_its_row_or_from_the_groups_before_it(world: World) -> None:
    groups = [{"name": "map", "count": 3, "command": ["true"]}, {"name": "sum", "command": ["true"], "after": ["map"]}]
    row = submitted(world, groups=groups)
    limit = {"limit": "no_room", "text": "Largest free piece 1 MiB.", "asked": {"memory_mib": 2}, "available": {}}
    told = {
        "code": "no_room", "text": limit["text"], "waiting": 3, "asked": {"memory_mib": 2}, "limits": [limit],
        "position": {"jobs_ahead": 0, "containers_ahead": 0}, "estimate": None, "change": None,
        "at": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
    Job.objects.filter(pk=row.pk).update(state=JobState.ADMITTED)
    TaskGroup.objects.filter(job=row, name="map").update(reason=told, state=GroupState.PENDING)
    answer = world["tenant"].get(f"jobs/{row.pk}/explain").json()
    JobExplanation.model_validate(answer, extra="forbid")
    first, second = answer["groups"]
    assert (first["reason"]["code"], first["as_of"], answer["waiting"]) == (
        "no_room",
        told["at"],
        "map: " + limit["text"],
    )
    assert second["reason"]["text"] == "It starts after map (3 tasks left)."
    detail = world["tenant"].get(f"jobs/{row.pk}").json()
    JobDetail.model_validate(detail, extra="forbid")
    assert [g["reason"]["code"] for g in detail["groups"]] == ["no_room", "dependencies"]
