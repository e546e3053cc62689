"""The shares this sub-cluster was assigned by the GPG, and how its queues use them.

With an assignment, what a queue is guaranteed here is what the GPG found to be
its share here, instead of a part of the policy by size. One that is old, or
made for another policy version, stays in force, but then no queue is owed more
than it holds, so nothing is preempted on its account.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from controlplane.statestore.capacities import R, fitted, within_ceilings
from controlplane.statestore.shares import UNLIMITED, Assignment
from scheduler.registry import SHARES

if TYPE_CHECKING:
    from controlplane.rm.memory.queues import QueueTree
    from controlplane.rm.ports import Clock, Store

LOOK_S = 1.0  # between two looks without a hint


class Fitted(NamedTuple):
    """(q, R) int64 each, as in ``Queues``."""

    guaranteed: np.ndarray
    owed: np.ndarray
    maximum: np.ndarray


@dataclass(slots=True)
class KnownShares:
    """What is known of the assignment. refreshed_at: monotonic seconds of the last look. stale: preempts nothing."""

    assigned: Assignment | None = None
    refreshed_at: float = -1e9
    stale: bool = True
    _fitted: dict[str, tuple[Any, Fitted]] = field(default_factory=dict)

    def refresh(self, store: Store, clock: Clock, hinted: bool = False) -> bool:
        """Take the latest assignment in, at most once a second without a hint; whether the shares are others now."""
        now = clock.monotonic()
        if not hinted and now - self.refreshed_at < LOOK_S:
            return False
        self.refreshed_at = now
        known = self.assigned
        found = store.shares(known.version if known else -1)
        if found is not None and found.tables is None and known is not None:
            self.assigned = Assignment(found.version, found.at_us, found.policy_version, known.tables)
            return False
        self.assigned = found
        self._fitted.clear()
        return found is not known

    def settle(self, queues: QueueTree, now_us: int) -> None:
        """Work out whether the assignment is too old, or another policy's, to preempt for."""
        of, limit_s = self.assigned, queues.components.shares.parameters.stale_s
        self.stale = of is None or of.policy_version != queues.version or now_us - of.at_us > limit_s * 1e6

    def settled(self, queues: QueueTree) -> bool:
        """Whether nobody gives way to anybody: what was assigned is too old, also where it left a partition out."""
        return self.stale and self.assigned is not None and SHARES[queues.components.shares.policy].assigns is not None

    def of(self, queues: QueueTree, partition: str, guaranteed: np.ndarray, maximum: np.ndarray) -> Fitted | None:
        """What the queues get here; None where nothing was assigned.

        guaranteed, maximum: (q, R) int64 by size, as they are without
        assignments; a queue that the assignment's policy did not have keeps
        this guarantee. Callers must not write to any of them.
        """
        of, policy = self.assigned, SHARES[queues.components.shares.policy]
        if of is None or of.tables is None or policy.assigns is None:
            return None
        table = of.tables.get(partition)
        if table is None:
            return None
        known = self._fitted.get(partition)
        if known is None or known[0] is not maximum:
            found = _fit(queues, table, guaranteed, maximum, of.policy_version == queues.version)
            known = self._fitted[partition] = (maximum, found)
        return known[1]


def _fit(
    queues: QueueTree, table: tuple[list[str], np.ndarray], guaranteed: np.ndarray, maximum: np.ndarray, same: bool
) -> Fitted:
    """The assigned shares within what there is now. same: they were made for these queues."""
    paths, rows = table
    at = np.array([queues.index.get(path, -1) for path in paths], np.int64)
    rows, at = rows[at >= 0], at[at >= 0]
    most = within_ceilings(queues.hierarchy, maximum, at, rows[:, 2 * R :], UNLIMITED) if same else maximum
    wanted, owed = np.zeros_like(guaranteed) if same else guaranteed.copy(), np.zeros_like(guaranteed)
    wanted[at], owed[at] = rows[:, :R], rows[:, R : 2 * R]
    found = fitted(queues.hierarchy, wanted, most)
    return Fitted(found, fitted(queues.hierarchy, np.minimum(owed, found), most), most)
