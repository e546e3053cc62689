"""Several sub-clusters of one federation, their queues' limits, and what the StateStore counts."""

import copy
from typing import Any

from django.conf import settings

from controlplane.accounts.models import User
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.models import AdmissionCount
from tests.integration.rm.cluster import Cluster, Leading, Nodes

OPEN = {"open_to_all": True}
SECOND = 1.1


def states(cluster: Cluster, *jobs: int) -> list[int]:
    """0 waits, 1 was admitted, 2 runs."""
    return [cluster.job(j).state for j in jobs]


def begun(cluster: Cluster, *jobs: int) -> list[bool]:
    return [state > 0 for state in states(cluster, *jobs)]


def small(cluster: Cluster, queue: str, user: User | None = None, **more: Any) -> int:
    cluster.actor = Actor((user or cluster.user).pk)
    return cluster.submit({"resources": {"memory_mib": 64, "vcores_milli": 10}}, queue=queue, **more)


def leading(cluster: Cluster, ahead_s: float = 0.0) -> Leading:
    leader = cluster.lead()
    leader.clock.ahead_s = ahead_s
    for _ in range(2):
        cluster.nodes.step()
        leader.round()
    return leader


def another(cluster: Cluster, name: str = "east") -> Cluster:
    """A second sub-cluster of the same federation."""
    other = copy.copy(cluster)
    other.sub = subclusters.create(SYSTEM, name)
    other.nodes = Nodes(settings.REDIS_URL, other.sub.pk, {}, 1e6)
    other.ids = [other.add_node(f"{name}{i}") for i in range(2)]
    return other


def written(cluster: Cluster) -> dict[tuple[str, int, int], int]:
    return {(c.queue, c.owner, c.sub_cluster_id): c.running for c in AdmissionCount.objects.all()}
