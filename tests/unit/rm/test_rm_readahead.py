"""What is made ahead of a take-over changes nothing but how long it takes."""

from collections.abc import Sequence

from controlplane.rm.adapters.clock import HostClock
from controlplane.rm.driver import readahead
from controlplane.rm.driver.readahead import ReadAhead
from controlplane.rm.rows import JobRow
from tests.doubles import MemoryCluster
from tests.playing import ONE_GIB, finish, ready, turn
from tests.stepped import LOG_BYTES, memory_state
from wire.states import TERMINAL, ContainerState

MASTER = {"command": ["decide"], "resources": {"memory_mib": 512, "vcores_milli": 500}}


class Rows:
    """``readahead.Source`` over simulated rows. asked: jobs whose rows were read."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster, self.store = cluster, cluster.lead().store
        self.asked: list[int] = []

    def live(self, sub: int) -> list[int]:
        rows = self.cluster.rows.jobs.values()
        return sorted(row["id"] for row in rows if row["home_id"] == sub and row["state"] < TERMINAL)

    def jobs(self, ids: Sequence[int]) -> list[JobRow]:
        self.asked += ids
        return self.store.jobs(ids)


def reading(most: int = 1000) -> ReadAhead:
    return ReadAhead(LOG_BYTES, most, HostClock(), lambda seconds: True)


def test_a_memory_made_over_it_is_the_one_that_is_made_without(cluster: MemoryCluster) -> None:
    """However much has become of the jobs since they were read."""
    halves = {name: {"guaranteed": 0.5, "open_to_all": True} for name in ("a", "b")}
    cluster.policy(halves)
    ahead, rows = reading(), Rows(cluster)
    groups = {"count": 3, "retries": 2} | ONE_GIB, {"name": "then", "after": ["g0"]} | ONE_GIB
    lives, killed, ends, waits = (cluster.submit(*groups, queue="root.a") for _ in range(4))
    app = cluster.submit_spec({"name": "app", "kind": "application", "queue": "root.a", "master": MASTER})
    ahead.follow([cluster.sub.id], rows)
    leader = ready(cluster)
    late = cluster.submit({"count": 2}, kind="service", queue="root.a")
    turn(cluster, leader)
    finish(cluster, leader, lives, 1)
    cluster.nodes.finish(ContainerState.FAILED, {cluster.live(lives)[0].id})
    cluster.nodes.step()
    cluster.rows.add_intent(cluster.sub.id, "priority", lives, priority=7)
    cluster.rows.add_intent(cluster.sub.id, "move", waits, queue="root.b")
    cluster.kill(killed)
    cluster.kill(ends)
    leader.round()
    made = ahead.take(cluster.sub.id)
    assert made.keys() == {lives, killed, ends, waits}, "an application's master may have asked for more"
    known = {lives, killed, ends, waits, app, late} & leader.memory.jobs.keys()
    assert {lives, waits, app, late} <= known and leader.memory.jobs[waits].queue == "root.b"
    plain, quick = leader.rebuilt(), leader.rebuilt(made)
    assert memory_state(quick) == memory_state(plain) == memory_state(leader.memory)
    assert quick.jobs[lives] is made[lives] and quick.jobs[lives].priority == 7
    assert not ahead.take(cluster.sub.id), "one leader alone has them"


def test_it_follows_what_comes_and_goes_and_reads_nothing_twice(cluster: MemoryCluster) -> None:
    ahead, rows, sub = reading(), Rows(cluster), cluster.sub.id
    leader = ready(cluster)
    jobs = [cluster.submit(ONE_GIB) for _ in range(3)]
    ahead.follow([sub], rows)
    turn(cluster, leader)
    finish(cluster, leader, jobs[0])
    jobs.append(cluster.submit(ONE_GIB))
    assert [ahead.follow([sub], rows) for _ in range(2)] == [1, 0]
    assert rows.asked == jobs
    assert ahead.take(sub).keys() == set(jobs[1:])
    ahead.follow([sub], rows)
    ahead.follow([], rows)  # it is led from here now
    assert not ahead.take(sub)


def test_it_keeps_no_more_than_it_may_and_passes_over_what_nobody_can_read(cluster: MemoryCluster) -> None:
    ahead, rows, sub = reading(most=2), Rows(cluster), cluster.sub.id
    jobs = [cluster.submit(ONE_GIB) for _ in range(5)]
    cluster.rows.jobs[jobs[0]]["spec"] = {"queue": "root.default", "groups": [{"name": 1}]}
    for _ in range(2):
        ahead.follow([sub], rows)
    assert rows.asked == jobs[:2]
    assert ahead.take(sub).keys() == {jobs[1]}


def test_a_sub_cluster_that_is_taken_over_meanwhile_is_left(cluster: MemoryCluster, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(readahead, "BATCH", 1)
    ahead, sub = reading(), cluster.sub.id
    jobs = [cluster.submit(ONE_GIB) for _ in range(3)]

    class TakenOver(Rows):
        def jobs(self, ids: Sequence[int]) -> list[JobRow]:
            if ids == jobs[1:2]:
                assert ahead.take(sub).keys() == {jobs[0]}
            return super().jobs(ids)

    rows = TakenOver(cluster)
    ahead.follow([sub], rows)
    assert rows.asked == jobs[:2] and not ahead.take(sub)
