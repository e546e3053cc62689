"""Taking back what was lent, from the warning to the kill; who is spared, and what a new leader makes of it."""

from typing import Any

import pytest

from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.models import Container, TaskGroup
from controlplane.statestore.queries import federation
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.playing import (
    ONE_GIB,
    OPEN,
    counted_wrong,
    events,
    held,
    marks,
    ready,
    reasons,
    running,
    sized,
    turn,
)
from wire.states import ContainerState, Want, terminal

GRACE_S = 15.0
HALVES = {"a": {"guaranteed": 0.5} | OPEN, "b": {"guaranteed": 0.5} | OPEN}


def taking(**parameters: Any) -> dict[str, Any]:
    chosen = {"interval_s": 1.0, "grace_s": GRACE_S, "per_round": 1.0, "dead_zone": 0.0} | parameters
    return {"preemption": {"policy": "owed", "parameters": chosen}}


def lent(cluster: Cluster, **parameters: Any) -> tuple[Leading, int, int]:
    """All eight places are a's; b, to whom half of them is guaranteed, has just asked for four."""
    cluster.policy(HALVES, **taking(**parameters))
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    return leader, borrower, cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")


def give_up(cluster: Cluster, leader: Leading, *jobs: int) -> None:
    for job in jobs:
        if not terminal(cluster.job(job).state):
            cluster.kill(job)
    cluster.play(leader, *jobs)


def wait(cluster: Cluster, leader: Leading, seconds: float) -> None:
    turn(cluster, leader, int(seconds))


def test_owners_are_warned_and_after_the_grace_as_much_as_is_owed_is_stopped(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    assert events(borrower) == ["g0[4, 5, 6, 7] will be stopped in 15 s, because it is owed to others"]
    wait(cluster, leader, GRACE_S - 2)
    assert held(borrower, owed) == [8, 0], "nobody is stopped before the grace is over"
    turn(cluster, leader, 3)
    assert held(borrower, owed) == [4, 4]
    assert reasons(borrower) == {"PREEMPTED": 4}
    group = TaskGroup.objects.get(job_id=borrower)
    assert (group.failed, group.retried) == (0, 4), "it is no failure, and it is tried again"
    assert events(borrower, "retry")[0] == "g0[4] was stopped to make way; it will be tried again"
    wait(cluster, leader, 3 * GRACE_S)
    assert (held(borrower, owed), len(events(borrower)), marks(leader)) == ([4, 4], 1, 0)
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
    assert (len(events(borrower)), len(leader.memory.warned)) == (1, 0)
    turn(cluster, leader, 2)
    assert (held(borrower, owed), marks(leader)) == ([4, 4], 0)
    cluster.kill(borrower)
    cluster.play(leader, borrower, owed)


def test_who_need_not_go_after_all_is_told_so(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    cluster.kill(owed)
    turn(cluster, leader, 3)
    assert events(borrower)[1:] == ["g0[4, 5, 6, 7] may go on after all"]
    wait(cluster, leader, GRACE_S + 2)
    assert (held(borrower), marks(leader)) == ([8], 0)
    assert leader.rounds.next_due_s() is None
    cluster.play(leader, borrower)


def test_turning_preemption_off_spares_who_was_warned(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    cluster.policy(HALVES, preemption={"policy": "off"})
    wait(cluster, leader, GRACE_S + 3)
    assert (held(borrower, owed), marks(leader)) == ([8, 0], 0)
    assert events(borrower)[1:] == ["g0[4, 5, 6, 7] may go on after all"]
    cluster.play(leader, borrower, owed)


def observing(interval_s: float = 1.0) -> dict[str, Any]:
    return {"preemption": taking(interval_s=interval_s)["preemption"] | {"policy": "observe"}}


def test_preemption_that_observes_tells_what_it_would_stop_and_stops_nothing(cluster: Cluster) -> None:
    cluster.policy(HALVES, **observing())
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    turn(cluster, leader, 2)
    would = "g0[4, 5, 6, 7] would be stopped in 15 s, because it is owed to others; but preemption only observes"
    assert (events(borrower), leader.summary()["preemption"]) == ([would], {"marked": 4, "stopped": 0})
    wait(cluster, leader, 4 * GRACE_S)
    assert (held(borrower, owed), marks(leader)) == ([8, 0], 0), "nobody is stopped"
    assert (events(borrower), leader.summary()["preemption"]) == ([would], {"marked": 4, "stopped": 4}), "told once"
    assert not (leader.memory.room_due or leader.memory.memos[""].warned.any()), "nobody is promised room"
    leader.bus.summary(leader.summary(), b"", {})
    (shown,) = federation.sub_clusters(cluster.user)
    assert shown["would_preempt"] == {"marked": 4, "stopped": 4}
    cluster.kill(owed)
    turn(cluster, leader, 3)
    assert leader.summary()["preemption"] == {"marked": 0, "stopped": 4}
    cluster.play(leader, borrower, owed)


def test_from_taking_to_observing_and_back(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    assert leader.summary()["preemption"] is None
    turn(cluster, leader, 2)
    cluster.policy(HALVES, **observing())
    wait(cluster, leader, GRACE_S + 3)
    assert (held(borrower, owed), marks(leader)) == ([8, 0], 0)
    assert events(borrower)[1] == "g0[4, 5, 6, 7] may go on after all"
    cluster.policy(HALVES, **taking())
    turn(cluster, leader, 2)
    assert events(borrower)[-1] == "g0[4, 5, 6, 7] will be stopped in 15 s, because it is owed to others"
    wait(cluster, leader, GRACE_S - 3)
    assert held(borrower, owed) == [8, 0], "they have their whole grace"
    turn(cluster, leader, 4)
    assert held(borrower, owed) == [4, 4]
    cluster.play(leader, borrower, owed)


def test_nothing_is_taken_while_most_nodes_are_silent(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster)
    leader.rounds.planner.frozen = True
    wait(cluster, leader, 5)
    assert (events(borrower), marks(leader)) == ([], 0)
    leader.rounds.planner.frozen = False
    turn(cluster, leader, 2)
    leader.rounds.planner.frozen = True
    wait(cluster, leader, GRACE_S + 3)
    assert (held(borrower, owed), len(events(borrower))) == ([8, 0], 1), "warned before, and nobody is stopped now"
    leader.rounds.planner.frozen = False
    turn(cluster, leader, 3)
    assert held(borrower, owed) == [4, 4]
    cluster.play(leader, borrower, owed)


def test_a_queue_that_may_not_be_taken_from_keeps_all(cluster: Cluster) -> None:
    cluster.policy({"a": HALVES["a"] | {"preemptable": False}, "b": HALVES["b"]}, **taking())
    leader = ready(cluster)
    keeper = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    wait(cluster, leader, GRACE_S + 5)
    assert (held(keeper, owed), events(keeper), marks(leader)) == ([8, 0], [], 0)
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
    assert (held(borrower, owed), len(events(borrower))) == ([8, 0], 2), "warned twice, with the whole grace again"
    turn(cluster, leader, 4)
    assert held(borrower, owed) == [4, 4]
    assert counted_wrong(cluster, leader) == []
    cluster.play(leader, borrower, owed)


def test_a_round_takes_no_more_than_its_bound(cluster: Cluster) -> None:
    leader, borrower, owed = lent(cluster, per_round=0.25)
    turn(cluster, leader, 2)
    wait(cluster, leader, GRACE_S - 2)
    assert len(leader.memory.warned) == 2, "a quarter of eight"
    turn(cluster, leader, 3)
    assert held(borrower, owed) == [6, 2]
    wait(cluster, leader, GRACE_S + 5)
    assert held(borrower, owed) == [4, 4]
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
    assert len(events(borrower)) == 1, "nobody is told that it may go on who has ended"
    assert reasons(borrower)["PREEMPTED"] == 0
    give_up(cluster, leader, borrower, owed)


def test_a_drained_container_is_not_told_that_it_may_go_on(cluster: Cluster) -> None:
    from controlplane.statestore.actions import duty
    from controlplane.statestore.actions.audit import SYSTEM
    from controlplane.statestore.models import Node

    leader, borrower, owed = lent(cluster)
    turn(cluster, leader, 2)
    for node in Node.objects.filter(id__in=cluster.ids):
        duty.drain(SYSTEM, node, 0.0, "new disks")
    for _ in range(4):
        leader.clock.ahead_s += 1.0
        leader.round()
    assert (len(events(borrower)), len(leader.memory.warned)) == (1, 0)
    turn(cluster, leader, 2)
    assert (set(reasons(borrower)), marks(leader)) == ({"DRAINED"}, 0)
    give_up(cluster, leader, borrower, owed)


def test_a_more_important_job_of_the_same_queue_takes_the_newest_of_the_least_important(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking())
    leader = ready(cluster)
    low, middle = (running(cluster, leader, ONE_GIB | {"count": 4}, queue="root.a", priority=p) for p in (1, 5))
    same = cluster.submit(ONE_GIB | {"count": 1}, queue="root.a", priority=1)
    high = cluster.submit(ONE_GIB | {"count": 2}, queue="root.a", priority=9)
    wait(cluster, leader, GRACE_S + 5)
    assert held(low, middle, same, high) == [2, 4, 0, 2]
    assert events(low) == ["g0[2, 3] will be stopped in 15 s, because another job of its queue comes before it"]
    cluster.play(leader, low, middle, same, high)


def test_a_priority_that_is_raised_counts_at_once(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking())
    leader = ready(cluster)
    first = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    second = cluster.submit(ONE_GIB | {"count": 2}, queue="root.a")
    turn(cluster, leader, 3)
    assert events(first) == []
    job_actions.set_priority(cluster.actor, cluster.job(second), 7)
    wait(cluster, leader, GRACE_S + 5)
    assert held(first, second) == [6, 2]
    cluster.play(leader, first, second)


def test_a_user_above_the_fair_part_of_a_queue_gives_way_to_another(cluster: Cluster) -> None:
    from controlplane.accounts.models import User
    from controlplane.statestore.actions.audit import Actor

    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking(intra_queue=["user_limit"]))
    leader = ready(cluster)
    hog = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    cluster.actor = Actor(User.objects.create(username="other").pk)
    other = cluster.submit(ONE_GIB | {"count": 6}, queue="root.a")
    wait(cluster, leader, GRACE_S + 5)
    assert held(hog, other) == [4, 4], "though nothing of the first one's job waits"
    wait(cluster, leader, 2 * GRACE_S)
    assert held(hog, other) == [4, 4]
    cluster.play(leader, hog, other)


def test_a_container_too_large_for_what_would_be_freed_takes_nothing(cluster: Cluster) -> None:
    cluster.policy(HALVES, **taking())
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(sized(5), queue="root.b")
    wait(cluster, leader, GRACE_S + 5)
    assert (held(borrower, owed), events(borrower)) == ([8, 0], [])
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
        seen.add(held(gang)[0])
    assert seen == {0, 4}
    assert Container.objects.filter(job_id=borrower, state=ContainerState.RUNNING).count() == 4
    cluster.play(leader, borrower, gang)


def test_a_master_stays_while_its_containers_suffice(cluster: Cluster) -> None:
    cluster.policy(HALVES, **taking())
    leader = ready(cluster)
    spec = {"name": "app", "kind": "application", "queue": "root.a"}
    app = cluster.submit_spec(
        spec | {"master": {"command": ["am"], "resources": {"memory_mib": 1024, "vcores_milli": 1000}}}
    )
    turn(cluster, leader, 2)
    workers = running(cluster, leader, ONE_GIB | {"count": 7}, queue="root.a", priority=9)
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    wait(cluster, leader, GRACE_S + 4)
    assert held(app, workers, owed) == [1, 3, 4], "although the others are of higher priority and newer"
