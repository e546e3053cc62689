"""Gang admission control: jobs wait until the quota of their queue in the whole federation has room for them."""

import pytest

from controlplane.rm.memory.quota import demand
from controlplane.statestore.models import TaskGroup
from tests.amounts import R, amounts
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import OPEN, SECOND, another, begun, leading, written

GAC = {"admission": {"policy": "gac"}, "amrmproxy": {"policy": "home"}}
GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 100}}


def _policy(cluster: Cluster, quota: str = "guaranteed") -> None:
    """16 GiB in two sub-clusters; half of them is root.a's."""
    queues = {"a": {"guaranteed": 0.5, "maximum": 0.75, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}}
    cluster.policy(queues, None, **GAC | {"admission": {"policy": "gac", "parameters": {"quota": quota}}})


def _submit(cluster: Cluster, count: int, queue: str = "root.a", **group: object) -> int:
    return cluster.submit(GIB | {"count": count} | group, queue=queue)


def test_a_job_waits_for_quota_that_jobs_elsewhere_hold(cluster: Cluster) -> None:
    other = another(cluster)
    _policy(cluster)
    west, east = leading(cluster), leading(other)
    first = _submit(cluster, 5, gang=True)
    west.round()
    second = _submit(other, 4, gang=True)  # 5 + 4 > 8
    third = _submit(other, 3, parallelism=3)
    east.round()
    assert begun(cluster, first, second, third) == [True, False, True]
    told = TaskGroup.objects.get(job_id=second).reason
    assert told["limits"][0]["limit"] == "quota" and told["limits"][0]["most"] == 8192
    assert told["text"] == (
        "It needs 4,096 MiB of memory of the quota of root.a, of which 8,192 of 8,192 MiB of memory are held in all"
        " sub-clusters."
    )
    rows = written(cluster)
    assert rows["root.a#", -1, cluster.sub.pk] == 5 * 1024 and rows["root.a#", -1, other.sub.pk] == 3 * 1024
    cluster.play(west, first)
    east.clock.ahead_s += SECOND
    east.round()
    assert begun(cluster, second) == [True]
    other.play(east, second, third)
    west.round()
    assert not {key: n for key, n in written(cluster).items() if n}


def test_homes_that_ask_together_do_not_take_more_than_there_is(cluster: Cluster) -> None:
    other = another(cluster)
    _policy(cluster)
    west, east = leading(cluster), leading(other)
    jobs = [_submit(c, 2, gang=True) for _ in range(4) for c in (cluster, other)]
    for _ in range(3):
        west.round()
        east.round()
        held = sum(n for (queue, owner, _), n in written(cluster).items() if (queue, owner) == ("root.a#", -1))
        assert held <= 8192
    assert sum(begun(cluster, *jobs)) == 4


def test_what_declares_nothing_is_not_kept(cluster: Cluster) -> None:
    _policy(cluster)
    leader = leading(cluster)
    plain = _submit(cluster, 30)
    never = _submit(cluster, 9, gang=True)
    leader.round()
    assert begun(cluster, plain, never) == [True, False]
    text = TaskGroup.objects.get(job_id=never).reason["text"]
    assert "in all sub-clusters" in text or "at once" in text
    cluster.kill(never)


@pytest.mark.parametrize(("quota", "jobs"), [("guaranteed", 2), ("maximum", 3)])
def test_the_quota_is_what_the_policy_says(cluster: Cluster, quota: str, jobs: int) -> None:
    _policy(cluster, quota)
    leader = leading(cluster)
    submitted = [_submit(cluster, 2, parallelism=2) for _ in range(4)]
    leader.round()
    assert sum(begun(cluster, *submitted)) == jobs


def test_a_sub_cluster_that_has_not_counted_yet_is_counted_by_its_jobs(cluster: Cluster) -> None:
    other = another(cluster)
    cluster.policy({"a": {"guaranteed": 0.5, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}})
    west, east = leading(cluster), leading(other)
    early = _submit(other, 6, parallelism=6)
    east.round()
    assert begun(cluster, early) == [True]
    _policy(cluster)  # which east does not know of yet
    job = _submit(cluster, 4, gang=True)
    for _ in range(2):
        west.round()
    assert begun(cluster, job) == [False]
    east.round()
    other.play(east, early)
    west.clock.ahead_s += SECOND
    west.round()
    assert begun(cluster, job) == [True]


def test_a_successor_counts_what_is_held(cluster: Cluster) -> None:
    _policy(cluster)
    leader = leading(cluster)
    first, second = _submit(cluster, 3, gang=True), _submit(cluster, 2, parallelism=2)
    leader.round()
    assert begun(cluster, first, second) == [True, False]  # half of one sub-cluster's 8 GiB
    cluster.expire()
    successor = leading(cluster)
    (job, _) = successor.memory.jobs.values()
    assert demand(job, R, quota=True).tolist() == [*amounts(3 * 1024, 300)]
    assert begun(cluster, first, second) == [True, False]
    cluster.play(successor, first)
    successor.clock.ahead_s += SECOND
    successor.round()
    assert begun(cluster, second) == [True]
