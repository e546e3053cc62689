"""The Bus port within one process: Redis as dictionaries, what its scripts refuse refused as well.

Hints arrive at once; documents wait to be taken to the nodes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.codec.records import DOCUMENT, SIGNED_LEASE, WANTED
from controlplane.rm.ports import BusDown, Clock, Fenced
from simulator.simulatednodes import Documents
from wire import desired, keys, policy
from wire.summary import Summary


class NoKey(desired.Key):
    """On a network that exists only here nobody forges anything: a signature of zeros."""

    def __init__(self) -> None:
        super().__init__(b"")

    def mac(self, data: bytes) -> bytes:
        return _ZEROS


_ZEROS = bytes(desired.MAC_BYTES)
_KEY = NoKey()


class NoSigner:
    """In the place of ``publish.Signer``."""

    key_id = 1

    def key(self, node_id: int) -> desired.Key:
        return _KEY


@dataclass(slots=True)
class SimulatedRedis:
    """What one sub-cluster's Redis holds.

    epoch: the highest that has published, None where Redis has lost it. woken:
    nodes that were told of their documents and have not been asked whether they
    heard. dirty: who has news, in order of arrival. summary: the last one, with
    the nodes' columns and the containers' usage.
    """

    sub: int
    epoch: int | None = None
    documents: dict[int, bytes] = field(default_factory=dict)
    woken: dict[int, None] = field(default_factory=dict)
    statuses: dict[int, bytes] = field(default_factory=dict)
    templates: dict[bytes, bytes] = field(default_factory=dict)
    policy: bytes | None = None
    dirty: dict[str, None] = field(default_factory=dict)
    masters: list[int] = field(default_factory=list)  # jobs whose application masters were told that there is news
    summary: tuple[Summary, bytes, dict[int, str]] | None = None
    down: bool = False
    full: bool = False  # it answers, and refuses every write

    def flush(self) -> None:
        """All that it holds is lost."""
        self.epoch, self.policy, self.summary = None, None, None
        for held in (self.documents, self.statuses, self.templates, self.dirty):
            held.clear()

    def put(self, documents: Mapping[int, bytes]) -> None:
        self.documents.update(documents)
        self.woken.update(dict.fromkeys(documents))

    def report(self, statuses: Mapping[int, bytes], hint: bool = True) -> None:
        """Nodes say this of themselves. hint: and tell the leader that they did."""
        if self.full:
            return
        self.statuses.update(statuses)
        if hint:
            self.dirty.update(dict.fromkeys(map(str, statuses)))

    def take_dirty(self) -> set[str]:
        """Who has news; nobody has any more."""
        found = set(self.dirty)
        self.dirty.clear()
        return found

    def take_woken(self) -> dict[int, bytes]:
        """Documents of which their nodes were told since the last call."""
        found = {node: self.documents[node] for node in self.woken if node in self.documents}
        self.woken.clear()
        return found


class SimulatedBus:
    """One leader's. redis: of all sub-clusters. hint: called with sub-clusters that have rows to read."""

    def __init__(
        self,
        redis: Mapping[int, SimulatedRedis],
        sub: int,
        epoch: int,
        clock: Clock,
        hint: Callable[[Iterable[int]], None] = lambda _: None,
    ):
        self.all, self.own, self.epoch, self.clock, self.hint = redis, redis[sub], epoch, clock, hint

    def _reach(self) -> None:
        if self.own.down:
            raise BusDown("Redis does not answer")

    def _write(self) -> None:
        self._reach()
        if self.own.full:
            raise BusDown("Redis is full")

    def _fence(self) -> bool:
        """As the scripts in Redis do; whether Redis knew an epoch."""
        known = self.own.epoch
        if known is not None and known > self.epoch:
            raise Fenced("a leader with a higher epoch has published")
        return known is not None

    def wait(self, timeout_s: float) -> set[str]:
        self._reach()
        if not self.own.dirty:
            self.clock.sleep(timeout_s)
        return self.own.take_dirty()

    def wake(self, sub_clusters: Iterable[int]) -> None:
        self._write()
        woken = sorted(sub_clusters)
        for sub in woken:
            self.all[sub].dirty[keys.INTENTS] = None
        self.hint(woken)

    def notify_masters(self, jobs: Iterable[int]) -> None:
        self._write()
        self.own.masters.extend(jobs)

    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]:
        self._reach()
        return [self.own.statuses.get(node) for node in node_ids]

    def probe(self) -> None:
        self._write()

    def publish(self, documents: Mapping[int, bytes], templates: Mapping[bytes, bytes]) -> bool:
        self._write()
        self.own.templates.update(templates)
        intact = self._fence()
        self._put(documents)
        self.own.epoch = self.epoch
        return intact

    def _put(self, documents: Mapping[int, bytes]) -> None:
        self.own.put(documents)

    def withdraw_templates(self, digests: Collection[bytes]) -> None:
        """It takes no room, so a full Redis does it too."""
        self._reach()
        self._fence()
        for digest in digests:
            self.own.templates.pop(digest, None)

    def announce_policy(self, version: int, wake: bool = True) -> None:
        """A missing epoch is left to ``publish``, which tells."""
        self._write()
        if self._fence():
            self.own.epoch = self.epoch
        self.own.policy = policy.encode(self.epoch, version)

    def summary(self, shown: Summary, nodes: bytes, usage: Mapping[int, str]) -> None:
        self._write()
        self.own.summary = shown, nodes, dict(usage)


def read(bodies: list[bytes], rows: np.ndarray) -> Documents:
    """These documents as simulated nodes take them. rows: (k,) of their nodes."""
    head, entry, lease = DOCUMENT.itemsize, WANTED.itemsize, SIGNED_LEASE.itemsize
    heads = np.frombuffer(b"".join([body[:head] for body in bodies]), DOCUMENT)
    numbers = np.column_stack([heads[name].astype(np.int64) for name in ("epoch", "generation", "policy_version")])
    sizes, leased = heads["entries"].astype(np.int64), heads["leases"].astype(np.int64)
    splits = (head + sizes * entry).tolist()
    ends = (head + sizes * entry + leased * lease).tolist()
    wanted = b"".join([body[head:at] for body, at in zip(bodies, splits, strict=True)])
    leases = b"".join([body[a:b] for body, a, b in zip(bodies, splits, ends, strict=True) if b > a])
    return Documents(rows, numbers, np.frombuffer(wanted, WANTED), sizes, np.frombuffer(leases, SIGNED_LEASE), leased)
