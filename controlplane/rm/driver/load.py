"""A leader's own load row, worked out of its memory in whole columns."""

import hashlib
from dataclasses import dataclass

import numpy as np

from controlplane.rm.memory.asks import IN_VAIN
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import R
from controlplane.rm.ports import Clock, Store
from controlplane.statestore.limited import VAIN, Limited
from controlplane.statestore.loads import Load, PartitionLoad
from controlplane.statestore.packed import Table
from scheduler.core.snapshot import Nodes
from wire.states import NodeState

__all__ = ["Load", "LoadReporter", "PartitionLoad", "own_load"]

EVERY_S = 1.0
ANYWAY_S = 5.0  # also when nothing has changed, so that its age says the leader is there
MOST_OF_TIME = 0.02  # of a leader's time at most


@dataclass(slots=True)
class LoadReporter:
    """Writes the row where that is due. at, took_s: when it last looked, and for how long; monotonic seconds.

    Others look at it for room: what becomes free after a quiet second is told at once.
    """

    at: float = -1e9
    took_s: float = 0.0
    written: float = -1e9
    _reported: bytes = b""

    def report(self, m: Memory, sub: int, store: Store, clock: Clock) -> None:
        """Write what has changed at most once a second, and anything after ``ANYWAY_S``."""
        began = clock.monotonic()
        if began - self.written < EVERY_S or began - self.at < self.took_s / MOST_OF_TIME:
            return
        self.at = began
        m.refresh((), clock.now_us() / 1e6)
        load = own_load(m, sub)
        fingerprint = _fingerprint(load)
        if fingerprint != self._reported or began - self.written >= ANYWAY_S:
            store.put_load(load)
            self._reported, self.written = fingerprint, began
        self.took_s = clock.monotonic() - began


def _fingerprint(load: Load) -> bytes:
    """Alike for two loads that say the same."""
    digest = hashlib.blake2b(digest_size=16)
    numbers = [load.policy_version, load.shares_version, load.nodes_up, *load.capacity.tolist(), *load.free.tolist()]
    digest.update(repr(numbers).encode())
    for name, p in load.queues.items():
        digest.update(repr((name, p.paths)).encode())
        for column in (p.capacity, p.free, p.used, p.pending):
            digest.update(np.ascontiguousarray(column).tobytes())
    for name, (paths, amounts) in load.limited.tables.items():
        digest.update(repr((name, paths, amounts.tolist())).encode())
    return digest.digest()


def own_load(m: Memory, sub: int) -> Load:
    """The load of the sub-cluster whose memory that is, name, state and age are the reader's to know."""
    n, size = m.nodes.view(), len(m.nodes)
    free = np.maximum(n.free, 0)
    rows = np.flatnonzero(m.asks.count > 0)
    shapes, shape = m.asks.shapes_of(rows)
    wanted = shapes[shape] * m.asks.count[rows, None] if len(rows) else np.zeros((0, R), np.int64)
    queue = m.ledger.leaf_of(m.asks.job[rows])
    of = m.asks.partition[rows]
    queues = {
        name: _partition(m, number, n, queue[of == number], wanted[of == number])
        for number, name in enumerate(m.partitions)
    }
    limit = m.asks.limit[rows]
    limited = {
        name: _limited(m, limit[own], queue[own], wanted[own])
        for number, name in enumerate(m.partitions)
        if (own := (of == number) & (limit != -1)).any()
    }
    up = n.open[:size]
    version = m.shares.assigned.version if m.shares.assigned else 0
    return Load(
        sub, "", "", True, 0.0, m.epoch, m.queues.version, version, int(up.sum()), up @ n.capacity,
        up @ free, wanted.sum(axis=0), queues, Limited.of(limited),
    )  # fmt: skip


def _limited(m: Memory, limit: np.ndarray, queue: np.ndarray, wanted: np.ndarray) -> Table:
    """What asks want that wait for no room. limit: (a,) as the table of asks has it; queue: (a,); wanted: (a, R)."""
    size = len(m.queues.paths)
    numbers, at = np.unique(np.where(limit == IN_VAIN, size + queue, limit), return_inverse=True)
    paths = [m.queues.paths[n] if n < size else VAIN + m.queues.paths[n - size] for n in numbers.tolist()]
    return paths, _sums(at, wanted, len(paths))


def _sums(row: np.ndarray, amounts: np.ndarray, rows: int) -> np.ndarray:
    """(rows, R) int64: these amounts, (a, R), summed by their row, (a,)."""
    return np.stack([np.bincount(row, amounts[:, r], rows) for r in range(R)], axis=1).astype(np.int64)


def _partition(m: Memory, number: int, n: Nodes, queue: np.ndarray, wanted: np.ndarray) -> PartitionLoad:
    """One partition. queue: (a,) of each ask; wanted: (a, R)."""
    nodes, own = m.nodes_of(number)
    nodes = nodes[own]
    used = m.ledger.queues[number]
    pending = _sums(queue, wanted, len(used))
    at = np.flatnonzero((used > 0).any(axis=1) | (pending > 0).any(axis=1))
    paths = m.queues.paths
    takes = n.open[nodes]
    free = takes @ np.maximum(n.free.take(nodes, axis=0), 0)
    closed = nodes[~takes & (m.nodes.state[nodes] <= NodeState.UNHEALTHY)]
    capacity = takes @ n.capacity.take(nodes, axis=0) + m.nodes.used[closed].sum(axis=0)
    return PartitionLoad(capacity, free, [paths[i] for i in at.tolist()], used[at], pending[at])
