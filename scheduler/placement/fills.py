"""How the nodes that have room are chosen from: all that tells one fill from another.

A fill's name in lower case is what operators write. A new one is a member here and its answers to these questions:
whether it ``stays`` at a node until that is full or sweeps over all that are equally good; of one that stays, whether
its order is ``ranked``, and the ``rank`` of a node; of one that sweeps, its ``level_of`` a node.
"""

from enum import IntEnum

import numpy as np

from scheduler.core.compiled import part
from scheduler.placement.board import BINS, Ground, Kinds


class Fill(IntEnum):
    """How the nodes that have room are chosen from. Jobs are stored with names, so that numbers may change."""

    SPREAD = 0  # least loaded first
    PACK = 1  # the fullest node that still has room
    ALIGN = 2  # the node whose remaining resources point most the way the ask does
    FIRST_FIT = 3  # in order of position


SPREAD, PACK, ALIGN, FIRST_FIT = int(Fill.SPREAD), int(Fill.PACK), int(Fill.ALIGN), int(Fill.FIRST_FIT)


@part
def stays(k: Kinds, kind: int) -> bool:
    """Whether a node is filled before the next one is looked at."""
    return bool(k.fill[kind] == PACK or k.fill[kind] == FIRST_FIT)


@part
def ranked(k: Kinds, kind: int) -> bool:
    """Whether a kind that stays goes by ``rank``, as it was when its pool was first used; else by position."""
    return bool(k.fill[kind] == PACK)


@part
def lines_up(k: Kinds, kind: int) -> bool:
    """Whether a kind that sweeps takes the nodes' common order, the emptiest first."""
    return bool(k.fill[kind] == SPREAD)


@part
def rank(g: Ground, k: Kinds, kind: int, node: int) -> int:
    """Where a node stands for a kind that is ranked, 0 to ``BINS`` - 1: the lower the sooner."""
    return _fullness(g.free, g.inverse, node)


@part
def level_of(g: Ground, k: Kinds, kind: int, node: int) -> int:
    """How good a node is for a kind that sweeps."""
    if k.fill[kind] != ALIGN:
        level: int = g.room_level[node]
        return level
    product = 0.0
    for i in range(g.free.shape[1]):
        product += max(g.free[node, i], 0) * k.direction[kind, i]
    return int(product)


@part
def _fullness(free: np.ndarray, inverse: np.ndarray, node: int) -> int:
    """The dominant remaining share of a node in ``BINS`` steps: 0 where nothing is left."""
    most = 0.0
    for i in range(free.shape[1]):
        most = max(most, free[node, i] * inverse[node, i])
    return int(min(most, 1.0) * (BINS - 1))
