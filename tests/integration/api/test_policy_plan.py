"""What a policy would do to the shares of now, told before it is pushed."""

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from controlplane.statestore import loads
from controlplane.statestore.loads import PartitionLoad
from controlplane.statestore.models import AuditEntry, Lease, PolicyVersion, SubCluster
from tests.integration.api.test_policy_cli import Hydractl, hydractl  # noqa: F401 - a fixture
from tests.integration.api.world import POLICY, World

CAPACITY = np.array([4000, 4000, 0])
NONE = {"memory_mib": 0, "vcores_milli": 0, "gpus": 0}


def says(sub: SubCluster, **queues: tuple[int, int]) -> None:
    """A leader of the sub-cluster says what its queues use and want, in MiB and thousandths of a core."""
    until = timezone.now() + dt.timedelta(seconds=60)
    Lease.objects.update_or_create(sub_cluster=sub, defaults={"epoch": 1, "holder": "here", "expires_at": until})
    used, wanted = (np.array([[amounts[i]] * 2 + [0] for amounts in queues.values()]).reshape(-1, 3) for i in (0, 1))
    part = PartitionLoad(
        CAPACITY, CAPACITY - used.sum(axis=0), [name.replace("_", ".") for name in queues], used, wanted
    )
    row = loads.Load(
        sub_cluster=sub.pk, name=sub.name, state=sub.state, led=True, age_s=0.0, epoch=1, policy_version=1,
        shares_version=0, nodes_up=1, capacity=CAPACITY, free=part.free, pending=wanted.sum(axis=0), queues={"": part},
    )  # fmt: skip
    connection.ensure_connection()
    assert loads.put(connection.connection, row)


def document(default: float, etl: float) -> dict[str, Any]:
    queues = {"default": {"guaranteed": default}, "prod": {"guaranteed": etl, "children": {"etl": {}, "web": {}}}}
    return {"queues": POLICY["queues"] | queues}


def plan(world: World, made: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    found = world["operator"].post("policy/plan", {"document": made})
    assert found.status_code == 200, found.content
    told = found.json()
    return told, {queue["path"]: queue for queue in told["queues"]}


def test_who_gets_less_and_gives_back_is_told_before(world: World) -> None:
    for sub in (world.west, world.east):
        says(sub, root_default=(4000, 0), root_prod_etl=(0, 4000))
    before = PolicyVersion.objects.count(), AuditEntry.objects.count()
    told, queues = plan(world, document(0.1, 0.8))
    assert told["from"] == PolicyVersion.objects.get(active=True).pk
    assert told["capacity"] == {"memory_mib": 8000, "vcores_milli": 8000, "gpus": 0}
    assert {row["name"]: row["led"] for row in told["sub_clusters"]} == {"west": True, "east": True}
    default, prod = queues["root.default"], queues["root.prod"]
    assert default["before"]["guaranteed"]["memory_mib"] == 4000 and default["after"]["guaranteed"]["memory_mib"] == 800
    assert default["moved"] == pytest.approx(-prod["moved"]) and default["moved"] < -0.3
    assert default["after"]["gives_back"]["memory_mib"] > default["before"]["gives_back"]["memory_mib"] > 0
    assert prod["after"]["due"]["memory_mib"] >= 6400 and prod["after"]["gives_back"] == NONE
    assert told["gives_back"] == default["after"]["gives_back"] and told["starving"] == 0
    assert abs(told["queues"][0]["moved"]) == max(abs(q["moved"]) for q in told["queues"]), "largest change first"
    assert (PolicyVersion.objects.count(), AuditEntry.objects.count()) == before, "nothing is changed by looking"


def test_a_queue_that_can_get_nothing_starves(world: World) -> None:
    says(world.west, root_default=(3000, 9000), root_closed=(0, 1000))
    _, queues = plan(world, {"queues": POLICY["queues"] | {"closed": {"guaranteed": 0.0, "maximum": 0.0}}})
    assert not queues["root.closed"]["before"]["starves"] and queues["root.closed"]["after"]["starves"]
    assert queues["root.closed"]["after"]["lacks"]["memory_mib"] == 1000


def test_queues_that_come_and_go_have_one_side(world: World) -> None:
    says(world.west, root_prod_etl=(1000, 500))
    told, queues = plan(world, {"queues": {"default": {"guaranteed": 0.5}, "new": {"guaranteed": 0.5}}})
    assert queues["root.prod.etl"]["after"] is None and queues["root.new"]["before"] is None
    assert told["changed"] >= 4 and queues["root.new"]["after"]["share"]["memory_mib"] > 1000


@pytest.mark.parametrize("preemption", ["observe", "off"])
@pytest.mark.parametrize("policy", ["gif", "uniform", "load_based", "static"])
def test_every_way_of_dividing_has_a_plan(world: World, policy: str, preemption: str) -> None:
    says(world.west, root_default=(2000, 4000), root_prod_etl=(1000, 4000))
    says(world.east)
    made = document(0.3, 0.6) | {"components": {"shares": {"policy": policy}, "preemption": {"policy": preemption}}}
    told, queues = plan(world, made)
    assert queues["root.prod"]["after"]["share"]["memory_mib"] > 0 and told["gives_back"] == NONE


def test_where_nothing_is_taken_back_nothing_is_given_back(world: World) -> None:
    for sub in (world.west, world.east):
        says(sub, root_default=(4000, 0), root_prod_etl=(0, 4000))
    off = {"components": {"preemption": {"policy": "off"}}}

    def given_back(*without: str) -> dict[str, int]:
        told, _ = plan(world, document(0.1, 0.8) | {"sub_clusters": dict.fromkeys(without, off)})
        return told["gives_back"]

    each = [given_back(name)["memory_mib"] for name in ("east", "west")]
    assert min(each) > 0 and sum(each) == pytest.approx(given_back()["memory_mib"], abs=2)
    assert given_back("east", "west") == NONE


def test_without_loads_it_says_so_and_a_wrong_document_is_refused(world: World) -> None:
    told, _ = plan(world, document(0.1, 0.8))
    assert told["loads_missing"] and told["queues"]
    wrong = world["operator"].post("policy/plan", {"document": {"queues": {"a": {"guaranteed": 2}}}})
    assert wrong.status_code == 422 and wrong.json()["errors"][0]["field"].startswith("queues.a.guaranteed")


def test_the_audit_log_is_filtered(world: World) -> None:
    world["operator"].post("policy", {"document": document(0.3, 0.6), "message": "a change"})
    found = world["operator"].get("audit?action=policy.publish&actor=operator").json()["results"]
    assert [(e["action"], e["actor"]) for e in found] == [("policy.publish", "operator")]
    assert found[0]["target"].startswith("policy")
    assert world["operator"].get(f"audit?target={found[0]['target']}&actor=nobody").json()["results"] == []
    assert {e["actor"] for e in world["operator"].get("audit?actor=system").json()["results"]} == {None}


@contextmanager
def saying(sub: SubCluster, **queues: tuple[int, int]) -> Iterator[None]:
    """A leader says it once a second: on a slow machine shells, and what web has beside it, take longer than one is
    believed that says nothing more."""
    over = threading.Event()

    def go_on() -> None:
        try:
            while not over.wait(1.0):
                says(sub, **queues)
        finally:
            connection.close()

    says(sub, **queues)
    leader = threading.Thread(target=go_on)
    leader.start()
    try:
        yield
    finally:
        over.set()
        leader.join()


@pytest.mark.django_db(transaction=True)
def test_hydractl_tells_the_plan(hydractl: Hydractl, world: World, tmp_path: Any) -> None:  # noqa: F811
    file = tmp_path / "policy.yaml"
    file.write_text(hydractl.good("policy", "get").replace("guaranteed: 0.5", "guaranteed: 0.1"))
    with saying(world.west, root_default=(4000, 0), root_prod_etl=(0, 4000)):
        shown = hydractl.good("policy", "plan", "-f", str(file))
        assert "root.default guaranteed 50 % -> 10 %" in shown and "would be taken back" in shown
        assert "root.default" in hydractl.good("policy", "plan", "-f", str(file), "-o", "json")
    assert hydractl("policy", "plan", "-f", str(file), role="tenant").returncode == 2
