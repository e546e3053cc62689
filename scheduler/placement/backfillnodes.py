"""Nodes for a backfilled ask whose containers may outlast a promised start: such that every promise can be kept.

A node is judged by what a promise loses if one container more runs there when
it is due. Nodes where that is nothing come first, and among these the nearest;
then the policy's fill counts, as the nodes were when the ask came up.

Cost: for each ask a bucket sort of n nodes, and for each of its containers a look at every promise.
"""

import numpy as np

from scheduler.core.compiled import inlined, subroutine
from scheduler.placement.allocate import place_on_node, whole_gang_fits
from scheduler.placement.availability import (
    MANY,
    charge_maxima,
    placed_node,
    room_at_start,
    units_below_maxima,
    units_of_row,
)
from scheduler.placement.fills import level_of, rank, ranked, stays_on_node
from scheduler.placement.limits import fits, units_within
from scheduler.placement.pools import exhausted
from scheduler.placement.promisetable import LAST_CONFLICT, N_PROMISES, N_SLOTS, PromiseTable
from scheduler.placement.tables import (
    BINS,
    CURSOR,
    LEVELS,
    N_PLACED,
    NODE_LOCAL,
    OFF_SWITCH,
    ONE,
    RACK_LOCAL,
    AskTable,
    CandidatePools,
    EquivalenceClasses,
    NodeTable,
    PlacementLimits,
    PlacementLog,
)


@inlined
def may_delay_promise(promises: PromiseTable, a: int) -> bool:
    """Whether a container that ask ``a`` starts now may still run when a promise is due."""
    return bool(promises.state[N_PROMISES] > 0 and promises.start[promises.by_start[0]] < promises.expected_end[a])


@inlined
def _units_lost(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    i: int,
    y: int,
    a: int,
    node: int,
) -> int:
    """Containers of the class in slot y that a node lacks room for when promise i is due, if ask ``a`` has one more."""
    eq_class, shape, row = promises.slot_class[y], asks.shape[a], i * promises.rows + node
    if eq_class == asks.eq_class[a]:
        return 1
    if not nodes.masks[classes.mask[eq_class], node]:
        return 0
    before = units_of_row(promises.room, row, nodes.shapes, classes.shape[eq_class])
    for r in range(nodes.shapes.shape[1]):
        promises.room[row, r] -= nodes.shapes[shape, r]
    after = units_of_row(promises.room, row, nodes.shapes, classes.shape[eq_class])
    for r in range(nodes.shapes.shape[1]):
        promises.room[row, r] += nodes.shapes[shape, r]
    return int(before - after)


@subroutine
def _breaks_promise(
    nodes: NodeTable, asks: AskTable, classes: EquivalenceClasses, promises: PromiseTable, a: int, node: int
) -> bool:
    """Whether one more container of ask ``a`` on the node would break a promise, which is then noted."""
    last = promises.state[LAST_CONFLICT]
    for x in range(-1, promises.state[N_PROMISES]):
        i = x if x >= 0 else last  # what was in the way is mostly so again
        if promises.start[i] >= promises.expected_end[a]:
            continue
        for y in range(promises.state[N_SLOTS]):
            if promises.active[i, y] > 0:
                lost = _units_lost(nodes, asks, classes, promises, i, y, a, node)
                if lost > 0 and lost > room_at_start(nodes, classes, promises, i, y) - promises.units_promised[i, y]:
                    promises.state[LAST_CONFLICT] = i
                    return True
    return False


@inlined
def _count_node(
    nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, i: int, node: int, sign: int
) -> None:
    """Add (sign 1) what a node has room for, or take it (-1), where units at the start of promise i are counted."""
    for y in range(promises.state[N_SLOTS]):
        eq_class = promises.slot_class[y]
        if promises.units_at_start[i, y] >= 0 and nodes.usable[node] and nodes.masks[classes.mask[eq_class], node]:
            units = units_of_row(promises.room, i * promises.rows + node, nodes.shapes, classes.shape[eq_class])
            promises.units_at_start[i, y] += sign * units


@subroutine
def charge_promises(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    a: int,
    node: int,
    units: int,
) -> None:
    """``units`` more containers (negative: fewer) of ask ``a`` will run on the node when promises are due."""
    for i in range(promises.state[N_PROMISES]):
        if promises.start[i] >= promises.expected_end[a]:
            continue
        row = i * promises.rows + node
        _count_node(nodes, classes, promises, i, node, -ONE)
        for r in range(nodes.shapes.shape[1]):
            promises.room[row, r] -= units * nodes.shapes[asks.shape[a], r]
        _count_node(nodes, classes, promises, i, node, ONE)
        charge_maxima(limits, asks, nodes, promises, i, a, units)


@subroutine
def _tightest_promise(nodes: NodeTable, classes: EquivalenceClasses, promises: PromiseTable, a: int) -> int:
    """The promise, of those due before the containers of ask ``a`` end, that leaves least to spare."""
    found, least = promises.by_start[0], np.int64(MANY)
    for i in range(promises.state[N_PROMISES]):
        if promises.start[i] < promises.expected_end[a]:
            z = promises.slot[i]
            spare = room_at_start(nodes, classes, promises, i, z) - promises.units_promised[i, z]
            if spare < least:
                found, least = i, spare
    return int(found)


@subroutine
def _mark_localities(nodes: NodeTable, asks: AskTable, promises: PromiseTable, a: int) -> None:
    """Set ``promises.mark`` to the locality of each node."""
    for node in range(promises.nodes):
        promises.mark[node] = OFF_SWITCH
    for x in range(asks.near_rack_from[a], asks.near_rack_from[a + 1]):
        rack = asks.near_rack[x]
        for y in range(nodes.rack_from[rack], nodes.rack_from[rack + 1]):
            promises.mark[nodes.rack_node[y]] = RACK_LOCAL
    for x in range(asks.near_from[a], asks.near_from[a + 1]):
        rack = nodes.rack[asks.near[x]]
        for y in range(nodes.rack_from[rack], nodes.rack_from[rack + 1]):
            promises.mark[nodes.rack_node[y]] = RACK_LOCAL
    for x in range(asks.near_from[a], asks.near_from[a + 1]):
        promises.mark[asks.near[x]] = NODE_LOCAL


@inlined
def _fill_bin(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int, node: int) -> int:
    """Where the fill puts a node: the lower the sooner."""
    if stays_on_node(classes, eq_class):
        return rank(nodes, classes, eq_class, node) if ranked(classes, eq_class) else 0
    return max(LEVELS - level_of(nodes, classes, eq_class, node), 0)


@subroutine
def _sort_candidates(
    nodes: NodeTable, asks: AskTable, classes: EquivalenceClasses, log: PlacementLog, promises: PromiseTable, a: int
) -> int:
    """Fill ``candidates`` with nodes that have room for ask ``a``, within its locality, best first: how many."""
    eq_class, size = asks.eq_class[a], 0
    i = _tightest_promise(nodes, classes, promises, a)
    start = log.state[CURSOR] if not ranked(classes, eq_class) else 0
    _mark_localities(nodes, asks, promises, a)
    for x in range(len(promises.bins)):
        promises.bins[x] = 0
    for x in range(promises.nodes):
        node = x + start if x + start < promises.nodes else x + start - promises.nodes
        able = nodes.usable[node] and nodes.masks[asks.mask[a], node] and promises.mark[node] <= asks.locality[a]
        if able and fits(nodes.free, node, nodes.shapes, asks.shape[a]):
            costs = 1 if _units_lost(nodes, asks, classes, promises, i, promises.slot[i], a, node) > 0 else 0
            key = (promises.mark[node] * 2 + costs) * BINS + _fill_bin(nodes, classes, eq_class, node)
            promises.sort_key[node] = key
            promises.bins[key + 1] += 1
            promises.unsorted[size] = node
            size += 1
    for x in range(len(promises.bins) - 1):
        promises.bins[x + 1] += promises.bins[x]
    for x in range(size):
        node = promises.unsorted[x]
        promises.candidates[promises.bins[promises.sort_key[node]]] = node
        promises.bins[promises.sort_key[node]] += 1
        promises.mark[node] = 0
    return size


@subroutine
def _choose_nodes(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    want: int,
) -> int:
    """Choose nodes for up to ``want`` containers of ask ``a``: how many. They stand in the log, and are charged."""
    eq_class, at, chosen = asks.eq_class[a], log.state[N_PLACED], 0
    fills, due = stays_on_node(classes, eq_class), -np.inf
    size = _sort_candidates(nodes, asks, classes, log, promises, a)
    while size > 0 and chosen < want:
        kept = 0
        for x in range(size):
            node = promises.candidates[x]
            stays = fills or promises.sort_key[node] < OFF_SWITCH * 2 * BINS
            while chosen < want:
                units = promises.mark[node] + 1
                if units_within(nodes.free, node, nodes.shapes, asks.shape[a], units) < units:
                    break
                if _breaks_promise(nodes, asks, classes, promises, a, node):
                    due = max(due, promises.start[promises.state[LAST_CONFLICT]])
                    break
                charge_promises(nodes, limits, asks, classes, promises, a, node, ONE)
                log.node[at + chosen] = node
                promises.mark[node] = units
                chosen += 1
                if not stays:
                    promises.candidates[kept] = node
                    kept += 1
                    break
        size = kept
    if chosen < want and asks.locality[a] == OFF_SWITCH:
        promises.fail_units[eq_class], promises.fail_end[eq_class] = chosen + 1, due
    return chosen


@subroutine
def _units_within_promises(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    promises: PromiseTable,
    a: int,
    want: int,
) -> int:
    """Of ``want`` containers of ask ``a`` as many as can be told at once to break nothing; nodes may allow fewer."""
    eq_class = asks.eq_class[a]
    z = promises.slot_of[eq_class]
    for i in range(promises.state[N_PROMISES]):
        if promises.start[i] < promises.expected_end[a] and want > 0:
            most = units_below_maxima(limits, asks, nodes, promises, i, a, want)
            if z >= 0 and promises.active[i, z] > 0:
                most = min(most, room_at_start(nodes, classes, promises, i, z) - promises.units_promised[i, z])
            if most < want:
                want = most
                promises.state[LAST_CONFLICT] = i
    if promises.expected_end[a] > promises.fail_end[eq_class]:
        want = min(want, promises.fail_units[eq_class] - 1)
    return int(want)


@subroutine
def place_without_delay(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    want: int,
) -> int:
    """Place up to ``want`` containers of ask ``a`` and break no promise; a gang all or none. How many it was."""
    eq_class, least, at = asks.eq_class[a], want if asks.gang[a] else 1, log.state[N_PLACED]
    if exhausted(pools, eq_class) or (asks.gang[a] and not whole_gang_fits(nodes, classes, pools, log, eq_class, want)):
        return 0
    want = _units_within_promises(nodes, limits, asks, classes, promises, a, want)
    if want < least:
        return 0
    chosen = _choose_nodes(nodes, limits, asks, classes, log, promises, a, want)
    if chosen < least:
        for x in range(chosen):
            charge_promises(nodes, limits, asks, classes, promises, a, placed_node(log, at + x), -ONE)
        return 0
    for x in range(chosen):
        place_on_node(nodes, asks, log, a, placed_node(log, at + x), ONE)
    return chosen
