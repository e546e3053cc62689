"""Where containers serve: told by their node, shown to whom may see the job, gone with the container."""

import json
from typing import Any

import pytest

from controlplane.dashboard import snapshots
from controlplane.dashboard.topics import parse
from controlplane.statestore.actions import endpoints as actions
from controlplane.statestore.models import AuditEntry, Endpoint, Job, Node
from controlplane.statestore.queries.jobs import endpoints
from controlplane.statestore.queries.looks import Look
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.ids import format_container

PORTS = [{"name": "http"}, {"name": "admin-2"}]
SERVICE = job(kind="service", groups=[{"name": "web", "count": 3, "command": ["serve"], "ports": PORTS}])


@pytest.fixture
def service(world: World) -> Job:
    return Job.objects.get(pk=world["tenant"].post("jobs", SERVICE).json()["id"])


def tell(world: World, container: Any, body: Any, node: int = 0) -> int:
    path = f"containers/{format_container(container.pk)}/endpoints"
    return int(world.nodes[node]("POST", path, body).status_code)


def node_id(world: World, node: int = 0) -> int:
    return world.nodes[node].session.node_id


def test_a_nodes_word_is_shown_with_host_health_and_address(world: World, service: Job) -> None:
    second, first = (rows.container(service, node_id(world), index=i) for i in (1, 0))
    assert tell(world, first, {"endpoints": {"http": 20_000, "admin-2": 20_001}}) == 204
    assert tell(world, second, {"endpoints": {"http": 20_002}, "healthy": True}) == 204
    assert tell(world, first, {"endpoints": {"http": 20_000, "admin-2": 20_001}, "healthy": False}) == 204
    page = world["tenant"].get(f"jobs/{service.pk}/endpoints?page_size=2").json()
    assert [(e["index"], e["name"], e["port"], e["healthy"]) for e in page["results"]] == [
        (0, "http", 20_000, False), (0, "admin-2", 20_001, False)
    ]  # fmt: skip
    assert page["results"][0] | {"checked_at": 0} == {
        "name": "http", "group": "web", "index": 0, "container": format_container(first.pk), "node": "west-1",
        "host": "10.0.0.1", "port": 20_000, "healthy": False, "checked_at": 0,
        "proxy": f"/proxy/{service.pk}/web.0.http/", "revision": 1,
    }  # fmt: skip
    rest = world["tenant"].get(page["next"].replace("http://testserver", "")).json()
    assert [e["port"] for e in rest["results"]] == [20_002] and rest["next"] is None
    assert world["other"].get(f"jobs/{service.pk}/endpoints").status_code == 404
    topic = parse(f"job:{service.pk}")
    assert topic is not None
    shown = snapshots.read(world.users["tenant"].pk, topic, Look())
    assert isinstance(shown, snapshots.TopicSnapshot)
    assert [e["port"] for e in json.loads(shown.body)["endpoints"]["results"]] == [20_000, 20_001, 20_002]


@pytest.mark.parametrize(
    "wrong",
    [
        None, [], {}, {"endpoints": {}}, {"endpoints": ["http"]}, {"endpoints": {"http": "80"}},
        {"endpoints": {"http": 80}}, {"endpoints": {"http": 70_000}}, {"endpoints": {"http": True}},
        {"endpoints": {"http": 20_000}, "healthy": "yes"},
    ],
)  # fmt: skip
def test_what_is_no_endpoint_is_refused_with_its_field(world: World, service: Job, wrong: Any) -> None:
    live = rows.container(service, node_id(world))
    assert tell(world, live, wrong) == 422
    assert not Endpoint.objects.exists()


def test_a_node_speaks_for_its_own_live_containers_and_declared_ports_only(world: World, service: Job) -> None:
    live = rows.container(service, node_id(world))
    assert tell(world, live, {"endpoints": {"http": 20_000}}, node=1) == 403
    assert tell(world, live, {"endpoints": {"ssh": 20_000}}) == 403
    assert AuditEntry.objects.filter(action="node.refused").count() == 2
    rows.end(live)
    assert tell(world, live, {"endpoints": {"http": 20_000}}) == 409
    assert not Endpoint.objects.exists()


def test_what_has_ended_is_not_shown_and_goes(world: World, service: Job) -> None:
    live, ended = (rows.container(service, node_id(world), index=i) for i in (0, 1))
    for port, container in ((20_000, live), (20_001, ended)):
        assert tell(world, container, {"endpoints": {"http": port}}) == 204
    rows.end(ended)
    shown = world["tenant"].get(f"jobs/{service.pk}/endpoints").json()["results"]
    assert [e["port"] for e in shown] == [20_000]
    assert actions.purge() == 1 and Endpoint.objects.get().port == 20_000
    assert actions.purge() == 0


def test_a_node_sends_the_proxy_nowhere_but_to_itself(world: World, service: Job, settings: Any) -> None:
    live = rows.container(service, node_id(world))

    def host(registered: str, **allowed: Any) -> str:
        settings.HYDRA = settings.HYDRA | allowed
        Node.objects.filter(pk=node_id(world)).update(host=registered)
        assert tell(world, live, {"endpoints": {"http": 20_000}}) == 204
        found = endpoints.target(service.pk, "http")
        assert found is not None and found.port == 20_000
        return found.host

    for elsewhere in ("169.254.169.254", "db.internal", "[::1]", "::ffff:10.0.0.7", ""):
        assert host(elsewhere) == "127.0.0.1", "where its own requests come from"
    allowed = {"node_hosts": ["10.0.0.0/8", "*.rack.example", "2001:db8::/32"]}
    for own in ("10.2.3.4", "n1.rack.example", "2001:db8::7"):
        assert host(own, **allowed) == own
    for elsewhere in ("11.0.0.1", "rack.example.evil", "n1.rack.example.evil"):
        assert host(elsewhere, **allowed) == "127.0.0.1"


def test_the_proxy_is_told_a_healthy_endpoint_of_a_node_that_still_says_so(world: World, service: Job) -> None:
    containers = [rows.container(service, node_id(world), index=i) for i in range(3)]
    for i, healthy in enumerate((False, None, True)):
        tell(world, containers[i], {"endpoints": {"http": 20_000 + i}, "healthy": healthy})

    def port(wanted: str) -> int | None:
        found = endpoints.target(service.pk, wanted)
        return found and found.port

    assert port("http") == 20_002  # the healthy one
    assert [port(f"web.{i}.http") for i in range(3)] == [20_000, 20_001, 20_002]
    assert [port(w) for w in ("admin-2", "web.9.http", "x.0.http", "web.http", "web.0.http.", "", "%")] == [None] * 7
    rows.end(containers[2])
    assert port("http") == 20_001
    Node.objects.filter(pk=node_id(world)).update(host="10.9.9.9")  # registered anew, and nothing told since
    assert port("http") is None
    assert endpoints.target(service.pk + 1, "http") is None
