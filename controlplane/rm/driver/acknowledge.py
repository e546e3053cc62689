"""What a leader says of the policy version it runs: to its nodes, and of itself and them to everybody."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Bus, BusDown, Clock, Store
from controlplane.statestore.acknowledgements import LAGGARDS_MAX, NodesRun
from wire.states import NodeState

EVERY_S = 0.15  # between two rows while a version spreads
ANYWAY_S = 5.0  # nodes come and go also when no version spreads
AGAIN_S = 2.0  # until the announcement is put again: Redis may have lost it


@dataclass(slots=True)
class Acknowledger:
    """Writes the row when it says something new. announce: called after that, for screens. Times: monotonic s."""

    announce: Callable[[], None] = lambda: None
    checked_at: float = -1e9
    _announced: int = -1  # version
    _announced_at: float = -1e9
    _reported: tuple[int, NodesRun] | None = None

    def report(self, m: Memory, store: Store, bus: Bus, clock: Clock) -> None:
        """At once when the leader has taken a version in; else at most every ``EVERY_S``, and nothing when idle."""
        now, version = clock.monotonic(), m.queues.target
        if version != self._announced or now - self._announced_at >= AGAIN_S:
            self._announce(bus, version, now)
        known = self._reported is not None and self._reported[0] == version
        if known and now - self.checked_at < (EVERY_S if m.nodes.policy_moved else ANYWAY_S):
            return
        self.checked_at, m.nodes.policy_moved = now, False
        acknowledgement = version, nodes_run(m)
        if acknowledgement != self._reported:
            store.acknowledge(version, m.queues.pushed_us, acknowledgement[1])
            self._reported = acknowledgement
            self.announce()

    def due_s(self, m: Memory, clock: Clock) -> float:
        """Until there is something to say, if nodes have said something new; else a long time."""
        return self.checked_at + EVERY_S - clock.monotonic() if m.nodes.policy_moved else 1e9

    def _announce(self, bus: Bus, version: int, now: float) -> None:
        try:
            bus.announce_policy(version, wake=version != self._announced)
        except BusDown:
            return  # at the next pass
        self._announced, self._announced_at = version, now


def nodes_run(m: Memory) -> NodesRun:
    """Counts, laggards and times of the nodes that are not lost."""
    n, size = m.nodes, len(m.nodes)
    live = (n.state[:size] == NodeState.UP) | (n.state[:size] == NodeState.UNHEALTHY)
    versions = n.policy_version[:size]
    numbers, counts = np.unique(versions[live], return_counts=True)
    late = np.flatnonzero(live & (versions != m.queues.target))[:LAGGARDS_MAX]
    at_us = n.policy_us[:size][live & (versions == m.queues.target)]
    ms = np.maximum(at_us[at_us > 0] - m.queues.pushed_us, 0) / 1000
    steps, nodes = np.unique(rounded_up(ms), return_counts=True)
    return NodesRun(
        dict(zip(numbers.tolist(), counts.tolist(), strict=True)),
        [n.rows[at].name for at in late.tolist()],
        list(zip(steps.tolist(), nodes.tolist(), strict=True)),
        round(float(ms.max()) / 1000, 4) if len(ms) else None,
    )


def rounded_up(ms: np.ndarray) -> np.ndarray:
    """To two significant digits and whole milliseconds, so that any number of nodes has few different times."""
    whole = np.maximum(np.ceil(ms), 1.0)
    step = 10.0 ** np.maximum(np.floor(np.log10(whole)) - 1, 0)
    found: np.ndarray = (np.ceil(whole / step) * step).astype(np.int64)
    return found
