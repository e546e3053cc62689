"""Which containers go: the first in order that, together with what is free beside them, make room for an owed ask.

Candidates are taken up in order (lowest priority first, then the newest) and
gathered node by node. As soon as a node's gathered candidates make an ask fit
there, those that it does not need are let go again, the most valuable first;
the rest are chosen. Nothing is chosen on a node where nothing comes to fit.
"""

from typing import NamedTuple, cast

import numpy as np

from scheduler.core.compiled import lean, part
from wire.resources import MEMORY

LITTLE = 1e-6  # of a resource unit: what rounding may cost
MAY_GO, CHOSEN, STAYS = 0, 1, 2
NO, ENTITLED, EXCEPTION = 0, 1, 2
NOW, PUT_OFF, DUE = 0, 1, 2  # of LATER
LOGGED, COUNTS, LATER, NOBODY, WANT, REFUSED, AGAIN, HOPELESS, MARKS = range(9)  # see Field.marks
TAKE, GIVE = cast(int, np.int64(1)), cast(int, np.int64(-1))  # Numba would compile a literal by itself


class Claims(NamedTuple):
    """k asks that may have room made for them, alike ones (but for their row) in groups.

    groups: (g + 1,) int64 offsets. row: (k,) int32 in ``Books``, -1 when nobody counts what is taken and given.
    units: (k,) int64 containers. shape: (k, r) int64. mask: (k,) int32, row of
    ``nodes`` (m, n) bool. holder: (k,) int32, the ask. held: (n,) int32, the
    ask that a node is held for, or -1. below: (k,) int64, only containers of lower priority.
    swap: (k,) bool, what is taken must be as much as what is asked. gang: (k,) bool.
    first, last: (g,) int64, the part of the candidates that a group looks through.
    """

    groups: np.ndarray
    row: np.ndarray
    units: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    nodes: np.ndarray
    holder: np.ndarray
    held: np.ndarray
    below: np.ndarray
    swap: np.ndarray
    gang: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Books(NamedTuple):
    """p rows (queues or users): (p, r) float64 debt and owed; alive: (p,) int64 containers; starving: (p,) bool.

    One that is starving holds nothing at all and may begin a container that
    is larger than what it is owed.
    """

    debt: np.ndarray
    owed: np.ndarray
    alive: np.ndarray
    starving: np.ndarray


class Field(NamedTuple):
    """The candidates in the order in which they are to go, and their nodes; written to.

    node, payer, claim: (c,) int64, claim is what it is chosen for. priority:
    (c,) int64. shape: (c, r) int64. warned: (c,) bool. state: (c,) int8.
    room: (n, r) int64, free now or soon. taken, total: (1, r), bound, least:
    (r,) int64, least of what any candidate holds. head, tail: (n,), following:
    (c,) int64, the lists of gathered candidates; pool: (n, r) int64 their
    sums. log: (l,) int64 what was done for a gang. some: (c,) int64 workspace.
    master: (c,) bool, application masters, after all others.

    marks: (MARKS,) int64. LOGGED: the length of the log. COUNTS: whether
    anything has been taken, so that the bound counts. LATER: whether that is
    put off to the end of a gang (DUE: something was). NOBODY: whether nobody is
    warned. WANT: how the present claim wants. REFUSED: whether the bound let
    one stay that is no master; no master is taken from then on. AGAIN:
    whether the present claim may take what the one before it passed over.
    HOPELESS: whether an exception of the present group has found nothing, as no other will.
    """

    node: np.ndarray
    payer: np.ndarray
    priority: np.ndarray
    shape: np.ndarray
    warned: np.ndarray
    master: np.ndarray
    state: np.ndarray
    claim: np.ndarray
    room: np.ndarray
    taken: np.ndarray
    bound: np.ndarray
    least: np.ndarray
    total: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    following: np.ndarray
    pool: np.ndarray
    log: np.ndarray
    marks: np.ndarray
    some: np.ndarray


@part
def _wants(c: Claims, b: Books, i: int) -> int:
    """Whether claim i may have one more container (ENTITLED), if only because its row is starving (EXCEPTION)."""
    if c.units[i] <= 0:
        return NO
    row, answer = c.row[i], ENTITLED
    if row >= 0:
        for k in range(c.shape.shape[1]):
            if c.shape[i, k] > 0 and b.owed[row, k] + LITTLE < c.shape[i, k]:
                if not b.starving[row] or b.owed[row, k] <= LITTLE:
                    return NO
                answer = EXCEPTION
    return answer


@part
def _next(f: Field, c: Claims, b: Books, i: int, end: int) -> int:
    """The first claim from i on that wants something and may find it."""
    while i < end:
        f.marks[WANT] = _wants(c, b, i)
        if f.marks[WANT] == ENTITLED or (f.marks[WANT] == EXCEPTION and f.marks[HOPELESS] == 0):
            break
        i += 1
    return i


@part
def _owes(debt: np.ndarray, p: int, asked: np.ndarray, i: int, shape: np.ndarray, x: int) -> bool:
    """Whether payer p owes something that claim i asks for and container x has."""
    owes = False
    for k in range(debt.shape[1]):
        owes = owes or (debt[p, k] > LITTLE and asked[i, k] > 0 and shape[x, k] > 0)
    return owes


@part
def _bounded(f: Field, x: int) -> bool:
    """Whether candidate x has to stay: it is more than the round may still take, or a master after such a one."""
    if f.marks[COUNTS] == 0:
        return False
    if f.master[x] and f.marks[REFUSED] == 1:
        return True
    over = False
    for k in range(len(f.bound)):
        over = over or f.taken[0, k] + f.shape[x, k] > f.bound[k]
    if over and not f.master[x]:
        f.marks[REFUSED] = 1
    return over


@part
def _any_owes(debt: np.ndarray, asked: np.ndarray, i: int) -> bool:
    """Whether anybody owes something that claim i asks for."""
    for p in range(len(debt)):
        for k in range(debt.shape[1]):
            if debt[p, k] > LITTLE and asked[i, k] > 0:
                return True
    return False


@part
def _pays(b: Books, p: int, row: int, asked: np.ndarray, i: int, shape: np.ndarray, x: int, least: int) -> bool:
    """Whether container x of payer p may be taken for claim i of ``row``: p is in debt, and keeps ``least`` others."""
    if row < 0:
        return True
    return p >= 0 and p != row and b.alive[p] > least and _owes(b.debt, p, asked, i, shape, x)


@part
def _enough(room: np.ndarray, n: int, given: np.ndarray, of: int, asked: np.ndarray, i: int, swap: bool) -> bool:
    """Whether claim i fits into ``room[n]`` with ``given[of]`` added."""
    enough = True
    for k in range(room.shape[1]):
        enough = enough and (asked[i, k] == 0 or room[n, k] + given[of, k] >= asked[i, k])
        enough = enough and not (swap and given[of, k] < asked[i, k])
    return enough


@part
def _add(to: np.ndarray, row: int, amount: np.ndarray, of: int, sign: int) -> None:
    """Add one row of (?, r) amounts to another. A loop, as it compiles ten times faster than an expression."""
    for k in range(to.shape[1]):
        to[row, k] += sign * amount[of, k]


@part
def _pay(taken: np.ndarray, b: Books, p: int, shape: np.ndarray, x: int, sign: int) -> None:
    """Container x of payer p is taken (TAKE), or given back (GIVE)."""
    for k in range(shape.shape[1]):
        taken[0, k] += sign * shape[x, k]
        if p >= 0:
            b.debt[p, k] -= sign * shape[x, k]
    if p >= 0:
        b.alive[p] -= sign


@part
def _serve(f: Field, c: Claims, b: Books, i: int, n: int, sign: int) -> None:
    """Claim i gets one container on node n (TAKE), or gives it back (GIVE)."""
    _add(f.room, n, c.shape, i, -sign)
    c.units[i] -= sign
    row = c.row[i]
    if row >= 0:
        b.starving[row] = False
        for k in range(c.shape.shape[1]):
            b.owed[row, k] -= sign * c.shape[i, k]


@part
def _empty(f: Field, n: int) -> None:
    f.head[n] = -1
    for k in range(f.pool.shape[1]):
        f.pool[n, k] = 0


@part
def _push(f: Field, n: int, x: int) -> None:
    f.following[x] = -1
    if f.head[n] < 0:
        f.head[n] = x
    else:
        f.following[f.tail[n]] = x
    f.tail[n] = x
    _add(f.pool, n, f.shape, x, TAKE)


@part
def _gather(f: Field, c: Claims, b: Books, i: int, n: int) -> int:
    """Pay with the node's gathered candidates as long as their owners are in debt; how many, in ``some``."""
    m, x = 0, f.head[n]
    f.total[0] = 0
    least = 1 if f.marks[WANT] == EXCEPTION else 0
    while x >= 0:
        if _pays(b, f.payer[x], c.row[i], c.shape, i, f.shape, x, least) and not _bounded(f, x):
            f.some[m] = x
            m += 1
            _add(f.total, 0, f.shape, x, TAKE)
            _pay(f.taken, b, f.payer[x], f.shape, x, TAKE)
        x = f.following[x]
    return m


@part
def _prune(f: Field, c: Claims, b: Books, i: int, n: int, m: int) -> None:
    """Choose what is needed of the first m of ``some``; the most valuable are let go first."""
    for j in range(m - 1, -1, -1):
        x = f.some[j]
        _add(f.total, 0, f.shape, x, GIVE)
        if _enough(f.room, n, f.total, 0, c.shape, i, c.swap[i]):
            _pay(f.taken, b, f.payer[x], f.shape, x, GIVE)
        else:
            _add(f.total, 0, f.shape, x, TAKE)
            f.state[x] = CHOSEN


@part
def _enter(f: Field, c: Claims, i: int, n: int) -> None:
    """Enter what was chosen on node n; the rest stays gathered."""
    x = f.head[n]
    _empty(f, n)
    while x >= 0:
        following = f.following[x]
        if f.state[x] != CHOSEN:
            _push(f, n, x)
        else:
            f.claim[x] = i
            if c.gang[i]:
                _write(f, x)
        x = following


@part
def _retreat(f: Field, b: Books, n: int, m: int) -> None:
    """Give back the first m of ``some``; they stay gathered, those whose owners are not in debt do not."""
    _empty(f, n)
    for j in range(m):
        x = f.some[j]
        _pay(f.taken, b, f.payer[x], f.shape, x, GIVE)
        _push(f, n, x)


@part
def _write(f: Field, entry: int) -> None:
    """Remember what was done for a gang: container ``entry`` taken, or one placed on node -1 - ``entry``."""
    f.log[f.marks[LOGGED]] = entry
    f.marks[LOGGED] += 1


@part
def _commit(f: Field, c: Claims, b: Books, i: int, n: int) -> bool:
    """Make room on node n for one container of claim i; False when that cannot be done after all."""
    m = _gather(f, c, b, i, n)
    if not _enough(f.room, n, f.total, 0, c.shape, i, c.swap[i]):
        _retreat(f, b, n, m)
        return False
    _prune(f, c, b, i, n, m)
    _enter(f, c, i, n)
    _add(f.room, n, f.total, 0, TAKE)
    _serve(f, c, b, i, n, TAKE)
    if c.gang[i]:
        _write(f, -1 - n)
    if f.marks[LATER] == NOW:
        f.marks[COUNTS] = 1
    else:
        f.marks[LATER] = DUE
    return True


@part
def _fill(f: Field, c: Claims, b: Books, i: int, end: int) -> int:
    """Serve claims from what is free or comes free by itself; the first that is still in want."""
    if c.swap[i]:
        return i
    f.total[0] = 0
    mask, memory = c.mask[i], c.shape[i, MEMORY]  # the same for all of the group
    for n in range(len(f.room)):
        if (memory > 0 and f.room[n, MEMORY] < memory) or not c.nodes[mask, n]:
            continue
        if c.held[n] >= 0 and c.held[n] != c.holder[i]:
            continue
        while _enough(f.room, n, f.total, 0, c.shape, i, c.swap[i]):
            _serve(f, c, b, i, n, TAKE)
            if c.gang[i]:
                _write(f, -1 - n)
            i = _next(f, c, b, i, end)
            if i >= end:
                return i
    return i


@part
def _walk(f: Field, c: Claims, b: Books, i: int, end: int, g: int, turn: int) -> int:
    """Serve claims of group g from its candidates (turn 0: those already warned); the first still in want."""
    if c.row[i] >= 0 and not _any_owes(b.debt, c.shape, i):
        return i
    mask, below, swap = c.mask[i], c.below[i], c.swap[i]  # the same for all of the group
    for x in range(c.first[g], c.last[g]):
        n = f.node[x]
        if f.state[x] != MAY_GO or f.priority[x] >= below or not c.nodes[mask, n]:
            continue
        if (turn == 0 and not f.warned[x]) or (c.held[n] >= 0 and c.held[n] != c.holder[i]):
            continue
        least = 1 if f.marks[WANT] == EXCEPTION else 0
        if not _pays(b, f.payer[x], c.row[i], c.shape, i, f.shape, x, least):
            continue
        if _bounded(f, x):
            continue
        _push(f, n, x)
        while _enough(f.room, n, f.pool, n, c.shape, i, swap) and _commit(f, c, b, i, n):
            before = f.marks[WANT]
            i = _next(f, c, b, i, end)
            if before == EXCEPTION and f.marks[WANT] == ENTITLED:
                f.marks[AGAIN] = 1
            if i >= end or f.marks[AGAIN] == 1:
                break
        if i >= end or f.marks[AGAIN] == 1:
            break
    for x in range(c.first[g], c.last[g]):
        if f.head[f.node[x]] >= 0:
            _empty(f, f.node[x])
    return i


@part
def _whole(c: Claims, b: Books, i: int) -> bool:
    """Whether a gang is owed in full."""
    row, whole = c.row[i], True
    if row >= 0:
        for k in range(c.shape.shape[1]):
            whole = whole and b.owed[row, k] + LITTLE >= c.units[i] * c.shape[i, k]
    return whole


@part
def _undo(f: Field, c: Claims, b: Books, i: int) -> None:
    """Take back all that was done for gang i."""
    while f.marks[LOGGED] > 0:
        f.marks[LOGGED] -= 1
        entry = f.log[f.marks[LOGGED]]
        if entry < 0:
            _serve(f, c, b, i, -1 - entry, GIVE)
            continue
        f.state[entry] = MAY_GO
        f.claim[entry] = -1
        _add(f.room, f.node[entry], f.shape, entry, GIVE)
        _pay(f.taken, b, f.payer[entry], f.shape, entry, GIVE)


@part
def _full(f: Field) -> bool:
    """Whether no candidate is small enough for what the round may still take."""
    full = False
    for k in range(f.taken.shape[1]):
        full = full or f.taken[0, k] + f.least[k] > f.bound[k]
    return full and f.marks[COUNTS] == 1


@part
def _other(f: Field, c: Claims, b: Books, i: int, end: int) -> int:
    """The next claim that may have better luck than claim i.

    All claims of a group meet the same candidates: those of a row that wants
    something owe nothing of that. Only in an exception are those of rows that would starve passed over.
    """
    if f.marks[WANT] != EXCEPTION:
        return end
    f.marks[HOPELESS] = 1
    return _next(f, c, b, i + 1, end)


@lean
def choose(f: Field, c: Claims, b: Books) -> None:
    """Serve the groups of claims in turn; the outcome is in ``state``, ``claim``, ``units`` and ``room``."""
    for g in range(len(c.groups) - 1):
        begin = c.groups[g]
        gang, row = c.gang[begin], c.row[begin]
        if _full(f) or (gang and not _whole(c, b, begin)):
            continue
        starving = row >= 0 and b.starving[row]
        f.marks[LOGGED] = 0
        f.marks[HOPELESS] = 0
        f.marks[LATER] = PUT_OFF if gang and f.marks[COUNTS] == 0 else NOW
        end = c.groups[g + 1]
        i = _next(f, c, b, begin, end)
        for turn in range(4):
            if i < end and turn % 2 == 0:
                i = _fill(f, c, b, i, end)
            f.marks[AGAIN] = 1
            while i < end and turn % 2 >= f.marks[NOBODY] and f.marks[AGAIN] == 1:
                f.marks[AGAIN] = 0
                i = _walk(f, c, b, i, end, g, turn % 2)
                if i < end and f.marks[AGAIN] == 1:  # what the exception left over is free
                    i = _fill(f, c, b, i, end)
            if i < end and turn == 1:
                i = _other(f, c, b, i, end)
        if gang and c.units[begin] > 0:
            _undo(f, c, b, begin)
            if row >= 0:
                b.starving[row] = starving
        elif f.marks[LATER] == DUE:
            f.marks[COUNTS] = 1
