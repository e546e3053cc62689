"""What a leader does while nothing happens: hardly anything, however many wait."""

from controlplane.rm.driver.round import Duties
from tests.doubles import MemoryCluster as Cluster
from tests.doubles import MemoryLeader as Leading
from tests.playing import ONE_GIB, OPEN, give_up, ready, running, sized, turn

STEP_S = 0.05


def watched(leader: Leading, seconds: float) -> tuple[int, int, int]:
    """(rounds, plans, commits) of a leader's loop to which nothing but time happens."""
    rounds = plans = commits = 0
    planner = leader.rounds.planner
    passed = 0.0
    while passed < seconds:
        due = leader.rounds.next_due_s()
        if due is not None and due <= 0:
            before = planner.again_at
            report = leader.rounds.run(Duties(), leader.answered)
            rounds, commits = rounds + 1, commits + report.committed
            plans += planner.again_at != before
            assert rounds < 1000 * seconds, "it spins"
        else:
            step = STEP_S if due is None else min(due, STEP_S)
            leader.clock.ahead_s += step
            passed += step
    return rounds, plans, commits


def settle(cluster: Cluster, leader: Leading) -> None:
    for _ in range(12):
        turn(cluster, leader)
        if not leader.rounds.planner.reporter.more:
            break
    watched(leader, 12.0)


def test_a_job_that_can_never_be_placed_costs_a_look_a_second_and_no_commit(cluster: Cluster) -> None:
    leader = ready(cluster)
    never = cluster.submit(sized(5), {"name": "nowhere", "node_labels": "gpu"})
    settle(cluster, leader)
    rounds, plans, commits = watched(leader, 20.0)
    assert commits == 0
    assert 18 <= plans <= rounds <= 24
    give_up(cluster, leader, never)
    settle(cluster, leader)
    assert leader.rounds.next_due_s() is None
    assert watched(leader, 5.0) == (0, 0, 0)


def test_a_full_cluster_plans_once_per_interval_and_writes_nothing(cluster: Cluster) -> None:
    queues = {"a": {"guaranteed": 0.5} | OPEN, "b": OPEN}
    cluster.policy(queues, preemption={"policy": "owed", "parameters": {"interval_s": 2.0}})
    leader = ready(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 8}, queue="root.a")
    waits = [cluster.submit(ONE_GIB | {"count": 3}, queue=q) for q in ("root.a", "root.b")]
    settle(cluster, leader)
    rounds, plans, commits = watched(leader, 20.0)
    assert commits == 0
    assert 9 <= plans <= rounds <= 12
    give_up(cluster, leader, full, *waits)


def test_waiting_near_costs_at_most_four_looks_a_second(cluster: Cluster) -> None:
    cluster.policy({"default": OPEN}, locality={"policy": "delay", "parameters": {"node_wait_s": 600.0}})
    leader = ready(cluster)
    full = running(cluster, leader, ONE_GIB | {"count": 4, "node_labels": "node == n0"})
    near = cluster.submit(ONE_GIB | {"locality": {"nodes": ["n0"]}})
    settle(cluster, leader)
    rounds, _, commits = watched(leader, 10.0)
    assert commits <= 3, "how long it still waits is told now and then"
    assert 35 <= rounds <= 46
    give_up(cluster, leader, full, near)
