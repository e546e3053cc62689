"""Plays the leaders of a large federation: writes what they say of nodes and queues, steadily and in their formats.

``python -m benchmarks.leading``, with a stack's settings. Each sub-cluster has its own moment of the second. Every
second a tenth of its nodes get or lose containers, and what is used there moves on all of them. A line on standard
output says that everybody has spoken once. SIGUSR1: from now on say the same again and again; SIGUSR2: move on.
"""

import argparse
import json
import signal
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg

from wire.resources import AXES, CORES, MEMORY, amounts
from wire.states import NodeHealth, NodeState
from wire.summary import Summary

EVERY_S = 1.0
MOVING = 0.1  # of a sub-cluster's nodes get or lose containers in a second
UNHEALTHY, LOST = 0.002, 0.003  # parts of the nodes
BUSY = 0.25  # of the lowest queues hold something in a sub-cluster
CONTAINER_MIB = 4096


@dataclass(slots=True)
class Federation:
    """What all sub-clusters have in common. hierarchy: of the queues at ``paths``; lowest: rows of
    those that hold.
    """

    redis_url: str
    store: psycopg.Connection[Any]
    version: int
    paths: list[str]
    hierarchy: Any
    lowest: np.ndarray


@dataclass(slots=True)
class SubCluster:
    """One sub-cluster's nodes and queues. ids: (n,). capacity: (n, 3), memory_mib, vcores_milli and GPUs.

    full: (n,) allocated part. busy: (n,) part of that which is used. held: (k,) positions of queues, weight: (k,).
    """

    of: Federation
    id: int
    name: str
    epoch: int
    ids: np.ndarray
    capacity: np.ndarray
    bus: Any
    rng: np.random.Generator = field(init=False)
    full: np.ndarray = field(init=False)
    busy: np.ndarray = field(init=False)
    state: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)
    weight: np.ndarray = field(init=False)
    rounds: int = 0
    lost_at: float = field(default_factory=lambda: int(time.time()) - 60.5)

    def __post_init__(self) -> None:
        n = len(self.ids)
        self.rng = rng = np.random.default_rng(self.id)
        racks = np.repeat(rng.beta(4, 2, n // 40 + 1), 40)[:n]  # racks are alike
        self.full = np.clip(racks + rng.normal(0, 0.18, n), 0, 1)
        self.full[rng.random(n) < 0.04] = 0
        self.busy = rng.beta(5, 3, n)
        self.state = np.full(n, NodeState.UP, np.int8)
        chance = rng.random(n)
        self.state[chance < UNHEALTHY], self.state[chance > 1 - LOST] = NodeState.UNHEALTHY, NodeState.LOST
        self.held = np.sort(rng.choice(self.of.lowest, max(1, int(BUSY * len(self.of.lowest))), replace=False))
        self.weight = rng.lognormal(0.0, 1.0, len(self.held))

    def move(self) -> None:
        """A second passes."""
        n = len(self.ids)
        some = self.rng.choice(n, max(1, int(MOVING * n)), replace=False)
        self.full[some] = np.clip(self.full[some] + self.rng.normal(0, 0.2, len(some)), 0, 1)
        self.busy = np.clip(self.busy + self.rng.normal(0, 0.03, n), 0.05, 1)
        self.weight *= np.exp(self.rng.normal(0, 0.02, len(self.weight)))
        self.rounds += 1

    def tell(self) -> None:
        """Say how it stands, to screens through Redis and to the other parts through the StateStore."""
        from controlplane import events

        allocated = (self.capacity * self.full[:, None]).astype(np.int64)
        self.bus.summary(*self._shown(allocated), {})
        self._load(allocated)
        events.job_changed({})

    def _shown(self, allocated: np.ndarray) -> tuple[Summary, bytes]:
        from controlplane.rm.driver.summary import queue_use
        from controlplane.statestore import nodeloads

        at, n = time.time(), len(self.ids)
        memory_mib, vcores_milli = allocated[:, MEMORY], allocated[:, CORES]
        used_mib, used_milli = ((amount * self.busy).astype(np.int64) for amount in (memory_mib, vcores_milli))
        containers = memory_mib // CONTAINER_MIB
        unhealthy, lost = self.state == NodeState.UNHEALTHY, self.state == NodeState.LOST
        nodes = nodeloads.encode(at, self.epoch, {
            "id": self.ids, "state": self.state, "health": NodeHealth.SCRIPT * unhealthy, "held": np.zeros(n),
            **dict(zip(AXES, allocated.T, strict=True)),
            "used_memory_mib": used_mib, "used_cpu_milli": used_milli, "containers": containers,
            "age_ms": np.where(lost, 1000 * (at - self.lost_at), 400),
        })  # fmt: skip
        own, waiting = self._queues(allocated.sum(axis=0))
        wait = {self.of.paths[at]: n for at, n in zip(self.held.tolist(), waiting.tolist(), strict=True) if n}
        mib = int(waiting.sum()) * CONTAINER_MIB
        shown = Summary(
            at=at, epoch=self.epoch, leader="bench", policy_version=self.of.version, frozen=False,
            live=int(containers.sum()), allocated=amounts(allocated.sum(axis=0).tolist()),
            used_memory_mib=int(used_mib.sum()), used_cpu_milli=int(used_milli.sum()),
            pending_containers=int(waiting.sum()), pending=(mib, mib // 4, 0),
            queues=queue_use(self.of.paths, self.of.hierarchy.subtree_sums(own), wait), rounds=self.rounds,
            placed=900 * self.rounds, ended=900 * self.rounds, round_ms=12.0, placed_per_s=900.0, ended_per_s=900.0,
        )  # fmt: skip
        return shown, nodes

    def _queues(self, allocated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, 3): what queues hold themselves; (k,): containers that wait in those of ``held``."""
        own = np.zeros((len(self.of.paths), len(AXES)), np.int64)
        own[self.held] = np.floor(allocated * (self.weight / self.weight.sum())[:, None])
        return own, np.where(self.weight > 2, 10 * self.weight, 0).astype(np.int64)

    def _load(self, allocated: np.ndarray) -> None:
        from controlplane.statestore import loads

        capacity, held = self.capacity.sum(axis=0), allocated.sum(axis=0)
        own, waiting = self._queues(held)
        demand = waiting[:, None] * np.array([CONTAINER_MIB, CONTAINER_MIB // 4, 0])
        paths = [self.of.paths[at] for at in self.held.tolist()]
        part = loads.PartitionLoad(capacity, capacity - held, paths, own[self.held], demand)
        up, version = int((self.state == NodeState.UP).sum()), self.of.version
        whole = loads.Load(
            self.id, self.name, "", True, 0.0, self.epoch, version, 0, up, capacity, capacity - held,
            demand.sum(axis=0), {"": part},
        )  # fmt: skip
        loads.put(self.of.store, whole)


def read() -> list[SubCluster]:
    """Every sub-cluster of the stores, with its nodes."""
    from django.conf import settings
    from django.db import connection

    from controlplane.rm.adapters.bus import RedisBus
    from controlplane.statestore.models import Lease, Node
    from controlplane.statestore.queries.queues.tree import in_force

    tree = in_force()
    assert tree is not None
    lowest = np.array([at for at, queue in enumerate(tree.rows) if queue.leaf])
    connection.ensure_connection()
    of = Federation(
        settings.REDIS_URL, connection.connection, tree.version, [q.path for q in tree.rows], tree.hierarchy, lowest
    )
    found = []
    for lease in Lease.objects.select_related("sub_cluster").order_by("sub_cluster_id"):
        rows = Node.objects.filter(sub_cluster=lease.sub_cluster).order_by("id")
        table = np.array(list(rows.values_list("id", "memory_mib", "vcores_milli", "gpus")), np.int64).reshape(-1, 4)
        bus = RedisBus(of.redis_url, lease.sub_cluster_id, lease.epoch, lambda: None)
        sub = lease.sub_cluster
        found.append(SubCluster(of, sub.pk, sub.name, lease.epoch, table[:, 0], table[:, 1:], bus))
    return found


def lead() -> None:
    """Until the process is told to end."""
    import django

    django.setup()
    parser = argparse.ArgumentParser(prog="benchmarks.leading")
    parser.add_argument("--every-s", type=float, default=EVERY_S)
    every_s = parser.parse_args().every_s
    resting: list[bool] = []
    signal.signal(signal.SIGUSR1, lambda *_: resting.append(True))
    signal.signal(signal.SIGUSR2, lambda *_: resting.clear())
    subs = read()
    for sub in subs:
        sub.tell()
    print(json.dumps({"sub_clusters": len(subs), "nodes": sum(len(sub.ids) for sub in subs)}), flush=True)
    began, turn = time.monotonic(), 0
    while True:
        sub = subs[turn % len(subs)]
        time.sleep(max(0.0, began + turn * every_s / len(subs) - time.monotonic()))
        if not resting:
            sub.move()
        sub.tell()
        turn += 1


if __name__ == "__main__":
    lead()
