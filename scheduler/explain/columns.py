"""Every pending ask explained in columns: which limits bind it, and where it stands in its queue.

What is alike is looked at once: nodes per kind (shape and mask), maxima per
leaf and user. Sentences and numbers are worked out only for the asks somebody
looks at (``sentence.describe``).
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from scheduler.core.compiled import aside, fixed, lean, part
from scheduler.core.plan import Ahead, Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.explain.nodes import BIG_ENOUGH, COUNTED, FITS, FITS_HELD, KNOWN, Floor, blank, examine
from scheduler.shares.tree import lowered, summed

# Limits in the order in which a round meets them: the first that binds is the answer.
ORDER = (
    Why.QUEUE_MAXIMUM, Why.USER_MAXIMUM, Why.QUEUE_SHARE, Why.ROUND_FULL, Why.NO_NODES, Why.NO_NODE_MATCHES,
    Why.RESERVED, Why.GANG, Why.LOCALITY_WAIT, Why.NO_ROOM,
)  # fmt: skip
_SHARE, _FULL, _LOCAL = int(Why.QUEUE_SHARE), int(Why.ROUND_FULL), int(Why.LOCALITY_WAIT)
_ROOM, _MATCH, _GANG = int(Why.NO_ROOM), int(Why.NO_NODE_MATCHES), int(Why.GANG)
_HELD = int(Why.RESERVED)
_OF_GANGS = (_GANG, _ROOM, _MATCH, _HELD)
_QUEUE_BIT, _USER_BIT = 1 << int(Why.QUEUE_MAXIMUM), 1 << int(Why.USER_MAXIMUM)
_NONE_BIT, _MATCH_BIT = 1 << int(Why.NO_NODES), 1 << int(Why.NO_NODE_MATCHES)
_HELD_BIT, _GANG_BIT = 1 << int(Why.RESERVED), 1 << int(Why.GANG)
_LOCAL_BIT, _ROOM_BIT = 1 << int(Why.LOCALITY_WAIT), 1 << int(Why.NO_ROOM)


class Patience(Protocol):
    """How long asks wait for nodes, then racks they prefer: seconds, or missed opportunities (0: any number)."""

    @property
    def node_wait_s(self) -> float: ...
    @property
    def rack_wait_s(self) -> float: ...
    @property
    def node_misses(self) -> int: ...
    @property
    def rack_misses(self) -> int: ...


class After(Protocol):
    """How a round left things.

    free: (n, r) int64. left: (a,) int64 containers still wanted. why: (a,)
    int8 ``Why`` of those. order: (k,) int32, asks as they were served. ahead:
    starts that were promised, where queues backfill.
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
    def ahead(self) -> Ahead | None: ...


class AskColumns(NamedTuple):
    """The asks of a snapshot, as the kernels read them. user: (j,) of each job. queue: (u,) of each user."""

    left: np.ndarray
    why: np.ndarray
    gang: np.ndarray
    job: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    user: np.ndarray
    queue: np.ndarray


class Columns(NamedTuple):
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

    room_queue, room_user: (q, r), (u, r) int64 left below each maximum.
    holder: (n,) int64 key of the ask that holds the node, or -1. kept: what
    was worked out so far, by what asks have in common.
    """

    columns: Columns
    s: Snapshot
    after: After
    line: AskColumns
    room_queue: np.ndarray
    room_user: np.ndarray
    holder: np.ndarray
    patience: Patience
    memo: Memo
    now: float
    kept: dict[Any, Any] = field(default_factory=dict)

    def promised(self, ask: int) -> float | None:
        """Seconds until the start that the ask was promised, or None."""
        ahead = self.after.ahead
        if ahead is None:
            return None
        at = np.flatnonzero(ahead.ask == ask)
        return max(0.0, float(ahead.start[at[0]]) - self.now) if len(at) else None

    def behind(self, ask: int) -> int:
        """The ask whose start keeps this one back although there is room, or -1."""
        return int(self.after.ahead.behind[ask]) if self.after.ahead is not None else -1


def explain_all(s: Snapshot, after: After, memo: Memo, patience: Patience, now: float) -> Explanation:
    """Explain every ask of ``after.order`` that still wants containers. memo: as the round left it."""
    a, n = s.asks, len(s.nodes.open)
    holder = np.full(n, -1, np.int64)
    holder[memo.reserved_node] = memo.reserved
    line = AskColumns(
        fixed(after.left, np.int64), fixed(after.why, np.int8), fixed(a.gang, np.bool_), fixed(a.job, np.int32),
        fixed(a.shape, np.int32), fixed(a.mask, np.int32), fixed(s.jobs.user, np.int32), fixed(s.users.queue, np.int32),
    )  # fmt: skip
    floor = blank(s, after.free, holder >= 0, after.left)
    room_queue, room_user = rooms(s, line)
    columns = judge(fixed(after.order, np.int32), line, floor, s, room_queue, room_user)
    return Explanation(columns, s, after, line, room_queue, room_user, holder, patience, memo, now)


def rooms(s: Snapshot, line: AskColumns) -> tuple[np.ndarray, np.ndarray]:
    """What the round has left below the maxima of queues (q, r) and users (u, r)."""
    count, shapes = fixed(s.asks.count, np.int64), fixed(s.asks.shapes, np.int64)
    of_queue, of_user = np.zeros_like(s.queues.used), np.zeros_like(s.users.used)
    placed(count, line, shapes, of_queue, of_user)
    taken = summed(fixed(s.queues.parent, np.int32), of_queue)
    return s.queues.maximum - s.queues.used - taken, s.users.maximum - s.users.used - of_user


def judge(
    order: np.ndarray, line: AskColumns, floor: Floor, s: Snapshot, room_queue: np.ndarray, room_user: np.ndarray
) -> Columns:
    """The columns of the asks in ``order`` (k,) int32."""
    rows, q = len(order), len(room_queue)
    out = Columns(
        np.empty(rows, np.int32), np.empty(rows, np.int16), np.empty(rows, np.int32), np.empty(rows, np.int64)
    )
    below = lowered(fixed(s.queues.parent, np.int32), room_queue)
    scratch = Scratch(
        below, room_user, np.zeros(len(line.queue), np.bool_), np.zeros(len(floor.state), np.int32),
        np.zeros(len(line.user), np.bool_), np.zeros(q, np.int32), np.zeros(q, np.int64),
        np.zeros(len(line.left), np.int16), np.zeros(len(line.left), np.int32),
    )  # fmt: skip
    near_maxima(floor.shapes, line, scratch)
    verdicts(line, len(floor.shapes), scratch)
    bind(line, floor, scratch, bool(s.nodes.open.any()))
    found = int(stand(order, line, scratch, out))
    return Columns(*(column[:found] for column in out))


@lean
def placed(count: np.ndarray, line: AskColumns, shapes: np.ndarray, of_queue: np.ndarray, of_user: np.ndarray) -> None:
    """Sum up what was placed: of queues themselves (q, r) and users (u, r), zeros. count: (a,) wanted before."""
    for i in range(len(count)):
        units = count[i] - line.left[i]
        if units == 0:
            continue
        user = line.user[line.job[i]]
        queue = line.queue[user]
        for k in range(shapes.shape[1]):
            amount = units * shapes[line.shape[i], k]
            of_user[user, k] += amount
            of_queue[queue, k] += amount


class Scratch(NamedTuple):
    """What filling the columns works with.

    room_queue: (q, r) with what lies above. room_user: (u, r). tight: (u,)
    bool, a container of some shape may exceed a maximum. verdict: (kinds,)
    int32, bit of ``Why`` that the round has found no node has room for the
    kind. met: (j,) bool. jobs, containers: (q,) met so far. bits: (a,) int16,
    the limits of each ask. leaf: (a,) int32, its queue.
    """

    room_queue: np.ndarray
    room_user: np.ndarray
    tight: np.ndarray
    verdict: np.ndarray
    met: np.ndarray
    jobs: np.ndarray
    containers: np.ndarray
    bits: np.ndarray
    leaf: np.ndarray


@lean
def near_maxima(shapes: np.ndarray, line: AskColumns, scratch: Scratch) -> None:
    """Fill ``scratch.tight``."""
    for k in range(shapes.shape[1]):
        most = 0
        for shape in range(len(shapes)):
            most = max(most, shapes[shape, k])
        for user in range(len(line.queue)):
            if most > 0 and min(scratch.room_queue[line.queue[user], k], scratch.room_user[user, k]) < most:
                scratch.tight[user] = True


@lean
def verdicts(line: AskColumns, shapes: int, scratch: Scratch) -> None:
    """Fill ``scratch.verdict``."""
    for i in range(len(line.left)):
        why = int(line.why[i])
        if line.left[i] > 0 and not line.gang[i] and why in (_ROOM, _MATCH):
            scratch.verdict[line.mask[i] * shapes + line.shape[i]] = 1 << why


@lean
def bind(line: AskColumns, floor: Floor, scratch: Scratch, any_open: bool) -> None:
    """Fill ``scratch.bits`` and ``scratch.leaf``."""
    for i in range(len(line.left)):
        left = line.left[i]
        if left <= 0:
            continue
        user = line.user[line.job[i]]
        queue = line.queue[user]
        scratch.leaf[i] = queue
        gang, shape, why = line.gang[i], line.shape[i], int(line.why[i])
        units = left if gang else 1
        bits = 0
        if gang or scratch.tight[user]:
            bits = maxima_bits(floor.shapes, shape, units, scratch, queue, user)
        if why in (_SHARE, _FULL):
            bits |= 1 << why
        known = scratch.verdict[line.mask[i] * len(floor.shapes) + shape]
        if not any_open:
            bits |= _NONE_BIT
        elif known > 0 and (not gang or known == _MATCH_BIT):
            bits |= known
        elif gang and why in _OF_GANGS:
            bits |= known if known > 0 and why != _MATCH else 1 << why
        else:
            bits |= nodes_bits(i, units, known > 0, line, floor)
        if not bits and why == _HELD:
            bits = _HELD_BIT  # on nodes with room that others are to have
        scratch.bits[i] = bits if bits else 1 << _FULL  # nothing keeps it any more: its turn comes next time


@lean
def stand(order: np.ndarray, line: AskColumns, scratch: Scratch, out: Columns) -> int:
    """Fill the columns in the order of service; how many rows there are."""
    row = 0
    for i in order:
        left = line.left[i]
        if left <= 0:
            continue
        job, queue = line.job[i], scratch.leaf[i]
        if not scratch.met[job]:
            scratch.met[job] = True
            scratch.jobs[queue] += 1
        out.ask[row], out.limits[row] = i, scratch.bits[i]
        out.jobs_ahead[row], out.containers_ahead[row] = scratch.jobs[queue] - 1, scratch.containers[queue]
        scratch.containers[queue] += left
        row += 1
    return row


@part
def maxima_bits(shapes: np.ndarray, shape: int, units: int, scratch: Scratch, queue: int, user: int) -> int:
    """The maxima that ``units`` containers of this shape would exceed."""
    bits = 0
    for k in range(shapes.shape[1]):
        need = shapes[shape, k] * units
        if need > 0:
            if need > scratch.room_queue[queue, k]:
                bits |= _QUEUE_BIT
            if need > scratch.room_user[user, k]:
                bits |= _USER_BIT
    return bits


@aside
def nodes_bits(i: int, units: int, none_fits: bool, line: AskColumns, floor: Floor) -> int:
    """The limits that nodes put on an ask that wants ``units`` at once. none_fits: not even one has room now."""
    gang, mask, shape = line.gang[i], line.mask[i], line.shape[i]
    kind = mask * len(floor.shapes) + shape
    state = floor.state[kind]
    if not state & KNOWN or (gang and not state & COUNTED):
        state = examine(mask, shape, gang, none_fits, floor)
    if not state & BIG_ENOUGH or (gang and floor.when_empty[kind] < units):
        return _MATCH_BIT
    if gang:
        if floor.fits[kind] >= units:
            return 0
        if floor.fits[kind] + floor.fits_held[kind] >= units:
            return _HELD_BIT
        return _GANG_BIT if state & FITS else _ROOM_BIT
    if not state & FITS:
        return _HELD_BIT if state & FITS_HELD else _ROOM_BIT
    return _LOCAL_BIT if line.why[i] == _LOCAL else 0
