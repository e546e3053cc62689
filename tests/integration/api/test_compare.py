"""Sub-clusters side by side: figures of a window, and where their component policies differ."""

import datetime as dt
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from contract.comparison import Comparison
from contract.policy.components import stored
from controlplane.policy import versions
from controlplane.policy.sidebyside import differing
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import ContainerHistory, Job, PolicyVersion, Round, SubCluster
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.test_routing import lead
from tests.integration.api.world import World, job
from wire.states import ContainerReason, ContainerState, TaskState

ROOT = Path(__file__).parents[3]


def rounds(sub: SubCluster, n: int, placed: int, ago_s: float = 10.0) -> None:
    for no in range(n):
        Round.objects.create(
            sub_cluster_id=sub.pk, first_seq=no + 1, last_seq=no + 1, at=timezone.now() - dt.timedelta(seconds=ago_s),
            epoch=1, number=no, placed=placed, ended=placed, plan_us=1000 * (no + 1), commit_us=500, transitions=b"",
        )  # fmt: skip


def ran(home: Job, sub: SubCluster, index: int, waited_s: float, **ended: Any) -> None:
    """A container that was allocated ``waited_s`` after the job came, and has ended."""
    at = home.submitted_at + dt.timedelta(seconds=waited_s)
    home.home_id = sub.pk  # whose leader hands out the number
    live = rows.container(home, 1, index=index, allocated_at=at)
    rows.end(live, ended.pop("state", TaskState.SUCCEEDED))
    ContainerHistory.objects.filter(pk=live.pk).update(**ended)


def compared(world: World, query: str = "") -> dict[str, Any]:
    answer = world["viewer"].get(f"sub-clusters/compare?{query}")
    assert answer.status_code == 200, answer.content
    Comparison.model_validate(answer.json(), extra="forbid")
    found: dict[str, Any] = answer.json()
    return found


def test_figures_of_a_window_stand_side_by_side(world: World) -> None:
    lead(world.west, used=0.5)
    lead(world.east, used=0.1)
    home = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    Job.objects.filter(pk=home.pk).update(home=world.west, started_at=home.submitted_at + dt.timedelta(seconds=4))
    for index, waited in enumerate((1, 2, 3, 4)):
        ran(home, world.west, index, waited)
    ran(home, world.west, 4, 5, state=TaskState.FAILED)
    ran(home, world.west, 5, 5, reason=int(ContainerReason.PREEMPTED), state=TaskState.KILLED)
    ran(home, world.east, 6, 0.5)
    rounds(world.west, 30, placed=20)
    rounds(world.east, 3, placed=1)
    rounds(SubCluster.objects.create(name="third"), 3, placed=1000, ago_s=900)

    found = compared(world, "names=west,east&window_s=60")
    west, east = found["sub_clusters"]
    assert (west["name"], east["name"], found["window_s"]) == ("west", "east", 60)
    assert (west["allocations_per_s"], east["allocations_per_s"]) == pytest.approx((10.0, 0.05))
    assert west["utilization"] == pytest.approx(0.5, abs=0.01) and east["utilization"] == pytest.approx(0.1, abs=0.01)
    assert (west["allocation_latency_count"], east["allocation_latency_count"]) == (6, 1)
    assert west["allocation_latency_p50_s"] == pytest.approx(3.5) and west["allocation_latency_p99_s"] <= 5.0
    assert east["allocation_latency_p50_s"] == pytest.approx(0.5)
    assert (west["jobs"], west["job_wait_p50_s"]) == (1, pytest.approx(4.0))
    assert (west["ended"], west["failed"], west["preempted"]) == (6, 1, 1)
    assert west["failures_per_min"] == pytest.approx(600 / 6)
    assert west["round_count"] == 30 and west["round_p50_ms"] == pytest.approx(16.0)
    assert west["round_p99_ms"] == pytest.approx(30.2, abs=0.1)
    assert found["differs"] == []
    assert [s["name"] for s in compared(world)["sub_clusters"]] == ["east", "third", "west"]
    assert compared(world, "names=third&window_s=60")["sub_clusters"][0]["allocations_per_s"] == 0.0


def test_groups_that_wait_for_others_say_nothing_of_latency(world: World) -> None:
    groups = [
        {"name": "map", "count": 2, "command": ["true"]},
        {"name": "reduce", "command": ["true"], "after": ["map"]},
    ]
    home = Job.objects.get(pk=world["tenant"].post("jobs", job(groups=groups)).json()["id"])
    home.home_id = world.west.pk
    rows.container(home, 1, group=0)
    rows.container(home, 1, group=1)
    rows.container(home, 1, group=0, index=1, attempt=2)
    (west,) = compared(world, "names=west")["sub_clusters"]
    assert west["allocation_latency_count"] == 1


def test_tasks_that_came_to_a_service_later_say_nothing_of_latency(world: World) -> None:
    """As those of a master, and of a further revision: when they could have started is not kept."""
    counted = []
    for kind, services in (("service", {}), ("service", {"0": {"asked_us": 5}}), ("service", {"revision": 2})):
        home = Job.objects.get(pk=world["tenant"].post("jobs", job(kind=kind)).json()["id"])
        home.home_id = world.west.pk
        Job.objects.filter(pk=home.pk).update(services=services)
        rows.container(home, 1, group=0)
        (west,) = compared(world, "names=west")["sub_clusters"]
        counted.append(west["allocation_latency_count"])
    Job.objects.update(kind="application")
    rows.container(home, 1, group=1)
    (west,) = compared(world, "names=west")["sub_clusters"]
    assert [*counted, west["allocation_latency_count"]] == [1, 1, 1, 1]


def test_what_differs_is_named_with_its_values(world: World) -> None:
    base = PolicyVersion.objects.get(active=True)
    packed = base.document | {"components": {"placement": {"policy": "pack"}, "preemption": {"policy": "off"}}}
    other = versions.publish(SYSTEM, packed, "pack")
    PolicyVersion.objects.update(active=False)
    PolicyVersion.objects.filter(pk=base.pk).update(active=True)
    SubCluster.objects.filter(pk=world.east.pk).update(components_version=other)
    found = compared(world)
    assert found["differs"] == [
        {"setting": "placement.policy", "values": {"east": "pack", "west": "spread"}},
        {"setting": "preemption.policy", "values": {"east": "off", "west": "owed"}},
    ]
    assert [s["components_version"] for s in found["sub_clusters"]] == [other.pk, base.pk]


def test_what_one_document_says_of_single_sub_clusters_is_named(world: World) -> None:
    own = {"components": {"placement": {"policy": "pack"}, "locality": {"parameters": {"node_wait_s": 9.0}}}}
    versions.publish(SYSTEM, PolicyVersion.objects.get(active=True).document | {"sub_clusters": {"east": own}}, "A/B")
    found = compared(world)
    assert found["differs"] == [
        {"setting": "locality.node_wait_s", "values": {"east": 9.0, "west": 3.0}},
        {"setting": "placement.policy", "values": {"east": "pack", "west": "spread"}},
    ]
    east, west = found["sub_clusters"]
    assert (east["policies"]["placement"], west["policies"]["placement"]) == ("pack", "spread")
    assert east["policies"]["routing"] == west["policies"]["routing"] == "least_loaded"
    assert east["components_version"] == west["components_version"]


def test_what_is_of_the_whole_is_that_of_the_version_in_force(world: World) -> None:
    base = PolicyVersion.objects.get(active=True)
    other = versions.create(SYSTEM, base.document | {"components": {"routing": {"policy": "hash"}}}, "hash")
    SubCluster.objects.filter(pk=world.east.pk).update(components_version=other)
    found = compared(world)
    assert found["differs"] == []
    assert {s["policies"]["routing"] for s in found["sub_clusters"]} == {"least_loaded"}


def test_weights_are_one_setting() -> None:
    one = {"amrmproxy": {"policy": "weighted", "parameters": {"weights": {"a": 1.0}}}}
    (policy, weights) = (
        d
        for d in differing({"x": stored(one), "y": stored(None)})
        if d["setting"] in ("amrmproxy.policy", "amrmproxy.weights")
    )
    assert policy["values"] == {"x": "weighted", "y": "locality"}
    assert weights["values"] == {"x": {"a": 1.0}, "y": {}}


@pytest.mark.django_db(transaction=True)
def test_from_the_shell(world: World, tmp_path: Path) -> None:
    rounds(world.west, 30, placed=1200)
    packed = PolicyVersion.objects.get(active=True).document | {"components": {"placement": {"policy": "pack"}}}
    other = versions.publish(SYSTEM, packed, "pack")
    PolicyVersion.objects.update(active=False)
    PolicyVersion.objects.filter(parent=None).update(active=True)
    SubCluster.objects.filter(pk=world.east.pk).update(components_version=other)
    with web() as url:
        env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world["viewer"].token}

        def hydractl(*words: str) -> subprocess.CompletedProcess[str]:
            return run(("compare", *words), env)

        shown = hydractl("west", "east", "--window", "1h")  # however long it takes here
        assert shown.returncode == 0, shown.stderr
        lines = [line.split() for line in shown.stdout.splitlines()]
        assert ["allocations", "per", "s", "10.0", "0.0"] in lines
        assert ["placement.policy", "spread", "pack"] in lines
        assert hydractl("nowhere").returncode == 2
        found = json.loads(hydractl("-o", "json").stdout)
        assert [s["name"] for s in found["sub_clusters"]] == ["east", "west"]


def test_only_what_exists_within_bounds(world: World) -> None:
    assert world["operator"].get("sub-clusters/compare?names=west,nowhere").status_code == 404
    for wrong in ("window_s=1", "window_s=100000", "window_s=x", "names=" + "x" * 300):
        assert world["operator"].get(f"sub-clusters/compare?{wrong}").status_code == 422
    assert world["tenant"].get("sub-clusters/compare").status_code == 403


def test_a_long_history_costs_no_more(world: World) -> None:
    """A hundred thousand ended containers: the newest are read, through the index of ids."""
    home = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO statestore_container_history
               SELECT (%s::bigint << 52) + n, %s, 1, %s, 0, n, 1, %s, 1, 1, 1, 0, now(), now(), now(), 0, 0, 0, 0
                 FROM generate_series(1, 100000) n""",
            [world.west.pk, world.west.pk, home.pk, int(ContainerState.SUCCEEDED)],
        )
        cursor.execute("ANALYZE statestore_container_history")
    began = timezone.now()
    (west,) = compared(world, "names=west")["sub_clusters"]
    assert west["ended"] == 3000
    assert timezone.now() - began < dt.timedelta(seconds=2)
