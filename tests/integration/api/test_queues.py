"""The queue tree in columns, the matrix, one queue, and use by the hour: over real rows of loads and shares."""

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contract.queues import UsedAccounts
from controlplane.gpg.shares import Assigned, assignments
from controlplane.gpg.starving import starving_queues
from controlplane.policy import versions
from controlplane.sharing.queues import in_force
from controlplane.statestore import bus, loads, shares, starving
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.limited import VAIN, Limited
from controlplane.statestore.loads import Load, PartitionLoad
from controlplane.statestore.membership import Post, take_post
from controlplane.statestore.models import Lease, PolicyVersion, Starvation, SubCluster, UsageHour, UsageTag
from controlplane.statestore.posts import GPG, gpg_is_free
from controlplane.statestore.queries.federation import overview
from controlplane.statestore.queries.queues import live, standing
from controlplane.statestore.resourcecolumns import SECONDS, USED_SUMS
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire import keys
from wire.resources import AXES, NOTHING
from wire.summary import Observed, QueueUse, Summary, encode

GIB = 1024
PLACE = (100 * GIB, 100_000, 10)  # what each sub-cluster has

TREE = {
    "queues": {
        "prod": {"guaranteed": 0.5, "children": {"etl": {"guaranteed": 0.8}, "web": {"guaranteed": 0.2}}},
        "lab": {"guaranteed": 0.3, "maximum": 0.4},
        "free": {"guaranteed": 0.2, "open_to_all": True},
    }
}


pytestmark = pytest.mark.django_db(transaction=True)
_post: list[Post] = []


@pytest.fixture(autouse=True)
def anew(transactional_db: None) -> Iterator[None]:
    """The GPG's post with its session of its own, and nothing known from another test."""
    standing.forget()
    assert gpg_is_free()
    post = take_post(GPG, "test", 60.0)
    assert post is not None
    _post[:] = [post]
    yield
    post.release()


def session() -> psycopg.Connection:
    return _post[0].connection


def gib(amounts: Iterable[int]) -> np.ndarray:
    """Of each so many GiB, and a core for each GiB."""
    return np.array([[n * GIB, n * 1000, *NOTHING[2:]] for n in amounts], np.int64).reshape(-1, len(AXES))


def load(
    sub: SubCluster,
    queues: dict[str, tuple[int, int]],
    capacity: tuple[int, int, int] = PLACE,
    vain: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """A load row: queue -> GiB used, GiB wanted beyond; of these in vain."""
    used, pending = (gib(amounts) for amounts in zip(*queues.values(), strict=True))
    cap = np.array((*capacity, *NOTHING[3:]), np.int64)
    part = PartitionLoad(cap, cap - used.sum(axis=0), list(queues), used, pending)
    tell = Load(
        sub.pk,
        sub.name,
        "",
        True,
        0.0,
        1,
        version(),
        0,
        1,
        cap,
        cap - used.sum(axis=0),
        pending.sum(axis=0),
        {"": part},
        Limited.of({"": ([VAIN + path for path in vain], gib(vain.values()))}),
    )
    Lease.objects.update_or_create(
        pk=sub.pk, defaults={"epoch": 1, "holder": "test", "expires_at": dt.datetime(2120, 1, 1, tzinfo=dt.UTC)}
    )
    assert loads.put(session(), tell)


def version() -> int:
    return PolicyVersion.objects.get(active=True).pk


def generate() -> None:
    """What the GPG does: shares, and who starves."""
    queues = in_force(session(), None)
    assert queues is not None
    tables = assignments(queues, loads.read(session()), Assigned())
    shares.put(session(), 1, shares.last_version(session()) + 1, queues.version, tables)
    starving.put(session(), starving_queues(queues, session()), 60.0)
    standing.forget()


@pytest.fixture
def federation(world: World) -> World:
    """West is crowded: lab holds more than it is guaranteed, prod.etl wants what is its. East is half empty."""
    versions.publish(SYSTEM, TREE, "a tree")
    load(world.west, {"root.lab": (60, 10), "root.free": (40, 0), "root.prod.etl": (0, 50)})
    load(world.east, {"root.lab": (10, 0), "root.prod.web": (20, 0)})
    generate()
    return world


def got(world: World, role: str, address: str, status: int = 200) -> Any:
    answer = world[role].get(address)
    assert answer.status_code == status, (address, answer.content)
    return answer.json()


def columns(world: World, role: str, address: str = "queues/use") -> dict[str, dict[str, Any]]:
    """The tree and how it stands put together: path -> what a row of the page shows, of memory in GiB."""
    tree, use = got(world, role, "queues/tree"), got(world, role, address)
    assert tree["layout"] == use["layout"]
    q, found, paths = tree["queues"], {}, []
    for at, name in enumerate(q["name"]):
        up = q["parent"][at]
        paths.append(name if up < 0 else f"{paths[up]}.{name}")
        found[paths[at]] = {
            "see": q["see"][at],
            "guaranteed": q["guaranteed"][0][at] / GIB,
            "maximum": q["maximum"][0][at] / GIB,
            **dict.fromkeys(("used", "pending", "share", "guaranteed_part"), 0),
        }
    for i, at in enumerate(use["queues"]["at"]):
        found[paths[at]] |= {w: use["queues"][w][0][i] / GIB for w in ("used", "pending", "share", "guaranteed_part")}
        found[paths[at]] |= {"live": use["queues"]["live"][i]}
    for s in use["starving"]:
        found[paths[s["at"]]]["starving"] = s
    return found


def test_the_tree_says_what_each_queue_holds_wants_and_was_given(federation: World) -> None:
    found = columns(federation, "operator")
    assert next(iter(found)) == "root" and found["root"]["maximum"] == 200
    lab, etl = found["root.lab"], found["root.prod.etl"]
    assert (lab["guaranteed"], lab["maximum"], lab["used"], lab["pending"]) == (60, 80, 70, 10)
    assert (etl["guaranteed"], etl["used"], etl["pending"]) == (80, 0, 50)
    assert found["root.prod"]["used"] == 20 and found["root.prod"]["pending"] == 50, "of whole subtrees"
    assert 36 < etl["guaranteed_part"] < 37, "west is too small for all that is guaranteed and wanted there"
    there = columns(federation, "operator", "queues/use?sub_cluster=east")
    assert there["root.lab"]["used"] == 10 and there["root.prod.etl"]["pending"] == 0
    got(federation, "operator", "queues/use?sub_cluster=nowhere", 404)


def test_what_waits_in_a_queue_waits_in_those_above_it_as_well(world: World) -> None:
    versions.publish(SYSTEM, TREE, "a tree")
    waits = {"root.prod": 0, "root.prod.etl": 3, "root.lab": 2}
    nothing = dict.fromkeys((field.name for field in fields(Summary)), 0)
    nothing |= {"leader": "w", "frozen": False, "at": time.time(), "epoch": 1, "policy_version": 1}
    nothing |= {"allocated": (0,) * 3, "pending": (0,) * 3, "observed": Observed(0, 0)}
    told = Summary(**nothing | {"queues": {path: QueueUse(NOTHING, n) for path, n in waits.items()}})
    bus.client().set(keys.summary(world.west.pk), encode(told))
    found = {q["path"]: q["pending"] for q in got(world, "operator", "queues")["results"]}
    assert found == dict.fromkeys(found, 0) | {"root": 5, "root.prod": 3, "root.prod.etl": 3, "root.lab": 2}


def test_who_is_below_its_guarantee_is_told_with_since_when_and_from_whom(federation: World) -> None:
    assert "starving" not in columns(federation, "operator")["root.prod.etl"], "not before it has lasted"
    Starvation.objects.update(since=dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5))
    standing.forget()
    told = columns(federation, "operator")["root.prod.etl"]["starving"]
    assert told["lacking"][0] == 50 * GIB
    detail = got(federation, "operator", "queues/root.prod.etl/detail")["starving"]
    assert 290 < dt.datetime.now(dt.UTC).timestamp() - detail["since"] < 310
    assert detail["reclaim"][0]["sub_cluster"] == "west" and detail["reclaim"][0]["queue"].startswith("root.")
    assert "Below its guarantee by 50 GiB of memory" in detail["text"] and "root.lab in west" in detail["text"]
    versions.publish(SYSTEM, TREE | {"components": {"preemption": {"policy": "observe"}}}, "only observed")
    standing.forget()
    text = got(federation, "operator", "queues/root.prod.etl/detail")["starving"]["text"]
    assert "it would be taken back, but preemption only observes: " in text
    load(federation.west, {"root.lab": (10, 0), "root.free": (40, 0), "root.prod.etl": (50, 0)})
    generate()
    assert not Starvation.objects.exists()
    assert "starving" not in columns(federation, "operator")["root.prod.etl"]


def test_a_sub_cluster_that_takes_nothing_back_is_named(federation: World) -> None:
    off = {"components": {"preemption": {"policy": "off"}}}

    def starving(more: dict[str, Any]) -> Any:
        versions.publish(SYSTEM, TREE | more, "a test")
        generate()
        Starvation.objects.update(since=dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5))
        standing.forget()
        return got(federation, "operator", "queues/root.prod.etl/detail")["starving"]

    east = starving({"sub_clusters": {"east": off}})
    assert "root.lab in west" in east["text"] and "off" not in east["text"], "it wants nothing there"
    west = starving({"sub_clusters": {"west": off}})
    assert west["reclaim"] == [] and "Nothing is taken back in west: preemption is off there." in west["text"]
    observes = starving({"sub_clusters": {"west": {"components": {"preemption": {"policy": "observe"}}}}})
    assert "it would be taken back, but preemption only observes: " in observes["text"] and observes["reclaim"]
    both = starving(off | {"sub_clusters": {"west": {"components": {"placement": {"policy": "pack"}}}}})
    assert both["reclaim"] == [] and both["text"].endswith("preemption is off in the policy.")


def detail(world: World) -> Any:
    return got(world, "operator", "queues/root.prod.etl/detail?resource=memory_mib")


def test_a_queue_whose_tasks_no_node_could_hold_does_not_starve(federation: World) -> None:
    queues = in_force(session(), None)
    assert queues is not None
    assert [queue for queue, _ in starving_queues(queues, session())] == ["root.prod", "root.prod.etl"]
    crowded = {"root.lab": (60, 10), "root.free": (40, 0), "root.prod.etl": (0, 50)}
    load(federation.west, crowded, vain={"root.prod.etl": 50})
    assert starving_queues(queues, session()) == {}
    generate()
    assert columns(federation, "operator")["root.prod.etl"]["pending"] == 50, "it is asked for all the same"
    (west,) = (p for p in detail(federation)["places"] if p["sub_cluster"] == "west")
    assert west["rule"] == "vain" and west["pending"]["memory_mib"] == 50 * GIB
    assert west["why"].startswith("No node in west could hold what waits for it: tasks of 50 GiB of memory.")


def test_hunger_is_for_what_a_node_could_hold(federation: World) -> None:
    crowded = {"root.lab": (60, 10), "root.free": (40, 0), "root.prod.etl": (0, 60)}
    load(federation.west, crowded, vain={"root.prod.etl": 50})
    generate()
    Starvation.objects.update(since=dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5))
    standing.forget()
    assert columns(federation, "operator")["root.prod.etl"]["starving"]["lacking"][0] == 10 * GIB
    found = detail(federation)
    assert "Below its guarantee by 10 GiB of memory" in found["starving"]["text"]
    (west,) = (p for p in found["places"] if p["sub_cluster"] == "west")
    wants = "It wants 10 GiB of memory in west: 0 MiB of memory in use, 10 GiB of memory waiting, besides 50 GiB of"
    assert west["rule"] == "demand" and west["why"].startswith(f"{wants} memory of tasks that no node there could hold")


def test_a_maximum_below_is_no_hunger_above(world: World) -> None:
    tree = {"queues": {"a": {"guaranteed": 0.9, "children": {"b": {"guaranteed": 0.1, "maximum": 0.1}}}}}
    versions.publish(SYSTEM, tree, "a low maximum")
    load(world.west, {"root.a.b": (10, 500)})
    queues = in_force(session(), None)
    assert queues is not None and starving_queues(queues, session()) == {}


def test_the_matrix_says_where_and_why(federation: World) -> None:
    found = got(federation, "operator", "queues/matrix")
    assert [p["name"] for p in found["places"]] == ["west", "east"]
    by = {row["path"]: row for row in found["rows"]}
    assert next(iter(by)) == "root" and set(by) == {"root", "root.prod", "root.lab", "root.free"}
    west, east = by["root.prod"]["share"]
    assert 36 * GIB < west[0] < 37 * GIB and east[0] > 20 * GIB
    assert by["root.prod"]["rules"] == ["capacity", "demand"]
    assert by["root.lab"]["rules"][0] in {"guarantee", "weight", "capacity"}, "west is full"
    assert sum(row["share"][0][0] for path, row in by.items() if path != "root") <= 100 * GIB
    assert found["places"][0]["version"] > 0 and not found["places"][0]["stale"]
    below = got(federation, "operator", "queues/matrix?under=root.prod&resource=vcores_milli")
    assert [row["path"] for row in below["rows"]] == ["root.prod", "root.prod.etl", "root.prod.web"]
    assert {row["resource"] for row in below["rows"]} == {"vcores_milli"}
    refused = got(federation, "operator", "queues/matrix?under=root.labb", 404)["detail"]
    assert refused == "there is no such queue that you may see; did you mean root.lab?"
    assert "no such partition" in got(federation, "operator", "queues/root.lab/detail?partition=gpu", 404)["detail"]


def test_idle_queues_are_shown_in_the_resource_of_the_queue_above(world: World) -> None:
    versions.publish(SYSTEM, TREE, "a tree")
    load(world.west, {"root.free": (1, 11)}, (17_777, 24_000, 0))  # 30 % of this memory are no whole MiB
    generate()
    rows = got(world, "operator", "queues/matrix")["rows"]
    assert {row["path"]: row["resource"] for row in rows} == dict.fromkeys(
        ("root", "root.free", "root.lab", "root.prod"), "memory_mib"
    )


def test_every_cell_has_its_reason_in_words(federation: World) -> None:
    places = {p["sub_cluster"]: p for p in got(federation, "operator", "queues/root.lab/detail")["places"]}
    assert "wants 70 GiB of memory in west: 60 GiB of memory in use, 10 GiB of memory waiting" in places["west"]["why"]
    assert "west is full" in places["west"]["why"]
    assert places["east"]["rule"] == "demand" and "gets all of it" in places["east"]["why"]
    assert places["west"]["by_size"] == 30 * GIB, "half of its guarantee: west is half of everything"
    assert places["west"]["by_demand"] == 60 * GIB * 70 // 80, "its guarantee by where its demand is"


@pytest.mark.parametrize(("policy", "rule"), [("uniform", "size"), ("static", "size")])
def test_the_kind_of_policy_is_part_of_the_reason(federation: World, policy: str, rule: str) -> None:
    versions.publish(SYSTEM, TREE | {"components": {"shares": {"policy": policy}}}, "another way of sharing")
    generate()
    found = got(federation, "operator", "queues/root.lab/detail")
    assert {p["rule"] for p in found["places"]} == {rule}
    assert "west has 50 % of all, so 30 GiB of memory of its guarantee of 60 GiB" in found["places"][0]["why"]


def test_old_shares_are_called_stale(federation: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE statestore_shareassignment SET at = at - interval '10 minutes'")
    standing.forget()
    found = got(federation, "operator", "queues/matrix")
    assert all(p["stale"] and p["shares_age_s"] > 590 for p in found["places"])


def test_one_queue_tells_its_limits_users_and_rights(federation: World) -> None:
    accounts.grant_queue(SYSTEM, federation.users["submitter"], "root.prod", "submit")
    federation["submitter"].post("jobs", job(queue="root.prod.etl"))
    found = got(federation, "operator", "queues/root.prod.etl/detail")
    assert found["pointer"] == "/queues/prod/children/etl" and found["sees"] == "whole"
    assert [u["user"] for u in found["users"]] == ["submitter"] and found["live_jobs"] == 1
    assert {"who": "submitter", "level": "submit", "queue": "root.prod", "source": "grant"} in found["rights"]


def test_a_tenant_sees_its_queues_and_nothing_of_others(federation: World) -> None:
    found = columns(federation, "submitter")
    assert set(found) == {"root", "root.prod", "root.prod.etl", "root.prod.web", "root.free"}
    assert found["root"] | {"live": 0} == {"see": 1, "guaranteed": 0, "maximum": 0, "used": 0, "pending": 0, "share": 0,
                                           "guaranteed_part": 0, "live": 0}  # fmt: skip
    assert found["root.prod.etl"]["pending"] == 50, "of a queue it was granted it sees all"
    assert found["root.free"]["guaranteed"] == 40 and found["root.free"]["used"] == 0, "of an open one its own part"
    assert set(columns(federation, "tenant")) == {"root", "root.free"}
    for address in ("queues/root.lab/detail", "queues/matrix?under=root.lab", "queues/root/detail"):
        assert "root.lab?" not in got(federation, "submitter", address, 404)["detail"]
    assert "the name alone" in got(federation, "submitter", "queues/root/detail", 404)["detail"]
    assert got(federation, "submitter", "queues/root.prod/detail")["rights"] is None
    matrix = got(federation, "submitter", "queues/matrix")
    assert [row["path"] for row in matrix["rows"]] == ["root.prod"]
    assert all(place["free"] is None for place in matrix["places"])
    assert [q["path"] for q in got(federation, "tenant", "queues")["results"]] == ["root.free"]


def test_sums_of_others_are_told_only_of_many_and_in_steps(federation: World) -> None:
    assert got(federation, "tenant", "queues/use")["others"] is None
    for name in ("one", "two", "three"):
        user = accounts.create(SYSTEM, name, "a-long-enough-password", "tenant")
        made = federation["operator"].post("jobs", job(queue="root.free")).json()["id"]
        rows.Job.objects.filter(pk=made).update(owner=user, state=2)
    told = got(federation, "tenant", "queues/use")["others"]
    if told is not None:
        assert all(
            amount % (whole // 20) == 0 for amount, whole in zip(told["used"], (200 * GIB, 200_000), strict=False)
        )


def test_of_an_open_queue_a_tenant_is_told_why_in_words_without_others_numbers(federation: World) -> None:
    own = got(federation, "tenant", "queues/root.free/detail")["own"]
    assert own[0].startswith("Everybody may submit to it") and own[-1] == "Nothing of yours waits in it."
    assert "west is full now." in own, "lab and free hold all of it"
    federation["tenant"].post("jobs", job(queue="root.free"))
    waiting = got(federation, "tenant", "queues/root.free/detail")["own"]
    assert len(waiting) == len(own) and "what waits there starts" in waiting[-1]
    assert not {"60", "40", "lab"} & {word.strip(".,:") for line in own + waiting for word in line.split()}
    assert got(federation, "operator", "queues/root.free/detail")["own"] == []


def test_what_all_accounts_used_by_tag_adds_up_for_operators(federation: World) -> None:
    day = dt.datetime.now(dt.UTC).date()
    for owner, tag, containers in (("tenant", "etl", 2), ("tenant", "", 3), ("other", "(others)", 4)):
        UsageTag.objects.create(
            day=day, sub_cluster_id=federation.west.pk, queue="root.free", tag=tag, containers=containers,
            owner_id=federation.users[owner].pk, memory_mib_s=1, vcores_milli_s=containers, gpu_s=0,
        )  # fmt: skip
    own = got(federation, "tenant", "usage/tags")["results"]
    assert [(r["tag"], r["containers"]) for r in own] == [("", 3), ("etl", 2)]
    lines = federation["operator"].get("usage/tags.csv?all_accounts=yes").content.decode().splitlines()
    assert lines[0].startswith("day,owner,sub_cluster,queue,tag,containers,")
    found = sorted(tuple(line.split(",")[1:6]) for line in lines[1:])
    west = ("west", "root.free")
    assert found == [("other", *west, "(others)", "4"), ("tenant", *west, "", "3"), ("tenant", *west, "etl", "2")]
    got(federation, "tenant", "usage/tags.csv?all_accounts=yes", 403)


def test_what_jobs_of_a_tag_used_is_told_day_by_day(federation: World) -> None:
    today = dt.datetime.now(dt.UTC).date()
    days = {0: 2, 1: 5, 9: 7}
    for tag, ago, queue in [("etl", ago, "root.free") for ago in days] + [
        ("etl", 1, "root.prod"),
        ("other", 1, "root.free"),
    ]:
        UsageTag.objects.create(
            day=today - dt.timedelta(days=ago), sub_cluster_id=federation.west.pk, queue=queue, tag=tag,
            containers=days[ago], owner_id=federation.users["tenant"].pk, memory_mib_s=1, vcores_milli_s=1, gpu_s=0,
        )  # fmt: skip
    found = got(federation, "tenant", "usage/hours?tag=etl")
    assert (found["step"], found["complete"]) == ("day", True)
    yesterday = f"{today - dt.timedelta(days=1)}T00:00:00Z"
    assert [(r["at"], r["queue"], r["containers"]) for r in found["results"]] == [
        (yesterday, "root.free", 5), (yesterday, "root.prod", 5), (f"{today}T00:00:00Z", "root.free", 2),
    ]  # fmt: skip
    (one,) = got(federation, "tenant", "usage/hours?tag=etl&queue=root.prod&step=day")["results"]
    assert one["queue"] == "root.prod" and got(federation, "other", "usage/hours?tag=etl")["results"] == []
    until = f"begin={today - dt.timedelta(days=3)}T00:00:00Z&end={today}T00:00:00Z"
    assert [r["containers"] for r in got(federation, "tenant", f"usage/hours?tag=etl&{until}")["results"]] == [5, 5]
    assert got(federation, "tenant", "usage/hours?tag=")["results"] == [], "of those without a tag"
    (wrong,) = got(federation, "tenant", "usage/hours?tag=etl&step=hour", 422)["errors"]
    assert wrong["field"] == "step" and "day" in wrong["remedy"]


def test_what_each_account_used_is_for_those_who_see_everything(federation: World) -> None:
    hour = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    places = [("tenant", "root.free", 0, 2), ("tenant", "root.free", 1, 3), ("other", "root.lab", 0, 9)]
    for owner, queue, ago, cores in places:
        UsageHour.objects.create(
            hour=hour - dt.timedelta(hours=ago), sub_cluster_id=federation.west.pk, queue=queue, containers=1,
            owner_id=federation.users[owner].pk, memory_mib_s=1, vcores_milli_s=cores, gpu_s=0,
        )  # fmt: skip
    UsageHour.objects.create(
        hour=hour, sub_cluster_id=federation.west.pk, queue="root.lab", containers=1, owner_id=10**6,
        memory_mib_s=1, vcores_milli_s=1, gpu_s=0,
    )  # fmt: skip
    answer = federation["viewer"].get("usage/accounts").json()
    found = UsedAccounts.model_validate(answer, extra="forbid")
    assert found.complete
    assert [(a.owner, a.containers, a.vcores_milli_s) for a in found.results] == [
        ("other", 1, 9), ("tenant", 2, 5), ("", 1, 1),
    ]  # fmt: skip
    assert [a["owner"] for a in got(federation, "operator", "usage/accounts?queue=root.free")["results"]] == ["tenant"]
    got(federation, "tenant", "usage/accounts", 403)
    got(federation, "operator", "usage/accounts?begin=2026-01-01&end=2026-06-01", 422)


def test_use_by_the_hour_is_the_accounts_own(federation: World, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    tenant, other = federation.users["tenant"], federation.users["other"]
    for owner, queue, at in ((tenant, "root.free", 0), (tenant, "root.free", 1), (other, "root.lab", 0)):
        UsageHour.objects.create(
            hour=hour - dt.timedelta(hours=at), sub_cluster_id=federation.west.pk, queue=queue, owner_id=owner.pk,
            containers=2, memory_mib_s=1024 * 3600, vcores_milli_s=3_600_000, gpu_s=0, cpu_ms=900_000, waited_s=9,
        )  # fmt: skip
    found = got(federation, "tenant", "usage/hours")
    assert [(r["queue"], r["containers"]) for r in found["results"]] == [("root.free", 2)] * 2
    assert sum(r["containers"] for r in got(federation, "tenant", "usage/hours?step=day")["results"]) == 4
    assert sum(r["waited_s"] for r in found["results"]) == 18 and {r["cpu_ms"] for r in found["results"]} == {900_000}
    text = federation["tenant"].get("usage/hours.csv").content.decode().splitlines()
    head = ("sub_cluster", "queue", "containers", *SECONDS)
    assert text[0].startswith(",".join(("hour", *head))), "what read files of before finds it where it was"
    used = dict(zip(text[0].split(","), text[1].split(","), strict=True))
    assert len(text) == 3 and used.pop("hour")
    amounts = dict.fromkeys(USED_SUMS, "0") | {"memory_mib_s": "3686400", "vcores_milli_s": "3600000"}
    amounts |= {"cpu_ms": "900000", "waited_s": "9"}
    assert used == amounts | {"sub_cluster": "west", "queue": "root.free", "containers": "2"}
    got(federation, "tenant", "usage/hours?owner=other", 404)
    assert len(got(federation, "viewer", "usage/hours?owner=other")["results"]) == 1
    both = federation["viewer"].get("usage/hours.csv?all_accounts=yes").content.decode().splitlines()
    assert both[0].startswith(",".join(("hour", "owner", *head)))
    assert sorted(line.split(",")[1] for line in both[1:]) == ["other", "tenant", "tenant"]
    got(federation, "tenant", "usage/hours.csv?all_accounts=yes", 403)
    got(federation, "viewer", "usage/hours.csv?all_accounts=yes&owner=other", 422)
    monkeypatch.setattr("controlplane.statestore.queries.accounts.usage.EXPORT_MAX", 2)
    refused = got(federation, "operator", "usage/hours.csv?all_accounts=yes", 422)["errors"][0]
    assert refused["message"] == "comes to more than 2 lines", "an account would be short of what is left out"
    got(federation, "tenant", "usage/hours?begin=yesterday", 422)
    got(federation, "tenant", "usage/hours?begin=2020-01-01T00:00:00Z", 422)


def test_five_thousand_queues_and_twenty_sub_clusters_cost_few_queries_and_little(world: World) -> None:
    teams = {f"t{n}": {"guaranteed": 0.0002} for n in range(250)}
    versions.publish(SYSTEM, {"queues": {f"d{n}": {"guaranteed": 0.05, "children": teams} for n in range(20)}}, "many")
    for n in range(20):
        sub = SubCluster.objects.create(name=f"s{n}")
        load(sub, {f"root.d{n}.t{m}": (m % 3, 1) for m in range(250)})
    standing.forget()
    operator = world.users["operator"]
    live.layout(operator)
    standing.forget()
    with CaptureQueriesContext(connection) as asked:
        found = live.use(operator)
    assert len(asked) <= 6 and found is not None and len(found["queues"]["at"]) == 5021
    answer = world["operator"].get("queues/use")
    assert len(answer.content) < 600_000
    assert len(world["operator"].get("queues/tree").content) < 700_000
    matrix = got(world, "operator", "queues/matrix?under=root.d3")
    assert len(matrix["rows"]) == 101 and matrix["more"] == 150
    assert len(got(world, "operator", "queues/matrix?under=root.d3&skip=200")["rows"]) == 50


def test_the_overview_says_how_many_queues_it_leaves_out(federation: World, monkeypatch: pytest.MonkeyPatch) -> None:
    everything, own = (federation[name].get("overview").json() for name in ("operator", "tenant"))
    assert (everything["queues_left_out"], own["queues_left_out"]) == (0, 0)
    monkeypatch.setattr(overview, "QUEUES_MOST", 2)
    for name, whole in (("operator", everything), ("tenant", own)):
        found = federation[name].get("overview").json()
        assert (len(found["queues"]), found["queues_left_out"]) == (
            min(2, len(whole["queues"])), max(0, len(whole["queues"]) - 2),
        )  # fmt: skip
    assert len(everything["queues"]) > 3 > 2 > len(own["queues"]), "one has more than are shown, the other fewer"
