"""One ask: where its containers go, and why the rest of them do not.

An ask gets the least that its limits, the round's batch and the nodes allow; a
gang that or nothing. Nodes are taken in the order of locality, and of the
fill among equals: see ``pools`` for what that costs.
"""

import numpy as np

from scheduler.core.compiled import arrayless, inlined, subroutine
from scheduler.core.plan import Why
from scheduler.placement.bucketqueue import dequeue, enqueue
from scheduler.placement.fills import stays_on_node
from scheduler.placement.limits import allowed, binding, charge, fits, take, units_within
from scheduler.placement.pools import advance, exhausted, next_candidate, room_anywhere, units_in_pool
from scheduler.placement.tables import (
    ALL_RACKS,
    CURSOR,
    N_PLACED,
    NODE_LOCAL,
    OFF_SWITCH,
    ONE,
    RESERVED_VERSION,
    AskTable,
    CandidatePools,
    EquivalenceClasses,
    NodeTable,
    PlacementLimits,
    PlacementLog,
)

NO_NODES = int(Why.NO_NODES)
NO_NODE_MATCHES = int(Why.NO_NODE_MATCHES)
NO_ROOM = int(Why.NO_ROOM)
LOCALITY_WAIT = int(Why.LOCALITY_WAIT)
RESERVED = int(Why.RESERVED)
GANG = int(Why.GANG)

_MANY = 1 << 31  # more than any node or ask counts


@inlined
def place_on_node(nodes: NodeTable, asks: AskTable, log: PlacementLog, a: int, node: int, units: int) -> None:
    """Place ``units`` containers of ask ``a`` on a node that has room for them."""
    if nodes.usable[node]:
        dequeue(nodes, node)
        take(nodes.free, node, nodes.shapes, asks.shape[a], units)
        enqueue(nodes, node)
    else:
        take(nodes.free, node, nodes.shapes, asks.shape[a], units)
        log.state[RESERVED_VERSION] += 1
    at = log.state[N_PLACED]
    for x in range(units):
        log.ask[at + x] = a
        log.node[at + x] = node
    log.state[N_PLACED] = at + units
    log.state[CURSOR] = node + 1 if node + 1 < nodes.free.shape[0] else 0


@inlined
def place_ask(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    a: int,
    want: int,
) -> int:
    """Place up to ``want`` containers of ask ``a``, the nearest nodes first; a gang all or none. How many it was."""
    eq_class, placed = asks.eq_class[a], 0
    full = exhausted(pools, eq_class)
    if asks.gang[a]:
        own = _units_on_own_nodes(nodes, asks, a, want)
        if own < want and (full or not whole_gang_fits(nodes, classes, pools, log, eq_class, want - own)):
            return 0
        if own > 0:
            placed = _place_on_own_nodes(nodes, asks, log, a, want)
    if placed < want and (asks.own_node[a] >= 0 or (not full and asks.near_from[a] < asks.near_from[a + 1])):
        placed += _place_on_preferred(nodes, asks, log, a, want - placed)
    if placed < want and not full and asks.locality[a] > NODE_LOCAL:
        placed += _place_in_pools(nodes, asks, classes, pools, log, a, want - placed)
    return placed


@subroutine
def whole_gang_fits(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, log: PlacementLog, eq_class: int, want: int
) -> bool:
    if want >= classes.gang_too_large[eq_class]:
        return False
    if units_in_pool(nodes, classes, pools, log.state, eq_class, want) == want:
        return True
    classes.gang_too_large[eq_class] = want
    return False


@subroutine
def _units_on_own_nodes(nodes: NodeTable, asks: AskTable, a: int, want: int) -> int:
    """How many of ``want`` containers the nodes that a gang holds have room for."""
    units = 0
    for node in nodes.reserved:
        if nodes.reserved_for[node] == a:
            units += units_within(nodes.free, node, nodes.shapes, asks.shape[a], want - units)
    return units


@subroutine
def _place_on_own_nodes(nodes: NodeTable, asks: AskTable, log: PlacementLog, a: int, want: int) -> int:
    placed = 0
    for node in nodes.reserved:
        if nodes.reserved_for[node] == a:
            units = units_within(nodes.free, node, nodes.shapes, asks.shape[a], want - placed)
            if units > 0:
                place_on_node(nodes, asks, log, a, node, units)
                placed += units
    return placed


@inlined
def _place_on_preferred(nodes: NodeTable, asks: AskTable, log: PlacementLog, a: int, want: int) -> int:
    """On the node reserved for the ask, then on preferred nodes: one container each and again, in that order."""
    placed, before, own = 0, -1, asks.near_from[a] - 1
    while placed < want and placed > before:
        before = placed
        for x in range(own, asks.near_from[a + 1]):
            node = asks.own_node[a] if x == own else asks.near[x]
            able = (
                placed < want and node >= 0 and (x == own or (nodes.usable[node] and nodes.masks[asks.mask[a], node]))
            )
            if able and fits(nodes.free, node, nodes.shapes, asks.shape[a]):
                place_on_node(nodes, asks, log, a, node, ONE)
                placed += 1
    return placed


@inlined
def _place_in_pools(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    a: int,
    want: int,
) -> int:
    """In preferred racks, then in those of preferred nodes, then anywhere, as far as its locality goes."""
    eq_class, placed, anywhere = asks.eq_class[a], 0, 1 if asks.locality[a] >= OFF_SWITCH else 0
    stays = stays_on_node(classes, eq_class)
    racks, near = asks.near_rack_from[a + 1] - asks.near_rack_from[a], asks.near_from[a + 1] - asks.near_from[a]
    for x in range(racks + near + anywhere):
        rack = ALL_RACKS
        if x < racks:
            rack = asks.near_rack[asks.near_rack_from[a] + x]
        elif x < racks + near:
            rack = nodes.rack[asks.near[asks.near_from[a] + x - racks]]
        while placed < want:
            node = next_candidate(nodes, classes, pools, log.state, eq_class, rack)
            if node < 0:
                break
            units = units_within(nodes.free, node, nodes.shapes, asks.shape[a], want - placed) if stays else 1
            place_on_node(nodes, asks, log, a, node, units)
            placed += units
            if not stays:
                advance(nodes, classes, pools, eq_class, rack, node)
    return placed


@inlined
def why_no_node(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    a: int,
    missing: int,
) -> int:
    """Why nodes do not take ``missing`` more containers of ask ``a`` that its limits allow."""
    eq_class = asks.eq_class[a]
    if nodes.open_nodes == 0:
        return NO_NODES
    most = _empty_units(nodes, classes, eq_class)
    if most == 0 or (asks.gang[a] and most < missing):
        return NO_NODE_MATCHES
    if asks.gang[a]:
        units = units_in_pool(nodes, classes, pools, log.state, eq_class, missing)
        if units + _reserved_units(nodes, classes, log, eq_class) >= missing:
            return RESERVED
        return GANG if units > 0 else NO_ROOM
    if asks.locality[a] < OFF_SWITCH and room_anywhere(nodes, classes, pools, log.state, eq_class):
        asks.missed[a] = True
        return LOCALITY_WAIT
    return RESERVED if _reserved_units(nodes, classes, log, eq_class) > 0 else NO_ROOM


@arrayless
def settle_missed(
    nodes: NodeTable, asks: AskTable, classes: EquivalenceClasses, pools: CandidatePools, log: PlacementLog
) -> None:
    """After the last pass: room that others took meanwhile was no opportunity."""
    for a in range(len(asks.missed)):
        if asks.missed[a] and not room_anywhere(nodes, classes, pools, log.state, asks.eq_class[a]):
            asks.missed[a] = False
            if asks.why[a] == LOCALITY_WAIT:
                asks.why[a] = RESERVED if _reserved_units(nodes, classes, log, asks.eq_class[a]) > 0 else NO_ROOM


@inlined
def _empty_units(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int) -> int:
    """Containers of a class that fit on all its nodes when they are empty; counted once."""
    if classes.empty_units[eq_class] < 0:
        classes.empty_units[eq_class] = _units_on_all(nodes, classes, eq_class)
    return int(classes.empty_units[eq_class])


@subroutine
def _units_on_all(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int) -> int:
    units = 0
    for node in range(nodes.capacity.shape[0]):
        if nodes.masks[classes.mask[eq_class], node]:
            units += units_within(nodes.capacity, node, nodes.shapes, classes.shape[eq_class], _MANY)
    return units


@inlined
def _reserved_units(nodes: NodeTable, classes: EquivalenceClasses, log: PlacementLog, eq_class: int) -> int:
    """Containers of a class that reserved nodes have room for; counted again when one was used."""
    if classes.reserved_version[eq_class] != log.state[RESERVED_VERSION]:
        classes.reserved_units[eq_class] = _units_on_reserved(nodes, classes, eq_class)
        classes.reserved_version[eq_class] = log.state[RESERVED_VERSION]
    return int(classes.reserved_units[eq_class])


@subroutine
def _units_on_reserved(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int) -> int:
    units = 0
    for x in range(len(nodes.reserved)):
        node = nodes.reserved[x]
        if nodes.masks[classes.mask[eq_class], node]:
            units += units_within(nodes.free, node, nodes.shapes, classes.shape[eq_class], _MANY)
    return units


@arrayless
def allocate_in_order(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    order: np.ndarray,
    overshoot: bool,
) -> int:
    """One pass over asks: of each as many containers as all limits and the nodes allow. How many were placed."""
    before = log.state[N_PLACED]
    for x in range(len(order)):
        if asks.left[order[x]] > 0:
            allocate(nodes, limits, asks, classes, pools, log, order[x], overshoot)
    return int(log.state[N_PLACED] - before)


@inlined
def allocate(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    a: int,
    overshoot: bool,
) -> None:
    """Of one ask as many containers as all limits and the nodes allow, and why the rest of them wait."""
    left, budget = asks.left[a], len(log.ask) - log.state[N_PLACED]
    may, placed, least = min(allowed(limits, asks, nodes.shapes, a, overshoot), budget), 0, 1
    if asks.gang[a]:
        may, least = may if may == left else 0, left
    if may > 0:
        placed = place_ask(nodes, asks, classes, pools, log, a, may)
    if placed > 0:
        charge(limits, asks, nodes.shapes, a, placed)
        asks.left[a] = left - placed
        asks.placed[a] += placed
    asks.why[a], asks.binding_row[a] = 0, -1
    if placed < may:
        asks.why[a] = why_no_node(nodes, asks, classes, pools, log, a, least)
    elif placed < left:
        asks.why[a], asks.binding_row[a] = binding(limits, asks, nodes.shapes, a, least, overshoot, budget - placed)
