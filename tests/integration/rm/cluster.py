"""The RM's real parts over real stores, stepped by hand, so that every moment can be chosen."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.db import connection

from contract import jobspec
from controlplane.accounts.models import User
from controlplane.policy import versions
from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.adapters.clock import DatabaseClock
from controlplane.rm.adapters.store import PostgresStore
from controlplane.rm.steps.publish import Signer
from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.actions.jobs import NewGroup, NewJob
from controlplane.statestore.membership import Leadership, take
from controlplane.statestore.models import Container, ContainerHistory, Job, JobEvent, Node, TaskGroup
from simulator.hollow import HollowNodes
from tests.stepped import Live, Stepped, SteppedCluster, SteppedLeader
from wire.nodeapi import Register
from wire.states import ContainerReason

LEASE_S = 60.0
FOR_EVER_S = 1e6


class Clock(DatabaseClock):
    """Stands at the database's time, as it was when it was made; a test moves it on: ``ahead_s``, in seconds."""

    def __init__(self, ask: Callable[[], int]):
        super().__init__(ask)
        self.ahead_s = 0.0
        self.catch_up()

    def catch_up(self) -> None:
        """Stand at the moment of this call, and what it is ahead."""
        self._stands_us, self._stands = super().now_us(), super().monotonic()

    def stand_at(self, seconds: float) -> None:
        """Stand at this moment of the database's time."""
        self.ahead_s = seconds - self._stands_us / 1e6

    def now_us(self) -> int:
        return self._stands_us + int(self.ahead_s * 1e6)

    def monotonic(self) -> float:
        return self._stands + self.ahead_s


class Nodes(HollowNodes, Stepped):
    """Hollow nodes that move when told to."""

    def step(self, *cut: int) -> None:
        ids = set(self.nodes) - set(cut)
        self._report(self._read_documents(ids), ids)

    def known(self) -> Iterable[int]:
        return self.nodes

    def row_of(self, node_id: int) -> int:
        return self.nodes[node_id].row


class Leading(SteppedLeader):
    """One leader over Postgres and Redis."""

    store: PostgresStore
    bus: RedisBus
    clock: Clock

    def __init__(self, leadership: Leadership):
        self.leadership, self.restored = leadership, 0
        sub, store = leadership.sub_cluster_id, PostgresStore(leadership, LEASE_S)
        bus = RedisBus(settings.REDIS_URL, sub, leadership.epoch, self._restore)
        signer = Signer(node_actions.lease_master(), settings.HYDRA["lease_key_id"])
        super().__init__(sub, store, bus, Clock(store.now_us), signer)

    def _restore(self) -> None:
        self.restored += 1

    def close(self) -> None:
        self.bus.close()
        self.leadership.release()


class Cluster(SteppedCluster[Leading]):
    """A sub-cluster of two nodes. Leaders are made with ``lead``."""

    def __init__(self) -> None:
        self.user = User.objects.create(username="tenant")
        self.actor = Actor(self.user.pk)
        self.sub = subclusters.create(SYSTEM, "west")
        self.leaders: list[Leading] = []
        self.policy({"default": {"guaranteed": 1.0, "open_to_all": True}})
        self.nodes = Nodes(settings.REDIS_URL, self.sub.pk, {}, FOR_EVER_S)
        self.ids = [self.add_node(f"n{i}") for i in range(2)]

    def close(self) -> None:
        for leading in self.leaders:
            leading.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def one(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def policy(self, queues: dict[str, Any], partitions: dict[str, Any] | None = None, **components: Any) -> None:
        document = {"queues": queues, "partitions": partitions or {}, "components": components}
        versions.publish(SYSTEM, document, "test", force=True)

    def add_node(self, name: str, rack: str = "r", **more: Any) -> int:
        """Register a node (or the same again) and play it from now on; its id."""
        values = {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 2, "labels": {"name": name}} | more
        (session,) = node_actions.bulk_register(self.sub, [Register("", name, rack, **values)])
        lease_keys = {int(k): bytes.fromhex(v) for k, v in session.lease_keys.items()}
        self.nodes.add({session.node_id: lease_keys})
        return session.node_id

    def decommission(self, node_id: int) -> None:
        node_actions.decommission(SYSTEM, Node.objects.get(pk=node_id))

    def lead(self) -> Leading:
        leadership = take(self.sub.pk, f"worker-{len(self.leaders)}", LEASE_S)
        assert leadership is not None
        self.leaders.append(Leading(leadership))
        return self.leaders[-1]

    def expire(self) -> None:
        """The lease runs out, as it does for a leader that has stopped."""
        self.rows("UPDATE statestore_lease SET expires_at = clock_timestamp() - interval '1 s' RETURNING 1")

    def store(self, *specs: jobspec.JobSpec) -> list[int]:
        new = [_new_job(s, self.sub.pk) for s in specs]
        ids: list[int] = job_actions.submit(self.actor, new, lambda ids, _: {"ids": ids})["ids"]
        return ids

    def state(self, job_id: int) -> int:
        return self.job(job_id).state

    def live(self, job_id: int) -> list[Live]:
        rows = Container.objects.filter(job_id=job_id).order_by("id")
        names = dict(Node.objects.values_list("id", "name"))
        return [
            Live(c.id, names[c.node_id], c.group_no, c.state, (c.memory_mib, c.vcores_milli, c.gpus.bit_count()))
            for c in rows
        ]

    def group(self, job_id: int, no: int = 0) -> TaskGroup:
        return TaskGroup.objects.get(job_id=job_id, no=no)

    def events(self, job_id: int, kind: str = "preemption") -> list[str]:
        rows = JobEvent.objects.filter(job_id=job_id, kind=kind).order_by("id")
        return list(rows.values_list("message", flat=True))

    def reasons(self, job_id: int) -> Counter[str]:
        found = ContainerHistory.objects.filter(job_id=job_id).values_list("reason", flat=True)
        return Counter(ContainerReason(reason).name for reason in found)

    def job(self, job_id: int) -> Job:
        return Job.objects.get(pk=job_id)

    def kill(self, job_id: int, message: str = "stop") -> None:
        job_actions.kill(self.actor, self.job(job_id), message)


def _new_job(s: jobspec.JobSpec, home: int) -> NewJob:
    groups = []
    for g in s.groups:
        groups.append(NewGroup(g.name, g.count, g.resources.amounts, False, bool(g.after)))
    return NewJob(s.name, s.kind, s.queue, s.priority or 0, "[]", s.model_dump_json(), home, tuple(groups))
