"""Stories of jobs that bring their own application master: asks that grow, ends that it chooses, its own failures."""

from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import AttemptEnd, GroupRun
from scheduler.lifecycle.job import Ended, JobRun, StopAll
from wire.states import ContainerReason as R
from wire.states import ContainerState as C
from wire.states import GroupState as G
from wire.states import JobState as J
from wire.states import TaskState as T


def running(retries: int = 1) -> JobRun:
    """A job whose master runs."""
    job = JobRun(7, [GroupRun(0, "master", 1, retries, ())], master=True)
    master.admit(job)
    start(job, 0)
    return job


def ask(job: JobRun, count: int) -> GroupRun:
    group = GroupRun(len(job.groups), f"ask-{len(job.groups)}", count, 0, (), open_ended=True)
    master.join(job, group)
    return group


def start(job: JobRun, no: int, k: int = 1) -> list[int]:
    indices, _ = job.groups[no].take(k)
    master.allocated(job, k)
    return indices.tolist()


def end(job: JobRun, no: int, index: int, state: C = C.SUCCEEDED, reason: R = R.NONE) -> tuple[T, list]:
    return master.ended(job, job.groups[no], AttemptEnd(index, state, reason, 0, 1.0), 0.0)


def test_an_ask_grows_and_never_ends_by_itself() -> None:
    job = running()
    group = ask(job, 1)
    assert (group.state, group.wanted) == (G.PENDING, 1)
    assert start(job, 1) == [0]
    assert end(job, 1, 0) == (T.SUCCEEDED, [])
    assert group.state == G.PENDING and not group.over
    group.resize(4)
    assert group.wanted == 3 and start(job, 1, 3) == [1, 2, 3]
    assert job.state == J.RUNNING


def test_lowering_takes_back_what_has_not_started_and_nothing_else() -> None:
    job = running()
    group = ask(job, 10)
    start(job, 1, 4)
    group.resize(0)
    assert (group.count, group.wanted, len(group.task_state)) == (4, 0, 4)
    group.resize(6)
    assert group.wanted == 2 and start(job, 1, 2) == [4, 5]


def test_containers_of_an_ask_are_tried_once_and_fail_alone() -> None:
    job = running()
    group = ask(job, 3)
    start(job, 1, 3)
    assert end(job, 1, 0, C.FAILED, R.EXIT_CODE) == (T.FAILED, [])
    assert end(job, 1, 1, C.LOST, R.NODE_LOST) == (T.KILLED, [])
    assert end(job, 1, 2, C.KILLED, R.PREEMPTED) == (T.KILLED, [])
    assert (group.wanted, job.verdict, job.state) == (0, None, J.RUNNING)


def test_the_job_ends_with_its_master_and_stops_the_rest() -> None:
    job = running()
    ask(job, 2)
    start(job, 1, 1)
    assert end(job, 0, 0) == (T.SUCCEEDED, [StopAll(keep=0)])
    assert job.groups[1].wanted == 0
    assert end(job, 1, 0, C.KILLED, R.STOPPED) == (T.KILLED, [Ended(J.SUCCEEDED, "")])
    assert (job.state, job.groups[1].state) == (J.SUCCEEDED, G.KILLED)


def test_a_master_that_fails_is_tried_again_with_its_containers_kept() -> None:
    job = running(retries=1)
    ask(job, 1)
    start(job, 1)
    task, then = end(job, 0, 0, C.FAILED, R.EXIT_CODE)
    assert task == T.PENDING and StopAll() not in then and job.live == 1
    job.groups[0].wake(1e9)
    start(job, 0)
    task, then = end(job, 0, 0, C.FAILED, R.EXIT_CODE)
    assert task == T.FAILED and StopAll() in then
    assert end(job, 1, 0, C.KILLED, R.STOPPED)[1][-1].state == J.FAILED


def test_a_verdict_of_the_master_stands_whatever_its_exit_status() -> None:
    for verdict in (J.SUCCEEDED, J.FAILED):
        job = running()
        ask(job, 5)
        assert master.conclude(job, verdict, "as it said") == [StopAll(keep=0)]
        assert master.conclude(job, J.KILLED, "again") == []
        assert job.groups[1].wanted == 0
        _, then = end(job, 0, 0, C.FAILED, R.EXIT_CODE)
        assert then == [Ended(verdict, "as it said")]


def test_an_ask_that_was_never_served_does_not_keep_the_job() -> None:
    job = running()
    group = ask(job, 0)
    assert end(job, 0, 0)[1] == [StopAll(keep=0), Ended(J.SUCCEEDED, "")]
    assert group.state == G.SUCCEEDED


def test_what_comes_back_unstarted_waits_for_the_target_to_rise() -> None:
    job = running()
    group = ask(job, 6)
    remote, _ = group.hand_over(4)
    master.handed_over(job, 4)
    assert start(job, 1, 1) == [4]
    group.resize(3)
    assert (group.claimed, group.wanted, group.count) == (5, 0, 5)
    master.returned(job, group, remote[1:])
    assert (group.claimed, group.wanted, group.count) == (2, 1, 5)
    assert start(job, 1, 1) == [1]
    group.resize(2)
    assert group.wanted == 0 and list(group.to_retry) == [2, 3]
    group.resize(6)
    assert start(job, 1, 3) == [2, 3, 5]


def test_what_comes_back_from_the_end_was_never_handed_over() -> None:
    job = running()
    group = ask(job, 4)
    remote, _ = group.hand_over(4)
    master.handed_over(job, 4)
    group.resize(1)
    master.returned(job, group, remote[1:])
    assert (group.next_fresh, group.count, group.claimed, group.wanted, job.live) == (1, 1, 1, 0, 2)
