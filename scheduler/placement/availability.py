"""The availability profile: the earliest start of an ask, by the expected ends of what runs and the starts promised.

What batch schedulers keep as a profile of free processors over time (Mu'alem
and Feitelson, 2001) is here a sweep over ends and promised starts, in the
working block of the ``PromiseTable``, one node changing at a time. Where even
the room at the next promised start, with what that promise needs given back, is
too little, the sweep goes on from there.

Cost of one search, for c running containers with a known end, p promises and n
nodes: O(c + n) and, for each start that is tried, O(p).
"""

import numpy as np

from scheduler.core.compiled import inlined, subroutine
from scheduler.placement.limits import units_within
from scheduler.placement.promisetable import (
    ENDED_GROUPS,
    ENDED_PROMISES,
    ENDED_RUNNING,
    N_END_GROUPS,
    N_PROMISES,
    N_SLOTS,
    N_SORTED,
    STARTED_PROMISES,
    UNITS_FREE,
    UNITS_PROMISED,
    PromiseTable,
)
from scheduler.placement.tables import AskTable, EquivalenceClasses, NodeTable, PlacementLimits, PlacementLog

MANY = 1 << 31  # more than any node or ask counts
_EXACT = 1e-9  # of a container
_LAST = 1e300  # later than any time that is known


@subroutine
def units_of_row(room: np.ndarray, row: int, shapes: np.ndarray, shape: int) -> int:
    """How many containers a row of ``room`` (x, r) has room for."""
    return int(units_within(room, row, shapes, shape, MANY))


@inlined
def placed_node(log: PlacementLog, x: int) -> int:
    """The node of a row of the log, a number as wide as others, so that they have one compiled form."""
    return np.int64(log.node[x])  # type: ignore[return-value]


@subroutine
def units_of_block(
    nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, block: int, eq_class: int
) -> int:
    """Containers of a class that its nodes have room for in a block."""
    units, shape, mask = 0, classes.shape[eq_class], classes.mask[eq_class]
    for node in range(promises.nodes):
        if nodes.usable[node] and nodes.masks[mask, node]:
            units += units_of_row(promises.room, block * promises.rows + node, nodes.shapes, shape)
    return units


@subroutine
def room_at_start(nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, i: int, z: int) -> int:
    """Containers of the class in slot z that nodes have room for when promise i is due; counted once."""
    if promises.units_at_start[i, z] < 0:
        promises.units_at_start[i, z] = units_of_block(nodes, classes, promises, i, promises.slot_class[z])
    return int(promises.units_at_start[i, z])


@subroutine
def equivalent_units(promises: PromiseTable, first: int, second: int, units: int) -> int:
    """Containers of the class in slot ``second`` for which ``units`` of ``first`` count, at most."""
    if first == second:
        return units
    return int(np.ceil(units * promises.exchange_rate[first, second] - _EXACT))


@subroutine
def units_below_maxima(
    limits: PlacementLimits, asks: AskTable, nodes: NodeTable, promises: PromiseTable, block: int, a: int, want: int
) -> int:
    """How many of ``want`` containers the maxima above ask ``a`` allow in a block."""
    units, base, row = want, block * promises.rows + promises.nodes, asks.queue[a]
    while row >= 0 and units > 0:
        if promises.can_bind[row]:
            units = units_within(promises.room, base + row, nodes.shapes, asks.shape[a], units)
        row = limits.parent[row]
    row = promises.queues + asks.user[a]
    if units > 0 and promises.can_bind[row]:
        units = units_within(promises.room, base + row, nodes.shapes, asks.shape[a], units)
    return int(units)


@subroutine
def charge_maxima(
    limits: PlacementLimits, asks: AskTable, nodes: NodeTable, promises: PromiseTable, block: int, a: int, units: int
) -> None:
    """Count ``units`` containers of ask ``a`` off the maxima above it in a block."""
    base, row = block * promises.rows + promises.nodes, asks.queue[a]
    while row >= 0:
        for i in range(nodes.shapes.shape[1]):
            promises.room[base + row, i] -= units * nodes.shapes[asks.shape[a], i]
        row = limits.parent[row]
    for i in range(nodes.shapes.shape[1]):
        promises.room[base + promises.queues + asks.user[a], i] -= units * nodes.shapes[asks.shape[a], i]


@subroutine
def begin_sweep(
    nodes: NodeTable, limits: PlacementLimits, classes: EquivalenceClasses, promises: PromiseTable, eq_class: int
) -> None:
    """The working block as everything is now, before anything ends."""
    block = len(promises.ask)
    base = block * promises.rows
    for i in range(nodes.free.shape[1]):
        for x in range(promises.nodes):
            promises.room[base + x, i] = nodes.free[x, i]
        for x in range(promises.queues):
            promises.room[base + promises.nodes + x, i] = limits.queue_room[x, i]
        for x in range(len(limits.user_room)):
            promises.room[base + promises.nodes + promises.queues + x, i] = limits.user_room[x, i]
    for x in range(len(promises.sweep)):
        promises.sweep[x] = 0
    promises.sweep[UNITS_FREE] = units_of_block(nodes, classes, promises, block, eq_class)


@subroutine
def resume_sweep(nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, i: int, z: int) -> None:
    """The working block as everything will be when promise i is due. z: slot of the class looked for."""
    copy_block(promises, i, len(promises.ask))
    t, sweep = promises.start[i], promises.sweep
    low, high = 0, len(promises.running_end)
    while low < high:
        middle = (low + high) // 2
        if promises.running_end[middle] <= t:
            low = middle + 1
        else:
            high = middle
    sweep[ENDED_RUNNING] = low
    sweep[ENDED_GROUPS] = _count_until(promises.group_end, promises.group_order, promises.state[N_END_GROUPS], t)
    sweep[STARTED_PROMISES] = _count_until(promises.start, promises.by_start, promises.state[N_PROMISES], t)
    sweep[ENDED_PROMISES] = _count_until(promises.end, promises.by_end, promises.state[N_PROMISES], t)
    sweep[UNITS_FREE] = room_at_start(nodes, classes, promises, i, z)
    sweep[UNITS_PROMISED] = promises.units_promised[i, z]


@subroutine
def copy_block(promises: PromiseTable, of: int, to: int) -> None:
    """Make one block the same as another."""
    for x in range(promises.rows):
        for i in range(promises.room.shape[1]):
            promises.room[to * promises.rows + x, i] = promises.room[of * promises.rows + x, i]


@inlined
def _count_until(values: np.ndarray, order: np.ndarray, size: int, t: float) -> int:
    """How many of ``values[order[:size]]``, which ascend, are ``t`` at most."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if values[order[middle]] <= t:
            low = middle + 1
        else:
            high = middle
    return low


@subroutine
def _release(
    nodes: NodeTable,
    limits: PlacementLimits,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    eq_class: int,
    amounts: np.ndarray,
    row: int,
    at: tuple[int, int, int],
) -> None:
    """A container of (a node, a queue, a user or -1) ends in the working block. amounts: (x, r), its own is ``row``."""
    node, queue, user = at
    base = len(promises.ask) * promises.rows
    counts, shape = nodes.usable[node] and nodes.masks[classes.mask[eq_class], node], classes.shape[eq_class]
    if counts:
        promises.sweep[UNITS_FREE] -= units_of_row(promises.room, base + node, nodes.shapes, shape)
    for i in range(amounts.shape[1]):
        promises.room[base + node, i] += amounts[row, i]
    if counts:
        promises.sweep[UNITS_FREE] += units_of_row(promises.room, base + node, nodes.shapes, shape)
    base += promises.nodes
    while queue >= 0:
        if promises.can_bind[queue]:
            for i in range(amounts.shape[1]):
                promises.room[base + queue, i] += amounts[row, i]
        queue = limits.parent[queue]
    if user >= 0 and promises.can_bind[promises.queues + user]:
        for i in range(amounts.shape[1]):
            promises.room[base + promises.queues + user, i] += amounts[row, i]


@subroutine
def _sweep_until(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    z: int,
    t: float,
) -> None:
    """In the working block let everything happen that does until ``t``."""
    eq_class, sweep, work = promises.slot_class[z], promises.sweep, len(promises.ask)
    while sweep[ENDED_RUNNING] < len(promises.running_end) and promises.running_end[sweep[ENDED_RUNNING]] <= t:
        j = sweep[ENDED_RUNNING]
        at = int(promises.running_node[j]), int(promises.running_queue[j]), int(promises.running_user[j])
        _release(nodes, limits, classes, promises, eq_class, promises.running_shape, j, at)
        sweep[ENDED_RUNNING] += 1
    while (
        sweep[ENDED_GROUPS] < promises.state[N_END_GROUPS]
        and promises.group_end[promises.group_order[sweep[ENDED_GROUPS]]] <= t
    ):
        j = promises.group_order[sweep[ENDED_GROUPS]]
        a = promises.group_ask[j]
        for x in range(promises.group_from[j], promises.group_to[j]):
            at = placed_node(log, x), int(asks.queue[a]), int(asks.user[a])
            _release(nodes, limits, classes, promises, eq_class, nodes.shapes, asks.shape[a], at)
        sweep[ENDED_GROUPS] += 1
    while (
        sweep[ENDED_PROMISES] < promises.state[N_PROMISES] and promises.end[promises.by_end[sweep[ENDED_PROMISES]]] <= t
    ):
        i = promises.by_end[sweep[ENDED_PROMISES]]
        sweep[UNITS_PROMISED] -= equivalent_units(promises, promises.slot[i], z, promises.units[i])
        charge_maxima(limits, asks, nodes, promises, work, promises.ask[i], -promises.units[i])
        sweep[ENDED_PROMISES] += 1
    while (
        sweep[STARTED_PROMISES] < promises.state[N_PROMISES]
        and promises.start[promises.by_start[sweep[STARTED_PROMISES]]] <= t
    ):
        i = promises.by_start[sweep[STARTED_PROMISES]]
        sweep[UNITS_PROMISED] += equivalent_units(promises, promises.slot[i], z, promises.units[i])
        charge_maxima(limits, asks, nodes, promises, work, promises.ask[i], promises.units[i])
        sweep[STARTED_PROMISES] += 1


@inlined
def _next_event(promises: PromiseTable) -> float:
    """When the next thing happens in the working block; infinity where nothing does."""
    t, sweep = np.inf, promises.sweep
    if sweep[ENDED_RUNNING] < len(promises.running_end):
        t = promises.running_end[sweep[ENDED_RUNNING]]
    if sweep[ENDED_GROUPS] < promises.state[N_END_GROUPS]:
        t = min(t, promises.group_end[promises.group_order[sweep[ENDED_GROUPS]]])
    if sweep[ENDED_PROMISES] < promises.state[N_PROMISES]:
        t = min(t, promises.end[promises.by_end[sweep[ENDED_PROMISES]]])
    if sweep[STARTED_PROMISES] < promises.state[N_PROMISES]:
        t = min(t, promises.start[promises.by_start[sweep[STARTED_PROMISES]]])
    return t


@subroutine
def _next_short_promise(
    nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, z: int, units: int
) -> int:
    """The next promise, if nodes will not have room for ``units`` at any time before it is due; else -1."""
    x = promises.sweep[STARTED_PROMISES]
    if x == promises.state[N_PROMISES]:
        return -1
    i = promises.by_start[x]
    room = room_at_start(nodes, classes, promises, i, z) - promises.units_promised[i, z]
    while x < promises.state[N_PROMISES] and promises.start[promises.by_start[x]] == promises.start[i]:
        j = promises.by_start[x]
        room += equivalent_units(promises, promises.slot[j], z, promises.units[j])
        x += 1
    return int(i) if room < units else -1


@subroutine
def _last_conflict(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    a: int,
    z: int,
    units: int,
    t: float,
) -> int:
    """The last promise that would be broken, or leave too little, if ask ``a`` started at ``t``; -1 if none is."""
    found, due = -1, -np.inf
    for i in range(promises.state[N_PROMISES]):
        if t <= promises.start[i] < t + promises.duration[a] and promises.start[i] > due:
            short = room_at_start(nodes, classes, promises, i, z) - promises.units_promised[i, z] < units
            short = short or units_below_maxima(limits, asks, nodes, promises, i, a, units) < units
            for y in range(promises.state[N_SLOTS]):
                if not short and y != z and promises.active[i, y] > 0:
                    left = room_at_start(nodes, classes, promises, i, y) - promises.units_promised[i, y]
                    short = left < equivalent_units(promises, z, y, units)
            if short:
                found, due = i, promises.start[i]
    return found


@subroutine
def earliest_start(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    z: int,
    units: int,
) -> float:
    """When ``units`` containers of ask ``a`` can start at once, infinity where that cannot be foreseen.

    z: the slot of its class. Leaves the working block and ``sweep`` as they stand then.
    """
    work, t = len(promises.ask), promises.now
    begin_sweep(nodes, limits, classes, promises, promises.slot_class[z])
    while t < np.inf:
        _sweep_until(nodes, limits, asks, classes, log, promises, z, t)
        if (
            promises.sweep[UNITS_FREE] - promises.sweep[UNITS_PROMISED] >= units
            and units_below_maxima(limits, asks, nodes, promises, work, a, units) >= units
        ):
            i = _last_conflict(nodes, limits, asks, classes, promises, a, z, units, t)
            if i < 0:
                break
            i = i if promises.start[i] > t else -1
        else:
            i = _next_short_promise(nodes, classes, promises, z, units)
        if i >= 0:
            resume_sweep(nodes, classes, promises, i, z)
            t = promises.start[i]
        else:
            t = _next_event(promises)
    return t


@subroutine
def units_in_the_end(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    z: int,
) -> int:
    """Of the containers that ask ``a`` wants as many as can start when all has ended that is known to end."""
    begin_sweep(nodes, limits, classes, promises, promises.slot_class[z])
    _sweep_until(nodes, limits, asks, classes, log, promises, z, _LAST)
    units = min(asks.left[a], promises.sweep[UNITS_FREE] - promises.sweep[UNITS_PROMISED])
    return units_below_maxima(limits, asks, nodes, promises, len(promises.ask), a, units) if units > 0 else 0


@subroutine
def sort_end_groups(promises: PromiseTable) -> None:
    """Bring ``group_order`` in order of the ends: a shell sort, as most of it is in order already."""
    size = promises.state[N_END_GROUPS]
    if promises.state[N_SORTED] == size:
        return
    for x in range(promises.state[N_SORTED], size):
        promises.group_order[x] = x
    gap = size // 2
    while gap > 0:
        for x in range(gap, size):
            moved, y = promises.group_order[x], x
            while y >= gap and promises.group_end[promises.group_order[y - gap]] > promises.group_end[moved]:
                promises.group_order[y] = promises.group_order[y - gap]
                y -= gap
            promises.group_order[y] = moved
        gap //= 2
    promises.state[N_SORTED] = size
