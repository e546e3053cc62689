"""The policy document over the API: published, refused, looked at; and what the queues show of it."""

import time
from typing import Any

import pytest

from controlplane.statestore.models import AuditEntry, Intent, PolicyVersion, Queue
from tests.integration.api import rows
from tests.integration.api.world import POLICY, World, job
from tests.limits import limit
from wire.states import JobState

TAG = "If-Match"


def document(**queues: Any) -> dict[str, Any]:
    return {"queues": {"default": {"open_to_all": True}} | queues}


def publish(world: World, queues: dict[str, Any], **more: Any) -> Any:
    return world["operator"].post("policy", {"document": document(**queues), "message": "a change"} | more)


def test_a_published_policy_is_in_force_and_told_to_every_rm(world: World) -> None:
    before = world["operator"].get("policy")
    assert before["ETag"] == f'"{before.json()["version"]}"' and before.json()["author"] is None
    answer = publish(world, {"prod": {"guaranteed": "40%"}, "closed": {}})
    assert answer.status_code == 201, answer.content
    new = answer.json()
    assert (new["parent"], new["active"], new["author"]) == (before.json()["version"], True, "operator")
    assert new["document"]["queues"]["prod"] == {"guaranteed": "40%"}
    assert new["document"]["components"]["preemption"]["parameters"]["grace_s"] == 15
    assert world["operator"].get("policy").json() == new
    intents = Intent.objects.filter(kind="policy", payload={"version": new["version"]})
    assert {i.sub_cluster_id for i in intents} == {world.west.pk, world.east.pk}
    assert AuditEntry.objects.filter(action="policy.publish", actor=world.users["operator"]).count() == 1
    versions = world["operator"].get("policy/versions?page_size=1").json()
    assert [v["version"] for v in versions["results"]] == [new["version"]] and versions["next"]
    assert "document" not in versions["results"][0]
    old = world["operator"].get(f"policy?version={before.json()['version']}").json()
    assert old["active"] is False and old["document"]["queues"] == POLICY["queues"]
    assert world["operator"].get("policy?version=999999").status_code == 404


def test_a_change_made_from_an_older_version_is_refused(world: World) -> None:
    tag = world["operator"].get("policy")["ETag"]
    body = {"document": document(), "message": "mine"}
    assert world["operator"].post("policy", body, **{TAG: tag}).status_code == 201
    body["document"] = document(another={})
    stale = world["operator"].post("policy", body, **{TAG: tag})
    assert stale.status_code == 412 and stale["Content-Type"] == "application/problem+json"
    assert stale.json()["errors"][0]["field"] == "parent"
    assert world["operator"].post("policy", body | {"parent": int(tag.strip('"'))}).status_code == 412
    assert world["operator"].post("policy", body, **{TAG: "12"}).status_code == 422
    assert world["operator"].post("policy", body, **{TAG: "*"}).status_code == 201
    assert PolicyVersion.objects.filter(active=True).count() == 1


def test_what_is_wrong_is_told_by_validate_and_publish_alike(world: World) -> None:
    wrong = document(prod={"guaranteed": 2})
    for path, body in (("policy/validate", {}), ("policy", {"message": "x"})):
        answer = world["operator"].post(path, body | {"document": wrong})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "queues.prod.guaranteed"
    checked = world["operator"].post("policy/validate", {"document": document(prod={})}).json()
    assert checked["queues"] == 3 and "components" in checked["document"] and checked["warnings"] == []
    slips = document(prod={"submit": ["operater", "role:tenant", "operator"], "administer": ["zoe"]})
    told = world["operator"].post("policy/validate", {"document": slips}).json()["warnings"]
    assert [(w["field"], w["message"]) for w in told] == [
        ("queues.prod.submit", "there is no account 'operater'"),
        ("queues.prod.administer", "there is no account 'zoe'"),
    ]
    assert told[0]["remedy"] == "did you mean operator?"
    assert PolicyVersion.objects.count() == 1


def test_a_queue_with_live_jobs_is_not_removed_under_them(world: World) -> None:
    job_id = world["submitter"].post("jobs", job(queue="root.prod.etl")).json()["id"]
    for queues in ({}, {"prod": {}}, {"prod": {"children": {"etl": {"children": {"a": {}}}}}}):
        answer = publish(world, queues)
        assert answer.status_code == 409, queues
        error = answer.json()["errors"][0]
        assert error["field"] == "queues.prod.children.etl" and "root.prod.etl has 1 live" in error["message"]
        assert "state: stopped" in error["remedy"]
    assert publish(world, {"prod": {"children": {"etl": {"state": "stopped"}}}}).status_code == 201
    states = {q["path"]: (q["state"], q["live_jobs"]) for q in world["operator"].get("queues").json()["results"]}
    assert states["root.prod.etl"] == ("draining", 1) and states["root.prod"] == ("running", 1)
    rows.finish(job_id, JobState.SUCCEEDED)
    states = {q["path"]: q["state"] for q in world["operator"].get("queues").json()["results"]}
    assert states["root.prod.etl"] == "stopped"
    assert publish(world, {}).status_code == 201


def test_force_removes_a_queue_all_the_same(world: World) -> None:
    assert world["submitter"].post("jobs", job(queue="root.prod.etl")).status_code == 201
    assert publish(world, {}, force=True).status_code == 201
    assert AuditEntry.objects.get(action="policy.publish", after__force=True)


def test_queues_show_their_limits_in_units_of_the_federation(world: World) -> None:
    node = {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 1}  # one in each of two sub-clusters
    half = {"guaranteed": "50%", "maximum": {"memory_mib": "6 GiB", "gpus": "1 gpu"}, "user_maximum": 0.5}
    publish(world, {"prod": half | {"children": {"etl": {"guaranteed": 1.0, "max_running_jobs": 3}}}, "closed": {}})
    found = {q["path"]: q for q in world["viewer"].get("queues").json()["results"]}
    assert found["root"]["maximum"] == {axis: 2 * n for axis, n in node.items()}
    prod, etl = found["root.prod"], found["root.prod.etl"]
    assert prod["guaranteed"] == {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 1}
    assert prod["maximum"] == etl["maximum"] == {"memory_mib": 6144, "vcores_milli": 8000, "gpus": 1}
    assert etl["user_limit"] == {"memory_mib": 3072, "vcores_milli": 4000, "gpus": 0}, "inherited"
    assert (etl["max_running_jobs"], etl["ordering"], etl["max_priority"]) == (3, "priority", 499)
    gpus = {"partitions": {"big": {"nodes": "node == west-1"}}}
    queues = document(prod={"partitions": {"big": {"maximum": 0.5}}, "guaranteed": 0.5}, closed={})
    assert world["operator"].post("policy", {"document": queues | gpus, "message": "split"}).status_code == 201
    prod = {q["path"]: q for q in world["viewer"].get("queues").json()["results"]}["root.prod"]
    assert prod["partitions"]["big"]["maximum"]["memory_mib"] == 2048
    assert (prod["maximum"]["memory_mib"], prod["guaranteed"]["memory_mib"]) == (6144, 2048)


def test_rights_in_a_queue_are_granted_listed_and_withdrawn(world: World) -> None:
    api, other = world["operator"], world["other"]
    assert api("PUT", "queues/root.prod.etl/rights", {"user": "other", "level": "admin"}).status_code == 200
    assert other.post("jobs", job(queue="root.prod.etl")).status_code == 201
    publish(world, {"prod": {"submit": ["role:viewer"], "children": {"etl": {}, "web": {}}}, "closed": {}})
    rights = {
        (r["user"], r["queue"], r["level"], r["source"])
        for r in api.get("queues/root.prod.etl/rights").json()["results"]
    }
    assert rights == {
        ("submitter", "root.prod", "submit", "grant"), ("admin", "root.prod", "admin", "grant"),
        ("other", "root.prod.etl", "admin", "grant"), ("role:viewer", "root.prod", "submit", "policy"),
    }  # fmt: skip
    assert api("DELETE", "queues/root.prod.etl/rights?user=other").status_code == 204
    missed = api("PUT", "queues/root.prd/rights", {"user": "other", "level": "admin"})
    assert missed.status_code == 404 and "did you mean root.prod?" in missed.json()["detail"]
    assert other.post("jobs", job(queue="root.prod.etl")).status_code == 422
    assert "granted nothing" in api("DELETE", "queues/root.prod.etl/rights?user=other").content.decode()
    for method, path, body in (
        ("PUT", "queues/root.nowhere/rights", {"user": "other"}),
        ("PUT", "queues/root.prod/rights", {"user": "nobody"}),
        ("PUT", "queues/root.prod/rights", {"user": "other", "level": "king"}),
        ("DELETE", "queues/root.prod/rights?user=nobody", None),
    ):
        assert api(method, path, body).status_code in {404, 422}, (method, path)


@pytest.mark.faults
def test_five_thousand_queues_are_published_within_two_seconds(world: World) -> None:
    def tree(levels: int, share: float) -> dict[str, Any]:
        return {f"q{i}": {"guaranteed": share, "children": tree(levels - 1, share)} for i in range(8)} if levels else {}

    assert publish(world, tree(4, 0.12)).status_code == 201  # the first one also pays for what a process does once
    with limit("5,000 queues are published (processor)", 2, time.process_time):
        assert publish(world, tree(4, 0.125)).status_code == 201
    assert Queue.objects.filter(version__active=True).count() == 4682
    with limit("5,000 queues are listed (processor)", 1, time.process_time):
        assert len(world["viewer"].get("queues").json()["results"]) == 4682
