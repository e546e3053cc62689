"""Candidate lists: which node comes next for an equivalence class, without asking any node twice in vain.

Free space only shrinks within a round, so a node that has no room for a class is
dropped from the class's pool for good: each test either places a container or
makes the pool smaller.

* Some fills (``placement.fills``) stay at a node until it is full. The order is fixed
  when the pool is first used: by rank, or by position from the cursor.
* The others sweep: nodes have a level (how empty, how aligned), which only
  falls. A sweep takes one container for every node of the best level there is,
  passes over the others, and tells the level of the next sweep. So the node
  taken is always one of the best level. Those that use the bucket queue, which
  all share, look at its head first, and sweep if nothing there suits them.

Cost: a round looks at each of n nodes once for each class and then once for each container placed, or for each
level that a sweep goes down.
"""

import numpy as np

from scheduler.core.compiled import inlined, subroutine
from scheduler.placement.bucketqueue import emptiest_node, next_in_bucket
from scheduler.placement.fills import level_of, rank, ranked, stays_on_node, uses_bucket_queue
from scheduler.placement.limits import fits, units_within
from scheduler.placement.tables import ALL_RACKS, BINS, CURSOR, LEVELS, CandidatePools, EquivalenceClasses, NodeTable

# Columns of ``CandidatePools.table``
BUILT = 0  # 1 once there is a list
POSITION = 1  # in the list
END = 2  # length of the list
KEPT = 3  # so many of the candidates before POSITION are left, at the front
LEVEL = 4  # of the sweep: no candidate is better
NEXT_LEVEL = 5  # the best of those kept: the level of the next sweep
POOL_COLUMNS = 6

# The pool of all nodes is the first row of ``table``, that of rack x row 1 + x. Lanes of ``CandidatePools.node``:
_ALL_NODES, _OF_RACKS = 0, 1

_HEAD = 4  # nodes at the head of the bucket queue that are tried


@subroutine
def build(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, state: np.ndarray, eq_class: int, rack: int
) -> None:
    """List the nodes that have room, all of them or (rack >= 0) those of a rack."""
    table, out = pools.table, pools.node
    shape, mask = classes.shape[eq_class], classes.mask[eq_class]
    first, last, lane = 0, nodes.free.shape[0], _ALL_NODES
    if rack >= 0:
        first, last, lane = nodes.rack_from[rack], nodes.rack_from[rack + 1], _OF_RACKS
    start, size = state[CURSOR] if rack < 0 and not ranked(classes, eq_class) else 0, last - first
    count = 0
    for x in range(size):
        node = x + start
        if node >= size:
            node -= size
        if rack >= 0:
            node = nodes.rack_node[first + x]
        if nodes.masks[mask, node] and nodes.usable[node] and fits(nodes.free, node, nodes.shapes, shape):
            out[eq_class, lane, first + count] = node
            count += 1
    table[eq_class, 1 + rack, BUILT] = 1
    table[eq_class, 1 + rack, END] = count
    table[eq_class, 1 + rack, LEVEL] = LEVELS
    if ranked(classes, eq_class):
        _sort(nodes, classes, pools, eq_class, lane, first, count)


@inlined
def _sort(
    nodes: NodeTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    eq_class: int,
    lane: int,
    first: int,
    count: int,
) -> None:
    """By rank; among equals the order stays."""
    counts = pools.counts
    for x in range(BINS + 1):
        counts[x] = 0
    for x in range(count):
        pools.unsorted[x] = pools.node[eq_class, lane, first + x]
        counts[rank(nodes, classes, eq_class, pools.unsorted[x]) + 1] += 1
    for x in range(BINS):
        counts[x + 1] += counts[x]
    for x in range(count):
        at = rank(nodes, classes, eq_class, pools.unsorted[x])
        pools.node[eq_class, lane, first + counts[at]] = pools.unsorted[x]
        counts[at] += 1


@inlined
def exhausted(pools: CandidatePools, eq_class: int) -> bool:
    """Whether it is known that no node has room."""
    return bool(pools.table[eq_class, _ALL_NODES, BUILT] == 1 and pools.table[eq_class, _ALL_NODES, END] == 0)


@inlined
def next_candidate(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, state: np.ndarray, eq_class: int, rack: int
) -> int:
    """The node that comes next for the class, -1 if none has room. It stays the next one until it is taken."""
    if rack < 0 and uses_bucket_queue(classes, eq_class):
        node = emptiest_node(nodes, state)
        for _ in range(_HEAD):
            if node >= 0:
                if nodes.masks[classes.mask[eq_class], node] and fits(
                    nodes.free, node, nodes.shapes, classes.shape[eq_class]
                ):
                    return node
                node = next_in_bucket(nodes, node)
    return _next_in_pool(nodes, classes, pools, state, eq_class, rack)


@inlined
def _next_in_pool(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, state: np.ndarray, eq_class: int, rack: int
) -> int:
    table, lane, first = pools.table, _ALL_NODES, 0
    if table[eq_class, 1 + rack, BUILT] == 0:
        build(nodes, classes, pools, state, eq_class, rack)
    if rack >= 0:
        lane, first = _OF_RACKS, nodes.rack_from[rack]
    shape, sweeps = classes.shape[eq_class], not stays_on_node(classes, eq_class)
    at, end, kept = table[eq_class, 1 + rack, POSITION], table[eq_class, 1 + rack, END], table[eq_class, 1 + rack, KEPT]
    level, best = table[eq_class, 1 + rack, LEVEL], table[eq_class, 1 + rack, NEXT_LEVEL]
    found = -1
    while end > 0 and found < 0:
        if at == end:
            at, end, kept, level, best = 0, kept, 0, best, 0
            continue
        node = pools.node[eq_class, lane, first + at]
        if fits(nodes.free, node, nodes.shapes, shape):
            here = level_of(nodes, classes, eq_class, node) if sweeps else level
            if here >= level:
                found = node
                break
            pools.node[eq_class, lane, first + kept] = node
            kept += 1
            best = max(best, here)
        at += 1
    table[eq_class, 1 + rack, POSITION] = at
    table[eq_class, 1 + rack, END] = end
    table[eq_class, 1 + rack, KEPT] = kept
    table[eq_class, 1 + rack, LEVEL] = level
    table[eq_class, 1 + rack, NEXT_LEVEL] = best
    return found


@inlined
def advance(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, eq_class: int, rack: int, node: int
) -> None:
    """A class that sweeps has taken ``node``: if it came next in the pool, go on to the one after it."""
    table, lane, first = pools.table, _ALL_NODES, 0
    if rack >= 0:
        lane, first = _OF_RACKS, nodes.rack_from[rack]
    at = table[eq_class, 1 + rack, POSITION]
    if at == table[eq_class, 1 + rack, END] or pools.node[eq_class, lane, first + at] != node:
        return
    pools.node[eq_class, lane, first + table[eq_class, 1 + rack, KEPT]] = node
    table[eq_class, 1 + rack, NEXT_LEVEL] = max(
        table[eq_class, 1 + rack, NEXT_LEVEL], level_of(nodes, classes, eq_class, node)
    )
    table[eq_class, 1 + rack, KEPT] += 1
    table[eq_class, 1 + rack, POSITION] += 1


@subroutine
def room_anywhere(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, state: np.ndarray, eq_class: int
) -> bool:
    """Whether any node has room for a container of a class."""
    return next_candidate(nodes, classes, pools, state, eq_class, ALL_RACKS) >= 0


@subroutine
def units_in_pool(
    nodes: NodeTable, classes: EquivalenceClasses, pools: CandidatePools, state: np.ndarray, eq_class: int, want: int
) -> int:
    """How many containers of a class its nodes have room for, counted up to ``want``."""
    if pools.table[eq_class, _ALL_NODES, BUILT] == 0:
        build(nodes, classes, pools, state, eq_class, ALL_RACKS)
    units = 0
    for x in range(pools.table[eq_class, _ALL_NODES, END]):
        if units < want and (
            x < pools.table[eq_class, _ALL_NODES, KEPT] or x >= pools.table[eq_class, _ALL_NODES, POSITION]
        ):
            units += units_within(
                nodes.free, pools.node[eq_class, _ALL_NODES, x], nodes.shapes, classes.shape[eq_class], want - units
            )
    return units
