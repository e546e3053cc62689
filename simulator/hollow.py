"""Hollow nodes: one process that plays many nodes over the real protocol.

They verify documents, check leases, take time to "run" what they are told and
report it; only the processes are missing. A container runs for its template's
``simulated_s`` or for ``default_s``. Every document and every lease is
verified for itself; all else is done for many nodes at once.
"""

import itertools
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event

import numpy as np
import redis

from controlplane.rm.records import SIGNED_LEASE, STATUS, WANTED
from simulator.held import Held, obey
from wire import desired, keys, status, template
from wire.desired import DesiredError, Verified

_OBEYED = slice(20, 28)  # epoch and generation in a document's header
SILENCE_S = 5.0  # shorter gaps between two reports of a node are not worth noting


@dataclass(slots=True)
class HollowNode:
    """One played node and its lease keys. ``obeyed``: epoch and generation as in its last document's header."""

    node_id: int
    row: int
    lease_keys: dict[int, bytes]
    ready_keys: dict[int, desired.Key]
    obeyed: bytes = bytes(8)


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


class HollowNodes:
    """``nodes``: node id -> its lease keys by key id. ``loss``: share of statuses that never leave their node.

    ``remember``: keep the id of every container, to count those started twice.
    head: (n,) ``STATUS``, what each node's next status begins with.
    """

    def __init__(
        self,
        url: str,
        sub_cluster_id: int,
        nodes: Mapping[int, dict[int, bytes]],
        default_s: float = 1.0,
        loss: float = 0.0,
        remember: bool = False,
    ):
        self.s = sub_cluster_id
        self.default_s = default_s
        self.loss = loss
        self._rng = np.random.default_rng(sub_cluster_id)
        self._launched: set[int] | None = set() if remember else None
        self.nodes: dict[int, HollowNode] = {}
        self.ids = np.zeros(0, np.int64)
        self.head = np.zeros(0, STATUS)
        self.held = Held(0)
        self.silent_until, self.heard_at = np.zeros(0), np.zeros(0)  # monotonic; 0 before its first report
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
        old, size = len(self.ids), len(self.nodes)
        self.ids = np.array(list(self.nodes), np.int64)
        head = np.zeros(size, STATUS)
        head[:old] = self.head
        head["magic"], head["version"], head["node"] = status.MAGIC, status.VERSION, self.ids
        head["disk_free_mib"], head["cpu_milli"], head["memory_mib"] = 100_000, 100, 1000
        for node_id in nodes:  # one that starts anew knows no document, and counts from the time on
            row = self.nodes[node_id].row
            head["seq"][row], head["epoch"][row], head["generation"][row] = time.time_ns() // 1000, 0, 0
        self.head = head
        self.held.more(size)
        self.silent_until = np.concatenate((self.silent_until, np.zeros(size - old)))
        self.heard_at = np.concatenate((self.heard_at, np.zeros(size - old)))

    def run(self, stop: Event, heartbeat_s: float = 1.0, tick_s: float = 0.05) -> None:
        """Play until ``stop``."""
        wakes = Wakes(self._redis, self.s)
        beat = itertools.cycle(self._slices(max(1, round(heartbeat_s / tick_s))))
        woken = set(self.nodes)
        while not stop.is_set():
            began = time.monotonic()
            beating = set(next(beat))
            woken |= (wakes.take() & self.nodes.keys()) | beating
            changed = self._obey(woken)
            woken = set()
            changed |= self._finish(time.monotonic())
            self._report(changed, beating)
            time.sleep(max(0.0, tick_s - (time.monotonic() - began)))
        self._note_silences(np.arange(len(self.ids)), time.monotonic())
        wakes.close()

    def _slices(self, parts: int) -> list[list[int]]:
        ids = sorted(self.nodes)
        return [ids[i::parts] for i in range(parts)]

    def _rows(self, ids: Iterable[int]) -> np.ndarray:
        return np.array([self.nodes[n].row for n in ids], np.int64)

    def _obey(self, woken: Iterable[int]) -> set[int]:
        """Read these nodes' documents and do what the new ones say; the nodes that had one."""
        ids = list(woken)
        if not ids:
            return set()
        fresh: list[tuple[HollowNode, Verified]] = []
        for node_id, body in zip(ids, self._redis.mget([keys.desired(self.s, n) for n in ids]), strict=True):
            node = self.nodes[node_id]
            # The epoch and generation stand at fixed places: skip unread what is obeyed already.
            if body is None or body[_OBEYED] == node.obeyed:
                continue
            try:
                doc = desired.verify(body, node_id, node.ready_keys)
            except DesiredError:
                self.tally.refused += 1
                continue
            head = self.head[node.row]
            if (doc.epoch, doc.generation) > (head["epoch"], head["generation"]):
                node.obeyed = body[_OBEYED]
                fresh.append((node, doc))
        if fresh:
            self._take([node for node, _ in fresh], [doc for _, doc in fresh], time.monotonic())
        return {node.node_id for node, _ in fresh}

    def _take(self, nodes: list[HollowNode], docs: list[Verified], now: float) -> None:
        rows = np.array([node.row for node in nodes], np.int64)
        numbers = np.array([(d.epoch, d.generation, d.policy_version) for d in docs], np.uint32)
        for at, name in enumerate(("epoch", "generation", "policy_version")):
            self.head[name][rows] = numbers[:, at]
        wanted = np.frombuffer(b"".join([d.entries for d in docs]), WANTED)
        sizes = np.array([len(d.entries) for d in docs], np.int64) // WANTED.itemsize
        position = np.arange(len(rows))
        owner = np.repeat(position, sizes)
        starts, run_s = self._leased(wanted["id"], docs, numbers[:, 0])
        holder = np.repeat(position, self.held.count[rows])
        held, owner, started = obey(
            self.held.of(rows), holder, wanted["id"], wanted["want"], owner, now, starts, run_s
        )  # fmt: skip
        self.held.put(rows, np.bincount(owner, minlength=len(rows)), held)
        self._remember(wanted["id"][started])
        self.tally.documents += len(docs)

    def _leased(self, ids: np.ndarray, docs: list[Verified], epochs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each container: 1 with a lease, -1 with one that has expired or is of a later epoch; and its run time."""
        starts, run_s = np.zeros(len(ids), np.int8), np.full(len(ids), self.default_s)
        leases = np.frombuffer(b"".join([d.leases for d in docs]), SIGNED_LEASE)
        if not len(leases) or not len(ids):
            return starts, run_s
        sizes = [len(d.leases) // SIGNED_LEASE.itemsize for d in docs]
        good = (leases["expires_at"] >= time.time()) & (leases["epoch"] <= np.repeat(epochs, sizes))
        self.tally.refused += int((~good).sum())
        digests = leases["template"].tolist()
        self._learn(set(digests))
        order = np.argsort(ids)
        at = order[np.minimum(np.searchsorted(ids, leases["container"], sorter=order), len(ids) - 1)]
        named = ids[at] == leases["container"]
        starts[at[named]] = np.where(good[named], 1, -1)
        run_s[at[named]] = np.array([self._durations.get(d, self.default_s) for d in digests])[named]
        return starts, run_s

    def _learn(self, digests: set[bytes]) -> None:
        """Run times of templates not seen before."""
        new = list(digests - self._durations.keys())
        if new:
            bodies = self._redis.mget([keys.template(self.s, digest.hex()) for digest in new])
            for digest, body in zip(new, bodies, strict=True):
                if body is not None:
                    self._durations[digest] = template.decode(body, digest).simulated_s or self.default_s

    def _remember(self, started: np.ndarray) -> None:
        self.tally.started += len(started)
        if self._launched is not None:
            ids = started.tolist()
            self.tally.repeated += sum(cid in self._launched for cid in ids)
            self._launched.update(ids)

    def _finish(self, now: float) -> set[int]:
        rows = self.held.finish(now)
        self.tally.finished += len(rows)
        return set(self.ids[rows].tolist())

    def silence(self, node_ids: Iterable[int], until: float) -> None:
        """Cut these nodes off until ``until`` (monotonic): they neither read nor report."""
        self.silent_until[self._rows(node_ids)] = until

    def _report(self, changed: set[int], beating: set[int]) -> None:
        now = time.monotonic()
        rows = self._rows(changed | beating)
        rows = rows[self.silent_until[rows] <= now]
        if self.loss:
            lost = self._rng.random(len(rows)) < self.loss
            self.tally.withheld += int(lost.sum())
            rows = rows[~lost]
        if not len(rows):
            return
        ids = self.ids[rows].tolist()
        pipe = self._redis.pipeline(transaction=False)
        pipe.mset(dict(zip([keys.status(self.s, n) for n in ids], self._statuses(rows, now), strict=True)))
        news = {n: 0 for n in ids if n in changed}
        if news:
            pipe.zadd(keys.dirty(self.s), news)
        pipe.execute()
        self.tally.statuses += len(ids)

    def _statuses(self, rows: np.ndarray, now: float) -> list[bytes]:
        """The next status of each of these nodes."""
        self._note_silences(rows, now)
        self.head["seq"][rows] += 1
        heads, counts = self.head[rows], self.held.count[rows]
        heads["entries"] = counts
        reports = self.held.reports(rows, now).tobytes()
        blank, size = heads.tobytes(), STATUS.itemsize
        ends = (np.cumsum(counts) * status.RECORD_BYTES).tolist()
        bodies = [reports[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        heads["crc"] = [
            zlib.crc32(body, zlib.crc32(blank[at : at + size]))
            for body, at in zip(bodies, range(0, len(blank), size), strict=True)
        ]
        signed = heads.tobytes()
        return [signed[at : at + size] + body for body, at in zip(bodies, range(0, len(signed), size), strict=True)]

    def _note_silences(self, rows: np.ndarray, now: float) -> None:
        gaps = now - self.heard_at[rows]
        for i in np.flatnonzero((self.heard_at[rows] > 0) & (gaps >= SILENCE_S)).tolist():
            self.tally.silences.setdefault(int(self.ids[rows[i]]), []).append(round(float(gaps[i]), 3))
        self.heard_at[rows] = now


class Wakes:
    """The wake channels of all nodes of a sub-cluster, on a connection of its own."""

    def __init__(self, client: "redis.Redis[bytes]", sub_cluster_id: int):
        self._pool = client.connection_pool
        self._connection = self._pool.get_connection()
        prefix = keys.wake_channel(sub_cluster_id, 0)[:-1]
        self._prefix = len(prefix)
        self._connection.send_command("PSUBSCRIBE", prefix + "*")

    def take(self) -> set[int]:
        """Nodes woken since the last call. Leaner than redis-py's own loop, which costs as much as a document."""
        found = set()
        while self._connection.can_read(0):
            kind, *_, channel, _ = self._connection.read_response()
            if kind == b"pmessage":
                found.add(int(channel[self._prefix :]))
        return found

    def close(self) -> None:
        self._connection.disconnect()
        self._pool.release(self._connection)
