"""Duties of nodes, the preview of a drain, maintenance windows and health texts, over HTTP."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from controlplane.policy import versions
from controlplane.router import cluster
from controlplane.statestore import loads
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.loads import Load, PartitionLoad
from controlplane.statestore.models import AuditEntry, Intent, Job, MaintenanceWindow, Node, SubCluster, TaskGroup
from controlplane.statestore.queries.queues import standing
from tests.integration.api import rows
from tests.integration.api.world import POLICY, World, job
from wire.states import NodeHealth, NodeState


@pytest.fixture
def here(world: World) -> int:
    """The number of west's node, which is up."""
    Node.objects.update(state=NodeState.UP)
    return world.nodes[0].session.node_id


def told(world: World, node_id: int) -> dict[str, Any]:
    answer = world["viewer"].get(f"nodes/{node_id}")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def carried_out() -> None:
    """Its RM has taken the intents."""
    Intent.objects.all().delete()


def test_a_drain_from_wish_to_drained(world: World, here: int) -> None:
    row = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    live = rows.container(row, here)
    answer = world["operator"].post(f"nodes/{here}/drain", {"deadline_s": 1800, "message": "new disks"})
    assert answer.status_code == 200, answer.content
    said = answer.json()
    assert (said["duty"], said["message"], said["duty_by"]) == ("draining", "new disks", "operator")
    ends = dt.datetime.fromisoformat(said["deadline"]) - timezone.now()
    assert dt.timedelta(minutes=29) < ends < dt.timedelta(minutes=31)
    assert Intent.objects.filter(kind="node", node_id=here, payload={"duty": "draining"}).count() == 1
    entry = AuditEntry.objects.get(action="node.drain")
    assert (entry.before, entry.after["duty"]) == ({"duty": "in_service"}, "draining")
    assert not told(world, here)["drained"]
    rows.end(live)
    assert not told(world, here)["drained"], "its RM has not heard of it, and may place something still"
    carried_out()
    assert told(world, here)["drained"]
    back = world["operator"].post(f"nodes/{here}/uncordon").json()
    assert (back["duty"], back["deadline"], back["drained"]) == ("in_service", None, False)


def test_without_a_deadline_nothing_is_stopped(world: World, here: int) -> None:
    assert world["operator"].post(f"nodes/{here}/drain", {"deadline_s": None}).json()["deadline"] is None


@pytest.mark.parametrize(
    "wrong", [{"deadline_s": -1}, {"deadline_s": 10**9}, {"message": "x" * 256}, {"message": "\0"}, {"when": 1}]
)
def test_a_drain_that_cannot_be_meant_is_refused(world: World, here: int, wrong: dict[str, Any]) -> None:
    assert world["operator"].post(f"nodes/{here}/drain", wrong).status_code == 422
    assert Node.objects.get(pk=here).duty == "in_service"
    assert world["operator"].post("nodes/999999/drain", {}).status_code == 404


def test_counts_and_routing_know_nodes_that_take_nothing(world: World, here: int) -> None:
    world["operator"].post(f"nodes/{here}/cordon", {"message": "fan"})
    west, east = world["tenant"].get("sub-clusters").json()["results"]
    assert west["duties"] == {"open": 0, "closed": 1, "cordoned": 1, "draining": 0} and west["nodes"]["up"] == 1
    assert east["duties"] == {"open": 1, "closed": 0, "cordoned": 0, "draining": 0}
    cluster.forget()
    found = {c.name: c.nodes_up for c in cluster.view().candidates}
    assert found == {"west": 0, "east": 1}


def test_the_preview_of_a_drain(world: World, here: int) -> None:
    """Three tasks of a service, two of which fit elsewhere; batch tasks that end, are stopped, and nobody knows."""
    other = Node.objects.create(
        sub_cluster=world.west, name="west-2", memory_mib=1024, vcores_milli=4000, state=NodeState.UP
    )
    Node.objects.create(
        sub_cluster=world.west, name="west-3", memory_mib=9999, vcores_milli=9999, state=NodeState.UP, duty="cordoned"
    )
    big = {"name": "web", "count": 4, "command": ["true"], "resources": {"memory_mib": 512, "vcores_milli": 500}}
    service = Job.objects.get(
        pk=world["tenant"].post("jobs", job(name="web", kind="service", groups=[big])).json()["id"]
    )
    for index in (0, 2, 3):
        rows.container(service, here, index=index, memory_mib=512, vcores_milli=500)
    rows.container(service, other.pk, index=1, memory_mib=0, vcores_milli=500)
    tasks = [
        {"name": name, "command": ["true"], "estimated_duration_s": estimate}
        for name, estimate in (("short", 600), ("long", 6000), ("unknown", 0))
    ]
    batch = Job.objects.get(pk=world["tenant"].post("jobs", job(groups=tasks)).json()["id"])
    for group in range(3):
        rows.container(batch, here, group=group)
    Node.objects.filter(sub_cluster=world.east).update(duty="cordoned")
    answer = world["operator"].get(f"nodes/{here}/drain?deadline_s=1800")
    assert answer.status_code == 200, answer.content
    preview = answer.json()
    (web,) = preview["services"]
    assert (web["tasks"], web["count"], web["at_once"], web["fit"]) == ([0, 2, 3], 4, 2, 2)
    assert not preview["services_fit"]
    TaskGroup.objects.filter(job_id=web["job"], name="web").update(count=7)  # it was scaled
    (web,) = world["operator"].get(f"nodes/{here}/drain").json()["services"]
    assert (web["tasks"], web["count"], web["at_once"]) == ([0, 2, 3], 7, 3)
    assert {b["group"]: b["outcome"] for b in preview["batch"]} == {
        "short": "ends", "long": "stopped", "unknown": "unknown"
    }  # fmt: skip
    Node.objects.filter(sub_cluster=world.east).update(duty="in_service", memory_mib=512)
    assert world["operator"].get(f"nodes/{here}/drain").json()["services_fit"], "the third fits in another sub-cluster"
    stays = POLICY | {"components": {"amrmproxy": {"policy": "home"}}}
    versions.publish(SYSTEM, stays, "nothing goes elsewhere")
    (web,) = world["operator"].get(f"nodes/{here}/drain").json()["services"]
    assert web["fit"] == 2, "where the policy lets it go"
    assert (preview["ends"], preview["stopped"], preview["unknown"]) == (1, 1, 1)
    calm = world["operator"].get(f"nodes/{here}/drain").json()
    assert calm["deadline"] is None and calm["ends"] == 3
    assert Node.objects.get(pk=here).duty == "in_service", "it was only asked"
    assert world["tenant"].get(f"nodes/{here}/drain").status_code == 403


def test_the_preview_of_a_drain_heeds_what_queues_may_hold(world: World, here: int) -> None:
    """Half of each sub-cluster, in the one it leaves less what leaves."""
    Node.objects.update(memory_mib=4096, vcores_milli=16_000)
    versions.publish(SYSTEM, {"queues": {"default": {"maximum": 0.5, "open_to_all": True}}}, "halves", force=True)
    web = {"name": "web", "count": 3, "command": ["true"], "resources": {"memory_mib": 512, "vcores_milli": 500}}
    number = world["tenant"].post("jobs", job(name="web", kind="service", groups=[web])).json()["id"]
    for index in range(3):
        rows.container(Job.objects.get(pk=number), here, index=index, memory_mib=512, vcores_milli=500)

    def fit(west_mib: int, east_mib: int) -> int:
        uses(world.west, "root.default", west_mib)
        uses(world.east, "root.default", east_mib)
        standing.forget()
        (found,) = world["operator"].get(f"nodes/{here}/drain").json()["services"]
        return int(found["fit"])

    assert [fit(1536, 512), fit(1536, 1024), fit(1536, 1536), fit(1536, 2048)] == [3, 2, 1, 0], "there is no other node"
    Node.objects.create(sub_cluster=world.west, name="west-2", memory_mib=4096, vcores_milli=16_000, state=NodeState.UP)
    assert [fit(4096, 2048), fit(5120, 2048), fit(9216, 2048)] == [3, 1, 0], "half of two nodes, less what leaves"


def uses(sub: SubCluster, queue: str, memory_mib: int) -> None:
    """Its leader has said that the queue holds so much of it."""
    none, used = np.zeros(3, np.int64), np.array([[memory_mib, 500, 0]], np.int64)
    part = PartitionLoad(none, none, [queue], used, np.zeros_like(used))
    known = Load(sub.pk, sub.name, "", True, 0.0, 1, 1, 0, 1, none, none, none, {"": part})
    connection.ensure_connection()
    assert loads.put(connection.connection, known)


def test_decommission_at_once_ends_the_credential(world: World, here: int) -> None:
    assert world.nodes[0]("GET", "session").status_code == 200
    said = world["operator"].post(f"nodes/{here}/decommission", {"message": "sold"}).json()
    assert (said["duty"], said["state"]) == ("decommissioned", "UP")
    assert world.nodes[0]("GET", "session").status_code == 200, "it is being emptied first"
    assert world["operator"].post(f"nodes/{here}/decommission", {"now": True}).status_code == 200
    assert world.nodes[0]("GET", "session").status_code == 401
    assert world["operator"].post(f"nodes/{here}/cordon").status_code == 409


def window(**fields: Any) -> dict[str, Any]:
    now = timezone.now()
    times = {
        "starts_at": (now + dt.timedelta(hours=2)).isoformat(), "ends_at": (now + dt.timedelta(hours=3)).isoformat()
    }  # fmt: skip
    return {"sub_cluster": "west", "node": "west-1", "message": "firmware"} | times | fields


def test_maintenance_windows_are_made_seen_and_cancelled(world: World, here: int) -> None:
    made = world["operator"].post("maintenance", window())
    assert made.status_code == 201, made.content
    assert (made.json()["nodes"], made.json()["state"], made.json()["lead_s"]) == (1, "planned", 600)
    assert Intent.objects.filter(kind="maintenance").count() == 1
    assert told(world, here)["maintenance"]["active"] is False
    soon = world["operator"].post("maintenance", window(node="", labels="rack == r1", lead_s=3 * 3600)).json()
    assert soon["state"] == "emptying"
    carried_out()
    assert told(world, here)["drained"], "it is kept from work, and empty"
    listed = world["tenant"].get("maintenance").json()["results"]
    assert [w["id"] for w in listed] == [made.json()["id"], soon["id"]]
    MaintenanceWindow.objects.filter(pk=soon["id"]).update(starts_at=timezone.now())
    assert [w["state"] for w in world["tenant"].get("maintenance").json()["results"]] == ["active", "planned"]
    for each in listed:
        assert world["operator"].post(f"maintenance/{each['id']}/cancel").json()["state"] == "cancelled"
    assert world["operator"].post(f"maintenance/{soon['id']}/cancel").status_code == 200, "asking twice"
    assert world["tenant"].get("maintenance").json()["results"] == []
    assert told(world, here)["maintenance"] is None
    assert AuditEntry.objects.filter(action="maintenance.cancel").count() == 2
    past = timezone.now() - dt.timedelta(hours=1)
    MaintenanceWindow.objects.update(starts_at=past - dt.timedelta(hours=1), ends_at=past)
    assert world["operator"].post(f"maintenance/{soon['id']}/cancel").status_code == 409


@pytest.mark.parametrize(
    "wrong",
    [{"node": ""}, {"rack": "r1"}, {"node": "", "labels": "gpu &&"}, {"ends_at": "2001-01-01T00:00:00Z"},
     {"starts_at": "2120-01-01T00:00:00"}, {"ends_at": "2999-01-01T00:00:00Z"}, {"lead_s": -1}],
)  # fmt: skip
def test_a_window_that_cannot_be_meant_is_refused(world: World, wrong: dict[str, Any]) -> None:
    answer = world["operator"].post("maintenance", window(**wrong))
    assert answer.status_code == 422, answer.content
    assert all(e["remedy"] for e in answer.json()["errors"])
    assert not MaintenanceWindow.objects.exists()
    assert world["operator"].post("maintenance", window(sub_cluster="nowhere")).status_code == 404


def test_the_health_text_is_shown_while_the_script_complains(world: World, here: int) -> None:
    node = world.nodes[0]
    assert node("POST", "health", {"text": "ERROR fan 3 stands still"}).status_code == 204
    assert told(world, here)["health_text"] == "", "the node itself says that it is well"
    Node.objects.filter(pk=here).update(health=NodeHealth.SCRIPT, state=NodeState.UNHEALTHY)
    said = told(world, here)
    assert (said["health"], said["health_text"]) == (["SCRIPT"], "ERROR fan 3 stands still")
    assert node("POST", "health", {"text": ""}).status_code == 204
    for wrong in ({"text": "x" * 201}, {"text": "a\nb"}, {"text": 1}, {}, [], {"text": "\x1b[2J"}):
        assert node("POST", "health", wrong).status_code == 422
    assert told(world, here)["health_text"] == ""


def test_a_list_of_nodes_costs_no_query_per_node(world: World, here: int, django_assert_max_num_queries: Any) -> None:
    for i in range(20):
        Node.objects.create(
            sub_cluster=world.west, name=f"more-{i}", memory_mib=1, vcores_milli=1, duty="draining",
        )  # fmt: skip
    world["viewer"].get("me")  # that the token is used is noted once in a while
    with django_assert_max_num_queries(7):
        found = world["viewer"].get("nodes?page_size=100").json()["results"]
    assert sum(n["drained"] for n in found) == 20
    (one,) = world["viewer"].get("nodes?name=more-7").json()["results"]
    assert one in world["viewer"].get("nodes?contains=ore-7").json()["results"]
    assert one["name"] == "more-7"


@pytest.mark.parametrize(("exclusive", "fit"), [(True, 0), (False, 1)])
def test_the_preview_knows_partitions(world: World, here: int, exclusive: bool, fit: int) -> None:
    partitions = {"gpu": {"nodes": "gpu", "exclusive": exclusive}}
    versions.publish(SYSTEM, POLICY | {"partitions": partitions}, "a partition")
    Node.objects.filter(sub_cluster=world.east).update(duty="cordoned")
    Node.objects.create(
        sub_cluster=world.west, name="g", memory_mib=4096, vcores_milli=4000, state=NodeState.UP, labels={"gpu": "yes"}
    )
    service = Job.objects.get(pk=world["tenant"].post("jobs", job(kind="service")).json()["id"])
    rows.container(service, here)
    (found,) = world["operator"].get(f"nodes/{here}/drain").json()["services"]
    assert found["fit"] == fit


def test_tenants_do_not_read_who_operates(world: World, here: int) -> None:
    world["operator"].post(f"nodes/{here}/cordon", {"message": "fan"})
    world["operator"].post("maintenance", window())
    Node.objects.filter(pk=here).update(health=NodeHealth.SCRIPT, health_text="ERROR in room 12")
    for path in (f"nodes/{here}", "nodes", "maintenance"):
        text = world["tenant"].get(path).content.decode()
        assert "operator" not in text and "room 12" not in text, path
        assert "operator" in world["viewer"].get(path).content.decode(), path
    assert world["tenant"].get(f"nodes/{here}").json()["message"] == "fan", "why it takes nothing is no secret"
