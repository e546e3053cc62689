"""Receivers over a real StateStore: who may have which, what is told of them, and what jobs may name."""

from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from controlplane.statestore import sealing
from controlplane.statestore.actions import receivers
from controlplane.statestore.models import AuditEntry, Job, Notification, Receiver
from tests.integration.api.test_secrets import everything, wrong
from tests.integration.api.world import World, job
from wire.states import JobState

URL = "https://hooks.example.org/t0ken-of-the-tests?x=1"


def put(world: World, name: str = "ci", who: str = "tenant", **said: Any) -> Any:
    return world[who]("PUT", f"me/receivers/{name}", said or {"webhook": URL})


def test_a_webhook_is_kept_sealed_and_its_key_told_once(world: World) -> None:
    made = put(world, webhook=URL, every_job=["killed", "failed", "failed"])
    assert made.status_code == 201 and made.json()["signing_key"].startswith("whsec_")
    again = put(world, every_job=["failed"])  # where it leads stays as it was
    assert again.status_code == 200 and again.json()["signing_key"] is None
    (found,) = world["tenant"].get("me/receivers").json()["results"]
    assert found | {"created_at": 0, "changed_at": 0} == {
        "name": "ci", "kind": "webhook", "address": "https://hooks.example.org", "every_job": ["failed"],
        "created_at": 0, "changed_at": 0, "waiting": 0, "failures": 0, "error": "", "next_at": None,
    }  # fmt: skip
    key = receivers.webhook_of(Receiver.objects.get()).key
    said = everything()
    assert "t0ken-of-the-tests" not in said and key not in said and "hooks.example.org" in said
    moved = put(world, webhook=URL + "2").json()
    assert (moved["signing_key"], moved["every_job"]) == (None, ["failed"]), "what is not said stays as it was"
    assert put(world, every_job=[]).json()["every_job"] == []
    assert receivers.webhook_of(Receiver.objects.get()) == receivers.Webhook(URL + "2", key)
    assert world["other"].get("me/receivers").json()["results"] == []
    assert world["operator"].get("me/receivers/ci/notifications").status_code == 404
    kept = AuditEntry.objects.filter(action="receiver.put").order_by("pk").first()
    assert kept and (kept.target, kept.after) == (
        "receiver/tenant/ci", {"new": True, "kind": "webhook", "every_job": ["failed", "killed"]}
    )  # fmt: skip


def test_another_key_of_the_deployment_takes_over(world: World, settings: Any) -> None:
    put(world)
    old, new = settings.SECRETS_KEYS[0], "k" * 40
    settings.SECRETS_KEYS = [new, old]
    call_command("secrets")
    settings.SECRETS_KEYS = [new]
    assert receivers.webhook_of(Receiver.objects.get()).url == URL
    Receiver.objects.update(name="moved")
    with pytest.raises(sealing.Unreadable):
        receivers.webhook_of(Receiver.objects.get())


@pytest.mark.parametrize(
    ("said", "field", "word"),
    [
        ({"webhook": URL, "mail": True}, "mail", "a webhook or mail"),
        ({"every_job": ["failed"]}, "webhook", "not said where"),
        ({"every_job": ["lost"]}, "every_job.0", "succeeded"),
        ({"mail": True}, "mail", "sends no mail"),
        ({"webhook": "ftp://example.org/x"}, "webhook", "http or https"),
        ({"webhook": "https://"}, "webhook", "http or https"),
        ({"webhook": "https://ann:pw@example.org/"}, "webhook", "a password"),
        ({"webhook": "https://example.org:99999/"}, "webhook", "http or https"),
        ({"webhook": "http://127.0.0.1:5432/"}, "webhook", "not a public address"),
        ({"webhook": "http://[::ffff:10.0.0.1]/"}, "webhook", "not a public address"),
        ({"webhook": "http://169.254.169.254/latest"}, "webhook", "not a public address"),
        ({"webhook": "https://example.org/" + "x" * 2048}, "webhook", "2,048"),
    ],
)
def test_what_is_no_receiver_is_refused_by_field(world: World, said: Any, field: str, word: str) -> None:
    answer = put(world, **said)
    assert wrong(answer) == [field] and word in answer.content.decode() and "pw@" not in answer.content.decode()
    assert wrong(put(world, "A_b")) == ["name"] and not Receiver.objects.exists()
    assert wrong(put(world, "A_b", every_job=["lost"])) == ["name", "every_job.0"]


def test_mail_goes_only_where_an_operator_has_said(world: World, settings: Any) -> None:
    settings.MAIL_ON = True
    refused = put(world, "me", mail=True)
    assert wrong(refused) == ["mail"] and "hydractl account email tenant" in refused.content.decode()
    assert wrong(world["operator"].post("accounts/tenant/email", {"email": "no address"})) == ["email"]
    assert world["operator"].post("accounts/tenant/email", {"email": "ann@example.org"}).json()["email"]
    assert world["tenant"].get("me").json()["email"] == "ann@example.org"
    assert put(world, "me", mail=True).json()["address"] == "ann@example.org"


def test_an_account_has_so_many_and_a_viewer_none(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"max_receivers_per_user": 2}
    assert [put(world, name).status_code for name in ("a", "b", "c", "a")] == [201, 201, 409, 200]
    assert put(world, who="viewer").status_code == 403


def test_a_job_names_receivers_that_its_owner_has(world: World) -> None:
    put(world, who="other")  # somebody else's is none
    named = job(notify=[{"receiver": "ci"}])
    refused = world["tenant"].post("jobs", named)
    assert wrong(refused) == ["notify.0.receiver"]
    assert refused.json()["errors"][0]["remedy"] == "make it first: hydractl receiver put ci"
    both = wrong(world["tenant"].post("jobs", job(notify=[{"receiver": "ci", "events": []}])))
    assert both == ["notify.0.events", "notify.0.receiver"]
    put(world)
    row = Job.objects.get(pk=world["tenant"].post("jobs", named).json()["id"])
    assert row.spec["notify"] == [{"receiver": "ci", "events": ["succeeded", "failed", "killed"]}]
    Job.objects.filter(pk=row.pk).update(state=JobState.FAILED)
    by_operator = world["operator"].post(f"jobs/{row.pk}/retry").json()["id"]
    assert Job.objects.get(pk=by_operator).spec["notify"] == [], "who tries it again has no such receiver"
    by_owner = world["tenant"].post(f"jobs/{row.pk}/retry").json()["id"]
    assert Job.objects.get(pk=by_owner).spec["notify"] == row.spec["notify"]


def test_what_it_was_told_is_its_owners_to_read(world: World) -> None:
    put(world)
    tests = [world["tenant"].post("me/receivers/ci/test") for _ in range(receivers.TESTS_WAITING + 1)]
    assert [answer.status_code for answer in tests] == [202] * receivers.TESTS_WAITING + [409]
    page = world["tenant"].get("me/receivers/ci/notifications?page_size=2").json()
    assert [(each["event"], each["state"], each["job"]) for each in page["results"]] == [("test", "waiting", None)] * 2
    assert page["results"][0]["id"] > page["results"][1]["id"] and page["next"]
    assert world["tenant"].get("me/receivers").json()["results"][0]["waiting"] == receivers.TESTS_WAITING
    assert world["tenant"]("DELETE", "me/receivers/ci").status_code == 204
    assert world["tenant"].get("me/receivers/ci/notifications").status_code == 404
    assert not Notification.objects.exists()


def test_a_job_says_to_its_owner_whom_it_tells_and_whether_that_arrived(world: World) -> None:
    put(world, "ci")
    put(world, "all", every_job=["failed"], webhook=URL)
    put(world, "gone")
    wanted = [{"receiver": "ci", "events": ["succeeded", "started"]}, {"receiver": "gone"}]
    number = world["tenant"].post("jobs", job(notify=wanted)).json()["id"]
    assert world["tenant"]("DELETE", "me/receivers/gone").status_code == 204
    row = Receiver.objects.get(name="ci")
    Receiver.objects.filter(pk=row.pk).update(failures=1, error="answered 500")
    sent = Notification(receiver=row, job_id=number, event="started", at=row.created_at, state="sent")
    late = Notification(receiver=row, job_id=number, event="succeeded", at=row.created_at, error="answered 500")
    Notification.objects.bulk_create([sent, late])
    Job.objects.filter(pk=number).update(finished_at=timezone.now())
    put(world, "late", every_job=["failed"], webhook=URL)
    found = {r["receiver"]: r for r in world["tenant"].get(f"jobs/{number}/receivers").json()["results"]}
    assert set(found) == {"ci", "all", "gone"}, "what came after the job's end is told nothing of it"
    ci = found["ci"]
    assert ci["events"] == ["started", "succeeded"] and ci["next_at"] is not None
    assert (ci["waiting"], ci["sent"], ci["given_up"], ci["error"]) == (1, 1, 0, "answered 500")
    assert (found["all"]["events"], found["all"]["error"]) == (["failed"], "")
    assert found["gone"]["error"] == "it was deleted, and is told nothing"
    assert world["operator"].get(f"jobs/{number}/receivers").json()["results"] == [], "they are the owner's"
