"""Moves, many jobs at once, checks without submitting, saved views, and the list's times and order."""

import datetime as dt
import json
from typing import Any

import pytest
import yaml

from controlplane.accounts import writes
from controlplane.statestore.actions import savedviews
from controlplane.statestore.models import AuditEntry, Intent, Job, Node
from tests.integration.api.rows import container
from tests.integration.api.world import World, job
from wire.states import JobState


def put(world: World, who: str = "tenant", **fields: object) -> int:
    answer = world[who].post("jobs", job(**fields))
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def first_error(answer: object) -> tuple[str, str]:
    error = answer.json()["errors"][0]  # type: ignore[attr-defined]
    return error["field"], error["message"]


def test_a_move_needs_rights_in_both_queues(world: World) -> None:
    mine = put(world)
    asked = world["tenant"].post(f"jobs/{mine}/queue", {"queue": "root.prod.etl"})
    assert asked.status_code == 422 and first_error(asked)[0] == "queue"
    theirs = put(world, "submitter", queue="root.prod.etl")
    assert world["submitter"].post(f"jobs/{theirs}/queue", {"queue": "root.prod.web"}).status_code == 202
    assert world["admin"].post(f"jobs/{theirs}/queue", {"queue": "root.default"}).status_code == 202
    stranger = put(world, "operator", queue="root.prod.web")
    assert world["submitter"].post(f"jobs/{stranger}/queue", {"queue": "root.default"}).status_code == 403
    assert [i.payload for i in Intent.objects.filter(kind="move").order_by("id")] == [
        {"queue": "root.prod.web"},
        {"queue": "root.default"},
    ]
    entry = AuditEntry.objects.filter(action="job.move").latest("id")
    assert (entry.target, entry.before, entry.after) == (
        f"job/{theirs}", {"queue": "root.prod.etl"}, {"queue": "root.default"},
    )  # fmt: skip


def test_moves_that_make_no_sense(world: World) -> None:
    mine = put(world)
    for queue, status in (("root.default", 409), ("root.closed", 422), ("root", 422), ("root.nowhere", 422)):
        assert world["operator"].post(f"jobs/{mine}/queue", {"queue": queue}).status_code == status, queue
    Job.objects.filter(pk=mine).update(state=JobState.SUCCEEDED)
    assert world["operator"].post(f"jobs/{mine}/queue", {"queue": "root.prod.etl"}).status_code == 409
    assert not Intent.objects.filter(kind="move").exists()


def test_a_retry_goes_to_the_queue_it_was_moved_to(world: World) -> None:
    mine = put(world)
    Job.objects.filter(pk=mine).update(state=JobState.FAILED, queue="root.prod.etl")
    assert world["operator"].post(f"jobs/{mine}/retry").json()["queue"] == "root.prod.etl"


def test_many_at_once_are_each_answered(world: World) -> None:
    live, ended, foreign = put(world), put(world), put(world, "operator", queue="root.prod.etl")
    Job.objects.filter(pk=ended).update(state=JobState.FAILED)
    asked = {"action": "kill", "jobs": [live, ended, foreign, live, 2**40], "message": "enough"}
    answer = world["tenant"].post("jobs/actions", asked).json()
    assert answer["accepted"] == 1
    assert [(r["job"], r["accepted"]) for r in answer["results"]] == [
        (live, True), (ended, False), (foreign, False), (2**40, False),
    ]  # fmt: skip
    assert "ended already" in answer["results"][1]["refused"]
    assert answer["results"][2]["refused"] == f"there is no job {foreign} that you may see"
    assert Intent.objects.get(kind="kill").payload == {"message": "killed by tenant: enough"}
    both = world["operator"].post("jobs/actions", {"action": "priority", "jobs": [live, foreign], "priority": 3})
    assert both.json()["accepted"] == 2 and AuditEntry.objects.filter(action="job.priority").count() == 2
    moved = world["operator"].post(
        "jobs/actions", {"action": "queue", "jobs": [live, foreign], "queue": "root.prod.etl"}
    )
    assert [r["accepted"] for r in moved.json()["results"]] == [True, False]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "kill", "jobs": []}, "jobs"),
        ({"action": "priority", "jobs": [1]}, "priority"),
        ({"action": "drop", "jobs": [1]}, "action"),
        ({"action": "kill", "jobs": [1], "priority": 3}, "priority"),
        ({"action": "priority", "jobs": [1], "priority": 3, "queue": "root.prod"}, "queue"),
        ({"action": "queue", "jobs": [1], "queue": "root.prod", "message": "why"}, "message"),
    ],
)
def test_many_at_once_refuses_what_it_cannot_read(world: World, body: dict[str, object], field: str) -> None:
    answer = world["operator"].post("jobs/actions", body)
    assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == field


def test_what_one_account_has_written_an_hour_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [put(world) for _ in range(5)]
    monkeypatch.setattr(writes, "_writes", writes.Writes(9))
    asked = {"action": "priority", "jobs": jobs, "priority": 3}
    assert world["tenant"].post("jobs/actions", asked).status_code == 202
    before = AuditEntry.objects.count(), Intent.objects.count()
    refused = world["tenant"].post("jobs/actions", asked)
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    assert "9 jobs and other things an hour" in refused.json()["detail"]
    assert (AuditEntry.objects.count(), Intent.objects.count()) == before
    many = world["tenant"].post("jobs/bulk", {"jobs": [job() for _ in range(5)]})
    assert many.status_code == 429 and Job.objects.count() == 5
    assert world["tenant"].get("jobs").status_code == 200, "who looks writes nothing"
    assert world["operator"].post("jobs/actions", asked).status_code == 202


def test_many_at_once_takes_few_queries(world: World, django_assert_max_num_queries: object) -> None:
    jobs = [put(world) for _ in range(20)]
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert world["tenant"].post("jobs/actions", {"action": "kill", "jobs": jobs}).json()["accepted"] == 20


def test_a_check_says_what_a_submit_would(world: World) -> None:
    good = world["tenant"].post("jobs/validate", job())
    found = good.json()
    assert (found["queue"], found["tasks"], found["memory_mib"]) == ("root.default", 3, 768)
    assert found["spec"]["groups"][0]["retries"] == 0
    for wrong in (job(queue="root.nowhere"), job(priority=500), job(groups=[]), job(colour="red")):
        checked, submitted = (world["tenant"].post(path, wrong) for path in ("jobs/validate", "jobs"))
        assert (checked.status_code, checked.json()["errors"]) == (422, submitted.json()["errors"])
    file = {"path": "a", "digest": "0" * 64}
    assert world["tenant"].post("jobs/validate", job(files=[file])).status_code == 200
    assert not Job.objects.exists()


TEXT = """\
name: a
queue: root.nowhere
groups:
  - name: map
    command: [x]
    count: 0
"""


def test_a_text_is_told_all_its_errors_with_line_and_column(world: World) -> None:
    as_json = json.dumps(yaml.safe_load(TEXT), indent=1)
    for text, kind, places in (
        (TEXT, "application/yaml", [(2, 1), (6, 5)]),
        (as_json, "application/json", [(3, 2), (10, 4)]),
        (json.dumps(yaml.safe_load(TEXT)), "application/json", [(0, 0), (0, 0)]),
    ):
        for path in ("jobs", "jobs/validate"):
            answer = world["tenant"].post(path, text, **{"content-type": kind})
            assert answer.status_code == 422, answer.content
            errors = sorted(answer.json()["errors"], key=lambda e: e["field"], reverse=True)
            assert [(e["field"], e["group"]) for e in errors] == [("queue", ""), ("groups.0.count", "map")]
            assert [(e["line"], e["column"]) for e in errors] == places
    assert not Job.objects.exists()


def test_parameters_are_put_in_before_anything_else(world: World) -> None:
    group = {"name": "g", "count": "${{ n }}", "command": ["x", "${{ n }}"], "resources": {"memory_mib": "${{ mem }}"}}
    template = {"name": "a", "queue": "root.${{ q }}", "groups": [group]}
    template |= {"parameters": {"n": 1, "q": None, "mem": "1 GiB"}}
    values = {"n": 3, "q": "default"}
    assert world["tenant"].post("jobs/validate", template | {"set": values}).json()["memory_mib"] == 3072
    taken = world["tenant"].post("jobs", template | {"set": values})
    assert taken.status_code == 201, taken.content
    stored = Job.objects.get().spec
    assert (stored["queue"], stored["groups"][0]["count"], stored["groups"][0]["command"]) == (
        "root.default",
        3,
        ["x", "3"],
    )
    assert not stored.keys() & {"parameters", "set"}
    refused = world["tenant"].post("jobs/bulk", {"jobs": [template | {"set": {"q": "nowhere"}}, template]})
    assert [e["field"] for e in refused.json()["errors"]] == ["jobs.0.queue", "jobs.1.parameters.q"]


def test_a_job_is_taken_as_yaml(world: World) -> None:
    def sent(text: str | bytes) -> Any:
        return world["tenant"].post("jobs", text, **{"content-type": "application/yaml"})

    taken = sent("name: a\ngroups:\n  - name: g\n    command: [x]\n    resources: {gpus: 60}\n")
    assert taken.status_code == 201 and Job.objects.get().spec["groups"][0]["command"] == ["x"]
    (warned,) = taken.json()["warnings"]
    assert (warned["field"], warned["group"], warned["line"], warned["column"]) == (
        "groups.0.resources.gpus",
        "g",
        5,
        17,
    )
    for text, line in (("name: a\nname: b\n", 2), ("name: [\n", 2), ("a: &a [*a]", 0), (b"name: \xff", 0)):
        refused = sent(text)
        assert refused.status_code == 422 and refused.json()["errors"][0]["line"] == line, refused.content
    assert sent("#" * 200_000).status_code == 413
    other = world["tenant"].post("jobs/bulk", "jobs: []", **{"content-type": "application/yaml"})
    (wrong,) = other.json()["errors"]
    assert (other.status_code, wrong["field"], wrong["remedy"]) == (415, "Content-Type", "send it as application/json")
    assert wrong["message"] == "'application/yaml' is not read here"


def test_saved_views_are_their_accounts_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = world["tenant"].post("saved-views", {"name": "Failed <b>mine</b>", "query": "state=FAILED&tag=x"})
    assert saved.status_code == 200
    again = world["tenant"].post("saved-views", {"name": "Failed <b>mine</b>", "query": "state=KILLED"}).json()
    assert again["id"] == saved.json()["id"]
    assert [v["query"] for v in world["tenant"].get("saved-views").json()["results"]] == ["state=KILLED"]
    assert world["other"].get("saved-views").json()["results"] == []
    assert world["other"]("DELETE", f"saved-views/{again['id']}").status_code == 404
    for wrong in ({"name": ""}, {"name": "a\nb"}, {"name": "x", "query": "evil=1"}, {"name": "x", "query": "a b"}):
        assert world["tenant"].post("saved-views", wrong).status_code == 422, wrong
    for query in ("state=FALED", "state=", "kind=x", "since=-2d", "order=x"):
        (wrong,) = world["tenant"].post("saved-views", {"name": "x", "query": query}).json()["errors"]
        assert wrong["field"] == f"query.{query.partition('=')[0]}" and wrong["remedy"], wrong
    good = "state=live&since=2030-01-31T12%3A00%3A00%2B01%3A00&until=2030-02-01T00:00Z&order=oldest&kind=batch"
    kept = world["tenant"].post("saved-views", {"name": "Failed <b>mine</b>", "query": good}).json()
    assert kept["query"] == good
    monkeypatch.setattr(savedviews, "MOST", 1)
    assert world["tenant"].post("saved-views", {"name": "more"}).status_code == 409
    assert world["tenant"]("DELETE", f"saved-views/{again['id']}").status_code == 204
    assert world["tenant"].get("saved-views").json()["results"] == []


def test_the_list_by_time_and_order(world: World) -> None:
    ids = [put(world) for _ in range(4)]
    day = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    for i, number in enumerate(ids):
        Job.objects.filter(pk=number).update(submitted_at=day + dt.timedelta(hours=i))

    def found(query: str) -> list[int]:
        return [row["id"] for row in world["tenant"].get(f"jobs?{query}").json()["results"]]

    assert found("since=2030-01-01T01:00:00Z&until=2030-01-01T03:00:00Z") == [ids[2], ids[1]]
    assert found("since=2030-01-01T02:00:00%2B01:00") == ids[:0:-1]
    assert found("order=oldest") == ids
    assert found("since=2031-01-01") == []
    page = world["tenant"].get("jobs?order=oldest&page_size=3").json()
    after = world["tenant"].get(page["next"].partition("/api/v1/")[2]).json()
    assert [row["id"] for row in after["results"]] == ids[3:]
    back = world["tenant"].get(after["previous"].partition("/api/v1/")[2]).json()
    assert [row["id"] for row in back["results"]] == ids[:3]
    for wrong in ("since=yesterday", "until=99999-01-01T00:00:00Z", "order=up", "since=0001-01-01T00:00:00Z"):
        assert world["tenant"].get(f"jobs?{wrong}").status_code == 422, wrong


def test_the_list_of_a_node_is_of_what_has_containers_there_now(world: World) -> None:
    mine, others, elsewhere = put(world), put(world, "other"), put(world)
    nodes = [
        Node.objects.create(sub_cluster=place, name=name, memory_mib=1024, vcores_milli=1000)
        for place, name in ((world.west, "listed"), (world.east, "listed"), (world.west, "else"))
    ]
    for number, node in ((mine, nodes[0]), (mine, nodes[1]), (others, nodes[1]), (elsewhere, nodes[2])):
        container(Job.objects.get(pk=number), node.pk)

    def found(who: str, query: str) -> list[int]:
        return [row["id"] for row in world[who].get(f"jobs?{query}").json()["results"]]

    assert found("operator", "node=listed") == [others, mine]
    assert found("operator", "node=west/listed") == found("tenant", "node=listed") == [mine]
    assert found("operator", "node=listed&owner=other&order=oldest") == [others]
    assert found("operator", "node=none") == []
