"""Candidate lists: which node comes next for a kind, without asking any node twice in vain.

Free space only shrinks within a round, so a node that has no room for a kind is
dropped from the kind's pool for good: each test either places a container or
makes the pool smaller.

* Some fills (``placement.fills``) stay at a node until it is full. The order is fixed
  when the pool is first used: by rank, or by position from the cursor.
* The others sweep: nodes have a level (how empty, how aligned), which only
  falls. A sweep takes one container for every node of the best level there is,
  passes over the others, and tells the level of the next sweep. So the node
  taken is always one of the best level. Those in line look at the head of
  the line that they share first, and sweep if nothing there suits them.
"""

import numpy as np

from scheduler.core.compiled import aside, part
from scheduler.placement.board import BINS, CURSOR, EVERYWHERE, LEVELS, Ground, Kinds, Pools
from scheduler.placement.fills import level_of, lines_up, rank, ranked, stays
from scheduler.placement.limits import fits, units_within
from scheduler.placement.line import emptiest, next_in_line

# Columns of ``Pools.table``
BUILT = 0  # 1 once there is a list
AT = 1  # position in the list
END = 2  # length of the list
KEPT = 3  # of the candidates before AT those are left, at the front
LEVEL = 4  # of the sweep: no candidate is better
BEST = 5  # of the candidates before AT: the level of the next sweep

_HEAD = 4  # nodes at the head of the shared line that are tried


@aside
def build(g: Ground, k: Kinds, p: Pools, state: np.ndarray, kind: int, rack: int) -> None:
    """List the nodes that have room, all of them or (rack >= 0) those of a rack."""
    table, out = p.table, p.node
    shape, mask = k.shape[kind], k.mask[kind]
    first, last, lane = 0, g.free.shape[0], 0
    if rack >= 0:
        first, last, lane = g.rack_from[rack], g.rack_from[rack + 1], 1
    start, size = state[CURSOR] if rack < 0 and not ranked(k, kind) else 0, last - first
    count = 0
    for x in range(size):
        node = x + start
        if node >= size:
            node -= size
        if rack >= 0:
            node = g.rack_node[first + x]
        if g.masks[mask, node] and g.usable[node] and fits(g.free, node, g.shapes, shape):
            out[kind, lane, first + count] = node
            count += 1
    table[kind, 1 + rack, BUILT] = 1
    table[kind, 1 + rack, END] = count
    table[kind, 1 + rack, LEVEL] = LEVELS
    if ranked(k, kind):
        _sort(g, k, p, kind, lane, first, count)


@part
def _sort(g: Ground, k: Kinds, p: Pools, kind: int, lane: int, first: int, count: int) -> None:
    """By rank; among equals the order stays."""
    counts = p.counts
    for x in range(BINS + 1):
        counts[x] = 0
    for x in range(count):
        p.unsorted[x] = p.node[kind, lane, first + x]
        counts[rank(g, k, kind, p.unsorted[x]) + 1] += 1
    for x in range(BINS):
        counts[x + 1] += counts[x]
    for x in range(count):
        at = rank(g, k, kind, p.unsorted[x])
        p.node[kind, lane, first + counts[at]] = p.unsorted[x]
        counts[at] += 1


@part
def exhausted(p: Pools, kind: int) -> bool:
    """Whether it is known that no node has room."""
    return bool(p.table[kind, 0, BUILT] == 1 and p.table[kind, 0, END] == 0)


@part
def following(g: Ground, k: Kinds, p: Pools, state: np.ndarray, kind: int, rack: int) -> int:
    """The node that comes next for the kind, -1 if none has room. It stays the next one until it is taken."""
    if rack < 0 and lines_up(k, kind):
        node = emptiest(g, state)
        for _ in range(_HEAD):
            if node >= 0:
                if g.masks[k.mask[kind], node] and fits(g.free, node, g.shapes, k.shape[kind]):
                    return node
                node = next_in_line(g, node)
    return _following_in_pool(g, k, p, state, kind, rack)


@part
def _following_in_pool(g: Ground, k: Kinds, p: Pools, state: np.ndarray, kind: int, rack: int) -> int:
    table, lane, first = p.table, 0, 0
    if table[kind, 1 + rack, BUILT] == 0:
        build(g, k, p, state, kind, rack)
    if rack >= 0:
        lane, first = 1, g.rack_from[rack]
    shape, sweeps = k.shape[kind], not stays(k, kind)
    at, end, kept = table[kind, 1 + rack, AT], table[kind, 1 + rack, END], table[kind, 1 + rack, KEPT]
    level, best = table[kind, 1 + rack, LEVEL], table[kind, 1 + rack, BEST]
    found = -1
    while end > 0 and found < 0:
        if at == end:
            at, end, kept, level, best = 0, kept, 0, best, 0
            continue
        node = p.node[kind, lane, first + at]
        if fits(g.free, node, g.shapes, shape):
            here = level_of(g, k, kind, node) if sweeps else level
            if here >= level:
                found = node
                break
            p.node[kind, lane, first + kept] = node
            kept += 1
            best = max(best, here)
        at += 1
    table[kind, 1 + rack, AT] = at
    table[kind, 1 + rack, END] = end
    table[kind, 1 + rack, KEPT] = kept
    table[kind, 1 + rack, LEVEL] = level
    table[kind, 1 + rack, BEST] = best
    return found


@part
def advance(g: Ground, k: Kinds, p: Pools, kind: int, rack: int, node: int) -> None:
    """A kind that sweeps has taken ``node``: if it came next in the pool, go on to the one after it."""
    table, lane, first = p.table, 0, 0
    if rack >= 0:
        lane, first = 1, g.rack_from[rack]
    at = table[kind, 1 + rack, AT]
    if at == table[kind, 1 + rack, END] or p.node[kind, lane, first + at] != node:
        return
    p.node[kind, lane, first + table[kind, 1 + rack, KEPT]] = node
    table[kind, 1 + rack, BEST] = max(table[kind, 1 + rack, BEST], level_of(g, k, kind, node))
    table[kind, 1 + rack, KEPT] += 1
    table[kind, 1 + rack, AT] += 1


@aside
def room_anywhere(g: Ground, k: Kinds, p: Pools, state: np.ndarray, kind: int) -> bool:
    """Whether any node has room for a kind."""
    return following(g, k, p, state, kind, EVERYWHERE) >= 0


@aside
def units_in_pool(g: Ground, k: Kinds, p: Pools, state: np.ndarray, kind: int, want: int) -> int:
    """How many containers of a kind its nodes have room for, counted up to ``want``."""
    if p.table[kind, 0, BUILT] == 0:
        build(g, k, p, state, kind, EVERYWHERE)
    units = 0
    for x in range(p.table[kind, 0, END]):
        if units < want and (x < p.table[kind, 0, KEPT] or x >= p.table[kind, 0, AT]):
            units += units_within(g.free, p.node[kind, 0, x], g.shapes, k.shape[kind], want - units)
    return units
