"""Random lives of jobs: whatever happens in whatever order, the books balance and the job ends exactly once."""

from collections import Counter
from copy import deepcopy
from dataclasses import asdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import AttemptEnd, GroupRun
from scheduler.lifecycle.job import Ended, JobRun, StopAll
from tests.examples import examples
from wire.states import ContainerReason, ContainerState, GroupState, JobState, TaskState, terminal

ENDS = [ContainerState.SUCCEEDED, ContainerState.FAILED, ContainerState.KILLED, ContainerState.LOST]


@st.composite
def jobs(draw: st.DrawFn) -> JobRun:
    """Up to four groups; each may depend on those before it."""
    service = draw(st.integers(0, 9)) == 0
    groups = []
    for no in range(draw(st.integers(1, 4))):
        after = tuple(sorted(draw(st.sets(st.integers(0, no - 1))))) if no else ()
        groups.append(GroupRun(no, f"g{no}", draw(st.integers(1, 5)), draw(st.integers(0, 2)), after, service=service))
    return JobRun(1, groups)


class Life:
    """A job, the containers it has, and every instruction it gave."""

    def __init__(self, job: JobRun, data: st.DataObject):
        self.job, self.data, self.now = job, data, 0.0
        self.live: list[tuple[int, int]] = []  # group, task
        self.attempts: set[tuple[int, int, int]] = set()
        self.ended: Counter = Counter()
        self.follow(master.admit(job))

    def follow(self, out: list) -> None:
        for i in out:
            assert not self.ended, "nothing follows the end"
            if isinstance(i, Ended):
                self.ended[i.state] += 1
                assert i.state == self.job.state

    def step(self) -> None:
        able = [g for g in self.job.groups if g.wanted]
        choices = ["start"] * 3 * bool(able) + ["end"] * 3 * bool(self.live) + ["wake"]
        choices += ["kill"] * (self.data.draw(st.integers(0, 30)) == 0)
        getattr(self, self.data.draw(st.sampled_from(choices)))()
        self.check()

    def start(self) -> None:
        group = self.data.draw(st.sampled_from([g for g in self.job.groups if g.wanted]))
        k = self.data.draw(st.integers(1, group.wanted))
        indices, attempts = group.take(k)
        master.allocated(self.job, k)
        for index, attempt in zip(indices.tolist(), attempts.tolist(), strict=True):
            assert (group.no, index, attempt) not in self.attempts, "an attempt starts once"
            assert (group.no, index) not in self.live, "a task runs once at a time"
            self.attempts.add((group.no, index, attempt))
            self.live.append((group.no, index))

    def end(self, state: ContainerState | None = None) -> None:
        no, index = self.live.pop(self.data.draw(st.integers(0, len(self.live) - 1)))
        state = self.data.draw(st.sampled_from(ENDS)) if state is None else state
        event = AttemptEnd(index, state, ContainerReason.NONE, 1, self.data.draw(st.sampled_from([0.0, 1000.0])))
        self.follow(master.ended(self.job, self.job.groups[no], event, self.now)[1])

    def wake(self) -> None:
        self.now += self.data.draw(st.sampled_from([0.1, 10.0, 1000.0]))
        for group in self.job.groups:
            group.wake(self.now)

    def kill(self) -> None:
        stopping = self.job.stopping
        out = master.kill(self.job, "stop")
        assert bool(out) is not stopping
        self.follow(out)

    def check(self) -> None:
        job = self.job
        assert job.live == len(self.live)
        assert bool(self.ended) is terminal(job.state)
        assert sum(self.ended.values()) <= 1
        by_group = Counter(no for no, _ in self.live)
        for g in job.groups:
            tasks = Counter(g.task_state.tolist())
            waiting = sorted([*g.to_retry, *(pause.index for pause in g.backing_off)])
            assert g.running == by_group[g.no] == tasks[TaskState.RUNNING]
            assert (g.succeeded, g.failed) == (tasks[TaskState.SUCCEEDED], tasks[TaskState.FAILED])
            assert g.succeeded + g.failed + g.killed + g.unfinished == g.count
            assert len(set(waiting)) == len(waiting)
            assert all(g.task_state[i] == TaskState.PENDING for i in waiting)
            if job.stopping:
                assert g.wanted == 0
                continue
            assert g.running + len(waiting) + g.count - g.next_fresh == g.unfinished, "no task is forgotten"
            ready = all(job.groups[a].state == GroupState.SUCCEEDED for a in g.after)
            assert (g.state == GroupState.WAITING) is not ready, "a group begins when its last dependency has succeeded"
            assert terminal(g.state) is (g.unfinished == 0)
        if not terminal(job.state):
            assert job.open_groups == sum(not terminal(g.state) for g in job.groups) or job.stopping


@examples(150)
@given(jobs(), st.data())
def test_the_books_balance_and_the_job_ends_once(job: JobRun, data: st.DataObject) -> None:
    life = Life(job, data)
    for _ in range(data.draw(st.integers(0, 40))):
        if terminal(job.state):
            break
        life.step()
    if any(g.service for g in job.groups) and not job.stopping and not terminal(job.state):
        life.kill()
    for _ in range(2000):  # left alone, with every attempt succeeding, it comes to its end
        if terminal(job.state):
            break
        if life.live:
            life.end(ContainerState.SUCCEEDED)
        elif any(g.wanted for g in job.groups):
            life.start()
        else:
            life.wake()
        life.check()
    assert terminal(job.state)
    assert sum(life.ended.values()) == 1
    assert not life.live
    assert all(terminal(g.state) for g in job.groups)
    if job.state == JobState.SUCCEEDED:
        assert all(g.succeeded == g.count for g in job.groups)
    if job.state == JobState.FAILED:
        assert any(g.failed for g in job.groups)
        assert job.message
    assert master.kill(job, "late") == []


@given(jobs())
@examples(30)
def test_killing_before_anything_runs_ends_at_once(job: JobRun) -> None:
    master.admit(job)
    out = master.kill(job, "no")
    assert [type(i) for i in out] == [StopAll, Ended]
    assert all(g.state == GroupState.KILLED and g.killed == g.count for g in job.groups)


@examples(200)
@given(jobs(), st.data())
def test_successes_told_together_are_those_told_one_by_one(job: JobRun, data: st.DataObject) -> None:
    life = Life(job, data)
    for _ in range(data.draw(st.integers(0, 15))):
        if not terminal(job.state):
            life.step()
    by_group: dict[int, list[int]] = {}
    for no, index in life.live:
        by_group.setdefault(no, []).append(index)
    able = [no for no in sorted(by_group) if not job.groups[no].service]
    if not able:
        return
    no = data.draw(st.sampled_from(able))
    some = data.draw(st.lists(st.sampled_from(by_group[no]), unique=True))
    single, singly = deepcopy(job), []
    for index in some:
        event = AttemptEnd(index, ContainerState.SUCCEEDED, ContainerReason.NONE, 0, 1.0)
        became, out = master.ended(single, single.groups[no], event, life.now)
        assert became == TaskState.SUCCEEDED
        singly += out
    assert master.succeeded(job, job.groups[no], np.array(some, np.int32)) == singly
    assert told(job) == told(single)


def told(job: JobRun) -> dict:
    """All that a job knows, in a form that can be compared."""
    values = asdict(job)
    for group in values["groups"]:
        for name in ("task_state", "failures", "launches", "remote"):
            group[name] = group[name].tolist()
    return values
