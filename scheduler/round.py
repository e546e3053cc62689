"""Steps 3 to 5 of a scheduling round, shares, placement and preemption, as one pure function.

Who may begin at all is decided before (``lifecycle.admission``). Shares first:
what each queue may hold now, weighted max-min down the tree. Then one pass over
the asks, in order, places what shares, maxima and nodes allow. What found no
node no longer counts as demand, so its share falls to others and another pass
follows. When shares are smaller than a container, each row may go one container
beyond its own.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.core.entities import Entities, entities
from scheduler.core.plan import Plan, Preempt, Refusal, RoundOutcome, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement import place
from scheduler.placement.order import service_order
from scheduler.placement.place import PlacementOutcome, PlacementPolicy, PlacementRound
from scheduler.preemption.plan import plan_preemption
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.preemption.users import users_above_share_last
from scheduler.shares.fair import fair_shares, held_part
from scheduler.shares.tree import ShareTree, entity_demand

PASSES = 12  # what is left after so many is gone on with in the next round
_ROUNDING = 1e-6  # of a unit


@dataclass(frozen=True, slots=True)
class RoundPolicy:
    """The part of the policy document a round reads."""

    placement: PlacementPolicy = field(default_factory=PlacementPolicy)
    preemption: PreemptionPolicy = field(default_factory=PreemptionPolicy)


def plan_round(s: Snapshot, memo: Memo, policy: RoundPolicy, now: float) -> tuple[Plan, Memo]:
    """Decide one round. ``now``: seconds on the caller's clock. Same arguments, same plan."""
    rows = entities(s)
    placement = place.begin(s, memo, policy.placement, now, s.nodes.free.copy())
    users = policy.preemption.takes and policy.preemption.intra_user
    order, share = _place(s, rows, placement, users)
    placed = place.finish(placement, order, rows.ask_entity)
    preempt, memo = _reclaim(s, placement, placed, policy.preemption, now)
    outcome = RoundOutcome(
        placement.free, placed.left, placed.why, placed.binding_row, order, rows.ask_entity, share,
        placement.promised_starts,
    )  # fmt: skip
    return Plan(placed.place, _refusal(outcome), preempt, placed.reserve, outcome), memo


def _place(s: Snapshot, rows: Entities, placement: PlacementRound, users: bool) -> tuple[np.ndarray, np.ndarray]:
    """Shares, then a pass; again while what found no node leaves something to others: (the order, the last shares).

    users: those who hold more than their part of a leaf come after the others.
    """
    tree = ShareTree(rows.parent, rows.guaranteed, rows.maximum, rows.weight)
    whole = capacity_now(s, placement.free)
    alive, used = placement.left > 0, rows.used
    order, overshoot = np.empty(0, np.int32), False
    for number in range(PASSES):
        demand = entity_demand(rows.ask_entity, s.asks.shape, placement.left, alive, s.asks.shapes, used)
        share = fair_shares(tree, whole, used, demand, floor=True)
        room = np.maximum(np.floor(share - used + _ROUNDING), 0).astype(np.int64)
        if number == 0:
            order = service_order(s, rows, share_satisfaction(rows, share, whole))
            order = users_above_share_last(s, rows.ask_entity, order) if users else order
        before = placement.left.copy()
        placed = place.run(placement, order[alive[order]], rows.ask_entity, room, overshoot)
        used = entity_demand(rows.ask_entity, s.asks.shape, before - placement.left, alive, s.asks.shapes, used)
        alive = (placement.left > 0) & (placement.why == Why.QUEUE_SHARE)
        if not alive.any() or (overshoot and not placed):
            break
        overshoot = not placed  # what is left is smaller than anybody's share
    return order, share


def share_satisfaction(rows: Entities, share: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The part of its share that each row holds, among equals (to 6 digits) that of its guarantee: (e,) float64.

    Where nothing is free everybody holds all of his share.
    """
    of_share, of_guarantee = held_part(rows.used, share, whole), held_part(rows.used, rows.guaranteed, whole)
    beyond = 1.0 - 1.0 / (1.0 + of_guarantee)  # 1 for those without a guarantee
    served: np.ndarray = np.round(of_share, 6) + 1e-7 * beyond
    return served


def capacity_now(s: Snapshot, free: np.ndarray) -> np.ndarray:
    """What there is to share: what is held, and what open nodes have free. (r,) int64."""
    whole: np.ndarray = s.queues.used[0] + s.nodes.open @ np.maximum(free, 0)
    return whole


def _reclaim(
    s: Snapshot, placement: PlacementRound, placed: PlacementOutcome, policy: PreemptionPolicy, now: float
) -> tuple[Preempt, Memo]:
    """Step 5, where the caller has shown what runs."""
    memo, why = placed.memo, placed.why
    if s.running is None or not s.reclaim:
        return Preempt(), memo
    reserved_for = np.full(len(s.nodes.open), -1, np.int32)
    at = np.searchsorted(s.asks.key, memo.reserved)
    reserved_for[memo.reserved_node] = at
    warnings = (memo.warned, memo.warned_due)
    if (promised := placement.promised_starts) is not None:  # there is room for them: others are to have it
        why = np.where(promised.kept_back_by >= 0, np.int8(Why.LOCALITY_WAIT), why)
    preempt, warned, due = plan_preemption(s, placement.free, placed.left, why, warnings, policy, now, reserved_for)
    return preempt, replace(memo, warned=warned, warned_due=due)


def _refusal(outcome: RoundOutcome) -> Refusal | None:
    ask = np.flatnonzero(outcome.left > 0).astype(np.int32)
    return Refusal(ask, outcome.left[ask], outcome.why[ask], outcome.binding_row[ask]) if len(ask) else None
