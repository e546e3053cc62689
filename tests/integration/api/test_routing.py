"""Where submitted jobs get their home: by the policy of their queue, among sub-clusters in every state."""

import datetime as dt
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from django.db import connection, connections
from django.utils import timezone

from controlplane.policy import federation, versions
from controlplane.router import cluster
from controlplane.statestore import loads
from controlplane.statestore.actions import nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.limited import Limited
from controlplane.statestore.models import IdempotencyKey, Intent, Job, JobEvent, Lease, Node, SubCluster
from controlplane.statestore.queries.subclusters import places
from tests.integration.api.world import Api, World, job
from tests.patience import stretched
from wire.nodeapi import Register
from wire.states import NodeState

CAPACITY = np.array([4096, 4000, 0])


def lead(sub: SubCluster, live: bool = True, used: float = 0.0, nodes_up: int = 1, **limited: float) -> None:
    """A leader of this sub-cluster, and what it last said. limited: what waits for maxima of queues below root."""
    until = timezone.now() + dt.timedelta(seconds=60 if live else -60)
    Lease.objects.update_or_create(sub_cluster=sub, defaults={"epoch": 1, "holder": "here", "expires_at": until})
    free = (CAPACITY * (1 - used)).astype(np.int64)
    waits = np.array([CAPACITY * part for part in limited.values()], np.int64).reshape(-1, len(CAPACITY))
    row = loads.Load(
        sub_cluster=sub.pk, name=sub.name, state=sub.state, led=live, age_s=0.0, epoch=1, policy_version=1,
        shares_version=0, nodes_up=nodes_up, capacity=CAPACITY, free=free, pending=waits.sum(axis=0),
        limited=Limited.of({"": ([f"root.{name}" for name in limited], waits)} if limited else {}),
    )  # fmt: skip
    connection.ensure_connection()
    assert loads.put(connection.connection, row)
    cluster.forget()


def state(sub: SubCluster, name: str) -> None:
    SubCluster.objects.filter(pk=sub.pk).update(state=name)
    cluster.forget()


def policy(**queue: Any) -> None:
    """Every queue routes to the least loaded; ``root.special`` as given."""
    queues = {"default": {"open_to_all": True}, "special": {"open_to_all": True, "children": {"a": {}}, **queue}}
    versions.publish(SYSTEM, {"queues": queues}, "for tests")
    cluster.forget()


@pytest.fixture
def both(world: World) -> World:
    Node.objects.update(state=NodeState.UP)
    for sub in (world.west, world.east):
        lead(sub)
    places.forget()
    return world


def sent(world: World, queue: str = "root.special.a", **fields: Any) -> str:
    answer = world["tenant"].post("jobs", job(queue=queue, **fields))
    assert answer.status_code == 201, answer.content
    return str(answer.json()["home"])


PRIORITY = {"routing": {"policy": "priority", "parameters": {"weights": {"east": 2, "west": 1}}}}


def test_a_queue_routes_by_its_own_policy_and_the_job_says_so(both: World) -> None:
    policy(federation=PRIORITY)
    assert [sent(both) for _ in range(3)] == ["east"] * 3
    assert Counter(sent(both, "root.default") for _ in range(4))["west"] >= 2
    told = world_events(both, Job.objects.filter(queue="root.special.a").latest("pk").pk)
    assert told == ["routed to east by priority (the highest weight, 2)"]
    last = world_events(both, Job.objects.filter(queue="root.default").latest("pk").pk)
    assert last[0].startswith("routed to ") and "by least_loaded (load " in last[0]


def world_events(world: World, job_id: int) -> list[str]:
    found = world["tenant"].get(f"jobs/{job_id}/events").json()["results"]
    return [e["message"] for e in found if e["kind"] == "routed"]


@pytest.mark.parametrize("name", ["draining", "lost", "joining"])
def test_nothing_is_sent_where_no_jobs_are_taken(both: World, name: str) -> None:
    policy(federation=PRIORITY)
    state(both.east, name)
    assert {sent(both) for _ in range(3)} == {"west"}
    state(both.east, "running")
    assert sent(both) == "east"


def test_a_sub_cluster_without_a_leader_or_nodes_is_passed_over_until_it_has_them_again(both: World) -> None:
    policy(federation=PRIORITY)
    lead(both.east, live=False)
    assert sent(both) == "west"
    lead(both.east, nodes_up=0)
    assert sent(both) == "west"
    lead(both.east)
    assert sent(both) == "east"
    for sub in (both.west, both.east):
        lead(sub, live=False)
    assert sent(both) == "east", "all are without a leader: it waits where its policy says"


def test_a_full_one_is_passed_over_and_the_fallback_may_refuse(both: World) -> None:
    policy(federation={"routing": {**PRIORITY["routing"], "parameters": {"weights": {"east": 1}, "full_load": 0.8}}})
    lead(both.east, used=0.9)
    assert sent(both) == "west"
    assert "least_loaded" in world_events(both, Job.objects.latest("pk").pk)[0]
    strict = {"weights": {"east": 1}, "full_load": 0.8, "fallback": "reject"}
    policy(federation={"routing": {"policy": "priority", "parameters": strict}})
    refused = both["tenant"].post("jobs", job(queue="root.special.a"))
    assert refused.status_code == 503 and int(refused["Retry-After"]) > 0
    assert "priority" in refused.json()["detail"]
    lead(both.east, used=0.5)
    assert sent(both) == "east"


def test_what_waits_for_a_queues_maximum_sends_its_own_jobs_elsewhere_and_no_others(both: World) -> None:
    policy()
    lead(both.west, used=0.1, special=3.0)
    lead(both.east, used=0.5)
    assert (sent(both, "root.default"), sent(both)) == ("west", "east")


def test_a_queue_that_rejects_says_what_its_operator_wrote(both: World) -> None:
    policy(federation={"routing": {"policy": "reject", "parameters": {"message": "moved to root.default"}}})
    before = Job.objects.count()
    answer = both["tenant"].post("jobs", job(queue="root.special.a"), **{"Idempotency-Key": "r"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "queue"
    assert answer.json()["errors"][0]["message"] == "moved to root.default"
    assert Job.objects.count() == before and not IdempotencyKey.objects.filter(key="r").exists()


def test_local_first_spills_over_in_order(both: World) -> None:
    order = {"policy": "local_first", "parameters": {"order": ["east", "west"], "spill_load": 0.8}}
    policy(federation={"routing": order})
    third = [{"name": "g", "command": ["true"], "resources": {"memory_mib": 1300, "vcores_milli": 100}}]
    assert [sent(both, groups=third) for _ in range(5)] == ["east", "east", "west", "west", "east"]


def test_jobs_go_where_what_they_name_is(both: World) -> None:
    policy(federation={"routing": {"policy": "locality"}})
    nodes.bulk_register(both.east, [Register("", "gpu-1", "r9", 4096, 4000, 1, labels={"disk": "nvme"}, host="h")])
    lead(both.east, used=0.9)
    assert sent(both) == "west", "it names nothing, and west is less loaded"
    named = {"name": "g", "count": 4, "command": ["true"]}
    for where in ({"locality": {"nodes": ["gpu-1"]}}, {"locality": {"racks": ["r9"]}}, {"node_labels": "disk == nvme"}):
        assert sent(both, groups=[named | where]) == "east"
        assert "4 of its 4 containers" in world_events(both, Job.objects.latest("pk").pk)[0]
    assert sent(both, groups=[named | {"locality": {"nodes": ["nowhere"]}}]) == "west"


def test_hashing_gives_a_queue_one_home(both: World) -> None:
    policy(federation={"routing": {"policy": "hash"}})
    first = sent(both)
    assert {sent(both) for _ in range(5)} == {first}
    state(both.east if first == "east" else both.west, "draining")
    assert sent(both) != first
    state(both.east if first == "east" else both.west, "running")
    assert sent(both) == first


def test_a_submit_repeated_after_an_unknown_outcome_keeps_its_first_home(both: World) -> None:
    """The answer is lost, the load changes, the client sends the same again: one job, one home."""
    policy(federation={"routing": {"policy": "least_loaded", "parameters": {"full_load": 0.8}}})
    key = {"Idempotency-Key": "unknown"}
    first = both["tenant"].post("jobs", job(queue="root.special.a"), **key).json()
    lost = both.west if first["home"] == "west" else both.east
    lead(lost, used=0.95)
    state(lost, "draining")
    again = both["tenant"].post("jobs", job(queue="root.special.a"), **key)
    assert again.status_code == 201 and again.json() == first
    found = Job.objects.get(pk=first["id"])
    assert found.home_id == lost.pk
    assert Intent.objects.filter(job_id=found.pk, kind="submit").count() == 1
    assert JobEvent.objects.filter(job_id=found.pk, kind="routed").count() == 1
    bulk = {"jobs": [job(queue="root.special.a")] * 3}
    ids = [both["tenant"].post("jobs/bulk", bulk, **{"Idempotency-Key": "many"}).json() for _ in range(2)]
    assert ids[0] == ids[1] and Job.objects.filter(pk__in=ids[0]["ids"]).count() == 3
    assert Intent.objects.filter(job_id__in=ids[0]["ids"], kind="submit").count() == 3


@pytest.mark.django_db(transaction=True)
def test_the_same_submit_at_the_same_moment_gets_one_home(both: World) -> None:
    """Eight threads with one key and two sub-clusters to choose from: one job, and the same answer for all."""
    policy(federation={"routing": {"policy": "uniform"}})
    start = threading.Barrier(8)

    def send(_: int) -> tuple[int, Any]:
        try:
            start.wait(stretched(10))
            answer = Api(both["tenant"].token).post("jobs", job(queue="root.special.a"), **{"Idempotency-Key": "one"})
            return answer.status_code, answer.json()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert {status for status, _ in answers} == {201}
    assert all(body == answers[0][1] for _, body in answers)
    (only,) = Job.objects.filter(queue="root.special.a")
    assert only.home.name == answers[0][1]["home"]
    assert (
        Intent.objects.filter(job_id=only.pk, kind="submit").values_list("sub_cluster_id", flat=True).get()
        == only.home_id
    )


def test_what_was_sent_counts_until_its_leader_has_looked(both: World) -> None:
    policy()
    half = [{"name": "g", "command": ["true"], "resources": {"memory_mib": 2000, "vcores_milli": 100}}]
    homes = []
    for _ in range(4):
        homes.append(sent(both, "root.default", groups=half))
        cluster._state.view.read_at -= 1  # the next one reads anew
    assert Counter(homes) == {"west": 2, "east": 2}


@pytest.mark.parametrize(
    ("field", "value", "wrong", "remedy"),
    [
        ("special.federation", {"routing": {"policy": "nearest"}}, "routing.policy", "'hash'"),
        ("special.federation", {"routing": {"policy": "priority"}}, "routing.parameters", "add the field"),
        (
            "special.federation",
            {"routing": {"policy": "priority", "parameters": {"weights": {"north": 1}}}},
            "routing.parameters.weights.north",
            "use one of: east, west",
        ),
        (
            "special.federation",
            {"routing": {"policy": "local_first", "parameters": {"order": ["east", "north"]}}},
            "routing.parameters.order.1",
            "use one of: east, west",
        ),
        (
            "special.federation",
            {"routing": {"policy": "locality"}, "amrmproxy": {"policy": "broadcast"}},
            "amrmproxy.policy",
            "use one of: locality, home",
        ),
        (
            "special.federation",
            {
                "routing": {"policy": "priority", "parameters": {"weights": {"east": 1}}},
                "amrmproxy": {"policy": "weighted", "parameters": {"weights": {"west": 1}}},
            },
            "amrmproxy.parameters.weights",
            "add east",
        ),
        (
            "special.federation",
            {"amrmproxy": {"parameters": {"weights": {"west": 0}}}},
            "amrmproxy.parameters.weights",
            "above 0",
        ),
        (
            "special.federation",
            {"amrmproxy": {"parameters": {"alpha": 1.5}}},
            "amrmproxy.parameters.alpha",
            "1 or less",
        ),
        (
            "special.federation",
            {"amrmproxy": {"policy": "home", "parameters": {"alpha": 0.5}}},
            "amrmproxy.parameters.alpha",
            "remove it",
        ),
    ],
)
def test_a_wrong_pair_is_refused_by_name(world: World, field: str, value: Any, wrong: str, remedy: str) -> None:
    for at, document in (
        (f"queues.{field}", {"queues": {"special": {"federation": value}}}),
        ("components", {"queues": {"special": {}}, "components": value}),
    ):
        answer = world["operator"].post("policy/validate", {"document": document})
        errors = answer.json()["errors"]
        assert [e["field"] for e in errors] == [f"{at}.{wrong}"], errors
        assert remedy in errors[0]["remedy"]
        assert world["operator"].post("policy", {"document": document, "message": "m"}).status_code == 422


def test_proxies_follow_the_pair_of_the_nearest_queue_above(world: World) -> None:
    document = {
        "queues": {
            "a": {
                "federation": {
                    "routing": {"policy": "weighted_random", "parameters": {"weights": {"east": 3}}},
                },
                "children": {"b": {"children": {"c": {"federation": {"amrmproxy": {"policy": "home"}}}}}},
            },
            "d": {},
        },
        "components": {"amrmproxy": {"policy": "weighted", "parameters": {"relax_after_s": 9}}},
    }
    stored = versions.publish(SYSTEM, document, "m").document
    ids = {"west": world.west.pk, "east": world.east.pk}
    of = federation.proxy_policies(stored, ids)
    assert of("root.a.b").policy == "locality" and of("root.a.b").weights == {world.east.pk: 3}
    assert of("root.a.b").vector([world.west.pk, world.east.pk]).tolist() == [0, 3], "the weights of the other half"
    assert of("root.a.b.c").policy == "home", "a half left out has its default, the other half too"
    assert federation.routers(stored)("root.a.b.c").name == "least_loaded"
    assert (of("root.d").policy, of("root.d").relax_after_s, of("root.d").prefer_home) == ("weighted", 9, False)
    assert of("root.a.b.c").prefer_home
    staged = federation.proxy_policies(stored, ids, {"amrmproxy": {"policy": "home"}})
    assert staged("root.d").policy == "home" and staged("root.a.b").policy == "locality"
    early = federation.proxy_policies(stored, {"west": world.west.pk})("root.a")
    assert early.vector([world.west.pk]).tolist() == [0], "one that is not known yet keeps the others out all the same"
    nothing = federation.proxy_policies(None, ids)
    assert nothing("root.default").policy == "locality" and nothing("root.default").prefer_home


def register(sub: SubCluster, name: str, rack: str = "r1", **more: Any) -> None:
    """A node that is up."""
    values = {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 0, "labels": {}} | more
    size = [values.pop(axis) for axis in ("memory_mib", "vcores_milli", "gpus")]
    nodes.bulk_register(sub, [Register("", name, rack, *size, host="h", **values)])
    Node.objects.filter(name=name).update(state=NodeState.UP)
    places.forget()


LARGE = {"memory_mib": 8192, "vcores_milli": 1000}
OF_EAST: dict[str, dict[str, Any]] = {
    "a node": {"locality": {"nodes": ["big"], "relax": False}},
    "a node as a label": {"node_labels": "node == big"},
    "a rack": {"locality": {"racks": ["r9"], "relax": False}},
    "a label": {"node_labels": "disk == nvme"},
    "an expression that both have a part of": {"node_labels": "zone in (a, b) && disk == nvme"},
    "memory": {"resources": LARGE},
    "cores": {"resources": {"memory_mib": 64, "vcores_milli": 6000}},
    "a GPU": {"resources": {"memory_mib": 64, "vcores_milli": 100, "gpus": 1}},
    "a gang of large ones": {"gang": True, "count": 2, "resources": LARGE},
    "a gang of many": {"gang": True, "count": 9, "resources": {"memory_mib": 1700, "vcores_milli": 100}},
    "a partition": {"partition": "fast"},
}


@pytest.fixture
def apart(both: World) -> World:
    """East has one large node that is busy, in a rack of its own, with a disk, a GPU and a partition; west is idle."""
    document = {
        "queues": {"default": {"open_to_all": True}, "special": {"open_to_all": True, "children": {"a": {}}}},
        "partitions": {"fast": {"nodes": "disk == nvme", "exclusive": False}},
    }
    versions.publish(SYSTEM, document, "for tests")
    Node.objects.all().delete()
    for number in range(2):
        register(both.west, f"small{number}", labels={"zone": "a"})
    large = {"memory_mib": 16384, "vcores_milli": 8000, "gpus": 1, "labels": {"zone": "b", "disk": "nvme"}}
    register(both.east, "big", "r9", **large)
    lead(both.east, used=0.9)
    cluster.forget()
    return both


@pytest.mark.parametrize("what", OF_EAST)
def test_a_job_goes_where_nodes_can_hold_it_however_busy_they_are(apart: World, what: str) -> None:
    group = {"name": "g", "command": ["true"]}
    assert sent(apart, groups=[group]) == "west", "anybody can hold it, and west is idle"
    assert sent(apart, groups=[group | OF_EAST[what]]) == "east"
    assert world_events(apart, Job.objects.latest("pk").pk)[0].endswith("; 1 other could not hold it)")


def test_what_no_sub_cluster_can_hold_is_said_so_and_waits(apart: World) -> None:
    group = {"name": "g", "command": ["true"], "node_labels": "node != big && disk == nvme"}
    sent(apart, groups=[group])
    assert (
        "no sub-cluster has nodes in service that could hold it" in world_events(apart, Job.objects.latest("pk").pk)[0]
    )


def test_nodes_that_operators_empty_hold_nothing_and_kinds_beyond_the_bound_might(
    apart: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"name": "g", "command": ["true"]}
    Node.objects.filter(name="big").update(duty=Node.Duty.DRAINING)
    places.forget()
    assert sent(apart, groups=[group | {"resources": LARGE}]) == "west", "neither can"
    Node.objects.filter(name="big").update(duty=Node.Duty.IN_SERVICE)
    monkeypatch.setattr(places, "MAX_KINDS", 0)
    places.forget()
    assert sent(apart, groups=[group | {"resources": LARGE}]) == "east", "by size it is the only one"
    assert sent(apart, groups=[group | {"node_labels": "disk == nvme"}]) == "west", "either might have such a node"
    places.forget()
