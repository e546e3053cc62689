"""A leader's session with the simulated StateStore: it may break at any word, before a commit and after it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

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


@dataclass(slots=True)
class Breaking:
    """A session breaks after so many more words, reads among them. crashes: and the leader's process ends with it."""

    words: int
    crashes: bool


class FaultySession(SimulatedStore):
    """meanwhile: what others do between the last word of the next round and its commit.

    fault: what becomes of the next commit: "" nothing, "before" it the session
    breaks, "after" it, or the leader's process ends ("crash before", "crash
    after"). breaking: whether it breaks at some other word. committing: called
    before each commit with who writes.
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
        self.breaking: Breaking | None = None

    def _reach(self) -> None:
        if self.breaking is not None:
            self.breaking.words -= 1
            if self.breaking.words < 0:
                self._break("at a word", self.breaking.crashes)
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
        crashes = fault.startswith("crash")
        if fault.endswith("before"):
            self._break("before the commit", crashes)
        self._fence()
        self.committing(self, changes)
        breaking, self.breaking = self.breaking, None  # a commit is one word
        super().commit(changes)
        self.breaking = breaking
        if fault.endswith("after"):
            self._break("after the commit", crashes)

    def _break(self, when: str, crashes: bool) -> None:
        self.broken = True
        if crashes:
            raise Crash(when)
        raise StoreDown(f"the session broke {when}")


def _reaching(word: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where the session is."""

    @wraps(word)
    def said(self: FaultySession, *args: Any, **more: Any) -> Any:
        self._reach()
        return word(self, *args, **more)

    return said


for _name, _word in vars(SimulatedStore).items():
    if callable(_word) and not _name.startswith("_") and _name not in vars(FaultySession):
        setattr(FaultySession, _name, _reaching(_word))
