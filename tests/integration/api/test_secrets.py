"""Secrets over a real StateStore: who may put and use them, where a value is told, and where it is not."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from controlplane.statestore.models import AuditEntry, Container, Intent, Job, MasterAsk, Secret
from tests.integration.api import rows
from tests.integration.api.test_masters import application
from tests.integration.api.test_schedules import asked as scheduled
from tests.integration.api.world import World, job
from wire.ids import format_container
from wire.states import JobState

VALUE = "hunter2-of-the-tests"
SECRETS = [{"name": "db", "env": "PASSWORD"}, {"name": "key", "path": ".ssh/id"}]


def put(world: World, name: str = "db", value: str = VALUE, who: str = "tenant") -> Any:
    return world[who]("PUT", f"me/secrets/{name}", {"value": value})


def deleted(world: World, name: str = "db") -> list[str]:
    """Delete it; what is warned of."""
    answer = world["tenant"]("DELETE", f"me/secrets/{name}")
    assert answer.status_code == 200 and answer.json()["name"] == name, answer.content
    assert all(each["field"] == "name" for each in answer.json()["warnings"])
    return [f"{each['message']}; {each['remedy']}" for each in answer.json()["warnings"]]


def named(**fields: Any) -> dict[str, Any]:
    return job(groups=[{"name": "map", "command": ["true"], "secrets": SECRETS[:1]} | fields])


def running(world: World, spec: dict[str, Any], who: str = "tenant") -> tuple[Job, Container]:
    """A job and its first container, on the first node."""
    answer = world[who].post("jobs", spec)
    assert answer.status_code == 201, answer.content
    row = Job.objects.get(pk=answer.json()["id"])
    Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING)
    return row, rows.container(row, world.nodes[0].session.node_id)


def given(world: World, container: Container) -> dict[str, Any]:
    answer = world.nodes[0]("GET", f"containers/{format_container(container.pk)}/secrets")
    assert answer.status_code == 200 and answer["Cache-Control"] == "no-store", answer.content
    return answer.json()  # type: ignore[no-any-return]


def wrong(answer: Any, status: int = 422) -> list[str]:
    assert answer.status_code == status, answer.content
    return [each["field"] for each in answer.json()["errors"]]


def everything() -> str:
    """All that the database holds, as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        found = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            found += [text for (text,) in cursor.fetchall()]
    return "\n".join(found)


def test_a_value_is_told_to_the_container_that_may_have_it_and_nowhere_else(world: World) -> None:
    assert put(world, value="old").status_code == 201 and put(world).status_code == 200
    row, live = running(world, named())
    assert given(world, live) == {"secrets": {"db": VALUE}, "wrong": {}}
    said = [world["tenant"].get(at) for at in ("me/secrets", f"jobs/{row.pk}", f"jobs/{row.pk}/events")]
    said += [world["operator"].get(at) for at in ("audit", f"jobs/{row.pk}/explain")]
    assert all(answer.status_code == 200 and VALUE not in answer.content.decode() for answer in said)
    assert [each["name"] for each in said[0].json()["results"]] == ["db"]
    assert set(said[0].json()["results"][0]) == {"name", "created_at", "changed_at"}
    assert "hydra secret" not in everything() and VALUE not in everything() and "PASSWORD" in everything()
    put(world, value="newer")
    assert given(world, live)["secrets"] == {"db": "newer"}  # the next attempt of a service asks again
    (told,) = deleted(world)
    assert told.startswith(f"your job {row.pk} names it; tasks that start from now on fail until you put it again: ")
    assert given(world, live) == {"secrets": {}, "wrong": {"db": "was deleted since the job was submitted"}}
    kept = AuditEntry.objects.filter(action__startswith="secret.").order_by("pk")
    assert [(each.action, each.target, each.after) for each in kept] == [
        ("secret.put", "secret/tenant/db", {"new": True}),
        ("secret.put", "secret/tenant/db", {"new": False}),
        ("secret.put", "secret/tenant/db", {"new": False}),
        ("secret.delete", "secret/tenant/db", None),
    ]


def test_who_deletes_one_is_told_who_names_it(world: World) -> None:
    for name in ("db", "key"):
        put(world, name)
        put(world, name, who="submitter")
    mine = [running(world, named())[0].pk for _ in range(5)]
    running(world, named(), "submitter"), running(world, job())
    service, _ = running(world, job(kind="service", groups=[{"name": "map", "command": ["true"]}]))
    app = {"name": "app", "kind": "application", "master": {"command": ["am"], "secrets": SECRETS[1:]}}
    for number, spec in enumerate((named(), app, job())):
        asked = scheduled(name=f"s{number}", job=json.dumps(spec))
        assert world["tenant"].post("schedules", asked).status_code == 201
    Job.objects.filter(pk=mine[0]).update(state=JobState.KILLED)
    (told,) = deleted(world)
    three = ", ".join(f"job {number}" for number in mine[1:4])
    assert told.startswith(f"{three}, other jobs and schedule s0 of yours name it; tasks")
    update = {"revision": 1, "spec": named(secrets=SECRETS[1:]) | {"kind": "service"}}
    assert world["tenant"]("PUT", f"jobs/{service.pk}/spec", update).status_code == 202
    (told,) = deleted(world, "key")
    assert told.startswith(f"job {service.pk} and schedule s1 of yours name it; "), "as it was asked to be"
    put(world, "unused")
    assert deleted(world, "unused") == []
    assert world["tenant"]("DELETE", "me/secrets/unused").status_code == 404


def test_what_a_service_may_go_back_to_by_itself_names_it_too(world: World) -> None:
    put(world)
    service, _ = running(world, named() | {"kind": "service"})
    after = service.spec | {"groups": [service.spec["groups"][0] | {"secrets": []}]}
    kept = [{"revision": no, "spec": spec} for no, spec in enumerate((after, service.spec, after), 1)]
    going = {"revision": 3, "previous": 2, "groups": [0], "rules": {}, "began_us": 0, "failures": 0, "back": False}
    for rollout, warns in ((going, True), (going | {"back": True}, False), (None, False)):
        said = {"revision": 3, "rollout": rollout}
        Job.objects.filter(pk=service.pk).update(spec=after, services=said, revisions=kept)
        put(world)
        assert [told.startswith(f"your job {service.pk} names it; ") for told in deleted(world)] == [True] * warns


def test_a_node_gets_those_of_containers_it_holds_now(world: World) -> None:
    put(world)
    _, live = running(world, named())
    path = f"containers/{format_container(live.pk)}/secrets"
    assert world.nodes[1]("GET", path).status_code == 403
    _, other = running(world, job())
    assert given(world, other) == {"secrets": {}, "wrong": {}}  # its group names none
    live.delete()
    assert world.nodes[0]("GET", path).status_code == 409


def test_what_is_not_there_is_refused_at_submit_by_field(world: World) -> None:
    put(world, who="other")  # somebody else's is none
    assert wrong(world["tenant"].post("jobs", named())) == ["groups.0.secrets.0.name"]
    assert wrong(world["tenant"].post("jobs/validate", named())) == ["groups.0.secrets.0.name"]
    many = world["tenant"].post("jobs/bulk", {"jobs": [job(), named()]})
    assert wrong(many) == ["jobs.1.groups.0.secrets.0.name"]
    master = {"name": "app", "kind": "application", "master": {"command": ["am"], "secrets": SECRETS[:1]}}
    answer = world["tenant"].post("jobs", master)
    assert wrong(answer) == ["master.secrets.0.name"]
    assert answer.json()["errors"][0]["remedy"] == "put it first: hydractl secret put db"
    assert not Job.objects.exists()


def test_what_is_not_there_is_told_beside_what_else_is_wrong(world: World) -> None:
    put(world)
    named = [{"name": name, "env": "A"} for name in ("db", "absent", "bad\0name", "")]
    groups = [{"name": "g", "command": ["true"], "secrets": [*named, {"name": 5, "path": "x"}, "no"]}, "no group"]
    wrong = {
        "name": "j",
        "priority": 900,
        "groups": groups,
        "notify": [{"receiver": "nobody"}, {"receiver": "CI_Bot"}, 1],
    }
    for path, body in (("jobs", wrong), ("jobs/validate", wrong), ("jobs/bulk", {"jobs": [wrong]})):
        said = {e["field"]: e["message"] for e in world["tenant"].post(path, body).json()["errors"]}
        at = "jobs.0." if "bulk" in path else ""
        assert said[f"{at}groups.0.secrets.1.name"] == "you have no secret 'absent'"
        assert said[f"{at}notify.0.receiver"] == "you have no receiver 'nobody'"
        assert said[f"{at}notify.1.receiver"] == "is not written as it has to be here", "whether there is one or not"
        assert "too large" in said[f"{at}priority"] and f"{at}groups.0.secrets.0.name" not in said


@pytest.mark.parametrize(
    ("name", "value", "fields"),
    [("a b", "x", "name"), (".db", "x", "name"), ("db", "", "value"), ("db", "a\0b", "value"),
     ("db", "é" * 32_769, "value"), ("db", 7, "value"), ("a b", "", "name value")],
)  # fmt: skip
def test_what_is_no_secret_is_refused_without_an_echo(world: World, name: str, value: Any, fields: str) -> None:
    answer = put(world, name.replace(" ", "%20"), value)
    assert wrong(answer) == fields.split() and "é" not in answer.content.decode()
    assert not Secret.objects.exists()


def test_an_account_has_so_many_and_no_more(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"max_secrets_per_user": 2}
    assert [put(world, name).status_code for name in ("a", "b", "c", "a")] == [201, 201, 409, 200]
    assert put(world, "c", who="other").status_code == 201
    assert put(world, who="viewer").status_code == 403


def test_nobody_else_writes_what_runs_with_an_owners_secrets(world: World) -> None:
    """Whoever may change a job of another's could otherwise have its secrets printed, or his own taken by it."""
    for who in ("submitter", "admin"):
        put(world, who=who)
    spec = named() | {"queue": "root.prod.web"}
    written = world["submitter"].post("schedules", scheduled(job=json.dumps(spec))).json()
    again = scheduled(job=json.dumps(spec), revision=1)
    refused = world["admin"]("PUT", f"schedules/{written['id']}", again)
    assert wrong(refused) == ["job.groups.0.secrets.0.name"]
    assert world["submitter"]("PUT", f"schedules/{written['id']}", again).status_code == 200

    service, _ = running(world, spec | {"kind": "service"}, "submitter")
    update = {"revision": 1, "spec": named(command=["false"]) | {"queue": spec["queue"], "kind": "service"}}
    assert wrong(world["admin"]("PUT", f"jobs/{service.pk}/spec", update)) == ["spec.groups.0.secrets.0.name"]
    assert world["submitter"]("PUT", f"jobs/{service.pk}/spec", update).status_code == 202
    without = {"revision": 1, "spec": update["spec"] | {"groups": [{"name": "map", "command": ["true"]}]}}
    other, _ = running(world, spec | {"kind": "service"}, "submitter")
    assert world["admin"]("PUT", f"jobs/{other.pk}/spec", without).status_code == 202  # those tasks get none

    Job.objects.filter(pk=service.pk).update(state=JobState.KILLED)
    assert world["admin"].post(f"jobs/{service.pk}/retry").status_code == 403
    assert world["submitter"].post(f"jobs/{service.pk}/retry").status_code == 201


def test_an_update_names_secrets_that_are_there_and_old_attempts_keep_theirs(world: World) -> None:
    put(world), put(world, "key", "of the other")
    service, live = running(world, named() | {"kind": "service"})
    fresh = named(secrets=[{"name": "gone", "env": "PASSWORD"}]) | {"kind": "service"}
    answer = world["tenant"]("PUT", f"jobs/{service.pk}/spec", {"revision": 1, "spec": fresh})
    assert wrong(answer) == ["spec.groups.0.secrets.0.name"] and not Intent.objects.filter(kind="update").exists()
    fresh = named(secrets=SECRETS[1:]) | {"kind": "service"}
    assert world["tenant"]("PUT", f"jobs/{service.pk}/spec", {"revision": 1, "spec": fresh}).status_code == 202
    assert given(world, live)["secrets"] == {"db": VALUE}
    before, after = service.spec, Intent.objects.get(kind="update").payload["spec"]
    kept = [{"revision": no, "spec": spec} for no, spec in ((1, before), (2, after))]
    going = {"revision": 2, "previous": 1, "groups": [0], "rules": {}, "began_us": 0, "failures": 0, "back": False}
    said = {"revision": 2, "rollout": going, "0": {"count": 1, "queue": [[0, 1, 1]]}}
    Job.objects.filter(pk=service.pk).update(spec=after, services=said, revisions=kept)
    assert given(world, live)["secrets"] == {"db": VALUE}
    newer = rows.container(service, world.nodes[0].session.node_id, attempt=2)
    assert given(world, newer)["secrets"] == {"key": "of the other"}


def test_containers_of_a_master_have_what_it_has_itself(world: World) -> None:
    put(world), put(world, "key")
    app = application(world, secrets=SECRETS[:1])
    ask = {"id": "work", "target": 1, "command": ["work"], "secrets": SECRETS[:1]}
    assert wrong(app("POST", "allocate", {"asks": [ask | {"secrets": SECRETS}]})) == ["asks.0.secrets.1.name"]
    plain = {"id": "plain", "target": 1, "command": ["work"]}
    app.post("allocate", {"asks": [ask, {"id": "slot", "target": 1}, plain]})
    stored = MasterAsk.objects.get(name="plain")
    assert stored.spec.pop("secrets") == []
    stored.save()  # as a release without secrets has kept it
    app.post("allocate", {"asks": [plain]})
    assert given(world, app.granted())["secrets"] == {"db": VALUE}
    held = app.granted(group=2)
    assert given(world, held)["secrets"] == {}
    launch = {"container": format_container(held.pk), "command": ["work"], "secrets": SECRETS}
    assert wrong(app("POST", "launch", {"launches": [launch]})) == ["launches.0.secrets.1.name"]
    app.post("launch", {"launches": [launch | {"secrets": [{"name": "db", "path": "p"}]}]})
    assert given(world, held)["secrets"] == {"db": VALUE}


def test_another_key_takes_over_and_the_old_one_can_go(world: World, settings: Any) -> None:
    old, new = settings.SECRETS_KEYS, ["another-key-of-more-than-thirty-two-characters"]
    put(world)
    _, live = running(world, named())
    before = Secret.objects.get()
    settings.SECRETS_KEYS = new
    said = given(world, live)
    assert said["secrets"] == {} and said["wrong"]["db"].startswith("cannot be read any more")
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit, match=r"^1$"):
        call_command("secrets", stdout=out, stderr=err)
    assert out.getvalue().startswith("0 secrets") and "secret db of account tenant opens" in err.getvalue()
    settings.SECRETS_KEYS = new + old
    assert given(world, live)["secrets"] == {"db": VALUE}
    call_command("secrets", stdout=out)
    settings.SECRETS_KEYS = new
    assert given(world, live)["secrets"] == {"db": VALUE}
    Secret.objects.update(owner=world.users["other"])  # a row moved to somebody else opens no more
    _, theirs = running(world, named(), "other")
    assert given(world, theirs)["secrets"] == {}
    assert Secret.objects.get(pk=before.pk).sealed != before.sealed
