"""The leader's loop on a clock that only its own waiting moves: who falls silent is lost, unless all of them do."""

from collections.abc import Callable

import pytest

from controlplane.rm.driver.leader import Leader, Pace
from controlplane.rm.driver.liveness import AnsweredClock
from tests.doubles import MemoryCluster
from wire import keys
from wire.states import JobState, NodeState

QUICK = Pace(heartbeat_s=0.1, interval_s=0.02, renew_s=0.1, node_lost_s=2.0, max_disconnect_s=60.0)


class Serving:
    """A leader and its nodes at work; containers run for ``run_s``. silent: nodes that are cut off."""

    def __init__(self, cluster: MemoryCluster, run_s: float):
        self.cluster, self.clock, self.beat_at = cluster, cluster.clock, 0.0
        self.silent: set[int] = set()
        cluster.nodes.run_s = run_s
        it, answered = cluster.lead(), AnsweredClock()
        self.loop = Leader(it.rounds, it.memory, it.store, it.bus, it.clock, "test", QUICK, lambda jobs: None, answered)
        self.until(lambda: self.states() == {NodeState.UP}, 10, "all nodes up")

    def states(self) -> set[int]:
        return {row["state"] for row in self.cluster.sub.nodes.values()}

    def state(self, node: int) -> int:
        return int(self.cluster.sub.nodes[node]["state"])

    def until(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Go on until this is so, which takes no longer than so many seconds."""
        ends = self.clock.now + seconds

        def over() -> bool:
            assert self.clock.now < ends, what
            if self.clock.now >= self.beat_at:
                self.beat_at = self.clock.now + QUICK.heartbeat_s
                self.cluster.nodes.containers.end_due(self.clock.now)
                self.cluster.nodes.step(*self.silent)
            return done()

        self.loop.run(over)

    def submit(self, count: int) -> int:
        """A job of so many containers, all of which run."""
        job = self.cluster.submit({"count": count})
        self.cluster.nodes.redis.dirty[keys.INTENTS] = None
        self.until(lambda: [c.state for c in self.cluster.live(job)] == [2] * count, 10, f"{count} run")
        return job

    def ended(self, job: int) -> Callable[[], bool]:
        return lambda: self.cluster.state(job) >= JobState.SUCCEEDED


@pytest.mark.parametrize("slice_", [1, 500])
def test_a_silent_node_is_lost_its_work_goes_on_elsewhere_and_it_returns(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, slice_: int
) -> None:
    monkeypatch.setattr("controlplane.rm.driver.leader.SWEEP_NODES", slice_)  # however many nodes a round looks at
    cluster.add_node("n2")
    serving = Serving(cluster, run_s=3.0)
    job, cut = serving.submit(9), cluster.ids[0]
    serving.silent = {cut}
    serving.until(lambda: serving.state(cut) == NodeState.LOST, 10, "lost")
    serving.until(serving.ended(job), 20, "the job")
    serving.silent = set()
    serving.until(lambda: serving.state(cut) == NodeState.UP, 20, "back")
    assert cluster.state(job) == JobState.SUCCEEDED
    assert cluster.reasons(job) == {"NONE": 9, "NODE_LOST": 3}


def test_an_idle_node_that_falls_silent_is_lost_among_idle_ones(cluster: MemoryCluster) -> None:
    cluster.add_node("n2")
    serving = Serving(cluster, run_s=1.0)
    cut, *others = cluster.ids
    serving.silent = {cut}
    serving.until(lambda: serving.state(cut) == NodeState.LOST, 10, "lost")
    assert {serving.state(other) for other in others} == {NodeState.UP}


def test_when_all_fall_silent_nothing_is_lost(cluster: MemoryCluster) -> None:
    def frozen() -> bool:
        told = cluster.nodes.redis.summary
        return told is not None and told[0].frozen

    serving = Serving(cluster, run_s=2.0)
    job = serving.submit(4)
    serving.silent = set(cluster.ids)
    serving.until(frozen, 10, "frozen")
    serving.silent = set()
    serving.until(lambda: not frozen(), 10, "the nodes answer again")
    serving.until(serving.ended(job), 10, "the job")
    assert serving.states() == {NodeState.UP}
    assert cluster.reasons(job) == {"NONE": 4}


def test_while_redis_takes_no_writes_nobody_is_lost_and_afterwards_who_is_gone(cluster: MemoryCluster) -> None:
    """It answers reads all the while: the old statuses are there, and nobody can put a new one."""
    gone = cluster.add_node("n2")
    serving = Serving(cluster, run_s=90.0)
    job, redis, began = serving.submit(4), cluster.nodes.redis, cluster.clock.now
    redis.full = True
    certain_s = QUICK.max_disconnect_s + QUICK.node_lost_s
    serving.until(lambda: cluster.clock.now > began + certain_s + 5, certain_s + 10, "longer than anything is certain")
    assert serving.states() == {NodeState.UP}
    redis.full, serving.silent = False, {gone}
    serving.until(lambda: serving.state(gone) == NodeState.LOST, 10, "its clock goes on")
    serving.until(serving.ended(job), 200, "the job")
    assert {serving.state(node) for node in cluster.ids[:2]} == {NodeState.UP}
