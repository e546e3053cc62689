"""Steps 2 to 5 of a scheduling round, as one pure function.

Queues are served in order of submission across the tree (first in, first out
within a priority); every ask is limited by its queue's ceilings and placed
by the policy's filler. Identical asks are tested once: after a shape has found
no room on the nodes of its mask, later asks of that kind are refused unread.
"""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.core.plan import Place, Plan, Refusal, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.fill import Filler, units_that_fit
from scheduler.registry import PLACEMENT
from scheduler.shares.ceilings import Ceilings

_RUN_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class RoundPolicy:
    """The part of the policy document a round reads."""

    placement: str = "spread"
    batch: int = 5_000  # containers placed in one round at most


@dataclass(slots=True)
class _Tally:
    ask: list[np.ndarray]
    node: list[np.ndarray]
    refused: list[tuple[int, int, int, int]]


def plan_round(
    snapshot: Snapshot,
    memo: Memo,
    proposals: tuple[Place, ...],
    policy: RoundPolicy,
    now: float,
    rng: np.random.Generator,
) -> tuple[Plan, Memo]:
    """Decide one round.

    ``now``: seconds on the caller's clock. ``proposals``: placements of slower
    planners over this snapshot; those that no longer fit are refused and come
    again. Same arguments, same plan.
    """
    free = snapshot.nodes.free.copy()
    ceilings = Ceilings(snapshot.queues)
    tally = _Tally([], [], [])
    snapshot, rejected = _take_proposals(snapshot, proposals, free, ceilings, tally)
    cursor = _place_asks(snapshot, memo.cursor, policy, free, ceilings, tally)
    return Plan(_join(tally), _refusal(tally), tuple(rejected)), Memo(cursor)


def service_order(s: Snapshot) -> np.ndarray:
    """Asks by priority, then by submission: (a,) int64 positions."""
    return np.argsort(-s.jobs.priority[s.asks.job], kind="stable")


def _take_proposals(
    s: Snapshot, proposals: tuple[Place, ...], free: np.ndarray, ceilings: Ceilings, tally: _Tally
) -> tuple[Snapshot, list[str]]:
    """(the snapshot with what is still wanted, why the rest was rejected)."""
    rejected = []
    wanted = s.asks.count.copy()
    for p in proposals:
        given = np.bincount(p.ask, minlength=len(wanted))
        shapes = s.asks.shapes[s.asks.shape[p.ask]]
        after, room = free.copy(), ceilings.room.copy()
        np.subtract.at(after, p.node, shapes)
        for ask, shape in zip(p.ask.tolist(), shapes, strict=True):
            ceilings.take(int(s.ask_queue[ask]), shape)
        short = (after < 0) & (after < free)
        if why := _conflict(s, p, short, given > wanted, (ceilings.room < 0) & (ceilings.room < room)):
            ceilings.room = room
            rejected.append(f"a proposal of {len(p.ask)} containers {why}")
            continue
        free[:] = after
        wanted -= given
        tally.ask.append(p.ask)
        tally.node.append(p.node)
    return replace(s, asks=replace(s.asks, count=wanted)), rejected


def _conflict(s: Snapshot, p: Place, short: np.ndarray, unwanted: np.ndarray, over: np.ndarray) -> str:
    """Why the proposal cannot be taken, or nothing: nodes ``short`` of room, asks given more, queues over."""
    if short.any() or not s.nodes.open[p.node].all():
        return "no longer fits its nodes"
    if not s.asks.masks[s.asks.mask[p.ask], p.node].all():
        return "uses nodes its labels exclude"
    if unwanted.any():
        return "gives an ask more than it wants"
    return "takes a queue over its maximum" if over.any() else ""


def _place_asks(
    s: Snapshot, cursor: int, policy: RoundPolicy, free: np.ndarray, ceilings: Ceilings, tally: _Tally
) -> int:
    asks, filler = s.asks, PLACEMENT[policy.placement]
    full: dict[tuple[int, int], Why] = {}
    budget = policy.batch
    order, queue = service_order(s), s.ask_queue
    run_start = 0
    kinds = np.stack((queue, asks.shape, asks.mask))[:, order] if len(order) else np.empty((3, 0), np.int32)
    edges = np.flatnonzero((kinds[:, 1:] != kinds[:, :-1]).any(axis=0)) + 1
    for run_end in [*edges.tolist(), len(order)]:
        run = order[run_start:run_end]
        run_start = run_end
        if not len(run) or budget <= 0:
            break
        placed, cursor = _place_run(s, run, cursor, budget, free, ceilings, full, filler, tally)
        budget -= placed
    return cursor


def _place_run(
    s: Snapshot,
    run: np.ndarray,
    cursor: int,
    budget: int,
    free: np.ndarray,
    ceilings: Ceilings,
    full: dict[tuple[int, int], Why],
    filler: Filler,
    tally: _Tally,
) -> tuple[int, int]:
    """Place consecutive asks of one queue, shape and mask as if they were one: (placed, cursor)."""
    asks, first = s.asks, int(run[0])
    queue, kind = int(s.ask_queue[first]), (int(asks.shape[first]), int(asks.mask[first]))
    shape, counts = asks.shapes[kind[0]], asks.count[run]
    wanted = int(counts.sum())
    why, detail, per_node = Why.NO_ROOM, -1, None
    if kind in full:
        why = full[kind]
    else:
        allowed, binding = ceilings.allowed(queue, shape)
        fits = units_that_fit(free, shape, s.nodes.open & asks.masks[kind[1]])
        room = int(np.minimum(fits, _RUN_MAX).sum())
        if room < wanted:
            why = full[kind] = _why_no_room(s, shape, asks.masks[kind[1]])
        k = min(wanted, allowed, room, budget)
        if allowed < min(wanted, room):
            why, detail = Why.QUEUE_MAXIMUM, binding
            full.pop(kind, None)
        if k:
            per_node = filler(fits, k, cursor)
    placed = 0
    if per_node is not None:
        placed, cursor = _record(run, counts, per_node, shape, free, tally, cursor)
        ceilings.take(queue, shape * placed)
    if placed < wanted and placed < budget:
        _refuse(run, counts, placed, why, detail, tally)
    return placed, cursor


def _record(
    run: np.ndarray,
    counts: np.ndarray,
    per_node: np.ndarray,
    shape: np.ndarray,
    free: np.ndarray,
    tally: _Tally,
    cursor: int,
) -> tuple[int, int]:
    used = np.flatnonzero(per_node)
    nodes = np.repeat(used, per_node[used]).astype(np.int32)
    owners = np.repeat(run, counts)[: len(nodes)].astype(np.int32)
    free[used] -= per_node[used, None] * shape
    tally.ask.append(owners)
    tally.node.append(nodes)
    return len(nodes), (int(used[-1]) + 1) % len(per_node) if len(used) else cursor


def _refuse(run: np.ndarray, counts: np.ndarray, placed: int, why: Why, detail: int, tally: _Tally) -> None:
    missing = np.minimum(counts, np.maximum(0, np.cumsum(counts) - placed))
    tally.refused += [(int(a), int(m), why, detail) for a, m in zip(run, missing, strict=True) if m]


def _why_no_room(s: Snapshot, shape: np.ndarray, mask: np.ndarray) -> Why:
    if not s.nodes.open.any():
        return Why.NO_NODES
    if not ((s.nodes.capacity >= shape).all(axis=1) & mask).any():
        return Why.NO_NODE_MATCHES
    return Why.NO_ROOM


def _join(tally: _Tally) -> Place:
    if not tally.ask:
        return Place(np.empty(0, np.int32), np.empty(0, np.int32))
    return Place(np.concatenate(tally.ask), np.concatenate(tally.node))


def _refusal(tally: _Tally) -> Refusal | None:
    if not tally.refused:
        return None
    table = np.array(tally.refused, np.int64)
    return Refusal(table[:, 0].astype(np.int32), table[:, 1], table[:, 2].astype(np.int8), table[:, 3].astype(np.int32))
