"""Tasks of services that pause since they ended early: what is said of them, and what ends a pause."""

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.steps import remote
from scheduler.lifecycle.restarting import runs
from tests.doubles import MemoryCluster, MemoryLeader
from tests.playing import ONE_GIB, ready, turn
from tests.unit.rm.test_rm_revisions import update
from tests.unit.rm.test_rm_services import Spread, ask, restart, same_when_rebuilt, scale, service, serving, tasks_of
from wire.states import ContainerReason as Reason
from wire.states import ContainerState

PASSWORD = {"secrets": [{"name": "db-password", "env": "PASSWORD"}]}
KEYS = {"secrets": [{"name": name, "path": name} for name in ("a", "b", "c", "d")]}


def fail(cluster: MemoryCluster, leader: MemoryLeader, job: int, *tasks: int, reason: Reason = Reason.SECRET) -> None:
    """The attempts of these tasks fail by this reason, and their leader hears of it."""
    ids = {c.id for c in cluster.sub.containers.values() if c.job == job and c.task in tasks}
    assert cluster.nodes.finish(ContainerState.FAILED, ids) == len(ids) == len(tasks)
    report = cluster.nodes.containers.report
    report["reason"][np.isin(report["id"], list(ids))] = reason
    cluster.nodes.step()
    leader.clock.ahead_s += 0.01
    leader.round()


def later(cluster: MemoryCluster, leader: MemoryLeader, seconds: float) -> None:
    """Time passes, what is due starts and runs."""
    leader.clock.ahead_s += seconds
    leader.round()
    cluster.nodes.step()
    leader.round()


def crash(cluster: MemoryCluster, leader: MemoryLeader, job: int, task: int, times: int) -> None:
    """The task fails so often, and runs again."""
    for _ in range(times):
        fail(cluster, leader, job, task)
        later(cluster, leader, 10.0)


def told(cluster: MemoryCluster, leader: MemoryLeader, job: int) -> tuple[str, str]:
    """Why the job's group waits, and what helps, as a leader finds it and as its successor does."""
    first = said(leader, job)
    cluster.expire()
    assert said(cluster.lead(), job) == first
    return first


def said(leader: MemoryLeader, job: int) -> tuple[str, str]:
    leader.round()
    leader.round()
    reason = leader.memory.jobs[job].groups[0].reason
    assert reason is not None and reason["limits"][0]["text"] == reason["text"]
    return reason["text"].split(" s. ")[1], reason["change"]["text"]


def test_who_pauses_is_told_which_secret_is_not_there_and_to_put_it(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, **PASSWORD)
    fail(cluster, leader, job, 0)
    fail(cluster, leader, job, 1)
    text, remedy = told(cluster, leader, job)
    assert text == "The last one: web/1 could not have its secret db-password."
    assert remedy == (
        "Put the secret again: hydractl secret put db-password. It starts by itself then; "
        f"hydractl restart {job} web 1 ends its pause."
    )


def test_who_pauses_longest_is_named_and_never_who_runs_again(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    crash(cluster, leader, job, 0, times=4)
    fail(cluster, leader, job, 0, reason=Reason.MEMORY)
    fail(cluster, leader, job, 1)
    assert said(leader, job)[0] == "The last one: web/0 used more memory than it asked for."
    later(cluster, leader, 1.1)
    assert tasks_of(cluster, job) == [(1, 2), (2, 1)]
    text, remedy = told(cluster, leader, job)
    assert text == "web/0 used more memory than it asked for."
    assert remedy.endswith(f"hydractl restart {job} web 0 ends its pause.")


def test_what_is_said_follows_who_pauses_though_as_many_do(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    crash(cluster, leader, job, 0, times=2)
    fail(cluster, leader, job, 1)
    fail(cluster, leader, job, 0)
    assert said(leader, job)[0].startswith("The last one: web/0 ")
    ask(cluster, "restart", job, attempts=runs([(0, 3)]), one_by_one=False)
    fail(cluster, leader, job, 2)
    assert said(leader, job)[0].startswith("The last one: web/2 ")


def test_of_several_secrets_the_logs_say_which(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1, **KEYS)
    fail(cluster, leader, job, 0)
    text, remedy = told(cluster, leader, job)
    assert text == "web/0 could not have one of its secrets a, b, c and others."
    assert remedy.startswith(f"Put the secret again: hydractl secret put NAME (hydractl logs {job}/web/0 --stderr says")


def test_who_pauses_is_told_how_it_ended_and_to_look_at_its_logs(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1)
    fail(cluster, leader, job, 0, reason=Reason.MEMORY)
    text, remedy = told(cluster, leader, job)
    assert text == "web/0 used more memory than it asked for."
    assert remedy.startswith(f"Look at its logs: hydractl logs {job}/web/0 --stderr. It starts again by itself; ")


def test_what_its_node_could_not_do_is_nothing_to_be_mended(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1)
    fail(cluster, leader, job, 0, reason=Reason.UNREACHABLE)
    text, remedy = said(leader, job)
    assert "as the control plane did not answer" in text and remedy == "Nothing: it starts again by itself."


def test_a_batch_task_that_pauses_is_not_told_to_restart(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = cluster.submit({"name": "map", "retries": 3})
    turn(cluster, leader)
    fail(cluster, leader, job, 0, reason=Reason.START)
    text, remedy = told(cluster, leader, job)
    assert text == "map/0 could not start its command."
    assert remedy == f"Look at its logs: hydractl logs {job}/map/0 --stderr. It starts again by itself."


def test_a_restart_ends_the_pause_of_the_task_that_it_names_once(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    fail(cluster, leader, job, 0, 1)
    run = leader.memory.jobs[job].groups[0].run
    for _ in range(2):
        ask(cluster, "restart", job, attempts=runs([(0, 1)]), one_by_one=False)
    leader.round()
    assert tasks_of(cluster, job) == [(0, 2), (2, 1)], "1 pauses on"
    assert run.failures.tolist()[:3] == [0, 1, 0]
    assert cluster.events(job, "restart") == ["web/0 to start again, without the rest of the pause: ann"]
    same_when_rebuilt(leader)
    ask(cluster, "restart", job, attempts=runs([(0, 1)]), one_by_one=False)
    leader.round()
    assert tasks_of(cluster, job) == [(0, 2), (2, 1)], "that attempt has ended long since"
    cluster.nodes.step()
    fail(cluster, leader, job, 0)
    assert run.failures[0] == 1, "it fails as a new one would"


def test_of_a_whole_group_what_pauses_starts_at_once_and_the_rest_one_after_the_other(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 4)
    fail(cluster, leader, job, 0, 2)
    ask(cluster, "restart", job, attempts=runs([(task, 1) for task in range(4)]), one_by_one=True)
    leader.round()
    assert {(0, 2), (2, 2)} < set(tasks_of(cluster, job))
    turn(cluster, leader, 6)
    assert tasks_of(cluster, job) == [(task, 2) for task in range(4)]


def test_what_began_a_pause_after_it_was_asked_to_restart_does_not_pause(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1)
    restart(cluster, job, 0)
    ids = {c.id for c in cluster.sub.containers.values()}
    cluster.nodes.finish(ContainerState.FAILED, ids)
    cluster.nodes.step()
    leader.round()
    assert tasks_of(cluster, job) == [(0, 2)]


def test_a_successor_knows_that_a_pause_was_ended_before_anything_has_started(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 8)
    fail(cluster, leader, job, 0)
    other = cluster.submit(ONE_GIB | {"name": "other"})
    leader.round()
    assert len(cluster.live(other)) == 1, "it has the place"
    ask(cluster, "restart", job, attempts=runs([(0, 1)]), one_by_one=False)
    leader.round()
    same_when_rebuilt(leader)
    cluster.expire()
    leader = cluster.lead()
    assert list(leader.memory.jobs[job].groups[0].run.to_retry) == [0]
    later(cluster, leader, 1.1)
    assert cluster.rows.jobs[job]["services"]["0"]["now"] == [[0, 1, 1]] and not cluster.events(job, "restarted")
    cluster.kill(other)
    later(cluster, leader, 0.0)
    assert (0, 2) in tasks_of(cluster, job), "and no time has passed"
    later(cluster, leader, 1.1)
    assert cluster.events(job, "restarted") == ["web: all that was asked for has started again"]
    assert cluster.rows.jobs[job]["services"] == {}


def test_what_waits_for_room_and_does_not_pause_is_told_as_not_restarted(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 8)
    fail(cluster, leader, job, 0)
    other = cluster.submit(ONE_GIB | {"name": "other"})
    leader.round()
    later(cluster, leader, 2.0)
    assert len(cluster.live(other)) == 1, "it has the place, and the pause is over"
    ask(cluster, "restart", job, attempts=runs([(0, 1)]), one_by_one=False)
    leader.round()
    assert cluster.events(job, "not_restarted") == ["nothing of web/0 runs or pauses now; what waits starts by itself"]
    assert not cluster.events(job, "restart") and not leader.memory.restarting


def test_what_is_scaled_away_while_it_pauses_is_not_started(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    fail(cluster, leader, job, 2)
    scale(cluster, job, 2)
    ask(cluster, "restart", job, attempts=runs([(2, 1)]), one_by_one=False)
    turn(cluster, leader, 2)
    assert serving(cluster, job) == [0, 1]
    same_when_rebuilt(leader)


def test_the_pause_of_a_task_that_failed_elsewhere_ends_too() -> None:
    f = Spread()
    task = f.away[0]
    fail(f.east, f.leaders[1], f.job, task)
    f.leaders[0].round()
    assert task not in dict(tasks_of(f.west, f.job))
    ask(f.west, "restart", f.job, attempts=runs([(task, 1)]), one_by_one=False)
    f.leaders[0].round()
    assert f.leaders[0].memory.jobs[f.job].groups[0].run.failures[task] == 0
    f.turn(8)
    assert (task, 2) in tasks_of(f.west, f.job) and serving(f.west, f.job) == list(range(12))


def test_a_roll_back_ends_the_pause_that_the_bad_revision_has_earned(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, command=["one"])
    update(cluster, job, 1, command=["bad"], rules={"min_ready_s": 100.0, "max_failures": 2})
    turn(cluster, leader)
    run = leader.memory.jobs[job].groups[0].run
    for failures in (1, 2, 3):
        while 0 not in serving(cluster, job):
            turn(cluster, leader, seconds=5.0)
        fail(cluster, leader, job, 0)
        assert run.failures[0] == (failures if failures < 3 else 0)
    assert cluster.events(job, "update_failed") and run.backing_off == []
    same_when_rebuilt(leader)
    leader.clock.ahead_s += 0.1
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert serving(cluster, job) == [0, 1], "and no time has passed"
    turn(cluster, leader, 2)
    assert not cluster.events(job, "updated"), "it has to serve first"
    turn(cluster, leader, 2, seconds=60.0)
    assert cluster.events(job, "updated") == ["all tasks run revision 3"]


def test_what_is_to_be_replaced_and_fails_before_starts_as_the_older_revision_at_once(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, command=["one"])
    update(cluster, job, 1, command=["bad"], rules={"min_ready_s": 1000.0, "max_unavailable": 2})
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 2), (1, 2)]
    update(cluster, job, 2, back=1, rules={"min_ready_s": 1000.0})
    leader.round()
    fail(cluster, leader, job, 1)
    run = leader.memory.jobs[job].groups[0].run
    assert (1, 3) in tasks_of(cluster, job) and run.failures.tolist()[:2] == [0, 0] and run.backing_off == []
    same_when_rebuilt(leader)


def test_an_update_of_what_pauses_is_done_when_that_serves(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1, command=["one"])
    fail(cluster, leader, job, 0)
    update(cluster, job, 1, command=["two"], rules={"min_ready_s": 5.0})
    leader.round()
    assert tasks_of(cluster, job) == [(0, 2)], "it starts at once"
    assert cluster.rows.jobs[job]["services"]["0"]["queue"] == [[0, 1, 1]], "and is not updated yet"
    same_when_rebuilt(leader)
    turn(cluster, leader, 2)
    fail(cluster, leader, job, 0)
    rollout = leader.memory.jobs[job].rollout
    assert rollout is not None and rollout.failures == 1
    turn(cluster, leader, 4)
    assert not cluster.events(job, "updated")
    turn(cluster, leader, 8)
    assert cluster.events(job, "updated") == ["all tasks run revision 2"]


def test_an_update_of_what_pauses_is_taken_back_when_that_fails_on(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1, command=["one"])
    crash(cluster, leader, job, 0, times=3)
    fail(cluster, leader, job, 0)
    update(cluster, job, 1, command=["bad"], rules={"min_ready_s": 5.0})
    later(cluster, leader, 0.1)
    for _ in range(2):
        fail(cluster, leader, job, 0)
        later(cluster, leader, 1.1)
    assert len(cluster.events(job, "update_failed")) == 1 and not cluster.events(job, "updated")


def test_a_restart_by_hand_does_not_keep_an_update_from_being_done(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    service(cluster, leader, 6)
    job = service(cluster, leader, 2, command=["one"])
    update(cluster, job, 1, command=["two"], rules={"min_ready_s": 5.0})
    turns = iter(range(60))
    while (1, 2) not in tasks_of(cluster, job):
        assert next(turns, None) is not None, tasks_of(cluster, job)
        turn(cluster, leader)
    other = cluster.submit(ONE_GIB | {"name": "other"}, priority=9)
    restart(cluster, job, 0)
    turn(cluster, leader, 10)
    assert len(cluster.live(other)) == 1 and tasks_of(cluster, job) == [(1, 2)]
    assert cluster.events(job, "updated") == ["no task runs another revision than 2 any more; 1 task is still to start"]
    same_when_rebuilt(leader)


def test_a_restart_by_hand_of_what_an_update_is_to_replace_is_waited_for_by_both(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, command=["one"])
    update(cluster, job, 1, command=["two"], rules={"min_ready_s": 5.0})
    leader.round()
    restart(cluster, job, 1)
    turn(cluster, leader, 3)
    assert tasks_of(cluster, job) == [(0, 2), (1, 2)] and not cluster.events(job, "updated"), "it has to serve"
    same_when_rebuilt(leader)
    turn(cluster, leader, 6)
    assert cluster.events(job, "updated") == ["all tasks run revision 2"]


def test_a_new_revision_does_not_wait_for_what_the_one_before_has_earned(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, command=["one"])
    crash(cluster, leader, job, 0, times=4)
    fail(cluster, leader, job, 0)
    update(cluster, job, 1, command=["two"])
    leader.round()
    same_when_rebuilt(leader)
    assert (0, 6) in tasks_of(cluster, job)


def test_what_pauses_counts_as_down_while_a_revision_is_rolled_out(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, command=["one"])
    crash(cluster, leader, job, 1, times=4)
    fail(cluster, leader, job, 1)
    update(cluster, job, 1, command=["two"], rules={"min_ready_s": 5.0})
    turn(cluster, leader, 3)
    assert tasks_of(cluster, job) == [(0, 1), (1, 6)], "the one that serves goes on until the other does"
    same_when_rebuilt(leader)
    turn(cluster, leader, 12)
    assert [task for task, _ in tasks_of(cluster, job)] == [0, 1] and (0, 2) in tasks_of(cluster, job)
    assert cluster.events(job, "updated") == ["all tasks run revision 2"]


def test_an_update_does_not_say_that_all_run_what_one_is_still_to_start(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"name": "web", "count": 9}, kind="service")
    turn(cluster, leader)
    assert len(cluster.live(job)) == 8, "all that there is room for"
    update(cluster, job, 1, command=["two"], rules={"deadline_s": 0.0})
    turn(cluster, leader, 30)
    assert cluster.events(job, "updated") == ["no task runs another revision than 2 any more; 1 task is still to start"]


def test_what_fails_once_more_when_it_was_restarted_is_not_told_as_a_success(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2)
    restart(cluster, job, 0)
    leader.clock.ahead_s += 1.0
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert tasks_of(cluster, job) == [(0, 2), (1, 1)] and not cluster.events(job, "restarted")
    cluster.nodes.step()
    fail(cluster, leader, job, 0)
    same_when_rebuilt(leader)
    leader.clock.ahead_s += 0.9
    leader.round()
    leader.clock.ahead_s += 0.09
    leader.round()
    leader.clock.ahead_s += 0.02
    leader.round()
    assert cluster.events(job, "restarted") == [
        "web: all that was asked for has started again, but 1 task does not run now"
    ]


def test_what_was_stopped_and_finds_no_place_has_not_started_again(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 8)
    other = cluster.submit(ONE_GIB | {"name": "other"}, priority=9)
    restart(cluster, job, 0)
    turn(cluster, leader, 4)
    assert len(cluster.live(other)) == 1 and (0, 2) not in tasks_of(cluster, job)
    assert not cluster.events(job, "restarted")
    same_when_rebuilt(leader)
    cluster.kill(other)
    turn(cluster, leader, 4)
    assert cluster.events(job, "restarted") == ["web: all that was asked for has started again"]


def test_a_pause_at_home_is_told_and_not_once_more_while_others_wait_elsewhere() -> None:
    f = Spread()
    west, leader = f.west, f.leaders[0]
    scale(west, f.job, 18)
    f.turn(4)
    job = leader.memory.jobs[f.job]
    (group,), c = job.groups, Changes()
    assert group.run.wanted == 2, "sixteen have a place"
    c.at_us = leader.clock.now_us()
    remote.hand_over(leader.memory, c, job, group, f.east.sub.id, 2)
    leader.store.commit(c)
    later(west, leader, 0.2)
    assert group.reason is not None and group.reason["code"] == "elsewhere"
    fail(west, leader, f.job, min({*range(12)} - {*f.away}))
    first = group.reason
    assert first is not None and (first["code"], first["waiting"]) == ("backoff", 1)
    for _ in range(3):
        later(west, leader, 0.2)
        assert group.reason is first
    later(west, leader, 0.5)
    later(west, leader, 0.2)
    assert group.reason is not None and group.reason["code"] == "elsewhere", "it starts again"
