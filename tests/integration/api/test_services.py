"""Services while they run, over REST: who may, what is refused and how, what the home is told, what is shown."""

import datetime as dt
import tracemalloc
from typing import Any

import pytest

from controlplane.statestore import retention
from controlplane.statestore.models import AuditEntry, Container, Intent, Job, Task, TaskGroup
from controlplane.statestore.queries.jobs import services
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.states import ContainerReason as Reason
from wire.states import ContainerState, JobState, TaskState

TWO = [{"name": name, "command": ["serve"], "count": 3} for name in ("web", "api")]


def service(world: World, who: str = "tenant", **fields: Any) -> int:
    answer = world[who].post("jobs", job(kind="service", groups=TWO) | fields)
    assert answer.status_code == 201, answer.content
    number = int(answer.json()["id"])
    Job.objects.filter(pk=number).update(state=JobState.RUNNING)
    return number


def running(job_id: int, *tasks: tuple[int, int, int]) -> None:
    """Containers of the job: group, task, attempt."""
    now = dt.datetime.now(dt.UTC)
    Container.objects.bulk_create(
        Container(
            id=(1 << 40) + (job_id << 16) + 8 * i, sub_cluster_id=Job.objects.get(pk=job_id).home_id, node_id=1,
            job_id=job_id, group_no=group, task_index=task, attempt=attempt, state=ContainerState.RUNNING, epoch=1,
            memory_mib=64, vcores_milli=100, gpus=0, allocated_at=now,
        )
        for i, (group, task, attempt) in enumerate(tasks)
    )  # fmt: skip


def errors(answer: Any) -> list[tuple[str, str, str]]:
    return [(e["field"], e["message"], e["remedy"]) for e in answer.json()["errors"]]


def test_a_scale_tells_the_home_and_the_audit_log(world: World) -> None:
    mine = service(world)
    answer = world["tenant"].post(f"jobs/{mine}/scale", {"group": "api", "count": 5})
    assert answer.status_code == 202 and answer.json()["id"] == mine
    intent = Intent.objects.get(kind="scale")
    assert intent.job_id == mine and intent.sub_cluster_id == Job.objects.get(pk=mine).home_id
    asked_us = intent.payload.pop("asked_us")
    assert intent.payload == {"group": 1, "count": 5, "by": "tenant"}
    assert abs(asked_us / 1e6 - intent.created_at.timestamp()) < 60
    entry = AuditEntry.objects.get(action="job.scale")
    assert (entry.target, entry.before) == (f"job/{mine}", {"count": 3})


def test_a_group_with_an_array_keeps_its_tasks(world: World) -> None:
    """Beyond its rows no task has values; and an update does not change them either."""
    group = {"name": "web", "command": ["serve", "${{ port }}"], "array": {"port": [80, 81]}}
    mine = service(world, groups=[group])
    answer = world["tenant"].post(f"jobs/{mine}/scale", {"group": "web", "count": 3})
    assert answer.status_code == 422 and errors(answer)[0][0] == "group"
    spec = job(kind="service", groups=[group | {"array": {"port": [80, 82]}}])
    answer = world["tenant"]("PUT", f"jobs/{mine}/spec", {"revision": 1, "spec": spec})
    assert answer.status_code == 422 and errors(answer)[0][0] == "spec.groups.0.array"


def test_a_restart_names_the_attempts_that_run_now(world: World) -> None:
    mine = service(world)
    running(mine, (0, 0, 1), (0, 1, 1), (0, 2, 4), (1, 1, 2))
    assert world["tenant"].post(f"jobs/{mine}/restart", {"group": "web", "index": 2}).status_code == 202
    assert world["tenant"].post(f"jobs/{mine}/restart", {"group": "web"}).status_code == 202
    assert world["tenant"].post(f"jobs/{mine}/restart", {}).status_code == 202
    asked = [i.payload for i in Intent.objects.filter(kind="restart").order_by("id")]
    web, api = [[0, 2, 1], [2, 1, 4]], [[1, 1, 2]]
    assert [(a["group"], a["attempts"], a["one_by_one"]) for a in asked] == [
        (0, [[2, 1, 4]], False), (0, web, True), (0, web, True), (1, api, True),
    ]  # fmt: skip
    told = [e.after for e in AuditEntry.objects.filter(action="job.restart", target=f"job/{mine}").order_by("id")]
    assert len(told) == 4 and told[0] == {"group": 0, "index": 2, "by": "tenant"}, "the log has no list of attempts"


def test_a_restart_names_the_last_attempts_of_what_pauses_too(world: World) -> None:
    mine = service(world)
    row, now = Job.objects.get(pk=mine), dt.datetime.now(dt.UTC)
    for index, ago_s in ((0, 5), (1, 5), (2, 900)):
        Task.objects.create(
            submitted_on=row.submitted_at.date(), job_id=mine, group_no=0, index=index, state=TaskState.PENDING,
            attempts=4, failures=4, container_id=index, exit_code=1, finished_at=now - dt.timedelta(seconds=ago_s),
        )  # fmt: skip
    running(mine, (0, 1, 5))
    for index, status in ((0, 202), (1, 202), (2, 409), (None, 202)):
        answer = world["tenant"].post(f"jobs/{mine}/restart", {"group": "web", "index": index})
        assert answer.status_code == status, answer.content
    asked = [i.payload for i in Intent.objects.filter(kind="restart").order_by("id")]
    assert [a["attempts"] for a in asked] == [[[0, 1, 4]], [[1, 1, 5]], [[0, 1, 4], [1, 1, 5]]]


def test_what_its_node_could_not_do_pauses_and_what_had_to_make_way_does_not(world: World) -> None:
    mine = service(world)
    for index, reason, status in ((0, Reason.UNREACHABLE, 202), (1, Reason.LEASE, 202), (2, Reason.PREEMPTED, 409)):
        live = rows.container(Job.objects.get(pk=mine), 1, index=index)
        rows.end(live, TaskState.PENDING, how=(ContainerState.KILLED, reason))
        answer = world["tenant"].post(f"jobs/{mine}/restart", {"group": "web", "index": index})
        assert answer.status_code == status, answer.content


def test_admins_of_the_queue_may_and_strangers_may_not(world: World) -> None:
    theirs = service(world, "submitter", queue="root.prod.web")
    for who, status in (("admin", 202), ("operator", 202), ("viewer", 403), ("other", 404)):
        assert world[who].post(f"jobs/{theirs}/scale", {"group": "web", "count": 4}).status_code == status, who


@pytest.mark.parametrize(
    ("what", "body", "status", "field", "remedy"),
    [
        ("scale", {"group": "wev", "count": 2}, 422, "group", "name one of web, api"),
        ("scale", {"group": "web", "count": 0}, 422, "count", ""),
        ("scale", {"group": "web"}, 422, "count", ""),
        ("scale", {"group": "web", "count": 999_999}, 422, "count", "ask for at most"),
        ("restart", {"index": 1}, 422, "group", "say which group"),
        ("restart", {"group": "web", "index": 3}, 422, "index", "0 to 2"),
        ("restart", {"group": "nobody"}, 422, "group", "name one of"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    world: World, what: str, body: dict[str, Any], status: int, field: str, remedy: str
) -> None:
    mine = service(world)
    answer = world["tenant"].post(f"jobs/{mine}/{what}", body)
    assert answer.status_code == status
    (found,) = errors(answer)
    assert found[0] == field and remedy in found[2]
    assert not Intent.objects.filter(kind=what).exists()


def test_only_services_that_live_and_run_are_changed(world: World) -> None:
    mine = service(world)
    nothing = world["tenant"].post(f"jobs/{mine}/restart", {"group": "web"})
    assert nothing.status_code == 409 and "nothing of it runs" in nothing.json()["detail"]
    batch = world["tenant"].post("jobs", job()).json()["id"]
    for what, body in (("scale", {"group": "g", "count": 2}), ("restart", {})):
        refused = world["tenant"].post(f"jobs/{batch}/{what}", body)
        assert refused.status_code == 409 and "only services" in refused.json()["detail"]
    Job.objects.filter(pk=mine).update(state=JobState.KILLED)
    assert world["tenant"].post(f"jobs/{mine}/scale", {"group": "web", "count": 2}).status_code == 409


def test_what_is_shown_and_run_again_has_as_many_tasks_as_by_now(world: World) -> None:
    mine = service(world)
    said = {"0": {"count": 7, "asked_us": 1, "now": [[1, 2, 1]], "queue": [[0, 2, 1]]}}
    Job.objects.filter(pk=mine).update(services=said)
    TaskGroup.objects.filter(job_id=mine, no=0).update(count=7)
    shown = world["tenant"].get(f"jobs/{mine}").json()
    assert [(g["count"], g["restarting"]) for g in shown["groups"]] == [(7, 3), (3, 0)]
    assert [g["count"] for g in shown["spec"]["groups"]] == [7, 3]
    Job.objects.filter(pk=mine).update(state=JobState.KILLED)
    assert [g["restarting"] for g in world["tenant"].get(f"jobs/{mine}").json()["groups"]] == [0, 0]
    again = world["tenant"].post(f"jobs/{mine}/retry").json()
    assert [(g["count"], g["restarting"]) for g in again["groups"]] == [(7, 0), (3, 0)]


def spec_of(world: World, job_id: int, **changes: Any) -> dict[str, Any]:
    """The job's own specification, with its first group changed."""
    spec = world["tenant"].get(f"jobs/{job_id}").json()["spec"]
    spec["groups"][0] |= changes
    return spec  # type: ignore[no-any-return]


def put(world: World, job_id: int, spec: dict[str, Any], who: str = "tenant", **more: Any) -> Any:
    return world[who]("PUT", f"jobs/{job_id}/spec", {"revision": 1, "spec": spec} | more)


def test_an_update_tells_the_home_what_is_to_run_and_how_carefully(world: World) -> None:
    mine = service(world)
    spec = spec_of(world, mine, command=["serve", "--better"], count=9)
    answer = put(world, mine, spec, max_unavailable=2, max_surge=1, deadline_s=30)
    assert answer.status_code == 202, answer.content
    asked = Intent.objects.get(kind="update").payload
    assert (asked["revision"], asked["by"], asked["back"]) == (1, "tenant", None)
    rules = {"max_unavailable": 2, "max_surge": 1, "min_ready_s": 10.0, "deadline_s": 30.0, "max_failures": 1}
    assert asked["rules"] == rules
    first = asked["spec"]["groups"][0]
    assert (first["command"], first["count"]) == (["serve", "--better"], 3), "a scale is another request"
    assert asked["size"] > 0 and asked["spec"]["name"] == "a-job"
    assert asked["changes"] == answer.json()["changes"] == ["web.command"]
    entry = AuditEntry.objects.get(action="job.update")
    assert entry.before == {"revision": 1} and "spec" not in entry.after and entry.after["by"] == "tenant"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"partition": "gpu"}, "spec.groups.0.partition"),
        ({"name": "other"}, "spec.groups"),
        ({"command": []}, "spec.groups.0.command"),
        ({"health_check": {"port": "none", "tcp": True}}, "spec.groups.0.health_check.port"),
        ({"files": [{"path": "a", "digest": "0" * 64}]}, "spec.groups.0.files.0.digest"),
    ],
)
def test_an_update_that_cannot_be_names_the_field_and_changes_nothing(
    world: World, changes: dict[str, Any], field: str
) -> None:
    mine = service(world)
    answer = put(world, mine, spec_of(world, mine, **changes))
    assert answer.status_code == 422
    assert [(e[0], bool(e[2])) for e in errors(answer)] == [(field, True)]
    assert not Intent.objects.filter(kind="update").exists()


def test_an_update_to_what_runs_already_is_unchanged(world: World) -> None:
    """No revision, nothing told to the home or to the audit log; while an update goes on it is refused."""
    mine = service(world)
    said = put(world, mine, spec_of(world, mine, count=9))
    assert (said.status_code, said.json()["unchanged"], said.json()["revision"]) == (200, True, 1)
    older = Job.objects.get(pk=mine).spec
    del older["groups"][0]["placement"]  # as a release wrote it that did not know the field
    Job.objects.filter(pk=mine).update(spec=older)
    assert put(world, mine, spec_of(world, mine)).json()["unchanged"]
    assert not Intent.objects.filter(kind="update").exists()
    assert not AuditEntry.objects.filter(action="job.update").exists()
    assert put(world, mine, spec_of(world, mine), revision=2).status_code == 412
    assert put(world, mine, spec_of(world, mine, command=["other"])).json()["unchanged"] is False
    assert put(world, mine, spec_of(world, mine)).status_code == 409


def test_an_update_is_of_the_revision_that_is_known(world: World) -> None:
    mine = service(world)
    rollout = {
        "revision": 2, "previous": 1, "began_us": 1_000_000, "failures": 1, "back": False, "groups": [0],
        "rules": {"max_unavailable": 1, "min_ready_s": 1, "deadline_s": 60, "max_failures": 1},
    }  # fmt: skip
    group = {"count": 3, "asked_us": 0, "now": [], "queue": [[1, 2, 1]], "unsure": [], "width": 1}
    spec = spec_of(world, mine)
    kept = [
        {"revision": n, "at_us": n * 1e6, "by": "ann", "outcome": "", "back": None, "size": 1, "spec": spec}
        for n in (1, 2)
    ]
    kept[1]["changes"] = ["web.retries: 0 -> 1"]
    Job.objects.filter(pk=mine).update(services={"0": group, "revision": 2, "rollout": rollout}, revisions=kept)
    shown = world["tenant"].get(f"jobs/{mine}").json()
    assert shown["revision"] == 2
    assert (shown["rollout"]["updated"], shown["rollout"]["tasks"], shown["rollout"]["failures"]) == (1, 3, 1)
    assert shown["rollout"]["due_at"] == "1970-01-01T00:01:01Z"
    stale = put(world, mine, spec)
    assert stale.status_code == 412 and "revision 2" in stale.json()["detail"]
    restarted = world["tenant"].post(f"jobs/{mine}/restart", {"group": "web"})
    assert restarted.status_code == 409 and "no whole group is restarted meanwhile" in restarted.json()["detail"]
    busy = put(world, mine, spec, revision=2)
    assert busy.status_code == 409 and "roll back to 1 first" in busy.json()["detail"]
    kept[0]["spec"] = spec | {"groups": [spec["groups"][0] | {"grace_s": 7.0}, *spec["groups"][1:]]}
    Job.objects.filter(pk=mine).update(revisions=kept)
    back = world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 2})
    assert back.status_code == 202, back.content
    asked = Intent.objects.get(kind="update").payload
    assert asked["back"] == 1 and asked["changes"] == back.json()["changes"] != []
    assert "web.grace_s" in back.json()["changes"][0] and back.json()["unchanged"] is False
    listed = world["tenant"].get(f"jobs/{mine}/revisions").json()["results"]
    assert [(r["revision"], r["by"], r["changes"]) for r in listed] == [
        (2, "ann", ["web.retries: 0 -> 1"]), (1, "ann", []),
    ]  # fmt: skip
    Job.objects.filter(pk=mine).update(state=JobState.KILLED)
    ended = world["tenant"].get(f"jobs/{mine}").json()
    assert (ended["revision"], ended["rollout"]) == (2, None)


def test_one_that_was_never_updated_has_nothing_to_go_back_to(world: World) -> None:
    mine = service(world)
    answer = world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 1})
    assert answer.status_code == 422 and errors(answer)[0][2] == "it was never updated"
    (only,) = world["tenant"].get(f"jobs/{mine}/revisions").json()["results"]
    assert (only["revision"], only["by"], only["outcome"], only["back"]) == (1, "tenant", "", None)


def test_a_rollback_to_what_a_service_runs_already_is_unchanged(world: World) -> None:
    """As after an update that undid itself: what runs is not gone back to, and naming it begins nothing."""
    mine = service(world)
    spec = spec_of(world, mine)
    first, broken = (spec | {"groups": [spec["groups"][0] | {"grace_s": g}, *spec["groups"][1:]]} for g in (7.0, 8.0))
    kept = [
        {"revision": n, "at_us": n * 1e6, "by": "ann", "outcome": outcome, "back": back, "size": 1, "spec": said}
        for n, said, outcome, back in [
            (1, first, "", None),
            (2, spec, "", None),
            (3, broken, "failed", None),
            (4, spec, "", 2),
        ]
    ]
    Job.objects.filter(pk=mine).update(services={"revision": 4}, revisions=kept)
    same = world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 4, "to": 2})
    assert (same.status_code, same.json()["unchanged"], same.json()["changes"]) == (200, True, []), same.content
    assert world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 3, "to": 2}).status_code == 412
    assert not Intent.objects.filter(kind="update").exists()
    rules = {"max_unavailable": 1, "min_ready_s": 1, "deadline_s": 60, "max_failures": 1}
    going = {"revision": 4, "previous": 3, "began_us": 1, "failures": 0, "back": True, "groups": [0], "rules": rules}
    Job.objects.filter(pk=mine).update(services={"revision": 4, "rollout": going})
    already = world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 4})
    assert already.status_code == 409 and "goes back to 2 already" in already.json()["detail"]
    assert world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 4, "to": 3}).status_code == 202, "as before"
    Intent.objects.filter(kind="update").delete()
    Job.objects.filter(pk=mine).update(services={"revision": 4})
    assert world["tenant"].post(f"jobs/{mine}/rollback", {"revision": 4}).status_code == 202
    assert Intent.objects.get(kind="update").payload["back"] == 1


def test_files_of_a_revision_that_a_service_may_go_back_to_are_kept(world: World) -> None:
    mine = service(world)
    old, new = "a" * 64, "b" * 64
    specs = [{"groups": [{"name": "web", "files": [{"path": "x", "digest": d}]}]} for d in (old, new)]
    kept = [{"revision": n, "spec": spec} for n, spec in enumerate(specs, 1)]
    Job.objects.filter(pk=mine).update(spec=specs[1], revisions=kept)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    assert {old, new} <= retention.wanted_by_live_jobs(later)


def test_of_one_service_one_update_waits_for_its_home(world: World) -> None:
    """Each is as large as a job may be, and while nobody leads the home none is taken in."""
    mine = service(world)
    spec = spec_of(world, mine, command=["serve", "--better"])
    assert put(world, mine, spec).status_code == 202
    again = put(world, mine, spec)
    assert again.status_code == 409 and "has not begun" in again.json()["detail"]
    assert Intent.objects.filter(kind="update").count() == 1


def test_what_revisions_say_is_not_read_where_it_is_not_asked_for(world: World) -> None:
    """Ten of them are ten times what a job may say, and housekeeping looks at all services."""
    mine = service(world)
    groups = [{"name": "web", "env": {"A": "x" * (1 << 20)}, "files": [{"path": "x", "digest": "a" * 64}]}]
    kept = [{"revision": n, "at_us": 0, "by": "ann", "outcome": "", "back": None, "size": 1, "spec": {"groups": groups}}
            for n in range(1, 11)]  # fmt: skip
    Job.objects.filter(pk=mine).update(revisions=kept)
    row = Job.objects.defer("spec", "revisions").get(pk=mine)
    tracemalloc.start()
    try:
        assert [each["revision"] for each in services.revisions(row)] == [*range(1, 11)]
        later = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
        assert retention.wanted_by_live_jobs(later) == {"a" * 64}
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert services.specification(row, 3) == {"groups": groups}


def test_resources_and_places_change_and_somebody_may_stand_in(world: World) -> None:
    mine = service(world)
    changes = {"resources": {"memory_mib": 512}, "node_labels": "rack == r1", "placement": "pack"}
    stuck = put(world, mine, spec_of(world, mine, **changes), max_unavailable=0)
    told = [("max_unavailable", "none may be down, and nothing stands in", "set max_surge to 1 or more")]
    assert stuck.status_code == 422 and errors(stuck) == told
    answer = put(world, mine, spec_of(world, mine, **changes), max_unavailable=0, max_surge=2)
    assert answer.status_code == 202, answer.content
    asked = Intent.objects.get(kind="update").payload["spec"]["groups"][0]
    assert (asked["resources"]["memory_mib"], asked["node_labels"], asked["placement"]) == (512, "rack == r1", "pack")
