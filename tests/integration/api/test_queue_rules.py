"""What a queue of the policy in force lets a submit do, and who may use it."""

from difflib import get_close_matches
from typing import Any

import pytest

from controlplane.policy import versions
from controlplane.router import cluster
from controlplane.router.submission import MAX_ERRORS
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Job
from scheduler.explain.impossible import COMPARED_MAX
from tests.integration.api.world import World, job
from wire.states import JobState

GROUP = {"name": "map", "command": ["true"]}


def put(queues: dict[str, Any], **more: Any) -> None:
    """Put a policy in force, and let the Router see it at once."""
    versions.publish(SYSTEM, {"queues": queues, "partitions": {"gpu": {"nodes": "gpu"}}, **more}, "test", force=True)
    cluster.forget()


def error(world: World, role: str, **fields: Any) -> tuple[str, str]:
    """Field and message of the refusal."""
    answer = world[role].post("jobs", job(**fields))
    assert answer.status_code == 422, answer.content
    first = answer.json()["errors"][0]
    assert first["remedy"]
    return first["field"], first["message"]


def test_a_stopped_queue_takes_no_job_and_neither_does_anything_below_it(world: World) -> None:
    put({"a": {"state": "stopped", "open_to_all": True, "children": {"b": {}}}, "c": {"open_to_all": True}})
    assert error(world, "tenant", queue="root.a.b") == ("queue", "'root.a.b' is stopped and takes no new jobs")
    assert error(world, "operator", queue="root.a.b")[0] == "queue"
    assert world["tenant"].post("jobs", job(queue="root.c")).status_code == 201


def test_priorities_above_the_queues_are_the_operators(world: World) -> None:
    put({"default": {"open_to_all": True, "max_priority": 10, "default_priority": 4}})
    field, message = error(world, "tenant", priority=11)
    assert field == "priority" and "10" in message
    assert world["operator"].post("jobs", job(priority=11)).status_code == 201
    mine = world["tenant"].post("jobs", job()).json()
    assert mine["priority"] == 4 and Job.objects.get(pk=mine["id"]).spec["priority"] == 4
    bulk = world["tenant"].post("jobs/bulk", {"jobs": [job(), job(priority=99)]})
    assert bulk.json()["errors"][0]["field"] == "jobs.1.priority"
    address = f"jobs/{mine['id']}/priority"
    assert world["tenant"].post(address, {"priority": 10}).status_code == 202
    assert world["tenant"].post(address, {"priority": 11}).json()["errors"][0]["field"] == "priority"
    assert world["operator"].post(address, {"priority": 11}).status_code == 202


def test_a_partition_must_exist_and_be_open_to_the_queue(world: World) -> None:
    put(
        {
            "default": {"open_to_all": True},
            "barred": {"partitions": {"gpu": {"maximum": 0}}, "open_to_all": True, "children": {"low": {}}},
            "only": {"maximum": 0, "default_partition": "gpu", "open_to_all": True},
        }
    )
    wanted = {"groups": [GROUP | {"partition": "gpu"}]}
    assert error(world, "tenant", groups=[GROUP | {"partition": "tpu"}])[0] == "groups.0.partition"
    assert "root.barred" in error(world, "tenant", queue="root.barred.low", **wanted)[1]
    assert "default partition" in error(world, "tenant", queue="root.only", groups=[GROUP | {"partition": ""}])[1]
    stored = world["tenant"].post("jobs", job(queue="root.only", groups=[GROUP | {"gang": True, "placement": "pack"}]))
    assert stored.status_code == 201
    group = Job.objects.get(pk=stored.json()["id"]).spec["groups"][0]
    assert (group["partition"], group["gang"], group["placement"]) == (None, True, "pack")
    assert world["tenant"].post("jobs", job(**wanted)).status_code == 201


def test_what_a_master_declares_must_be_open_to_its_queue(world: World) -> None:
    put({"default": {"open_to_all": True}, "barred": {"partitions": {"gpu": {"maximum": 0}}, "open_to_all": True}})
    master = {"command": ["am"], "parallelism": 2, "container": {"partition": "gpu"}}
    app = {"name": "app", "kind": "application", "master": master}
    for wrong in (app | {"master": master | {"container": {"partition": "tpu"}}}, app | {"queue": "root.barred"}):
        refused = world["tenant"].post("jobs", wrong)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "master.container.partition"
    stored = world["tenant"].post("jobs", app)
    assert stored.status_code == 201
    address = f"jobs/{stored.json()['id']}/queue"
    assert world["tenant"].post(address, {"queue": "root.barred"}).json()["errors"][0]["field"] == "queue"


@pytest.mark.parametrize("names", [["other"], ["role:tenant"]])
def test_the_documents_access_lists_reach_down_and_join_the_granted_rights(world: World, names: list[str]) -> None:
    put({"a": {"submit": names, "children": {"b": {}}}, "prod": {"administer": ["other"], "children": {"etl": {}}}})
    found = world["other"].post("jobs", job(queue="root.a.b"))
    assert found.status_code == 201
    tenants = names == ["role:tenant"]
    assert world["tenant"].post("jobs", job(queue="root.a.b")).status_code == (201 if tenants else 422)
    assert world["tenant"].get(f"jobs/{found.json()['id']}").status_code == (200 if tenants else 404)
    granted = world["submitter"].post("jobs", job(queue="root.prod.etl")).json()["id"]
    assert world["other"].post(f"jobs/{granted}/kill").status_code == 202
    assert {"path": "root.prod", "level": "admin"} in world["other"].get("me").json()["queues"]
    put({"a": {"children": {"b": {}}}, "prod": {"children": {"etl": {}}}})
    assert error(world, "other", queue="root.a.b")[0] == "queue"
    assert world["other"].get(f"jobs/{granted}").status_code == 404


def test_of_thousands_of_queues_those_that_begin_alike_are_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def looked_at(word: str, known: list[str], *more: Any) -> list[str]:
        compared.append(len(known))
        return get_close_matches(word, known, *more)

    monkeypatch.setattr(cluster.difflib, "get_close_matches", looked_at)
    put({f"t{n:04}": {"open_to_all": True, "children": {"batch": {}}} for n in range(2 * COMPARED_MAX)})
    answer = world["tenant"].post("jobs", job(queue="root.t0873.bacth")).json()
    assert "did you mean root.t0873.batch" in answer["errors"][0]["remedy"]
    assert compared == [COMPARED_MAX]


def test_what_is_wrong_with_a_bulk_is_looked_for_until_enough_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    partition_error = cluster.partition_error

    def looked_at(*of: Any) -> Any:
        asked.append(of[-1])
        return partition_error(*of)

    monkeypatch.setattr(cluster, "partition_error", looked_at)
    groups = [GROUP | {"name": f"g{n}", "partition": "nowhere"} for n in range(100)]
    refused = world["tenant"].post("jobs/bulk", {"jobs": [job(groups=groups)] * 10})
    assert refused.status_code == 422
    fields = [e["field"] for e in refused.json()["errors"]]
    assert len(fields) == MAX_ERRORS and all(field.startswith("jobs.0.") for field in fields[:-1])
    assert len(asked) <= 200, "of ten jobs two at the most are looked at"


LIMITS = [
    ({"max_live_jobs_per_user": 2}, {}, "2 jobs"),
    ({"max_live_tasks_per_user": 7}, {}, "7 tasks"),
    ({"max_live_mib_per_user": 1}, {"env": {"A": "x" * 100_000}, "name": "g"}, "1 MiB of specifications"),
]


@pytest.mark.parametrize(("limit", "group", "most"), LIMITS, ids=[most for _, _, most in LIMITS])
def test_of_one_user_a_queue_holds_so_much_and_no_more(
    world: World, limit: dict[str, int], group: dict[str, Any], most: str
) -> None:
    """In leaves, whose limit is that of the nearest queue above that has one; others' jobs do not count."""
    (name,) = limit
    put({"a": {"open_to_all": True, **limit, "children": {"b": {}, "c": {}}}, "d": {"open_to_all": True}})
    wide = [GROUP | {"count": 1, "name": f"g{n}"} | group | {"name": f"g{n}"} for n in range(4 if group else 3)]
    one = job(queue="root.a.b", groups=wide)
    assert [world["tenant"].post("jobs", one).status_code for _ in range(2)] == [201, 201]
    refused = world["tenant"].post("jobs", one)
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    (wrong,) = refused.json()["errors"]
    assert (wrong["field"], wrong["message"]) == ("queue", f"root.a.b has {name} {most}")
    assert "another queue" in wrong["remedy"] and most in refused.json()["detail"]
    never = world["tenant"].post("jobs/bulk", {"jobs": [one | {"queue": "root.a.c"}] * 3})
    assert never.status_code == 422 and never.json()["errors"][0]["field"] == "jobs"
    assert name in never.json()["errors"][0]["message"]
    for who, queue in (("tenant", "root.a.c"), ("tenant", "root.d"), ("other", "root.a.b")):
        assert world[who].post("jobs", one | {"queue": queue}).status_code == 201
    cluster.forget()
    assert world["tenant"].post("jobs", one).status_code == 429, "counted anew from the rows"
    Job.objects.filter(queue="root.a.b").update(state=JobState.SUCCEEDED)
    cluster.forget()
    assert world["tenant"].post("jobs", one).status_code == 201


def test_tasks_of_all_queues_together_are_bounded_by_the_setting(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"max_live_tasks_per_user": 4}
    put({"a": {"open_to_all": True, "max_live_tasks_per_user": 100}, "b": {"open_to_all": True}})
    assert world["tenant"].post("jobs", job(queue="root.a")).status_code == 201
    refused = world["tenant"].post("jobs", job(queue="root.b"))
    assert refused.status_code == 429 and "3 tasks, and may come to 4 tasks" in refused.json()["detail"]
    wide = job(queue="root.b", groups=[GROUP | {"count": 5}])
    never = world["tenant"].post("jobs", wide).json()
    assert world["tenant"].post("jobs/validate", wide).json()["errors"] == never["errors"], "it is said before"
    assert (never["status"], never["errors"][0]["field"]) == (422, "groups")
    assert "HYDRA_MAX_LIVE_TASKS_PER_USER" in never["errors"][0]["message"]


def test_no_job_moves_past_what_a_queue_holds_of_one_user(world: World) -> None:
    put({"a": {"open_to_all": True, "max_live_jobs_per_user": 1}, "b": {"open_to_all": True}})
    assert world["tenant"].post("jobs", job(queue="root.a")).status_code == 201
    other = world["tenant"].post("jobs", job(queue="root.b")).json()["id"]
    refused = world["tenant"].post(f"jobs/{other}/queue", {"queue": "root.a"})
    assert refused.status_code == 422 and "1 jobs" in refused.json()["errors"][0]["message"]
    many = world["tenant"].post("jobs/actions", {"action": "queue", "queue": "root.a", "jobs": [other]}).json()
    assert not many["accepted"] and "live jobs in root.a" in many["results"][0]["refused"]
    assert world["operator"].post(f"jobs/{other}/queue", {"queue": "root.a"}).status_code == 202


def test_a_service_is_not_scaled_past_what_one_user_may_have(world: World) -> None:
    """Nor twice at once; what its home has not done yet counts, and others' rights over the job change nothing."""
    put({"a": {"open_to_all": True, "max_live_tasks_per_user": 7, "administer": ["admin"]}})
    groups = [GROUP | {"name": name, "count": 1} for name in ("web", "api")]
    mine = world["tenant"].post("jobs", job(queue="root.a", kind="service", groups=groups)).json()["id"]

    def scaled(group: str, count: int, who: str = "tenant") -> Any:
        return world[who].post(f"jobs/{mine}/scale", {"group": group, "count": count})

    never = scaled("web", 9)
    assert never.status_code == 422 and never.json()["errors"][0]["field"] == "count"
    assert "max_live_tasks_per_user" in never.json()["errors"][0]["message"]
    assert scaled("web", 5).status_code == 202
    for counted_anew in (False, True):
        if counted_anew:
            cluster.forget()
        for who in ("tenant", "admin"):
            refused = scaled("api", 3, who)
            assert refused.status_code == 429 and int(refused["Retry-After"]) > 0, who
            assert refused.json()["errors"][0]["message"] == "root.a has max_live_tasks_per_user 7 tasks"
    assert scaled("web", 2).status_code == 202, "less is never refused"
    cluster.forget()
    assert scaled("api", 5).status_code == 202, "what was asked last counts"
    assert scaled("web", 100, "operator").status_code == 202


def test_a_service_does_not_come_to_say_more_than_one_user_may(world: World) -> None:
    put({"a": {"open_to_all": True, "max_live_mib_per_user": 1}})
    groups = [GROUP | {"env": {"A": "x" * 60_000}}]
    made = [job(queue="root.a", kind="service", groups=groups)] * 16
    first, second, *_ = world["tenant"].post("jobs/bulk", {"jobs": made}).json()["ids"]

    def updated(number: int) -> Any:
        twice = [GROUP | {"env": dict.fromkeys("AB", "x" * 60_000)}]
        spec = job(queue="root.a", kind="service", groups=twice)
        return world["tenant"]("PUT", f"jobs/{number}/spec", {"revision": 1, "spec": spec})

    assert updated(first).status_code == 202
    cluster.forget()
    refused = updated(second)
    assert refused.status_code == 429, refused.content
    assert refused.json()["errors"][0]["message"] == "root.a has max_live_mib_per_user 1 MiB of specifications"
