"""Two sub-clusters of one federation behind the same ports: over Postgres and Redis, and in memory."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import redis
from django.conf import settings

from controlplane.rm.changes import TRANSITION
from controlplane.statestore import shares
from controlplane.statestore.models import MasterAsk, SubCluster
from controlplane.statestore.packed import Table
from controlplane.statestore.shares import Assignment
from tests.doubles import MemoryCluster
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import another
from wire import keys

Logged = tuple[int, int, np.ndarray]  # number of the first transition and of the last, and all of them


class Behind(ABC):
    """What a test does to what is behind the ports, as others than leaders would. west, east: clusters of two nodes."""

    west: Any
    east: Any

    @abstractmethod
    def replace(self, cluster: Any) -> None:
        """Somebody else leads from now on, and the session of who did is still there."""

    @abstractmethod
    def drain(self, cluster: Any) -> None:
        """The sub-cluster is to be emptied, whenever that is done."""

    @abstractmethod
    def log(self, cluster: Any) -> list[Logged]: ...

    @abstractmethod
    def assign(self, cluster: Any, version: int, tables: Mapping[str, Table]) -> None:
        """Write its shares, as the GPG does."""

    @abstractmethod
    def want(self, job: int, number: int, target: int) -> None:
        """The job's application master asks for containers."""

    @abstractmethod
    def tell(self, cluster: Any, node: int, status: bytes) -> None:
        """A node puts its status, with a hint."""

    @abstractmethod
    def document(self, cluster: Any, node: int) -> bytes | None: ...

    @abstractmethod
    def templates(self, cluster: Any) -> int:
        """How many Redis holds for the sub-cluster."""

    @abstractmethod
    def fill(self, full: bool) -> None:
        """Redis answers, and takes no writes; or it takes them again."""

    @abstractmethod
    def flush(self, cluster: Any) -> None:
        """Redis loses what it knows of the sub-cluster."""


class Real(Behind):
    def __init__(self, cluster: Cluster):
        self.west, self.east = cluster, another(cluster)
        self.east.leaders = cluster.leaders
        self.redis = redis.Redis.from_url(settings.REDIS_URL)
        self.room = self.redis.config_get("maxmemory")["maxmemory"]  # type: ignore[index]

    def replace(self, cluster: Cluster) -> None:
        sql = "UPDATE statestore_lease SET epoch = epoch + 1 WHERE sub_cluster_id = {} RETURNING 1"
        cluster.rows(sql.format(cluster.sub.pk))

    def drain(self, cluster: Cluster) -> None:
        SubCluster.objects.filter(pk=cluster.sub.pk).update(state="draining")

    def log(self, cluster: Cluster) -> list[Logged]:
        sql = "SELECT first_seq, last_seq, transitions FROM statestore_round WHERE sub_cluster_id = {} ORDER BY 1"
        rows = cluster.rows(sql.format(cluster.sub.pk))
        return [(first, last, np.frombuffer(bytes(packed), TRANSITION)) for first, last, packed in rows]

    def assign(self, cluster: Cluster, version: int, tables: Mapping[str, Table]) -> None:
        shares.put(cluster.leaders[-1].leadership.connection, 1, version, 1, {cluster.sub.pk: tables})

    def want(self, job: int, number: int, target: int) -> None:
        MasterAsk.objects.create(job_id=job, no=number, name=f"ask-{number}", spec={"count": target}, target=target)

    def tell(self, cluster: Cluster, node: int, status: bytes) -> None:
        self.redis.set(keys.status(cluster.sub.pk, node), status)
        self.redis.zadd(keys.dirty(cluster.sub.pk), {str(node): 0})

    def document(self, cluster: Cluster, node: int) -> bytes | None:
        found: bytes | None = self.redis.get(keys.desired(cluster.sub.pk, node))  # type: ignore[assignment]
        return found

    def templates(self, cluster: Cluster) -> int:
        return len(list(self.redis.scan_iter(keys.template(cluster.sub.pk, "*"))))

    def fill(self, full: bool) -> None:
        self.redis.config_set("maxmemory", "1" if full else self.room)

    def flush(self, cluster: Cluster) -> None:
        self.redis.delete(keys.leader_epoch(cluster.sub.pk))


class InMemory(Behind):
    def __init__(self) -> None:
        self.west = MemoryCluster()
        self.east = MemoryCluster(self.west, "east")

    def replace(self, cluster: MemoryCluster) -> None:
        cluster.sub.lease.epoch += 1

    def drain(self, cluster: MemoryCluster) -> None:
        cluster.sub.state = "draining"

    def log(self, cluster: MemoryCluster) -> list[Logged]:
        return [(each.first, each.last, each.transitions) for each in cluster.sub.log]

    def assign(self, cluster: MemoryCluster, version: int, tables: Mapping[str, Table]) -> None:
        cluster.sub.shares = Assignment(version, cluster.clock.now_us(), 1, tables)

    def want(self, job: int, number: int, target: int) -> None:
        self.west.rows.masters.asks[job, number] = {"count": target}, target

    def tell(self, cluster: MemoryCluster, node: int, status: bytes) -> None:
        self.west.redis[cluster.sub.id].report({node: status})

    def document(self, cluster: MemoryCluster, node: int) -> bytes | None:
        return self.west.redis[cluster.sub.id].documents.get(node)

    def templates(self, cluster: MemoryCluster) -> int:
        return len(self.west.redis[cluster.sub.id].templates)

    def fill(self, full: bool) -> None:
        for each in self.west.redis.values():
            each.full = full

    def flush(self, cluster: MemoryCluster) -> None:
        self.west.redis[cluster.sub.id].flush()
