"""Hollow nodes: one process that plays many nodes over the real protocol.

They verify documents, check leases, take time to "run" what they are told and
report it; only the processes are missing. A container runs for its template's
``simulated_s`` or for ``default_s``. Every document and every lease is
verified for itself; all else is done for many nodes at once.
"""

import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, cast

import numpy as np
import redis

from controlplane.rm.codec.records import SIGNED_LEASE, WANTED
from simulator.simulatednodes import Documents, SimulatedNodes
from wire import desired, keys, policy, template
from wire.desired import DesiredError, Verified
from wire.policy import PolicyError

_APPLIED = slice(20, 28)  # epoch and generation in a document's header
SILENCE_S = 5.0  # shorter gaps between two reports of a node are not worth noting


@dataclass(slots=True)
class HollowNode:
    """One played node and its lease keys. ``applied``: epoch and generation as in its last document's header."""

    node_id: int
    row: int
    lease_keys: dict[int, bytes]
    ready_keys: dict[int, desired.Key]
    applied: bytes = bytes(8)


@dataclass(slots=True)
class Tally:
    """``repeated``: starts of a container that had been started before; counted with ``remember`` only.

    ``refused``: documents and leases. ``withheld``: statuses that were lost on
    purpose. ``silences``: node id -> lengths (s) of its long gaps.
    """

    started: int = 0
    finished: int = 0
    refused: int = 0
    documents: int = 0
    statuses: int = 0
    repeated: int = 0
    withheld: int = 0
    silences: dict[int, list[float]] = field(default_factory=dict)


class HollowNodes(SimulatedNodes):
    """``nodes``: node id -> its lease keys by key id. ``loss``: share of statuses that never leave their node.

    ``remember``: keep the id of every container, to count those started twice.
    ``spread_first``: tasks with a lower index run for a random part of their
    time, so that what starts together does not end together. ``stamp``: ended
    containers report as processor time the moment of their end, in ms since
    1970 modulo 2^32.
    """

    def __init__(
        self,
        url: str,
        sub_cluster_id: int,
        nodes: Mapping[int, dict[int, bytes]],
        default_s: float = 1.0,
        loss: float = 0.0,
        remember: bool = False,
        spread_first: int = 0,
        stamp: bool = False,
    ):
        super().__init__(stamp)
        self.s = sub_cluster_id
        self.default_s, self.spread_first = default_s, spread_first
        self.loss = loss
        self._rng = np.random.default_rng(sub_cluster_id)
        self._launched: set[int] | None = set() if remember else None
        self.nodes: dict[int, HollowNode] = {}
        self.silent_until, self.reported_at = np.zeros(0), np.zeros(0)  # monotonic; 0 before its first report
        self.heartbeat_s, self.read_at, self.heartbeat_at = 1.0, np.zeros(0), np.zeros(0)  # a document, a status is due
        self.monotonic = time.monotonic  # tests and benchmarks put other clocks here
        self.unix = time.time
        self.tally = Tally()
        self._redis = redis.Redis.from_url(url, socket_timeout=10)
        self._durations: dict[bytes, float] = {}
        self.add(nodes)

    def add(self, nodes: Mapping[int, dict[int, bytes]]) -> None:
        """Play these nodes too, or again with other keys."""
        for node_id, lease_keys in nodes.items():
            row = self.nodes[node_id].row if node_id in self.nodes else len(self.nodes)
            ready = {number: desired.Key(key) for number, key in lease_keys.items()}
            self.nodes[node_id] = HollowNode(node_id, row, lease_keys, ready)
        more = len(self.nodes) - len(self.ids)
        self.set_nodes(list(self.nodes))
        self.restart(self._rows(nodes), time.time_ns() // 1000)
        for name in ("silent_until", "reported_at", "read_at", "heartbeat_at"):
            setattr(self, name, np.concatenate((getattr(self, name), np.zeros(more))))

    def run(self, stop: Event, heartbeat_s: float = 1.0, tick_s: float = 0.05) -> None:
        """Play until ``stop``."""
        play([self], stop, heartbeat_s, tick_s)

    def ticks(self, heartbeat_s: float, tick_s: float) -> Generator[None, None, None]:
        """Look after all nodes once for each item; closed at the end."""
        subscriber = WakeSubscriber(self._redis, self.s)
        self.heartbeat_s = heartbeat_s
        spread = np.arange(len(self.ids)) * heartbeat_s / max(1, len(self.ids))
        self.read_at, self.heartbeat_at = self.monotonic() + spread, self.monotonic() + spread
        woken = set(self.nodes)
        try:
            while True:
                now = self.monotonic()
                beating = set(self.ids[self.heartbeat_at <= now].tolist())
                woken |= (subscriber.take() & self.nodes.keys()) | set(self.ids[self.read_at <= now].tolist())
                changed = self._read_documents(woken) | self._update_policy(np.arange(len(self.ids)), subscriber.policy)
                woken, subscriber.policy = set(), None
                changed |= self._finish(self.monotonic())
                self._report(changed, beating)
                yield
        finally:
            self._note_silences(np.arange(len(self.ids)), self.monotonic())
            subscriber.close()

    def _rows(self, ids: Iterable[int]) -> np.ndarray:
        return np.array([self.nodes[n].row for n in ids], np.int64)

    def _read_documents(self, woken: Iterable[int]) -> set[int]:
        """Read these nodes' documents and do what the new ones say; the nodes whose next status should not wait."""
        ids = list(woken)
        if not ids:
            return set()
        self.read_at[self._rows(ids)] = self.monotonic() + self.heartbeat_s
        fresh: list[tuple[HollowNode, Verified]] = []
        policy_bytes, *bodies = self._read([keys.policy(self.s), *(keys.desired(self.s, n) for n in ids)])
        for node_id, body in zip(ids, bodies, strict=True):
            node = self.nodes[node_id]
            # The epoch and generation stand at fixed places: skip unread what is applied already.
            if body is None or body[_APPLIED] == node.applied:
                continue
            try:
                doc = desired.verify(body, node_id, node.ready_keys)
            except DesiredError:
                self.tally.refused += 1
                continue
            head = self.head[node.row]
            if (doc.epoch, doc.generation) > (head["epoch"], head["generation"]):
                node.applied = body[_APPLIED]
                fresh.append((node, doc))
        urgent = self._apply([node for node, _ in fresh], [doc for _, doc in fresh]) if fresh else set()
        return urgent | self._update_policy(self._rows(ids), policy_bytes)

    def _update_policy(self, rows: np.ndarray, policy_bytes: bytes | None) -> set[int]:
        """The policy version these nodes read; the nodes that had not heard of it."""
        if policy_bytes is None:
            return set()
        try:
            epoch, version = policy.decode(policy_bytes)
        except PolicyError:
            self.tally.refused += 1
            return set()
        rows = rows[self.silent_until[rows] <= self.monotonic()]
        return set(
            self.ids[self.update_policy_version(rows, np.full(len(rows), epoch), np.full(len(rows), version))].tolist()
        )

    def _apply(self, nodes: list[HollowNode], docs: list[Verified]) -> set[int]:
        """Do what these documents say; the nodes that have something to say for which nobody should wait."""
        found = Documents(
            rows=np.array([node.row for node in nodes], np.int64),
            numbers=np.array([(d.epoch, d.generation, d.policy_version) for d in docs], np.int64),
            wanted=np.frombuffer(b"".join([d.entries for d in docs]), WANTED),
            sizes=np.array([len(d.entries) for d in docs], np.int64) // WANTED.itemsize,
            leases=np.frombuffer(b"".join([d.leases for d in docs]), SIGNED_LEASE),
            leased=np.array([len(d.leases) for d in docs], np.int64) // SIGNED_LEASE.itemsize,
        )
        applied = self.apply(found, self._runs, self.monotonic(), self.unix())
        self._count_started(applied.started)
        self.tally.documents += len(docs)
        self.tally.refused += applied.refused
        return set(self.ids[applied.urgent].tolist())

    def _runs(self, leases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How long these containers run by their templates; all end well."""
        digests = leases["template"].tolist()
        self._load_durations(set(digests))
        runs = np.array([self._durations.get(d, self.default_s) for d in digests])
        early = leases["task"] < self.spread_first
        runs[early] *= self._rng.random(int(early.sum()))
        return runs, np.zeros(len(leases), np.int32)

    def _read(self, names: list[str]) -> list[bytes | None]:
        found: Any = self._redis.mget(names)  # typed as if it might be awaited
        return list(found)

    def _load_durations(self, digests: set[bytes]) -> None:
        """Run times of templates not seen before."""
        new = list(digests - self._durations.keys())
        if new:
            bodies = self._read([keys.template(self.s, digest.hex()) for digest in new])
            for digest, body in zip(new, bodies, strict=True):
                if body is not None:
                    self._durations[digest] = template.decode(body, digest).simulated_s or self.default_s

    def _count_started(self, started: np.ndarray) -> None:
        self.tally.started += len(started)
        if self._launched is not None:
            ids = started.tolist()
            self.tally.repeated += sum(cid in self._launched for cid in ids)
            self._launched.update(ids)

    def _finish(self, now: float) -> set[int]:
        rows = self.containers.end_due(now)
        self.tally.finished += len(rows)
        return set(self.ids[rows].tolist())

    def silence(self, node_ids: Iterable[int], until: float) -> None:
        """Cut these nodes off until ``until`` (monotonic): they neither read nor report."""
        self.silent_until[self._rows(node_ids)] = until

    def _report(self, changed: set[int], beating: set[int]) -> None:
        now = self.monotonic()
        rows = self._rows(changed | beating)
        self.heartbeat_at[rows] = now + self.heartbeat_s
        rows = rows[self.silent_until[rows] <= now]
        if self.loss:
            lost = self._rng.random(len(rows)) < self.loss
            self.tally.withheld += int(lost.sum())
            rows = rows[~lost]
        if not len(rows):
            return
        self._note_silences(rows, now)
        ids = self.ids[rows].tolist()
        pipe = self._redis.pipeline(transaction=False)
        pipe.mset(dict(zip([keys.status(self.s, n) for n in ids], self.statuses(rows, now), strict=True)))
        news = {n: 0 for n in ids if n in changed}
        if news:
            pipe.zadd(keys.dirty(self.s), news)
        pipe.execute()
        self.tally.statuses += len(ids)

    def _note_silences(self, rows: np.ndarray, now: float) -> None:
        gaps = now - self.reported_at[rows]
        for i in np.flatnonzero((self.reported_at[rows] > 0) & (gaps >= SILENCE_S)).tolist():
            self.tally.silences.setdefault(int(self.ids[rows[i]]), []).append(round(float(gaps[i]), 3))
        self.reported_at[rows] = now


def play(played: list[HollowNodes], stop: Event, heartbeat_s: float = 1.0, tick_s: float = 0.05) -> None:
    """Play the nodes of several sub-clusters in turn, until ``stop``."""
    ticks = [nodes.ticks(heartbeat_s, tick_s) for nodes in played]
    while not stop.is_set():
        began = time.monotonic()
        for each in ticks:
            next(each)
        time.sleep(max(0.0, tick_s - (time.monotonic() - began)))
    for each in ticks:
        each.close()


class WakeSubscriber:
    """The wake channels of all nodes of a sub-cluster, on a connection of its own. policy: the last version heard."""

    def __init__(self, client: redis.Redis, sub_cluster_id: int):
        self._pool = client.connection_pool
        self._connection = cast(Any, self._pool.get_connection())  # redis-py gives its methods no types
        prefix = keys.wake_channel(sub_cluster_id, 0)[:-1]
        self._prefix = len(prefix)
        self._connection.send_command("PSUBSCRIBE", prefix + "*")
        self._connection.send_command("SUBSCRIBE", keys.policy_wake(sub_cluster_id))
        self.policy: bytes | None = None

    def take(self) -> set[int]:
        """Nodes woken since the last call. Leaner than redis-py's own loop, which costs as much as a document."""
        found = set()
        while self._connection.can_read(0):
            kind, *_, channel, data = self._connection.read_response()
            if kind == b"pmessage":
                found.add(int(channel[self._prefix :]))
            elif kind == b"message":
                self.policy = data
        return found

    def close(self) -> None:
        self._connection.disconnect()
        self._pool.release(self._connection)
