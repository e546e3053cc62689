"""Giving an ask a promise, and counting it wherever it will be active."""

import numpy as np

from scheduler.core.compiled import aside, part
from scheduler.placement.board import Ground, Kinds, PlacementLimits, Record, Wants
from scheduler.placement.foresee import (
    at_last,
    burden,
    copy_block,
    earliest,
    levy,
    most_in,
    room_due,
    sort_groups,
)
from scheduler.placement.promises import BURDEN, COUNT, FAILED, KINDS, UNITS, Promises


@aside
def grant(g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, a: int) -> bool:
    """Promise ask ``a`` the earliest start that can be foreseen; whether there is one."""
    units = w.left[a]
    if w.gang[a] and units >= h.never[w.kind[a]]:
        return False
    sort_groups(h)
    z = _introduced(g, k, h, w.kind[a])
    if not w.gang[a]:
        units = at_last(g, limits, w, k, o, h, a, z)
    start = earliest(g, limits, w, k, o, h, a, z, units) if units > 0 else np.inf
    if start == np.inf:
        h.state[FAILED] += 1
        if w.gang[a] and h.spot[UNITS] - h.spot[BURDEN] < units:
            h.never[w.kind[a]] = units
        return False
    if z == h.state[KINDS]:
        h.number[w.kind[a]] = z
        h.state[KINDS] = z + 1
    _enter(g, limits, w, k, h, a, z, units, start)
    return True


@aside
def _introduced(g: Ground, k: Kinds, h: Promises, kind: int) -> int:
    """The number of a kind; a new one is not taken for good yet."""
    z = h.number[kind]
    if z >= 0:
        return int(z)
    z = h.state[KINDS]
    h.kind[z], h.largest[z] = kind, 0
    for node in range(h.nodes):
        if g.usable[node] and g.masks[k.mask[kind], node]:
            h.largest[z] = max(h.largest[z], most_in(g.capacity, node, g.shapes, k.shape[kind]))
    for y in range(z + 1):
        h.rate[y, z], h.rate[z, y] = _rate(g, k, h, y, z), _rate(g, k, h, z, y)
    for i in range(h.state[COUNT]):
        h.units_then[i, z], h.used[i, z], h.live[i, z] = -1, 0, 0
        for j in range(h.state[COUNT]):
            if h.start[j] <= h.start[i] < h.over[j]:
                h.used[i, z] += burden(h, h.of[j], z, h.units[j])
    return int(z)


@part
def _rate(g: Ground, k: Kinds, h: Promises, first: int, second: int) -> float:
    """Containers of the second kind for which one of the first counts, by the resource it takes most of."""
    if first == second:
        return 1.0
    one, other = k.mask[h.kind[first]], k.mask[h.kind[second]]
    meet = one == other
    for node in range(h.nodes):
        meet = meet or (g.usable[node] and g.masks[one, node] and g.masks[other, node])
    most = 0.0
    for r in range(g.shapes.shape[1]):
        asked = g.shapes[k.shape[h.kind[second]], r]
        if meet and asked > 0:
            most = max(most, g.shapes[k.shape[h.kind[first]], r] / asked)
    return min(most, float(h.largest[second]))


@aside
def _enter(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, h: Promises, a: int, z: int, units: int, start: float
) -> None:
    """Write the promise down. The working block stands at its start, as ``earliest`` leaves it."""
    i, over = h.state[COUNT], start + h.lasts[a]
    h.ask[i], h.units[i], h.of[i], h.start[i], h.over[i] = a, units, z, start, over
    copy_block(h, len(h.ask), i)
    for y in range(h.state[KINDS]):
        h.units_then[i, y], h.used[i, y], h.live[i, y] = -1, 0, 0
    h.units_then[i, z] = h.spot[UNITS]
    h.state[COUNT] = i + 1
    for j in range(i):
        if h.start[j] <= start < h.over[j]:
            h.live[i, h.of[j]] += 1
            for y in range(h.state[KINDS]):
                h.used[i, y] += burden(h, h.of[j], y, h.units[j])
    for j in range(i + 1):
        if start <= h.start[j] < over:
            h.live[j, z] += 1
            levy(limits, w, g, h, j, a, units)
            for y in range(h.state[KINDS]):
                h.used[j, y] += burden(h, z, y, units)
            room_due(g, k, h, j, z)
    _insert(h.by_start, h.start, i)
    _insert(h.by_end, h.over, i)


@part
def _insert(order: np.ndarray, values: np.ndarray, i: int) -> None:
    """Put ``i`` where it belongs among the first i of ``order``, after its equals."""
    x = i
    while x > 0 and values[order[x - 1]] > values[i]:
        order[x] = order[x - 1]
        x -= 1
    order[x] = i
