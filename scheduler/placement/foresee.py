"""The earliest start of an ask, from the expected ends of what runs, beside the starts promised already.

Time is swept from end to end in the working block, one node changing at a
time. Where even the room at the next promised start, with what that promise
needs given back, is too little, the sweep goes on from there.
"""

import numpy as np

from scheduler.core.compiled import aside, part
from scheduler.placement.board import Ground, Kinds, PlacementLimits, Record, Wants
from scheduler.placement.limits import units_within
from scheduler.placement.promises import (
    BURDEN,
    COUNT,
    ENDED,
    GROUP,
    GROUPS,
    KINDS,
    RUN,
    SORTED,
    STARTED,
    UNITS,
    Promises,
)

MANY = 1 << 31  # more than any node or ask counts
_EXACT = 1e-9  # of a container
_LAST = 1e300  # later than any time that is known


@aside
def most_in(room: np.ndarray, row: int, shapes: np.ndarray, shape: int) -> int:
    """How many containers a row of ``room`` (x, r) has room for."""
    return int(units_within(room, row, shapes, shape, MANY))


@part
def node_of(o: Record, x: int) -> int:
    """The node of a row of the record, a number as wide as others, so that they have one compiled form."""
    return np.int64(o.node[x])  # type: ignore[return-value]


@aside
def units_in(g: Ground, k: Kinds, h: Promises, block: int, kind: int) -> int:
    """Containers of a kind that its nodes have room for in a block."""
    units, shape, mask = 0, k.shape[kind], k.mask[kind]
    for node in range(h.nodes):
        if g.usable[node] and g.masks[mask, node]:
            units += most_in(h.room, block * h.rows + node, g.shapes, shape)
    return units


@aside
def room_due(g: Ground, k: Kinds, h: Promises, i: int, z: int) -> int:
    """Containers of kind number z that nodes have room for when promise i is due; counted once."""
    if h.units_then[i, z] < 0:
        h.units_then[i, z] = units_in(g, k, h, i, h.kind[z])
    return int(h.units_then[i, z])


@aside
def burden(h: Promises, first: int, second: int, units: int) -> int:
    """Containers of kind number ``second`` for which ``units`` of ``first`` count, at most."""
    if first == second:
        return units
    return int(np.ceil(units * h.rate[first, second] - _EXACT))


@aside
def units_below(limits: PlacementLimits, w: Wants, g: Ground, h: Promises, block: int, a: int, want: int) -> int:
    """How many of ``want`` containers the maxima above ask ``a`` allow in a block."""
    units, base, row = want, block * h.rows + h.nodes, w.queue[a]
    while row >= 0 and units > 0:
        if h.binds[row]:
            units = units_within(h.room, base + row, g.shapes, w.shape[a], units)
        row = limits.parent[row]
    row = h.queues + w.user[a]
    if units > 0 and h.binds[row]:
        units = units_within(h.room, base + row, g.shapes, w.shape[a], units)
    return int(units)


@aside
def levy(limits: PlacementLimits, w: Wants, g: Ground, h: Promises, block: int, a: int, units: int) -> None:
    """Count ``units`` containers of ask ``a`` off the maxima above it in a block."""
    base, row = block * h.rows + h.nodes, w.queue[a]
    while row >= 0:
        for i in range(g.shapes.shape[1]):
            h.room[base + row, i] -= units * g.shapes[w.shape[a], i]
        row = limits.parent[row]
    for i in range(g.shapes.shape[1]):
        h.room[base + h.queues + w.user[a], i] -= units * g.shapes[w.shape[a], i]


@aside
def stand_now(g: Ground, limits: PlacementLimits, k: Kinds, h: Promises, kind: int) -> None:
    """The working block as everything is now, before anything ends."""
    block = len(h.ask)
    base = block * h.rows
    for i in range(g.free.shape[1]):
        for x in range(h.nodes):
            h.room[base + x, i] = g.free[x, i]
        for x in range(h.queues):
            h.room[base + h.nodes + x, i] = limits.queue[x, i]
        for x in range(len(limits.user)):
            h.room[base + h.nodes + h.queues + x, i] = limits.user[x, i]
    for x in range(len(h.spot)):
        h.spot[x] = 0
    h.spot[UNITS] = units_in(g, k, h, block, kind)


@aside
def stand_at(g: Ground, k: Kinds, h: Promises, i: int, z: int) -> None:
    """The working block as everything will be when promise i is due. z: number of the kind looked for."""
    copy_block(h, i, len(h.ask))
    t, spot = h.start[i], h.spot
    low, high = 0, len(h.end)
    while low < high:
        middle = (low + high) // 2
        if h.end[middle] <= t:
            low = middle + 1
        else:
            high = middle
    spot[RUN] = low
    spot[GROUP] = _passed(h.group_end, h.group_order, h.state[GROUPS], t)
    spot[STARTED] = _passed(h.start, h.by_start, h.state[COUNT], t)
    spot[ENDED] = _passed(h.over, h.by_end, h.state[COUNT], t)
    spot[UNITS], spot[BURDEN] = room_due(g, k, h, i, z), h.used[i, z]


@aside
def copy_block(h: Promises, of: int, to: int) -> None:
    """Make one block the same as another."""
    for x in range(h.rows):
        for i in range(h.room.shape[1]):
            h.room[to * h.rows + x, i] = h.room[of * h.rows + x, i]


@part
def _passed(values: np.ndarray, order: np.ndarray, size: int, t: float) -> int:
    """How many of ``values[order[:size]]``, which ascend, are ``t`` at most."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if values[order[middle]] <= t:
            low = middle + 1
        else:
            high = middle
    return low


@aside
def _give_back(
    g: Ground,
    limits: PlacementLimits,
    k: Kinds,
    h: Promises,
    kind: int,
    amounts: np.ndarray,
    row: int,
    at: tuple[int, int, int],
) -> None:
    """A container of (a node, a queue, a user or -1) ends in the working block. amounts: (x, r), its own is ``row``."""
    node, queue, user = at
    base = len(h.ask) * h.rows
    counts, shape = g.usable[node] and g.masks[k.mask[kind], node], k.shape[kind]
    if counts:
        h.spot[UNITS] -= most_in(h.room, base + node, g.shapes, shape)
    for i in range(amounts.shape[1]):
        h.room[base + node, i] += amounts[row, i]
    if counts:
        h.spot[UNITS] += most_in(h.room, base + node, g.shapes, shape)
    base += h.nodes
    while queue >= 0:
        if h.binds[queue]:
            for i in range(amounts.shape[1]):
                h.room[base + queue, i] += amounts[row, i]
        queue = limits.parent[queue]
    if user >= 0 and h.binds[h.queues + user]:
        for i in range(amounts.shape[1]):
            h.room[base + h.queues + user, i] += amounts[row, i]


@aside
def _go_on(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, z: int, t: float) -> None:
    """In the working block let everything happen that does until ``t``."""
    kind, spot, work = h.kind[z], h.spot, len(h.ask)
    while spot[RUN] < len(h.end) and h.end[spot[RUN]] <= t:
        j = spot[RUN]
        _give_back(g, limits, k, h, kind, h.end_shape, j, (int(h.end_node[j]), int(h.end_queue[j]), int(h.end_user[j])))
        spot[RUN] += 1
    while spot[GROUP] < h.state[GROUPS] and h.group_end[h.group_order[spot[GROUP]]] <= t:
        j = h.group_order[spot[GROUP]]
        a = h.group_ask[j]
        for x in range(h.group_from[j], h.group_to[j]):
            node = node_of(o, x)
            _give_back(g, limits, k, h, kind, g.shapes, w.shape[a], (node, int(w.queue[a]), int(w.user[a])))
        spot[GROUP] += 1
    while spot[ENDED] < h.state[COUNT] and h.over[h.by_end[spot[ENDED]]] <= t:
        i = h.by_end[spot[ENDED]]
        spot[BURDEN] -= burden(h, h.of[i], z, h.units[i])
        levy(limits, w, g, h, work, h.ask[i], -h.units[i])
        spot[ENDED] += 1
    while spot[STARTED] < h.state[COUNT] and h.start[h.by_start[spot[STARTED]]] <= t:
        i = h.by_start[spot[STARTED]]
        spot[BURDEN] += burden(h, h.of[i], z, h.units[i])
        levy(limits, w, g, h, work, h.ask[i], h.units[i])
        spot[STARTED] += 1


@part
def _next(h: Promises) -> float:
    """When the next thing happens in the working block; infinity where nothing does."""
    t, spot = np.inf, h.spot
    if spot[RUN] < len(h.end):
        t = h.end[spot[RUN]]
    if spot[GROUP] < h.state[GROUPS]:
        t = min(t, h.group_end[h.group_order[spot[GROUP]]])
    if spot[ENDED] < h.state[COUNT]:
        t = min(t, h.over[h.by_end[spot[ENDED]]])
    if spot[STARTED] < h.state[COUNT]:
        t = min(t, h.start[h.by_start[spot[STARTED]]])
    return t


@aside
def _too_early(g: Ground, k: Kinds, h: Promises, z: int, units: int) -> int:
    """The next promise, if nodes will not have room for ``units`` at any time before it is due; else -1."""
    x = h.spot[STARTED]
    if x == h.state[COUNT]:
        return -1
    i = h.by_start[x]
    room = room_due(g, k, h, i, z) - h.used[i, z]
    while x < h.state[COUNT] and h.start[h.by_start[x]] == h.start[i]:
        j = h.by_start[x]
        room += burden(h, h.of[j], z, h.units[j])
        x += 1
    return int(i) if room < units else -1


@aside
def _in_the_way(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, h: Promises, a: int, z: int, units: int, t: float
) -> int:
    """The last promise that would be broken, or leave too little, if ask ``a`` started at ``t``; -1 if none is."""
    found, due = -1, -np.inf
    for i in range(h.state[COUNT]):
        if t <= h.start[i] < t + h.lasts[a] and h.start[i] > due:
            short = room_due(g, k, h, i, z) - h.used[i, z] < units
            short = short or units_below(limits, w, g, h, i, a, units) < units
            for y in range(h.state[KINDS]):
                if not short and y != z and h.live[i, y] > 0:
                    short = room_due(g, k, h, i, y) - h.used[i, y] < burden(h, z, y, units)
            if short:
                found, due = i, h.start[i]
    return found


@aside
def earliest(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, a: int, z: int, units: int
) -> float:
    """When ``units`` containers of ask ``a`` can start at once, infinity where that cannot be foreseen.

    z: the number of its kind. Leaves the working block and ``spot`` as they stand then.
    """
    work, t = len(h.ask), h.now
    stand_now(g, limits, k, h, h.kind[z])
    while t < np.inf:
        _go_on(g, limits, w, k, o, h, z, t)
        if h.spot[UNITS] - h.spot[BURDEN] >= units and units_below(limits, w, g, h, work, a, units) >= units:
            i = _in_the_way(g, limits, w, k, h, a, z, units, t)
            if i < 0:
                break
            i = i if h.start[i] > t else -1
        else:
            i = _too_early(g, k, h, z, units)
        if i >= 0:
            stand_at(g, k, h, i, z)
            t = h.start[i]
        else:
            t = _next(h)
    return t


@aside
def at_last(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, a: int, z: int) -> int:
    """Of the containers that ask ``a`` wants as many as can start when all has ended that is known to end."""
    stand_now(g, limits, k, h, h.kind[z])
    _go_on(g, limits, w, k, o, h, z, _LAST)
    units = min(w.left[a], h.spot[UNITS] - h.spot[BURDEN])
    return units_below(limits, w, g, h, len(h.ask), a, units) if units > 0 else 0


@aside
def sort_groups(h: Promises) -> None:
    """Bring ``group_order`` in order of the ends: a shell sort, as most of it is in order already."""
    size = h.state[GROUPS]
    if h.state[SORTED] == size:
        return
    for x in range(h.state[SORTED], size):
        h.group_order[x] = x
    gap = size // 2
    while gap > 0:
        for x in range(gap, size):
            moved, y = h.group_order[x], x
            while y >= gap and h.group_end[h.group_order[y - gap]] > h.group_end[moved]:
                h.group_order[y] = h.group_order[y - gap]
                y -= gap
            h.group_order[y] = moved
        gap //= 2
    h.state[SORTED] = size
