"""Placing an ask whose containers may outlast the start of a promise: only so that every promise can still be kept.

A node is judged by what a promise loses if one container more runs there when
it is due. Nodes where that is nothing come first, and among these the nearest;
then the policy's fill counts, as the nodes were when the ask came up.
"""

import numpy as np

from scheduler.core.compiled import aside, part
from scheduler.placement.board import (
    ANY,
    BINS,
    CURSOR,
    LEVELS,
    NODE,
    ONE,
    PLACED,
    RACK,
    Ground,
    Kinds,
    PlacementLimits,
    Pools,
    Record,
    Wants,
)
from scheduler.placement.fills import level_of, rank, ranked
from scheduler.placement.fills import stays as stays_at
from scheduler.placement.foresee import MANY, levy, most_in, node_of, room_due, units_below
from scheduler.placement.limits import fits, units_within
from scheduler.placement.pools import exhausted
from scheduler.placement.promises import COUNT, IN_THE_WAY, KINDS, Promises
from scheduler.placement.serve import put, whole_gang_fits


@part
def bound(h: Promises, a: int) -> bool:
    """Whether a container that ask ``a`` starts now may still run when a promise is due."""
    return bool(h.state[COUNT] > 0 and h.start[h.by_start[0]] < h.until[a])


@part
def _lost(g: Ground, w: Wants, k: Kinds, h: Promises, i: int, y: int, a: int, node: int) -> int:
    """Containers of kind number y for which the node has room when promise i is due, unless ask ``a`` takes it."""
    kind, shape, row = h.kind[y], w.shape[a], i * h.rows + node
    if kind == w.kind[a]:
        return 1
    if not g.masks[k.mask[kind], node]:
        return 0
    before = most_in(h.room, row, g.shapes, k.shape[kind])
    for r in range(g.shapes.shape[1]):
        h.room[row, r] -= g.shapes[shape, r]
    after = most_in(h.room, row, g.shapes, k.shape[kind])
    for r in range(g.shapes.shape[1]):
        h.room[row, r] += g.shapes[shape, r]
    return int(before - after)


@aside
def _breaks(g: Ground, w: Wants, k: Kinds, h: Promises, a: int, node: int) -> bool:
    """Whether one more container of ask ``a`` on the node would break a promise, which is then noted."""
    last = h.state[IN_THE_WAY]
    for x in range(-1, h.state[COUNT]):
        i = x if x >= 0 else last  # what was in the way is mostly so again
        if h.start[i] >= h.until[a]:
            continue
        for y in range(h.state[KINDS]):
            if h.live[i, y] > 0:
                lost = _lost(g, w, k, h, i, y, a, node)
                if lost > 0 and lost > room_due(g, k, h, i, y) - h.used[i, y]:
                    h.state[IN_THE_WAY] = i
                    return True
    return False


@aside
def weigh(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, h: Promises, a: int, node: int, units: int) -> None:
    """``units`` more containers (negative: fewer) of ask ``a`` will run on the node when promises are due."""
    for i in range(h.state[COUNT]):
        if h.start[i] >= h.until[a]:
            continue
        row = i * h.rows + node
        for y in range(h.state[KINDS]):
            if h.units_then[i, y] >= 0 and g.usable[node] and g.masks[k.mask[h.kind[y]], node]:
                h.units_then[i, y] -= most_in(h.room, row, g.shapes, k.shape[h.kind[y]])
        for r in range(g.shapes.shape[1]):
            h.room[row, r] -= units * g.shapes[w.shape[a], r]
        for y in range(h.state[KINDS]):
            if h.units_then[i, y] >= 0 and g.usable[node] and g.masks[k.mask[h.kind[y]], node]:
                h.units_then[i, y] += most_in(h.room, row, g.shapes, k.shape[h.kind[y]])
        levy(limits, w, g, h, i, a, units)


@aside
def _tightest(g: Ground, k: Kinds, h: Promises, a: int) -> int:
    """The promise, of those due before the containers of ask ``a`` end, that leaves least to spare."""
    found, least = h.by_start[0], np.int64(MANY)
    for i in range(h.state[COUNT]):
        if h.start[i] < h.until[a]:
            spare = room_due(g, k, h, i, h.of[i]) - h.used[i, h.of[i]]
            if spare < least:
                found, least = i, spare
    return int(found)


@aside
def _mark_near(g: Ground, w: Wants, h: Promises, a: int) -> None:
    """Set ``h.taken`` to the level of locality of each node."""
    for node in range(h.nodes):
        h.taken[node] = ANY
    for x in range(w.near_rack_from[a], w.near_rack_from[a + 1]):
        rack = w.near_rack[x]
        for y in range(g.rack_from[rack], g.rack_from[rack + 1]):
            h.taken[g.rack_node[y]] = RACK
    for x in range(w.near_from[a], w.near_from[a + 1]):
        rack = g.rack[w.near[x]]
        for y in range(g.rack_from[rack], g.rack_from[rack + 1]):
            h.taken[g.rack_node[y]] = RACK
    for x in range(w.near_from[a], w.near_from[a + 1]):
        h.taken[w.near[x]] = NODE


@part
def _bin(g: Ground, k: Kinds, kind: int, node: int) -> int:
    """Where the fill puts a node: the lower the sooner."""
    if stays_at(k, kind):
        return rank(g, k, kind, node) if ranked(k, kind) else 0
    return max(LEVELS - level_of(g, k, kind, node), 0)


@aside
def _line_up(g: Ground, w: Wants, k: Kinds, o: Record, h: Promises, a: int) -> int:
    """Fill ``h.line`` with the nodes that have room for ask ``a`` as far as its level goes, best first: how many."""
    kind, size = w.kind[a], 0
    i = _tightest(g, k, h, a)
    start = o.state[CURSOR] if not ranked(k, kind) else 0
    _mark_near(g, w, h, a)
    for x in range(len(h.bins)):
        h.bins[x] = 0
    for x in range(h.nodes):
        node = x + start if x + start < h.nodes else x + start - h.nodes
        able = g.usable[node] and g.masks[w.mask[a], node] and h.taken[node] <= w.level[a]
        if able and fits(g.free, node, g.shapes, w.shape[a]):
            costs = 1 if _lost(g, w, k, h, i, h.of[i], a, node) > 0 else 0
            key = (h.taken[node] * 2 + costs) * BINS + _bin(g, k, kind, node)
            h.key[node] = key
            h.bins[key + 1] += 1
            h.list[size] = node
            size += 1
    for x in range(len(h.bins) - 1):
        h.bins[x + 1] += h.bins[x]
    for x in range(size):
        node = h.list[x]
        h.line[h.bins[h.key[node]]] = node
        h.bins[h.key[node]] += 1
        h.taken[node] = 0
    return size


@aside
def _choose(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, a: int, want: int) -> int:
    """Choose nodes for up to ``want`` containers of ask ``a``: how many. They stand in the record, and are weighed."""
    kind, at, chosen = w.kind[a], o.state[PLACED], 0
    fills, due = stays_at(k, kind), -np.inf
    size = _line_up(g, w, k, o, h, a)
    while size > 0 and chosen < want:
        kept = 0
        for x in range(size):
            node = h.line[x]
            stays = fills or h.key[node] < ANY * 2 * BINS
            while chosen < want:
                units = h.taken[node] + 1
                if units_within(g.free, node, g.shapes, w.shape[a], units) < units:
                    break
                if _breaks(g, w, k, h, a, node):
                    due = max(due, h.start[h.state[IN_THE_WAY]])
                    break
                weigh(g, limits, w, k, h, a, node, ONE)
                o.node[at + chosen] = node
                h.taken[node] = units
                chosen += 1
                if not stays:
                    h.line[kept] = node
                    kept += 1
                    break
        size = kept
    if chosen < want and w.level[a] == ANY:
        h.fail_units[kind], h.fail_due[kind] = chosen + 1, due
    return chosen


@aside
def _within_promises(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, h: Promises, a: int, want: int) -> int:
    """Of ``want`` containers of ask ``a`` as many as can be told at once to break nothing; nodes may allow fewer."""
    kind = w.kind[a]
    z = h.number[kind]
    for i in range(h.state[COUNT]):
        if h.start[i] < h.until[a] and want > 0:
            most = units_below(limits, w, g, h, i, a, want)
            if z >= 0 and h.live[i, z] > 0:
                most = min(most, room_due(g, k, h, i, z) - h.used[i, z])
            if most < want:
                want = most
                h.state[IN_THE_WAY] = i
    if h.until[a] > h.fail_due[kind]:
        want = min(want, h.fail_units[kind] - 1)
    return int(want)


@aside
def place_beside(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, p: Pools, o: Record, h: Promises, a: int, want: int
) -> int:
    """Place up to ``want`` containers of ask ``a`` and break no promise; a gang all or none. How many it was."""
    kind, least, at = w.kind[a], want if w.gang[a] else 1, o.state[PLACED]
    if exhausted(p, kind) or (w.gang[a] and not whole_gang_fits(g, k, p, o, kind, want)):
        return 0
    want = _within_promises(g, limits, w, k, h, a, want)
    if want < least:
        return 0
    chosen = _choose(g, limits, w, k, o, h, a, want)
    if chosen < least:
        for x in range(chosen):
            weigh(g, limits, w, k, h, a, node_of(o, at + x), -ONE)
        return 0
    for x in range(chosen):
        put(g, w, o, a, node_of(o, at + x), ONE)
    return chosen
