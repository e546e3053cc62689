"""Keeping the reasons of waiting groups true: which to work out now, and which to write.

A plan explains every ask in columns; sentences are made a few at a time, those
that would say something else first, so many per round. A reason
is written when it says something else than before; new numbers alone replace
old ones only every few seconds.
"""

from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.table import Table, column
from controlplane.rm.memory.view import PlanView
from controlplane.rm.reasons.waiting import about, alike, back_off, moment, with_others, with_preemption, with_tenants
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.explain.columns import Explanation, LocalityDelay, Outcome, explain_all
from scheduler.explain.forecast import Forecast
from scheduler.explain.sentence import describe

REFRESH_S = 5.0  # the numbers of a reason may be this old
SENTENCES = 32  # worked out in one round; a hundredth to half a millisecond each
_BACKOFF = -1  # in place of limits: it waits before it tries again

Key = tuple[int, int]  # job, group


@dataclass(slots=True)
class _Plan:
    """One partition's last explanation, and what runs there."""

    view: PlanView
    explanation: Explanation
    rows: np.ndarray  # (w,) of the ask table


@dataclass(slots=True)
class _Seen:
    """What ran in a partition at ``at``. place: versions of what it refers to by position."""

    place: tuple[int, int, int]
    snapshot: Snapshot
    free: np.ndarray
    at: float
    forecast: Forecast | None = None


class _Reported(Table):
    """By row of the ask table: of which ask a reason was reported (-1: of none), its limits, and when (s). Of one that
    pauses ``at`` is when the next task starts; pausing: how many paused; pauses: had begun by then."""

    key: np.ndarray = column(np.int64, fill=-1)
    limits: np.ndarray = column(np.int16)
    at: np.ndarray = column(np.float64)
    pausing: np.ndarray = column(np.int64)
    pauses: np.ndarray = column(np.int64)


@dataclass(slots=True)
class ReasonReporter:
    """more: sentences are still owed. waiting: by row of the ask table, whether its group waits by the last plan."""

    more: bool = False
    reported: _Reported = field(default_factory=_Reported)
    waiting: np.ndarray = field(default_factory=lambda: np.empty(0, np.bool_))
    _somebody: bool = False  # waited when all was last planned
    _plans: dict[str, _Plan] = field(default_factory=dict)
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def begin(self, m: Memory) -> None:
        """All partitions are about to be planned."""
        rows = len(m.asks.key)
        self.reported.reserve(rows)
        self._somebody = bool(self.waiting.any())
        self.waiting = np.zeros(rows, np.bool_)
        self._plans.clear()

    def refresh_due(self, name: str, now: float) -> bool:
        """Whether it is time to see again what runs, for estimates."""
        known = self._seen.get(name)
        return self._somebody and (known is None or now - known.at >= REFRESH_S)

    def invalidate(self, rows: np.ndarray) -> None:
        """Something has come up for these rows of the ask table that their groups should be told soon."""
        self.reported.at[rows] = 0.0

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
        """A partition was planned."""
        s = view.snapshot
        if s.running is not None and self.refresh_due(name, now):
            place = (m.nodes.labels_version, m.queues.version, len(view.nodes))
            self._seen[name] = _Seen(place, s, outcome.free, now)
        if not (outcome.left > 0).any():
            return
        e = explain_all(s, outcome, memo, locality_delay, now)
        rows = view.asks[e.columns.ask]
        self.waiting[rows] = True
        self._plans[name] = _Plan(view, e, rows)

    def report(self, m: Memory, now: float) -> dict[Key, GroupEntry]:
        """Groups whose reason has changed. now: s, as ``record_plan``."""
        changed = self._forget(m)
        self._back_off(m, now, changed)
        left, self.more = SENTENCES, False
        for name, plan in self._plans.items():
            left -= self._sentences(m, name, plan, left, changed)
        return changed

    def _sentences(self, m: Memory, name: str, plan: _Plan, most: int, changed: dict[Key, GroupEntry]) -> int:
        """Up to so many, those that would say something else first; how many these were."""
        e, rows = plan.explanation, plan.rows
        keys = plan.view.snapshot.asks.key[e.columns.ask]
        theirs = m.asks.key[rows] == keys
        fresh = (self.reported.key[rows] != keys) | (self.reported.limits[rows] != e.columns.limits)
        old = ~fresh & (e.now - self.reported.at[rows] >= REFRESH_S)
        first = np.flatnonzero(fresh & theirs)
        due = np.concatenate((first, np.flatnonzero(old & theirs)))[:most]
        forecast = self._forecast(m, name, plan) if len(due) else None
        for i in due.tolist():
            self._sentence(m, plan, i, forecast, changed)
        self.more |= most < len(first)
        return len(due)

    def _forecast(self, m: Memory, name: str, plan: _Plan) -> Forecast | None:
        """What runs, as last seen; None when nodes or queues are others since."""
        seen = self._seen.get(name)
        if seen is None or seen.place != (m.nodes.labels_version, m.queues.version, len(plan.view.nodes)):
            self._seen.pop(name, None)
            return None
        if seen.forecast is None:
            seen.forecast = Forecast(seen.snapshot, seen.free, seen.at)
        return seen.forecast

    def _sentence(
        self, m: Memory, plan: _Plan, i: int, forecast: Forecast | None, changed: dict[Key, GroupEntry]
    ) -> None:
        row = int(plan.rows[i])
        owner = m.asks.owner[row]
        assert owner is not None
        job, group = owner
        reason = describe(plan.explanation, i, about(m, plan.view, group, plan.explanation.now), forecast)
        reason = with_tenants(m, plan.view, int(plan.explanation.columns.ask[i]), reason)
        reason = with_others(m, job.id, group, reason)
        reason = with_preemption(m, m.queues.paths[job.queue_row], reason, plan.explanation.now)
        reason["at"] = moment(plan.explanation.now)
        self.reported.key[row], self.reported.at[row] = m.asks.key[row], plan.explanation.now
        self.reported.limits[row] = plan.explanation.columns.limits[i]
        if group.reason is None or not alike(group.reason, reason):
            group.reason = reason
            changed[job.id, group.run.no] = group

    def _forget(self, m: Memory) -> dict[Key, GroupEntry]:
        """Groups that were told and do not wait any more."""
        changed: dict[Key, GroupEntry] = {}
        known = self.reported.key >= 0
        for row in np.flatnonzero(known[: len(self.waiting)] & ~self.waiting).tolist():
            owner = m.asks.owner[row]
            same = owner is not None and m.asks.key[row] == self.reported.key[row]
            if same and owner is not None:
                job, group = owner
                if group.run.backing_off and self.reported.limits[row] == _BACKOFF:
                    continue
                if group.reason is not None:
                    group.reason = None
                    changed[job.id, group.run.no] = group
            self.reported.key[row] = -1
        return changed

    def _back_off(self, m: Memory, now: float, changed: dict[Key, GroupEntry]) -> None:
        """Groups of which nothing waits but starts that fall due later."""
        r = self.reported
        for key, group in m.backing_off.items():
            row, run = group.row, group.run
            due = run.next_due
            if due is None or row >= len(self.waiting) or self.waiting[row]:
                continue
            told = r.key[row], r.limits[row], r.at[row], r.pausing[row], r.pauses[row]
            new = m.asks.key[row], _BACKOFF, due, len(run.backing_off), run.pauses
            if told != new:
                group.reason = back_off(key[0], group, due - now) | {"at": moment(now)}
                r.key[row], r.limits[row], r.at[row], r.pausing[row], r.pauses[row] = new
                changed[key] = group
