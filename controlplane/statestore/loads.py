"""Load rows: what each sub-cluster has, uses and wants, written by its leader about once a second.

The GPG reads them for shares, the AM-RM proxy for headroom, the Router for
routing. They are hints with an age: a leader that is away leaves its last one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import psycopg

from controlplane.statestore.capacities import R
from controlplane.statestore.limited import NONE_LIMITED, Limited, unpacked
from controlplane.statestore.packed import Table, pack, unpack
from scheduler.shares.tree import all_nearest

GONE = ("lost", "decommissioned")  # states of sub-clusters: what they used is over
SILENT_S = 15.0  # a leader whose row is older starts nothing
_WHOLE = ""  # the row of a partition's nodes among those of its queues

# Asynchronous: what is lost with the server is said again a second later.
_PUT = """
WITH soon AS (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO statestore_load AS l (sub_cluster_id, at, epoch, policy_version, shares_version, nodes_up, capacity, free,
    pending, body, limited)
SELECT %s, clock_timestamp(), %s, %s, %s, %s, %s::bigint[], %s::bigint[], %s::bigint[], %s, %s FROM soon
    ON CONFLICT (sub_cluster_id) DO UPDATE
   SET at = EXCLUDED.at, epoch = EXCLUDED.epoch, policy_version = EXCLUDED.policy_version,
       shares_version = EXCLUDED.shares_version, nodes_up = EXCLUDED.nodes_up, capacity = EXCLUDED.capacity,
       free = EXCLUDED.free, pending = EXCLUDED.pending, body = EXCLUDED.body,
       limited = EXCLUDED.limited
 WHERE l.epoch <= EXCLUDED.epoch
"""
_READ = """
SELECT s.id, s.name, s.state, coalesce(e.expires_at > clock_timestamp() AND e.holder <> '', false),
       extract(epoch FROM clock_timestamp() - l.at)::float8, l.epoch, l.policy_version, l.shares_version, l.nodes_up,
       l.capacity, l.free, l.pending, CASE WHEN %s THEN l.body END, l.limited
  FROM statestore_load l JOIN statestore_subcluster s ON s.id = l.sub_cluster_id
  JOIN statestore_lease e ON e.sub_cluster_id = s.id
 ORDER BY s.id
"""


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """One partition's nodes and queues in a sub-cluster, in units of the axis of resources.

    capacity: (R,) int64, all of its own nodes that take containers now, and of
    the others what is used there. free: (R,) int64, of it. paths: k queues that use or want something,
    ancestors left out. used, pending: (k, R) int64 of the queue itself; pending
    is what live asks want beyond what is used.
    """

    capacity: np.ndarray
    free: np.ndarray
    paths: list[str]
    used: np.ndarray
    pending: np.ndarray

    @classmethod
    def of(cls, table: Table) -> "PartitionLoad":
        """As it is stored: the first row is the nodes'."""
        paths, rows = table
        return cls(rows[0, :R], rows[0, R:], paths[1:], rows[1:, :R], rows[1:, R:])


@dataclass(frozen=True, slots=True)
class Load:
    """A sub-cluster's load. capacity, free, pending: (R,) int64; the first two of nodes that take containers.

    state: the operators' word for it. led: somebody leads it now. age_s: since
    the leader looked. shares_version: the assignment it goes by, 0 without one.
    queues: by the partition's name, "" the default one. limited: what of
    ``pending`` would not start however much was free.
    """

    sub_cluster: int
    name: str
    state: str
    led: bool
    age_s: float
    epoch: int
    policy_version: int
    shares_version: int
    nodes_up: int
    capacity: np.ndarray
    free: np.ndarray
    pending: np.ndarray
    queues: dict[str, PartitionLoad] = field(default_factory=dict)
    limited: Limited = NONE_LIMITED

    @property
    def demand(self) -> np.ndarray:
        """What is used, and what waits for room: (R,) int64."""
        return demand(self.capacity, self.free, self.pending, self.limited)

    @property
    def counts(self) -> bool:
        """Whether its leader starts anything."""
        return counts(self.led, self.age_s)

    def load(self, queue: str) -> float:
        """What is used, and what jobs of the queue would wait behind, over what there is, of the resource where that is
        most; endless with nothing."""
        there, owed = self.capacity > 0, self.demand + self.limited.behind(queue)
        return float((owed[there] / self.capacity[there]).max()) if there.any() else np.inf


def demand(capacity: np.ndarray, free: np.ndarray, pending: np.ndarray, limited: Limited) -> np.ndarray:
    """Of a row: what is used, and what waits for room, not for a limit: (R,) int64."""
    found: np.ndarray = np.maximum(capacity - free, 0) + np.maximum(pending - limited.total, 0)
    return found


def counts(led: bool, age_s: float | None) -> bool:
    """Whether a sub-cluster's leader starts anything. age_s: of its row; None without one."""
    return led and age_s is not None and age_s <= SILENT_S


def gathered(
    parts: Sequence[PartitionLoad | None], counting: Sequence[bool], index: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One partition over s sub-clusters and q queues: capacity (s, R), used and pending (s, q, R) of queues themselves.

    index: positions of queues by path. Where a sub-cluster does not count
    nothing starts, so what is used there is all there is.
    """
    capacity, (used, pending) = np.zeros((len(parts), R), np.int64), np.zeros((2, len(parts), len(index), R), np.int64)
    for at, (part, starts) in enumerate(zip(parts, counting, strict=True)):
        if part is not None:
            rows = all_nearest(index, part.paths)
            np.add.at(used[at], rows, part.used)
            if starts:
                np.add.at(pending[at], rows, part.pending)
                capacity[at] = part.capacity
    return np.maximum(capacity, used.sum(axis=1)), used, pending  # nodes may be lent, or overfull


def startable(pending: np.ndarray, limited: Sequence[Limited], partition: str, index: Mapping[str, int]) -> np.ndarray:
    """Of what is pending in s sub-clusters, as ``gathered`` tells it, all but what no node there could ever hold."""
    found = pending.copy()
    for at, told in enumerate(limited):
        paths, vain = told.in_vain(partition)
        if paths:
            np.subtract.at(found[at], all_nearest(index, paths), vain)
    return np.maximum(found, 0)


def put(session: psycopg.Connection, load: Load) -> bool:
    """Write the row of ``load.sub_cluster``; False when one of a higher epoch stands there, which is left alone."""
    numbers = [column.tolist() for column in (load.capacity, load.free, load.pending)]
    values = (
        load.sub_cluster,
        load.epoch,
        load.policy_version,
        load.shares_version,
        load.nodes_up,
        *numbers,
        _packed(load.queues),
        load.limited.packed(),
    )
    return session.execute(_PUT, values).rowcount > 0


def read(session: psycopg.Connection, queues: bool = True) -> list[Load]:
    """Every sub-cluster that has ever been led, by number; without ``queues`` only its sums."""
    return [_load(*row) for row in session.execute(_READ, (queues,)).fetchall()]


def _packed(queues: Mapping[str, PartitionLoad]) -> bytes:
    tables = {}
    for name, p in queues.items():
        own = np.concatenate((p.capacity, p.free))[None]
        rows = np.concatenate((own, np.concatenate((p.used, p.pending), axis=1)))
        tables[name] = [_WHOLE, *p.paths], rows
    return pack(tables)


def _load(
    sub: int, name: str, state: str, led: bool, age_s: float, epoch: int, policy: int, shares: int, nodes_up: int,
    capacity: list[int], free: list[int], pending: list[int], body: bytes | None, limited: bytes | None,
) -> Load:  # fmt: skip
    tables = unpack(bytes(body)) if body else {}
    queues = {partition: PartitionLoad.of(table) for partition, table in tables.items()}
    units = _units(capacity), _units(free), _units(pending)
    return Load(sub, name, state, led, age_s, epoch, policy, shares, nodes_up, *units, queues, unpacked(limited))


def _units(column: list[int]) -> np.ndarray:
    return np.array(column, np.int64)
