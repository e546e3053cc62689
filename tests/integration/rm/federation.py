"""Several sub-clusters of one federation, their queues' limits, and what the StateStore counts."""

import copy
from typing import Any

from django.conf import settings

from controlplane.accounts.models import User
from controlplane.rm.driver.load import own_load
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.models import AdmissionCount
from tests.integration.rm.cluster import Cluster, Leading, Nodes
from wire.states import JobState

OPEN = {"open_to_all": True}
SMALL = {"resources": {"memory_mib": 512, "vcores_milli": 500}}
FAST = {"relax_after_s": 2.0, "interval_s": 0.1}
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


class Federation:
    """West, east and south, of two nodes each that hold 16 small tasks together."""

    def __init__(self, cluster: Cluster, pace_s: float | None = 0.6):
        """pace_s: by how much clocks are put on before each round; None: to the moment that it is."""
        self.west, self.pace_s = cluster, pace_s
        self.clusters = [cluster, another(cluster), another(cluster, "south")]
        self.leaders: list[Leading | None] = [c.lead() for c in self.clusters]
        self.rounds(2)

    def proxy(self, policy: str = "locality", **parameters: Any) -> None:
        half = {"policy": policy, "parameters": {} if policy == "home" else FAST | parameters}
        self.west.policy({"default": {"guaranteed": 1.0, "open_to_all": True}}, amrmproxy=half)
        self.rounds()

    def rounds(self, n: int = 1, ahead_s: float | None = None) -> None:
        for _ in range(n):
            for at, leader in enumerate(self.leaders):
                if leader is not None:
                    self.one_round(at, ahead_s)

    def one_round(self, at: int, ahead_s: float | None = None) -> None:
        leader, cluster = self.leaders[at], self.clusters[at]
        assert leader is not None
        if (pace_s := self.pace_s if ahead_s is None else ahead_s) is None:
            leader.clock.catch_up()
        else:
            leader.clock.ahead_s += pace_s
        cluster.nodes.step()
        leader.round()
        leader.store.put_load(own_load(leader.memory, cluster.sub.pk))

    def stop(self, at: int) -> None:
        """That sub-cluster is led by nobody any more."""
        leader = self.leaders[at]
        assert leader is not None
        leader.close()
        self.leaders[at] = None

    def lead(self, at: int) -> None:
        """Somebody leads it again, at the others' time."""
        leader = self.leaders[at] = self.clusters[at].lead()
        leader.clock.stand_at(max(other.clock.now_us() for other in self.leaders if other is not None) / 1e6)

    def live(self) -> list[int]:
        """Live containers of west, east and south."""
        found = dict(self.west.rows("SELECT sub_cluster_id, count(*) FROM statestore_container GROUP BY 1"))
        return [found.get(c.sub.pk, 0) for c in self.clusters]

    def waiting(self) -> int:
        """Tasks handed over that wait elsewhere."""
        return int(self.west.one("SELECT coalesce(sum(least(target, wish) - taken), 0) FROM statestore_ask"))

    def finish(self, *jobs: int, rounds: int = 60) -> None:
        for _ in range(rounds):
            self.rounds()
            if all(self.west.job(job).state >= JobState.SUCCEEDED for job in jobs):
                break
            for cluster in self.clusters:
                cluster.nodes.finish()
        assert [self.west.job(job).state for job in jobs] == [JobState.SUCCEEDED] * len(jobs)
