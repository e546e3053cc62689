"""Promising an ask a start, and counting the promise wherever it will be active.

Cost: a search for the earliest start (``availability``), and O(p) to enter it among p promises.
"""

import numpy as np

from scheduler.core.compiled import inlined, subroutine
from scheduler.placement.availability import (
    charge_maxima,
    copy_block,
    earliest_start,
    equivalent_units,
    room_at_start,
    sort_end_groups,
    units_in_the_end,
    units_of_row,
)
from scheduler.placement.promisetable import N_FAILED, N_PROMISES, N_SLOTS, UNITS_FREE, UNITS_PROMISED, PromiseTable
from scheduler.placement.tables import AskTable, EquivalenceClasses, NodeTable, PlacementLimits, PlacementLog


@subroutine
def promise_start(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
) -> bool:
    """Promise ask ``a`` the earliest start that can be foreseen; whether there is one."""
    units = asks.left[a]
    if asks.gang[a] and units >= promises.never_fits[asks.eq_class[a]]:
        return False
    sort_end_groups(promises)
    z = _slot_of(nodes, classes, promises, asks.eq_class[a])
    if not asks.gang[a]:
        units = units_in_the_end(nodes, limits, asks, classes, log, promises, a, z)
    start = earliest_start(nodes, limits, asks, classes, log, promises, a, z, units) if units > 0 else np.inf
    if start == np.inf:
        promises.state[N_FAILED] += 1
        if asks.gang[a] and promises.sweep[UNITS_FREE] - promises.sweep[UNITS_PROMISED] < units:
            promises.never_fits[asks.eq_class[a]] = units
        return False
    if z == promises.state[N_SLOTS]:
        promises.slot_of[asks.eq_class[a]] = z
        promises.state[N_SLOTS] = z + 1
    _record(nodes, limits, asks, classes, promises, a, z, units, start)
    return True


@subroutine
def _slot_of(nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, eq_class: int) -> int:
    """The slot of a class; a new one is not taken for good yet."""
    z = promises.slot_of[eq_class]
    if z >= 0:
        return int(z)
    z = promises.state[N_SLOTS]
    promises.slot_class[z], promises.largest_per_node[z] = eq_class, 0
    for node in range(promises.nodes):
        if nodes.usable[node] and nodes.masks[classes.mask[eq_class], node]:
            promises.largest_per_node[z] = max(
                promises.largest_per_node[z], units_of_row(nodes.capacity, node, nodes.shapes, classes.shape[eq_class])
            )
    for y in range(z + 1):
        promises.exchange_rate[y, z] = _exchange_rate(nodes, classes, promises, y, z)
        promises.exchange_rate[z, y] = _exchange_rate(nodes, classes, promises, z, y)
    for i in range(promises.state[N_PROMISES]):
        promises.units_at_start[i, z], promises.units_promised[i, z], promises.active[i, z] = -1, 0, 0
        for j in range(promises.state[N_PROMISES]):
            if promises.start[j] <= promises.start[i] < promises.end[j]:
                promises.units_promised[i, z] += equivalent_units(promises, promises.slot[j], z, promises.units[j])
    return int(z)


@inlined
def _exchange_rate(
    nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, first: int, second: int
) -> float:
    """Containers of the second kind for which one of the first counts, by the resource it takes most of."""
    if first == second:
        return 1.0
    one, other = classes.mask[promises.slot_class[first]], classes.mask[promises.slot_class[second]]
    meet = one == other
    for node in range(promises.nodes):
        meet = meet or (nodes.usable[node] and nodes.masks[one, node] and nodes.masks[other, node])
    most = 0.0
    for r in range(nodes.shapes.shape[1]):
        asked = nodes.shapes[classes.shape[promises.slot_class[second]], r]
        if meet and asked > 0:
            most = max(most, nodes.shapes[classes.shape[promises.slot_class[first]], r] / asked)
    return min(most, float(promises.largest_per_node[second]))


@subroutine
def _record(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    a: int,
    z: int,
    units: int,
    start: float,
) -> None:
    """Write the promise down. The working block stands at its start, as ``earliest_start`` leaves it."""
    i, end = promises.state[N_PROMISES], start + promises.duration[a]
    promises.ask[i], promises.units[i], promises.slot[i], promises.start[i], promises.end[i] = a, units, z, start, end
    copy_block(promises, len(promises.ask), i)
    for y in range(promises.state[N_SLOTS]):
        promises.units_at_start[i, y], promises.units_promised[i, y], promises.active[i, y] = -1, 0, 0
    promises.units_at_start[i, z] = promises.sweep[UNITS_FREE]
    promises.state[N_PROMISES] = i + 1
    for j in range(i):
        if promises.start[j] <= start < promises.end[j]:
            promises.active[i, promises.slot[j]] += 1
            for y in range(promises.state[N_SLOTS]):
                promises.units_promised[i, y] += equivalent_units(promises, promises.slot[j], y, promises.units[j])
    for j in range(i + 1):
        if start <= promises.start[j] < end:
            promises.active[j, z] += 1
            charge_maxima(limits, asks, nodes, promises, j, a, units)
            for y in range(promises.state[N_SLOTS]):
                promises.units_promised[j, y] += equivalent_units(promises, z, y, units)
            room_at_start(nodes, classes, promises, j, z)
    _insert_sorted(promises.by_start, promises.start, i)
    _insert_sorted(promises.by_end, promises.end, i)


@inlined
def _insert_sorted(order: np.ndarray, values: np.ndarray, i: int) -> None:
    """Put ``i`` where it belongs among the first i of ``order``, after its equals."""
    x = i
    while x > 0 and values[order[x - 1]] > values[i]:
        order[x] = order[x - 1]
        x -= 1
    order[x] = i
