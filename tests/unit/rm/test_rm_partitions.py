"""Partitions: who may run where, what is lent and given back, and that all of it is counted by partition."""

from typing import Any

import pytest

from controlplane.statestore.capacities import DEFAULT
from tests.doubles import MemoryCluster as Cluster
from tests.doubles import MemoryLeader as Leading
from tests.playing import (
    GRACE_S,
    ONE_GIB,
    OPEN,
    counted_wrong,
    finish,
    give_up,
    marks,
    ready,
    running,
    sized,
    taking,
    turn,
)

SHARED = {"gpu": {"nodes": "gpu", "exclusive": False}}
EXCLUSIVE = {"gpu": {"nodes": "gpu", "exclusive": True}}
QUEUES = {
    "a": {"guaranteed": 0.5} | OPEN,
    "lab": {"guaranteed": 0.5, "default_partition": "gpu", "partitions": {"gpu": {"guaranteed": 1.0}}} | OPEN,
}


def three(cluster: Cluster, partitions: dict[str, Any], queues: dict[str, Any] = QUEUES) -> Leading:
    """n0 and n1 without labels, and g0 with one: four places each."""
    cluster.ids.append(cluster.add_node("g0", labels={"gpu": "a100"}))
    cluster.policy(queues, partitions, **taking())
    return ready(cluster)


def gpu(count: int, **more: Any) -> dict[str, Any]:
    return ONE_GIB | {"count": count, "partition": "gpu"} | more


def test_an_exclusive_partition_takes_only_asks_that_name_it(cluster: Cluster) -> None:
    leader = three(cluster, EXCLUSIVE)
    plain = cluster.submit(ONE_GIB | {"count": 12}, queue="root.a")
    named = cluster.submit(gpu(1), queue="root.a")
    of_queue = cluster.submit(ONE_GIB | {"count": 2}, queue="root.lab")
    turn(cluster, leader)
    assert cluster.where(plain) == {"n0": 4, "n1": 4}
    assert (cluster.where(named), cluster.where(of_queue)) == ({"g0": 1}, {"g0": 2})
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, plain, named, of_queue)
    assert counted_wrong(cluster, leader) == []


def test_what_is_idle_in_a_shared_partition_is_lent_after_its_own_asks_were_served(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    plain = cluster.submit(ONE_GIB | {"count": 12}, queue="root.a")
    own = cluster.submit(gpu(3), queue="root.a")
    turn(cluster, leader)
    assert (cluster.where(own), cluster.where(plain)) == ({"g0": 3}, {"n0": 4, "n1": 4, "g0": 1})
    finish(cluster, leader, own)
    turn(cluster, leader)
    assert cluster.where(plain) == {"n0": 4, "n1": 4, "g0": 4}
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, plain, own)


def test_a_queue_has_limits_of_its_own_in_each_partition(cluster: Cluster) -> None:
    queues = {"a": {"maximum": 0.25, "partitions": {"gpu": {"maximum": 0.5}}} | OPEN, "b": OPEN}
    leader = three(cluster, EXCLUSIVE, queues)
    plain = cluster.submit(ONE_GIB | {"count": 9}, queue="root.a")
    named = cluster.submit(gpu(9), queue="root.a")
    turn(cluster, leader)
    assert (cluster.where(named), sum(cluster.where(plain).values())) == ({"g0": 2}, 2)
    other = cluster.submit(gpu(9), queue="root.b")
    turn(cluster, leader)
    assert cluster.held(other) == [2]
    give_up(cluster, leader, plain, named, other)


def test_what_a_queue_may_not_hold_is_not_lent_to_it_either(cluster: Cluster) -> None:
    """The default partition has no GPUs here, so that nobody's maximum of them is less than all of it."""
    for name in ("n0", "n1"):
        cluster.add_node(name, gpus=0)
    leader = three(cluster, SHARED, QUEUES | {"a": {"maximum": {"gpus": "0 gpus"}} | OPEN})
    one = {"resources": {"memory_mib": 64, "vcores_milli": 64, "gpus": 1}}
    denied, free = cluster.submit(one, queue="root.a"), cluster.submit(one | {"partition": ""}, queue="root.lab")
    turn(cluster, leader)
    assert (cluster.where(denied), cluster.where(free)) == ({}, {"g0": 1})
    give_up(cluster, leader, denied, free)


def test_a_share_of_what_a_partition_lacks_is_nothing(cluster: Cluster) -> None:
    """Half of no GPUs are none, also of those that are lent; the whole is not limited. Of its cores half are lent."""
    for name in ("n0", "n1"):
        cluster.add_node(name, gpus=0)
    leader = three(cluster, SHARED, QUEUES | {"a": {"maximum": 0.5} | OPEN})
    one = {"resources": {"memory_mib": 64, "vcores_milli": 64, "gpus": 1}, "partition": ""}
    half, whole = cluster.submit(one, queue="root.a"), cluster.submit(one, queue="root.lab")
    plain = cluster.submit({}, queue="root.a")
    turn(cluster, leader, 2)
    assert (cluster.held(half, plain), cluster.where(whole)) == ([0, 1], {"g0": 1})
    reason = cluster.group(half).reason
    assert (reason["code"], reason["limits"][0]["available"]) == ("queue_maximum", {"gpus": 0})
    assert reason["text"] == (
        "The queue root.a may hold none here (its maximum is nothing, or a share of what its partition lacks): "
        "0 GPUs left, asked 1."
    )
    give_up(cluster, leader, half, whole, plain)


@pytest.mark.parametrize("queue", ["root.lab", "root.a"])
def test_what_was_lent_is_given_back_to_the_partitions_own_asks(cluster: Cluster, queue: str) -> None:
    """Also where the queue is guaranteed nothing of the partition: its own work comes first there."""
    leader = three(cluster, SHARED)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    own = cluster.submit(gpu(2), queue=queue)
    turn(cluster, leader, 2)
    assert len(cluster.events(borrower)) == 1 and "it is owed to others" in cluster.events(borrower)[0]
    turn(cluster, leader, int(GRACE_S) - 2)
    assert cluster.held(borrower, own) == [12, 0], "nobody is stopped before the grace is over"
    turn(cluster, leader, 3)
    assert (cluster.where(own), cluster.where(borrower)) == ({"g0": 2}, {"n0": 4, "n1": 4, "g0": 2})
    assert (cluster.reasons(borrower), marks(leader)) == ({"PREEMPTED": 2}, 0)
    turn(cluster, leader, 2 * int(GRACE_S))
    assert (cluster.held(borrower, own), len(cluster.events(borrower))) == ([10, 2], 1)
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, borrower, own)


def test_borrowers_go_back_when_the_room_is_idle_again(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    own = cluster.submit(gpu(4), queue="root.lab")
    turn(cluster, leader, int(GRACE_S) + 4)
    assert (cluster.where(own), cluster.where(borrower)) == ({"g0": 4}, {"n0": 4, "n1": 4})
    finish(cluster, leader, own)
    turn(cluster, leader)
    assert cluster.where(borrower) == {"n0": 4, "n1": 4, "g0": 4}
    cluster.play(leader, borrower, own)


def test_room_that_is_being_made_is_not_given_away_meanwhile(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    small = cluster.submit(ONE_GIB | {"count": 9}, queue="root.a")
    large = cluster.submit(sized(4, partition="gpu"), queue="root.lab")
    turn(cluster, leader, 3)
    assert marks(leader) == 4
    on_g0 = cluster.nodes.holds(cluster.ids[2])
    cluster.nodes.finish(ids=set(sorted(on_g0)[:1]))
    turn(cluster, leader, 3)
    assert (cluster.held(borrower, small), cluster.where(small)) == ([11, 0], {}), "one place is free there, and kept"
    turn(cluster, leader, int(GRACE_S))
    assert cluster.where(large) == {"g0": 1}
    cluster.play(leader, borrower, small, large)


def test_a_node_held_for_an_ask_that_is_gone_is_lent_again(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    own = running(cluster, leader, gpu(3), queue="root.lab")
    large = cluster.submit(sized(4, partition="gpu"), queue="root.lab")
    turn(cluster, leader, 12)
    assert len(leader.memory.memos["gpu"].reserved) == 1
    plain = cluster.submit(ONE_GIB | {"count": 9}, queue="root.a")
    turn(cluster, leader, 2)
    assert cluster.where(plain) == {"n0": 4, "n1": 4}, "the place left is kept"
    cluster.kill(large)
    turn(cluster, leader, 2)
    assert cluster.where(plain) == {"n0": 4, "n1": 4, "g0": 1}, "nobody asks for the partition any more"
    cluster.play(leader, own, large, plain)


def test_no_node_is_held_for_borrowers_while_its_own_partition_fills_it_again(cluster: Cluster) -> None:
    """g0 is the largest, so that the least share of it has to be freed for what fits n0 as well."""
    cluster.ids.append(cluster.add_node("g0", labels={"gpu": "a100"}, memory_mib=8192, vcores_milli=8000))
    cluster.policy(QUEUES, SHARED, preemption={"policy": "off"})
    leader = ready(cluster)
    own = cluster.submit(gpu(28), queue="root.lab")
    turn(cluster, leader)
    plain = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    large = cluster.submit(sized(4), queue="root.a")
    for _ in range(12):  # what ends is followed by the next: its own ask never waits long enough to hold the node
        cluster.nodes.finish(ids=set(sorted(cluster.nodes.holds(cluster.ids[2]))[:1]))
        turn(cluster, leader)
    assert held_for_borrowers(leader) == {"n0"}
    finish(cluster, leader, plain)
    turn(cluster, leader)
    assert cluster.where(large) == {"n0": 1}
    again = cluster.submit(sized(4, count=3), queue="root.a")
    finish(cluster, leader, own)
    cluster.play(leader, own, large, again)


def held_for_borrowers(leader: Leading) -> set[str]:
    """Names of nodes that the default partition holds."""
    m = leader.memory
    held = m.nodes_of(len(m.partitions) - 1)[0][m.memos[DEFAULT].reserved_node]
    return {m.nodes.rows[at].name for at in held}


def test_borrowers_whose_queue_may_not_be_taken_from_stay(cluster: Cluster) -> None:
    leader = three(cluster, SHARED, QUEUES | {"a": QUEUES["a"] | {"preemptable": False}})
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    own = cluster.submit(gpu(2), queue="root.lab")
    turn(cluster, leader, int(GRACE_S) + 4)
    assert (cluster.held(borrower, own), cluster.events(borrower)) == ([12, 0], [])
    cluster.play(leader, borrower, own)


def test_what_a_shared_partition_holds_itself_is_not_the_default_ones_to_divide(cluster: Cluster) -> None:
    """b is owed half of the default partition, however much the shared one uses of its own nodes."""
    queues = {name: {"guaranteed": 0.5} | OPEN for name in ("a", "b")}
    leader = three(cluster, SHARED, queues)
    own = running(cluster, leader, gpu(4), queue="root.a")
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    turn(cluster, leader, int(GRACE_S) + 4)
    assert cluster.held(own, borrower, owed) == [4, 4, 4]
    cluster.play(leader, own, borrower, owed)


def test_a_container_is_claimed_by_one_partition_only(cluster: Cluster) -> None:
    """a has borrowed everything; the partition wants its node back while b is owed half of the others."""
    queues = {"a": {"guaranteed": 0.5} | OPEN, "b": {"guaranteed": 0.5} | OPEN}
    leader = three(cluster, SHARED, queues)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    own = cluster.submit(gpu(4), queue="root.b")
    turn(cluster, leader, int(GRACE_S) + 4)
    assert (cluster.held(borrower, owed), cluster.where(own)) == ([4, 4], {"g0": 4})
    assert cluster.reasons(borrower) == {"PREEMPTED": 8}
    turn(cluster, leader, 2 * int(GRACE_S))
    assert (cluster.held(borrower, owed, own), marks(leader)) == ([4, 4, 4], 0)
    cluster.play(leader, borrower, owed, own)


def test_a_container_is_observed_for_one_partition_only(cluster: Cluster) -> None:
    """As above, and nothing is stopped; what nobody asks for any more need not go, nor of a partition that is gone."""
    queues = {"a": {"guaranteed": 0.5} | OPEN, "b": {"guaranteed": 0.5} | OPEN}
    observed = taking()["preemption"] | {"policy": "observe"}
    leader = three(cluster, SHARED, queues)
    cluster.policy(queues, SHARED, preemption=observed)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    own = cluster.submit(gpu(4), queue="root.b")
    turn(cluster, leader, int(GRACE_S) + 4)
    assert leader.summary().observed == (8, 8)
    assert cluster.held(borrower, owed, own) == [12, 0, 0]
    cluster.policy(queues, {}, preemption=observed)
    give_up(cluster, leader, owed, own)
    turn(cluster, leader, 2)
    assert (leader.summary().observed.marked, leader.rounds.next_due_s()) == (0, None)
    cluster.play(leader, borrower)


def test_usage_is_right_by_partition_whatever_happens_to_partitions(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    plain = running(cluster, leader, ONE_GIB | {"count": 10}, queue="root.a")
    own = running(cluster, leader, gpu(1), queue="root.lab")
    assert counted_wrong(cluster, leader) == []
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (QUEUES, EXCLUSIVE),
        ({"a": QUEUES["a"]}, {}),  # neither the partition nor the queue is left
        (QUEUES, {"other": {"nodes": "name == n0", "exclusive": False}} | SHARED),
        (QUEUES, {"gpu": {"nodes": "node in (n0, g0)", "exclusive": False}}),
    ]
    for queues, partitions in changes:
        cluster.policy(queues, partitions, **taking())
        turn(cluster, leader, 3)
        assert counted_wrong(cluster, leader) == [], partitions
        assert leader.rebuilt().ledger.queues.tolist() == leader.memory.ledger.queues.tolist()
    cluster.expire()
    ahead, leader = leader.clock.ahead_s, cluster.lead()
    leader.clock.ahead_s = ahead
    turn(cluster, leader)
    assert counted_wrong(cluster, leader) == []
    finish(cluster, leader, plain, 3)
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, plain, own)
    assert not leader.memory.ledger.queues.any()


def test_partitions_may_change_while_nodes_are_held_and_containers_warned(cluster: Cluster) -> None:
    leader = three(cluster, SHARED)
    borrower = running(cluster, leader, ONE_GIB | {"count": 12}, queue="root.a")
    own = cluster.submit(sized(4, count=1, partition="gpu"), queue="root.lab")
    turn(cluster, leader, 12)
    memory = leader.memory
    assert len(memory.memos["gpu"].reserved_node) == 1 and marks(leader) == 4
    for partitions in ({"gpu": {"nodes": "node == n0", "exclusive": True}}, {}, EXCLUSIVE, SHARED):
        queues = QUEUES if partitions else {name: {"guaranteed": 0.5} | OPEN for name in QUEUES}
        cluster.policy(queues, partitions, **taking())
        turn(cluster, leader, 2)
        warned = {cid for memo in memory.memos.values() for cid in memo.warned.tolist()}
        assert set(memory.warned) == warned, "a warning has somebody who stands by it"
    assert cluster.where(own) in ({}, {"g0": 1}, {"n0": 1})
    give_up(cluster, leader, borrower, own)
    assert marks(leader) == 0
