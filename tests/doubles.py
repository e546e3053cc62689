"""A sub-cluster in memory: the RM's real parts over the simulator's Store, Bus and Clock, and stepped nodes."""

from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from contract import jobspec
from controlplane.rm.changes import Changes
from simulator.bus import NoSigner, SimulatedBus, SimulatedRedis, read
from simulator.clock import VirtualClock, moment
from simulator.rows import Federation
from simulator.simulatednodes import SimulatedNodes
from simulator.specs import node_row
from simulator.store import SimulatedStore
from simulator.workload import Machine
from tests.stepped import Live, Stepped, SteppedCluster, SteppedLeader
from wire.resources import AXES
from wire.states import ContainerReason

_RUN_S = 1e6  # until somebody ends it


class MemoryClock(VirtualClock):
    """Everybody's: who puts a leader's ahead puts it ahead for all."""

    @property
    def ahead_s(self) -> float:
        return self.now

    @ahead_s.setter
    def ahead_s(self, seconds: float) -> None:
        self.now = seconds

    def catch_up(self) -> None:
        """It is never behind."""


class MemoryNodes(SimulatedNodes, Stepped):
    """Simulated nodes that read and write one sub-cluster's ``SimulatedRedis``."""

    def __init__(self, redis: SimulatedRedis, clock: VirtualClock):
        super().__init__()
        self.redis, self.clock = redis, clock
        self.rows: dict[int, int] = {}
        self.run_s = _RUN_S

    def known(self) -> Iterable[int]:
        return self.rows

    def row_of(self, node_id: int) -> int:
        return self.rows[node_id]

    def add(self, node_id: int) -> None:
        """Play this node too, or again from its start."""
        self.rows.setdefault(node_id, len(self.rows))
        self.set_nodes(list(self.rows))
        self.restart(np.array([self.rows[node_id]]), self.clock.now_us())

    def step(self, *cut: int) -> None:
        ids = [node for node in self.rows if node not in cut]
        told = [(self.rows[node], body) for node in ids if (body := self.redis.documents.get(node)) is not None]
        if told:
            self._apply_documents([body for _, body in told], np.array([row for row, _ in told], np.int64))
        rows = np.array([self.rows[node] for node in ids], np.int64)
        self.redis.report(dict(zip(ids, self.statuses(rows, self.clock.now), strict=True)))

    def _apply_documents(self, bodies: list[bytes], rows: np.ndarray) -> None:
        found = read(bodies, rows)
        newer = np.flatnonzero(self.newer(rows, found.numbers[:, 0], found.numbers[:, 1]))
        if len(newer):
            fresh = read([bodies[at] for at in newer.tolist()], rows[newer])
            self.apply(fresh, self._runs, self.clock.now, self.clock.wall_s)

    def _runs(self, leases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(leases), self.run_s), np.zeros(len(leases), np.int32)


class MemoryLeader(SteppedLeader):
    """One leader over the simulator's rows and Redis."""

    store: SimulatedStore
    bus: SimulatedBus
    clock: MemoryClock


class MemoryCluster(SteppedCluster[MemoryLeader]):
    """Two nodes of 4 GiB and four cores, one queue without limits; another of the same federation by ``beside``."""

    def __init__(self, beside: "MemoryCluster | None" = None, name: str = "west"):
        if beside is None:
            self.clock = MemoryClock()
            self.rows, self.redis = Federation(self.clock, keep_ended=True), dict[int, SimulatedRedis]()
        else:
            self.clock, self.rows, self.redis = beside.clock, beside.rows, beside.redis
        self.sub = self.rows.add_sub_cluster(len(self.rows.subs) + 1, name)
        self.redis[self.sub.id] = SimulatedRedis(self.sub.id)
        self.users, self.owner, self.changes = {"tenant": 1}, 1, list[Changes]()
        if beside is None:
            self.policy({"default": {"guaranteed": 1.0, "open_to_all": True}})
        self.nodes: MemoryNodes = MemoryNodes(self.redis[self.sub.id], self.clock)
        self.ids = [self.add_node(f"{name}{i}" if beside else f"n{i}") for i in range(2)]

    def policy(self, queues: dict[str, Any], partitions: dict[str, Any] | None = None, **components: Any) -> None:
        self.rows.publish({"queues": queues, "partitions": partitions or {}, "components": components})

    def become(self, username: str) -> None:
        """Submit as somebody else from now on."""
        self.owner = self.users.setdefault(username, len(self.users) + 1)

    def add_node(self, name: str, rack: str = "r", one_tenant: bool = False, **more: Any) -> int:
        """Register a node (or the same again) and play it from now on; its id."""
        values = {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 2, "labels": {"name": name}} | more
        known = next((row["id"] for row in self.sub.nodes.values() if row["name"] == name), None)
        row = node_row(known or self.rows.number(), Machine(name, rack=rack, **values)) | {"one_tenant": one_tenant}
        self.sub.nodes[row["id"]], self.sub.sums = row, None
        self.rows.add_intent(self.sub.id, "node", node=row["id"])
        self.nodes.add(row["id"])
        return int(row["id"])

    def lead(self) -> MemoryLeader:
        lease = self.sub.lease
        lease.epoch, lease.holder = lease.epoch + 1, f"worker-{lease.epoch}"
        store = SimulatedStore(self.rows, self.sub.id, lease.epoch, lambda _, changes: self.changes.append(changes))
        bus = SimulatedBus(self.redis, self.sub.id, lease.epoch, self.clock)
        return MemoryLeader(self.sub.id, store, bus, self.clock, NoSigner())  # type: ignore[arg-type]

    def expire(self) -> None:
        """The lease runs out, as it does for a leader that has stopped."""
        self.sub.lease.holder = ""

    def store(self, *specs: jobspec.JobSpec) -> list[int]:
        return [self.rows.submit(self.sub.id, self._row(spec)) for spec in specs]

    def _row(self, s: jobspec.JobSpec) -> dict[str, Any]:
        username = list(self.users)[self.owner - 1]
        return {
            "name": s.name, "kind": s.kind, "queue": s.queue, "owner_id": self.owner, "username": username,
            "priority": s.priority or 0, "spec": s.model_dump(mode="json"),
            "submitted_at": moment(self.clock.now_us()),
        }  # fmt: skip

    def state(self, job_id: int) -> int:
        return int(self.rows.jobs[job_id]["state"])

    def live(self, job_id: int) -> list[Live]:
        names, groups = self._names(), self.rows.jobs[job_id]["spec"]["groups"]
        held = [c for _, c in sorted(self.sub.containers.items()) if c.job == job_id]
        sizes = [tuple(group["resources"][axis] for axis in AXES) for group in groups]
        return [Live(c.id, names[c.node], c.group, c.state, sizes[c.group]) for c in held]

    def _names(self) -> dict[int, str]:
        return {row["id"]: row["name"] for row in self.sub.nodes.values()}

    def group(self, job_id: int, no: int = 0) -> Any:
        names = ("state", "running", "succeeded", "failed", "killed", "retried", "reason")
        return SimpleNamespace(**dict(zip(names, self.rows.groups[job_id][no], strict=True)))

    def events(self, job_id: int, kind: str = "preemption") -> list[str]:
        told = (event for changes in self.changes for event in changes.events)
        return [message for job, _, known, message in told if (job, known) == (job_id, kind)]

    def reasons(self, job_id: int) -> Counter[str]:
        ended = (block for changes in self.changes for block in changes.ended)
        found = (block["reason"][block["job"] == job_id].tolist() for block in ended)
        return Counter(ContainerReason(reason).name for reasons in found for reason in reasons)

    def decommission(self, node_id: int) -> None:
        row = self.sub.nodes[node_id]
        row["revoked"], row["duty"], self.sub.sums = True, "decommissioned", None
        self.rows.add_intent(self.sub.id, "node", node=node_id, decommission=True)

    def job(self, job_id: int) -> Any:
        return SimpleNamespace(**self.rows.jobs[job_id])

    def kill(self, job_id: int, message: str = "stop") -> None:
        self.rows.add_intent(self.rows.jobs[job_id]["home_id"], "kill", job_id, message=message)
