"""Placement within a round: begin, as many passes as the round wants, finish.

Containers go, one ask after the other, to the node reserved for the ask, its
preferred nodes, the racks of those, and then any node that matches, in the
order of the policy's fill; always within every limit. Delay scheduling (Zaharia et al., EuroSys '10): an ask
with preferences may use a rack, and then any node, only after it has held out
for a time or has let opportunities pass; what it waits because nothing is free
does not count. What a pass costs is said in ``pools``.
"""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.core.compiled import contiguous
from scheduler.core.plan import Place, PromisedStarts, Reserve, Why
from scheduler.core.snapshot import Asks, Backfill, Memo, Snapshot
from scheduler.placement.allocate import allocate_in_order, settle_missed
from scheduler.placement.backfill import backfill_in_order
from scheduler.placement.fills import Fill
from scheduler.placement.pools import POOL_COLUMNS
from scheduler.placement.prepare import enqueue_all, list_racks, number_classes, set_locality_levels
from scheduler.placement.promisetable import N_PROMISES, PromiseTable, backfill_rules, no_promises
from scheduler.placement.reserve import reserve, still_reserved
from scheduler.placement.tables import (
    BINS,
    CURSOR,
    LEVELS,
    LOG_STATE_SIZE,
    N_PLACED,
    TOP_LEVEL,
    AskTable,
    CandidatePools,
    EquivalenceClasses,
    NodeTable,
    PlacementLimits,
    PlacementLog,
)


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """How nodes are chosen and waited for.

    batch: containers in one round at most; a larger gang counts as one batch.
    node_wait_s, rack_wait_s: how long an ask holds out for a preferred node,
    and then for a rack. node_misses, rack_misses: or so many opportunities that
    it let pass; 0: by time only. reserve_after_s: an ask that no node has room
    for (or a gang: as many as it would fill) holds one after this long, of at most reserve_max_node_share of the
    open nodes (0: never, else at least one), for at most reserve_max_s.
    backfill_depth: asks of queues that backfill which are promised a start in one round at most.
    """

    fill: Fill = Fill.SPREAD
    batch: int = 10_000
    node_wait_s: float = 3.0
    rack_wait_s: float = 3.0
    node_misses: int = 0
    rack_misses: int = 0
    reserve_after_s: float = 10.0
    reserve_max_node_share: float = 0.05
    reserve_max_s: float = 600.0
    backfill_depth: int = 100


@dataclass(slots=True)
class PlacementRound:
    """The working state of one round; the caller may count off rooms what it placed by other means.

    waited: (a,) float64 s. missed: (a,) int64, opportunities let pass. delayed_since:
    (a,) float64 s, when the first was, infinite without one. kept_reservations: rows of
    the memo's reservations that are in force. queue_room: (q, r), user_room: (u, r) int64.
    promises: where queues backfill.
    """

    snapshot: Snapshot
    memo: Memo
    policy: PlacementPolicy
    now: float
    waited: np.ndarray
    missed: np.ndarray
    delayed_since: np.ndarray
    kept_reservations: np.ndarray
    nodes: NodeTable
    asks: AskTable
    classes: EquivalenceClasses
    pools: CandidatePools
    log: PlacementLog
    queue_room: np.ndarray
    user_room: np.ndarray
    promises: PromiseTable | None = None

    @property
    def free(self) -> np.ndarray:
        """(n, r) int64, what is left on the nodes now."""
        return self.nodes.free

    @property
    def left(self) -> np.ndarray:
        """(a,) int64, what is still wanted."""
        return self.asks.left

    @property
    def why(self) -> np.ndarray:
        """(a,) int8 ``Why``, of the last pass that looked at the ask."""
        return self.asks.why

    @property
    def binding_row(self) -> np.ndarray:
        """(a,) int32: the queue or user row whose maximum binds, or -1."""
        return self.asks.binding_row

    @property
    def promised_starts(self) -> PromisedStarts | None:
        """The starts that were promised, and whom they keep back."""
        promises = self.promises
        if promises is None:
            return None
        count = int(promises.state[N_PROMISES])
        back = (self.asks.left > 0) & (self.asks.why == Why.RESERVED)
        return PromisedStarts(
            promises.ask[:count].astype(np.int32),
            promises.start[:count].copy(),
            np.where(back, promises.kept_back_by, -1).astype(np.int32),
        )


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """left, why, binding_row as in ``PlacementRound``. memo: all but what was warned is new."""

    place: Place
    left: np.ndarray
    why: np.ndarray
    binding_row: np.ndarray
    reserve: Reserve
    memo: Memo


def begin(s: Snapshot, memo: Memo, policy: PlacementPolicy, now: float, free: np.ndarray) -> PlacementRound:
    """Prepare a round. free: (n, r) int64, copied; now: seconds on the caller's clock."""
    kept, holders = still_reserved(s, memo, now, policy.reserve_max_s if policy.reserve_max_node_share > 0 else -1.0)
    reserved = memo.reserved_node[kept]
    nodes = _node_table(s, free, holders, reserved)
    asks, classes = _ask_table(s, policy.fill)
    alone = ~asks.gang[holders]
    asks.own_node[holders[alone]] = reserved[alone]
    log = _placement_log(asks, policy.batch, memo.cursor, len(free))
    enqueue_all(nodes, int(log.state[CURSOR]))
    missed, delayed_since = _missed_opportunities(s.asks, memo)
    set_locality_levels(
        nodes, asks, np.maximum(now - delayed_since, 0.0), missed, float(policy.node_wait_s), float(policy.rack_wait_s),
        int(policy.node_misses), int(policy.rack_misses),
    )  # fmt: skip
    rule = backfill_rules(s)
    promises = None
    if rule is not None:
        class_count, batch = len(classes.shape), len(log.ask)
        promises = no_promises(s, rule, holders, class_count, batch, policy.backfill_depth, now)
    return PlacementRound(
        s,
        memo,
        policy,
        now,
        contiguous(now - s.asks.since, np.float64),
        missed,
        delayed_since,
        kept,
        nodes,
        asks,
        classes,
        _pools(nodes, asks, classes),
        log,
        s.queues.maximum - s.queues.used,
        s.users.maximum - s.users.used,
        promises,
    )


def run(state: PlacementRound, order: np.ndarray, entity: np.ndarray, share_room: np.ndarray, overshoot: bool) -> int:
    """One pass over the asks in ``order``: how many containers were placed.

    order: (k,) int32 ask positions. entity: (a,) int32, the row of share_room
    that limits each ask. share_room: (e, r) int64, what each entity may still
    be given, not changed. overshoot: each entity may have one container more.
    """
    limits = PlacementLimits(
        contiguous(state.snapshot.queues.parent, np.int64),
        contiguous(entity, np.int64),
        state.queue_room,
        state.user_room,
        np.array(share_room, np.int64),
        np.ones(len(share_room), np.bool_),
    )
    order = contiguous(order, np.int64)
    if state.promises is None:
        return allocate_in_order(
            state.nodes, limits, state.asks, state.classes, state.pools, state.log, order, bool(overshoot)
        )
    blocked_by = np.full(len(share_room) + len(limits.parent), -1, np.int64)
    return backfill_in_order(
        state.nodes, limits, state.asks, state.classes, state.pools, state.log, state.promises,
        blocked_by, order, bool(overshoot),
    )  # fmt: skip


def finish(state: PlacementRound, order: np.ndarray, entity: np.ndarray) -> PlacementOutcome:
    """What was decided, nodes newly reserved, and the memo. order, entity: as for ``run``, first in line first."""
    settle_missed(state.nodes, state.asks, state.classes, state.pools, state.log)
    asks, placed = state.asks, int(state.log.state[N_PLACED])
    place = Place(state.log.ask[:placed].copy(), state.log.node[:placed].copy())
    missed = np.where(asks.left > 0, np.where(asks.placed > 0, 0, state.missed + asks.missed), 0)
    delayed = np.flatnonzero(missed)
    kept, new = _reservations_still_waiting(state, place), _reserve(state, order, entity)
    memo = replace(
        state.memo,
        cursor=int(state.log.state[CURSOR]),
        delayed=state.snapshot.asks.key[delayed],
        missed=missed[delayed],
        delayed_since=np.minimum(state.delayed_since, state.now)[delayed],
        reserved=np.concatenate((state.memo.reserved[kept], state.snapshot.asks.key[new.ask])),
        reserved_node=np.concatenate((state.memo.reserved_node[kept], new.node)).astype(np.int64),
        reserved_at=np.concatenate((state.memo.reserved_at[kept], np.full(len(new.ask), state.now))),
    )
    return PlacementOutcome(place, asks.left, asks.why, asks.binding_row, new, memo)


def _node_table(s: Snapshot, free: np.ndarray, holders: np.ndarray, reserved: np.ndarray) -> NodeTable:
    n, capacity = len(free), contiguous(s.nodes.capacity, np.int64)
    usable, reserved_for = s.nodes.open.copy(), np.full(n, -1, np.int64)
    usable[reserved] = False
    reserved_for[reserved] = holders
    rack = contiguous(s.nodes.rack, np.int64)
    asked = [int(x.max()) for x in (rack, s.asks.near_rack) if len(x)]
    rack_from, rack_node = np.zeros(max(asked, default=-1) + 2, np.int64), np.empty(n, np.int64)
    list_racks(rack, rack_from, rack_node)
    return NodeTable(
        free=np.array(free, np.int64),
        capacity=capacity,
        inverse=np.divide(1.0, capacity, out=np.zeros(capacity.shape), where=capacity > 0),
        usable=usable,
        level=np.zeros(n, np.int64),
        links=np.empty((n, 2), np.int64),
        buckets=np.full((LEVELS + 1, 2), -1, np.int64),
        reserved=reserved.astype(np.int64),
        reserved_for=reserved_for,
        open_nodes=int(s.nodes.open.sum()),
        rack=rack,
        rack_from=rack_from,
        rack_node=rack_node,
        shapes=contiguous(s.asks.shapes, np.int64),
        masks=contiguous(s.asks.masks, np.bool_),
    )


def _ask_table(s: Snapshot, default: Fill) -> tuple[AskTable, EquivalenceClasses]:
    given, a = s.asks, len(s.asks.key)
    user = contiguous(s.jobs.user[given.job], np.int64)
    shape, mask = contiguous(given.shape, np.int64), contiguous(given.mask, np.int64)
    fill = contiguous(given.fill, np.int8)
    eq_class, first = np.empty(a, np.int64), np.empty(a, np.int64)
    count = number_classes(shape, mask, fill, int(default), len(given.masks), eq_class, first)
    asks = AskTable(
        left=np.array(given.count, np.int64),
        eq_class=eq_class,
        shape=shape,
        mask=mask,
        queue=contiguous(s.users.queue[user], np.int64),
        user=user,
        gang=contiguous(given.gang, np.bool_),
        locality=np.empty(a, np.int8),
        own_node=np.full(a, -1, np.int64),
        near_from=contiguous(given.near_from, np.int64),
        near=contiguous(given.near, np.int64),
        near_rack_from=contiguous(given.near_rack_from, np.int64),
        near_rack=contiguous(given.near_rack, np.int64),
        placed=np.zeros(a, np.int64),
        missed=np.zeros(a, np.bool_),
        why=np.zeros(a, np.int8),
        binding_row=np.full(a, -1, np.int32),
    )
    first = first[:count]
    filled = fill[first].astype(np.int64)
    filled[filled < 0] = int(default)
    return asks, _equivalence_classes(s, shape[first], mask[first], filled)


def _equivalence_classes(s: Snapshot, shape: np.ndarray, mask: np.ndarray, fill: np.ndarray) -> EquivalenceClasses:
    largest = np.array([amounts.max(initial=1) for amounts in s.nodes.capacity.T], np.float64)
    part = s.asks.shapes[shape] / largest
    total = part.sum(axis=1, keepdims=True)
    return EquivalenceClasses(
        shape=shape,
        mask=mask,
        fill=fill,
        direction=np.ascontiguousarray(LEVELS * part / np.where(total > 0, total, 1.0) / largest),
        empty_units=np.full(len(shape), -1, np.int64),
        reserved_units=np.zeros(len(shape), np.int64),
        reserved_version=np.full(len(shape), -1, np.int64),
        gang_too_large=np.full(len(shape), 1 << 62, np.int64),
    )


def _pools(nodes: NodeTable, asks: AskTable, classes: EquivalenceClasses) -> CandidatePools:
    preferences = len(asks.near) + len(asks.near_rack) > 0
    racks = len(nodes.rack_from) - 1 if preferences else 0
    return CandidatePools(
        table=np.zeros((len(classes.shape), 1 + racks, POOL_COLUMNS), np.int64),
        node=np.empty((len(classes.shape), 2 if preferences else 1, len(nodes.usable)), np.int64),
        counts=np.zeros(BINS + 1, np.int64),
        unsorted=np.empty(len(nodes.usable), np.int64),
    )


def _placement_log(asks: AskTable, batch: int, cursor: int, nodes: int) -> PlacementLog:
    gangs = asks.left[asks.gang]
    batch = max(batch, int(gangs.max()) if len(gangs) else 0)
    batch = min(batch, max(0, int(asks.left.sum())))
    state = np.zeros(LOG_STATE_SIZE, np.int64)
    state[CURSOR], state[TOP_LEVEL] = cursor if cursor < nodes else 0, LEVELS
    return PlacementLog(np.empty(batch, np.int32), np.empty(batch, np.int32), state)


def _missed_opportunities(asks: Asks, memo: Memo) -> tuple[np.ndarray, np.ndarray]:
    """Opportunities that each ask let pass, (a,) int64, and when the first was, (a,) float64 s."""
    missed, first = np.zeros(len(asks.key), np.int64), np.full(len(asks.key), np.inf)
    if len(memo.delayed) and len(asks.key):
        at = np.minimum(np.searchsorted(asks.key, memo.delayed), len(asks.key) - 1)
        same = asks.key[at] == memo.delayed
        missed[at[same]], first[at[same]] = memo.missed[same], memo.delayed_since[same]
    return missed, first


def _reservations_still_waiting(state: PlacementRound, place: Place) -> np.ndarray:
    """Of the reservations in force those whose ask was neither satisfied nor given something on its node."""
    if not len(state.kept_reservations):
        return state.kept_reservations
    reserved_for = state.nodes.reserved_for[state.memo.reserved_node[state.kept_reservations]]
    served = np.zeros(len(state.asks.left), np.bool_)
    served[place.ask[state.asks.own_node[place.ask] == place.node]] = True
    waiting: np.ndarray = state.kept_reservations[(state.asks.left[reserved_for] > 0) & ~served[reserved_for]]
    return waiting


def _reserve(state: PlacementRound, order: np.ndarray, entity: np.ndarray) -> Reserve:
    share, p = state.policy.reserve_max_node_share, state.policy
    most = max(1, int(share * state.nodes.open_nodes + 1e-6)) - len(state.kept_reservations) if share > 0 else 0
    if most <= 0 or not len(order):
        return Reserve()
    ask, node = np.empty(most, np.int32), np.empty(most, np.int32)
    order, entity = contiguous(order, np.int64), contiguous(entity, np.int64)
    if state.promises is not None:  # who is promised a start holds no nodes, nor does anybody behind him
        promised = np.zeros(len(state.snapshot.queues.parent), np.bool_)
        promised[state.asks.queue[state.promises.ask[: state.promises.state[N_PROMISES]]]] = True
        order = order[~(promised[state.asks.queue[order]] & (state.promises.rule[order] != Backfill.NONE))]
    entities, taken = int(entity.max()) + 1, ~state.nodes.usable
    if (reservable := state.snapshot.nodes.reservable) is not None:
        taken |= ~reservable
    after_s = float(p.reserve_after_s)
    count = reserve(state.nodes, state.asks, state.waited, order, entity, entities, taken, after_s, most, ask, node)
    return Reserve(ask[:count], node[:count])
