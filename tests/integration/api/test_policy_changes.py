"""Changes of the policy as a process: compared, refused when stale, rolled back, audited."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from controlplane.accounts.models import QueueAccess
from controlplane.statestore import retention
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import AuditEntry, PolicyVersion, Queue
from tests.integration.api.together import at_once
from tests.integration.api.world import POLICY, World, job

TAG = "If-Match"


def document(**queues: Any) -> dict[str, Any]:
    return {"queues": POLICY["queues"] | queues}


def push(world: World, queues: dict[str, Any], role: str = "operator", **more: Any) -> Any:
    return world[role].post("policy", {"document": document(**queues), "message": "a change"} | more)


def active() -> int:
    return PolicyVersion.objects.get(active=True).pk


def test_a_document_that_changes_nothing_makes_no_version(world: World) -> None:
    api, first = world["operator"], active()
    for same in (POLICY, {"queues": POLICY["queues"], "components": {}, "partitions": {}}):
        answer = api.post("policy", {"document": same, "message": "as it is"})
        assert (answer.status_code, answer.json()["version"], answer["ETag"]) == (200, first, f'"{first}"')
    written_otherwise = POLICY["queues"]["default"] | {"guaranteed": "50%"}
    assert push(world, {"default": written_otherwise}).status_code == 200
    second = push(world, {"default": {"guaranteed": 0.3}})
    assert second.status_code == 201
    again = push(world, {"default": {"guaranteed": 0.3}}, parent=first)
    assert (again.status_code, again.json()["version"]) == (200, active()), "nothing is lost by it"
    assert PolicyVersion.objects.count() == 2
    assert AuditEntry.objects.filter(action="policy.publish").count() == 2


def test_a_change_needs_a_message(world: World) -> None:
    for path, fields in (("policy", {"document": document(n={})}), ("policy/rollback", {"version": active()})):
        for message in ("", "  \n"):
            answer = world["operator"].post(path, fields | {"message": message})
            assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == "message", path
        assert world["operator"].post(path, fields).status_code == 422


def test_the_audit_tells_before_and_after(world: World) -> None:
    first = active()
    push(world, {"prod": {"guaranteed": "35%", "children": {"etl": {"guaranteed": 1.0}, "web": {}}}})
    entry = AuditEntry.objects.filter(action="policy.publish").latest("id")
    where = {"path": "root.prod", "field": "guaranteed"}
    assert entry.before == {"version": first, "values": [where | {"value": 0.4}]}
    assert entry.after == {
        "version": active(), "values": [where | {"value": 0.35}], "message": "a change",
        "changes": ["root.prod guaranteed 40 % -> 35 %"],
    }  # fmt: skip


def test_what_became_of_a_queue_is_found_by_its_name(world: World) -> None:
    push(world, {"prod": {"guaranteed": "35%", "children": {"etl": {"guaranteed": 1.0}, "web": {}}}})
    accounts.grant_queue(SYSTEM, world.users["other"], "root.prod.web", QueueAccess.Level.SUBMIT)
    accounts.withdraw_queue(SYSTEM, world.users["other"], "root.prod.web")
    found = world["operator"].get("audit?target=queue/root.prod").json()["results"][:3]
    assert [(e["action"], e["target"], e["before"], e["after"]) for e in found] == [
        ("queue.withdraw", "queue/root.prod.web", {"account": "other"}, None),
        ("queue.grant", "queue/root.prod.web", None, {"account": "other", "level": "submit"}),
        (
            "queue.policy", "queue/root.prod", {"guaranteed": 0.4},
            {"guaranteed": 0.35, "version": active(), "changes": ["root.prod guaranteed 40 % -> 35 %"]},
        ),
    ]  # fmt: skip


def test_what_would_change_is_told_before(world: World) -> None:
    first, api = active(), world["operator"]
    etl = {"guaranteed": 0.4, "children": {"etl": {}, "web": {}}}
    told = api.post("policy/diff", {"document": document(prod=etl)}).json()
    assert (told["from"], told["to"], told["identical"], told["severity"], told["total"]) == (
        first, None, False, "medium", 1
    )  # fmt: skip
    assert told["changes"][0]["text"] == "root.prod.etl guaranteed 100 % -> nothing" and told["overridden"] == []
    second = push(world, {"prod": etl, "new": {}}).json()["version"]
    forth = api.post("policy/diff", {"from": first, "to": second}).json()
    back = api.post("policy/diff", {"from": second, "to": first}).json()
    assert [c["text"] for c in forth["changes"]] == [
        "queue root.new added",
        "root.prod.etl guaranteed 100 % -> nothing",
    ]
    assert back["severity"] == "high" and back["changes"][0]["before"] == {}
    assert api.post("policy/diff", {"from": first}).json()["changes"] == forth["changes"], "to the one in force"
    assert api.post("policy/diff", {}).json()["identical"] is True
    assert api.post("policy/diff", {"document": {"queues": {}}}).status_code == 422
    assert api.post("policy/diff", {"document": POLICY, "to": first}).status_code == 422
    assert api.post("policy/diff", {"to": 2**40}).status_code == 404


def test_a_rollback_is_a_new_version_with_the_old_content(world: World) -> None:
    first, api = active(), world["operator"]
    second = push(world, {"new": {}}).json()["version"]
    answer = api.post("policy/rollback", {"version": first, "message": "as it was"}, **{TAG: f'"{second}"'})
    assert answer.status_code == 201, answer.content
    third = answer.json()
    assert (third["parent"], third["message"], third["active"]) == (second, "as it was", True)
    assert "new" not in third["document"]["queues"]
    again = api.post("policy/rollback", {"version": first, "message": "as it was"})
    assert (again.status_code, again.json()["version"]) == (200, third["version"])
    stale = api.post("policy/rollback", {"version": second, "message": "forth"}, **{TAG: f'"{second}"'})
    assert stale.status_code == 412
    assert api.post("policy/rollback", {"version": 2**40, "message": "x"}).status_code == 404


def test_a_rollback_that_makes_no_sense_any_more_is_refused(world: World) -> None:
    first = active()
    push(world, {"new": {"open_to_all": True}})
    assert world["tenant"].post("jobs", job(queue="root.new")).status_code == 201
    back = world["operator"].post("policy/rollback", {"version": first, "message": "back"})
    assert back.status_code == 409 and "root.new has 1 live" in back.json()["errors"][0]["message"]
    PolicyVersion.objects.filter(pk=first).update(document={"queues": {"default": {"gone": 1}}})
    back = world["operator"].post("policy/rollback", {"version": first, "message": "back"})
    assert back.status_code == 422 and back.json()["errors"][0]["field"] == "queues.default.gone"
    assert f"version {first} cannot be put in force" in back.json()["detail"]


def test_queue_rows_of_versions_long_replaced_go_and_their_documents_stay(world: World) -> None:
    first = active()
    second, third = (push(world, {name: {}}).json()["version"] for name in ("a", "b"))
    assert retention.purge_queues(timezone.now()) == 0
    later = timezone.now() + dt.timedelta(days=15)
    PolicyVersion.objects.filter(pk=third).update(activated_at=later)
    assert retention.purge_queues(later) > 0
    held = set(Queue.objects.values_list("version", flat=True))
    assert held == {second, third}, "the first was replaced long ago, the second just now"
    assert world["operator"].post("policy/rollback", {"version": first, "message": "back"}).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_of_many_who_push_at_once_from_one_version_one_wins(world: World) -> None:
    parent = active()

    found = at_once(lambda n: int(push(world, {f"n{n}": {}}, parent=parent).status_code), 6)
    assert sorted(found) == [201] + [412] * 5
    assert PolicyVersion.objects.filter(active=True).count() == 1 and PolicyVersion.objects.count() == 2
