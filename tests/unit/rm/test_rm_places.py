"""Which node a container goes to: near data, whole nodes for large asks, away from failures, all at once, spread."""

from typing import Any

import pytest

from controlplane.rm.driver.round import Duties
from tests.doubles import MemoryCluster as Cluster
from tests.doubles import MemoryLeader as Leading
from tests.playing import ONE_GIB, finish, give_up, ready, running, sized, turn
from wire.states import ContainerState, JobState

QUEUES = {"default": {"guaranteed": 1.0, "open_to_all": True}}
WAITS = {"node_wait_s": 4.0, "rack_wait_s": 4.0}


def near(*nodes: str, **more: Any) -> dict[str, Any]:
    return ONE_GIB | {"locality": {"nodes": list(nodes)} | more}


def with_far(cluster: Cluster, **components: Any) -> Leading:
    """n0 and n1 in rack r, and a node far in rack s."""
    cluster.ids.append(cluster.add_node("far", rack="s"))
    chosen = {"locality": {"policy": "delay", "parameters": WAITS}, "preemption": {"policy": "off"}} | components
    cluster.policy(QUEUES, **chosen)
    return ready(cluster)


def test_an_ask_waits_for_its_node_then_for_its_rack_then_goes_anywhere(cluster: Cluster) -> None:
    leader = with_far(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 4, "node_labels": "node == n0"})
    job, other = (cluster.submit(near("n0", "nowhere")) for _ in range(2))
    turn(cluster, leader, 3)
    assert cluster.held(job, other) == [0, 0]
    reason = cluster.group(job).reason
    assert reason["code"] == "locality_wait"
    finish(cluster, leader, full, 1)
    assert (cluster.where(job), cluster.where(other)) == ({"n0": 1}, {}), "a place there is taken at once"
    turn(cluster, leader, 2)
    assert cluster.where(other) == {"n1": 1}, "its rack"
    more = running(cluster, leader, ONE_GIB | {"count": 3, "node_labels": "node == n1"})
    last = cluster.submit(near("n0"))
    turn(cluster, leader, 7)
    assert cluster.where(last) == {}
    turn(cluster, leader, 2)
    assert cluster.where(last) == {"far": 1}, "anywhere"
    cluster.play(leader, full, job, other, more, last)


def test_the_planner_wakes_by_itself_when_a_wait_is_over(cluster: Cluster) -> None:
    leader = with_far(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 4, "node_labels": "node == n0"})
    job = cluster.submit(near("n0"))
    turn(cluster, leader)
    for _ in range(40):
        due = leader.rounds.next_due_s()
        assert due is not None and due <= 0.25, "somebody waits for a place near"
        leader.clock.ahead_s += due
        leader.rounds.run(Duties(), leader.answered)
        if cluster.held(job) == [1]:
            break
    assert cluster.where(job) == {"n1": 1}
    cluster.play(leader, full, job)


def test_racks_may_be_preferred_by_name_and_unknown_names_are_ignored(cluster: Cluster) -> None:
    leader = with_far(cluster)
    named = cluster.submit(ONE_GIB | {"count": 3, "locality": {"racks": ["s", "nowhere"]}})
    unknown = cluster.submit(ONE_GIB | {"count": 2, "locality": {"nodes": ["nobody"], "racks": ["nowhere"]}})
    turn(cluster, leader)
    assert cluster.where(named) == {"far": 3}
    assert cluster.held(unknown) == [2], "nothing to wait for"
    cluster.play(leader, named, unknown)


def test_a_strict_wish_is_never_relaxed(cluster: Cluster) -> None:
    leader = with_far(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 4, "node_labels": "node == far"})
    strict = cluster.submit(near("far", relax=False))
    nowhere = cluster.submit(near("nobody", relax=False))
    turn(cluster, leader, 30)
    assert cluster.held(strict, nowhere) == [0, 0]
    assert cluster.group(nowhere).reason["code"] == "no_node_matches"
    finish(cluster, leader, full, 1)
    turn(cluster, leader)
    assert cluster.where(strict) == {"far": 1}
    give_up(cluster, leader, full, strict, nowhere)


@pytest.mark.parametrize("kept", [False, True])
def test_a_large_ask_is_not_starved_by_small_ones(cluster: Cluster, kept: bool) -> None:
    """Small tasks come and go on every node; one of them is kept for the large one, unless no node may be kept."""
    share = 0.5 if kept else 0.0
    policy = {"reservation": {"policy": "reserve", "parameters": {"after_s": 3.0, "max_node_share": share}}}
    leader = with_far(cluster, **policy)
    small = [running(cluster, leader, ONE_GIB | {"count": 12})]
    large = cluster.submit(sized(4))
    for _ in range(15):
        small.append(cluster.submit(ONE_GIB | {"count": 2}))
        begun = sorted(container.id for job in small for container in cluster.live(job))
        cluster.nodes.finish(ids=set(begun[:2]))
        turn(cluster, leader)
    assert cluster.held(large) == [int(kept)]
    give_up(cluster, leader, large, *small)


def test_a_job_avoids_where_it_fails_but_never_every_node(cluster: Cluster) -> None:
    cluster.policy(QUEUES, failing_nodes={"policy": "avoid", "parameters": {"job_failures": 1, "max_node_share": 1.0}})
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"retries": 6})
    seen = []
    for _ in range(4):
        turn(cluster, leader)
        seen += list(cluster.where(job))
        cluster.nodes.finish(ContainerState.FAILED)
        turn(cluster, leader)
        leader.clock.ahead_s += 100.0
    assert seen[0] != seen[1] and seen[1] == seen[2] == seen[3], "one was avoided, and one had to be left"
    bound = cluster.submit(ONE_GIB | {"retries": 6, "node_labels": f"node == {seen[0]}"})
    for _ in range(2):
        turn(cluster, leader)
        assert cluster.where(bound) == {seen[0]: 1}, "its labels leave nothing else"
        cluster.nodes.finish(ContainerState.FAILED, set(cluster.nodes.holds(cluster.ids[int(seen[0][1])])))
        turn(cluster, leader)
        leader.clock.ahead_s += 100.0
    other = cluster.submit(ONE_GIB | {"count": 8})
    turn(cluster, leader)
    assert len(cluster.where(other)) == 2, "others have nothing to do with it"
    cluster.decommission(cluster.ids[1 - int(seen[0][1])])  # only the avoided one is left
    cluster.nodes.finish()
    turn(cluster, leader, 3)
    assert set(cluster.where(job)) <= {seen[0]} and (cluster.held(job) == [1] or cluster.state(job) > JobState.RUNNING)
    give_up(cluster, leader, job, bound, other)


def test_a_job_does_not_avoid_what_alone_can_hold_it(cluster: Cluster) -> None:
    cluster.policy(QUEUES, failing_nodes={"policy": "avoid", "parameters": {"job_failures": 1, "max_node_share": 1.0}})
    leader = ready(cluster)
    both = cluster.submit(ONE_GIB | {"count": 8, "gang": True, "retries": 6})
    turn(cluster, leader)
    assert len(cluster.where(both)) == 2
    cluster.nodes.finish(ContainerState.FAILED)
    turn(cluster, leader)
    leader.clock.ahead_s += 100.0
    turn(cluster, leader)
    assert cluster.held(both) == [8], "one node is too small for it, so it goes where it has failed"
    give_up(cluster, leader, both)


def test_a_gang_waits_until_all_of_it_fits(cluster: Cluster) -> None:
    leader = ready(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 6})
    gang = cluster.submit(ONE_GIB | {"count": 4, "gang": True})
    turn(cluster, leader, 3)
    assert cluster.held(gang) == [0]
    assert cluster.group(gang).reason["code"] == "gang"
    finish(cluster, leader, full, 1)
    turn(cluster, leader)
    assert cluster.held(gang) == [0]
    finish(cluster, leader, full, 1)
    turn(cluster, leader)
    assert cluster.held(gang) == [4]
    cluster.play(leader, full, gang)


def test_services_spread_where_batch_packs(cluster: Cluster) -> None:
    cluster.policy(QUEUES, placement={"policy": "pack"})
    leader = ready(cluster)
    batch = cluster.submit(ONE_GIB | {"count": 3})
    turn(cluster, leader)
    assert len(cluster.where(batch)) == 1
    service = cluster.submit({"count": 4, "resources": {"memory_mib": 64, "vcores_milli": 10}}, kind="service")
    turn(cluster, leader)
    assert len(cluster.where(service)) == 2 or set(cluster.where(service)) != set(cluster.where(batch))
    empty = ({"n0", "n1"} - set(cluster.where(batch))).pop()
    assert cluster.where(service)[empty] >= 2, "the emptier node gets the most"
    give_up(cluster, leader, batch, service)
