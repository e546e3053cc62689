"""What a sub-cluster remembers of jobs at home elsewhere, when their homes end them while it stands still."""

from typing import Any

import pytest

from controlplane.rm.changes import Changes
from controlplane.rm.steps import remote
from tests.doubles import MemoryCluster, MemoryLeader
from wire.states import JobState

HUGE = {"count": 2, "resources": {"memory_mib": 8192, "vcores_milli": 500}}  # no node could hold one


class Pair:
    """West is home, east helps with nodes as small. A job of west waits in east, in vain."""

    def __init__(self, **group: Any):
        self.home = MemoryCluster()
        self.other = MemoryCluster(self.home, "east")
        self.home.policy({"default": {"guaranteed": 1.0, "open_to_all": True}}, amrmproxy={"policy": "home"})
        self.west, self.east = self.home.lead(), self.other.lead()
        self.rounds(2)
        self.job = self.home.submit(group)
        self.west.round()
        self.commit(remote.hand_over, 2)

    def rounds(self, n: int = 1) -> None:
        for _ in range(n):
            for cluster, leader in ((self.home, self.west), (self.other, self.east)):
                cluster.nodes.step()
                leader.round()

    def commit(self, step: Any, k: int) -> None:
        job, c = self.west.memory.jobs[self.job], Changes()
        c.at_us = self.west.clock.now_us()
        step(self.west.memory, c, job, job.groups[0], self.other.sub.id, k)
        self.west.store.commit(c)

    def taken_back(self) -> list[Any]:
        """By the home, while nobody seems to lead the other."""
        self.other.expire()
        found = self.west.store.withdraw([(self.job, 0, self.other.sub.id)])
        leader, job = self.west, self.west.memory.jobs[self.job]
        c = Changes()
        c.at_us = leader.clock.now_us()
        for row in found:
            remote.returned(leader.memory, c, job, job.groups[0], row.sub_cluster_id, row.target)
        leader.store.commit(c)
        return found


def waiting(leader: MemoryLeader) -> list[tuple[int, int]]:
    return [(job.id, group.run.wanted) for job in leader.memory.jobs.values() for group in job.groups]


@pytest.fixture
def pair() -> Pair:
    found = Pair(**HUGE)
    found.east.round()
    assert waiting(found.east) == [(found.job, 2)]
    return found


def test_what_was_taken_back_of_a_job_that_has_ended_is_not_remembered(pair: Pair) -> None:
    """Its leader stood still, and goes on as if its lease had not run out meanwhile."""
    pair.home.kill(pair.job)
    pair.west.round()
    assert pair.taken_back()
    pair.west.round()
    assert pair.home.state(pair.job) == JobState.KILLED and not pair.home.rows.asks
    pair.east.round()
    assert waiting(pair.east) == [] and not pair.east.memory.guests
    assert pair.east.rounds.next_due_s() is None, "nothing waits"
    assert not pair.other.sub.intents


def test_who_takes_over_meanwhile_has_nothing_to_forget(pair: Pair) -> None:
    pair.home.kill(pair.job)
    pair.west.round()
    pair.taken_back()
    pair.west.round()
    successor = pair.other.lead()
    successor.round()
    assert waiting(successor) == [] and not pair.other.sub.intents


def test_who_has_read_all_is_told_nothing(pair: Pair) -> None:
    pair.home.kill(pair.job)
    pair.west.round()
    pair.east.round()
    pair.west.round()
    assert pair.home.state(pair.job) == JobState.KILLED and not pair.home.rows.asks
    assert not pair.other.sub.intents and waiting(pair.east) == []


@pytest.mark.parametrize("kind", ["kill", "move"])
def test_what_is_wanted_of_a_guest_goes_to_its_home(pair: Pair, kind: str) -> None:
    """Somebody wrote it for a home that the job has no more."""
    pair.home.rows.add_intent(pair.other.sub.id, kind, pair.job, queue="root.default", message="stop")
    pair.east.round()
    assert waiting(pair.east) == [(pair.job, 2)] and not pair.other.sub.intents
    (intent,) = pair.home.sub.intents
    assert (intent.kind, intent.job_id) == (kind, pair.job)
