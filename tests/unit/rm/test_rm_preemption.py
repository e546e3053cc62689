"""Taking back what was lent, from the warning to the kill; who is spared, and what a new leader makes of it."""

from typing import Any

import pytest

from tests.doubles import MemoryCluster as Cluster
from tests.doubles import MemoryLeader as Leading
from tests.playing import GRACE_S, ONE_GIB, OPEN, counted_wrong, give_up, marks, ready, running, sized, taking, turn
from wire.states import ContainerState, Want

HALVES = {"a": {"guaranteed": 0.5} | OPEN, "b": {"guaranteed": 0.5} | OPEN}


def lent(cluster: Cluster, **parameters: Any) -> tuple[Leading, int, int]:
    """All eight places are a's; b, to whom half of them is guaranteed, has just asked for four."""
    cluster.policy(HALVES, **taking(**parameters))
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    return leader, borrower, cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")


def wait(cluster: Cluster, leader: Leading, seconds: float) -> None:
    turn(cluster, leader, int(seconds))


def test_owners_are_warned_and_after_the_grace_as_much_as_is_owed_is_stopped(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    assert cluster.events(borrower) == ["tasks 4, 5, 6, 7 of g0 will be stopped in 15 s, because it is owed to others"]
    wait(cluster, leader, GRACE_S - 2)
    assert cluster.held(borrower, owed) == [8, 0], "nobody is stopped before the grace is over"
    turn(cluster, leader, 3)
    assert cluster.held(borrower, owed) == [4, 4]
    assert cluster.reasons(borrower) == {"PREEMPTED": 4}
    group = cluster.group(borrower)
    assert (group.failed, group.retried) == (0, 4), "it is no failure, and it is tried again"
    assert cluster.events(borrower, "retry")[0] == "g0/4 was stopped to make way; it will be tried again"
    wait(cluster, leader, 3 * GRACE_S)
    assert (cluster.held(borrower, owed), len(cluster.events(borrower)), marks(leader)) == ([4, 4], 1, 0)
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, borrower, owed)


def test_what_is_being_stopped_is_neither_spared_nor_replaced_by_others(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    for _ in range(40):  # tasks that take their time to stop
        leader.clock.ahead_s += 1.0
        leader.round()
    stopping = (leader.memory.containers.want == Want.STOP) & leader.memory.containers.live
    assert stopping.sum() == 4
    assert (len(cluster.events(borrower)), len(leader.memory.warned)) == (1, 0)
    turn(cluster, leader, 2)
    assert (cluster.held(borrower, owed), marks(leader)) == ([4, 4], 0)
    cluster.kill(borrower)
    cluster.play(leader, borrower, owed)


def test_who_need_not_go_after_all_is_told_so(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    cluster.kill(owed)
    turn(cluster, leader, 3)
    assert cluster.events(borrower)[1:] == ["tasks 4, 5, 6, 7 of g0 may go on after all"]
    wait(cluster, leader, GRACE_S + 2)
    assert (cluster.held(borrower), marks(leader)) == ([8], 0)
    assert leader.rounds.next_due_s() is None
    cluster.play(leader, borrower)


def test_turning_preemption_off_spares_who_was_warned(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    cluster.policy(HALVES, preemption={"policy": "off"})
    wait(cluster, leader, GRACE_S + 3)
    assert (cluster.held(borrower, owed), marks(leader)) == ([8, 0], 0)
    assert cluster.events(borrower)[1:] == ["tasks 4, 5, 6, 7 of g0 may go on after all"]
    cluster.play(leader, borrower, owed)


def observing(interval_s: float = 1.0) -> dict[str, Any]:
    return {"preemption": taking(interval_s=interval_s)["preemption"] | {"policy": "observe"}}


def test_from_taking_to_observing_and_back(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    assert leader.summary().observed is None
    turn(cluster, leader, 2)
    cluster.policy(HALVES, **observing())
    wait(cluster, leader, GRACE_S + 3)
    assert (cluster.held(borrower, owed), marks(leader)) == ([8, 0], 0)
    assert cluster.events(borrower)[1] == "tasks 4, 5, 6, 7 of g0 may go on after all"
    cluster.policy(HALVES, **taking())
    turn(cluster, leader, 2)
    assert (
        cluster.events(borrower)[-1] == "tasks 4, 5, 6, 7 of g0 will be stopped in 15 s, because it is owed to others"
    )
    wait(cluster, leader, GRACE_S - 3)
    assert cluster.held(borrower, owed) == [8, 0], "they have their whole grace"
    turn(cluster, leader, 4)
    assert cluster.held(borrower, owed) == [4, 4]
    cluster.play(leader, borrower, owed)


def test_nothing_is_taken_while_most_nodes_are_silent(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    leader.rounds.planner.frozen = True
    wait(cluster, leader, 5)
    assert (cluster.events(borrower), marks(leader)) == ([], 0)
    leader.rounds.planner.frozen = False
    turn(cluster, leader, 2)
    leader.rounds.planner.frozen = True
    wait(cluster, leader, GRACE_S + 3)
    assert (cluster.held(borrower, owed), len(cluster.events(borrower))) == ([8, 0], 1), (
        "warned before, and nobody is stopped now"
    )
    leader.rounds.planner.frozen = False
    turn(cluster, leader, 3)
    assert cluster.held(borrower, owed) == [4, 4]
    cluster.play(leader, borrower, owed)


def test_a_queue_that_may_not_be_taken_from_keeps_all(cluster: Cluster) -> None:
    cluster.policy({"a": HALVES["a"] | {"preemptable": False}, "b": HALVES["b"]}, **taking())
    leader = ready(cluster)
    keeper = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    wait(cluster, leader, GRACE_S + 5)
    assert (cluster.held(keeper, owed), cluster.events(keeper), marks(leader)) == ([8, 0], [], 0)
    cluster.play(leader, keeper, owed)


def test_a_new_leader_warns_anew_and_stops_nobody_early(cluster: Cluster) -> None:
    first, borrower, owed = lent(cluster)
    turn(cluster, first, 2)
    wait(cluster, first, GRACE_S - 4)
    ahead = first.clock.ahead_s
    cluster.expire()
    leader = cluster.lead()
    leader.clock.ahead_s = ahead
    wait(cluster, leader, GRACE_S)
    assert (cluster.held(borrower, owed), len(cluster.events(borrower))) == ([8, 0], 2), (
        "warned twice, with the whole grace again"
    )
    turn(cluster, leader, 4)
    assert cluster.held(borrower, owed) == [4, 4]
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, borrower, owed)


def test_a_round_takes_no_more_than_its_bound(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster, per_round=0.25)
    turn(cluster, leader, 2)
    wait(cluster, leader, GRACE_S - 2)
    assert len(leader.memory.warned) == 2, "a quarter of eight"
    turn(cluster, leader, 3)
    assert cluster.held(borrower, owed) == [6, 2]
    wait(cluster, leader, GRACE_S + 5)
    assert cluster.held(borrower, owed) == [4, 4]
    cluster.play(leader, borrower, owed)


@pytest.mark.parametrize("how", ["killed", "done", "node lost"])
def test_no_marks_are_left_of_a_job_that_ends_while_it_is_warned(cluster: Cluster, how: str) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    assert marks(leader) == 4
    if how == "killed":
        cluster.kill(borrower)
    elif how == "done":
        cluster.nodes.finish()
    else:
        for node in cluster.ids:
            cluster.decommission(node)
    turn(cluster, leader, 3)
    assert marks(leader) == 0
    assert len(cluster.events(borrower)) == 1, "nobody is told that it may go on who has ended"
    assert cluster.reasons(borrower)["PREEMPTED"] == 0
    give_up(cluster, leader, borrower, owed)


def test_a_more_important_job_of_the_same_queue_takes_the_newest_of_the_least_important(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking())
    leader = ready(cluster)
    low, middle = (running(cluster, leader, ONE_GIB | {"count": 4}, queue="root.a", priority=p) for p in (1, 5))
    same = cluster.submit(ONE_GIB | {"count": 1}, queue="root.a", priority=1)
    high = cluster.submit(ONE_GIB | {"count": 2}, queue="root.a", priority=9)
    wait(cluster, leader, GRACE_S + 5)
    assert cluster.held(low, middle, same, high) == [2, 4, 0, 2]
    assert cluster.events(low) == [
        "tasks 2, 3 of g0 will be stopped in 15 s, because another job of its queue comes before it"
    ]
    cluster.play(leader, low, middle, same, high)


def test_a_user_above_the_fair_part_of_a_queue_gives_way_to_another(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking(intra_queue=["user_limit"]))
    leader = ready(cluster)
    hog = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    cluster.become("other")
    other = cluster.submit(ONE_GIB | {"count": 6}, queue="root.a")
    wait(cluster, leader, GRACE_S + 5)
    assert cluster.held(hog, other) == [4, 4], "though nothing of the first one's job waits"
    wait(cluster, leader, 2 * GRACE_S)
    assert cluster.held(hog, other) == [4, 4]
    cluster.play(leader, hog, other)


def test_a_container_too_large_for_what_would_be_freed_takes_nothing(cluster: Cluster) -> None:
    cluster.policy(HALVES, **taking())
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(sized(5), queue="root.b")
    wait(cluster, leader, GRACE_S + 5)
    assert (cluster.held(borrower, owed), cluster.events(borrower)) == ([8, 0], [])
    cluster.kill(owed)
    cluster.play(leader, borrower, owed)


def test_a_gang_that_is_owed_in_full_starts_at_once_when_all_of_it_is_free(cluster: Cluster) -> None:
    cluster.policy(HALVES, **taking())
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    gang = cluster.submit(ONE_GIB | {"count": 4, "gang": True}, queue="root.b")
    seen = set()
    for _ in range(int(GRACE_S) + 5):
        turn(cluster, leader)
        seen.add(cluster.held(gang)[0])
    assert seen == {0, 4}
    assert [container.state for container in cluster.live(borrower)] == [ContainerState.RUNNING] * 4
    cluster.play(leader, borrower, gang)
