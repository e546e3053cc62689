"""A leader's session with the simulated StateStore: it may break before a commit, after it, or at any word."""

from collections.abc import Callable

from controlplane.rm.changes import Changes
from controlplane.rm.ports import StoreDown
from simulator.faults.faultyredis import Crash
from simulator.rows import Federation
from simulator.store import SimulatedStore

LEASE_S = 3.0


class LeaderLease:
    """Who leads a sub-cluster until when, s. A leader whose lease has run out leads on until somebody takes it."""

    def __init__(self, rows: Federation, sub: int):
        self.lease, self.clock = rows.subs[sub].lease, rows.clock
        self.until = 0.0

    def extend(self) -> None:
        self.lease.holder, self.until = "leader", self.clock.now + LEASE_S

    def release(self) -> None:
        self.lease.holder, self.until = "", self.clock.now

    def expire(self) -> None:
        """The lease may have run out."""
        if self.clock.now >= self.until:
            self.lease.holder = ""

    @property
    def free(self) -> bool:
        self.expire()
        return not self.lease.holder

    def take(self) -> int:
        """Lead; the new epoch."""
        self.lease.epoch += 1
        self.extend()
        return self.lease.epoch


class FaultySession(SimulatedStore):
    """meanwhile: what others do between the last word of the next round and its commit.

    fault: what becomes of the next commit: "" nothing, "before" it the session
    breaks, "after" it, or the leader's process ends ("crash before", "crash
    after"). committing: called before each commit with who writes.
    """

    def __init__(
        self,
        federation: Federation,
        sub: int,
        epoch: int,
        on_commit: Callable[[int, Changes], None],
        leader_lease: LeaderLease,
        committing: Callable[["FaultySession", Changes], None],
    ):
        super().__init__(federation, sub, epoch, on_commit)
        self.leader_lease, self.committing, self.fault, self.broken = leader_lease, committing, "", False
        self.meanwhile: Callable[[], None] | None = None

    def _reach(self) -> None:
        if self.broken:
            raise StoreDown("the session is gone")

    def _fence(self) -> None:
        super()._fence()
        self.leader_lease.extend()

    def renew(self) -> None:
        self._fence()

    def commit(self, changes: Changes) -> None:
        fault, self.fault = self.fault, ""
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        if fault.endswith("before"):
            self._break(fault)
        self._fence()
        self.committing(self, changes)
        super().commit(changes)
        if fault.endswith("after"):
            self._break(fault)

    def _break(self, fault: str) -> None:
        self.broken = True
        if fault.startswith("crash"):
            raise Crash(fault)
        raise StoreDown(f"the session broke {fault} the commit")
