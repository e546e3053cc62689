"""Queues that backfill, as operators set them: what a policy says reaches the rounds of a leader."""

from typing import Any

from controlplane.rm.driver.load import own_load
from scheduler.core.snapshot import Backfill
from tests.doubles import MemoryCluster as Cluster
from tests.playing import ONE_GIB, OPEN, finish, ready, turn

OFF: dict[str, Any] = {"preemption": {"policy": "off"}}


def gang(count: int, lasts_s: float) -> dict[str, Any]:
    return ONE_GIB | {"count": count, "gang": True, "estimated_duration_s": lasts_s}


def reason(cluster: Cluster, job: int) -> dict[str, Any]:
    found: dict[str, Any] | None = cluster.group(job).reason
    assert found is not None
    return found


def test_a_queue_that_backfills_starts_only_what_keeps_its_promise(cluster: Cluster) -> None:
    cluster.policy({"batch": {"backfill": "easy"} | OPEN, "free": OPEN}, **OFF)
    leader = ready(cluster)
    first = cluster.submit(gang(6, 1000.0), queue="root.batch")
    turn(cluster, leader, 2)
    assert cluster.held(first) == [6]
    waits = cluster.submit(gang(7, 50.0), queue="root.batch")
    turn(cluster, leader)
    too_long = cluster.submit(gang(2, 5000.0), queue="root.batch")
    short = cluster.submit(gang(1, 500.0), queue="root.batch")
    turn(cluster, leader, 2)
    assert cluster.held(first, waits, too_long, short) == [6, 0, 0, 1]
    leader.clock.ahead_s += 2.0
    turn(cluster, leader, 2)
    told = reason(cluster, waits)
    assert told["code"] in ("gang", "no_room") and 900 < told["estimate"]["latest_s"] <= 1000
    other = cluster.submit(ONE_GIB, queue="root.free")
    turn(cluster, leader, 2)
    assert cluster.held(other, too_long) == [1, 0], "queues without a rule go on as before"


def test_who_may_not_pass_one_at_its_queues_maximum_waits_for_that_as_well(cluster: Cluster) -> None:
    cluster.policy({"batch": {"backfill": "strict", "maximum": 0.5} | OPEN, "free": OPEN}, **OFF)
    leader = ready(cluster)
    first = cluster.submit(gang(3, 1000.0), queue="root.batch")
    turn(cluster, leader, 2)
    waits, behind = (cluster.submit(g, queue="root.batch") for g in (gang(2, 50.0), gang(1, 5000.0)))
    turn(cluster, leader, 2)
    assert cluster.held(first, waits, behind) == [3, 0, 0]
    load = own_load(leader.memory, cluster.sub.id)
    assert {path: amount[0] for path, amount in load.limited.by_queue.items()} == {"root.batch": 3 * 1024}
    assert load.demand[0] == 3 * 1024


def test_what_is_kept_back_is_told_until_when_there_is_room(cluster: Cluster) -> None:
    cluster.policy({"batch": OPEN}, placement={"parameters": {"backfill": "conservative"}}, **OFF)
    leader = ready(cluster)
    first = cluster.submit(gang(6, 1000.0), queue="root.batch")
    turn(cluster, leader, 2)
    waits, too_long = (cluster.submit(g, queue="root.batch") for g in (gang(8, 50.0), gang(1, 5000.0)))
    turn(cluster, leader, 2)
    told = reason(cluster, too_long)
    assert (cluster.held(waits, too_long), told["code"]) == ([0, 0], "reserved")
    assert told["limits"][0]["asked"] == {"seconds": 5000} and 800 < told["limits"][0]["available"]["seconds"] <= 1000
    finish(cluster, leader, first)
    turn(cluster, leader, 2)
    assert cluster.held(waits) == [8]


def test_what_a_queue_says_holds_for_all_below_it_and_before_what_the_cluster_says(cluster: Cluster) -> None:
    queues = {
        "a": {"backfill": "strict", "children": {"b": {}, "c": {"backfill": "none"}}},
        "d": {},
    }  # fmt: skip
    cluster.policy(queues, placement={"parameters": {"backfill": "easy"}})
    tree = cluster.lead().memory.queues
    rules = dict(zip(tree.paths, tree.backfill.tolist() if tree.backfill is not None else [], strict=True))
    assert rules == {
        "root": Backfill.EASY, "root.a": Backfill.STRICT, "root.a.b": Backfill.STRICT, "root.a.c": Backfill.NONE,
        "root.d": Backfill.EASY,
    }  # fmt: skip
