"""Four-eyes: a change of the policy waits until another operator has said yes."""

import datetime as dt
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from knox.models import AuthToken

from controlplane.accounts.models import Role
from controlplane.policy import versions
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import AuditEntry, PolicyOverride, PolicyProposal, PolicyVersion
from tests.integration.api.together import at_once
from tests.integration.api.world import PASSWORD, POLICY, Api, World

FOUR_EYES = {"approval": {"required": True}}
YES = {"message": "looks right"}


def document(**queues: Any) -> dict[str, Any]:
    return {"queues": POLICY["queues"] | queues, **FOUR_EYES}


@pytest.fixture
def guarded(world: World) -> World:
    """Two more operators, ``second`` and ``third``, and a policy that wants four eyes."""
    for name in ("second", "third"):
        world.users[name] = accounts.create(SYSTEM, name, PASSWORD, Role.OPERATOR)
        world.apis[name] = Api(AuthToken.objects.create(world.users[name])[1])
    answer = world["operator"].post("policy", {"document": document(), "message": "four eyes from now on"})
    assert answer.status_code == 201, answer.content
    return world


def propose(world: World, role: str = "operator", **queues: Any) -> dict[str, Any]:
    answer = world[role].post("policy", {"document": document(**queues), "message": "a change"})
    assert answer.status_code == 202, answer.content
    found: dict[str, Any] = answer.json()
    return found


def approve(world: World, number: int, role: str = "second") -> Any:
    return world[role].post(f"policy/proposals/{number}/approve", YES)


def active() -> PolicyVersion:
    return PolicyVersion.objects.get(active=True)


def test_a_change_waits_for_another_operator(guarded: World) -> None:
    before = active().pk
    found = propose(guarded, new={})
    assert (found["state"], found["author"], found["base"], found["kind"]) == (
        "pending",
        "operator",
        before,
        "document",
    )
    assert [c["text"] for c in found["changes"]] == ["queue root.new added"]
    assert active().pk == before, "nothing has changed"
    listed = guarded["second"].get("policy/proposals").json()["results"]
    assert [p["id"] for p in listed] == [found["id"]] and "payload" not in listed[0]
    shown = guarded["second"].get(f"policy/proposals/{found['id']}").json()
    assert shown["payload"]["document"]["queues"]["new"] == {}
    assert shown["warnings"] == []
    answer = approve(guarded, found["id"])
    assert answer.status_code == 200, answer.content
    done, now = answer.json(), guarded["operator"].get("policy").json()
    assert (done["state"], done["decided_by"], done["decision"]) == ("approved", "second", "looks right")
    assert done["result"] == {"version": now["version"]} and "new" in now["document"]["queues"]
    assert (now["author"], now["approved_by"], now["message"]) == ("operator", "second", "a change")
    assert guarded["operator"].get("policy/proposals").json()["results"] == []
    assert len(guarded["operator"].get("policy/proposals?all=yes").json()["results"]) == 1
    told = (
        AuditEntry.objects.filter(action__startswith="policy.").order_by("id").values_list("action", "actor__username")
    )
    assert list(told)[-3:] == [
        ("policy.propose", "operator"), ("policy.publish", "second"), ("policy.approve", "second")
    ]  # fmt: skip
    decided = AuditEntry.objects.filter(action__in=["policy.publish", "policy.approve"]).order_by("-id")[:2]
    assert [entry.after["author"] for entry in decided] == ["operator", "operator"], "whose change it was"


@pytest.mark.parametrize(("path", "body"), [("close", None), ("role", {"role": "tenant"})])
def test_who_has_to_be_there_to_approve_stays(guarded: World, path: str, body: Any) -> None:
    """Or nobody could change the policy any more, not even so that nobody has to approve."""
    assert guarded["operator"].post(f"accounts/third/{path}", body).status_code == 200, "two are left"
    answer = guarded["operator"].post(f"accounts/second/{path}", body)
    assert answer.status_code == 409 and "without second nobody could give it" in answer.json()["detail"]
    assert guarded["operator"].get("accounts/second").json()["role"] == "operator"
    assert approve(guarded, propose(guarded, new={})["id"]).status_code == 200
    assert guarded["operator"].post("accounts/tenant/close").status_code == 200


def test_who_approves_is_told_of_slips(guarded: World) -> None:
    found = propose(guarded, new={"submit": ["tenent"]})
    for told in (found, guarded["second"].get(f"policy/proposals/{found['id']}").json()):
        assert [(w["field"], w["remedy"]) for w in told["warnings"]] == [("queues.new.submit", "did you mean tenant?")]


def test_nobody_approves_their_own(guarded: World) -> None:
    number = propose(guarded, new={})["id"]
    answer = approve(guarded, number, "operator")
    assert answer.status_code == 403 and "another operator" in answer.json()["detail"]
    assert guarded["second"].post(f"policy/proposals/{number}/approve", {"message": " "}).status_code == 422
    taken_back = guarded["operator"].post(f"policy/proposals/{number}/reject", {"message": "a mistake"})
    assert taken_back.json()["state"] == "withdrawn"
    assert approve(guarded, number).status_code == 409


def test_a_rejected_proposal_stays_rejected(guarded: World) -> None:
    number, before = propose(guarded, new={})["id"], active().pk
    answer = guarded["second"].post(f"policy/proposals/{number}/reject", {"message": "too much"})
    assert (answer.json()["state"], answer.json()["decided_by"]) == ("rejected", "second")
    assert approve(guarded, number, "third").status_code == 409 and active().pk == before
    assert approve(guarded, 2**40).status_code == 404


def test_only_those_the_policy_names_approve(guarded: World) -> None:
    named = document() | {"approval": {"required": True, "approvers": ["operator", "third"]}}
    number = guarded["operator"].post("policy", {"document": named, "message": "two of us"}).json()["id"]
    assert approve(guarded, number, "second").status_code == 200, "by the rule in force, which names nobody"
    number = guarded["operator"].post("policy", {"document": POLICY, "message": "off"}).json()["id"]
    assert approve(guarded, number, "second").status_code == 403
    assert approve(guarded, number, "third").status_code == 200, "switching it off needed approval too"
    assert guarded["operator"].post("policy", {"document": POLICY, "message": "x"}).status_code in (200, 201)


def test_switched_off_again_only_by_two(guarded: World) -> None:
    answer = guarded["operator"].post("policy", {"document": POLICY, "message": "alone"})
    assert answer.status_code == 202 and answer.json()["changes"][0]["severity"] == "high"
    assert answer.json()["changes"][0]["text"] == "approval required yes -> no"
    first = PolicyVersion.objects.order_by("pk").first()
    assert first is not None
    back = guarded["operator"].post("policy/rollback", {"version": first.pk, "message": "back"})
    assert back.status_code == 202, "a roll-back is no way around it"


def test_it_is_switched_on_only_where_somebody_can_approve(world: World) -> None:
    answer = world["operator"].post("policy", {"document": document(), "message": "alone"})
    assert answer.status_code == 422 and answer.json()["errors"][0]["field"] == "approval.approvers"
    named = POLICY | {"approval": {"required": True, "approvers": ["tenant", "operator"]}}
    answer = world["operator"].post("policy", {"document": named, "message": "alone"})
    assert "no operator 'tenant'" in answer.json()["errors"][0]["message"]


def test_a_proposal_of_an_older_base_is_stale(guarded: World) -> None:
    first, second = propose(guarded, a={})["id"], propose(guarded, b={})["id"]
    assert approve(guarded, first).status_code == 200
    answer = approve(guarded, second)
    assert answer.status_code == 412 and "makes it again" in answer.json()["errors"][0]["remedy"]
    assert guarded["second"].get(f"policy/proposals/{second}").json()["state"] == "stale"


def test_a_proposal_expires(guarded: World) -> None:
    number = propose(guarded, a={})["id"]
    PolicyProposal.objects.filter(pk=number).update(expires_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert approve(guarded, number).status_code == 409
    assert guarded["second"].get(f"policy/proposals/{number}").json()["state"] == "expired"


def test_what_the_system_does_itself_waits_for_nobody(guarded: World) -> None:
    assert versions.publish(SYSTEM, document(a={}), "by the system").active


def test_the_way_out_where_nobody_can_approve_any_more(guarded: World, tmp_path: Path) -> None:
    file, out = tmp_path / "policy.yaml", StringIO()
    file.write_text("queues: {default: {open_to_all: true}, prod: {}, closed: {}}")
    call_command("policy", "-f", str(file), "-m", "both approvers left", stdout=out)
    now = guarded["operator"].get("policy").json()
    assert out.getvalue() == f"version {now['version']} is in force\n"
    assert (now["author"], now["message"], now["document"]["approval"]["required"]) == (
        None, "both approvers left", False
    )  # fmt: skip
    file.write_text("queues: {default: {guarantee: 1}}")
    with pytest.raises(CommandError, match=r"queues\.default\.guarantee: .*; did you mean guaranteed\? Else remove it"):
        call_command("policy", "-f", str(file), "-m", "x")
    for name, message in (("nowhere.yaml", "x"), (str(file), " ")):
        with pytest.raises(CommandError):
            call_command("policy", "-f", name, "-m", message)


def test_an_override_waits_too_and_its_end_does_not(guarded: World) -> None:
    asked = {
        "queue": "root.prod", "field": "guaranteed", "change": {"percent": 10}, "message": "a launch",
        "ends_at": "2120-01-01T00:00:00Z",
    }  # fmt: skip
    answer = guarded["operator"].post("policy/overrides", asked | {"ends_at": "2020-01-01T00:00:00Z"})
    assert answer.status_code == 422
    far = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    answer = guarded["operator"].post("policy/overrides", asked | {"ends_at": far.isoformat()})
    assert answer.status_code == 202, answer.content
    assert "root.prod guaranteed 40 % -> 44 %" in [c["text"] for c in answer.json()["changes"]]
    assert not PolicyOverride.objects.exists()
    propose(guarded, a={})
    done = approve(guarded, answer.json()["id"])
    assert (
        done.status_code == 200 and PolicyOverride.objects.get(pk=done.json()["result"]["override"]).author is not None
    )
    assert active().overrides == [done.json()["result"]["override"]]
    number = done.json()["result"]["override"]
    assert guarded["operator"].post(f"policy/overrides/{number}/cancel").status_code == 200
    assert active().overrides == []


@pytest.mark.django_db(transaction=True)
def test_two_approvals_at_once_are_one(guarded: World) -> None:
    """Of one proposal by two operators; then of two proposals from one base."""
    before = PolicyVersion.objects.count()
    number = propose(guarded, a={})["id"]
    found = at_once(lambda n: int(approve(guarded, number, ("second", "third")[n]).status_code), 2)
    assert sorted(found) == [200, 409] and PolicyVersion.objects.count() == before + 1
    numbers = [propose(guarded, a={}, b={})["id"], propose(guarded, a={}, c={})["id"]]
    found = at_once(lambda n: int(approve(guarded, numbers[n], ("second", "third")[n]).status_code), 2)
    assert sorted(found) == [200, 412] and PolicyVersion.objects.count() == before + 2
