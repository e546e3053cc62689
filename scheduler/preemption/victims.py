"""Which containers go: the first in order that, together with what is free beside them, make room for an owed ask.

Candidates are taken up in order (lowest priority first, then the newest) and
gathered node by node. As soon as a node's gathered candidates make an ask fit
there, those that it does not need are let go again, the most valuable first;
the rest are chosen. Nothing is chosen on a node where nothing comes to fit.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import kernel

LITTLE = 1e-6  # of a resource unit: what rounding may cost
MAY_GO, CHOSEN, STAYS = 0, 1, 2


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
    """The candidates and their nodes; written to.

    order: positions of candidates. node, payer: (c,) int32. priority: (c,)
    int64. shape: (c, r) int64. warned: (c,) bool. state: (c,) int8. claim: (c,) int32, what
    it is chosen for. room: (n, r) int64, free now or soon. taken, bound: (r,)
    int64. head, tail: (n,), following: (c,) int32, the lists of gathered candidates;
    pool: (n, r) int64 their sums. log: (l,) int64 what was done for a gang.
    marks: (3,) int64, the length of the log, whether the bound is reached, and
    whether it does not count. some: (c,) int32 workspace.
    """

    order: np.ndarray
    node: np.ndarray
    payer: np.ndarray
    priority: np.ndarray
    shape: np.ndarray
    warned: np.ndarray
    state: np.ndarray
    claim: np.ndarray
    room: np.ndarray
    taken: np.ndarray
    bound: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    following: np.ndarray
    pool: np.ndarray
    log: np.ndarray
    marks: np.ndarray
    some: np.ndarray


@kernel
def _wants(c: Claims, b: Books, i: int) -> bool:
    """Whether claim i may have one more container."""
    if c.units[i] <= 0:
        return False
    row = c.row[i]
    if row < 0:
        return True
    for k in range(c.shape.shape[1]):
        s = c.shape[i, k]
        if s > 0 and b.owed[row, k] + LITTLE < s and not (b.starving[row] and b.owed[row, k] > LITTLE):
            return False
    return True


@kernel
def _next(c: Claims, b: Books, i: int, end: int) -> int:
    while i < end and not _wants(c, b, i):
        i += 1
    return i


@kernel
def _usable(c: Claims, i: int, n: int) -> bool:
    return bool(c.nodes[c.mask[i], n]) and (c.held[n] == -1 or c.held[n] == c.holder[i])


@kernel
def _eligible(f: Field, c: Claims, b: Books, i: int, x: int) -> bool:
    """Whether container x may be taken for claim i."""
    if f.state[x] != MAY_GO or f.priority[x] >= c.below[i]:
        return False
    row = c.row[i]
    if row < 0:
        return True
    p = f.payer[x]
    if p < 0 or p == row or (b.starving[row] and b.alive[p] <= 1):
        return False
    helps = False
    for k in range(f.shape.shape[1]):
        helps = helps or (c.shape[i, k] > 0 and f.shape[x, k] > 0 and b.debt[p, k] > LITTLE)
    return helps


@kernel
def _enough(room: np.ndarray, taken: np.ndarray, asked: np.ndarray, swap: bool) -> bool:
    for k in range(len(asked)):
        if asked[k] > 0 and (room[k] + taken[k] < asked[k] or (swap and taken[k] < asked[k])):
            return False
    return True


@kernel
def _pay(f: Field, b: Books, x: int, sign: int) -> None:
    """Container x is taken (1), or given back (-1)."""
    p = f.payer[x]
    if p >= 0:
        b.alive[p] -= sign
        for k in range(f.shape.shape[1]):
            b.debt[p, k] -= sign * f.shape[x, k]


@kernel
def _serve(f: Field, c: Claims, b: Books, i: int, n: int, sign: int) -> None:
    """Claim i gets one container on node n (1), or gives it back (-1)."""
    c.units[i] -= sign
    row = c.row[i]
    for k in range(c.shape.shape[1]):
        f.room[n, k] -= sign * c.shape[i, k]
        if row >= 0:
            b.owed[row, k] -= sign * c.shape[i, k]
    if row >= 0 and sign > 0:
        b.starving[row] = False
    if c.gang[i] and sign > 0:
        f.log[f.marks[0]] = -1 - n
        f.marks[0] += 1


@kernel
def _push(f: Field, n: int, x: int) -> None:
    f.following[x] = -1
    if f.head[n] < 0:
        f.head[n] = x
    else:
        f.following[f.tail[n]] = x
    f.tail[n] = x
    f.pool[n] += f.shape[x]


@kernel
def _gather(f: Field, c: Claims, b: Books, i: int, n: int, total: np.ndarray) -> int:
    """Pay with the node's gathered candidates as long as their owners are in debt; how many, in ``some``."""
    m, x = 0, f.head[n]
    while x >= 0:
        if _eligible(f, c, b, i, x):
            f.some[m] = x
            m += 1
            total += f.shape[x]
            _pay(f, b, x, 1)
        x = f.following[x]
    return m


@kernel
def _prune(f: Field, c: Claims, b: Books, i: int, n: int, m: int, total: np.ndarray) -> None:
    """Choose what is needed of the first m of ``some``; the most valuable are let go first."""
    asked, swap, room = c.shape[i], c.swap[i], f.room[n]
    for j in range(m - 1, -1, -1):
        x = f.some[j]
        total -= f.shape[x]
        if _enough(room, total, asked, swap):
            _pay(f, b, x, -1)
        else:
            total += f.shape[x]
            f.state[x] = CHOSEN


@kernel
def _within(f: Field, total: np.ndarray) -> bool:
    """Whether the round may still take ``total``; the first may be as large as it must."""
    fits, nothing = True, True
    for k in range(len(total)):
        fits = fits and f.taken[k] + total[k] <= f.bound[k]
        nothing = nothing and f.taken[k] == 0
    return fits or nothing or f.marks[2] == 1


@kernel
def _settle(f: Field, c: Claims, b: Books, i: int, n: int, m: int, pruned: bool) -> None:
    """Enter what was chosen, and gather the rest of the first m of ``some`` again."""
    f.head[n] = -1
    f.pool[n] = 0
    for j in range(m):
        x = f.some[j]
        if f.state[x] == CHOSEN and f.marks[1] == 0:
            f.claim[x] = i
            if c.gang[i]:
                f.log[f.marks[0]] = x
                f.marks[0] += 1
            continue
        if f.state[x] == CHOSEN or not pruned:
            _pay(f, b, x, -1)
        f.state[x] = MAY_GO
        _push(f, n, x)


@kernel
def _commit(f: Field, c: Claims, b: Books, i: int, n: int) -> bool:
    """Make room on node n for one container of claim i; False when that cannot be done after all."""
    total = np.zeros(f.shape.shape[1], np.int64)
    m = _gather(f, c, b, i, n, total)
    enough = _enough(f.room[n], total, c.shape[i], c.swap[i])
    if enough:
        _prune(f, c, b, i, n, m, total)
        if not _within(f, total):
            f.marks[1] = 1
    _settle(f, c, b, i, n, m, enough)
    if not enough or f.marks[1]:
        return False
    f.room[n] += total
    f.taken[:] += total
    _serve(f, c, b, i, n, 1)
    return True


@kernel
def _fill(f: Field, c: Claims, b: Books, i: int, end: int) -> int:
    """Serve claims from what is free or comes free by itself; the first that is still in want."""
    if i >= end or c.swap[i]:
        return i
    nothing = np.zeros(f.shape.shape[1], np.int64)
    for n in range(len(f.room)):
        while i < end and _usable(c, i, n) and _enough(f.room[n], nothing, c.shape[i], False):
            _serve(f, c, b, i, n, 1)
            i = _next(c, b, i, end)
    return i


@kernel
def _walk(f: Field, c: Claims, b: Books, i: int, end: int, part: np.ndarray, warned: bool) -> int:
    """Serve claims from the candidates of ``part``, or only those already warned; the first that is still in want."""
    for x in part:
        n = f.node[x]
        if (warned and not f.warned[x]) or not _usable(c, i, n) or not _eligible(f, c, b, i, x):
            continue
        _push(f, n, x)
        while _enough(f.room[n], f.pool[n], c.shape[i], c.swap[i]) and _commit(f, c, b, i, n):
            i = _next(c, b, i, end)
            if i >= end:
                break
        if i >= end or f.marks[1]:
            break
    for x in part:
        f.head[f.node[x]] = -1
        f.pool[f.node[x]] = 0
    return i


@kernel
def _undo(f: Field, c: Claims, b: Books, i: int) -> None:
    """Take back all that was done for gang i."""
    while f.marks[0] > 0:
        f.marks[0] -= 1
        entry = f.log[f.marks[0]]
        if entry < 0:
            _serve(f, c, b, i, -1 - entry, -1)
            continue
        f.state[entry] = MAY_GO
        f.claim[entry] = -1
        f.room[f.node[entry]] -= f.shape[entry]
        f.taken[:] -= f.shape[entry]
        _pay(f, b, entry, -1)


@kernel
def _whole(c: Claims, b: Books, i: int) -> bool:
    """Whether a gang is owed in full."""
    row = c.row[i]
    if row >= 0:
        for k in range(c.shape.shape[1]):
            if b.owed[row, k] + LITTLE < c.units[i] * c.shape[i, k]:
                return False
    return True


@kernel
def _group(f: Field, c: Claims, b: Books, g: int) -> None:
    begin, end = c.groups[g], c.groups[g + 1]
    part = f.order[c.first[g] : c.last[g]]
    i = _fill(f, c, b, _next(c, b, begin, end), end)
    if i < end:
        i = _walk(f, c, b, i, end, part, True)
    if i < end and f.marks[1] == 0:
        _walk(f, c, b, i, end, part, False)


@kernel
def choose(f: Field, c: Claims, b: Books) -> None:
    """Serve the groups of claims in turn; the outcome is in ``state``, ``claim``, ``units`` and ``room``."""
    for g in range(len(c.groups) - 1):
        i = c.groups[g]
        if not c.gang[i]:
            _group(f, c, b, g)
            if f.marks[1]:
                break
        elif _whole(c, b, i):
            row = c.row[i]
            starving = row >= 0 and b.starving[row]
            f.marks[0] = 0
            f.marks[2] = 1 if f.taken.max() == 0 else 0
            _group(f, c, b, g)
            f.marks[1:] = 0
            if c.units[i] > 0:
                _undo(f, c, b, i)
                if row >= 0:
                    b.starving[row] = starving
