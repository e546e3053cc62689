"""Services while they run: scaled, and their tasks restarted, whoever leads meanwhile."""

from typing import Any

import pytest

from controlplane.rm.driver.load import own_load
from controlplane.rm.driver.readahead import made_ahead
from scheduler.lifecycle.restarting import runs
from tests.doubles import MemoryCluster, MemoryLeader
from tests.playing import ONE_GIB, OPEN, counted_wrong, ready, turn
from tests.stepped import memory_state
from wire.states import ContainerState

OFF: dict[str, Any] = {"preemption": {"policy": "off"}}


def service(cluster: MemoryCluster, leader: MemoryLeader, count: int, **group: Any) -> int:
    job = cluster.submit(ONE_GIB | {"name": "web", "count": count} | group, kind="service")
    turn(cluster, leader)
    assert len(cluster.live(job)) == count
    return job


def ask(cluster: MemoryCluster, kind: str, job: int, **payload: Any) -> None:
    home = cluster.rows.jobs[job]["home_id"]
    cluster.rows.add_intent(home, kind, job, **{"group": 0, "by": "ann"} | payload)


def scale(cluster: MemoryCluster, job: int, count: int, asked_us: int | None = None) -> None:
    ask(cluster, "scale", job, count=count, asked_us=asked_us or cluster.clock.now_us())


def restart(cluster: MemoryCluster, job: int, *tasks: int, one_by_one: bool = False) -> None:
    attempts = [attempt for attempt in tasks_of(cluster, job) if not tasks or attempt[0] in tasks]
    ask(cluster, "restart", job, attempts=runs(attempts), one_by_one=one_by_one)


def tasks_of(cluster: MemoryCluster, job: int) -> list[tuple[int, int]]:
    """Tasks that have a container, wherever it is, with their attempts."""
    live = [c for sub in cluster.rows.subs.values() for c in sub.containers.values() if c.job == job]
    return sorted((c.task, c.attempt) for c in live)


def serving(cluster: MemoryCluster, job: int) -> list[int]:
    live = [c for sub in cluster.rows.subs.values() for c in sub.containers.values() if c.job == job]
    return sorted(c.task for c in live if c.state == ContainerState.RUNNING)


def same_when_rebuilt(leader: MemoryLeader) -> None:
    assert memory_state(leader.memory) == memory_state(leader.rebuilt())


def test_a_service_grows_and_shrinks_and_loses_its_last_tasks_first(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    scale(cluster, job, 6)
    turn(cluster, leader, 2)
    assert serving(cluster, job) == [0, 1, 2, 3, 4, 5]
    scale(cluster, job, 2)
    leader.round()
    same_when_rebuilt(leader)
    assert len(cluster.live(job)) == 6, "they are told to stop, and have not yet"
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 1), (1, 1)]
    same_when_rebuilt(leader)
    assert cluster.events(job, "scaled") == [
        "web from 3 tasks to 6, asked for by ann", "web from 6 tasks to 2, asked for by ann",
    ]  # fmt: skip
    assert not cluster.events(job, "retry") and counted_wrong(cluster, leader) == []
    scale(cluster, job, 4)
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 1), (1, 1), (2, 2), (3, 2)], "as further attempts of the same tasks"
    same_when_rebuilt(leader)
    row = leader.memory.jobs[job].groups[0].run
    assert row.failures.sum() == 0
    cluster.kill(job)
    turn(cluster, leader, 2)
    assert cluster.group(job).killed == 4 and not cluster.live(job)


def test_what_is_beyond_its_room_waits_and_says_so(cluster: MemoryCluster) -> None:
    cluster.policy({"a": {"user_maximum": 0.5} | OPEN, "b": OPEN}, **OFF)
    leader = ready(cluster)
    job = cluster.submit(ONE_GIB | {"name": "web"}, kind="service", queue="root.a")
    turn(cluster, leader)
    scale(cluster, job, 7)
    turn(cluster, leader, 2)
    assert len(serving(cluster, job)) == 4, "half of eight, as anything else of that user"
    assert cluster.group(job).reason["code"] == "user_maximum" and cluster.group(job).reason["waiting"] == 3
    scale(cluster, job, 4)
    turn(cluster, leader, 3)
    assert cluster.group(job).reason is None


def test_what_comes_twice_or_late_changes_nothing(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2)
    early = cluster.clock.now_us()
    turn(cluster, leader)
    for asked_us, count in ((early + 5, 4), (early + 5, 1), (early + 1, 7)):
        scale(cluster, job, count, asked_us)
    turn(cluster, leader, 2)
    assert serving(cluster, job) == [0, 1, 2, 3]
    restart(cluster, job, 1)
    restart(cluster, job, 1)
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 1), (1, 2), (2, 1), (3, 1)]
    ask(cluster, "restart", job, attempts=runs([(1, 1)]), one_by_one=False)
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 1), (1, 2), (2, 1), (3, 1)], "that attempt has ended long since"
    assert len(cluster.events(job, "restart")) == 1


def test_a_restart_is_no_failure_and_waits_for_nothing(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    restart(cluster, job, 0, 2)
    leader.round()
    same_when_rebuilt(leader)
    turn(cluster, leader)
    assert tasks_of(cluster, job) == [(0, 2), (1, 1), (2, 2)]
    run = leader.memory.jobs[job].groups[0].run
    assert (run.failures.sum(), run.retried, run.backing_off) == (0, 2, [])
    assert cluster.events(job, "restart") == ["tasks 0, 2 of web to start again: ann"]
    assert sorted(cluster.events(job, "restarting")) == [
        f"web/{task} was stopped to start again, as ann asked" for task in (0, 2)
    ]
    assert not cluster.events(job, "retry")
    turn(cluster, leader)
    assert cluster.rows.jobs[job]["services"] == {}, "nothing is left to do"


def test_a_whole_group_restarts_one_after_the_other(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    restart(cluster, job, one_by_one=True)
    least = 3
    for _ in range(8):
        turn(cluster, leader)
        least = min(least, len(serving(cluster, job)))
        same_when_rebuilt(leader)
    assert tasks_of(cluster, job) == [(0, 2), (1, 2), (2, 2)]
    assert least >= 2, "never more than one at a time"
    assert cluster.events(job, "restarted") == ["web: all that was asked for has started again"]


def test_what_has_its_turn_and_is_asked_for_at_once_is_told_of(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3)
    restart(cluster, job, one_by_one=True)
    leader.round()
    for _ in range(2):
        restart(cluster, job, 2)
        leader.round()
    first, second = cluster.events(job, "restart")
    assert first.startswith("tasks 0, 1, 2 of web ") and second == "web/2 to start again: ann"


def test_the_next_one_restarts_when_the_one_before_it_is_healthy(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 3, ports=[{"name": "http"}], health_check={"port": "http", "tcp": True})
    restart(cluster, job, one_by_one=True)
    turn(cluster, leader, 4)
    assert tasks_of(cluster, job) == [(0, 2), (1, 1), (2, 1)], "nothing is known of its health"
    newest = max(c.id for c in cluster.sub.containers.values())
    cluster.rows.health[newest] = False
    turn(cluster, leader, 2)
    assert tasks_of(cluster, job) == [(0, 2), (1, 1), (2, 1)]
    cluster.rows.health[newest] = True
    turn(cluster, leader, 3)
    assert tasks_of(cluster, job) == [(0, 2), (1, 2), (2, 1)]


@pytest.mark.parametrize("rounds", range(6))
def test_a_successor_goes_on_with_what_was_asked(cluster: MemoryCluster, rounds: int) -> None:
    """Whichever step the leader has come to when another takes its place."""
    leader = ready(cluster)
    job = service(cluster, leader, 4)
    restart(cluster, job, one_by_one=True)
    scale(cluster, job, 3)
    for step in range(40):
        if step == rounds:
            leader = cluster.lead()
        turn(cluster, leader) if step % 2 else leader.round()
    assert tasks_of(cluster, job) == [(0, 2), (1, 2), (2, 2)]
    assert cluster.rows.jobs[job]["services"]["0"] | {"asked_us": 0} == {
        "count": 3, "asked_us": 0, "now": [], "queue": [], "unsure": [], "width": 1,
    }  # fmt: skip


def test_what_was_made_ahead_learns_of_it_at_the_take_over(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2)
    scale(cluster, job, 5)
    turn(cluster, leader, 2)
    known = leader.store.jobs([job])[0]._replace(services=None)
    ahead = made_ahead(known, 1 << 20)
    assert ahead is not None
    assert memory_state(leader.rebuilt({job: ahead})) == memory_state(leader.memory)


def test_a_service_that_waits_for_admission_is_admitted_with_as_many_as_are_wanted_then(cluster: MemoryCluster) -> None:
    cluster.policy({"a": {"max_running_jobs": 1} | OPEN}, **OFF)
    leader = ready(cluster)
    first = cluster.submit(ONE_GIB, kind="service", queue="root.a")
    turn(cluster, leader)
    second = cluster.submit(ONE_GIB | {"name": "web"}, kind="service", queue="root.a")
    turn(cluster, leader)
    scale(cluster, second, 3)
    turn(cluster, leader)
    assert not cluster.live(second)
    cluster.kill(first)
    turn(cluster, leader, 3)
    assert serving(cluster, second) == [0, 1, 2]


class Spread:
    """A service of twelve tasks over two sub-clusters of eight places each."""

    def __init__(self) -> None:
        self.west = MemoryCluster()
        self.east = MemoryCluster(self.west, "east")
        proxy = {"policy": "locality", "parameters": {"relax_after_s": 2.0, "interval_s": 0.1}}
        self.west.policy({"default": {"guaranteed": 1.0} | OPEN}, amrmproxy=proxy, **OFF)
        self.clusters = [self.west, self.east]
        self.leaders = [ready(c) for c in self.clusters]
        self.turn()
        self.job = self.west.submit(ONE_GIB | {"name": "web", "count": 12}, kind="service")
        self.turn(4)
        assert serving(self.west, self.job) == list(range(12))
        self.away = sorted(c.task for c in self.east.sub.containers.values())
        assert len(self.away) >= 4

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            for cluster, leader in zip(self.clusters, self.leaders, strict=True):
                turn(cluster, leader, seconds=0.5)
                leader.store.put_load(own_load(leader.memory, cluster.sub.id))

    def replace(self, at: int) -> None:
        self.clusters[at].expire()
        self.leaders[at] = self.clusters[at].lead()


def test_tasks_elsewhere_restart_where_their_containers_are() -> None:
    f = Spread()
    restart(f.west, f.job, f.away[0], f.away[1])
    f.turn(6)
    assert sorted(t for t, attempt in tasks_of(f.west, f.job) if attempt == 2) == sorted(f.away[:2])
    assert serving(f.west, f.job) == list(range(12))


@pytest.mark.parametrize("replaced", [(), (0,), (1,), (0, 1)])
def test_a_service_shrinks_wherever_its_last_tasks_are(replaced: tuple[int, ...]) -> None:
    f = Spread()
    scale(f.west, f.job, 3)
    f.leaders[0].round()
    for at in replaced:
        f.replace(at)
    f.turn(6)
    assert serving(f.west, f.job) == [0, 1, 2]
    scale(f.west, f.job, 12)
    f.turn(6)
    assert serving(f.west, f.job) == list(range(12))


def test_what_waits_elsewhere_comes_back_when_it_is_not_wanted() -> None:
    f = Spread()
    scale(f.west, f.job, 40)
    f.turn(4)
    assert len(tasks_of(f.west, f.job)) == 16
    scale(f.west, f.job, 14)
    f.turn(8)
    assert serving(f.west, f.job) == list(range(14))
    assert all(ask.target <= ask.taken for ask in f.west.rows.asks.values())
    assert f.west.group(f.job).reason is None
