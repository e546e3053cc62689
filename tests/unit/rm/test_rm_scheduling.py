"""Who gets what is free: limits of users, orders within a queue, shares between queues, and that nothing idles."""

from typing import Any

from tests.doubles import MemoryCluster as Cluster
from tests.playing import ONE_GIB, OPEN, counted_wrong, finish, give_up, ready, running, turn

OFF: dict[str, Any] = {"preemption": {"policy": "off"}}


def by(cluster: Cluster, name: str) -> Cluster:
    """Submit as somebody else from now on."""
    cluster.become(name)
    return cluster


def code(cluster: Cluster, job: int) -> str | None:
    told = cluster.group(job).reason
    return told and told["code"]


def test_a_user_holds_no_more_of_a_queue_than_he_may(cluster: Cluster) -> None:
    cluster.policy({"a": {"user_maximum": 0.25} | OPEN, "b": OPEN}, **OFF)
    leader = ready(cluster)
    first, second = (by(cluster, "ann").submit(ONE_GIB | {"count": 3}, queue="root.a") for _ in range(2))
    elsewhere = by(cluster, "ann").submit(ONE_GIB, queue="root.b")
    other = by(cluster, "bob").submit(ONE_GIB | {"count": 3}, queue="root.a")
    turn(cluster, leader, 2)
    assert cluster.held(first, second, elsewhere, other) == [2, 0, 1, 2], "a quarter of eight, over all jobs of a user"
    assert {code(cluster, j) for j in (first, second, other)} == {"user_maximum"}
    finish(cluster, leader, first, 1)
    turn(cluster, leader)
    assert cluster.held(first, second, other) == [2, 0, 2]
    assert counted_wrong(cluster, leader) == []
    cluster.policy({"a": {"user_maximum": 0.5} | OPEN, "b": OPEN}, **OFF)
    turn(cluster, leader)
    assert cluster.held(first, second, elsewhere, other) == [2, 2, 1, 3]
    cluster.play(leader, first, second, elsewhere, other)


def test_jobs_of_a_fair_queue_hold_equal_parts(cluster: Cluster) -> None:
    cluster.policy({"a": {"ordering": "fair"} | OPEN}, **OFF)
    leader = ready(cluster)
    jobs = [cluster.submit(ONE_GIB | {"count": 20}, queue="root.a") for _ in range(4)]
    turn(cluster, leader)
    assert cluster.held(*jobs) == [2, 2, 2, 2]
    finish(cluster, leader, jobs[0])
    cluster.kill(jobs[0])
    turn(cluster, leader, 2)
    assert sorted(cluster.held(*jobs)) == [0, 2, 3, 3]
    give_up(cluster, leader, *jobs)


def test_a_late_job_of_a_fair_queue_gets_what_becomes_free_until_it_has_its_part(cluster: Cluster) -> None:
    cluster.policy({"a": {"ordering": "fair"} | OPEN}, **OFF)
    leader = ready(cluster)
    early = cluster.submit(ONE_GIB | {"count": 40}, queue="root.a")
    turn(cluster, leader)
    late = cluster.submit(ONE_GIB | {"count": 40}, queue="root.a")
    turn(cluster, leader)
    assert cluster.held(early, late) == [8, 0]
    for _ in range(4):
        finish(cluster, leader, early, 1)
        turn(cluster, leader)
    assert cluster.held(early, late) == [4, 4]
    finish(cluster, leader, late, 2)
    turn(cluster, leader)
    assert cluster.held(early, late) == [4, 4]
    give_up(cluster, leader, early, late)


def test_fifo_serves_by_submission_and_priority_by_priority(cluster: Cluster) -> None:
    cluster.policy({"line": {"ordering": "fifo"} | OPEN, "rank": {"ordering": "priority"} | OPEN}, **OFF)
    leader = ready(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.line")
    low, high = (cluster.submit(ONE_GIB | {"count": 2}, queue="root.line", priority=p) for p in (0, 9))
    turn(cluster, leader)
    finish(cluster, leader, full, 2)
    assert cluster.held(low, high) == [2, 0]
    give_up(cluster, leader, full, low, high)
    full = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.rank")
    low, high = (cluster.submit(ONE_GIB | {"count": 2}, queue="root.rank", priority=p) for p in (0, 9))
    turn(cluster, leader)
    finish(cluster, leader, full, 2)
    assert cluster.held(low, high) == [0, 2]
    give_up(cluster, leader, full, low, high)


def test_queues_share_by_weight_and_what_becomes_free_goes_to_the_one_that_lacks_most(cluster: Cluster) -> None:
    cluster.policy({"a": {"weight": 3} | OPEN, "b": {"weight": 1} | OPEN}, **OFF)
    leader = ready(cluster)
    a, b = (cluster.submit(ONE_GIB | {"count": 30}, queue=f"root.{q}") for q in "ab")
    turn(cluster, leader)
    assert cluster.held(a, b) == [6, 2]
    finish(cluster, leader, a, 2)
    turn(cluster, leader)
    assert cluster.held(a, b) == [6, 2]
    finish(cluster, leader, b, 2)
    turn(cluster, leader)
    assert cluster.held(a, b) == [6, 2]
    give_up(cluster, leader, a, b)


def test_a_guarantee_that_nobody_uses_is_lent_and_comes_back_as_containers_end(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 0.25} | OPEN, "b": {"guaranteed": 0.75} | OPEN}, **OFF)
    leader = ready(cluster)
    a = cluster.submit(ONE_GIB | {"count": 40}, queue="root.a")
    turn(cluster, leader)
    assert cluster.held(a) == [8]
    b = cluster.submit(ONE_GIB | {"count": 40}, queue="root.b")
    for _ in range(8):
        finish(cluster, leader, a, 1)
        turn(cluster, leader)
    assert cluster.held(a, b) == [2, 6]
    assert counted_wrong(cluster, leader) == []
    give_up(cluster, leader, a, b)


def test_what_is_less_than_anybodys_share_is_not_left_idle(cluster: Cluster) -> None:
    """Three queues and eight places: two thirds of a place are nobody's, and used."""
    cluster.policy(dict.fromkeys("abc", OPEN), **OFF)
    leader = ready(cluster)
    jobs = [cluster.submit(ONE_GIB | {"count": 9}, queue=f"root.{q}") for q in "abc"]
    turn(cluster, leader)
    assert sorted(cluster.held(*jobs)) == [2, 3, 3]
    give_up(cluster, leader, *jobs)
