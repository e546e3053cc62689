"""Steps 3 to 5 of a round: the pure plan of each partition, applied to the memory."""

from dataclasses import dataclass, field

import numpy as np

from controlplane.rm import reasons, reclaim, windows
from controlplane.rm.changes import Changes
from controlplane.rm.jobs import GroupEntry
from controlplane.rm.memory import Memory
from controlplane.rm.outcome import allocate
from controlplane.rm.policies import round_policy
from controlplane.rm.view import View, partition_view
from scheduler.core.invariants import check_plan
from scheduler.core.plan import Plan, Why
from scheduler.core.snapshot import Memo
from scheduler.round import RoundPolicy, plan_round
from wire.states import JobState

EXPLAINED_PER_ROUND = 200
HELD_BACK_S = 0.25  # until asks that wait for a near node are looked at again
NEVER = float("inf")


@dataclass(slots=True)
class Planner:
    """What planning keeps from round to round beside the memory.

    again_at: when to plan again though nothing has happened, s on the
    database's clock. explained: groups whose reasons should be written.
    frozen: most nodes are silent, so nothing is taken from anybody.
    """

    sub: int
    m: Memory
    check: bool
    rng: np.random.Generator
    again_at: float = NEVER
    frozen: bool = False
    explained: dict[tuple[int, int], GroupEntry] = field(default_factory=dict)
    _policy: RoundPolicy = field(default_factory=RoundPolicy)
    _version: int = -1
    _interval_s: float = 1.0
    _reclaimed: float = -NEVER
    _waiting: set[tuple[int, int]] = field(default_factory=set)  # groups that wait for room, as of the last plan

    def policy(self) -> RoundPolicy:
        """The policy in force."""
        queues = self.m.queues
        if self._version != queues.version:
            self._version, self._policy = queues.version, round_policy(queues.components)
            self._interval_s = queues.components.preemption.parameters.interval_s
        return self._policy

    def due(self, now: float) -> bool:
        return self.m.placeable or now >= self.again_at

    def run(self, c: Changes, touched: set[tuple[int, int]]) -> None:
        """Plan every partition in which somebody asks. ``touched``: groups that may want more or less."""
        m, now = self.m, c.at_us / 1e6
        m.placeable, self.again_at = False, NEVER
        m.refresh(touched, now)
        policy = self.policy()
        reclaims = policy.preemption.enabled and not self.frozen and now - self._reclaimed >= self._interval_s
        reclaims &= bool(self._waiting or m.warned)
        if reclaims:
            self._reclaimed = now
        waiting: set[tuple[int, int]] = set()
        for partition, name in enumerate(m.partitions):
            rows = m.asks.wanting(partition)
            if len(rows) or (reclaims and m.warned):
                view = windows.clear_of(m.nodes, partition_view(m, partition, rows, now, reclaims), c.at_us)
                self._plan(c, name, view, policy, waiting)
        self._forget_reasons(c, waiting)

    def _plan(self, c: Changes, name: str, view: View, policy: RoundPolicy, waiting: set[tuple[int, int]]) -> None:
        m, now = self.m, c.at_us / 1e6
        plan, m.memos[name] = plan_round(view.snapshot, m.memos.get(name, Memo()), (), policy, now, self.rng)
        if self.check:
            check_plan(view.snapshot, plan)
        self._place(c, plan, view)
        reclaim.carry_out(m, c, plan.preempt, view, policy.preemption.grace_s)
        self._explain(plan, view, waiting)
        if len(plan.place.ask) >= policy.placement.batch:
            m.placeable = True  # the batch was full; go on in the next round
        if plan.refused is not None:
            held_back = bool((plan.refused.why == Why.LOCALITY_WAIT).any())
            self.again_at = min(self.again_at, now + (HELD_BACK_S if held_back else self._interval_s))

    def _place(self, c: Changes, plan: Plan, view: View) -> None:
        ask, node = plan.place.ask, view.nodes[plan.place.node]
        if not len(ask):
            return
        order = np.argsort(ask, kind="stable")
        ask, node = ask[order], node[order]
        starts = np.flatnonzero(np.r_[True, ask[1:] != ask[:-1]])
        for start, end in zip(starts, np.r_[starts[1:], len(ask)], strict=True):
            job, group = view.owner(self.m, ask[start])
            if job.run.state == JobState.ADMITTED:
                c.jobs[job.id] = job
            allocate(self.m, c, self.sub, job, group, node[start:end])
            self.m.asks.since[group.row] = c.at_us / 1e6

    def _explain(self, plan: Plan, view: View, waiting: set[tuple[int, int]]) -> None:
        refused = plan.refused
        if refused is None:
            return
        columns = (refused.ask, refused.missing, refused.why, refused.detail)
        for number, (ask, missing, why, queue) in enumerate(zip(*(x.tolist() for x in columns), strict=True)):
            job, group = view.owner(self.m, ask)
            waiting.add((job.id, group.run.no))
            if number < EXPLAINED_PER_ROUND:
                group.reason = reasons.explain(view.snapshot, group, ask, missing, why, queue)
                self.explained[job.id, group.run.no] = group

    def _forget_reasons(self, c: Changes, waiting: set[tuple[int, int]]) -> None:
        """Groups that had to say why they wait, and do not any more."""
        for key in self._waiting - waiting:
            found = self.m.asking.get(key)
            if found is not None and found[1].reason is not None:
                found[1].reason = None
                c.groups[key] = found[1]
        self._waiting = waiting
