"""One sub-cluster's Redis with what is on its way to it, and the leaders' port to it, which may break.

Everything here may be lost, doubled, late or out of order: a status that was
sent flies until it is delivered, and documents that were replaced may be read
once more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.rm.ports import Clock
from simulator.bus import SimulatedBus, SimulatedRedis
from wire import status

_OLD_KEPT = 6


class Crash(Exception):
    """The leader's process ends here."""


@dataclass(slots=True)
class InFlightStatus:
    """A node's status on its way to Redis. hint: whether it tells the leader of it. sent_at: as its agent knows."""

    node: int
    data: bytes
    hint: bool
    sent_at: float | None = None


@dataclass(slots=True)
class FaultyRedis(SimulatedRedis):
    """old: documents that were replaced, by node, oldest first. in_flight: what is on its way to it."""

    old: dict[int, list[bytes]] = field(default_factory=dict)
    in_flight: list[InFlightStatus] = field(default_factory=list)

    def put(self, documents: Mapping[int, bytes]) -> None:
        for node in documents:
            before = self.documents.get(node)
            if before is not None:
                self.old[node] = [*self.old.get(node, ()), before][-_OLD_KEPT:]
        # A dataclass with slots is another class than the one ``super`` would look for.
        SimulatedRedis.put(self, documents)

    def silence(self, node: int) -> None:
        """Nothing of what the node has said is heard any more: it registers anew."""
        self.in_flight = [flight for flight in self.in_flight if flight.node != node]
        self.statuses.pop(node, None)

    def deliver(self, flight: InFlightStatus) -> bool:
        """A status arrives; whether it was taken."""
        if not self.down:
            self.report({flight.node: flight.data}, flight.hint)
        return not (self.down or self.full)


class FaultyBus(SimulatedBus):
    """The Bus port of one leader.

    now: answered time, s. newest_status_at: when each node's last status was read that counts
    further than all before, by ``now``; changed_status_at: that was another one than before.
    sent: told of every document before it can be read. breaks_after: the leader
    ends once it has put so many documents.
    """

    def __init__(
        self,
        redis: Mapping[int, FaultyRedis],
        sub: int,
        epoch: int,
        clock: Clock,
        now: Callable[[], float],
        sent: Callable[[int, bytes], None],
    ):
        super().__init__(redis, sub, epoch, clock)
        self.now, self.sent = now, sent
        self.newest_status_at: dict[int, float] = {}
        self.changed_status_at: dict[int, float] = {}
        self._seen: dict[int, tuple[bytes, int]] = {}
        self.breaks_after: int | None = None

    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]:
        found = super().statuses(node_ids)
        for node, data in zip(node_ids, found, strict=True):
            if data is not None:
                self._note_status(node, data)
        return found

    def _note_status(self, node: int, data: bytes) -> None:
        known, last = self._seen.get(node, (b"", -1))
        if known is data:
            return
        try:
            seq = status.decode(data).seq
        except status.StatusError:
            return
        self.changed_status_at[node] = self.now()
        if seq > last:
            self.newest_status_at[node] = self.now()
        self._seen[node] = data, max(seq, last)

    def registered(self, node: int) -> None:
        """The node has registered, and so it is there; its last status counts as another one."""
        self._seen.pop(node, None)
        self.changed_status_at[node] = self.now()

    def _put(self, documents: Mapping[int, bytes]) -> None:
        for number, (node, body) in enumerate(documents.items()):
            if number == self.breaks_after:
                raise Crash("while it published")
            self.sent(node, body)
            self.own.put({node: body})
