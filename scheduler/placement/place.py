"""Placement within a round: begin, as many passes as the round wants, finish.

Containers go, one ask after the other, to the node reserved for the ask, its
preferred nodes, the racks of those, and then any node that matches, in the
order of the policy's fill; always within every limit. Delay scheduling (Zaharia et al., EuroSys '10): an ask
with preferences may use a rack, and then any node, only after it has held out
for a time or has let opportunities pass; what it waits because nothing is free
does not count.
"""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.core.compiled import fixed
from scheduler.core.plan import Ahead, Place, Reserve, Why
from scheduler.core.snapshot import Asks, Backfill, Memo, Snapshot
from scheduler.placement.backfill import backfill_in_order
from scheduler.placement.board import (
    BINS,
    CURSOR,
    LEVELS,
    PLACED,
    TOP,
    Ground,
    Kinds,
    PlacementLimits,
    Pools,
    Record,
    Wants,
)
from scheduler.placement.fills import Fill
from scheduler.placement.prepare import line_up, list_racks, number_kinds, set_levels
from scheduler.placement.promises import COUNT, Promises, promises, rules
from scheduler.placement.reserve import reserve, still_held
from scheduler.placement.serve import place_in_order, settle_missed


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
class Attempt:
    """The working state of one round; the caller may count off rooms what it placed by other means.

    waited: (a,) float64 s. misses: (a,) int64. late_at: (a,) float64 s, when the
    first opportunity was let pass, infinite without one. kept: rows of the memo's
    reservations that are in force. queue_room: (q, r), user_room: (u, r) int64.
    promises: where queues backfill.
    """

    snapshot: Snapshot
    memo: Memo
    policy: PlacementPolicy
    now: float
    waited: np.ndarray
    misses: np.ndarray
    late_at: np.ndarray
    kept: np.ndarray
    ground: Ground
    wants: Wants
    kinds: Kinds
    pools: Pools
    record: Record
    queue_room: np.ndarray
    user_room: np.ndarray
    promises: Promises | None = None

    @property
    def free(self) -> np.ndarray:
        """(n, r) int64, what is left on the nodes now."""
        return self.ground.free

    @property
    def left(self) -> np.ndarray:
        """(a,) int64, what is still wanted."""
        return self.wants.left

    @property
    def why(self) -> np.ndarray:
        """(a,) int8 ``Why``, of the last pass that looked at the ask."""
        return self.wants.why

    @property
    def detail(self) -> np.ndarray:
        """(a,) int32: the queue or user row whose maximum binds, or -1."""
        return self.wants.detail

    @property
    def ahead(self) -> Ahead | None:
        """The starts that were promised, and whom they keep back."""
        h = self.promises
        if h is None:
            return None
        count = int(h.state[COUNT])
        back = (self.wants.left > 0) & (self.wants.why == Why.RESERVED)
        return Ahead(
            h.ask[:count].astype(np.int32), h.start[:count].copy(), np.where(back, h.behind, -1).astype(np.int32)
        )


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """left, why, detail as in ``Attempt``. memo: all but what was warned is new."""

    place: Place
    left: np.ndarray
    why: np.ndarray
    detail: np.ndarray
    reserve: Reserve
    memo: Memo


def begin(s: Snapshot, memo: Memo, policy: PlacementPolicy, now: float, free: np.ndarray) -> Attempt:
    """Prepare a round. free: (n, r) int64, copied; now: seconds on the caller's clock."""
    kept, holders = still_held(s, memo, now, policy.reserve_max_s if policy.reserve_max_node_share > 0 else -1.0)
    nodes = memo.reserved_node[kept]
    ground = _ground(s, free, holders, nodes)
    wants, kinds = _wants(s, policy.fill)
    alone = ~wants.gang[holders]
    wants.holds[holders[alone]] = nodes[alone]
    record = _record(wants, policy.batch, memo.cursor, len(free))
    line_up(ground, int(record.state[CURSOR]))
    misses, late_at = _late(s.asks, memo)
    set_levels(
        ground, wants, np.maximum(now - late_at, 0.0), misses, float(policy.node_wait_s), float(policy.rack_wait_s),
        int(policy.node_misses), int(policy.rack_misses),
    )  # fmt: skip
    rule = rules(s)
    beside = None
    if rule is not None:
        kind_count, batch = len(kinds.shape), len(record.ask)
        beside = promises(s, rule, holders, kind_count, batch, policy.backfill_depth, now)
    return Attempt(
        s,
        memo,
        policy,
        now,
        fixed(now - s.asks.since, np.float64),
        misses,
        late_at,
        kept,
        ground,
        wants,
        kinds,
        _pools(ground, wants, kinds),
        record,
        s.queues.maximum - s.queues.used,
        s.users.maximum - s.users.used,
        beside,
    )


def run(t: Attempt, order: np.ndarray, entity: np.ndarray, share_room: np.ndarray, overshoot: bool) -> int:
    """One pass over the asks in ``order``: how many containers were placed.

    order: (k,) int32 ask positions. entity: (a,) int32, the row of share_room
    that limits each ask. share_room: (e, r) int64, what each entity may still
    be given, not changed. overshoot: each entity may have one container more.
    """
    limits = PlacementLimits(
        fixed(t.snapshot.queues.parent, np.int64),
        fixed(entity, np.int64),
        t.queue_room,
        t.user_room,
        np.array(share_room, np.int64),
        np.ones(len(share_room), np.bool_),
    )
    order = fixed(order, np.int64)
    if t.promises is None:
        return place_in_order(t.ground, limits, t.wants, t.kinds, t.pools, t.record, order, bool(overshoot))
    gate = np.full(len(share_room) + len(limits.parent), -1, np.int64)
    return backfill_in_order(
        t.ground, limits, t.wants, t.kinds, t.pools, t.record, t.promises, gate, order, bool(overshoot)
    )


def finish(t: Attempt, order: np.ndarray, entity: np.ndarray) -> PlacementOutcome:
    """What was decided, nodes newly reserved, and the memo. order, entity: as for ``run``, first in line first."""
    settle_missed(t.ground, t.wants, t.kinds, t.pools, t.record)
    w, placed = t.wants, int(t.record.state[PLACED])
    place = Place(t.record.ask[:placed].copy(), t.record.node[:placed].copy())
    misses = np.where(w.left > 0, np.where(w.placed > 0, 0, t.misses + w.missed), 0)
    late = np.flatnonzero(misses)
    kept, new = _still_waiting(t, place), _reserve(t, order, entity)
    memo = replace(
        t.memo,
        cursor=int(t.record.state[CURSOR]),
        late=t.snapshot.asks.key[late],
        misses=misses[late],
        late_at=np.minimum(t.late_at, t.now)[late],
        reserved=np.concatenate((t.memo.reserved[kept], t.snapshot.asks.key[new.ask])),
        reserved_node=np.concatenate((t.memo.reserved_node[kept], new.node)).astype(np.int64),
        reserved_at=np.concatenate((t.memo.reserved_at[kept], np.full(len(new.ask), t.now))),
    )
    return PlacementOutcome(place, w.left, w.why, w.detail, new, memo)


def _ground(s: Snapshot, free: np.ndarray, holders: np.ndarray, reserved: np.ndarray) -> Ground:
    n, capacity = len(free), fixed(s.nodes.capacity, np.int64)
    usable, holder = s.nodes.open.copy(), np.full(n, -1, np.int64)
    usable[reserved] = False
    holder[reserved] = holders
    rack = fixed(s.nodes.rack, np.int64)
    asked = [int(x.max()) for x in (rack, s.asks.near_rack) if len(x)]
    rack_from, rack_node = np.zeros(max(asked, default=-1) + 2, np.int64), np.empty(n, np.int64)
    list_racks(rack, rack_from, rack_node)
    return Ground(
        free=np.array(free, np.int64),
        capacity=capacity,
        inverse=np.divide(1.0, capacity, out=np.zeros(capacity.shape), where=capacity > 0),
        usable=usable,
        room_level=np.zeros(n, np.int64),
        line=np.empty((n, 2), np.int64),
        ends=np.full((LEVELS + 1, 2), -1, np.int64),
        held=reserved.astype(np.int64),
        holder=holder,
        open_nodes=int(s.nodes.open.sum()),
        rack=rack,
        rack_from=rack_from,
        rack_node=rack_node,
        shapes=fixed(s.asks.shapes, np.int64),
        masks=fixed(s.asks.masks, np.bool_),
    )


def _wants(s: Snapshot, default: Fill) -> tuple[Wants, Kinds]:
    asks, a = s.asks, len(s.asks.key)
    user = fixed(s.jobs.user[asks.job], np.int64)
    shape, mask, fill = fixed(asks.shape, np.int64), fixed(asks.mask, np.int64), fixed(asks.fill, np.int8)
    kind, first = np.empty(a, np.int64), np.empty(a, np.int64)
    count = number_kinds(shape, mask, fill, int(default), len(asks.masks), kind, first)
    wants = Wants(
        left=np.array(asks.count, np.int64),
        kind=kind,
        shape=shape,
        mask=mask,
        queue=fixed(s.users.queue[user], np.int64),
        user=user,
        gang=fixed(asks.gang, np.bool_),
        level=np.empty(a, np.int8),
        holds=np.full(a, -1, np.int64),
        near_from=fixed(asks.near_from, np.int64),
        near=fixed(asks.near, np.int64),
        near_rack_from=fixed(asks.near_rack_from, np.int64),
        near_rack=fixed(asks.near_rack, np.int64),
        placed=np.zeros(a, np.int64),
        missed=np.zeros(a, np.bool_),
        why=np.zeros(a, np.int8),
        detail=np.full(a, -1, np.int32),
    )
    first = first[:count]
    filled = fill[first].astype(np.int64)
    filled[filled < 0] = int(default)
    return wants, _kinds(s, shape[first], mask[first], filled)


def _kinds(s: Snapshot, shape: np.ndarray, mask: np.ndarray, fill: np.ndarray) -> Kinds:
    largest = np.array([amounts.max(initial=1) for amounts in s.nodes.capacity.T], np.float64)
    part = s.asks.shapes[shape] / largest
    total = part.sum(axis=1, keepdims=True)
    return Kinds(
        shape=shape,
        mask=mask,
        fill=fill,
        direction=np.ascontiguousarray(LEVELS * part / np.where(total > 0, total, 1.0) / largest),
        empty_units=np.full(len(shape), -1, np.int64),
        held_units=np.zeros(len(shape), np.int64),
        held_epoch=np.full(len(shape), -1, np.int64),
        gang_most=np.full(len(shape), 1 << 62, np.int64),
    )


def _pools(ground: Ground, wants: Wants, kinds: Kinds) -> Pools:
    preferences = len(wants.near) + len(wants.near_rack) > 0
    racks = len(ground.rack_from) - 1 if preferences else 0
    return Pools(
        table=np.zeros((len(kinds.shape), 1 + racks, 6), np.int64),
        node=np.empty((len(kinds.shape), 2 if preferences else 1, len(ground.usable)), np.int64),
        counts=np.zeros(BINS + 1, np.int64),
        unsorted=np.empty(len(ground.usable), np.int64),
    )


def _record(wants: Wants, batch: int, cursor: int, nodes: int) -> Record:
    gangs = wants.left[wants.gang]
    batch = max(batch, int(gangs.max()) if len(gangs) else 0)
    batch = min(batch, max(0, int(wants.left.sum())))
    state = np.zeros(4, np.int64)
    state[CURSOR], state[TOP] = cursor if cursor < nodes else 0, LEVELS
    return Record(np.empty(batch, np.int32), np.empty(batch, np.int32), state)


def _late(asks: Asks, memo: Memo) -> tuple[np.ndarray, np.ndarray]:
    """Opportunities that each ask let pass, (a,) int64, and when the first was, (a,) float64 s."""
    misses, first = np.zeros(len(asks.key), np.int64), np.full(len(asks.key), np.inf)
    if len(memo.late) and len(asks.key):
        at = np.minimum(np.searchsorted(asks.key, memo.late), len(asks.key) - 1)
        same = asks.key[at] == memo.late
        misses[at[same]], first[at[same]] = memo.misses[same], memo.late_at[same]
    return misses, first


def _still_waiting(t: Attempt, place: Place) -> np.ndarray:
    """Of the reservations in force those whose ask was neither satisfied nor given something on its node."""
    if not len(t.kept):
        return t.kept
    holder = t.ground.holder[t.memo.reserved_node[t.kept]]
    served = np.zeros(len(t.wants.left), np.bool_)
    served[place.ask[t.wants.holds[place.ask] == place.node]] = True
    waiting: np.ndarray = t.kept[(t.wants.left[holder] > 0) & ~served[holder]]
    return waiting


def _reserve(t: Attempt, order: np.ndarray, entity: np.ndarray) -> Reserve:
    share, p = t.policy.reserve_max_node_share, t.policy
    most = max(1, int(share * t.ground.open_nodes + 1e-6)) - len(t.kept) if share > 0 else 0
    if most <= 0 or not len(order):
        return Reserve()
    ask, node = np.empty(most, np.int32), np.empty(most, np.int32)
    order, entity = fixed(order, np.int64), fixed(entity, np.int64)
    if t.promises is not None:  # who is promised a start holds no nodes, nor does anybody behind him
        promised = np.zeros(len(t.snapshot.queues.parent), np.bool_)
        promised[t.wants.queue[t.promises.ask[: t.promises.state[COUNT]]]] = True
        order = order[~(promised[t.wants.queue[order]] & (t.promises.rule[order] != Backfill.NONE))]
    entities, taken = int(entity.max()) + 1, ~t.ground.usable
    if (holdable := t.snapshot.nodes.holdable) is not None:
        taken |= ~holdable
    after_s = float(p.reserve_after_s)
    count = reserve(t.ground, t.wants, t.waited, order, entity, entities, taken, after_s, most, ask, node)
    return Reserve(ask[:count], node[:count])
