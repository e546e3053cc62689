"""Rollouts and convergence over the API and with hydractl."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from controlplane.accounts.models import Role, User
from controlplane.policy import rollouts
from controlplane.policy.staging import Action
from controlplane.statestore import acknowledgements
from controlplane.statestore.models import Acknowledgement, PolicyVersion, Rollout, SubCluster
from tests.hydractl import run
from tests.integration.api.served import web
from tests.integration.api.world import POLICY, World

ROOT = Path(__file__).parents[3]
LED = "UPDATE statestore_lease SET expires_at = clock_timestamp() + interval '1 min' WHERE sub_cluster_id = %s"
STAGES = [{"sub_clusters": ["west"], "soak_s": 0.0}]


def document(fill: str = "pack") -> dict[str, Any]:
    return POLICY | {"components": {"placement": {"policy": fill}}}


def ordered(world: World, **more: Any) -> Any:
    body = {"document": document(), "message": "slowly", "stages": STAGES} | more
    return world["operator"].post("policy/rollouts", body)


def acknowledge(*names: str, version: int) -> None:
    """These sub-clusters' RMs say that they and their one node run it."""
    for name in names:
        pk = SubCluster.objects.get(name=name).pk
        with connection.cursor() as cursor:
            cursor.execute(LED, [pk])
            nodes = acknowledgements.NodesRun({version: 1}, [], [(12, 1)], 0.0115)
            acknowledgements.put_rm(cursor, pk, 1, version, 0, nodes)


@pytest.mark.django_db(transaction=True)
def test_a_rollout_from_its_order_to_its_end(world: World) -> None:
    before = PolicyVersion.objects.get(active=True).pk
    made = ordered(world, guards={"failure_share": 0.1})
    assert made.status_code == 201, made.content
    shown = made.json()
    number, version = shown["id"], shown["version"]
    assert (shown["state"], shown["from_version"], shown["stage"]) == ("running", before, 0), "told at once"
    assert shown["baseline"]["0"]["staged"]["ended"] == 0 and shown["author"] == "operator"
    assert SubCluster.objects.get(name="west").components_version_id == version
    found = world["operator"].get("policy/convergence").json()
    assert (found["version"], found["active"], found["converged"]) == (version, False, False)
    assert {k["kind"]: k["told"] for k in found["kinds"]} == {"rm": 1, "router": 0, "gpg": 0, "node": 0}

    again = world["operator"].post("policy", {"document": document("align"), "message": "me too"})
    assert again.status_code == 409 and f"rollout abort {number}" in again.json()["errors"][0]["remedy"]
    acknowledge("west", version=version)
    assert [rollouts.step(), rollouts.step()] == [Action.SOAK, Action.COMPLETE]
    assert world["operator"].get(f"policy/rollouts/{number}").json()["state"] == "completed"
    assert world["operator"].get("policy").json()["version"] == version
    assert world["operator"].get("policy/rollouts").json()["results"][0]["id"] == number
    acknowledge("east", version=version)
    found = world["operator"].get(f"policy/convergence?version={version}").json()
    assert found["converged"] and found["kinds"][3]["max_s"] == 0.0115
    late = world["operator"].post(f"policy/rollouts/{number}/abort", {})
    assert late.status_code == 409 and "completed" in late.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_orders_are_refused_with_the_field_and_the_remedy(world: World) -> None:
    for more, field in {
        "stages.0.sub_clusters.0": {"stages": [{"sub_clusters": ["nowhere"]}]},
        "stages": {"stages": []},
        "stages.0.sub_clusters": {"stages": [{"soak_s": 1}]},
        "stages.1.sub_clusters": {"stages": [*STAGES, {"sub_clusters": ["east"], "everywhere": True}]},
        "stages.0.everywhere": {"stages": [{"everywhere": True}, *STAGES]},
        "stages.0.soak_s": {"stages": [{"sub_clusters": ["west"], "soak_s": -1}]},
        "guards.failure_share": {"guards": {"failure_share": 7}},
        "guards.pending": {"guards": {"pending": 7}},
        "on_breach": {"on_breach": "shout"},
        "message": {"message": ""},
        "queues.default.guarantee": {"document": {"queues": {"default": {"guarantee": 1}}}},
    }.items():
        answer = ordered(world, **field)
        assert answer.status_code == 422, (more, answer.content)
        assert answer.json()["errors"][0]["field"] == more and answer.json()["errors"][0]["remedy"]
    assert ordered(world, parent=12345).status_code == 412
    assert not Rollout.objects.exists()
    for order in ("pause", "resume", "abort"):
        assert world["operator"].post(f"policy/rollouts/77/{order}", {}).status_code == 404
    assert world["operator"].get("policy/rollouts/77").status_code == 404
    assert world["operator"].get("policy/convergence?version=77777").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_where_changes_need_a_second_operator_a_rollout_waits_for_one(world: World) -> None:
    User.objects.filter(username="viewer").update(role=Role.OPERATOR)
    rule = document("spread") | {"approval": {"required": True}}
    assert world["operator"].post("policy", {"document": rule, "message": "four eyes"}).status_code == 201
    made = ordered(world, document=document() | {"approval": {"required": True}})
    assert made.status_code == 202 and made.json()["kind"] == "rollout" and not Rollout.objects.exists()
    approved = world["viewer"].post(f"policy/proposals/{made.json()['id']}/approve", {"message": "go"})
    assert approved.status_code == 200, approved.content
    row = Rollout.objects.get()
    assert approved.json()["result"] == {"rollout": row.pk, "version": row.version_id}
    assert row.author is not None and row.author.username == "operator"


@pytest.mark.django_db(transaction=True)
def test_an_operator_rolls_out_with_hydractl(world: World, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document()))
    with web() as url:

        def hydractl(*words: str) -> subprocess.CompletedProcess[str]:
            env = {"HOME": str(tmp_path), "HYDRA_URL": url}
            env["HYDRA_TOKEN"] = world["operator"].token
            return run(("policy", *words), env)

        options = ("--staged", "canary=west", "--soak", "3600", "--guard", "failure_share=10%", "-m", "slowly")
        assert "no number" in hydractl("push", "-f", str(file), *options, "--guard", "x=y").stderr
        assert "no stage" in hydractl("push", "-f", str(file), "-m", "x", "--soak", "3").stderr
        assert "does not go with a rollout" in hydractl("push", "-f", str(file), *options, "--force").stderr
        started = hydractl("push", "-f", str(file), *options, "--watch", "60")
        assert started.returncode == 0 and "rollout status -f" in started.stdout, started.stderr
        row = Rollout.objects.get()
        assert row.guards == {"failure_share": 0.1} and [(s["sub_clusters"], s["soak_s"]) for s in row.stages] == [
            (["west"], 3600.0),
            ([], 60.0),
        ]
        same = tmp_path / "same.yaml"
        same.write_text(hydractl("get").stdout)
        for words in (("push", str(same), "-m", "x"), ("apply", str(same)), ("diff", str(same))):
            told = hydractl(*words)
            assert told.returncode == 0 and f"A rollout of version {row.version_id} is under way" in told.stderr, words
            assert f"hydractl policy rollout abort {row.pk}" in told.stderr
        shown = hydractl("rollout", "status").stdout
        assert "west for 3600 s" in shown and "everywhere for 60 s" in shown and "others before" in shown
        acknowledge("west", version=row.version_id)
        table = hydractl("status", "-o", "table")
        assert "1 on " in table.stdout and "not in force everywhere" in table.stderr
        assert hydractl("status", "-f", "--timeout-s", "5").returncode == 0
        assert "paused" in hydractl("rollout", "pause", "-m", "lunch").stdout
        assert "running" in hydractl("rollout", "resume").stdout
        assert "rolling_back" in hydractl("rollout", "abort", "-m", "enough").stdout
        assert hydractl("status", "-f", "--timeout-s", "1").returncode == 1, "nobody runs the old content yet"
        rollouts.step()
        assert "slowly" not in hydractl("rollout", "list").stdout and "enough" in hydractl("rollout", "list").stdout
        Acknowledgement.objects.all().delete()
