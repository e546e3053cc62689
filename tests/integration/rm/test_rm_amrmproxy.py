"""Whom a home RM asks to start its jobs' tasks, over real stores."""

from typing import Any

import pytest

from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.queries.jobs import listing, reasons
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import FAST, OPEN, SMALL, Federation
from wire.states import ContainerState


@pytest.fixture
def federation(cluster: Cluster) -> Federation:
    made = Federation(cluster)
    made.proxy()
    return made


def submit(f: Federation, count: int, queue: str = "root.default", **more: Any) -> int:
    return f.west.submit(SMALL | {"count": count} | more, queue=queue)


def test_what_fits_at_home_stays_and_the_rest_goes_where_there_is_room(federation: Federation) -> None:
    small = submit(federation, 10)
    federation.rounds(2)
    assert federation.live() == [10, 0, 0]
    large = submit(federation, 30)
    federation.rounds(4)
    west, east, south = federation.live()
    assert (west, east + south, east > 8, south > 8) == (16, 24, True, True)
    federation.finish(small, large)


def test_what_nobody_has_room_for_waits_at_home_and_goes_once_there_is(federation: Federation) -> None:
    job = submit(federation, 60)
    federation.rounds(4)
    assert federation.live() == [16, 16, 16]
    assert federation.waiting() == 0
    home = federation.leaders[0]
    assert home is not None
    soon = home.clock.now_us() / 1e6 + home.memory.queues.proxy_interval_s
    assert home.rounds.proxy.look_s() <= soon, "nobody tells it of room elsewhere: it looks"
    federation.clusters[1].nodes.finish()
    federation.rounds(4)
    assert sum(federation.live()) >= 44 and federation.live()[1] >= 12
    federation.finish(job)
    federation.rounds(2)
    assert home.rounds.proxy.look_s() == float("inf"), "nothing waits"


def test_what_no_node_could_ever_hold_keeps_nobody_from_the_room_there_is(federation: Federation) -> None:
    for at, what in ((1, {"memory_mib": 1 << 20}), (2, {"memory_mib": 512, "gpus": 60})):
        federation.clusters[at].submit({"count": 40, "resources": what}, queue="root.default")
    federation.rounds(6)  # until it is known there
    submit(federation, 40)
    federation.rounds(5)
    west, east, south = federation.live()
    assert (west, east + south, east > 8, south > 8) == (16, 24, True, True)


def capped(federation: Federation, policy: str, **limits: Any) -> None:
    """A queue that may hold a quarter of each sub-cluster."""
    proxy = {"policy": policy, "parameters": {} if policy == "home" else FAST}
    queues: dict[str, Any] = {
        "default": {"guaranteed": 0.8},
        "capped": {"guaranteed": 0.2, "federation": {"amrmproxy": proxy}} | limits,
    }
    usual = {"policy": "locality", "parameters": FAST}
    federation.west.policy({name: each | OPEN for name, each in queues.items()}, amrmproxy=usual)
    federation.rounds()


def test_tasks_that_others_nodes_are_too_small_for_are_handed_over_no_further_than_there_is_room(
    federation: Federation,
) -> None:
    federation.west.add_node("large", memory_mib=16384, vcores_milli=16000)
    federation.proxy(relax_after_s=60.0)
    submit(federation, 16, node_labels="name in (n0, n1)")
    federation.rounds(2)
    submit(federation, 60, resources={"memory_mib": 8192, "vcores_milli": 1000})
    for _ in range(14):
        federation.rounds()
        assert federation.waiting() <= 2, "as if each of the others were one node"


@pytest.mark.parametrize("limits", [{"maximum": 0.25}, {"user_maximum": 0.25}, {"maximum": 0.25, "backfill": "strict"}])
def test_what_waits_for_a_limit_keeps_no_other_queue_from_the_room_there_is(
    federation: Federation, limits: dict[str, Any]
) -> None:
    capped(federation, "home", **limits)
    for at in (1, 2):
        federation.clusters[at].submit(SMALL | {"count": 100}, queue="root.capped")
    federation.rounds(2)
    assert federation.live() == [0, 4, 4]
    submit(federation, 40)
    federation.rounds(5)
    assert federation.live() == [16, 16, 16]


def test_a_queue_at_its_limit_everywhere_is_handed_over_no_further_than_there_is_room(federation: Federation) -> None:
    capped(federation, "locality", maximum=0.25)
    submit(federation, 200, "root.capped")
    federation.rounds(12)
    handed = federation.waiting()
    assert handed <= 2 * 16 and federation.live() == [4, 4, 4]
    asks = "SELECT sub_cluster_id, target, wish, taken FROM statestore_ask ORDER BY 1"
    before = federation.west.rows(asks)
    for _ in range(12):
        federation.rounds()
        assert federation.west.rows(asks) == before, "it is not asked back, as its queue has no room at home either"


@pytest.mark.parametrize(
    ("policy", "parameters", "expected"),
    [
        ("home", {}, [16, 0, 0]),
        ("broadcast", {}, [10, 10, 10]),
        ("weighted", {"weights": {"west": 1, "east": 4}}, [6, 16, 0]),
        ("locality", {"prefer_home": False, "alpha": 0.0}, [10, 10, 10]),
    ],
)
def test_policies(federation: Federation, policy: str, parameters: dict[str, Any], expected: list[int]) -> None:
    federation.proxy(policy, **parameters)
    job = submit(federation, 30)
    federation.rounds(3, ahead_s=0.2)
    assert federation.live() == expected
    federation.finish(job)


def test_tasks_that_name_nodes_or_labels_go_to_whoever_has_them(federation: Federation) -> None:
    near = submit(federation, 4, locality={"nodes": ["south0"]})
    only = submit(federation, 4, node_labels="name == east1")
    strict = submit(federation, 2, locality={"nodes": ["south1"], "relax": False})
    federation.rounds(3, ahead_s=0.2)
    rows = federation.west.rows(
        "SELECT c.job_id, n.name, count(*) FROM statestore_container c JOIN statestore_node n ON n.id = c.node_id"
        " GROUP BY 1, 2 ORDER BY 1"
    )
    assert rows == [(near, "south0", 4), (only, "east1", 4), (strict, "south1", 2)]
    federation.finish(near, only, strict)


def test_a_gang_goes_whole_to_one_sub_cluster(federation: Federation) -> None:
    busy = submit(federation, 10)
    federation.rounds(2)
    gang = submit(federation, 12, gang=True)
    federation.rounds(4)
    assert sorted(federation.live()) == [0, 10, 12]
    federation.finish(busy, gang)


def test_a_gang_whose_queue_stays_at_home_waits_there(federation: Federation) -> None:
    federation.proxy("home")
    busy = submit(federation, 10)
    federation.rounds(2)
    gang = submit(federation, 12, gang=True)
    federation.rounds(6)
    assert federation.live() == [10, 0, 0] and federation.waiting() == 0
    federation.finish(busy)
    federation.rounds(2)
    assert federation.live() == [12, 0, 0]
    federation.finish(gang)


def test_what_waits_elsewhere_comes_home_when_its_queue_is_to_stay_there(federation: Federation) -> None:
    hogs = [cluster.submit(SMALL | {"count": 16}) for cluster in federation.clusters]
    federation.rounds(2)
    federation.proxy("broadcast")
    job = submit(federation, 30)
    federation.rounds(2, ahead_s=0.2)
    assert federation.waiting() == 20
    federation.proxy("home")
    federation.rounds(4)
    assert federation.waiting() == 0
    federation.finish(*hogs, job)


@pytest.mark.parametrize(("queue", "soon"), [("root.a", 1), ("root.b", 0)])
def test_how_long_a_queue_waits_at_home_is_its_own_to_say(federation: Federation, queue: str, soon: int) -> None:
    """A task that home has the memory for, though no one node: after a while it goes elsewhere."""
    patient = {"amrmproxy": {"policy": "locality", "parameters": FAST | {"relax_after_s": 20.0}}}
    queues: dict[str, Any] = {"a": {"guaranteed": 0.5}, "b": {"guaranteed": 0.5, "federation": patient}}
    quick = {"policy": "locality", "parameters": FAST}
    federation.west.policy({name: each | OPEN for name, each in queues.items()}, amrmproxy=quick)
    federation.rounds()
    busy = [submit(federation, 5, "root.a", node_labels=f"name == {node}") for node in ("n0", "n1")]
    federation.rounds(2)
    large = submit(federation, 1, queue, resources={"memory_mib": 2048, "vcores_milli": 500})
    federation.rounds(10)
    assert federation.live()[0] == 10 and sum(federation.live()) == 10 + soon
    federation.rounds(8, ahead_s=3.0)
    assert federation.live()[0] == 10 and sum(federation.live()) == 11
    federation.finish(*busy, large)


@pytest.mark.parametrize("leaving", ["home", "guest"])
def test_a_service_leaves_a_drained_sub_cluster_and_half_of_it_serves_all_the_time(
    federation: Federation, leaving: str
) -> None:
    job = federation.west.submit(SMALL | {"count": 24}, kind="service")
    federation.rounds(6)
    live = federation.live()
    assert (live[0], sum(live)) == (16, 24)
    at = 0 if leaving == "home" else 1 if live[1] else 2
    subclusters.drain(SYSTEM, federation.clusters[at].sub, None)
    serving = f"SELECT count(*) FROM statestore_container WHERE job_id = {job} AND state = {ContainerState.RUNNING:d}"
    for _ in range(40):
        federation.rounds()
        assert federation.west.one(serving) >= 12
    assert (federation.live()[at], sum(federation.live())) == (0, 24)


def test_what_waits_too_long_in_one_sub_cluster_goes_to_another(federation: Federation) -> None:
    hog = federation.clusters[1].submit(SMALL | {"count": 16})
    federation.rounds()
    federation.proxy("broadcast", relax_after_s=10.0)
    job = submit(federation, 30)
    federation.rounds(2, ahead_s=0.2)
    assert federation.live() == [10, 16, 10] and federation.waiting() == 10
    federation.rounds(2)
    detail = listing.detail(federation.west.user, job)
    assert detail is not None and detail["waiting"] == "g0: Its tasks wait in other sub-clusters: 10 in east."
    (group,) = reasons.explanation(detail)["groups"]
    (place,) = group["elsewhere"]
    assert (place["sub_cluster"], place["waiting"], place["reason"]["code"]) == ("east", 10, "no_room")
    federation.rounds(8, ahead_s=3.0)
    assert federation.live() == [15, 16, 15] and federation.waiting() == 0
    federation.finish(hog, job)


def test_tasks_that_wait_where_nobody_leads_move_and_running_ones_stay(federation: Federation) -> None:
    job = submit(federation, 48)
    federation.rounds(3)
    assert federation.live() == [16, 16, 16]
    federation.proxy("broadcast")
    more = submit(federation, 30)
    federation.rounds(1, ahead_s=0.1)
    assert federation.waiting() == 20
    federation.stop(1)
    for at in (0, 2):
        federation.clusters[at].nodes.finish()
    federation.rounds(8)
    assert federation.live()[1] == 16, "what runs there is no worse for it"
    assert federation.west.one("SELECT sum(target - taken) FROM statestore_ask WHERE sub_cluster_id = 2") in (0, None)
    federation.lead(1)
    federation.finish(job, more)


@pytest.mark.parametrize("policy", ["locality", "broadcast"])
def test_what_waited_in_one_that_died_goes_to_the_others_inversely_to_their_load(
    federation: Federation, policy: str
) -> None:
    federation.proxy("broadcast")
    queued = "name in (south0, south1)"
    hogs = [cluster.submit(SMALL | {"count": 16}) for cluster in federation.clusters]
    federation.rounds(2)
    hogs.append(federation.clusters[2].submit(SMALL | {"count": 64, "node_labels": queued}))
    job = submit(federation, 90)
    federation.rounds(1, ahead_s=0.2)
    assert federation.waiting() == 60
    federation.proxy(policy)
    federation.stop(1)
    federation.rounds(8)
    south = federation.clusters[2].sub.pk
    in_south = federation.west.one(f"SELECT sum(target - taken) FROM statestore_ask WHERE sub_cluster_id = {south}")
    # The load is 2.9 at home, where 16 run and 30 wait, and 6.9 in the south: home gets 21 of the 30, and not 15.
    assert 37 <= in_south <= 41
    federation.lead(1)
    federation.finish(*hogs, job)


@pytest.mark.parametrize("policy", ["locality", "broadcast", "weighted"])
def test_what_waits_in_a_home_that_is_drained_moves(federation: Federation, policy: str) -> None:
    federation.proxy(policy)
    subclusters.drain(SYSTEM, federation.west.sub, None)
    job = submit(federation, 20)
    federation.rounds(3)
    assert federation.live()[0] == 0 and sum(federation.live()) == 20
    federation.finish(job)


def test_a_sub_cluster_that_is_drained_gets_nothing_more(federation: Federation) -> None:
    federation.west.rows("UPDATE statestore_subcluster SET state = 'draining' WHERE name = 'east' RETURNING 1")
    job = submit(federation, 40)
    federation.rounds(4)
    assert federation.live()[1] == 0 and federation.live()[2] == 16
    federation.finish(job)
