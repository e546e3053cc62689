"""A job whose tasks run in several sub-clusters: each task is in one place, whatever happens in between."""

from collections import Counter

import numpy as np
import pytest

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.steps import remote
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import another
from tests.stepped import memory_state
from wire.states import ContainerState, JobState

SMALL = {"resources": {"memory_mib": 512, "vcores_milli": 500}}


class Pair:
    """West is home, east helps. ``west`` and ``east`` lead them."""

    def __init__(self, cluster: Cluster):
        self.home, self.other = cluster, another(cluster)
        self.west, self.east = self.home.lead(), self.other.lead()
        self.rounds(2)

    def rounds(self, n: int = 1) -> None:
        for _ in range(n):
            for cluster, leader in ((self.home, self.west), (self.other, self.east)):
                cluster.nodes.step()
                leader.round()

    def entry(self, job: int) -> tuple[JobEntry, GroupEntry]:
        found = self.west.memory.jobs[job]
        return found, found.groups[0]

    def hand_over(self, job: int, k: int) -> None:
        """Hand k tasks to east in a commit of its own, as a session would within a round."""
        c = self._changes()
        remote.hand_over(self.west.memory, c, *self.entry(job), self.other.sub.pk, k)
        self.west.store.commit(c)

    def recall(self, job: int, keep: int = 0) -> None:
        c = self._changes()
        remote.recall(c, *self.entry(job), self.other.sub.pk, keep)
        self.west.store.commit(c)

    def _changes(self) -> Changes:
        c = Changes()
        c.at_us = self.west.clock.now_us()
        return c

    def finish(self, job: int, rounds: int = 30) -> int:
        """Play until the job has ended; its state."""
        for _ in range(rounds):
            self.rounds()
            if self.home.job(job).state >= JobState.SUCCEEDED:
                break
            for cluster, leader in ((self.home, self.west), (self.other, self.east)):
                cluster.nodes.finish()
                leader.clock.ahead_s += 100.0
        return self.home.job(job).state

    def places(self) -> Counter[int]:
        """Live containers per sub-cluster, as the rows say."""
        return Counter(sub for (sub,) in self.home.rows("SELECT sub_cluster_id FROM statestore_container"))

    def lead_anew(self, home: bool) -> None:
        self.home.expire()
        if home:
            self.west = self.home.lead()
            self.east = self._again(self.other)
        else:
            self.east = self.other.lead()
            self.west = self._again(self.home)

    def _again(self, cluster: Cluster) -> Leading:
        return cluster.lead()


@pytest.fixture
def pair(cluster: Cluster) -> Pair:
    return Pair(cluster)


def large(pair: Pair, count: int = 20, **more: object) -> int:
    """More than both sub-clusters hold at a time (8 tasks each per node of 4 cores)."""
    return pair.home.submit(SMALL | {"count": count} | more)


def test_tasks_run_where_they_were_handed_and_their_master_hears_of_all(pair: Pair) -> None:
    job = large(pair, 40)
    pair.rounds()
    pair.hand_over(job, 12)
    pair.rounds(2)
    assert pair.places() == {pair.home.sub.pk: 16, pair.other.sub.pk: 12}
    run = pair.entry(job)[1].run
    assert (run.running, int(run.remote.sum())) == (28, 0)
    assert pair.finish(job) == JobState.SUCCEEDED
    assert pair.home.one("SELECT count(*) FROM statestore_ask") == 0, "the asks of an ended job go"
    assert pair.home.one("SELECT count(*) FROM statestore_report") == 0
    assert not pair.east.memory.jobs, "a guest with nothing left is forgotten"


def test_what_was_not_started_comes_back_and_runs_once(pair: Pair) -> None:
    job = large(pair, 60)
    pair.rounds()
    pair.hand_over(job, 30)  # east holds 16 at a time
    pair.rounds(2)
    handed = pair.entry(job)[1].remote[pair.other.sub.pk]
    assert (handed.taken, handed.waiting) == (16, 14)
    pair.recall(job, keep=4)
    assert handed.lowering
    pair.rounds(2)
    assert (handed.target, handed.waiting, handed.lowering) == (20, 4, False)
    assert pair.entry(job)[1].run.wanted == 60 - 16 - 20
    assert pair.finish(job) == JobState.SUCCEEDED
    assert pair.home.one("SELECT count(DISTINCT task_index), count(*) FROM statestore_container_history") == 60


def test_a_failed_attempt_elsewhere_is_judged_and_tried_again_by_its_master(pair: Pair) -> None:
    job = large(pair, 30, retries=1)
    pair.rounds()
    pair.hand_over(job, 3)
    pair.rounds(2)
    assert pair.other.nodes.finish(ContainerState.FAILED) == 3
    pair.rounds(2)
    run = pair.entry(job)[1].run
    assert (run.failures.sum(), run.retried, run.running) == (3, 3, 16)
    assert pair.finish(job) == JobState.SUCCEEDED
    assert pair.home.one("SELECT max(attempts) FROM statestore_task") == 2


def test_a_kill_stops_what_runs_elsewhere_and_waits_for_its_end(pair: Pair) -> None:
    job = large(pair, 60)
    pair.rounds()
    pair.hand_over(job, 30)
    pair.rounds(2)
    pair.home.kill(job)
    pair.rounds(4)
    assert pair.home.job(job).state == JobState.KILLED
    assert not pair.places()
    group = pair.home.job(job).groups.get()
    assert (group.killed, group.running) == (60, 0)


def test_a_kill_that_crosses_an_answer_leaves_nothing_waiting(pair: Pair) -> None:
    """East has given back a part, unread, when west stops everything: what is left there is asked back again."""
    job = large(pair, 60)
    pair.rounds()
    pair.hand_over(job, 30)
    pair.rounds(2)
    pair.recall(job, keep=4)
    pair.east.round()
    pair.home.kill(job)
    pair.west.round()
    handed = pair.entry(job)[1].remote[pair.other.sub.pk]
    assert handed.lowering and pair.entry(job)[0].run.live
    pair.rounds(4)
    assert pair.home.job(job).state == JobState.KILLED and not pair.places()


@pytest.mark.parametrize("moment", ["handed over", "begun, unread", "ended, unread", "asked back", "answered, unread"])
@pytest.mark.parametrize("side", ["home", "other"])
def test_a_take_over_at_any_moment_loses_and_doubles_nothing(pair: Pair, moment: str, side: str) -> None:
    job = large(pair, 50)
    pair.rounds()
    pair.hand_over(job, 24)
    if moment != "handed over":
        pair.east.round()  # starts 16, which west has not read
    if moment == "ended, unread":
        pair.other.nodes.step()
        pair.other.nodes.finish()
        pair.other.nodes.step()
        pair.east.round()
    if moment in ("asked back", "answered, unread"):
        pair.west.round()
        pair.recall(job)
    if moment == "answered, unread":
        pair.east.round()
    before = memory_state(pair.west.memory)
    pair.lead_anew(home=side == "home")
    if moment in ("handed over", "asked back"):
        assert memory_state(pair.west.memory)["jobs"] == before["jobs"]
    live = int(pair.west.memory.jobs[job].run.live)
    rows = pair.home.one("SELECT count(*) FROM statestore_container")
    assert live >= rows
    assert pair.finish(job) == JobState.SUCCEEDED
    found = pair.home.rows("SELECT task_index, attempt FROM statestore_container_history")
    assert len(found) == len(set(found)) and {task for task, _ in found} == set(range(50))


def test_a_leader_whose_lease_has_merely_run_out_hears_what_was_taken_back(pair: Pair) -> None:
    job = large(pair, 60)
    pair.rounds()
    pair.hand_over(job, 30)
    pair.rounds(2)
    assert pair.east.memory.jobs[job].groups[0].run.wanted == 14
    pair.recall(job)
    pair.home.rows(
        f"UPDATE statestore_lease SET expires_at = NULL WHERE sub_cluster_id = {pair.other.sub.pk} RETURNING 1"
    )
    sub = pair.other.sub.pk
    assert pair.west.store.withdraw([(job, 0, sub)]) == [(job, 0, sub, 16)]
    pair.east.round()
    assert pair.east.memory.jobs[job].groups[0].run.wanted == 0, "it would keep them in mind, and in its load, for ever"


def test_a_sub_cluster_that_nobody_leads_keeps_what_it_started_and_loses_what_waits(pair: Pair) -> None:
    job = large(pair, 60)
    pair.rounds()
    pair.hand_over(job, 30)
    pair.rounds(2)
    pair.recall(job)
    key = (job, 0, pair.other.sub.pk)
    assert pair.west.store.withdraw([key]) == [], "its leader answers itself"
    pair.home.rows(
        f"UPDATE statestore_lease SET expires_at = NULL WHERE sub_cluster_id = {pair.other.sub.pk} RETURNING 1"
    )
    assert pair.west.store.withdraw([key]) == [(*key, 16)]
    c = pair._changes()
    remote.returned(pair.west.memory, c, *pair.entry(job), pair.other.sub.pk, 16)
    assert pair.entry(job)[1].run.wanted == 60 - 16 - 16
    pair.east.memory.placeable = True
    pair.other.nodes.finish()
    pair.other.nodes.step()
    with pytest.raises(Exception, match="do not stand"):
        pair.east.round(intents=False)  # it has not heard that nothing more is its own
    pair.east = pair.other.lead()
    assert pair.finish(job) == JobState.SUCCEEDED
    assert np.array_equal(sorted(i for (i,) in pair.home.rows("SELECT index FROM statestore_task")), np.arange(60))
