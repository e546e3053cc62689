"""What a hostile tenant can read: a marker in every name of another tenant is nowhere in it.

The addresses come from the URL list and the topics from the list of topics, so
that what is added later is looked at, too. Whatever numbers an address takes
are those of the other tenant's things.
"""

import json
import time
from dataclasses import fields
from typing import Any

import pytest
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.dashboard import snapshots, topics
from controlplane.policy import versions
from controlplane.statestore import bus
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Job, SubCluster, TaskGroup, UsageHour
from controlplane.statestore.queries.nodes import fleet
from controlplane.statestore.queries.queues import standing
from tests.integration.api import rows
from tests.integration.api.test_matrix import Objects, routes
from tests.integration.api.world import PASSWORD, POLICY, Api, World, job
from wire import keys
from wire.ids import format_container
from wire.states import JobState
from wire.summary import Observed, Summary, encode

MARK = "zq7secret"  # lower case, so that it may be a part of any name
SPIES = ("tenant", "admin")  # one without rights, one with rights in a queue beside the victim's
REASON = {
    "code": "queue_maximum", "text": f"The queue root.{MARK}.deep is at its maximum: 2 cores left.", "waiting": 1,
    "asked": {}, "position": {"jobs_ahead": 3, "containers_ahead": 4242}, "estimate": None, "change": None,
    "at": "2026-01-01T00:00:00+00:00", "limits": [],
}  # fmt: skip


@pytest.fixture
def victim(world: World) -> Objects:
    """Another tenant with everything it can have, whose every name is the marker."""
    tree = POLICY["queues"] | {
        MARK: {"guaranteed": 0.0, "submit": [f"{MARK}-user"], "children": {"deep": {"guaranteed": 0.5}, "else": {}}}
    }
    versions.publish(SYSTEM, {"queues": tree}, f"{MARK} message")
    user = accounts.create(SYSTEM, f"{MARK}-user", PASSWORD, "tenant")
    accounts.grant_queue(SYSTEM, user, f"root.{MARK}", "admin")
    api = Api(Api().post("auth/login", {"username": user.username, "password": PASSWORD}).json()["token"])
    group = {
        "name": f"{MARK}-group", "count": 2, "command": [f"/bin/{MARK}", MARK], "env": {MARK.upper(): MARK},
        "outputs": [{"name": f"{MARK}-out", "path": f"{MARK}.txt"}],
    }  # fmt: skip
    made: list[Job] = []
    for queue in (f"root.{MARK}.deep", "root.default"):
        wanted = job(name=f"{MARK}-job", queue=queue, tags=[f"{MARK}-tag"], groups=[group])
        answer = api.post("jobs", wanted)
        assert answer.status_code == 201, answer.content
        made.append(Job.objects.get(pk=answer.json()["id"]))
    api.post("saved-views", {"name": f"{MARK}-view", "query": f"queue=root.{MARK}"})
    for row in made:
        live = rows.container(row, world.nodes[0].session.node_id)
        rows.tell(row.pk, "retry", f"{MARK} event")
        TaskGroup.objects.filter(job_id=row.pk).update(reason=REASON, running=1)
        Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING, message=f"{MARK} message")
    UsageHour.objects.create(
        hour=timezone.now(), sub_cluster_id=world.west.pk, queue=f"root.{MARK}.deep", owner_id=user.pk, containers=1
    )
    standing.forget()
    return Objects(
        made[0].pk, format_container(live.pk), world.nodes[0].session.node_id, digest="0" * 64, path=f"root.{MARK}.deep"
    )


def readable() -> list[str]:
    """Every address a signed-in account may send a GET to."""
    return sorted(
        route for method, route in routes() if method == "GET" and route.startswith(("api/", "healthz", "metrics"))
    )


QUERIES = ("", f"?queue=root.{MARK}", f"?owner={MARK}-user", f"?under=root.{MARK}", "?scope=cluster&metric=allocated",
           f"?scope=queue:root.{MARK}&metric=allocated", f"?name={MARK}", "?page_size=1000")  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("role", SPIES)
def test_no_address_tells_a_tenant_what_another_has_named(world: World, victim: Objects, role: str) -> None:
    told = []
    for route in readable():
        for query in QUERIES:
            answer = world[role]("GET", _address(victim, route) + query)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            if MARK in _beyond_asked(body.decode(errors="replace"), query):
                told.append((route, query, answer.status_code))
    assert not told


def _address(found: Objects, route: str) -> str:
    class Any_(Objects):
        def __getattr__(self, name: str) -> Any:  # an address added later takes some number or name
            return 1

    return Any_(**{f: getattr(found, f) for f in found.__dataclass_fields__}).address(route)


def _beyond_asked(body: str, query: str) -> str:
    """The answer without what the spy has said itself, in pages' addresses and complaints."""
    for said in (f"root.{MARK}", f"{MARK}-user", MARK):
        if said in query and said in body and "errors" in body[:400]:
            body = body.replace(said, "")
    return body


def test_every_topic_is_looked_at(world: World, victim: Objects) -> None:
    """What a socket sends is what these reads answer."""
    names = [*topics.PLAIN, f"job:{victim.job_id}", f"queueuse?sub_cluster={world.west.name}"]
    names += [f"queuematrix?under=root.{MARK}", f"jobs?queue=root.{MARK}.deep", f"jobs?owner={MARK}-user"]
    for role in SPIES:
        for name in names:
            topic = topics.parse(name)
            assert topic is not None, name
            user = User.objects.get(username=role)
            if topic.kind == "fleet":  # told in steps
                body = fleet.look(user).whole()
            else:
                body = json.dumps(snapshots.READS[topic.kind](user, topic), default=str)
            if "?" in name:
                body = body.replace(f"root.{MARK}.deep", "").replace(f"{MARK}-user", "").replace(f"%3D{MARK}", "")
            assert MARK not in body, (role, name)


def test_the_marker_is_there_to_be_found(world: World, victim: Objects) -> None:
    """The test above would see it: an operator reads it at nearly every one of these addresses."""
    seen = [
        r for r in readable() if MARK in world["operator"]("GET", _address(victim, r)).content.decode(errors="replace")
    ]
    assert {"api/v1/jobs", "api/v1/queues", "api/v1/queues/tree", "api/v1/overview", "api/v1/audit"} <= set(seen)


def test_sums_hold_nothing_but_ones_own(world: World, victim: Objects) -> None:
    """A tenant could subtract its own part from a sum over everybody."""
    assert world["operator"].get("queues").json()["results"]
    spy = world["tenant"]
    overview, node = spy.get("overview").json(), spy.get(f"nodes/{victim.node_id}").json()
    assert overview["scope"] == "own" and not any(overview["allocated"].values())
    assert (overview["live_containers"], overview["pending"]["containers"], node["containers"]) == (0, 0, 0)
    assert not any(node["allocated"].values()) and all(sub["load"] is None for sub in overview["sub_clusters"])
    (open_,) = [q for q in spy.get("queues").json()["results"] if q["path"] == "root.default"]
    assert (open_["live_jobs"], open_["pending"], open_["used"]["containers"]) == (0, 0, 0)
    mine = spy.post("jobs", job()).json()["id"]
    rows.container(Job.objects.get(pk=mine), victim.node_id)
    assert spy.get(f"nodes/{victim.node_id}").json()["containers"] == 1
    assert spy.get("overview").json()["allocated"]["memory_mib"] == 256


def test_what_a_leader_tells_of_everybody_is_not_shown_to_one(world: World, victim: Objects) -> None:
    """Whatever is counted of a whole sub-cluster, also what is told of it some day."""
    sub = SubCluster.objects.get(name="west").pk
    all_ = dict.fromkeys((field.name for field in fields(Summary)), 777_771)
    all_ |= {"leader": "w", "frozen": False, "at": time.time(), "epoch": 1, "policy_version": 1}
    told = Summary(
        **all_
        | {"allocated": (777_771,) * 3, "pending": (777_771,) * 3, "queues": {}, "observed": Observed(777_771, 777_771)}
    )
    bus.client().set(keys.summary(sub), encode(told))
    for address in ("overview", "sub-clusters", "sub-clusters/west"):
        assert "777771" in world["operator"].get(address).content.decode(), address
        assert "777771" not in world["tenant"].get(address).content.decode(), address


def test_reasons_say_how_much_is_left_only_to_those_who_see_the_queue(world: World) -> None:
    limit = {"limit": "queue_maximum", "queue": "root.default", "asked": {}, "available": {"vcores_milli": 1777},
             "text": "The queue root.default is at its maximum: 1.777 cores left, asked 2."}  # fmt: skip
    reason = REASON | {"text": limit["text"], "limits": [limit]}
    mine = world["tenant"].post("jobs", job()).json()["id"]
    TaskGroup.objects.filter(job_id=mine).update(reason=reason)
    for address in (f"jobs/{mine}", f"jobs/{mine}/explain", "jobs"):
        text = world["tenant"].get(address).content.decode()
        assert "1.777" not in text and "1777" not in text and "4242" not in text, address
        assert "root.default has not as much left below its maximum" in text, address
        assert "1.777 cores left" in world["operator"].get(address).content.decode(), address


def test_a_queue_one_may_not_use_is_refused_like_one_that_is_not_there(world: World, victim: Objects) -> None:
    answers = [world["tenant"].post("jobs", job(queue=q)) for q in (victim.path, "root.nothing.there")]
    said = [a.content.decode().replace(victim.path, "X").replace("root.nothing.there", "X") for a in answers]
    assert [a.status_code for a in answers] == [422, 422] and said[0] == said[1]


def test_a_queue_that_may_have_been_meant_is_one_that_may_be_used(world: World, victim: Objects) -> None:
    def remedy(role: str, queue: str) -> str:
        return str(world[role].post("jobs", job(queue=queue)).json()["errors"][0]["remedy"])

    plain = "hydractl queues lists yours"
    assert remedy("tenant", "root.defualt") == f"did you mean root.default? {plain}"
    assert remedy("tenant", f"{victim.path}x") == plain
    assert victim.path in remedy("operator", f"{victim.path}x")
