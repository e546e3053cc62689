"""A node's agent on a virtual clock: what ``nodemanager.agent`` does around the same core, without threads."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from nodemanager import events as ev
from nodemanager.containers import Node
from nodemanager.core import Core
from nodemanager.lifecycle import meta
from nodemanager.state import SEQ_RESERVE, container_from_json, container_to_json
from simulator.bus import SimulatedRedis
from simulator.clock import VirtualClock
from simulator.faults.machine import Machine, Process
from wire import desired, policy, status, template
from wire.desired import Lease


class Watcher(Protocol):
    """Who hears what agents do."""

    def applied(self, machine: Machine, doc: desired.Desired) -> None: ...
    def started(self, machine: Machine, process: Process) -> None: ...
    def forgotten(self, machine: Machine, container: int) -> None: ...


Order = tuple[str, int, float, Lease | None, dict[str, object]]  # what, container, grace in s, and of a start all else


class Agent:
    """inbox: what has happened and the core has not heard of. orders: those that have not reached the supervisor, in
    their order. localize_error: why a container's files cannot be fetched, "" where they can."""

    def __init__(
        self,
        machine: Machine,
        redis: SimulatedRedis,
        clock: VirtualClock,
        key: bytes,
        max_disconnect_s: float,
        watcher: Watcher,
        localize_error: Callable[[int], str] = lambda container: "",
    ):
        self.machine, self.redis, self.clock, self.key, self.watcher = machine, redis, clock, key, watcher
        self.localize_error = localize_error
        self.core = Core(Node(machine.node, machine.sub, max_disconnect_s))
        self.seq = int(clock.wall_s * 1000)
        self._load()
        self.seq_reserved = 0
        self.inbox: deque[ev.Event] = deque()
        self.orders: list[Order] = []
        self.fetching: set[bytes] = set()
        self.listed = self.listed_before = False
        self.changed = self.persist = False
        self.last_document = self.last_policy = b""

    def _load(self) -> None:
        saved = self.machine.disk
        if saved is None:
            return
        self.core.epoch, self.core.generation = saved["epoch"], saved["generation"]
        held = [container_from_json(raw, self.clock.now) for raw in saved["containers"]]
        self.core.containers = {c.container_id: c for c in held}
        self.seq = max(saved["seq"], self.seq)

    def save(self) -> None:
        self.seq_reserved = self.seq + SEQ_RESERVE
        self.machine.disk = {
            "epoch": self.core.epoch,
            "generation": self.core.generation,
            "seq": self.seq_reserved,
            "containers": [container_to_json(c) for c in self.core.containers.values()],
        }
        self.persist = False

    # What it does when its turn comes

    def work(self) -> None:
        """Carry orders to the supervisor, and its news to the core."""
        now = self.clock.now
        if not self.listed:
            self._list(now)
        self.deliver(len(self.orders))
        for _ in range(len(self.inbox)):
            self.dispatch(self.inbox.popleft())
        self.dispatch(ev.Tick(now))

    def _list(self, now: float) -> None:
        first, self.listed, self.listed_before = not self.listed_before, True, True
        self.dispatch(ev.RuntimeListed(self.machine.runtime_list(now), now))
        if first:
            self.dispatch(ev.Recovered())
        self.dispatch(ev.HealthRead(0, 100_000))

    def deliver(self, most: int) -> None:
        """The first of its orders reach the supervisor."""
        now, orders = self.clock.now, self.orders[:most]
        del self.orders[:most]
        for what, container, grace_s, lease, said in orders:
            if what == "start" and lease is not None:
                process = self.machine.start(container, lease, said, now)
                if process is not None:
                    self.watcher.started(self.machine, process)
                    self.inbox.append(ev.Started(container, now))
            elif what == "stop":
                self.machine.stop(container, grace_s, now)
            elif what == "forget":
                self.machine.forget(container)

    def read(self, document: bytes | None = None) -> None:
        """Read what Redis holds for it, or this in its stead."""
        if self.machine.cut or self.redis.down or not self.listed:
            return
        now = self.clock.now
        self._document(document if document is not None else self.redis.documents.get(self.machine.node), now)
        policy_version = self.redis.policy
        if policy_version is not None and policy_version != self.last_policy:
            self.last_policy = policy_version
            self.dispatch(ev.PolicyVersionRead(*policy.decode(policy_version)))

    def _document(self, answer: bytes | None, now: float) -> None:
        if answer is None or answer == self.last_document:
            return  # absent is not empty
        try:
            doc = desired.decode(answer, self.machine.node, {1: self.key})
        except desired.DesiredError:
            return
        # An agent that has lost its memory believes an old document: two faults at once, which is not promised.
        if (self.core.epoch, self.core.generation) < self.machine.applied and self._older(doc):
            return
        self.last_document = answer
        self.dispatch(ev.DesiredRead(doc, now, self.clock.wall_s))
        if not self._older(doc):
            self.machine.applied = doc.epoch, doc.generation
        self.watcher.applied(self.machine, doc)

    def _older(self, doc: desired.Desired) -> bool:
        return (doc.epoch, doc.generation) < self.machine.applied

    def publish(self) -> tuple[bytes, bool] | None:
        """The complete status, and whether the leader is to look at it at once. What it tells is on disk first."""
        if self.machine.cut or self.redis.down or not self.listed:
            return None
        if self.persist:
            self.save()
        self.seq += 1
        if self.seq >= self.seq_reserved:
            self.save()
        news, self.changed = self.changed, False
        return status.encode(self.core.status(self.seq)), news

    def acknowledged(self, sent_at: float) -> None:
        """Redis says that it has a status that was sent then."""
        if not self.machine.cut and sent_at >= (self.core.last_contact or 0.0):
            self.dispatch(ev.Contact(sent_at))

    def exited(self, container: int, how: ev.Exit) -> None:
        """The supervisor says so."""
        self.inbox.append(ev.Exited(container, how))

    # Events and instructions

    def dispatch(self, event: ev.Event) -> None:
        self.execute(self.core.handle(event))

    def execute(self, instructions: list[ev.Instruction]) -> None:
        for instruction in list(instructions):
            self._do(instruction)

    def _do(self, instruction: ev.Instruction) -> None:
        match instruction:
            case ev.Persist():
                self.persist = True
            case ev.PublishStatus(patient):
                self.changed |= not patient
            case ev.FetchTemplate(digest):
                self._fetch(digest)
            case ev.Localize(container):
                self.inbox.append(ev.Localized(container, self.localize_error(container)))
            case ev.Start(container):
                held = self.core.containers[container]
                self.orders.append(("start", container, 0.0, held.lease, meta(held)))
            case ev.Stop(container, grace_s):
                self.orders.append(("stop", container, grace_s, None, {}))
            case ev.Kill(container):
                self.orders.append(("stop", container, 0.0, None, {}))
            case ev.Collect(container):
                self.inbox.append(ev.Collected(container, ""))
            case ev.Forget(container):
                self.watcher.forgotten(self.machine, container)
                self.orders.append(("forget", container, 0.0, None, {}))

    def _fetch(self, digest: bytes) -> None:
        body = self.redis.templates.get(digest)
        if body is None or self.machine.cut or self.redis.down:
            return  # the core asks again at every tick
        self.inbox.append(ev.TemplateRead(digest, template.decode(body, digest)))
