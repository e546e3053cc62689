"""Hollow nodes: one process that plays many nodes over the real protocol.

They verify documents, check leases, take time to "run" what they are told and
report it; only the processes are missing. A container runs for its template's
``simulated_s`` or for ``default_s``.
"""

import heapq
import itertools
import random
import struct
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Event

import redis

from wire import desired, keys, status, template
from wire.states import ContainerReason, ContainerState, Want

_ENTRY = status.ENTRY
_HEADER = status.HEADER
_CRC = struct.Struct("<I")
_OBEYED, _OBEYED_AT = struct.Struct("<II"), 20  # epoch and generation in a document's header
SILENCE_S = 5.0  # shorter gaps between two reports of a node are not worth noting


@dataclass(slots=True)
class HollowNode:
    """One played node. ``containers``: id -> (state, started monotonic, run time s, template hex)."""

    node_id: int
    keys: dict[int, bytes]
    seq: int
    epoch: int = 0
    generation: int = 0
    policy_version: int = 0
    containers: dict[int, tuple[int, float, float]] = field(default_factory=dict)
    silent_until: float = 0.0
    heard_at: float = 0.0  # its last report, monotonic; 0 before the first


@dataclass(slots=True)
class Tally:
    """``repeated``: starts of a container that had been started before; counted with ``remember`` only.

    ``withheld``: statuses that were lost on purpose. ``silences``: node id -> lengths (s) of its long gaps.
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
    """

    def __init__(
        self,
        url: str,
        sub_cluster_id: int,
        nodes: dict[int, dict[int, bytes]],
        default_s: float = 1.0,
        loss: float = 0.0,
        remember: bool = False,
    ):
        self.s = sub_cluster_id
        self.default_s = default_s
        self.loss = loss
        self._rng = random.Random(sub_cluster_id)
        self._launched: set[int] | None = set() if remember else None
        now = time.time_ns() // 1000
        self.nodes = {n: HollowNode(n, k, now) for n, k in nodes.items()}
        self.tally = Tally()
        self._redis = redis.Redis.from_url(url, socket_timeout=10)
        self._pubsub = self._redis.pubsub(ignore_subscribe_messages=True)
        self._durations: dict[bytes, float] = {}
        self._ends: list[tuple[float, int, int]] = []  # (due, node, container)

    def run(self, stop: Event, heartbeat_s: float = 1.0, tick_s: float = 0.02) -> None:
        """Play until ``stop``."""
        self._pubsub.psubscribe(keys.wake_channel(self.s, 0)[:-1] + "*")
        prefix = len(keys.wake_channel(self.s, 0)) - 1
        beat = itertools.cycle(self._slices(max(1, round(heartbeat_s / tick_s))))
        due = set(self.nodes)
        while not stop.is_set():
            began = time.monotonic()
            beating = set(next(beat))
            woken = self._woken(prefix) | beating | due
            due = set()
            changed = self._obey(n for n in woken if n in self.nodes)
            changed |= self._finish(time.monotonic())
            self._report(changed, beating)
            time.sleep(max(0.0, tick_s - (time.monotonic() - began)))
        for node in self.nodes.values():
            self._note_silence(node, time.monotonic())

    def _slices(self, parts: int) -> list[list[int]]:
        ids = sorted(self.nodes)
        return [ids[i::parts] for i in range(parts)]

    def _woken(self, prefix: int) -> set[int]:
        found = set()
        while (message := self._pubsub.get_message(timeout=0)) is not None:
            if message["type"] == "pmessage":
                found.add(int(message["channel"][prefix:]))
        return found

    def _obey(self, woken: Iterable[int]) -> set[int]:
        ids = list(woken)
        changed = set()
        if not ids:
            return changed
        bodies = self._redis.mget([keys.desired(self.s, n) for n in ids])
        fresh: list[tuple[HollowNode, desired.Desired]] = []
        for node_id, body in zip(ids, bodies, strict=True):
            node = self.nodes[node_id]
            # The epoch and generation stand at fixed places: skip unread what is obeyed already.
            if body is None or _OBEYED.unpack_from(body, _OBEYED_AT) == (node.epoch, node.generation):
                continue
            doc = desired.decode(body, node_id, node.keys)
            if (doc.epoch, doc.generation) > (node.epoch, node.generation):
                fresh.append((node, doc))
        self._learn(doc for _, doc in fresh)
        now = time.monotonic()
        for node, doc in fresh:
            self._take(node, doc, now)
            changed.add(node.node_id)
        self.tally.documents += len(fresh)
        return changed

    def _learn(self, docs: Iterable[desired.Desired]) -> None:
        """Run times of templates not seen before."""
        new = list({lease.template for doc in docs for lease in doc.leases.values()} - self._durations.keys())
        if new:
            bodies = self._redis.mget([keys.template(self.s, digest.hex()) for digest in new])
            for digest, body in zip(new, bodies, strict=True):
                if body is not None:
                    self._durations[digest] = template.decode(body, digest).simulated_s or self.default_s

    def _take(self, node: HollowNode, doc: desired.Desired, now: float) -> None:
        node.epoch, node.generation, node.policy_version = doc.epoch, doc.generation, doc.policy_version
        held = node.containers
        for cid in [c for c in held if c not in doc.entries]:
            del held[cid]
        for cid, want in doc.entries.items():
            known = held.get(cid)
            if want == Want.STOP and known and known[0] < ContainerState.SUCCEEDED:
                held[cid] = (ContainerState.KILLED, known[1], now - known[1])
            elif known is None and want == Want.RUN and (lease := doc.leases.get(cid)):
                run_s = self._durations.get(lease.template, self.default_s)
                held[cid] = (ContainerState.RUNNING, now, run_s)
                heapq.heappush(self._ends, (now + run_s, node.node_id, cid))
                self.tally.started += 1
                self._remember(cid)
            elif known is None and want == Want.STOP:
                held[cid] = (ContainerState.KILLED, now, 0.0)

    def _remember(self, cid: int) -> None:
        if self._launched is not None:
            self.tally.repeated += cid in self._launched
            self._launched.add(cid)

    def _finish(self, now: float) -> set[int]:
        changed = set()
        while self._ends and self._ends[0][0] <= now:
            _, node_id, cid = heapq.heappop(self._ends)
            held = self.nodes[node_id].containers
            known = held.get(cid)
            if known and known[0] == ContainerState.RUNNING:
                held[cid] = (ContainerState.SUCCEEDED, known[1], known[2])
                changed.add(node_id)
                self.tally.finished += 1
        return changed

    def silence(self, node_ids: Iterable[int], until: float) -> None:
        """Cut these nodes off until ``until`` (monotonic): they neither read nor report."""
        for node_id in node_ids:
            self.nodes[node_id].silent_until = until

    def _report(self, changed: set[int], beating: set[int]) -> None:
        now = time.monotonic()
        heard = [n for n in changed | beating if self.nodes[n].silent_until <= now and not self._lost()]
        if not heard:
            return
        pipe = self._redis.pipeline(transaction=False)
        writes = {keys.status(self.s, n): self._status(self.nodes[n], now) for n in heard}
        pipe.mset(writes)
        news = {str(n): 0 for n in heard if n in changed}
        if news:
            pipe.zadd(keys.dirty(self.s), news)
        pipe.execute()
        self.tally.statuses += len(writes)

    def _lost(self) -> bool:
        if not self.loss or self._rng.random() >= self.loss:
            return False
        self.tally.withheld += 1
        return True

    def _note_silence(self, node: HollowNode, now: float) -> None:
        if node.heard_at and now - node.heard_at >= SILENCE_S:
            self.tally.silences.setdefault(node.node_id, []).append(round(now - node.heard_at, 3))
        node.heard_at = now

    def _status(self, node: HollowNode, now: float) -> bytes:
        node.seq += 1
        self._note_silence(node, now)
        pack = _ENTRY.pack
        body = b"".join(
            pack(
                cid, state, 0, ContainerReason.STOPPED if state == ContainerState.KILLED else 0, 0,
                int((now - started if state == ContainerState.RUNNING else run_s) * 1000), 16, 10, 0,
            )
            for cid, (state, started, run_s) in node.containers.items()
        )  # fmt: skip
        head = bytearray(
            _HEADER.pack(
                status.MAGIC, status.VERSION, node.node_id, node.seq, node.epoch, node.generation,
                node.policy_version, 0, len(node.containers), 100_000, 100, 1000, 0,
            )
        )  # fmt: skip
        _CRC.pack_into(head, 44, zlib.crc32(body, zlib.crc32(head)))
        return bytes(head) + body
