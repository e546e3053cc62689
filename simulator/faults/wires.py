"""One sub-cluster's Redis, what is on its way to it, and the leaders' port to it.

Everything here may be lost, doubled, late or out of order: a status that was
sent flies until it is delivered, and documents that were replaced may be read
once more.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.rm.ports import BusDown, Fenced
from wire import keys, policy, status

_OLD_KEPT = 6


class Crash(Exception):
    """The leader's process ends here."""


@dataclass(slots=True)
class Flight:
    """A node's status on its way to Redis. hint: whether it tells the leader of it."""

    node: int
    data: bytes
    hint: bool


@dataclass(slots=True)
class Wires:
    """epoch: the highest that has published, None where Redis has lost it. old: documents that were replaced, by
    node, oldest first. dirty: who has news, in order of arrival."""

    sub: int
    epoch: int | None = None
    documents: dict[int, bytes] = field(default_factory=dict)
    old: dict[int, list[bytes]] = field(default_factory=dict)
    statuses: dict[int, bytes] = field(default_factory=dict)
    templates: dict[bytes, bytes] = field(default_factory=dict)
    policy: bytes | None = None
    dirty: dict[str, None] = field(default_factory=dict)
    flying: list[Flight] = field(default_factory=list)
    down: bool = False

    def flush(self) -> None:
        """All that it holds is lost."""
        self.epoch, self.policy = None, None
        for held in (self.documents, self.statuses, self.templates, self.dirty):
            held.clear()

    def put(self, node: int, document: bytes) -> None:
        before = self.documents.get(node)
        if before is not None:
            self.old[node] = [*self.old.get(node, ()), before][-_OLD_KEPT:]
        self.documents[node] = document

    def land(self, flight: Flight) -> None:
        """A status arrives."""
        if self.down:
            return
        self.statuses[flight.node] = flight.data
        if flight.hint:
            self.dirty[str(flight.node)] = None

    def take_dirty(self) -> set[str]:
        """Who has news; nobody has any more."""
        found = set(self.dirty)
        self.dirty.clear()
        return found


class FaultyBus:
    """The Bus port of one leader.

    now: answered time, s. fresh: when each node's last status was read that counts
    further than all before, by ``now``; heard: that was another one than before.
    sent: told of every document before it can be read. breaks_after: the leader
    ends once it has put so many documents.
    """

    def __init__(
        self,
        wires: Mapping[int, Wires],
        sub: int,
        epoch: int,
        now: Callable[[], float],
        sent: Callable[[int, bytes], None],
    ):
        self.all, self.own, self.epoch, self.now, self.sent = wires, wires[sub], epoch, now, sent
        self.fresh: dict[int, float] = {}
        self.heard: dict[int, float] = {}
        self._seen: dict[int, tuple[bytes, int]] = {}
        self.breaks_after: int | None = None

    def _reach(self) -> None:
        if self.own.down:
            raise BusDown("Redis does not answer")

    def _fence(self) -> bool:
        """As the script in Redis does; whether Redis knew an epoch."""
        known = self.own.epoch
        if known is not None and known > self.epoch:
            raise Fenced("a leader with a higher epoch has published")
        return known is not None

    def wait(self, timeout_s: float) -> set[str]:
        self._reach()
        return self.own.take_dirty()

    def wake(self, sub_clusters: Iterable[int]) -> None:
        self._reach()
        for sub in sorted(sub_clusters):
            self.all[sub].dirty[keys.INTENTS] = None

    def tell_masters(self, jobs: Iterable[int]) -> None:
        self._reach()

    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]:
        self._reach()
        found = [self.own.statuses.get(node) for node in node_ids]
        for node, data in zip(node_ids, found, strict=True):
            if data is not None:
                self._hear(node, data)
        return found

    def _hear(self, node: int, data: bytes) -> None:
        known, last = self._seen.get(node, (b"", -1))
        if known is data:
            return
        try:
            seq = status.decode(data).seq
        except status.StatusError:
            return
        self.heard[node] = self.now()
        if seq > last:
            self.fresh[node] = self.now()
        self._seen[node] = data, max(seq, last)

    def met(self, node: int) -> None:
        """The node has registered, and so it is there; its last status counts as another one."""
        self._seen.pop(node, None)
        self.heard[node] = self.now()

    def publish(self, documents: Mapping[int, bytes], templates: Mapping[bytes, bytes]) -> bool:
        self._reach()
        self.own.templates.update(templates)
        intact = self._fence()
        for number, (node, body) in enumerate(documents.items()):
            if number == self.breaks_after:
                raise Crash("while it published")
            self.sent(node, body)
            self.own.put(node, body)
        self.own.epoch = self.epoch
        return intact

    def announce_policy(self, version: int, wake: bool = True) -> None:
        self._reach()
        if self._fence():
            self.own.epoch = self.epoch
        self.own.policy = policy.encode(self.epoch, version)

    def summary(self, summary: dict[str, Any], nodes: bytes, usage: Mapping[int, str]) -> None:
        pass
