"""A bucket queue of the usable nodes, the emptiest first: one list for each level, for all classes that spread.

Who was given a container goes to the end of the list of its level. The levels
only fall, so finding the highest takes no search: all steps cost O(1), but for
one pass over the ``LEVELS`` in a round.
"""

import numpy as np

from scheduler.core.compiled import inlined
from scheduler.placement.tables import LEVELS, TOP_LEVEL, NodeTable

# Columns of ``NodeTable.links`` and of ``NodeTable.buckets``: a node, or -1
_NEXT, _PREVIOUS = 0, 1
_FIRST, _LAST = 0, 1


@inlined
def emptiness_level(free: np.ndarray, inverse: np.ndarray, node: int) -> int:
    """How empty a node is: the least remaining share of any resource it has, in ``LEVELS`` steps."""
    least = 1.0
    for i in range(free.shape[1]):
        if inverse[node, i] > 0.0:
            least = min(least, free[node, i] * inverse[node, i])
    return int(max(least, 0.0) * LEVELS)


@inlined
def enqueue(nodes: NodeTable, node: int) -> None:
    """Put a node at the end of the bucket of its level."""
    level = emptiness_level(nodes.free, nodes.inverse, node)
    last = nodes.buckets[level, _LAST]
    nodes.level[node] = level
    nodes.links[node, _NEXT], nodes.links[node, _PREVIOUS] = -1, last
    if last >= 0:
        nodes.links[last, _NEXT] = node
    else:
        nodes.buckets[level, _FIRST] = node
    nodes.buckets[level, _LAST] = node


@inlined
def dequeue(nodes: NodeTable, node: int) -> None:
    """Take a node out of its bucket."""
    level, after, before = nodes.level[node], nodes.links[node, _NEXT], nodes.links[node, _PREVIOUS]
    if before >= 0:
        nodes.links[before, _NEXT] = after
    else:
        nodes.buckets[level, _FIRST] = after
    if after >= 0:
        nodes.links[after, _PREVIOUS] = before
    else:
        nodes.buckets[level, _LAST] = before


@inlined
def emptiest_node(nodes: NodeTable, state: np.ndarray) -> int:
    """The first node of the highest level, -1 if there are none."""
    while state[TOP_LEVEL] > 0 and nodes.buckets[state[TOP_LEVEL], _FIRST] < 0:
        state[TOP_LEVEL] -= 1
    return int(nodes.buckets[state[TOP_LEVEL], _FIRST])


@inlined
def next_in_bucket(nodes: NodeTable, node: int) -> int:
    """The node after ``node`` on the same level, or -1."""
    return int(nodes.links[node, _NEXT])
