"""Usable nodes in line, the emptiest first: one line for each level, for all kinds that spread.

Who was given a container goes to the end of the line of its level. The levels
only fall, so finding the highest takes no search.
"""

import numpy as np

from scheduler.core.compiled import part
from scheduler.placement.board import LEVELS, TOP, Ground

# Columns of ``Ground.line`` and ``Ground.ends``: the node after and the one before, the first and the last; or -1
_AFTER, _BEFORE = 0, 1
_FIRST, _LAST = 0, 1


@part
def emptiness(free: np.ndarray, inverse: np.ndarray, node: int) -> int:
    """How empty a node is: the least remaining share of any resource it has, in ``LEVELS`` steps."""
    least = 1.0
    for i in range(free.shape[1]):
        if inverse[node, i] > 0.0:
            least = min(least, free[node, i] * inverse[node, i])
    return int(max(least, 0.0) * LEVELS)


@part
def join(g: Ground, node: int) -> None:
    """Put a node at the end of the line of its level."""
    level = emptiness(g.free, g.inverse, node)
    last = g.ends[level, _LAST]
    g.room_level[node] = level
    g.line[node, _AFTER], g.line[node, _BEFORE] = -1, last
    if last >= 0:
        g.line[last, _AFTER] = node
    else:
        g.ends[level, _FIRST] = node
    g.ends[level, _LAST] = node


@part
def leave(g: Ground, node: int) -> None:
    """Take a node out of its line."""
    level, after, before = g.room_level[node], g.line[node, _AFTER], g.line[node, _BEFORE]
    if before >= 0:
        g.line[before, _AFTER] = after
    else:
        g.ends[level, _FIRST] = after
    if after >= 0:
        g.line[after, _BEFORE] = before
    else:
        g.ends[level, _LAST] = before


@part
def emptiest(g: Ground, state: np.ndarray) -> int:
    """The first node of the highest level, -1 if there are none."""
    while state[TOP] > 0 and g.ends[state[TOP], _FIRST] < 0:
        state[TOP] -= 1
    return int(g.ends[state[TOP], _FIRST])


@part
def next_in_line(g: Ground, node: int) -> int:
    """The node after ``node`` on the same level, or -1."""
    return int(g.line[node, _AFTER])
