"""Jobs that move to another queue: what they hold, the limits there, and whoever leads."""

import numpy as np

from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.models import JobEvent
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, Federation, another, begun, leading, small, states, written
from tests.stepped import memory_state

QUEUES = {"default": OPEN, "one": OPEN | {"max_running_jobs": 1}, "two": OPEN | {"max_running_jobs": 2}}


def move(cluster: Cluster, job: int, queue: str) -> None:
    job_actions.move(cluster.actor, cluster.job(job), queue)


def told(job: int, kind: str) -> list[str]:
    return list(JobEvent.objects.filter(job_id=job, kind=kind).values_list("message", flat=True))


def held(leader: Leading, queue: str) -> list[int]:
    """What the queue itself holds, as the leader's ledger has it."""
    m = leader.memory
    found: list[int] = m.ledger.queues[:, m.queues.index[queue]].sum(axis=0).tolist()
    return found


def test_what_runs_is_counted_in_the_other_queue(cluster: Cluster) -> None:
    cluster.policy(QUEUES)
    leader = leading(cluster)
    job = cluster.submit({"count": 3}, queue="root.default")
    leader.round()
    before = held(leader, "root.default")
    assert any(before)
    move(cluster, job, "root.one")
    leader.round()
    assert (held(leader, "root.default"), held(leader, "root.one")) == ([0] * len(before), before)
    assert cluster.job(job).queue == "root.one"
    assert told(job, "moved") == ["from root.default to root.one"]
    assert written(cluster) == {("root.one", 0, cluster.sub.pk): 1}
    users = leader.memory.ledger.users.held.sum(axis=(0, 1))
    assert np.array_equal(users, np.array(before)), "the user's holdings moved, too"
    cluster.play(leader, job)
    assert written(cluster) == {} and not any(held(leader, "root.one"))


def test_a_full_queue_takes_no_admitted_job(cluster: Cluster) -> None:
    cluster.policy(QUEUES)
    leader = leading(cluster)
    inside, outside = small(cluster, "root.one"), small(cluster, "root.two")
    leader.round()
    move(cluster, outside, "root.one")
    leader.round()
    assert cluster.job(outside).queue == "root.two"
    assert told(outside, "not_moved") == ["it stays in root.two: root.one runs 1 of at most 1 jobs"]
    assert written(cluster) == {("root.one", 0, cluster.sub.pk): 1, ("root.two", 0, cluster.sub.pk): 1}
    cluster.play(leader, inside, outside)
    assert written(cluster) == {}


def test_the_limit_is_that_of_the_whole_federation(cluster: Cluster) -> None:
    east = another(cluster)
    cluster.policy(QUEUES)
    west_leader, east_leader = leading(cluster), leading(east)
    there = small(east, "root.one")
    east_leader.round()
    here = small(cluster, "root.default")
    west_leader.round()
    move(cluster, here, "root.one")
    west_leader.round()
    assert cluster.job(here).queue == "root.default"
    assert told(here, "not_moved")
    east.play(east_leader, there)
    move(cluster, here, "root.one")
    west_leader.round()
    assert cluster.job(here).queue == "root.one"
    cluster.play(west_leader, here)
    assert written(cluster) == {}


def test_a_job_that_waits_goes_on_waiting_in_the_other_line(cluster: Cluster) -> None:
    cluster.policy(QUEUES)
    leader = leading(cluster)
    first, second, third = (small(cluster, "root.one") for _ in range(3))
    leader.round()
    assert begun(cluster, first, second, third) == [True, False, False]
    move(cluster, second, "root.two")
    move(cluster, third, "root.default")
    leader.round()
    assert begun(cluster, second, third) == [True, True]
    assert written(cluster) == {("root.one", 0, cluster.sub.pk): 1, ("root.two", 0, cluster.sub.pk): 1}
    cluster.play(leader, first, second, third)


def test_queues_that_take_nothing(cluster: Cluster) -> None:
    cluster.policy(QUEUES | {"shut": OPEN | {"stopped": True}})
    leader = leading(cluster)
    job = small(cluster, "root.default")
    leader.round()
    for queue in ("root.shut", "root.gone", "root"):
        move(cluster, job, queue)
        leader.round()
    assert [text.rpartition(": ")[2] for text in told(job, "not_moved")] == [
        "root.shut is stopped and takes no new jobs",
        "there is no queue root.gone that takes jobs",
        "there is no queue root that takes jobs",
    ]
    assert cluster.job(job).queue == "root.default"
    cluster.play(leader, job)


def test_a_successor_knows_the_same(cluster: Cluster) -> None:
    cluster.policy(QUEUES)
    leader = leading(cluster)
    job = cluster.submit({"count": 3}, queue="root.default")
    leader.round()
    cluster.nodes.step()
    move(cluster, job, "root.two")
    move(cluster, job, "root.two")  # asked for twice
    leader.round()
    assert memory_state(leader.rebuilt()) == memory_state(leader.memory)
    leader.close()
    new = leading(cluster)
    assert states(cluster, job) == [2] and len(told(job, "moved")) == 1
    cluster.play(new, job)
    assert written(cluster) == {}


def test_the_guests_of_a_job_move_with_it(cluster: Cluster) -> None:
    federation = Federation(cluster)
    cluster.policy(QUEUES, amrmproxy={"policy": "locality", "parameters": {"relax_after_s": 1.0, "interval_s": 0.1}})
    federation.rounds()
    job = cluster.submit({"count": 40}, queue="root.default")
    federation.rounds(12)
    assert all(federation.live()), "it runs in all three"
    move(cluster, job, "root.two")
    federation.rounds(3)
    for leader in federation.leaders:
        assert leader is not None
        assert leader.memory.jobs[job].queue == "root.two"
        assert not any(held(leader, "root.default")) and any(held(leader, "root.two"))
    federation.finish(job)
