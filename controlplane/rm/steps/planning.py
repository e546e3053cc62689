"""Steps 3 to 5 of a round: the pure plan of each partition, applied to the memory."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.columns import stretches
from controlplane.rm.memory.asks import IN_VAIN
from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import CONTAINERS_MAX
from controlplane.rm.memory.tenancy import of_one_tenant
from controlplane.rm.memory.view import PlanView, backfills, partition_view, without_maintenance
from controlplane.rm.reasons.reporting import ReasonReporter
from controlplane.rm.steps import reclaim
from controlplane.rm.steps.handover import Handover
from controlplane.rm.steps.outcome import allocate
from controlplane.rm.steps.policies import round_policy
from scheduler.core.invariants import check_plan, check_preempt, check_reserved
from scheduler.core.plan import Plan, Why
from scheduler.core.snapshot import Backfill, Memo
from scheduler.placement.reserve import next_change
from scheduler.preemption.eligibleasks import contested
from scheduler.round import RoundPolicy, plan_round
from wire.states import JobState

HELD_BACK_S = 0.25  # until asks that wait for a near node are looked at again
NEVER = float("inf")
TORN_S = 10.0
FOR_ROOM = (Why.NO_ROOM, Why.GANG, Why.RESERVED)  # who waits for this takes what becomes free


@dataclass(slots=True)
class Planner:
    """What planning keeps from round to round beside the memory.

    again_at: when to plan again though nothing has happened, s on the
    database's clock. reporter: why groups wait. explained: those whose reasons
    should be written. frozen: most nodes are silent, so nothing is taken from anybody.
    """

    sub: int
    m: Memory
    check: bool
    again_at: float = NEVER
    frozen: bool = False
    reporter: ReasonReporter = field(default_factory=ReasonReporter)
    explained: dict[tuple[int, int], GroupEntry] = field(default_factory=dict)
    _torn: dict[int, float] = field(default_factory=dict)  # rows of gangs that no nodes can tell of, until when
    _handovers: dict[str, Handover] = field(default_factory=dict)  # by partition
    _policy: RoundPolicy = field(default_factory=RoundPolicy)
    _version: int = -1
    _interval_s: float = 1.0
    _reclaimed: float = -NEVER
    _contested: bool = False  # when last planned, somebody waited for what others hold
    _held_back: bool = False  # or for nodes and racks that it prefers
    _reserves: float = NEVER  # when a node may next be held for somebody who waits, or no longer

    def policy(self) -> RoundPolicy:
        """The policy in force."""
        queues = self.m.queues
        if self._version != queues.target:
            self._version, self._policy = queues.target, round_policy(queues.components)
            self._interval_s = queues.components.preemption.parameters.interval_s
        return self._policy

    def due(self, now: float) -> bool:
        return self.m.placeable or now >= self.again_at

    def run(self, c: Changes) -> None:
        """Plan every partition in which somebody asks. The memory knows what every group wants, or that it does not."""
        m, now = self.m, c.at_us / 1e6
        m.placeable, self.again_at, self._held_back = False, NEVER, False
        self._reserves = NEVER
        m.refresh((), now)
        m.shares.settle(m.queues, c.at_us)
        policy = self.policy()
        if m.warned and not policy.preemption.takes:
            reclaim.clear_warnings(m)
            reclaim.spare(m, c)
        if not policy.preemption.observes:
            m.observed.clear()
        marked = bool(m.warned or m.observed.marks)
        reclaims = policy.preemption.reclaiming.plans and not self.frozen and now - self._reclaimed >= self._interval_s
        reclaims &= self._contested or marked  # looking at all that runs costs as much as placing
        if reclaims:
            self._reclaimed = now
        self._contested = False
        self.reporter.begin(m)
        for partition, name in enumerate(m.partitions):
            rows = self._wanting(partition, now)
            if len(rows) or (reclaims and marked):
                estimates = reclaims or self.reporter.refresh_due(name, now) or backfills(m, rows)
                view = without_maintenance(m.nodes, partition_view(m, partition, rows, now, estimates), c.at_us)
                view = self._handovers.setdefault(name, Handover()).view(m, view)
                self._plan(c, name, view, policy, reclaims)
            else:
                m.release_reservations(name)
                m.short_of_room.discard(name)
        reclaim.spare(m, c)
        if m.warned or m.observed.marks:
            self.again_at = min(self.again_at, now + self._interval_s)
        self.again_at = min(self.again_at, *self._torn.values(), NEVER)

    def postpone(self, until: float) -> None:
        """Look again at what waits no sooner, unless something happens, or a node is to be held or let go.

        Not while something is counted down: warnings, and how long somebody waits for nodes that it prefers.
        """
        if not (self.m.warned or self.m.observed.marks or self._torn or self._held_back):
            self.again_at = max(self.again_at, min(until, self._reserves))

    def report(self, now: float) -> None:
        """Work out some of the reasons that are owed. Also for rounds that plan nothing."""
        self.explained |= self.reporter.report(self.m, now)

    def _plan(self, c: Changes, name: str, view: PlanView, policy: RoundPolicy, reclaims: bool) -> None:
        m, now = self.m, c.at_us / 1e6
        seen = view.snapshot
        if not reclaims:
            seen = replace(seen, running=seen.running if seen.queues.backfill is not None else None, reclaim=False)
        observes = policy.preemption.observes
        memo = reclaim.still_warned(m, m.observed.with_marks(name, m.memos.get(name, Memo())))
        plan, after = plan_round(seen, memo, policy, now)
        m.memos[name] = m.observed.store_marks(name, after) if observes else after
        if self.check:
            check_plan(seen, plan)
            check_reserved(seen, plan, memo, after)
            check_preempt(seen, plan.preempt, after.warned, policy.preemption.per_round)
        self._handovers[name].look(m, view, plan.refused, now)
        self._place(c, plan, view)
        (reclaim.observe if observes else reclaim.apply_plan)(m, c, plan.preempt, view, policy.preemption.grace_s)
        if len(plan.preempt.warn) and not observes:
            self.reporter.invalidate(view.asks[np.isin(seen.ask_queue, plan.preempt.owed_to)])
        if plan.outcome is not None:
            self.reporter.record_plan(m, name, view, plan.outcome, m.memos[name], policy.placement, now)
            others = m.ledger.others(m.partitions.index(name), m.asks.job[view.asks])
            self._contested |= contested(plan.outcome.left, plan.outcome.why, others)
        m.asks.limit[view.asks] = _limits(m, view, plan)
        short = plan.refused is not None and bool(np.isin(plan.refused.why, FOR_ROOM).any())
        (m.short_of_room.add if short else m.short_of_room.discard)(name)
        if plan.refused is not None:
            unfinished = np.isin(plan.refused.why, (Why.ROUND_FULL, Why.QUEUE_SHARE)).any()
            m.placeable |= bool(unfinished and len(plan.place.ask))  # go on in the next round
            # Who was kept from a node that was held free until now may have it.
            m.placeable |= len(np.setdiff1d(memo.reserved_node, m.memos[name].reserved_node)) > 0
            held_back = bool((plan.refused.why == Why.LOCALITY_WAIT).any())
            self._held_back |= held_back
            p = policy.placement
            change = next_change(seen.asks.since, m.memos[name], p.reserve_after_s, p.reserve_max_s, now)
            self._reserves = min(self._reserves, change)
            self.again_at = min(self.again_at, now + (HELD_BACK_S if held_back else self._interval_s))

    def _wanting(self, partition: int, now: float) -> np.ndarray:
        """Rows of the ask table to plan for."""
        rows = self.m.asks.wanting(partition)
        if self._torn:
            self._torn = {row: until for row, until in self._torn.items() if now < until}
            rows = rows[~np.isin(rows, list(self._torn))]
        return rows

    def _told_of(self, ask: np.ndarray, node: np.ndarray, view: PlanView, now: float) -> np.ndarray:
        """Which of these containers their node's status has room for, (k,) bool; of a gang all or none.

        A gang that is left out is not planned for a while: others would wait behind it in vain.
        """
        room = CONTAINERS_MAX - self.m.nodes.containers[node]
        if len(ask) <= room.min(initial=CONTAINERS_MAX):
            return np.ones(len(ask), np.bool_)
        order = np.argsort(node, kind="stable")
        bounds = stretches(node[order])
        nth = np.empty(len(node), np.int64)  # of its node's
        nth[order] = np.arange(len(node)) - np.repeat(bounds[:-1], np.diff(bounds))
        told: np.ndarray = nth < room
        torn = np.unique(ask[~told & view.snapshot.asks.gang[ask]])
        self._torn |= dict.fromkeys(view.asks[torn].tolist(), now + TORN_S)
        return told & ~np.isin(ask, torn)

    def _place(self, c: Changes, plan: Plan, view: PlanView) -> None:
        ask, node = plan.place.ask, view.nodes[plan.place.node]
        told = self._told_of(ask, node, view, c.at_us / 1e6) & of_one_tenant(self.m, view, ask, node)
        if not told.all():
            ask, node = ask[told], node[told]
            self.m.placeable = True  # other nodes are left for the rest, and what was held for it for others
        if not len(ask):
            return
        order = np.argsort(ask, kind="stable")
        ask, node = ask[order], node[order]
        for start, end in pairwise(stretches(ask).tolist()):
            job, group = view.owner(self.m, ask[start])
            if job.run.state == JobState.ADMITTED:
                c.jobs[job.id] = job
            allocate(self.m, c, self.sub, job, group, node[start:end])
            self.m.asks.since[group.row] = c.at_us / 1e6


def _limits(m: Memory, view: PlanView, plan: Plan) -> np.ndarray:
    """``limit`` of each ask of the view, as the table of asks has it: (a,) int32.

    What waits for the maximum of a user waits for that of his queue, and so does a guest's ask that no node here could
    ever hold: more of the queue's asks need not come. Whom a strict queue lets nobody pass, they wait as he does.
    """
    found = np.full(len(view.asks), -1, np.int32)
    if (refused := plan.refused) is None:
        return found
    ask, leaf, queues = refused.ask, view.snapshot.ask_queue, view.snapshot.queues
    by_queue, by_user = refused.why == Why.QUEUE_MAXIMUM, refused.why == Why.USER_MAXIMUM
    key = view.snapshot.asks.key[ask]
    found[ask] = np.select(
        [by_queue, by_user, _among(key, m.unheld), _among(key, m.guests_unheld)],
        [refused.binding_row, leaf[ask], np.int32(IN_VAIN), leaf[ask]],
        np.int32(-1),
    )
    if queues.backfill is not None and plan.outcome is not None and plan.outcome.promised is not None:
        first = plan.outcome.promised.kept_back_by
        behind = (first >= 0) & (queues.backfill[leaf] == Backfill.STRICT) & (leaf == leaf[first])
        found[behind] = np.where(found[first] == IN_VAIN, leaf, found[first])[behind]
    return found


def _among(keys: np.ndarray, groups: Collection[tuple[int, int]]) -> np.ndarray:
    """Which of these keys of the table of asks are of one of the groups: (k,) bool."""
    if not groups:
        return np.zeros(len(keys), np.bool_)
    return np.isin(keys, [(job << 16) + no for job, no in groups])
