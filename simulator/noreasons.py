"""Instead of the RM's ``ReasonReporter``: in a simulation nobody reads why a group waits, so no sentence is written."""

import numpy as np

from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.view import PlanView
from controlplane.rm.reasons.reporting import ReasonReporter
from scheduler.core.snapshot import Memo
from scheduler.explain.columns import LocalityDelay, Outcome


class NoReasonReporter(ReasonReporter):
    """Knows who waits, which rounds go by, and nothing else. What it does takes no time that a clock would show."""

    def refresh_due(self, name: str, now: float) -> bool:
        return False

    def record_plan(
        self,
        m: Memory,
        name: str,
        view: PlanView,
        outcome: Outcome,
        memo: Memo,
        locality_delay: LocalityDelay,
        now: float,
    ) -> None:
        self.waiting[view.asks[np.flatnonzero(outcome.left > 0)]] = True

    def report(self, m: Memory, now: float) -> dict[tuple[int, int], GroupEntry]:
        return {}
