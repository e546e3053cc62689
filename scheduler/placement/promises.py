"""Starts promised to asks that wait, and what is known of the time until then: the tables kernels work on.

A *promise* is a reservation in time: so many containers of an ask, from a
start until its expected end, on whichever of its nodes have room then. Between
two starts of promised asks room only grows, so it suffices to know how
everything stands at each start: one *block* of rows per promise.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import fixed
from scheduler.core.snapshot import Backfill, Running, Snapshot
from scheduler.placement.board import BINS

NONE, CONSERVATIVE, STRICT = int(Backfill.NONE), int(Backfill.CONSERVATIVE), int(Backfill.STRICT)

CLASSES = 6  # of nodes, before their fill: as near as a node, a rack or any, each spare or promised
NUMBERS_MAX = 1 << 24  # in all blocks together: where there are more rows, fewer promises are given
_MOST = np.int64(1) << 60
FAILURES_MAX = 20  # searches for a start that found none: afterwards nobody is promised one in this round

# Promises.state
COUNT = 0  # promises so far
KINDS = 1  # kinds that have any
GROUPS = 2  # groups of containers placed in this round that have an end
SORTED = 3  # of these are in order
FAILED = 4  # searches that found no start
IN_THE_WAY = 5  # the promise that was last found in the way
SIZE = 6

# Promises.spot, of the working block
RUN = 0  # running containers that have ended by then
GROUP = 1  # groups that have
STARTED = 2  # promises that have started
ENDED = 3  # promises that have ended
UNITS = 4  # containers of the kind looked for that its nodes have room for, promises not counted
BURDEN = 5  # of these, as many as active promises need
SPOTS = 6


class Promises(NamedTuple):
    """p promises at most; c running containers with a known end; b the batch; others as in ``board``.

    now: s. nodes, queues, rows: n, q, and the rows of a block, n + q + u.
    rule: (a,) int8 ``Backfill``. lasts: (a,) float64 s, infinity unknown. until:
    (a,) float64, now and that. holding: (a,) bool, it holds nodes and is served
    as everywhere. headed*: (q,) bool, leaves that serve ``EASY`` and have a
    promise. behind*: (a,) int64, the ask whose start keeps it back, or -1.

    end: (c,) float64 ascending, not before now. end_node, end_queue, end_user:
    (c,) int64, user -1 unknown. end_shape: (c, r) int64. group_end*: (b,)
    float64, group_ask*, group_from*, group_to*: (b,) int64, rows of the record
    that end together; group_order*: (b,) int64.

    ask*, units*, of*: (p,) int64, of: its kind by number. start*, over*: (p,)
    float64. by_start*, by_end*: (p,) int64. number*: (k,) int64 of each kind, or
    -1. kind*: (p,) int64. largest*: (p,) int64, containers of the kind on one
    empty node at most. rate*: (p, p) float64, containers of the second kind
    that one of the first counts for.

    room*: ((p + 1) * rows, r) int64, blocks, the last to work in: what nodes
    have free, promises not counted, and what queues and users may still hold,
    promises counted. units_then*, used*, live*: (p, p) int64 at the start of a
    promise, of each kind: containers that nodes have room for (-1 unknown), as
    many of them as active promises need, and how many promises of it are
    active. binds: (q + u,) bool, maxima that could ever be reached. never*:
    (k,) int64, nodes will not have room for so many as far as can be foreseen.
    fail_units*: (k,) int64, fail_due*: (k,) float64: so many break a promise if they last beyond that.

    list*, line*, key*, taken*: (n,) int64. bins*: int64, of the sort. spot*, state*: int64.
    """

    now: float
    nodes: int
    queues: int
    rows: int
    rule: np.ndarray
    lasts: np.ndarray
    until: np.ndarray
    holding: np.ndarray
    headed: np.ndarray
    behind: np.ndarray
    end: np.ndarray
    end_node: np.ndarray
    end_queue: np.ndarray
    end_user: np.ndarray
    end_shape: np.ndarray
    group_end: np.ndarray
    group_ask: np.ndarray
    group_from: np.ndarray
    group_to: np.ndarray
    group_order: np.ndarray
    ask: np.ndarray
    units: np.ndarray
    of: np.ndarray
    start: np.ndarray
    over: np.ndarray
    by_start: np.ndarray
    by_end: np.ndarray
    number: np.ndarray
    kind: np.ndarray
    largest: np.ndarray
    rate: np.ndarray
    room: np.ndarray
    units_then: np.ndarray
    used: np.ndarray
    live: np.ndarray
    binds: np.ndarray
    never: np.ndarray
    fail_units: np.ndarray
    fail_due: np.ndarray
    list: np.ndarray
    line: np.ndarray
    key: np.ndarray
    taken: np.ndarray
    bins: np.ndarray
    spot: np.ndarray
    state: np.ndarray


def rules(s: Snapshot) -> np.ndarray | None:
    """How each ask backfills, (a,) int8; None where none does."""
    if s.queues.backfill is None:
        return None
    found = fixed(s.queues.backfill[s.ask_queue], np.int8)
    return found if found.any() else None


def promises(
    s: Snapshot, rule: np.ndarray, holders: np.ndarray, kinds: int, batch: int, depth: int, now: float
) -> Promises:
    """Nothing promised yet. holders: asks that hold nodes. depth: of promises at most."""
    n, r = s.nodes.free.shape
    a, q, u = len(rule), len(s.queues.parent), len(s.users.queue)
    rows = n + q + u
    p = max(1, min(depth, a, NUMBERS_MAX // max(1, rows * r) - 1))
    lasts = np.where(s.asks.duration > 0, s.asks.duration, np.inf)
    holding = np.zeros(a, np.bool_)
    holding[holders] = True
    below = np.concatenate((s.queues.maximum - s.queues.used, s.users.maximum - s.users.used))
    end, end_node, end_queue, end_user, end_shape = _ends(s, now)
    return Promises(
        now=float(now), nodes=n, queues=q, rows=rows,
        rule=rule, lasts=lasts, until=now + lasts, holding=holding,
        headed=np.zeros(q, np.bool_), behind=np.full(a, -1, np.int64),
        end=end, end_node=end_node, end_queue=end_queue, end_user=end_user, end_shape=end_shape,
        group_end=np.zeros(batch), group_ask=_zeros(batch), group_from=_zeros(batch), group_to=_zeros(batch),
        group_order=_zeros(batch),
        ask=_zeros(p), units=_zeros(p), of=_zeros(p), start=np.zeros(p), over=np.zeros(p),
        by_start=_zeros(p), by_end=_zeros(p),
        number=np.full(kinds, -1, np.int64), kind=_zeros(p), largest=_zeros(p), rate=np.zeros((p, p)),
        room=np.empty(((p + 1) * rows, r), np.int64), units_then=_zeros((p, p)), used=_zeros((p, p)),
        live=_zeros((p, p)), binds=np.asarray((below < s.nodes.capacity.sum(axis=0)).any(axis=1)),
        never=np.full(kinds, _MOST), fail_units=np.full(kinds, _MOST), fail_due=np.full(kinds, np.inf),
        list=_zeros(n), line=_zeros(n), key=_zeros(n), taken=_zeros(n), bins=_zeros(CLASSES * BINS + 1),
        spot=_zeros(SPOTS), state=_zeros(SIZE),
    )  # fmt: skip


def _zeros(size: int | tuple[int, int]) -> np.ndarray:
    return np.zeros(size, np.int64)


def _ends(s: Snapshot, now: float) -> tuple[np.ndarray, ...]:
    """Running containers with a known end, by end: ends, nodes, queues, users, shapes.

    One that has outlived its estimate is expected to end at any moment: now.
    """
    live = s.running if s.running is not None else _nothing(s)
    ends = np.maximum(live.ends, now)
    if live.late is not None:
        ends = np.where(live.late, now, ends)
    rows = np.flatnonzero(np.isfinite(ends))
    rows = rows[np.argsort(ends[rows], kind="stable")]
    user = np.append(s.jobs.user, -1)[live.job[rows]]  # job -1 is nobody's here
    numbers = (fixed(x, np.int64) for x in (live.node[rows], live.queue[rows], user, live.shape[rows]))
    return fixed(ends[rows], np.float64), *numbers


def _nothing(s: Snapshot) -> Running:
    none, times = np.empty(0, np.int32), np.empty(0)
    shape = np.empty((0, s.nodes.free.shape[1]), np.int64)
    return Running(none, none, none, none, none, shape, times, times, none)
