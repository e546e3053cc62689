"""Steps and questions that tests of scheduling share."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from controlplane.statestore.models import Container, ContainerHistory, JobEvent, Node
from tests import invariants
from tests.integration.rm.cluster import Cluster, Leading
from wire.states import ContainerReason, ContainerState

ONE_GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}}
OPEN = {"open_to_all": True}


def sized(gib: int, **more: Any) -> dict[str, Any]:
    """A group of containers of so many GiB and cores each."""
    return {"resources": {"memory_mib": 1024 * gib, "vcores_milli": 1000 * gib}} | more


def ready(cluster: Cluster) -> Leading:
    """A leader whose nodes have all reported."""
    leader = cluster.lead()
    turn(cluster, leader)
    return leader


def turn(cluster: Cluster, leader: Leading, times: int = 1, seconds: float = 1.0) -> None:
    """Time passes, the leader decides, the nodes obey, the leader hears of it; so many times."""
    for _ in range(times):
        leader.clock.ahead_s += seconds
        leader.round()
        cluster.nodes.step()
        leader.round()


def running(cluster: Cluster, leader: Leading, *groups: dict[str, Any], **job: Any) -> int:
    """A job all of whose containers run."""
    number = cluster.submit(*groups, **job)
    turn(cluster, leader)
    states = list(Container.objects.filter(job_id=number).values_list("state", flat=True))
    assert states == [ContainerState.RUNNING] * sum(g.get("count", 1) for g in groups)
    return number


def held(*jobs: int) -> list[int]:
    """How many containers each job has now."""
    return [Container.objects.filter(job_id=job).count() for job in jobs]


def where(job: int) -> Counter[str]:
    """How many of its containers each node has."""
    names = dict(Node.objects.values_list("id", "name"))
    return Counter(names[n] for n in Container.objects.filter(job_id=job).values_list("node_id", flat=True))


def finish(cluster: Cluster, leader: Leading, job: int, count: int | None = None) -> None:
    """So many of the job's running containers succeed, all unless said otherwise."""
    ids = list(Container.objects.filter(job_id=job).order_by("id").values_list("id", flat=True))[:count]
    assert cluster.nodes.finish(ids=set(ids)) == len(ids)
    cluster.nodes.step()
    leader.round()


def events(job: int, kind: str = "preemption") -> list[str]:
    return list(JobEvent.objects.filter(job_id=job, kind=kind).order_by("id").values_list("message", flat=True))


def reasons(job: int) -> Counter[str]:
    """How its containers ended."""
    found = ContainerHistory.objects.filter(job_id=job).values_list("reason", flat=True)
    return Counter(ContainerReason(r).name for r in found)


def marks(leader: Leading) -> int:
    """How many containers the leader remembers as warned or told to make way."""
    m = leader.memory
    return len(m.warned) + len(m.preempted)


def counted_wrong(cluster: Cluster, leader: Leading) -> list[str]:
    """Where usage as the leader counts it is not the sum of the containers, by queue, user, job and partition."""
    m = leader.memory
    wrong = invariants.queue_usage(cluster.rows, cluster.sub.pk, leader.summary()["queues"])
    ledger = m.ledger
    for name, table in (("queues", ledger.queues), ("users", ledger.users), ("jobs", ledger.jobs)):
        expected = table * 0
        for job, group in _groups(leader):
            row = {"queues": job.queue_row, "users": job.user_row, "jobs": job.row}[name]
            expected[group.partition, row] += group.shape * held_by(job.id, group.run.no)
        if (expected != table).any():
            wrong.append(f"{name}: {table.tolist()} instead of {expected.tolist()}")
    return wrong


def held_by(job: int, group: int) -> int:
    return Container.objects.filter(job_id=job, group_no=group).count()


def _groups(leader: Leading) -> Iterator[tuple[Any, Any]]:
    for job in leader.memory.jobs.values():
        for group in job.groups:
            yield job, group
