"""One ask: where its containers go, and why the rest of them do not."""

import numpy as np

from scheduler.core.compiled import aside, lean, part
from scheduler.core.plan import Why
from scheduler.placement.board import (
    ANY,
    CURSOR,
    EPOCH,
    EVERYWHERE,
    NODE,
    ONE,
    PLACED,
    Ground,
    Kinds,
    PlacementLimits,
    Pools,
    Record,
    Wants,
)
from scheduler.placement.fills import stays as stays_at
from scheduler.placement.limits import allowed, binding, charge, fits, take, units_within
from scheduler.placement.line import join, leave
from scheduler.placement.pools import advance, exhausted, following, room_anywhere, units_in_pool

NO_NODES = int(Why.NO_NODES)
NO_NODE_MATCHES = int(Why.NO_NODE_MATCHES)
NO_ROOM = int(Why.NO_ROOM)
LOCALITY_WAIT = int(Why.LOCALITY_WAIT)
RESERVED = int(Why.RESERVED)
GANG = int(Why.GANG)

_MANY = 1 << 31  # more than any node or ask counts


@part
def put(g: Ground, w: Wants, o: Record, a: int, node: int, units: int) -> None:
    """Place ``units`` containers of ask ``a`` on a node that has room for them."""
    if g.usable[node]:
        leave(g, node)
        take(g.free, node, g.shapes, w.shape[a], units)
        join(g, node)
    else:
        take(g.free, node, g.shapes, w.shape[a], units)
        o.state[EPOCH] += 1
    at = o.state[PLACED]
    for x in range(units):
        o.ask[at + x] = a
        o.node[at + x] = node
    o.state[PLACED] = at + units
    o.state[CURSOR] = node + 1 if node + 1 < g.free.shape[0] else 0


@part
def place(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, want: int) -> int:
    """Place up to ``want`` containers of ask ``a``, the nearest nodes first; a gang all or none. How many it was."""
    kind, placed = w.kind[a], 0
    full = exhausted(p, kind)
    if w.gang[a]:
        own = _own_units(g, w, a, want)
        if own < want and (full or not whole_gang_fits(g, k, p, o, kind, want - own)):
            return 0
        if own > 0:
            placed = _place_on_own(g, w, o, a, want)
    if placed < want and (w.holds[a] >= 0 or (not full and w.near_from[a] < w.near_from[a + 1])):
        placed += _place_near(g, w, o, a, want - placed)
    if placed < want and not full and w.level[a] > NODE:
        placed += _place_in_pools(g, w, k, p, o, a, want - placed)
    return placed


@aside
def whole_gang_fits(g: Ground, k: Kinds, p: Pools, o: Record, kind: int, want: int) -> bool:
    if want >= k.gang_most[kind]:
        return False
    if units_in_pool(g, k, p, o.state, kind, want) == want:
        return True
    k.gang_most[kind] = want
    return False


@aside
def _own_units(g: Ground, w: Wants, a: int, want: int) -> int:
    """How many of ``want`` containers the nodes that a gang holds have room for."""
    units = 0
    for node in g.held:
        if g.holder[node] == a:
            units += units_within(g.free, node, g.shapes, w.shape[a], want - units)
    return units


@aside
def _place_on_own(g: Ground, w: Wants, o: Record, a: int, want: int) -> int:
    placed = 0
    for node in g.held:
        if g.holder[node] == a:
            units = units_within(g.free, node, g.shapes, w.shape[a], want - placed)
            if units > 0:
                put(g, w, o, a, node, units)
                placed += units
    return placed


@part
def _place_near(g: Ground, w: Wants, o: Record, a: int, want: int) -> int:
    """On the node reserved for the ask, then on preferred nodes: one container each and again, in that order."""
    placed, before, own = 0, -1, w.near_from[a] - 1
    while placed < want and placed > before:
        before = placed
        for x in range(own, w.near_from[a + 1]):
            node = w.holds[a] if x == own else w.near[x]
            able = placed < want and node >= 0 and (x == own or (g.usable[node] and g.masks[w.mask[a], node]))
            if able and fits(g.free, node, g.shapes, w.shape[a]):
                put(g, w, o, a, node, ONE)
                placed += 1
    return placed


@part
def _place_in_pools(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, want: int) -> int:
    """In preferred racks, then in those of preferred nodes, then anywhere, as far as its level goes."""
    kind, placed, anywhere = w.kind[a], 0, 1 if w.level[a] >= ANY else 0
    stays = stays_at(k, kind)
    racks, near = w.near_rack_from[a + 1] - w.near_rack_from[a], w.near_from[a + 1] - w.near_from[a]
    for x in range(racks + near + anywhere):
        rack = EVERYWHERE
        if x < racks:
            rack = w.near_rack[w.near_rack_from[a] + x]
        elif x < racks + near:
            rack = g.rack[w.near[w.near_from[a] + x - racks]]
        while placed < want:
            node = following(g, k, p, o.state, kind, rack)
            if node < 0:
                break
            units = units_within(g.free, node, g.shapes, w.shape[a], want - placed) if stays else 1
            put(g, w, o, a, node, units)
            placed += units
            if not stays:
                advance(g, k, p, kind, rack, node)
    return placed


@part
def why_no_node(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, missing: int) -> int:
    """Why nodes do not take ``missing`` more containers of ask ``a`` that its limits allow."""
    kind = w.kind[a]
    if g.open_nodes == 0:
        return NO_NODES
    most = _empty_units(g, k, kind)
    if most == 0 or (w.gang[a] and most < missing):
        return NO_NODE_MATCHES
    if w.gang[a]:
        units = units_in_pool(g, k, p, o.state, kind, missing)
        if units + _held_units(g, k, o, kind) >= missing:
            return RESERVED
        return GANG if units > 0 else NO_ROOM
    if w.level[a] < ANY and room_anywhere(g, k, p, o.state, kind):
        w.missed[a] = True
        return LOCALITY_WAIT
    return RESERVED if _held_units(g, k, o, kind) > 0 else NO_ROOM


@lean
def settle_missed(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record) -> None:
    """After the last pass: room that others took meanwhile was no opportunity."""
    for a in range(len(w.missed)):
        if w.missed[a] and not room_anywhere(g, k, p, o.state, w.kind[a]):
            w.missed[a] = False
            if w.why[a] == LOCALITY_WAIT:
                w.why[a] = RESERVED if _held_units(g, k, o, w.kind[a]) > 0 else NO_ROOM


@part
def _empty_units(g: Ground, k: Kinds, kind: int) -> int:
    """Containers of a kind that fit on all its nodes when they are empty; counted once."""
    if k.empty_units[kind] < 0:
        k.empty_units[kind] = _units_on_all(g, k, kind)
    return int(k.empty_units[kind])


@aside
def _units_on_all(g: Ground, k: Kinds, kind: int) -> int:
    units = 0
    for node in range(g.capacity.shape[0]):
        if g.masks[k.mask[kind], node]:
            units += units_within(g.capacity, node, g.shapes, k.shape[kind], _MANY)
    return units


@part
def _held_units(g: Ground, k: Kinds, o: Record, kind: int) -> int:
    """Containers of a kind that reserved nodes have room for; counted again when one was used."""
    if k.held_epoch[kind] != o.state[EPOCH]:
        k.held_units[kind] = _units_on_held(g, k, kind)
        k.held_epoch[kind] = o.state[EPOCH]
    return int(k.held_units[kind])


@aside
def _units_on_held(g: Ground, k: Kinds, kind: int) -> int:
    units = 0
    for x in range(len(g.held)):
        node = g.held[x]
        if g.masks[k.mask[kind], node]:
            units += units_within(g.free, node, g.shapes, k.shape[kind], _MANY)
    return units


@lean
def place_in_order(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, p: Pools, o: Record, order: np.ndarray, overshoot: bool
) -> int:
    """One pass over asks: of each as many containers as all limits and the nodes allow. How many were placed."""
    before = o.state[PLACED]
    for x in range(len(order)):
        if w.left[order[x]] > 0:
            serve(g, limits, w, k, p, o, order[x], overshoot)
    return int(o.state[PLACED] - before)


@part
def serve(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, p: Pools, o: Record, a: int, overshoot: bool) -> None:
    """Of one ask as many containers as all limits and the nodes allow, and why the rest of them wait."""
    left, budget = w.left[a], len(o.ask) - o.state[PLACED]
    may, placed, least = min(allowed(limits, w, g.shapes, a, overshoot), budget), 0, 1
    if w.gang[a]:
        may, least = may if may == left else 0, left
    if may > 0:
        placed = place(g, w, k, p, o, a, may)
    if placed > 0:
        charge(limits, w, g.shapes, a, placed)
        w.left[a] = left - placed
        w.placed[a] += placed
    w.why[a], w.detail[a] = 0, -1
    if placed < may:
        w.why[a] = why_no_node(g, w, k, p, o, a, least)
    elif placed < left:
        w.why[a], w.detail[a] = binding(limits, w, g.shapes, a, least, overshoot, budget - placed)
