"""Charts over time through the API: bounds, rights, what is marked."""

import csv
import datetime as dt
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from contract.series import SeriesAnswer, SeriesInstant
from controlplane.policy import versions
from controlplane.statestore.actions.audit import SYSTEM, record
from controlplane.statestore.models import PolicyOverride
from controlplane.statestore.series import duty
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.test_series import put_load
from tests.integration.api.world import POLICY, World

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def history(world: World) -> dt.datetime:
    """Three windows are sampled: 60, 40 and 20 s before what is returned."""
    put_load(world.west, {"root.prod.etl": 100, "root.default": 300})
    now = timezone.now()
    for ago_s in (60, 40, 20):
        duty.run(now - dt.timedelta(seconds=ago_s))
    return now


def ask(world: World, role: str, query: str, status: int = 200) -> dict[str, Any]:
    answer = world[role].get(f"series?{query}")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    if status == 200:
        SeriesAnswer.model_validate(found, extra="forbid")
    return found


def test_metrics_of_scopes(world: World) -> None:
    found = ask(
        world, "viewer", "metric=allocated_memory_mib,dominant_share,capacity_memory_mib&scope=cluster,queue:root.prod"
    )
    got = {(s["scope"], s["metric"]): {v for v in s["values"] if v is not None} for s in found["series"]}
    assert got["cluster", "allocated_memory_mib"] == {400.0} and got["cluster", "capacity_memory_mib"] == {1000.0}
    assert got["queue:root.prod", "allocated_memory_mib"] == {100.0} and got["queue:root.prod", "dominant_share"] == {
        0.1
    }
    assert ("queue:root.prod", "capacity_memory_mib") not in got
    guaranteed = ask(world, "viewer", "metric=guaranteed_memory_mib&scope=queue:root.prod")["series"][0]
    assert {v for v in guaranteed["values"] if v is not None} == {400.0}
    assert len(found["at"]) <= 361 and found["step_s"] == 20


def test_tenants_see_what_is_theirs(world: World) -> None:
    for scope in ("queue:root.prod", "queue:root.prod.etl"):
        ask(world, "submitter", f"metric=allocated_memory_mib&scope={scope}")
    for scope in ("queue:root.default", "queue:root", "queue:root.nothing", "sub-cluster:nowhere", "job:1"):
        ask(world, "submitter", f"metric=allocated_memory_mib&scope={scope}", 404)
    for scope in ("cluster", "sub-cluster:west"):
        problem = ask(world, "submitter", f"metric=capacity_gpus,used_memory_mib&scope={scope}", 403)
        assert "queue:" in problem["detail"]
        ask(world, "submitter", f"metric=capacity_memory_mib,nodes_up&scope={scope}")


def test_what_cannot_be_asked_names_the_parameter_and_the_remedy(world: World) -> None:
    wrong = {
        "": "metric", "metric=heat": "metric", "metric=decisions_per_s&from=yesterday": "from",
        "metric=decisions_per_s&from=2030-01-01&to=2029-01-01": "from", "metric=decisions_per_s&points=1": "points",
        "metric=decisions_per_s&points=99999": "points", "metric=decisions_per_s&from=0": "from",
        "metric=decisions_per_s&from=2020-01-01T00:00:00Z": "from", "metric=decisions_per_s&to=1e999": "to",
        "metric=" + "x" * 3000: "metric",
        "metric=preemptions&scope=" + ",".join(f"queue:q{i}" for i in range(50)): "scope",
    }  # fmt: skip
    for query, name in wrong.items():
        (error,) = ask(world, "viewer", query, 422)["errors"]
        assert error["field"] == name and error["remedy"], query


def test_changes_are_marked(world: World) -> None:
    versions.publish(SYSTEM, POLICY, "a secret reason")
    rollout = rows.rollout()
    record(SYSTEM, "sub-cluster.lost", "sub-cluster/west")
    soon = timezone.now() + dt.timedelta(minutes=5)
    PolicyOverride.objects.create(
        queue="root.prod", field="weight", change={"to": 2}, message="m", starts_at=soon,
        ends_at=soon + dt.timedelta(days=1), created_at=timezone.now(),
    )  # fmt: skip
    query = f"metric=capacity_gpus&to={(soon + dt.timedelta(seconds=1)).timestamp()}"
    texts = [e["text"] for e in ask(world, "operator", query)["events"]]
    assert any(t.endswith("in force: a secret reason") for t in texts) and "Sub-cluster west is lost" in texts
    assert f"Rollout {rollout.pk} of policy {rollout.version_id} began" in texts
    assert any(t.startswith("Override") and t.endswith("root.prod.weight begins") for t in texts)
    public = ask(world, "tenant", query)["events"]
    assert {e["kind"] for e in public} == {"policy", "sub-cluster"} and "secret" not in str(public)


def test_a_moment_of_the_past(world: World, history: dt.datetime) -> None:
    at = (history - dt.timedelta(seconds=40)).timestamp()
    found = world["viewer"].get(f"series/instant?at={at}").json()
    SeriesInstant.model_validate(found, extra="forbid")
    assert [q["name"] for q in found["queues"]] == ["root", "root.default", "root.prod", "root.prod.etl"]
    assert found["cluster"]["allocated"]["memory_mib"] == 400 and found["step_s"] == 10
    assert {s["name"]: s["allocated"] and s["allocated"]["memory_mib"] for s in found["sub_clusters"]} == {
        "east": None, "west": 400,
    }  # fmt: skip
    own = world["submitter"].get(f"series/instant?at={at}").json()
    assert [q["name"] for q in own["queues"]] == ["root.prod", "root.prod.etl"]
    assert (own["cluster"], own["sub_clusters"]) == (None, [])
    empty = world["viewer"].get("series/instant?at=2024-01-01T00:00:00Z").json()
    assert empty["cluster"] is None and empty["queues"] == []


def test_the_number_of_queries_does_not_grow(world: World, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(20):
        ask(world, "viewer", "metric=decisions_per_s,allocation_latency_p99_s&scope=cluster,queue:root.default")


@pytest.mark.django_db(transaction=True)
def test_from_the_shell(world: World, history: dt.datetime, tmp_path: Path) -> None:
    with web() as url:
        env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world["viewer"].token}

        def hydractl(*words: str) -> subprocess.CompletedProcess[str]:
            return run(("series", *words), env)

        told = hydractl("allocated_memory_mib", "-s", "queue:root.prod", "-s", "cluster", "--last", "5m", "-o", "csv")
        assert told.returncode == 0, told.stderr
        head, *lines = csv.reader(io.StringIO(told.stdout))
        assert head == ["time", "queue:root.prod allocated_memory_mib", "cluster allocated_memory_mib"]
        assert {tuple(row[1:]) for row in lines} == {("", ""), ("100", "400")}
        at = f"{history - dt.timedelta(seconds=40):%Y-%m-%dT%H:%M:%SZ}"
        stood = hydractl("--at", at)
        assert stood.returncode == 0 and "In the 10 s from" in stood.stderr, stood.stderr
        rows_ = {line.split()[0]: line for line in stood.stdout.splitlines()[1:]}
        assert list(rows_)[:3] == ["cluster", "east", "west"] and "400.0 MiB" in rows_["cluster"]
        assert "100.0 MiB" in rows_["root.prod"]
        asked = json.loads(hydractl("--at", at, "-o", "json").stdout)
        assert SeriesInstant.model_validate(asked).queues[0].name == "root"
        for words, field in ((["x", "--at", at], "METRIC"), ([], "METRIC"), (["--at", at, "-o", "csv"], "output")):
            wrong = hydractl(*words)
            assert wrong.returncode == 2 and f"{field}: " in wrong.stderr
        refused = hydractl("heat")
        assert refused.returncode == 2 and "allocated_memory_mib" in refused.stderr
