"""Starts promised to asks that wait, and what is known of the time until then: the tables kernels work on.

A *promise* is a reservation in time: so many containers of an ask, from a
start until its expected end, on whichever of its nodes have room then. Between
two starts of promised asks room only grows, so it suffices to know how
everything stands at each start: one *block* of rows per promise. Equivalence
classes of which asks are promised something are numbered apart, in *slots*.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import contiguous
from scheduler.core.snapshot import Backfill, Running, Snapshot
from scheduler.placement.tables import BINS

NONE, CONSERVATIVE, STRICT = int(Backfill.NONE), int(Backfill.CONSERVATIVE), int(Backfill.STRICT)

NODE_TIERS = 6  # of nodes, before their fill: as near as a node, a rack or any, each spare or promised
BLOCKS_SIZE_MAX = 1 << 24  # numbers in all blocks together: where there are more rows, fewer promises are given
_MOST = np.int64(1) << 60
FAILURES_MAX = 20  # searches for a start that found none: afterwards nobody is promised one in this round

# Positions in ``PromiseTable.state``
N_PROMISES = 0  # promises so far
N_SLOTS = 1  # equivalence classes that have any
N_END_GROUPS = 2  # groups of containers placed in this round that have an end
N_SORTED = 3  # of these are in order
N_FAILED = 4  # searches that found no start
LAST_CONFLICT = 5  # the promise that was last found in the way
PROMISES_STATE_SIZE = 6

# Positions in ``PromiseTable.sweep``, of the working block
ENDED_RUNNING = 0  # running containers that have ended by then
ENDED_GROUPS = 1  # groups that have
STARTED_PROMISES = 2  # promises that have started
ENDED_PROMISES = 3  # promises that have ended
UNITS_FREE = 4  # containers of the class looked for that its nodes have room for, promises not counted
UNITS_PROMISED = 5  # of these, as many as active promises need
SWEEP_SIZE = 6


class PromiseTable(NamedTuple):
    """p promises at most; c running containers with a known end; b the batch; others as in ``tables``.

    Indices: i, j a promise; y, z a slot.

    now: s. nodes, queues, rows: n, q, and the rows of a block, n + q + u.
    rule: (a,) int8 ``Backfill``. duration: (a,) float64 s, infinity unknown.
    expected_end: (a,) float64, now and that. holds_nodes: (a,) bool, it is served as
    in other queues. has_head*: (q,) bool, leaves that serve ``EASY`` and have a
    promise. kept_back_by*: (a,) int64, the ask whose start keeps it back, or -1.

    running_end: (c,) float64 ascending, not before now. running_node, running_queue,
    running_user: (c,) int64, user -1 unknown. running_shape: (c, r) int64.
    group_end*: (b,) float64, group_ask*, group_from*, group_to*: (b,) int64, rows of
    the log that end together; group_order*: (b,) int64.

    ask*, units*, slot*: (p,) int64. start*, end*: (p,) float64. by_start*, by_end*:
    (p,) int64, promises in that order. slot_of*: (k,) int64 of each class, or -1.
    slot_class*: (p,) int64. largest_per_node*: (p,) int64, containers of the class
    on one empty node at most. exchange_rate*: (p, p) float64, containers of the
    class in the second slot that one of the first counts for.

    room*: ((p + 1) * rows, r) int64, blocks, the last to work in: what nodes
    have free, promises not counted, and what queues and users may still hold,
    promises counted. units_at_start*, units_promised*, active*: (p, p) int64, at the
    start of a promise, for each slot: containers that nodes have room for (-1
    unknown), as many of them as active promises need, and how many promises of its
    class are active. can_bind: (q + u,) bool, maxima that could ever be reached.
    never_fits*: (k,) int64, nodes will not have room for so many as far as can be
    foreseen. fail_units*: (k,) int64, fail_end*: (k,) float64: so many break a
    promise if they last beyond that.

    unsorted*, candidates*, sort_key*, mark*: (n,) int64 and bins*: int64, of the sort
    of nodes; mark is their locality first, then what was placed on them. sweep*,
    state*: int64, see ``ENDED_RUNNING`` and ``N_PROMISES``.
    """

    now: float
    nodes: int
    queues: int
    rows: int
    rule: np.ndarray
    duration: np.ndarray
    expected_end: np.ndarray
    holds_nodes: np.ndarray
    has_head: np.ndarray
    kept_back_by: np.ndarray
    running_end: np.ndarray
    running_node: np.ndarray
    running_queue: np.ndarray
    running_user: np.ndarray
    running_shape: np.ndarray
    group_end: np.ndarray
    group_ask: np.ndarray
    group_from: np.ndarray
    group_to: np.ndarray
    group_order: np.ndarray
    ask: np.ndarray
    units: np.ndarray
    slot: np.ndarray
    start: np.ndarray
    end: np.ndarray
    by_start: np.ndarray
    by_end: np.ndarray
    slot_of: np.ndarray
    slot_class: np.ndarray
    largest_per_node: np.ndarray
    exchange_rate: np.ndarray
    room: np.ndarray
    units_at_start: np.ndarray
    units_promised: np.ndarray
    active: np.ndarray
    can_bind: np.ndarray
    never_fits: np.ndarray
    fail_units: np.ndarray
    fail_end: np.ndarray
    unsorted: np.ndarray
    candidates: np.ndarray
    sort_key: np.ndarray
    mark: np.ndarray
    bins: np.ndarray
    sweep: np.ndarray
    state: np.ndarray


def backfill_rules(s: Snapshot) -> np.ndarray | None:
    """How each ask backfills, (a,) int8; None where none does."""
    if s.queues.backfill is None:
        return None
    found = contiguous(s.queues.backfill[s.ask_queue], np.int8)
    return found if found.any() else None


def no_promises(
    s: Snapshot, rule: np.ndarray, holders: np.ndarray, classes: int, batch: int, depth: int, now: float
) -> PromiseTable:
    """Nothing promised yet. holders: asks that hold nodes. depth: of promises at most."""
    n, r = s.nodes.free.shape
    a, q, u = len(rule), len(s.queues.parent), len(s.users.queue)
    rows = n + q + u
    p = max(1, min(depth, a, BLOCKS_SIZE_MAX // max(1, rows * r) - 1))
    duration = np.where(s.asks.duration > 0, s.asks.duration, np.inf)
    holds_nodes = np.zeros(a, np.bool_)
    holds_nodes[holders] = True
    below = np.concatenate((s.queues.maximum - s.queues.used, s.users.maximum - s.users.used))
    end, node, queue, user, shape = _running_ends(s, now)
    return PromiseTable(
        now=float(now), nodes=n, queues=q, rows=rows,
        rule=rule, duration=duration, expected_end=now + duration, holds_nodes=holds_nodes,
        has_head=np.zeros(q, np.bool_), kept_back_by=np.full(a, -1, np.int64),
        running_end=end, running_node=node, running_queue=queue, running_user=user, running_shape=shape,
        group_end=np.zeros(batch), group_ask=_zeros(batch), group_from=_zeros(batch), group_to=_zeros(batch),
        group_order=_zeros(batch),
        ask=_zeros(p), units=_zeros(p), slot=_zeros(p), start=np.zeros(p), end=np.zeros(p),
        by_start=_zeros(p), by_end=_zeros(p),
        slot_of=np.full(classes, -1, np.int64), slot_class=_zeros(p), largest_per_node=_zeros(p),
        exchange_rate=np.zeros((p, p)),
        room=np.empty(((p + 1) * rows, r), np.int64), units_at_start=_zeros((p, p)), units_promised=_zeros((p, p)),
        active=_zeros((p, p)), can_bind=np.asarray((below < s.nodes.capacity.sum(axis=0)).any(axis=1)),
        never_fits=np.full(classes, _MOST), fail_units=np.full(classes, _MOST), fail_end=np.full(classes, np.inf),
        unsorted=_zeros(n), candidates=_zeros(n), sort_key=_zeros(n), mark=_zeros(n),
        bins=_zeros(NODE_TIERS * BINS + 1),
        sweep=_zeros(SWEEP_SIZE), state=_zeros(PROMISES_STATE_SIZE),
    )  # fmt: skip


def _zeros(size: int | tuple[int, int]) -> np.ndarray:
    return np.zeros(size, np.int64)


def _running_ends(s: Snapshot, now: float) -> tuple[np.ndarray, ...]:
    """Running containers with a known end, by end: ends, nodes, queues, users, shapes.

    One that has outlived its estimate is expected to end at any moment: now.
    """
    live = s.running if s.running is not None else _none_running(s)
    ends = np.maximum(live.ends, now)
    if live.overdue is not None:
        ends = np.where(live.overdue, now, ends)
    rows = np.flatnonzero(np.isfinite(ends))
    rows = rows[np.argsort(ends[rows], kind="stable")]
    user = np.append(s.jobs.user, -1)[live.job[rows]]  # job -1 is nobody's here
    numbers = (contiguous(x, np.int64) for x in (live.node[rows], live.queue[rows], user, live.shape[rows]))
    return contiguous(ends[rows], np.float64), *numbers


def _none_running(s: Snapshot) -> Running:
    none, times = np.empty(0, np.int32), np.empty(0)
    shape = np.empty((0, s.nodes.free.shape[1]), np.int64)
    return Running(none, none, none, none, none, shape, times, times, none)
