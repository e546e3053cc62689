"""The three selections of victims, one after the other: between queues, and within a leaf by priority and by user.

They are YARN's inter-queue and intra-queue preemption (capacity scheduler,
``ProportionalCapacityPreemptionPolicy``). Problem: who has more than he is to
have gives up running containers until who has less, and waits, has room. Who
is owed how much is worked out first (``ideal`` for queues, ``users`` for users
of a leaf), in resource units:

    debt = max(0, used - ideal) * natural_termination, above a dead zone
    owed = max(0, ideal - used)

Each selection takes what the ones before it left, and all of them together
no more than ``per_round`` of the capacity, but for the first ask. ``victims`` says
which containers go, and what that costs.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.core.plan import Why
from scheduler.core.snapshot import Ordering, Running, Snapshot
from scheduler.preemption import eligibleasks
from scheduler.preemption.ideal import AllocationTree, ideal_allocation
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.preemption.tables import (
    BOUND_APPLIES,
    BOUND_REFUSED,
    FLAGS,
    NONE_WARNED,
    PREEMPTABLE,
    VICTIM,
    Balances,
    PreemptionCandidates,
    PreemptionClaims,
)
from scheduler.preemption.users import fair_user_shares
from scheduler.preemption.victims import choose_victims
from scheduler.shares.tree import children, is_leaf, own_amounts, path_minimum, subtree_sums


@dataclass(slots=True)
class PreemptionRound:
    """What the selections of one call share. left, room, state, taken, owed_to and intra are written to."""

    s: Snapshot
    running: Running
    policy: PreemptionPolicy
    left: np.ndarray
    why: np.ndarray
    reserved_for: np.ndarray
    warned: np.ndarray  # (c,) bool
    ending: np.ndarray  # (c,) bool
    master: np.ndarray  # (c,) bool
    room: np.ndarray
    state: np.ndarray
    taken: np.ndarray
    bound: np.ndarray
    owed_to: np.ndarray  # (c,) int32
    intra: np.ndarray  # (c,) bool


def shareable_capacity(s: Snapshot) -> np.ndarray:
    """(r,) float64: what there is to divide: what is held, and what open nodes have free."""
    free = s.nodes.open @ np.maximum(s.nodes.free, 0)
    total: np.ndarray = (s.queues.used[0] + free).astype(np.float64)
    return total


def preempt_between_queues(r: PreemptionRound) -> None:
    """Take back what queues hold beyond their ideal, for what others are owed."""
    s, queues = r.s, r.s.queues
    asking = eligibleasks.held_up_by_queues(r.left, r.why)
    if not asking.any():
        return
    exempt = ~path_minimum(queues.parent, queues.preemptable[:, None])[:, 0]
    used, guaranteed, ideal = _ideal_allocation(r, asking, exempt)
    leaf = is_leaf(queues.parent)
    pays = (leaf & ~exempt)[:, None] & (used > guaranteed * (1 + r.policy.dead_zone))
    balances = Balances(
        debt=np.where(pays, np.maximum(used - ideal, 0), 0) * r.policy.natural_termination,
        owed=np.where(leaf[:, None], np.maximum(ideal - used, 0), 0),
        containers=_containers_of(r, r.running.queue, len(used)),
        starving=leaf & (used.max(axis=1) <= 0),
    )
    asks = eligibleasks.asks_of_owed_queues(s, asking, balances, ideal)
    found = _of_debtors(r, r.running.queue, balances.debt)
    if len(asks) and len(found):
        asks, claims = eligibleasks.group_claims(s, asks, r.left, r.reserved_for, s.ask_queue[asks])
        claims.last[:] = np.count_nonzero(~r.master[found])
        _select_victims(r, claims, asks, balances, r.running.queue, found[_cheapest_first(r, found)], False)


def preempt_for_priority(r: PreemptionRound) -> None:
    """Take from jobs of lower priority in the same leaf; from those of equal priority never."""
    s, live = r.s, r.running
    asks = eligibleasks.asks_by_priority(s, eligibleasks.held_up_within_queue(r.left, r.why))
    if not len(asks):
        return
    queue, priority = s.ask_queue[asks], s.jobs.priority[s.asks.job[asks]].astype(np.int64)
    highest = np.full(len(s.queues.parent), np.iinfo(np.int64).min)
    np.maximum.at(highest, queue, priority)
    found = np.flatnonzero((r.state == PREEMPTABLE) & ~r.master & (live.priority < highest[live.queue]))
    if not len(found):
        return
    swap = r.why[asks] != Why.NO_ROOM  # it is its queue that has no room left: that must not grow
    asks, claims = eligibleasks.group_claims(s, asks, r.left, r.reserved_for, np.full(len(asks), -1), priority, swap)
    rows = np.zeros((0, r.room.shape[1]))
    nobody = np.full(len(live.id), -1, np.int32)
    balances = Balances(rows, rows.copy(), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    _within_leaves(r, claims, asks, balances, nobody, found)


def preempt_between_users(r: PreemptionRound) -> None:
    """Take from users above their fair part of a leaf, for those below theirs."""
    s, live, users = r.s, r.running, r.s.users
    asking = eligibleasks.held_up_within_queue(r.left, r.why)
    if not asking.any() or not len(users.queue):
        return
    payer = np.where(live.job >= 0, s.jobs.user[np.maximum(live.job, 0)], -1).astype(np.int32)
    used, part = _user_shares(r, asking, payer)
    pays = used > part * (1 + r.policy.dead_zone)
    balances = Balances(
        debt=np.where(pays, np.maximum(used - part, 0), 0),
        owed=np.maximum(part - used, 0),
        containers=_containers_of(r, payer, len(used)),
        starving=used.max(axis=1) <= 0,
    )
    asks = eligibleasks.asks_of_owed_users(s, asking, balances)
    found = _of_debtors(r, payer, balances.debt)
    found = found[~r.master[found]]
    if len(asks) and len(found):
        job = s.asks.job[asks]
        served = s.queues.ordering[s.ask_queue[asks]] == Ordering.PRIORITY
        below = np.where(served, s.jobs.priority[job].astype(np.int64) + 1, eligibleasks.ANY_PRIORITY)
        swap = np.ones(len(asks), np.bool_)
        asks, claims = eligibleasks.group_claims(s, asks, r.left, r.reserved_for, s.jobs.user[job], below, swap)
        _within_leaves(r, claims, asks, balances, payer, found)


def _within_leaves(
    r: PreemptionRound,
    claims: PreemptionClaims,
    asks: np.ndarray,
    balances: Balances,
    payer: np.ndarray,
    found: np.ndarray,
) -> None:
    """Let each group look through the candidates of its own leaf."""
    live = r.running
    order = found[_cheapest_first(r, found)]
    order = order[np.argsort(live.queue[order], kind="stable")]
    own = r.s.ask_queue[asks[claims.groups[:-1]]]
    claims.first[:] = np.searchsorted(live.queue[order], own, "left")
    claims.last[:] = np.searchsorted(live.queue[order], own, "right")
    _select_victims(r, claims, asks, balances, payer, order, True)


def _containers_of(r: PreemptionRound, payer: np.ndarray, rows: int) -> np.ndarray:
    return np.bincount(payer[~r.ending & (payer >= 0)], minlength=rows).astype(np.int64)


def _of_debtors(r: PreemptionRound, payer: np.ndarray, debt: np.ndarray) -> np.ndarray:
    """Containers of those in debt."""
    indebted = np.append((debt > 0).any(axis=1), False)  # the last is nobody, -1
    return np.flatnonzero((r.state == PREEMPTABLE) & indebted[payer])


def _cheapest_first(r: PreemptionRound, found: np.ndarray) -> np.ndarray:
    """The lowest priority, then the newest; application masters after all others."""
    live = r.running
    return np.lexsort((-live.id[found], -live.started[found], live.priority[found], r.master[found]))


def _ideal_allocation(
    r: PreemptionRound, asking: np.ndarray, exempt: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What queues use, once what ends soon has ended, what others give back to them, and their ideals: (q, r) each."""
    s, live, queues = r.s, r.running, r.s.queues
    shapes = s.asks.shapes[s.asks.shape]
    q = len(queues.parent)
    own = _sums(s.ask_queue, (s.asks.count - r.left)[:, None] * shapes, q)
    own -= _sums(live.queue[r.ending], live.shape[r.ending], q)
    used = np.maximum(queues.used + subtree_sums(queues.parent, own), 0.0)
    wanted = _sums(s.ask_queue[asking], r.left[asking, None] * shapes[asking], q)
    protected = _sums(live.queue[live.protected], live.shape[live.protected], q)
    guaranteed = _owed_guarantees(r, used)
    first, row = children(queues.parent, np.ones((q, 1)))
    tree = AllocationTree(
        queues.parent,
        guaranteed,
        queues.maximum.astype(np.float64),
        np.maximum(own_amounts(queues.parent, used), 0.0),
        wanted,
        protected,
        queues.weight,
        exempt,
        row,
        first[1:],
        queues.lent,
    )
    lost = r.ending & ~s.nodes.open[live.node]  # what ends there frees nothing
    return used, guaranteed, ideal_allocation(tree, used, shareable_capacity(s) - live.shape[lost].sum(axis=0))


def _owed_guarantees(r: PreemptionRound, used: np.ndarray) -> np.ndarray:
    """What of each queue's amount others give back to it: (q, r) float64. used: (q, r)."""
    queues = r.s.queues
    if queues.settled:
        guaranteed = used.copy()
        if queues.lent >= 0:
            guaranteed[queues.lent] = 0.0
        return guaranteed
    owed = queues.guaranteed if queues.owed is None else queues.owed
    return owed.astype(np.float64)


def _user_shares(r: PreemptionRound, asking: np.ndarray, payer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What users use, once what ends soon has ended, and their fair parts: (u, r) float64 each."""
    s = r.s
    shapes, user = s.asks.shapes[s.asks.shape], s.jobs.user[s.asks.job]
    u = len(s.users.queue)
    known = r.ending & (payer >= 0)
    placed = _sums(user, (s.asks.count - r.left)[:, None] * shapes, u)
    used = np.maximum(s.users.used + placed - _sums(payer[known], r.running.shape[known], u), 0.0)
    wanted = _sums(user[asking], r.left[asking, None] * shapes[asking], u)
    return used, fair_user_shares(s.users.queue, np.argsort(s.users.queue, kind="stable"), used, wanted)


def _sums(row: np.ndarray, amounts: np.ndarray, rows: int) -> np.ndarray:
    """Sums of (k, r) amounts by row: (rows, r) float64."""
    return np.stack([np.bincount(row, amounts[:, i], rows) for i in range(amounts.shape[1])], axis=1)


def _select_victims(
    r: PreemptionRound,
    claims: PreemptionClaims,
    asks: np.ndarray,
    balances: Balances,
    payer: np.ndarray,
    order: np.ndarray,
    intra: bool,
) -> None:
    """Serve the claims, and enter what was chosen for whom.

    Application masters come last in ``order``. They are looked at once every
    claim has had what is free and all that others make free, and not in a round
    whose bound let one of those others stay: the next one asks again.
    """
    before, candidates = claims.units.copy(), _candidates(r, claims, payer, order)
    choose_victims(candidates, claims, balances)
    if r.master[order].any() and not candidates.flags[BOUND_REFUSED]:
        claims.last[:] = len(order)
        choose_victims(candidates, claims, balances)
    chosen = candidates.state == VICTIM
    new, claim = order[chosen], candidates.claim[chosen]
    r.state[new] = VICTIM
    r.owed_to[new] = r.s.ask_queue[asks[claim]]
    r.intra[new] = intra
    np.subtract.at(r.left, asks, before - claims.units)


def _candidates(
    r: PreemptionRound, claims: PreemptionClaims, payer: np.ndarray, order: np.ndarray
) -> PreemptionCandidates:
    """The candidates in this order, with nothing gathered."""
    live, size = r.running, len(order)
    n, k = r.room.shape
    warned, shape = r.warned[order], live.shape[order]
    flags = np.zeros(FLAGS, np.int64)
    flags[BOUND_APPLIES], flags[NONE_WARNED] = r.taken.max() > 0, not warned.any()
    return PreemptionCandidates(
        node=live.node[order].astype(np.int64),
        payer=payer[order].astype(np.int64),
        priority=live.priority[order].astype(np.int64),
        shape=shape,
        warned=warned,
        master=r.master[order],
        state=r.state[order],
        claim=np.full(size, -1, np.int64),
        room=r.room,
        taken=r.taken,
        bound=r.bound,
        smallest=shape.min(axis=0),
        total=np.zeros((1, k), np.int64),
        head=np.full(n, -1, np.int64),
        tail=np.full(n, -1, np.int64),
        next=np.full(size, -1, np.int64),
        gathered=np.zeros((n, k), np.int64),
        log=np.zeros(size + int(claims.units[claims.gang].max(initial=0)), np.int64),
        flags=flags,
        taken_now=np.zeros(size, np.int64),
    )
