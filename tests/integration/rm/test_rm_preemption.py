"""Taking back what was lent, where rows of people and operators have a say, and screens that show it."""

from typing import Any

from controlplane.accounts.models import Role, User
from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.queries.subclusters import listing
from tests.integration.rm.cluster import Cluster, Leading
from tests.playing import GRACE_S, ONE_GIB, OPEN, give_up, marks, ready, running, taking, turn

HALVES = {"a": {"guaranteed": 0.5} | OPEN, "b": {"guaranteed": 0.5} | OPEN}


def lent(cluster: Cluster, **parameters: Any) -> tuple[Leading, int, int]:
    """All eight places are a's; b, to whom half of them is guaranteed, has just asked for four."""
    cluster.policy(HALVES, **taking(**parameters))
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    return leader, borrower, cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")


def wait(cluster: Cluster, leader: Leading, seconds: float) -> None:
    turn(cluster, leader, int(seconds))


def observing(interval_s: float = 1.0) -> dict[str, Any]:
    return {"preemption": taking(interval_s=interval_s)["preemption"] | {"policy": "observe"}}


def test_preemption_that_observes_tells_what_it_would_stop_and_stops_nothing(cluster: Cluster) -> None:
    cluster.policy(HALVES, **observing())
    leader = ready(cluster)
    borrower = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    owed = cluster.submit(ONE_GIB | {"count": 4}, queue="root.b")
    turn(cluster, leader, 2)
    would = (
        "tasks 4, 5, 6, 7 of g0 would be stopped in 15 s, because it is owed to others; but preemption only observes"
    )
    assert (cluster.events(borrower), leader.summary().observed) == ([would], (4, 0))
    wait(cluster, leader, 4 * GRACE_S)
    assert (cluster.held(borrower, owed), marks(leader)) == ([8, 0], 0), "nobody is stopped"
    assert (cluster.events(borrower), leader.summary().observed) == ([would], (4, 4)), "told once"
    assert not (leader.memory.room_due or leader.memory.memos[""].warned.any()), "nobody is promised room"
    leader.bus.summary(leader.summary(), b"", {})
    (shown,) = listing.sub_clusters(User(role=Role.OPERATOR))
    assert shown["would_preempt"] == {"marked": 4, "stopped": 4}
    cluster.kill(owed)
    turn(cluster, leader, 3)
    assert leader.summary().observed == (0, 4)
    cluster.play(leader, borrower, owed)


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
    assert (len(cluster.events(borrower)), len(leader.memory.warned)) == (1, 0)
    turn(cluster, leader, 2)
    assert (set(cluster.reasons(borrower)), marks(leader)) == ({"DRAINED"}, 0)
    give_up(cluster, leader, borrower, owed)


def test_a_priority_that_is_raised_counts_at_once(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 1.0} | OPEN}, **taking())
    leader = ready(cluster)
    first = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    second = cluster.submit(ONE_GIB | {"count": 2}, queue="root.a")
    turn(cluster, leader, 3)
    assert cluster.events(first) == []
    job_actions.set_priority(cluster.actor, cluster.job(second), 7)
    wait(cluster, leader, GRACE_S + 5)
    assert cluster.held(first, second) == [6, 2]
    cluster.play(leader, first, second)


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
    assert cluster.held(app, workers, owed) == [1, 3, 4], "although the others are of higher priority and newer"
