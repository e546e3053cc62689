"""Which nodes are lost. Pure.

A node is lost when its sequence has stood still for ``lost_s`` of *answered
time*: a clock that advances only while this leader runs, and Redis answers and takes
its writes, so that neither a paused leader nor a paused or full Redis makes a node look silent. When
over half of the live nodes have been silent for half that time, nobody is
lost: the fault is more likely ours. After ``certain_s`` even then, since a cut-off node has
stopped its containers by itself by that time.
"""

from dataclasses import dataclass

import numpy as np

from wire.states import NodeState

LONGEST_STEP_S = 2.0


@dataclass(slots=True)
class AnsweredClock:
    """``now`` advances by the time between two answers, reads and a write alike, at most two seconds each."""

    now: float = 0.0
    _last: float | None = None

    @property
    def started(self) -> bool:
        return self._last is not None

    def by(self, monotonic: float) -> float:
        """What it will show if Redis answers now; by itself it stands still, so nobody may wait for it."""
        if self._last is None:
            return self.now
        return self.now + min(max(0.0, monotonic - self._last), LONGEST_STEP_S)

    def answered(self, monotonic: float) -> float:
        if self._last is not None:
            self.now += min(max(0.0, monotonic - self._last), LONGEST_STEP_S)
        self._last = monotonic
        return self.now


def lost_nodes(
    state: np.ndarray, seen: np.ndarray, now: float, lost_s: float, certain_s: float
) -> tuple[np.ndarray, bool]:
    """(positions of nodes to declare lost, whether the sub-cluster is frozen).

    state: (n,) NodeState. seen, now: answered time in seconds.
    """
    watched = (state == NodeState.UP) | (state == NodeState.UNHEALTHY)
    silent = watched & (now - seen >= lost_s)
    # Those that fell silent together reach ``lost_s`` one after the other: half of it shows that they have.
    quiet = watched & (now - seen >= lost_s / 2)
    frozen = bool(quiet.sum() * 2 > watched.sum())
    if frozen:
        silent &= now - seen >= certain_s
    return np.flatnonzero(silent), frozen
