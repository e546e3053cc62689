"""One ask: where its containers go, and why the rest of them do not."""

import numpy as np

from scheduler.core.compiled import lean, part
from scheduler.core.plan import Why
from scheduler.placement.board import ANY, CURSOR, EPOCH, PLACED, RACK, Ground, Kinds, Limits, Pools, Record, Wants
from scheduler.placement.limits import allowed, binding, charge, fits, take, units_within
from scheduler.placement.pools import (
    FIRST_FIT,
    PACK,
    advance,
    emptiness,
    exhausted,
    following,
    units_in_pool,
)

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
    take(g.free, node, g.shapes, w.shape[a], units)
    g.room_level[node] = emptiness(g.free, g.inverse, node)
    at = o.state[PLACED]
    for x in range(units):
        o.ask[at + x] = a
        o.node[at + x] = node
    o.state[PLACED] = at + units
    o.state[CURSOR] = node + 1 if node + 1 < g.free.shape[0] else 0
    if g.holder[node] >= 0:
        o.state[EPOCH] += 1


@part
def place(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, want: int) -> int:
    """Place up to ``want`` containers of ask ``a``, the nearest nodes first; a gang all or none. How many it was."""
    placed, kind = 0, w.kind[a]
    if w.holds[a] >= 0 and not w.gang[a]:
        placed = units_within(g.free, w.holds[a], g.shapes, w.shape[a], want)
        if placed > 0:
            put(g, w, o, a, w.holds[a], placed)
    if placed == want or exhausted(p, kind):
        return placed
    if w.gang[a] and not _whole_gang_fits(g, k, p, o, kind, want):
        return 0
    if w.near_from[a] < w.near_from[a + 1]:
        placed += _place_near(g, w, o, a, want - placed)
    if w.level[a] >= RACK and placed < want:
        placed += _place_in_racks(g, w, k, p, o, a, want - placed)
    if w.level[a] >= ANY and placed < want:
        placed += _place_in_pool(g, w, k, p, o, a, -1, want - placed)
    return placed


@part
def _whole_gang_fits(g: Ground, k: Kinds, p: Pools, o: Record, kind: int, want: int) -> bool:
    if want >= k.gang_most[kind]:
        return False
    if units_in_pool(g, k, p, o.state, kind, want) == want:
        return True
    k.gang_most[kind] = want
    return False


@part
def _place_near(g: Ground, w: Wants, o: Record, a: int, want: int) -> int:
    """On preferred nodes, one container each and again, in the order of preference."""
    placed, before = 0, -1
    while placed < want and placed > before:
        before = placed
        for x in range(w.near_from[a], w.near_from[a + 1]):
            node = w.near[x]
            able = placed < want and g.usable[node] and g.masks[w.mask[a], node]
            if able and fits(g.free, node, g.shapes, w.shape[a]):
                put(g, w, o, a, node, 1)
                placed += 1
    return placed


@part
def _place_in_racks(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, want: int) -> int:
    """In preferred racks, then in those of preferred nodes."""
    placed = 0
    for x in range(w.near_rack_from[a], w.near_rack_from[a + 1]):
        if placed < want:
            placed += _place_in_pool(g, w, k, p, o, a, w.near_rack[x], want - placed)
    for x in range(w.near_from[a], w.near_from[a + 1]):
        if placed < want:
            placed += _place_in_pool(g, w, k, p, o, a, g.rack[w.near[x]], want - placed)
    return placed


@part
def _place_in_pool(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, rack: int, want: int) -> int:
    placed, kind = 0, w.kind[a]
    stays = k.fill[kind] == PACK or k.fill[kind] == FIRST_FIT
    while placed < want:
        node = following(g, k, p, o.state, kind, rack)
        if node < 0:
            break
        units = units_within(g.free, node, g.shapes, w.shape[a], want - placed) if stays else 1
        put(g, w, o, a, node, units)
        placed += units
        advance(g, k, p, kind, rack)
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
    if following(g, k, p, o.state, kind, -1) >= 0:
        w.missed[a] = True
        return LOCALITY_WAIT
    return RESERVED if _held_units(g, k, o, kind) > 0 else NO_ROOM


@part
def _empty_units(g: Ground, k: Kinds, kind: int) -> int:
    """Containers of a kind that fit on all its nodes when they are empty; counted once."""
    if k.empty_units[kind] < 0:
        units = 0
        for node in range(g.capacity.shape[0]):
            if g.masks[k.mask[kind], node]:
                units += units_within(g.capacity, node, g.shapes, k.shape[kind], _MANY)
        k.empty_units[kind] = units
    return int(k.empty_units[kind])


@part
def _held_units(g: Ground, k: Kinds, o: Record, kind: int) -> int:
    """Containers of a kind that reserved nodes have room for; counted again when one was used."""
    if k.held_epoch[kind] != o.state[EPOCH]:
        units = 0
        for node in g.held:
            if g.masks[k.mask[kind], node]:
                units += units_within(g.free, node, g.shapes, k.shape[kind], _MANY)
        k.held_units[kind] = units
        k.held_epoch[kind] = o.state[EPOCH]
    return int(k.held_units[kind])


@lean
def place_in_order(
    g: Ground, limits: Limits, w: Wants, k: Kinds, p: Pools, o: Record, order: np.ndarray, overshoot: bool
) -> int:
    """One pass over asks: of each as many containers as all limits and the nodes allow. How many were placed."""
    before = o.state[PLACED]
    for a in order:
        if w.left[a] > 0:
            _serve(g, limits, w, k, p, o, a, overshoot)
    return int(o.state[PLACED] - before)


@part
def _serve(g: Ground, limits: Limits, w: Wants, k: Kinds, p: Pools, o: Record, a: int, overshoot: bool) -> None:
    left, budget = w.left[a], len(o.ask) - o.state[PLACED]
    may = min(allowed(limits, w, g.shapes, a, overshoot), budget)
    if w.gang[a] and may < left:
        may = 0
    placed = 0
    if may > 0:
        placed = place(g, w, k, p, o, a, may)
    if placed > 0:
        charge(limits, w, g.shapes, a, placed)
        w.left[a] = left - placed
        w.placed[a] += placed
        if placed == left:
            w.why[a], w.detail[a] = 0, -1
            return
    if placed < may:
        w.why[a] = why_no_node(g, w, k, p, o, a, left - placed if w.gang[a] else 1)
        w.detail[a] = -1
        return
    more = left if w.gang[a] else 1
    why, row = binding(limits, w, g.shapes, a, more, overshoot, budget - placed)
    w.why[a], w.detail[a] = why, row
