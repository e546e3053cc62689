"""Sub-clusters over REST: joining with a token, draining with a preview, leaving; and the Router's part in it."""

import datetime as dt
import re
import time

import pytest
from django.db import connection
from django.utils import timezone

from controlplane.policy import versions
from controlplane.router import cluster
from controlplane.router.urls import api
from controlplane.statestore.actions import nodes, subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.membership import take
from controlplane.statestore.models import (
    AuditEntry,
    Intent,
    Job,
    JoinToken,
    Lease,
    LoadRow,
    Node,
    SubCluster,
    SubClusterToken,
)
from tests.integration.api import rows
from tests.integration.api.world import Api, World, job
from tests.limits import judge, within
from tests.machine import stalls
from wire.nodeapi import Register
from wire.states import JobState, NodeState

State = SubCluster.State


def sub(name: str) -> SubCluster:
    return SubCluster.objects.get(name=name)


def lead(*names: str, for_s: float = 60.0) -> None:
    """As if RMs led these, with all nodes up."""
    for name in names:
        until = timezone.now() + dt.timedelta(seconds=for_s)
        Lease.objects.filter(sub_cluster__name=name).update(holder="test", epoch=1, expires_at=until)
        Node.objects.filter(sub_cluster__name=name).update(state=NodeState.UP)
    cluster.forget()


def home_of(world: World, **fields: object) -> str:
    answer = world["tenant"].post("jobs", job(**fields))
    assert answer.status_code == 201, answer.content
    return str(answer.json()["home"])


# --- joining


def test_a_sub_cluster_joins_with_a_token_that_works_once(world: World) -> None:
    made = world["operator"].post("sub-clusters/tokens", {"note": "the new hall"})
    assert made.status_code == 201 and made.json()["name"] == ""
    token = made.json()["token"]
    assert not SubClusterToken.objects.filter(sha256=token).exists(), "stored hashed"
    joined = Api().post("sub-clusters/register", {"token": token, "name": "third"})
    assert joined.status_code == 201, joined.content
    said = joined.json()
    assert (said["state"], said["queue"]) == ("joining", "rm.third")
    assert Lease.objects.filter(sub_cluster=sub("third")).exists()
    shown = world["operator"].get("sub-clusters/third").json()
    assert shown["waits_for"] == ["a worker for queue rm.third", "a first node"]
    node = {"join_token": said["join_token"], "name": "third-1", "rack": "r", "memory_mib": 1024, "vcores_milli": 1000}
    assert Api()("POST", "/node/v1/register", node).status_code == 201
    again = Api().post("sub-clusters/register", {"token": token, "name": "fourth"})
    assert again.status_code == 403 and "used" in again.json()["detail"]
    assert AuditEntry.objects.filter(action="sub-cluster.create", target="sub-cluster/third").exists()
    lead("third")
    assert subclusters.take_in() == ["third"]
    assert world["tenant"].get("sub-clusters/third").json()["state"] == "running"


def test_a_registration_that_cannot_be_says_why_and_keeps_the_token(world: World) -> None:
    token = world["operator"].post("sub-clusters/tokens", {"name": "third"}).json()["token"]
    for name, status, word in (
        ("fourth", 403, "registers third and no other"),
        ("Third", 403, "registers third and no other"),
    ):
        answer = Api().post("sub-clusters/register", {"token": token, "name": name})
        assert answer.status_code == status and word in answer.json()["detail"]
    free = world["operator"].post("sub-clusters/tokens", {}).json()["token"]
    for name, status in (("west", 409), ("tokens", 422), ("-x", 422), ("A B", 422), ("x" * 64, 422)):
        assert Api().post("sub-clusters/register", {"token": free, "name": name}).status_code == status, name
    assert world["operator"].post("sub-clusters/tokens", {"name": "west"}).status_code == 409
    SubClusterToken.objects.filter(name="").update(expires_at=timezone.now())
    assert Api().post("sub-clusters/register", {"token": free, "name": "fifth"}).status_code == 403
    assert Api().post("sub-clusters/register", {"token": token, "name": "third"}).status_code == 201


def test_no_sub_cluster_is_called_like_an_address_beside_it(world: World) -> None:
    beside = {str(route.pattern).partition("/")[2] for route in api if str(route.pattern)[:13] == "sub-clusters/"}
    names = [name for name in beside if re.fullmatch("[a-z-]+", name)]
    assert {"tokens", "compare"} <= set(names)
    for name in names:
        assert world["operator"].post("sub-clusters/tokens", {"name": name}).status_code == 422, name


# --- draining


def preview(world: World, name: str = "west", query: str = "") -> dict:
    answer = world["viewer"].get(f"sub-clusters/{name}/drain-preview{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def here(world: World, count: int = 1, **fields: object) -> Job:
    """A running job at home in west with containers on its node."""
    subclusters_open = SubCluster.objects.exclude(name="west")
    was = list(subclusters_open.values_list("pk", "state"))
    subclusters_open.update(state=State.LOST)
    cluster.forget()
    row = Job.objects.get(pk=world["tenant"].post("jobs", job(**fields)).json()["id"])
    for pk, state in was:
        SubCluster.objects.filter(pk=pk).update(state=state)
    cluster.forget()
    for index in range(count):
        rows.container(row, world.nodes[0].session.node_id, index=index)
    Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING)
    return row


def test_the_preview_counts_what_runs_what_leaves_and_how_full_the_others_get(world: World) -> None:
    lead("west", "east")
    group = {"name": "g", "count": 4, "command": ["x"]}
    here(world, 2, groups=[group | {"estimated_duration_s": 60}])
    here(world, 1, groups=[group])
    here(world, 2, kind="service", groups=[group])
    found = preview(world)
    assert (found["jobs"], found["containers"], found["guests"]) == (3, 5, 0)
    assert (found["services"], found["ends"], found["stopped"], found["unknown"]) == (2, 3, 0, 0)
    assert found["moves"] == {"memory_mib": 512, "vcores_milli": 2000, "gpus": 0}
    (queue,) = found["queues"]
    assert (queue["queue"], queue["jobs"], queue["containers"]) == ("root.default", 3, 5)
    (east,) = found["others"]
    assert (east["sub_cluster"], east["percent"], east["percent_after"]) == ("east", 0.0, 50.0)
    assert found["fits"] and found["tied"] == []
    soon = preview(world, query="?deadline_s=30")
    assert (soon["ends"], soon["stopped"], soon["unknown"]) == (0, 2, 1)
    assert not soon["fits"], "five vcores do not fit in four"
    assert preview(world, query="?deadline_s=600")["ends"] == 2


def test_the_preview_names_what_can_run_nowhere_else(world: World) -> None:
    lead("west", "east")
    Node.objects.filter(sub_cluster=world.west).update(labels={"disk": "fast"})
    group = {"name": "g", "count": 2, "command": ["x"]}
    for fields, why in (
        ({"node_labels": "disk == fast"}, "no node elsewhere matches: disk == fast"),
        ({"locality": {"nodes": ["west-1"], "relax": False}}, "its strict places are only here"),
        ({"locality": {"nodes": ["west-1"]}}, ""),
        ({"resources": {"memory_mib": 4096, "vcores_milli": 100}}, ""),
    ):
        row = here(world, 1, groups=[group | fields])
        tied = {t["job"]: t["why"] for t in preview(world)["tied"]}
        assert tied.get(row.pk, "") == why
    waiting = here(world, 0, groups=[group | {"node_labels": "disk == fast"}])
    found = preview(world)
    assert found["tied_groups"] == 3
    assert {t["job"]: t["containers"] for t in found["tied"]}[waiting.pk] == 0, "also what waits here"
    subclusters.drain(SYSTEM, world.east, None)
    assert preview(world)["tied_groups"] == 5 and preview(world)["others"] == []


@pytest.mark.parametrize("shares", ["static", "uniform", "gif"])
def test_the_preview_knows_what_the_maxima_of_queues_keep_waiting(world: World, shares: str) -> None:
    lead("west", "east")
    here(world, 4, kind="service")
    assert preview(world)["fits"] and preview(world)["over_maximum"] == []
    half = {"guaranteed": 0.2, "maximum": 0.25, "open_to_all": True}
    versions.publish(SYSTEM, {"components": {"shares": {"policy": shares}}, "queues": {"default": half}}, "for tests")
    found = preview(world)
    assert found["over_maximum"] == [{"queue": "root.default", "containers": 3}], "a quarter of what is left is one"
    assert not found["fits"]
    assert found["others"][0]["percent_after"] == 100.0, "though there were room"


@pytest.mark.parametrize(
    ("proxy", "tied"),
    [
        ({"policy": "locality"}, False),
        ({"policy": "home"}, True),
        ({"policy": "weighted", "parameters": {"weights": {"west": 1, "east": 1}}}, False),
        ({"policy": "weighted", "parameters": {"weights": {"west": 1}}}, True),
    ],
)
def test_the_preview_knows_where_a_queues_policy_lets_tasks_go(world: World, proxy: dict, tied: bool) -> None:
    queues = {"default": {"guaranteed": 1.0, "open_to_all": True, "federation": {"amrmproxy": proxy}}}
    versions.publish(SYSTEM, {"queues": queues}, "for tests")
    lead("west", "east")
    here(world, 2)
    found = preview(world, query="?deadline_s=0")
    why = "the policy of its queue sends its tasks to no other sub-cluster"
    assert [t["why"] for t in found["tied"]] == [why] * tied
    assert found["moves"]["vcores_milli"] == (0 if tied else 2000)


def test_drain_resume_and_decommission_over_rest(world: World) -> None:
    lead("west", "east")
    operator = world["operator"]
    refused = operator.post("sub-clusters/west/decommission")
    assert refused.status_code == 409 and "drain it first: hydractl sub-cluster drain west" in refused.json()["detail"]
    drained = operator.post("sub-clusters/west/drain", {"deadline_s": 600, "message": "the hall is sold"})
    assert drained.status_code == 200, drained.content
    said = drained.json()
    assert (said["state"], said["message"], said["state_by"]) == ("draining", "the hall is sold", "operator")
    assert said["deadline"] and said["left"] == {"jobs": 0, "containers": 0}
    assert said["duties"]["open"] == 0 and said["duties"]["closed"] == 1
    node = world["tenant"].get(f"nodes/{world.nodes[0].session.node_id}").json()
    assert (node["sub_cluster_state"], node["duty"]) == ("draining", "in_service")
    assert world["tenant"].get("sub-clusters/west").json()["state_by"] is None
    assert operator.post("sub-clusters/west/resume").json()["state"] == "running"
    assert operator.post("sub-clusters/west/resume").status_code == 409
    row = here(world, 1)
    operator.post("sub-clusters/west/drain")
    refused = operator.post("sub-clusters/west/decommission")
    assert refused.status_code == 409 and "still has 1 job and 1 container;" in refused.json()["detail"]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM statestore_container")
    rows.finish(row.pk, JobState.SUCCEEDED)
    gone = operator.post("sub-clusters/west/decommission", {"message": "sold"})
    assert gone.status_code == 200 and gone.json()["state"] == "decommissioned"
    assert world.nodes[0]("GET", "session").status_code == 401, "its nodes' credentials ended"
    assert not JoinToken.objects.filter(sub_cluster=world.west, revoked_at=None).exists()
    assert operator.post("sub-clusters/west/drain").status_code == 409
    actions = AuditEntry.objects.filter(target="sub-cluster/west").order_by("id").values_list("action", flat=True)
    assert list(actions)[-4:] == [f"sub-cluster.{s}" for s in ("draining", "running", "draining", "decommissioned")]


@pytest.mark.parametrize(
    "body", [{"deadline_s": -1}, {"deadline_s": 1.5}, {"message": "x" * 256}, {"state": "running"}]
)
def test_a_wrong_drain_names_the_field(world: World, body: dict) -> None:
    answer = world["operator"].post("sub-clusters/west/drain", body)
    assert answer.status_code == 422 and answer.json()["errors"][0]["field"] in body


def test_unknown_names_are_not_found(world: World) -> None:
    for path in ("sub-clusters/none", "sub-clusters/none/drain-preview", "sub-clusters/%00"):
        assert world["operator"].get(path).status_code == 404, path
    assert world["operator"].post("sub-clusters/none/drain").status_code == 404


# --- what the overview says


def test_nodes_that_are_up_and_closed_are_told_apart_from_those_in_service(world: World) -> None:
    nodes.bulk_register(world.west, [Register("", f"west-{i}", "r1", 4096, 4000) for i in (2, 3)])
    lead("west", "east")
    Node.objects.filter(name="west-2").update(duty=Node.Duty.CORDONED)
    west = world["tenant"].get("sub-clusters/west").json()
    assert (west["nodes"]["up"], west["duties"]["open"], west["duties"]["closed"]) == (3, 2, 1)
    three = [1, 1, 1]
    LoadRow.objects.create(
        sub_cluster=world.west, at=timezone.now(), epoch=1, policy_version=1, nodes_up=1, shares_version=4,
        capacity=three, free=three, pending=three, body=b"",
    )  # fmt: skip
    overview = world["tenant"].get("overview").json()
    assert (overview["nodes"]["up"], overview["duties"]["open"], overview["duties"]["closed"]) == (4, 2, 2), (
        "its leader keeps one more closed, for maintenance"
    )
    load = world["viewer"].get("overview").json()["sub_clusters"][0]["load"]
    assert load["free"] == {"memory_mib": 1, "vcores_milli": 1, "gpus": 1}


# --- the Router


@pytest.mark.parametrize("state", [State.JOINING, State.DRAINING, State.LOST, State.DECOMMISSIONED])
def test_the_router_sends_jobs_only_where_they_are_taken(world: World, state: str) -> None:
    lead("west", "east")
    SubCluster.objects.filter(name="west").update(state=state)
    cluster.forget()
    assert {home_of(world) for _ in range(4)} == {"east"}
    SubCluster.objects.update(state=state)
    cluster.forget()
    refused = world["tenant"].post("jobs", job())
    assert refused.status_code == 503 and int(refused["Retry-After"]) > 0


def test_a_job_whose_home_left_since_the_router_looked_is_refused_and_not_stored(world: World) -> None:
    lead("west", "east")
    subclusters.drain(SYSTEM, world.east, None)
    cluster.forget()
    assert home_of(world) == "west"
    before = Job.objects.count()
    SubCluster.objects.filter(name="west").update(state=State.DECOMMISSIONED)
    refused = world["tenant"].post("jobs/bulk", {"jobs": [job(), job()]})
    assert refused.status_code == 503 and Job.objects.count() == before
    assert Intent.objects.filter(kind="submit").count() == before, "nobody is told of it either"


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_a_sub_cluster_whose_lease_has_run_out_is_not_chosen_a_second_later(world: World) -> None:
    """And is chosen again within a second once an RM leads it."""
    lead("west", "east")
    Lease.objects.filter(sub_cluster=world.west).update(holder="", expires_at=None)
    leadership = take(world.west.pk, "rm", 2.0)
    assert leadership is not None
    (ends_at,) = leadership.connection.execute(
        "SELECT extract(epoch FROM expires_at)::float8 FROM statestore_lease WHERE sub_cluster_id = %s",
        (world.west.pk,),
    ).fetchone()
    leadership.connection.close()  # its RM is gone without a word
    chosen, mark = list[tuple[float, str]](), stalls.mark()
    while sum(at > ends_at + 1.0 for at, _ in chosen) < 10:  # however long one of these keeps us waiting
        chosen.append((time.time(), home_of(world)))
    led = {home for at, home in chosen if at < ends_at}
    assert led == {"west", "east"}, "while it was led it got its part"
    last = max(at for at, home in chosen if home == "west")
    judge("a lease has run out: its sub-cluster is chosen no more", last - ends_at, 1.0, mark)
    again = take(world.west.pk, "rm", 60.0)
    assert again is not None
    within(1.0, lambda: home_of(world) == "west", "a sub-cluster is led again: it is chosen", 0.0)
    again.release()


def test_a_name_that_nobody_has_is_answered_with_what_was_meant(world: World) -> None:
    ask = world["operator"]
    for path, says in (
        ("sub-clusters/wset", "there is no sub-cluster 'wset'; did you mean west?"),
        ("sub-clusters/nowhere/join-tokens", "there is no sub-cluster 'nowhere'; there are: east, west"),
        ("accounts/oprator", "there is no account 'oprator'; did you mean operator?"),
    ):
        method = "POST" if "tokens" in path else "GET"
        refused = ask(method, path, {} if method == "POST" else None)
        assert (refused.status_code, refused.json()["detail"]) == (404, says)
