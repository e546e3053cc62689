"""What the RM keeps of jobs that bring their own application master."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from contract.stored import StoredGroup
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry
    from controlplane.rm.rows import MasterSessionRow

MASTER = 0  # number of the master's own group
GRANT_S = 30.0  # a grant nobody uses is taken back after this
LEAVE_S = 30.0  # a master that has finished, and does not end by itself, is stopped after this
NEVER = float("inf")


@dataclass(slots=True)
class Declared:
    """Containers that a master needs at once beside itself, as submitted: ``count`` of ``shape``, (R,) int64.

    partition: a name, or None for the queue's. at: its position among the memory's.
    """

    count: int
    shape: np.ndarray
    partition: str | None
    at: int = 0


class JobIdentity(NamedTuple):
    """What templates say of a job. queue: the one it was submitted to, for a job may move and its templates stay."""

    name: str
    kind: str
    queue: str
    user: str


@dataclass(slots=True)
class Application:
    """Of one job. identity: what its templates say of it.

    specs: its groups as submitted or asked for, by number. last_event: number of the
    last event its master was told. leave_us: when a master that has finished
    is stopped, 0 before.
    """

    identity: JobIdentity
    specs: list[StoredGroup]
    log_max_bytes: int
    declared: Declared | None = None
    last_event: int = 0
    leave_us: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """What a container that was granted first is to run, in place of what its group's share. tag: told again later."""

    template: bytes
    digest: bytes
    timeout_s: int
    tag: str = ""


@dataclass(slots=True)
class Masters:
    """All of them. jobs: live ones, guests too. open_grants: container id -> until when it may be launched.

    Times are s on the database's clock. warned: containers whose masters know that they will be stopped. upserts:
    groups whose rows are to be written with their count. resuming: sessions of jobs
    that were ending when a new leader came. lost: why all containers here end at once, or "".
    """

    grant_s: float = GRANT_S
    jobs: dict[int, JobEntry] = field(default_factory=dict)
    open_grants: dict[int, float] = field(default_factory=dict)
    launches: dict[int, Launch] = field(default_factory=dict)
    warned: set[int] = field(default_factory=set)
    upserts: dict[tuple[int, int], GroupEntry] = field(default_factory=dict)
    resuming: list[MasterSessionRow] = field(default_factory=list)
    lost: str = ""

    def enter(self, job: JobEntry) -> None:
        if job.application is not None:
            self.jobs[job.id] = job

    def leave(self, job: JobEntry) -> None:
        self.jobs.pop(job.id, None)

    def due(self) -> float:
        """When something has to be taken back or stopped, s on the database's clock."""
        leaving = [a.leave_us / 1e6 for j in self.jobs.values() if (a := j.application) is not None and a.leave_us]
        return min([*self.open_grants.values(), *leaving], default=NEVER)

    def own_templates(self, ids: np.ndarray, leases: np.ndarray) -> None:
        """Leases (k,) ``LEASE`` of these containers (k,): those launched for themselves name their own template."""
        if not self.launches:
            return
        for at, cid in enumerate(ids.tolist()):
            launch = self.launches.get(cid)
            if launch is not None:
                leases["template"][at], leases["timeout_s"][at] = np.void(launch.digest), launch.timeout_s

    def templates(self, ids: np.ndarray) -> dict[bytes, bytes]:
        """Templates of their own that these containers need, by digest."""
        found = [self.launches[cid] for cid in ids.tolist() if cid in self.launches] if self.launches else []
        return {launch.digest: launch.template for launch in found}
