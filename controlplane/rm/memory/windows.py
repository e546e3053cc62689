"""Which nodes operators keep from new work, and since and until when: their duty and the maintenance windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from controlplane.rm.memory.nodes import NEVER_US, NodeTable, chosen
from controlplane.rm.rows import IN_SERVICE, NodeRow, WindowRow
from scheduler.core.nodeselection import window_nodes
from scheduler.lifecycle.draining import window_phase

CORDONED = "cordoned"


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window: of one node, a rack, what a label expression matches, or all of a drained sub-cluster.

    Times in microseconds.

    From ``lead_us`` on services leave these nodes and nothing new comes;
    at ``starts_us`` they are to be empty; at ``ends_us`` they work again.
    """

    node: str
    rack: str
    labels: str
    message: str
    lead_us: int
    starts_us: int
    ends_us: int

    @property
    def whole(self) -> bool:
        """Whether it is the drain of the sub-cluster."""
        return not (self.node or self.rack or self.labels)

    def matches(self, rows: Sequence[NodeRow]) -> np.ndarray:
        """Which of these nodes it is about: (n,) bool."""
        return chosen(window_nodes(self.node, self.rack, self.labels), rows)

    def phase(self, now_us: int) -> str:
        """As of ``window_phase``."""
        return window_phase(now_us, self.lead_us, self.ends_us)


def take(nodes: NodeTable, rows: Iterable[WindowRow]) -> None:
    """Put these windows (``Store.windows``) in force."""
    nodes.windows = [
        Window(
            row.node, row.rack, row.labels, row.message, row.starts_us - row.lead_s * 1_000_000, row.starts_us,
            row.ends_us,
        )
        for row in rows
    ]  # fmt: skip
    nodes.settle_us = 0


def settle(nodes: NodeTable, now_us: int) -> bool:
    """Work out who is closed and leaving now, where that may have changed; whether it has."""
    if now_us < nodes.settle_us:
        return False
    n = len(nodes)
    before = nodes.closed[:n].tobytes() + nodes.next_window_us[:n].tobytes()
    for at, row in enumerate(nodes.rows):
        _duty(nodes, at, row)
    nodes.next_window_us[:n] = NEVER_US
    due = NEVER_US
    for window in nodes.windows:
        due = min([due, *(t for t in (window.lead_us, window.starts_us, window.ends_us) if t > now_us)])
        if window.phase(now_us) != "over":
            _window(nodes, window, now_us)
    nodes.settle_us = due
    return nodes.closed[:n].tobytes() + nodes.next_window_us[:n].tobytes() != before


def _duty(nodes: NodeTable, at: int, row: NodeRow) -> None:
    deadline = row.duty_deadline_us
    nodes.closed[at] = row.duty != IN_SERVICE
    nodes.leaving[at] = row.duty not in (IN_SERVICE, CORDONED)
    nodes.leave_us[at] = deadline if nodes.leaving[at] and deadline is not None else NEVER_US


def _window(nodes: NodeTable, window: Window, now_us: int) -> None:
    at = np.flatnonzero(window.matches(nodes.rows))
    if window.phase(now_us) == "planned":
        nodes.next_window_us[at] = np.minimum(nodes.next_window_us[at], window.starts_us)
        return
    nodes.closed[at] = nodes.leaving[at] = True
    nodes.leave_us[at] = np.minimum(nodes.leave_us[at], window.starts_us)


def drained(nodes: NodeTable, now_us: int) -> bool:
    """Whether the whole sub-cluster is being emptied."""
    return any(window.whole and window.phase(now_us) == "active" for window in nodes.windows)


def why(nodes: NodeTable, at: int, now_us: int) -> str:
    """Why the node is being emptied, as part of a sentence."""
    row = nodes.rows[at]
    if row.duty not in (IN_SERVICE, CORDONED):
        reason, message = f"node {row.name} is being drained", row.duty_message
    else:
        now = [w for w in nodes.windows if w.phase(now_us) == "active" and w.matches([row])[0]]
        cause = "with its sub-cluster" if now and now[0].whole else "for maintenance"
        reason, message = f"node {row.name} is being emptied {cause}", now[0].message if now else ""
    return f"{reason}: {message}" if message else reason
