"""Every pending ask explained in columns: which limits bind it, and where it stands in its queue.

What is alike is looked at once: nodes per kind (shape and mask), maxima per
leaf and user. Sentences and numbers are worked out only for the asks somebody
looks at (``sentence.describe``).
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from scheduler.core.compiled import arrayless, contiguous, inlined, subroutine
from scheduler.core.plan import PromisedStarts, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.explain.feasibility import (
    BIG_ENOUGH,
    COUNTED,
    FITS,
    FITS_RESERVED,
    KNOWN,
    Feasibility,
    examine_kind,
    unknown_feasibility,
)
from scheduler.shares.tree import path_minimum, subtree_sums

# Limits in the order in which a round meets them: the first that binds is the answer.
LIMIT_ORDER = (
    Why.QUEUE_MAXIMUM, Why.USER_MAXIMUM, Why.QUEUE_SHARE, Why.ROUND_FULL, Why.NO_NODES, Why.NO_NODE_MATCHES,
    Why.RESERVED, Why.GANG, Why.LOCALITY_WAIT, Why.NO_ROOM,
)  # fmt: skip
_SHARE, _FULL, _LOCAL = int(Why.QUEUE_SHARE), int(Why.ROUND_FULL), int(Why.LOCALITY_WAIT)
_ROOM, _MATCH, _GANG = int(Why.NO_ROOM), int(Why.NO_NODE_MATCHES), int(Why.GANG)
_RESERVED = int(Why.RESERVED)
_OF_GANGS = (_GANG, _ROOM, _MATCH, _RESERVED)
_QUEUE_BIT, _USER_BIT = 1 << int(Why.QUEUE_MAXIMUM), 1 << int(Why.USER_MAXIMUM)
_NONE_BIT, _MATCH_BIT = 1 << int(Why.NO_NODES), 1 << int(Why.NO_NODE_MATCHES)
_RESERVED_BIT, _GANG_BIT = 1 << int(Why.RESERVED), 1 << int(Why.GANG)
_LOCAL_BIT, _ROOM_BIT = 1 << int(Why.LOCALITY_WAIT), 1 << int(Why.NO_ROOM)


class LocalityDelay(Protocol):
    """How long asks wait for nodes, then racks they prefer: seconds, or missed opportunities (0: any number)."""

    @property
    def node_wait_s(self) -> float: ...
    @property
    def rack_wait_s(self) -> float: ...
    @property
    def node_misses(self) -> int: ...
    @property
    def rack_misses(self) -> int: ...


class Outcome(Protocol):
    """How a round left things.

    free: (n, r) int64. left: (a,) int64 containers still wanted. why: (a,)
    int8 ``Why`` of those. order: (k,) int32, asks as they were served. promised:
    starts, where queues backfill.
    """

    @property
    def free(self) -> np.ndarray: ...
    @property
    def left(self) -> np.ndarray: ...
    @property
    def why(self) -> np.ndarray: ...
    @property
    def order(self) -> np.ndarray: ...
    @property
    def promised(self) -> PromisedStarts | None: ...


class AskArrays(NamedTuple):
    """The asks of a snapshot, as the kernels read them. user: (j,) of each job. queue: (u,) of each user."""

    left: np.ndarray
    why: np.ndarray
    gang: np.ndarray
    job: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    user: np.ndarray
    queue: np.ndarray


class ExplanationColumns(NamedTuple):
    """One row per ask that waits, in the order in which they are served.

    ask: (w,) int32 position in the snapshot. limits: (w,) int16, bit ``Why``
    set for each limit that binds. jobs_ahead: (w,) int32, containers_ahead:
    (w,) int64, before it in its leaf queue.
    """

    ask: np.ndarray
    limits: np.ndarray
    jobs_ahead: np.ndarray
    containers_ahead: np.ndarray


@dataclass(frozen=True, slots=True)
class Explanation:
    """The columns, and what sentences are made from.

    queue_room, user_room: (q, r), (u, r) int64 left below each maximum.
    reserved_for: (n,) int64 key of the ask that a node is reserved for, or -1. cache:
    what was worked out so far, by what asks have in common.
    """

    columns: ExplanationColumns
    s: Snapshot
    outcome: Outcome
    asks: AskArrays
    queue_room: np.ndarray
    user_room: np.ndarray
    reserved_for: np.ndarray
    locality_delay: LocalityDelay
    memo: Memo
    now: float
    cache: dict[Any, Any] = field(default_factory=dict)

    def promised_wait_s(self, ask: int) -> float | None:
        """Seconds until the start that the ask was promised, or None."""
        promised = self.outcome.promised
        if promised is None:
            return None
        at = np.flatnonzero(promised.ask == ask)
        return max(0.0, float(promised.start[at[0]]) - self.now) if len(at) else None

    def kept_back_by(self, ask: int) -> int:
        """The ask whose start keeps this one back although there is room, or -1."""
        return int(self.outcome.promised.kept_back_by[ask]) if self.outcome.promised is not None else -1


def explain_all(s: Snapshot, outcome: Outcome, memo: Memo, locality_delay: LocalityDelay, now: float) -> Explanation:
    """Explain every ask of ``after.order`` that still wants containers. memo: as the round left it."""
    a, n = s.asks, len(s.nodes.open)
    reserved_for = np.full(n, -1, np.int64)
    reserved_for[memo.reserved_node] = memo.reserved
    asks = AskArrays(
        contiguous(outcome.left, np.int64), contiguous(outcome.why, np.int8), contiguous(a.gang, np.bool_),
        contiguous(a.job, np.int32), contiguous(a.shape, np.int32), contiguous(a.mask, np.int32),
        contiguous(s.jobs.user, np.int32), contiguous(s.users.queue, np.int32),
    )  # fmt: skip
    feasibility = unknown_feasibility(s, outcome.free, reserved_for >= 0, outcome.left)
    queue_room, user_room = room_left(s, asks)
    columns = explain_asks(contiguous(outcome.order, np.int32), asks, feasibility, s, queue_room, user_room)
    return Explanation(columns, s, outcome, asks, queue_room, user_room, reserved_for, locality_delay, memo, now)


def room_left(s: Snapshot, asks: AskArrays) -> tuple[np.ndarray, np.ndarray]:
    """What the round has left below the maxima of queues (q, r) and users (u, r)."""
    count, shapes = contiguous(s.asks.count, np.int64), contiguous(s.asks.shapes, np.int64)
    of_queue, of_user = np.zeros_like(s.queues.used), np.zeros_like(s.users.used)
    placed(count, asks, shapes, of_queue, of_user)
    taken = subtree_sums(contiguous(s.queues.parent, np.int32), of_queue)
    return s.queues.maximum - s.queues.used - taken, s.users.maximum - s.users.used - of_user


def explain_asks(
    order: np.ndarray,
    asks: AskArrays,
    feasibility: Feasibility,
    s: Snapshot,
    queue_room: np.ndarray,
    user_room: np.ndarray,
) -> ExplanationColumns:
    """The columns of the asks in ``order`` (k,) int32."""
    rows, q = len(order), len(queue_room)
    out = ExplanationColumns(
        np.empty(rows, np.int32), np.empty(rows, np.int16), np.empty(rows, np.int32), np.empty(rows, np.int64)
    )
    below = path_minimum(contiguous(s.queues.parent, np.int32), queue_room)
    scratch = ExplainScratch(
        below, user_room, np.zeros(len(asks.queue), np.bool_), np.zeros(len(feasibility.state), np.int32),
        np.zeros(len(asks.user), np.bool_), np.zeros(q, np.int32), np.zeros(q, np.int64),
        np.zeros(len(asks.left), np.int16), np.zeros(len(asks.left), np.int32),
    )  # fmt: skip
    near_maxima(feasibility.shapes, asks, scratch)
    verdicts(asks, len(feasibility.shapes), scratch)
    set_binding_limits(asks, feasibility, scratch, bool(s.nodes.open.any()))
    found = int(set_positions(order, asks, scratch, out))
    return ExplanationColumns(*(column[:found] for column in out))


@arrayless
def placed(count: np.ndarray, asks: AskArrays, shapes: np.ndarray, of_queue: np.ndarray, of_user: np.ndarray) -> None:
    """Sum up what was placed: of queues themselves (q, r) and users (u, r), zeros. count: (a,) wanted before."""
    for i in range(len(count)):
        units = count[i] - asks.left[i]
        if units == 0:
            continue
        user = asks.user[asks.job[i]]
        queue = asks.queue[user]
        for k in range(shapes.shape[1]):
            amount = units * shapes[asks.shape[i], k]
            of_user[user, k] += amount
            of_queue[queue, k] += amount


class ExplainScratch(NamedTuple):
    """What filling the columns works with.

    queue_room: (q, r) with what lies above. user_room: (u, r). tight: (u,)
    bool, a container of some shape may exceed a maximum. verdict: (kinds,)
    int32, bit of ``Why`` that the round has found no node has room for the
    kind. job_seen: (j,) bool. jobs, containers: (q,) met so far. bits: (a,) int16,
    the limits of each ask. leaf: (a,) int32, its queue.
    """

    queue_room: np.ndarray
    user_room: np.ndarray
    tight: np.ndarray
    verdict: np.ndarray
    job_seen: np.ndarray
    jobs: np.ndarray
    containers: np.ndarray
    bits: np.ndarray
    leaf: np.ndarray


@arrayless
def near_maxima(shapes: np.ndarray, asks: AskArrays, scratch: ExplainScratch) -> None:
    """Fill ``scratch.tight``."""
    for k in range(shapes.shape[1]):
        most = 0
        for shape in range(len(shapes)):
            most = max(most, shapes[shape, k])
        for user in range(len(asks.queue)):
            if most > 0 and min(scratch.queue_room[asks.queue[user], k], scratch.user_room[user, k]) < most:
                scratch.tight[user] = True


@arrayless
def verdicts(asks: AskArrays, shapes: int, scratch: ExplainScratch) -> None:
    """Fill ``scratch.verdict``."""
    for i in range(len(asks.left)):
        why = int(asks.why[i])
        if asks.left[i] > 0 and not asks.gang[i] and why in (_ROOM, _MATCH):
            scratch.verdict[asks.mask[i] * shapes + asks.shape[i]] = 1 << why


@arrayless
def set_binding_limits(asks: AskArrays, feasibility: Feasibility, scratch: ExplainScratch, any_open: bool) -> None:
    """Fill ``scratch.bits`` and ``scratch.leaf``."""
    for i in range(len(asks.left)):
        left = asks.left[i]
        if left <= 0:
            continue
        user = asks.user[asks.job[i]]
        queue = asks.queue[user]
        scratch.leaf[i] = queue
        gang, shape, why = asks.gang[i], asks.shape[i], int(asks.why[i])
        units = left if gang else 1
        bits = 0
        if gang or scratch.tight[user]:
            bits = maxima_bits(feasibility.shapes, shape, units, scratch, queue, user)
        if why in (_SHARE, _FULL):
            bits |= 1 << why
        known = scratch.verdict[asks.mask[i] * len(feasibility.shapes) + shape]
        if not any_open:
            bits |= _NONE_BIT
        elif known > 0 and (not gang or known == _MATCH_BIT):
            bits |= known
        elif gang and why in _OF_GANGS:
            bits |= known if known > 0 and why != _MATCH else 1 << why
        else:
            bits |= nodes_bits(i, units, known > 0, asks, feasibility)
        if not bits and why == _RESERVED:
            bits = _RESERVED_BIT  # on nodes with room that others are to have
        scratch.bits[i] = bits if bits else 1 << _FULL  # nothing keeps it any more: its turn comes next time


@arrayless
def set_positions(order: np.ndarray, asks: AskArrays, scratch: ExplainScratch, out: ExplanationColumns) -> int:
    """Fill the columns in the order of service; how many rows there are."""
    row = 0
    for i in order:
        left = asks.left[i]
        if left <= 0:
            continue
        job, queue = asks.job[i], scratch.leaf[i]
        if not scratch.job_seen[job]:
            scratch.job_seen[job] = True
            scratch.jobs[queue] += 1
        out.ask[row], out.limits[row] = i, scratch.bits[i]
        out.jobs_ahead[row], out.containers_ahead[row] = scratch.jobs[queue] - 1, scratch.containers[queue]
        scratch.containers[queue] += left
        row += 1
    return row


@inlined
def maxima_bits(shapes: np.ndarray, shape: int, units: int, scratch: ExplainScratch, queue: int, user: int) -> int:
    """The maxima that ``units`` containers of this shape would exceed."""
    bits = 0
    for k in range(shapes.shape[1]):
        need = shapes[shape, k] * units
        if need > 0:
            if need > scratch.queue_room[queue, k]:
                bits |= _QUEUE_BIT
            if need > scratch.user_room[user, k]:
                bits |= _USER_BIT
    return bits


@subroutine
def nodes_bits(i: int, units: int, none_fits: bool, asks: AskArrays, feasibility: Feasibility) -> int:
    """The limits that nodes put on an ask that wants ``units`` at once. none_fits: not even one has room now."""
    gang, mask, shape = asks.gang[i], asks.mask[i], asks.shape[i]
    kind = mask * len(feasibility.shapes) + shape
    state = feasibility.state[kind]
    if not state & KNOWN or (gang and not state & COUNTED):
        state = examine_kind(mask, shape, gang, none_fits, feasibility)
    if not state & BIG_ENOUGH or (gang and feasibility.fits_empty[kind] < units):
        return _MATCH_BIT
    if gang:
        if feasibility.fits[kind] >= units:
            return 0
        if feasibility.fits[kind] + feasibility.fits_reserved[kind] >= units:
            return _RESERVED_BIT
        return _GANG_BIT if state & FITS else _ROOM_BIT
    if not state & FITS:
        return _RESERVED_BIT if state & FITS_RESERVED else _ROOM_BIT
    return _LOCAL_BIT if asks.why[i] == _LOCAL else 0
