"""How the nodes that have room are chosen from: all that tells one fill from another.

A fill's name in lower case is what operators write. A new one is a member here and its answers to these questions:
whether it ``stays_on_node`` until that is full or sweeps over all that are equally good; of one that stays, whether
its order is ``ranked``, and the ``rank`` of a node; of one that sweeps, its ``level_of`` a node.
"""

from enum import IntEnum

import numpy as np

from scheduler.core.compiled import inlined
from scheduler.placement.tables import BINS, EquivalenceClasses, NodeTable


class Fill(IntEnum):
    """How the nodes that have room are chosen from. Jobs are stored with names, so that numbers may change."""

    SPREAD = 0  # least loaded first
    PACK = 1  # the fullest node that still has room
    ALIGN = 2  # the node whose remaining resources point most the way the ask does (Grandl et al., Tetris, SIGCOMM '14)
    FIRST_FIT = 3  # in order of position


SPREAD, PACK, ALIGN, FIRST_FIT = int(Fill.SPREAD), int(Fill.PACK), int(Fill.ALIGN), int(Fill.FIRST_FIT)


@inlined
def stays_on_node(classes: EquivalenceClasses, eq_class: int) -> bool:
    """Whether a node is filled before the next one is looked at."""
    return bool(classes.fill[eq_class] == PACK or classes.fill[eq_class] == FIRST_FIT)


@inlined
def ranked(classes: EquivalenceClasses, eq_class: int) -> bool:
    """Whether a class that stays goes by ``rank``, as it was when its pool was first used; else by position."""
    return bool(classes.fill[eq_class] == PACK)


@inlined
def uses_bucket_queue(classes: EquivalenceClasses, eq_class: int) -> bool:
    """Whether a class that sweeps goes by the bucket queue of all nodes, the emptiest first."""
    return bool(classes.fill[eq_class] == SPREAD)


@inlined
def rank(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int, node: int) -> int:
    """Where a node stands for a class that is ranked, 0 to ``BINS`` - 1: the lower the sooner."""
    return _fullness(nodes.free, nodes.inverse, node)


@inlined
def level_of(nodes: NodeTable, classes: EquivalenceClasses, eq_class: int, node: int) -> int:
    """How good a node is for a class that sweeps, in ``LEVELS`` steps: how empty, or how aligned."""
    if classes.fill[eq_class] != ALIGN:
        level: int = nodes.level[node]
        return level
    product = 0.0
    for i in range(nodes.free.shape[1]):
        product += max(nodes.free[node, i], 0) * classes.direction[eq_class, i]
    return int(product)


@inlined
def _fullness(free: np.ndarray, inverse: np.ndarray, node: int) -> int:
    """The dominant remaining share of a node in ``BINS`` steps: 0 where nothing is left."""
    most = 0.0
    for i in range(free.shape[1]):
        most = max(most, free[node, i] * inverse[node, i])
    return int(min(most, 1.0) * (BINS - 1))
