"""Services roll over to another revision of what their tasks run, and back, whoever leads meanwhile."""

from copy import deepcopy
from typing import Any

import pytest

from simulator.faults.memorycheck import check_sums
from tests.doubles import MemoryCluster, MemoryLeader
from tests.playing import ONE_GIB, counted_wrong, ready, turn
from tests.unit.rm.test_rm_services import Spread, restart, same_when_rebuilt, scale, serving, tasks_of
from wire import template
from wire.states import ContainerState

RULES = {"max_unavailable": 1, "min_ready_s": 0.0, "deadline_s": 60.0, "max_failures": 1}


def service(cluster: MemoryCluster, leader: MemoryLeader, count: int = 3, **group: Any) -> int:
    job = cluster.submit(ONE_GIB | {"name": "web", "count": count, "command": ["one"]} | group, kind="service")
    turn(cluster, leader)
    return job


def update(cluster: MemoryCluster, job: int, revision: int, back: int | None = None, **changes: Any) -> None:
    """Ask for another specification: of its group, but for ``rules``."""
    row = cluster.rows.jobs[job]
    rules = RULES | changes.pop("rules", {})
    spec = deepcopy(row["spec"])
    if back is not None:
        spec = next(r["spec"] for r in row["revisions"] if r["revision"] == back)
    spec["groups"][0] |= changes
    told = [] if back else [f"web.{name}" for name in changes]
    asked = {"revision": revision, "spec": spec, "size": 100, "rules": rules, "by": "ann", "back": back}
    asked["changes"] = told
    cluster.rows.add_intent(row["home_id"], "update", job, **asked)


def commands(cluster: MemoryCluster) -> set[str]:
    """What templates in Redis say."""
    known = cluster.redis[cluster.sub.id].templates
    return {template.decode(body, digest).command[0] for digest, body in known.items()}


def end(cluster: MemoryCluster, job: int, task: int) -> None:
    """This task's attempt fails."""
    ids = {c.id for c in cluster.sub.containers.values() if c.job == job and c.task == task}
    assert cluster.nodes.finish(ContainerState.FAILED, ids) == len(ids)


def outcomes(cluster: MemoryCluster, job: int) -> list[tuple[int, str, int | None]]:
    return [(r["revision"], r["outcome"], r["back"]) for r in cluster.rows.jobs[job]["revisions"]]


def test_tasks_run_the_new_revision_one_after_the_other(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["two"])
    least = 3
    for _ in range(10):
        turn(cluster, leader)
        least = min(least, len(serving(cluster, job)))
        same_when_rebuilt(leader)
    assert tasks_of(cluster, job) == [(0, 2), (1, 2), (2, 2)] and least == 2
    assert commands(cluster) == {"two"}
    assert outcomes(cluster, job) == [(1, "", None), (2, "", None)]
    assert [r.get("changes") for r in cluster.rows.jobs[job]["revisions"]] == [None, ["web.command"]]
    assert cluster.rows.jobs[job]["spec"]["groups"][0]["command"] == ["two"]
    assert cluster.events(job, "updated") == ["all tasks run revision 2"]
    assert leader.memory.jobs[job].rollout is None and leader.memory.jobs[job].revision == 2
    assert cluster.rows.jobs[job]["services"] == {"revision": 2, "rollout": None}


def test_as_many_at_a_time_as_may_be_down(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 6)
    update(cluster, job, 1, command=["two"], rules={"max_unavailable": 3})
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert sum(attempt == 2 for _, attempt in tasks_of(cluster, job)) == 3
    turn(cluster, leader, 4)
    assert {attempt for _, attempt in tasks_of(cluster, job)} == {2}


def test_a_revision_that_does_not_serve_is_taken_back(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, ports=[{"name": "http"}], health_check={"port": "http", "tcp": True})
    update(cluster, job, 1, command=["bad"])
    for _ in range(3):
        turn(cluster, leader, seconds=30.0)
        same_when_rebuilt(leader)
    assert cluster.events(job, "update_failed") == ["revision 2: it was not done within 60 s"]
    assert outcomes(cluster, job) == [
        (1, "", None), (2, "failed: it was not done within 60 s", None), (3, "", 1),
    ]  # fmt: skip
    for container in cluster.sub.containers.values():
        cluster.rows.health[container.id] = True
    for _ in range(4):
        turn(cluster, leader)
        cluster.rows.health |= dict.fromkeys(cluster.sub.containers, True)
    assert tasks_of(cluster, job) == [(0, 3), (1, 1), (2, 1)], "who had not changed yet serves on"
    assert cluster.rows.jobs[job]["spec"]["groups"][0]["command"] == ["one"]
    assert leader.memory.jobs[job].rollout is None and leader.memory.jobs[job].revision == 3


def test_attempts_that_fail_too_often_take_it_back(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["bad"], rules={"min_ready_s": 1000.0, "deadline_s": 0.0})
    turn(cluster, leader)
    for _ in range(2):
        while 0 not in serving(cluster, job):
            turn(cluster, leader, seconds=5.0)
        assert not cluster.events(job, "update_failed")
        end(cluster, job, 0)
        turn(cluster, leader, seconds=5.0)
        same_when_rebuilt(leader)
    turn(cluster, leader, 2, seconds=5.0)
    assert cluster.events(job, "update_failed") == [
        "revision 2: 2 of its attempts failed, and 1 may; the last failure: web/0 ended with exit status 0"
    ]
    assert {task for task, attempt in tasks_of(cluster, job) if attempt == 1} == {1, 2}


def test_what_is_asked_with_another_revision_in_mind_changes_nothing(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    for _ in range(2):
        update(cluster, job, 1, command=["two"])
    update(cluster, job, 2, command=["three"])
    turn(cluster, leader, 8)
    assert commands(cluster) == {"two"}
    assert cluster.events(job, "not_updated") == [
        "ann knew revision 1; 2 is in force", "revision 2 is still being rolled out",
    ]  # fmt: skip
    update(cluster, job, 2, back=1)
    turn(cluster, leader, 8)
    assert commands(cluster) == {"one"}
    assert [r["back"] for r in cluster.rows.jobs[job]["revisions"]] == [None, None, 1]


def test_people_take_it_back_on_its_way_and_only_what_changed_restarts(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["two"], rules={"min_ready_s": 1000.0})
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 2), (1, 1), (2, 1)]
    update(cluster, job, 2, back=1)
    turn(cluster, leader, 4)
    assert tasks_of(cluster, job) == [(0, 3), (1, 1), (2, 1)]
    assert outcomes(cluster, job)[1] == (2, "rolled back: ann", None)


@pytest.mark.parametrize("step", range(8))
def test_a_successor_goes_on_at_every_step(cluster: MemoryCluster, step: int) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["two"])
    scale(cluster, job, 4)
    for number in range(30):
        if number == step:
            leader = cluster.lead()
        if number % 2:
            cluster.nodes.step()
        leader.clock.ahead_s += 0.6
        leader.round()
        same_when_rebuilt(leader)
    assert serving(cluster, job) == [0, 1, 2, 3]
    assert {attempt for task, attempt in tasks_of(cluster, job) if task < 3} == {2}
    assert leader.memory.jobs[job].rollout is None
    restart(cluster, job, 3)
    turn(cluster, leader, 2)
    assert "two" in commands(cluster)


@pytest.mark.parametrize("replaced", [(), (0,), (1,), (0, 1)])
def test_tasks_elsewhere_roll_over_too(replaced: tuple[int, ...]) -> None:
    f = Spread()
    update(f.west, f.job, 1, command=["two"], rules={"max_unavailable": 4})
    f.leaders[0].round()
    for at in replaced:
        f.replace(at)
    f.turn(12)
    assert serving(f.west, f.job) == list(range(12))
    assert {attempt for _, attempt in tasks_of(f.west, f.job)} == {2}
    assert f.leaders[0].memory.jobs[f.job].rollout is None
    assert "two" in commands(f.west) & commands(f.east)


def test_new_tasks_serve_before_old_ones_go_and_leave_when_all_is_done(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["two"], rules={"max_unavailable": 0, "max_surge": 1, "deadline_s": 0.0})
    least, most = 3, 0
    for _ in range(20):
        turn(cluster, leader)
        least, most = min(least, len(serving(cluster, job))), max(most, len(tasks_of(cluster, job)))
        same_when_rebuilt(leader)
        assert counted_wrong(cluster, leader) == []
    assert (least, most) == (3, 4), "never fewer than asked for, and one more at most"
    assert tasks_of(cluster, job) == [(0, 2), (1, 2), (2, 2)]
    assert cluster.events(job, "updated") and not cluster.events(job, "scaled")
    assert leader.memory.jobs[job].groups[0].run.count == 3
    update(cluster, job, 2, back=1, rules={"max_surge": 2})
    turn(cluster, leader, 16)
    assert commands(cluster) == {"one"} and serving(cluster, job) == [0, 1, 2]


def test_without_room_for_more_it_waits_or_goes_on_as_its_rules_say(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 8)
    assert len(serving(cluster, job)) == 8, "all there is"
    update(cluster, job, 1, command=["two"], rules={"max_unavailable": 0, "max_surge": 2, "deadline_s": 20.0})
    turn(cluster, leader, 5)
    assert tasks_of(cluster, job) == [(task, 1) for task in range(8)]
    turn(cluster, leader, 6, seconds=10.0)
    assert cluster.events(job, "update_failed") == ["revision 2: it was not done within 20 s"]
    assert tasks_of(cluster, job) == [(task, 1) for task in range(8)], "nobody had to go"
    update(cluster, job, 3, command=["two"], rules={"max_surge": 2, "deadline_s": 0.0})
    turn(cluster, leader, 40)
    assert serving(cluster, job) == list(range(8)) and commands(cluster) == {"two"}


def test_it_is_scaled_while_others_stand_in(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, command=["two"], rules={"max_unavailable": 0, "max_surge": 2, "min_ready_s": 1000.0})
    turn(cluster, leader, 2)
    assert len(tasks_of(cluster, job)) == 5
    for count in (4, 2):
        scale(cluster, job, count)
        turn(cluster, leader, 3)
        assert len(tasks_of(cluster, job)) == count + 2
        same_when_rebuilt(leader)
    update(cluster, job, 2, back=1)
    turn(cluster, leader, 10)
    assert tasks_of(cluster, job) == [(0, 1), (1, 1)]


HALF = {"resources": {"memory_mib": 512, "vcores_milli": 500, "gpus": 0}}


@pytest.mark.parametrize("step", [None, 0, 2, 4, 6])
def test_tasks_get_other_resources_and_what_they_hold_is_counted(cluster: MemoryCluster, step: int | None) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, **HALF)
    seen = set()
    for number in range(12):
        if number == step:
            leader = cluster.lead()
        turn(cluster, leader)
        same_when_rebuilt(leader)
        check_sums(leader.memory)
        seen.add(held_mib(leader))
    assert held_mib(leader) == 3 * 512 and seen >= {3 * 512, 2 * 1024 + 512}
    assert leader.memory.jobs[job].groups[0].former_rows == []
    update(cluster, job, 2, back=1)
    turn(cluster, leader, 12)
    check_sums(leader.memory)
    assert held_mib(leader) == 3 * 1024
    cluster.kill(job)
    turn(cluster, leader, 3)
    assert held_mib(leader) == 0 and not cluster.live(job)


def held_mib(leader: MemoryLeader) -> int:
    return int(leader.memory.ledger.queues[-1].sum(axis=0)[0])


def test_what_no_node_can_hold_is_taken_back(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    update(cluster, job, 1, resources={"memory_mib": 1 << 20, "vcores_milli": 1000, "gpus": 0})
    turn(cluster, leader, 2)
    assert serving(cluster, job) == [1, 2] and cluster.group(job).reason is not None
    turn(cluster, leader, 6, seconds=30.0)
    assert serving(cluster, job) == [0, 1, 2] and held_mib(leader) == 3 * 1024
    check_sums(leader.memory)


def test_tasks_move_to_where_the_new_revision_wants_them(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, node_labels="name == n0")
    assert {c.node for c in cluster.live(job)} == {"n0"}
    update(cluster, job, 1, node_labels="name == n1")
    turn(cluster, leader, 10)
    assert {c.node for c in cluster.live(job)} == {"n1"} and serving(cluster, job) == [0, 1, 2]
    same_when_rebuilt(leader)
    update(cluster, job, 2, back=1)
    turn(cluster, leader, 10)
    assert {c.node for c in cluster.live(job)} == {"n0"}


@pytest.mark.parametrize("replaced", [(), (1,), (0, 1)])
def test_tasks_elsewhere_get_other_resources_and_others_stand_in(replaced: tuple[int, ...]) -> None:
    f = Spread()
    small = {"resources": {"memory_mib": 256, "vcores_milli": 250, "gpus": 0}}
    update(f.west, f.job, 1, rules={"max_unavailable": 3, "max_surge": 2, "deadline_s": 0.0}, **small)
    f.leaders[0].round()
    for at in replaced:
        f.replace(at)
    f.turn(24)
    assert serving(f.west, f.job) == list(range(12))
    assert {attempt for _, attempt in tasks_of(f.west, f.job)} == {2}
    for leader in f.leaders:
        check_sums(leader.memory)
    assert sum(held_mib(leader) for leader in f.leaders) == 12 * 256


def test_no_node_is_avoided_for_what_was_run_before(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader)
    entry = leader.memory.jobs[job]
    leader.memory.avoid(entry, [0] * 10)
    assert entry.avoided == (0,)
    update(cluster, job, 1, command=["two"])
    turn(cluster, leader)
    assert (entry.revision, entry.avoided, entry.failures) == (2, (), {})
    same_when_rebuilt(leader)
