"""Steps and questions that tests of scheduling share."""

from collections.abc import Iterator
from typing import Any, TypeVar

from tests import invariants
from tests.stepped import Live, SteppedCluster, SteppedLeader
from wire.states import ContainerState, terminal

Cluster = SteppedCluster[Any]
Leader = TypeVar("Leader", bound=SteppedLeader)
GRACE_S = 15.0

ONE_GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}}
OPEN = {"open_to_all": True}


def sized(gib: int, **more: Any) -> dict[str, Any]:
    """A group of containers of so many GiB and cores each."""
    return {"resources": {"memory_mib": 1024 * gib, "vcores_milli": 1000 * gib}} | more


def ready(cluster: Cluster) -> Leader:
    """A leader whose nodes have all reported."""
    leader = cluster.lead()
    turn(cluster, leader)
    return leader


def turn(cluster: Cluster, leader: Leader, times: int = 1, seconds: float = 1.0) -> None:
    """Time passes, the leader decides, the nodes obey, the leader hears of it; so many times."""
    for _ in range(times):
        leader.clock.ahead_s += seconds
        leader.round()
        cluster.nodes.step()
        leader.round()


def running(cluster: Cluster, leader: Leader, *groups: dict[str, Any], **job: Any) -> int:
    """A job all of whose containers run."""
    number = cluster.submit(*groups, **job)
    turn(cluster, leader)
    states = [container.state for container in cluster.live(number)]
    assert states == [ContainerState.RUNNING] * sum(g.get("count", 1) for g in groups)
    return number


def finish(cluster: Cluster, leader: Leader, job: int, count: int | None = None) -> None:
    """So many of the job's running containers succeed, all unless said otherwise."""
    ids = {container.id for container in cluster.live(job)[:count]}
    assert cluster.nodes.finish(ids=ids) == len(ids)
    cluster.nodes.step()
    leader.round()


def marks(leader: Leader) -> int:
    """How many containers the leader remembers as warned or told to make way."""
    m = leader.memory
    return len(m.warned) + len(m.preempted)


def counted_wrong(cluster: Cluster, leader: Leader) -> list[str]:
    """Where usage as the leader counts it is not the sum of the containers, by queue, user, job and partition."""
    m = leader.memory
    live = {job.id: cluster.live(job.id) for job in m.jobs.values()}
    wrong = invariants.usage_told(_used(leader, live), leader.summary().queues)
    ledger = m.ledger
    for name, table in (("queues", ledger.queues), ("users", ledger.users.held), ("jobs", ledger.jobs.held)):
        expected = table * 0
        for job, group in _groups(leader):
            row = {"queues": job.queue_row, "users": job.user_row, "jobs": job.row}[name]
            count = sum(container.group == group.run.no for container in live[job.id])
            expected[group.partition, row] += group.shape * count
        if (expected != table).any():
            wrong.append(f"{name}: {table.tolist()} instead of {expected.tolist()}")
    return wrong


def _used(leader: Leader, live: dict[int, list[Live]]) -> list[tuple[Any, ...]]:
    """Per live container its queue and amounts."""
    jobs = leader.memory.jobs
    return [(jobs[job].queue, *container.amounts) for job, found in live.items() for container in found]


def _groups(leader: Leader) -> Iterator[tuple[Any, Any]]:
    for job in leader.memory.jobs.values():
        for group in job.groups:
            yield job, group


def taking(**parameters: Any) -> dict[str, Any]:
    """Preemption that takes all that is owed at once, after its grace."""
    chosen = {"interval_s": 1.0, "grace_s": GRACE_S, "per_round": 1.0, "dead_zone": 0.0} | parameters
    return {"preemption": {"policy": "owed", "parameters": chosen}}


def give_up(cluster: Cluster, leader: Leader, *jobs: int) -> None:
    """Kill what has not ended of these jobs, and see all of them end."""
    for job in jobs:
        if not terminal(cluster.state(job)):
            cluster.kill(job)
    cluster.play(leader, *jobs)
