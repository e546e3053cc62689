"""What-if questions over REST: what is taken, what is refused, and what is told."""

import datetime as dt
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import AuditEntry, PolicyVersion, Simulation, SubCluster
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.world import POLICY, World

LESS = {"queues": POLICY["queues"] | {"default": {"guaranteed": 0.3, "open_to_all": True}}}


def ask(world: World, **body: Any) -> dict[str, Any]:
    answer = world["operator"].post("simulations", body)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_question_is_stored_and_followed(world: World) -> None:
    active = PolicyVersion.objects.get(active=True)
    told = ask(world, document=LESS, window="day", seeds=2)
    assert (told["state"], told["base"], told["version"], told["seeds"]) == ("queued", active.pk, None, 2)
    assert told["change"] == "root.default guaranteed 50 % -> 30 %", "lists say what it is about"
    begin, end = (dt.datetime.fromisoformat(told[name]) for name in ("from", "to"))
    assert end - begin == dt.timedelta(days=1) and told["requested_by"] == "operator" and told["result"] is None
    assert world["operator"].get(f"simulations/{told['id']}").json() == told
    listed = world["operator"].get("simulations").json()["results"]
    assert [row["id"] for row in listed] == [told["id"]] and "document" not in listed[0]
    cancelled = world["operator"].post(f"simulations/{told['id']}/cancel").json()
    assert cancelled["state"] == "cancelled" and cancelled["ended_at"]
    assert world["operator"].post(f"simulations/{told['id']}/cancel").status_code == 200, "once more is no error"
    found = AuditEntry.objects.filter(target=f"simulation/{told['id']}").order_by("pk")
    assert [row.action for row in found] == ["simulation.request", "simulation.cancel"]


def test_results_show_with_the_version_that_the_document_becomes(world: World) -> None:
    spelt = {"queues": LESS["queues"] | {"default": {"guaranteed": "30%", "open_to_all": True, "preemptable": True}}}
    told = ask(world, document=spelt)
    other = ask(world, version=PolicyVersion.objects.get(active=True).pk)
    pushed = world["operator"].post("policy", {"document": LESS, "message": "less by default"}).json()["version"]
    found = world["operator"].get(f"simulations?version={pushed}").json()["results"]
    assert [row["id"] for row in found] == [told["id"]]
    found = world["operator"].get(f"simulations?version={other['version']}").json()["results"]
    assert [row["id"] for row in found] == [other["id"]]
    assert world["operator"].get("simulations?version=4000").status_code == 404


def test_lists_have_pages(world: World) -> None:
    made = [rows.simulation(state="failed", message="why").pk for _ in range(5)]
    first = world["operator"].get("simulations?page_size=2").json()
    second = world["operator"].get(first["next"].partition("/api/v1/")[2]).json()
    assert [row["id"] for row in first["results"] + second["results"]] == made[:0:-1]
    assert first["results"][0]["message"] == "why" and second["previous"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "document"),
        ({"document": LESS, "version": 1}, "document"),
        ({"document": {"queues": {"a": {"guaranteed": 2}}}}, "queues.a.guaranteed"),
        ({"document": LESS, "window": "year"}, "window"),
        ({"document": LESS, "seeds": 11}, "seeds"),
        ({"document": LESS, "seeds": 0}, "seeds"),
        ({"document": LESS, "from": "2030-01-01T00:00:00Z"}, "to"),
        ({"document": LESS, "to": "2020-01-01T00:00:00Z"}, "from"),
        ({"document": LESS, "from": "2020-01-01T00:00:00Z", "to": "2020-01-01T01:00:00Z"}, "from"),
        ({"document": LESS, "from": "2120-01-01T00:00:00Z", "to": "2120-01-01T01:00:00Z"}, "to"),
        ({"document": LESS, "window": "hour", "to": "2020-01-01T00:00:00Z"}, "window"),
        ({"document": LESS, "from": "yesterday", "to": "2020-01-01T00:00:00Z"}, "from"),
        ({"document": LESS, "more": 1}, "more"),
        ({"document": LESS, "queues": {"root.default": "root.default"}}, "queues.root.default"),
        ({"document": LESS, "queues": {f"root.a{n}": "root.default" for n in range(301)}}, "queues"),
        ({"document": LESS, "queues": {"root.old": "root.defualt"}}, "queues.root.old"),
        ({"document": LESS, "queues": {"root.old": 3}}, "queues.root.old"),
        ({"document": LESS, "queues": ["root.old"]}, "queues"),
        ({"document": LESS, "queues": {"root.\0": "root.default"}}, "queues.root.\0"),
        ({"document": LESS, "queues": {"r" * 256: "root.default"}}, f"queues.{'r' * 64}"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(world: World, body: dict[str, Any], field: str) -> None:
    answer = world["operator"].post("simulations", body)
    assert answer.status_code == 422, answer.content
    error = answer.json()["errors"][0]
    assert error["field"] == field and error["remedy"], error
    assert not Simulation.objects.exists()


def test_a_window_of_its_own(world: World) -> None:
    end = timezone.now() - dt.timedelta(hours=3)
    begin = end - dt.timedelta(minutes=20)
    told = ask(world, document=LESS, **{"from": begin.isoformat(), "to": end.isoformat()})
    assert (dt.datetime.fromisoformat(told["from"]), dt.datetime.fromisoformat(told["to"])) == (begin, end)
    turned = {"document": LESS, "from": end.isoformat(), "to": begin.isoformat()}
    assert world["operator"].post("simulations", turned).json()["errors"][0]["field"] == "from"


def test_too_many_at_once_are_refused(world: World) -> None:
    for _ in range(5):
        ask(world, document=LESS)
    answer = world["operator"].post("simulations", {"document": LESS})
    assert (
        answer.status_code == 429 and answer["Retry-After"] and "5 simulations of yours wait" in answer.json()["detail"]
    )


def test_the_report_is_a_sandboxed_page(world: World) -> None:
    done, waits = rows.simulation(done=True), rows.simulation()
    page = world["operator"].get(f"simulations/{done.pk}/report")
    assert page.status_code == 200 and page.content == b"<p>said</p>" and page["Content-Type"].startswith("text/html")
    policy = page["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'") and "allow" not in policy and "script" not in policy
    assert page["X-Content-Type-Options"] == "nosniff"
    early = world["operator"].get(f"simulations/{waits.pk}/report")
    assert early.status_code == 409 and "has no report" in early.json()["detail"]
    assert world["operator"].get("simulations/77/report").status_code == 404
    assert world["operator"].post(f"simulations/{done.pk}/cancel").status_code == 409


@pytest.mark.django_db(transaction=True)
def test_from_the_shell(world: World, tmp_path: Path) -> None:
    done, waits = rows.simulation(done=True), rows.simulation()
    page = tmp_path / "report.html"
    with web() as url:
        env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world["operator"].token}

        def simulations(*words: str) -> subprocess.CompletedProcess[str]:
            return run(("policy", "simulations", *words), env)

        early = simulations(str(waits.pk), "--html", str(page))
        assert early.returncode == 2 and "has no report" in early.stderr and not page.exists()
        cancelled = simulations(str(waits.pk), "--cancel")
        assert cancelled.returncode == 0 and f"simulation {waits.pk} is cancelled" in cancelled.stderr
        waits.refresh_from_db()
        assert waits.state == "cancelled"
        simulations(str(done.pk), "--html", str(page))
        assert page.read_text() == "<p>said</p>"
        assert "cancel: " in simulations("--cancel").stderr and "html: " in simulations("--html", "x").stderr


def two(world: World) -> None:
    """Another sub-cluster that runs, beside the world's."""
    SubCluster.objects.update(state="running")
    subclusters.create(SYSTEM, "other")
    SubCluster.objects.filter(name="other").update(state="running")


def test_a_drain_is_asked_about_with_the_policy_in_force(world: World) -> None:
    two(world)
    active = PolicyVersion.objects.get(active=True)
    told = ask(world, drain="other")
    begin, end = (dt.datetime.fromisoformat(told[name]) for name in ("from", "to"))
    assert end - begin == dt.timedelta(hours=1) and told["kind"] == "drain" and told["sub_cluster"] == "other"
    assert (told["base"], told["version"], told["digest"], told["forecast"]) == (active.pk, None, "", True)
    assert told["document"]["queues"].keys() == POLICY["queues"].keys()
    short = ask(world, drain="other", horizon_s=600, forecast=False, seeds=1)
    begin, end = (dt.datetime.fromisoformat(short[name]) for name in ("from", "to"))
    assert end - begin == dt.timedelta(minutes=10) and short["forecast"] is False
    about = AuditEntry.objects.get(target=f"simulation/{short['id']}").after
    assert about["drain"] == "other" and about["forecast"] is False and "version" not in about
    listed = world["operator"].get("simulations").json()["results"]
    assert [(row["kind"], row["sub_cluster"]) for row in listed] == [("drain", "other")] * 2
    of_version = world["operator"].get(f"simulations?version={active.pk}").json()["results"]
    assert of_version == [], "it says nothing of a version"
    plain = ask(world, document=LESS)
    assert (plain["kind"], plain["sub_cluster"], plain["forecast"]) == ("policy", None, None)


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"drain": "nowhere"}, "drain", "there is no sub-cluster"),
        ({"drain": "a\0b"}, "drain", "there is no sub-cluster"),
        ({"drain": ""}, "drain", ""),
        ({"drain": "gone"}, "drain", "is lost already"),
        ({"drain": "emptied"}, "drain", "is draining already"),
        ({"drain": "other", "document": LESS}, "document", "stands beside drain"),
        ({"drain": "other", "version": 1}, "version", "stands beside drain"),
        ({"drain": "other", "window": "day"}, "window", "stands beside drain"),
        ({"drain": "other", "from": "2020-01-01T00:00:00Z"}, "from", "stands beside drain"),
        ({"drain": "other", "to": "2020-01-01T00:00:00Z"}, "to", "stands beside drain"),
        ({"drain": "other", "horizon_s": 59}, "horizon_s", ""),
        ({"drain": "other", "horizon_s": 604_801}, "horizon_s", ""),
        ({"drain": "other", "seeds": 0}, "seeds", ""),
        ({"document": LESS, "horizon_s": 600}, "horizon_s", "none is asked for"),
        ({"document": LESS, "forecast": True}, "forecast", "none is asked for"),
        ({"document": LESS, "deadline_s": 60}, "deadline_s", "none is asked for"),
        ({"drain": "other", "deadline_s": -1}, "deadline_s", ""),
        ({"drain": "other", "deadline_s": 900, "horizon_s": 900}, "deadline_s", "lies after what is looked at"),
        ({"drain": "other", "queues": {"root.a": "root.default"}}, "queues", "stands beside drain"),
    ],
)
def test_what_is_wrong_about_a_drain_is_named(world: World, body: dict[str, Any], field: str, words: str) -> None:
    two(world)
    for name, state in (("gone", "lost"), ("emptied", "draining")):
        subclusters.create(SYSTEM, name)
        SubCluster.objects.filter(name=name).update(state=state)
    answer = world["operator"].post("simulations", body)
    assert answer.status_code == 422, answer.content
    error = answer.json()["errors"][0]
    assert error["field"] == field and error["remedy"] and words in error["message"], error
    assert not Simulation.objects.exists()


def test_the_only_sub_cluster_is_not_worth_a_simulation(world: World) -> None:
    two(world)
    SubCluster.objects.exclude(name="other").update(state="draining")
    error = world["operator"].post("simulations", {"drain": "other"}).json()["errors"][0]
    assert error["field"] == "drain" and "all that waits or comes would wait until it is resumed" in error["message"]
    assert "hydractl sub-cluster drain other --preview" in error["remedy"]
