"""Which policy version RMs, nodes and processes say they run, over real stores."""

import numpy as np
import pytest
import redis
from django.conf import settings
from django.db import connection

from controlplane.policy.following import Follower
from controlplane.rm.driver.acknowledge import Acknowledger, rounded_up
from controlplane.rm.ports import Fenced
from controlplane.statestore import acknowledgements
from controlplane.statestore.models import Acknowledgement, PolicyVersion
from controlplane.statestore.queries.policy import convergence
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import another, leading
from wire import keys, policy

OPEN = {"default": {"guaranteed": 1.0, "open_to_all": True}}


def active() -> int:
    return PolicyVersion.objects.get(active=True).pk


def kinds(version: int | None = None) -> dict[str, convergence.Json]:
    found = convergence.read(version)
    assert found is not None
    return {k["kind"]: k for k in found["kinds"]}


def tell(leader: Leading, acknowledger: Acknowledger) -> None:
    acknowledger.report(leader.memory, leader.store, leader.bus, leader.clock)


def test_a_push_is_acknowledged_by_the_rm_and_then_by_its_nodes(cluster: Cluster) -> None:
    leader, said = leading(cluster), []
    acknowledger = Acknowledger(lambda: said.append(1))
    tell(leader, acknowledger)
    before = active()
    first = convergence.read()
    assert first is not None and first["converged"] and first["version"] == before
    assert kinds()["node"] | {"since": 0} == {
        "kind": "node", "total": 2, "told": 2, "on_version": 2, "behind": 0, "since": 0, "laggards": [],
        "versions": [{"version": before, "count": 2}], "p50_s": None, "p99_s": None, "max_s": None,
    }  # fmt: skip

    cluster.policy(OPEN)
    leader.clock.catch_up()
    assert kinds()["rm"]["laggards"] == ["west"] and kinds()["node"]["behind"] == 2
    leader.round()
    tell(leader, acknowledger)
    rm, nodes = kinds()["rm"], kinds()["node"]
    assert (rm["on_version"], rm["behind"]) == (1, 0) and 0 < rm["max_s"] < 5
    assert nodes["laggards"] == ["west/n0", "west/n1"] and nodes["versions"] == [{"version": before, "count": 2}]

    cluster.nodes.step(cluster.ids[1])
    leader.clock.ahead_s += 2.0
    leader.round()
    tell(leader, acknowledger)
    nodes = kinds()["node"]
    assert (nodes["on_version"], nodes["behind"], nodes["laggards"]) == (1, 1, ["west/n1"])
    assert 2.0 < nodes["p50_s"] == nodes["max_s"] < 10
    leader.clock.ahead_s += 3.0
    cluster.nodes.step()
    leader.round()
    tell(leader, acknowledger)
    nodes = kinds()["node"]
    assert nodes["behind"] == 0 and nodes["p50_s"] < 5 < nodes["p99_s"] == nodes["max_s"]
    assert convergence.read() is not None and convergence.read()["converged"]  # type: ignore[index]
    assert convergence.behind(active(), ["west"]) == []
    assert len(said) == 4

    for _ in range(3):
        leader.clock.ahead_s += 10.0
        leader.round()
        tell(leader, acknowledger)
    assert len(said) == 4, "nothing is written when nothing is new"


def test_a_successor_keeps_the_times_and_a_former_leader_cannot_overwrite_them(cluster: Cluster) -> None:
    first = leading(cluster)
    tell(first, acknowledger := Acknowledger())
    cluster.policy(OPEN)
    for _ in range(2):
        first.round()
        tell(first, acknowledger)
        cluster.nodes.step()
    first.round()
    first.clock.ahead_s += 1.0
    tell(first, acknowledger)
    measured = kinds()["node"]["max_s"]
    assert measured is not None
    cluster.expire()
    second = leading(cluster)
    tell(second, Acknowledger())
    assert kinds()["node"]["max_s"] == measured and Acknowledgement.objects.get(kind="rm").epoch == second.epoch
    with connection.cursor() as cursor:
        known = cluster.sub.pk, first.epoch
        assert not acknowledgements.put_rm(cursor, *known, 7, 0, acknowledgements.NodesRun())


def test_a_process_that_follows_takes_versions_in_and_its_row_expires(cluster: Cluster) -> None:
    taken: list[int] = []
    follower = Follower("router", "web:1", taken.append)
    follower.look()
    assert kinds()["router"]["on_version"] == 1 and kinds()["router"]["max_s"] is None, "it started after the push"
    cluster.policy(OPEN)
    assert kinds()["router"]["laggards"] == ["web:1"]
    follower.look()
    follower.look()
    router = kinds()["router"]
    assert taken[-1] == active() and len(taken) == 2
    assert (router["on_version"], router["behind"]) == (1, 0) and 0 <= router["max_s"] < 5
    Acknowledgement.objects.update(seen_at="2020-01-01T00:00:00Z")
    assert kinds()["router"]["total"] == 0
    Follower("router", "web:2", taken.append).look()
    assert not Acknowledgement.objects.filter(name="web:1").exists(), "rows of processes long gone are dropped"


def test_a_sub_cluster_that_nobody_leads_is_behind(cluster: Cluster) -> None:
    other = another(cluster)
    for each in (cluster, other):
        tell(leading(each), Acknowledger())
    assert convergence.behind(active(), ["west", "east"]) == []
    cluster.policy(OPEN)
    cluster.expire()
    assert kinds()["rm"]["laggards"] == ["east (nobody leads it)", "west (nobody leads it)"]
    assert convergence.behind(active(), ["east"]) == ["the RM of east, which nobody leads"]
    assert convergence.read(active() + 1000) is None


def test_one_message_tells_all_nodes_and_no_document_is_written_for_it(cluster: Cluster) -> None:
    leader = leading(cluster)
    before = leader.memory.nodes.generation[:2].tolist()
    cluster.policy(OPEN)
    leader.round()
    tell(leader, Acknowledger())
    cluster.nodes.step()
    leader.round()
    assert leader.memory.nodes.generation[:2].tolist() == before
    assert leader.memory.nodes.policy_version[:2].tolist() == [active()] * 2


def test_a_leader_that_was_replaced_tells_nodes_nothing(cluster: Cluster) -> None:
    first = leading(cluster)
    cluster.expire()
    second = leading(cluster)
    with pytest.raises(Fenced):
        first.bus.announce_policy(999)
    second.bus.announce_policy(998)
    cluster.nodes.step()
    second.round()
    assert second.memory.nodes.policy_version[:2].tolist() == [998] * 2


def test_a_redis_that_lost_everything_is_told_again_and_still_noticed(cluster: Cluster) -> None:
    leader, acknowledger = leading(cluster), Acknowledger()
    tell(leader, acknowledger)
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(keys.leader_epoch(cluster.sub.pk), keys.policy(cluster.sub.pk))
    leader.clock.ahead_s += 3.0
    tell(leader, acknowledger)
    assert client.get(keys.policy(cluster.sub.pk)) == policy.encode(leader.epoch, active())
    assert client.get(keys.leader_epoch(cluster.sub.pk)) is None, "left for the next document to find"
    before = leader.restored
    leader.memory.dirty_nodes.add(0)
    leader.round()
    assert leader.restored == before + 1


@pytest.mark.parametrize(("ms", "rounded"), [(0, 1), (3.2, 4), (99, 99), (101, 110), (1234, 1300), (250_000, 250_000)])
def test_times_are_rounded_up_to_two_digits(ms: float, rounded: int) -> None:
    assert rounded_up(np.array([ms])).tolist() == [rounded]
