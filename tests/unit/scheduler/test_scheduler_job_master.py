"""Stories of jobs: dependencies, retries, failing fast, kills, services, new leaders."""

import numpy as np
import pytest

from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import (
    ATTEMPTS_MAX,
    BATCH_BACKOFF_S,
    FREE_ATTEMPTS,
    SERVICE_BACKOFF_S,
    SERVICE_STABLE_S,
    AttemptEnd,
    GroupRun,
)
from scheduler.lifecycle.job import EmitEvent, Ended, JobRun, StopAll
from scheduler.lifecycle.transitions import TransitionError
from wire.states import ContainerReason as R
from wire.states import ContainerState as C
from wire.states import GroupState as G
from wire.states import JobState as J
from wire.states import TaskState as T


def group(
    no: int = 0, count: int = 1, retries: int = 0, after: tuple[int, ...] = (), service: bool = False
) -> GroupRun:
    return GroupRun(no=no, name=f"g{no}", count=count, retries=retries, after=after, service=service)


def admitted(*groups: GroupRun) -> JobRun:
    job = JobRun(7, list(groups))
    assert master.admit(job) == []
    return job


def start(job: JobRun, no: int = 0, k: int = 1) -> list[int]:
    indices, attempts = job.groups[no].take(k)
    master.allocated(job, k)
    assert (attempts > 0).all()
    return indices.tolist()


def end(job: JobRun, index: int, state: C = C.SUCCEEDED, no: int = 0, now: float = 0.0, **more) -> tuple[T, list]:
    values = {"reason": R.NONE, "exit_code": 0, "ran_s": 1.0} | more
    return master.ended(job, job.groups[no], AttemptEnd(index, state, **values), now)


def test_a_batch_job_runs_to_its_end() -> None:
    job = admitted(group(count=3))
    assert (job.state, job.groups[0].wanted) == (J.ADMITTED, 3)
    assert start(job, k=2) == [0, 1]
    assert (job.state, job.groups[0].state, job.groups[0].wanted) == (J.RUNNING, G.RUNNING, 1)
    assert end(job, 1) == (T.SUCCEEDED, [])
    assert start(job) == [2]
    assert end(job, 2) == (T.SUCCEEDED, [])
    assert end(job, 0) == (T.SUCCEEDED, [Ended(J.SUCCEEDED, "")])
    assert (job.state, job.groups[0].state, job.live, job.open_groups) == (J.SUCCEEDED, G.SUCCEEDED, 0, 0)


def test_a_group_waits_for_all_it_depends_on() -> None:
    a, b, c = group(0), group(1), group(2, after=(0, 1))
    job = admitted(a, b, c)
    assert [g.state for g in job.groups] == [G.PENDING, G.PENDING, G.WAITING]
    assert c.wanted == 0
    start(job, 0)
    start(job, 1)
    end(job, 0, no=0)
    assert c.state == G.WAITING
    end(job, 0, no=1)
    assert (c.state, c.wanted) == (G.PENDING, 1)
    start(job, 2)
    _, out = end(job, 0, no=2)
    assert out == [Ended(J.SUCCEEDED, "")]


def test_a_failed_attempt_is_tried_again_after_a_growing_wait() -> None:
    g = group(retries=3)
    job = admitted(g)
    now, waits = 100.0, []
    for attempt in range(3):
        assert start(job) == [0]
        assert int(g.launches[0]) == attempt + 1
        task, out = end(job, 0, C.FAILED, now=now, reason=R.EXIT_CODE, exit_code=3)
        assert task == T.PENDING
        assert out == [EmitEvent("retry", "g0/0 ended with exit status 3; it will be tried again")]
        assert (g.wanted, g.state) == (0, G.PENDING)
        waits.append(g.next_due - now)
        assert g.wake(g.next_due - 0.001) == 0
        now = g.next_due
        assert g.wake(now) == 1
        assert g.next_due is None
    assert waits == [BATCH_BACKOFF_S.first * 2**i for i in range(3)]
    start(job)
    task, out = end(job, 0, C.FAILED, now=now, reason=R.MEMORY)
    assert task == T.FAILED
    message = "g0/0 used more memory than it asked for after 4 attempts"
    assert out == [EmitEvent("failed", message), StopAll(), Ended(J.FAILED, message)]
    assert (g.state, g.retried, g.failed, job.state, job.message) == (G.FAILED, 3, 1, J.FAILED, message)


def test_the_wait_of_a_batch_task_is_bounded() -> None:
    g = group(retries=100)
    job = admitted(g)
    for _ in range(40):
        start(job)
        end(job, 0, C.FAILED)
        wait = g.next_due
        g.wake(1e9)
    assert wait == BATCH_BACKOFF_S.longest


@pytest.mark.parametrize("reason", [R.PREEMPTED, R.DRAINED])
def test_what_the_cluster_takes_back_is_tried_again_however_often(reason: R) -> None:
    g = group(retries=0)
    job = admitted(g)
    for _ in range(3 * FREE_ATTEMPTS):
        start(job)
        assert end(job, 0, C.KILLED, reason=reason)[0] == T.PENDING
    assert (g.failures[0], g.wanted) == (0, 1)


@pytest.mark.parametrize(
    ("state", "reason"),
    [(C.LOST, R.NODE_LOST), (C.LOST, R.VANISHED), (C.KILLED, R.DISCONNECTED), (C.FAILED, R.EXIT_UNKNOWN)],
)
def test_a_lost_attempt_is_not_counted_and_starts_again_at_once(state: C, reason: R) -> None:
    g = group(retries=0)
    job = admitted(g)
    for _ in range(FREE_ATTEMPTS + 1):
        start(job)
        task, _ = end(job, 0, state, reason=reason)
        if task == T.FAILED:
            break
        assert (task, g.wanted, g.backing_off) == (T.PENDING, 1, [])
        assert g.failures[0] == 0
    assert g.launches[0] == FREE_ATTEMPTS + 1
    start(job)  # bounded all the same: a task that takes its node down does not wander for ever
    assert end(job, 0, state, reason=reason)[0] == T.FAILED
    assert job.state == J.FAILED


def test_one_exhausted_task_fails_the_job_fast() -> None:
    first, second = group(0, count=4), group(1, after=(0,))
    job = admitted(first, second)
    start(job, k=3)
    task, out = end(job, 1, C.FAILED, reason=R.SIGNAL, exit_code=137)
    assert task == T.FAILED
    assert [type(i) for i in out] == [EmitEvent, StopAll]
    assert out[0].message == "g0/1 was ended by signal 9 after 1 attempt"
    assert (job.state, job.stopping) == (J.KILLING, True)
    assert first.wanted == 0, "nothing new starts once the job is stopping"
    assert end(job, 0, C.SUCCEEDED) == (T.SUCCEEDED, [])  # it was faster than the order to stop
    task, out = end(job, 2, C.KILLED, reason=R.STOPPED)
    assert (task, out) == (T.KILLED, [Ended(J.FAILED, job.message)])
    assert (first.succeeded, first.failed, first.killed) == (1, 1, 2)
    assert (first.state, second.state, second.killed) == (G.FAILED, G.KILLED, 1)


def test_who_fails_for_the_last_time_while_its_job_fails_has_failed_too() -> None:
    g, served = group(count=5, retries=1), group(1, service=True)
    job = admitted(g, served)
    start(job, k=3)
    start(job, no=1)
    for index in (0, 1):
        end(job, index, C.FAILED)
    assert g.wake(1e9) == 2
    start(job, k=4)
    assert end(job, 0, C.FAILED)[0] == T.FAILED
    assert end(job, 1, C.FAILED) == (T.FAILED, []), "nobody stopped it, and one failure was told"
    assert end(job, 2, C.FAILED)[0] == T.KILLED, "it might have been tried again"
    assert end(job, 3, C.FAILED, reason=R.LEASE)[0] == T.KILLED, "its node is to blame"
    assert end(job, 4, C.KILLED, reason=R.STOPPED)[0] == T.KILLED
    task, out = end(job, 0, C.FAILED, no=1)
    assert (task, out) == (T.KILLED, [Ended(J.FAILED, job.message)])
    assert (g.state, g.failed, g.killed, served.state) == (G.FAILED, 2, 3, G.KILLED)


def test_a_kill_starts_nothing_more_and_ends_once() -> None:
    g = group(count=5, retries=2)
    job = admitted(g)
    start(job, k=3)
    end(job, 0, C.FAILED, now=1.0)
    assert g.next_due is not None
    assert master.kill(job, "enough") == [StopAll()]
    assert (job.state, g.wanted, g.next_due) == (J.KILLING, 0, None)
    assert g.wake(1e9) == 0
    assert master.kill(job, "again") == []
    assert job.message == "enough"
    assert end(job, 1, C.LOST) == (T.KILLED, [])
    assert end(job, 2, C.FAILED) == (T.KILLED, [Ended(J.KILLED, "enough")])
    assert (g.state, g.killed, g.failed, g.running) == (G.KILLED, 5, 0, 0)
    assert master.kill(job, "late") == []
    assert job.state == J.KILLED


def test_a_kill_before_anything_ran_ends_at_once() -> None:
    job = admitted(group(), group(1, after=(0,)))
    assert master.kill(job, "no") == [StopAll(), Ended(J.KILLED, "no")]
    assert [g.state for g in job.groups] == [G.KILLED, G.KILLED]
    submitted = JobRun(8, [group()])
    assert master.kill(submitted, "no") == [StopAll(), Ended(J.KILLED, "no")]


def test_a_job_that_can_never_run_is_rejected() -> None:
    job = JobRun(9, [group()])
    assert master.reject(job, "labels") == [Ended(J.FAILED, "labels")]
    with pytest.raises(TransitionError, match="job 9"):
        master.admit(job)


def test_a_group_gives_no_more_than_it_wants() -> None:
    job = admitted(group(count=2))
    with pytest.raises(ValueError, match="g0 wants 2"):
        job.groups[0].take(3)


def test_a_service_starts_again_with_a_growing_wait_whatever_its_exit() -> None:
    g = group(service=True)
    job = admitted(g)
    now, waits = 0.0, []
    for i in range(12):
        start(job)
        state = C.SUCCEEDED if i % 2 else C.FAILED
        assert end(job, 0, state, now=now)[0] == T.PENDING
        waits.append(g.next_due - now)
        now = g.next_due
        g.wake(now)
    first, longest = SERVICE_BACKOFF_S
    assert waits == pytest.approx([min(longest, first * 2**i) for i in range(12)])
    assert job.state == J.RUNNING


def test_a_service_that_ran_long_starts_at_once_and_its_wait_is_short_again() -> None:
    g = group(service=True)
    job = admitted(g)
    for _ in range(8):
        start(job)
        end(job, 0, C.FAILED)
        g.wake(1e9)
    start(job)
    end(job, 0, C.FAILED, ran_s=SERVICE_STABLE_S)
    assert (g.wanted, g.next_due) == (1, None)
    start(job)
    end(job, 0, C.FAILED, now=50.0)
    assert g.next_due == 50.0 + SERVICE_BACKOFF_S.first


@pytest.mark.parametrize("reason", [R.LEASE, R.UNREACHABLE])
@pytest.mark.parametrize("service", [False, True])
def test_what_its_node_could_not_begin_or_end_is_not_counted_and_waits_a_while(reason: R, service: bool) -> None:
    """To be started at once would come to the same: the node is another tenant's, or nobody answers it."""
    g = group(retries=0, service=service)
    job = admitted(g)
    first, longest = SERVICE_BACKOFF_S if service else BATCH_BACKOFF_S
    for attempt in range(10):
        now = 1000.0 * attempt
        start(job)
        assert end(job, 0, C.FAILED, reason=reason, now=now)[0] == T.PENDING
        assert (g.failures[0], g.next_due) == (0, now + min(longest, first * 2.0**attempt))
        g.wake(now + longest)


def test_a_successor_lets_a_service_wait_for_the_rest_of_its_back_off() -> None:
    g = group(count=4, service=True)
    g.restore(0, T.PENDING, failures=3, launches=5)
    g.restore(1, T.PENDING, failures=2, launches=2)
    g.restore(3, T.PENDING, failures=2, launches=7)
    g.adopt(3, 8)
    blamed, lost = (C.SUCCEEDED, R.NONE), (C.LOST, R.NODE_LOST)
    ends = [AttemptEnd(i, *how, 0, 0.0) for i, how in ((0, blamed), (1, lost), (3, blamed))]
    g.restored([(end, 50.0) for end in ends])
    pauses = [(50.0 + 4 * SERVICE_BACKOFF_S.first, 0, ends[0])]
    assert (list(g.to_retry), g.backing_off) == ([1, 2], pauses), "1 did nothing wrong"
    assert (g.failures.tolist(), g.retried) == ([3, 2, 0, 2], 4 + 1 + 1 + 1 + 7)


def test_a_service_on_a_lost_node_does_not_wait() -> None:
    g = group(service=True)
    job = admitted(g)
    for _ in range(50):
        start(job)
        assert end(job, 0, C.LOST, reason=R.NODE_LOST)[0] == T.PENDING
        assert (g.wanted, g.next_due) == (1, None)


def test_a_killed_service_ends() -> None:
    job = admitted(group(service=True))
    start(job)
    master.kill(job, "done")
    assert end(job, 0, C.SUCCEEDED) == (T.KILLED, [Ended(J.KILLED, "done")])


def test_attempt_numbers_never_wrap() -> None:
    g = group(service=True)
    job = admitted(g)
    g.restore(0, T.PENDING, 0, ATTEMPTS_MAX - 1)
    for _ in range(3):
        start(job)
        end(job, 0, C.LOST)
    assert g.launches[0] == ATTEMPTS_MAX


@pytest.mark.parametrize(
    ("end_", "text"),
    [
        (AttemptEnd(0, C.SUCCEEDED, R.NONE, 0, 1), "ended"),
        (AttemptEnd(0, C.FAILED, R.EXIT_CODE, 2, 1), "ended with exit status 2"),
        (AttemptEnd(0, C.FAILED, R.SIGNAL, 139, 1), "was ended by signal 11"),
        (AttemptEnd(0, C.LOST, R.NODE_LOST, 0, 1), "was on a node that fell silent"),
        (AttemptEnd(0, C.FAILED, R.TIMEOUT, 0, 1), "ran longer than its timeout"),
    ],
)
def test_an_end_is_told_as_part_of_a_sentence(end_: AttemptEnd, text: str) -> None:
    assert master.describe(end_) == text


# What a leader that takes over knows: the task rows of ended attempts and the live containers.


def rows_of(g: GroupRun, running: dict[int, int], ended: set[int]) -> GroupRun:
    """The group as rows and containers tell it to a new leader."""
    new = group(g.no, g.count, g.retries, g.after, g.service)
    for index in ended:
        state = T.PENDING if index in running else T(int(g.task_state[index]))
        new.restore(index, state, int(g.failures[index]), int(g.launches[index]) - (index in running))
    for index, attempt in running.items():
        new.adopt(index, attempt)
    new.restored()
    return new


@pytest.mark.parametrize("seed", range(25))
def test_a_restored_group_equals_the_uninterrupted_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = group(count=int(rng.integers(1, 9)), retries=int(rng.integers(0, 3)))
    job = admitted(g)
    running: dict[int, int] = {}
    ended: set[int] = set()
    for _ in range(int(rng.integers(1, 40))):
        g.wake(1e9)
        if running and rng.random() < 0.6:
            index = int(rng.choice(list(running)))
            del running[index]
            ended.add(index)
            end(job, index, C(int(rng.choice([C.SUCCEEDED, C.FAILED, C.LOST]))))
        elif g.wanted:
            indices, attempts = g.take(int(rng.integers(1, g.wanted + 1)))
            master.allocated(job, len(indices))
            running |= dict(zip(indices.tolist(), attempts.tolist(), strict=True))
        if job.stopping:
            break
    g.wake(1e9)
    new = rows_of(g, running, ended)
    for name in ("running", "succeeded", "failed", "killed", "unfinished"):
        assert getattr(new, name) == getattr(g, name), name
    if not job.stopping:
        assert (new.next_fresh, sorted(new.to_retry), new.retried) == (g.next_fresh, sorted(g.to_retry), g.retried)
    for name in ("task_state", "failures", "launches"):
        kept, found = (np.trim_zeros(getattr(of, name), "b") for of in (g, new))
        np.testing.assert_array_equal(found, kept, err_msg=name)


@pytest.mark.parametrize(("failed", "verdict"), [(False, J.KILLED), (True, J.FAILED)])
def test_a_new_leader_goes_on_with_a_stop(failed: bool, verdict: J) -> None:
    g = group(count=6)
    g.state = G.RUNNING
    g.restore(0, T.FAILED if failed else T.SUCCEEDED, int(failed), 1)
    g.adopt(3, 1)
    g.restored()
    job = JobRun(7, [g], state=J.KILLING, live=1, message="because")
    master.resume_stop(job)
    assert g.wanted == 0
    assert end(job, 3, C.KILLED) == (T.KILLED, [Ended(verdict, "because")])


def test_a_group_takes_the_room_of_what_was_started() -> None:
    g = group(count=1_000_000)
    g.state = G.PENDING
    for index in range(3):
        g.restore(index, T.SUCCEEDED, 0, 1)
    g.restored()
    assert (g.next_fresh, g.wanted, g.unfinished) == (3, 999_997, 999_997)
    assert g.take(30)[0].tolist() == list(range(3, 33))
    assert len(g.task_state) < 100
    g.take(999_967)
    assert (len(g.launches), g.wanted, g.running) == (1_000_000, 0, 999_997)
    with pytest.raises(IndexError, match="none of index 1000000"):
        g.adopt(1_000_000, 1)
