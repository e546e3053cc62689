"""What a round's placement works on: named tuples of arrays, for kernels.

All arrays are C-contiguous and of the dtypes given here, so that each kernel
has one compiled form. Letters are those of ``scheduler.core.snapshot``: n
nodes, r resources, q queues, u users, a asks, s shapes, m masks; further k
kinds and e entities. A *kind* is a distinct (shape, mask, fill): asks of one
kind differ in nothing that a node could tell. An *entity* is a row of the
table of shares that limits an ask. What changes in the course of a round is
marked with an asterisk.
"""

from typing import NamedTuple

import numpy as np


class Ground(NamedTuple):
    """The nodes.

    free*: (n, r) int64. capacity: (n, r) int64. inverse: (n, r) float64,
    1 / capacity, 0 where there is none. usable: (n,) bool, open and not
    reserved for anybody. room_level*: (n,) int64, how empty in ``LEVELS``
    steps. line*: (n, 2) and ends*: (``LEVELS`` + 1, 2) int64, see
    ``line``. held: (h,) int64, reserved nodes. holder: (n,) int64, the ask a node
    is reserved for, or -1. open_nodes: how many take containers, reserved ones
    too. rack: (n,) int64. rack_from: (racks + 1,), rack_node: (n,) int64, the
    nodes of rack x are ``rack_node[rack_from[x]:rack_from[x + 1]]``. shapes:
    (s, r) int64. masks: (m, n) bool.
    """

    free: np.ndarray
    capacity: np.ndarray
    inverse: np.ndarray
    usable: np.ndarray
    room_level: np.ndarray
    line: np.ndarray
    ends: np.ndarray
    held: np.ndarray
    holder: np.ndarray
    open_nodes: int
    rack: np.ndarray
    rack_from: np.ndarray
    rack_node: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray


class Wants(NamedTuple):
    """The asks, a of them.

    left*: int64 still wanted. kind, shape, mask, queue, user: int64. gang:
    bool. level: int8 that it may use: ``NODE``, ``RACK`` or ``ANY``. holds:
    int64, the node reserved for it, or -1; a gang's are those it is the
    ``holder`` of. near and near_rack as in a snapshot.
    placed*: int64. missed*: bool, it let an opportunity pass. why*: int8
    ``Why``. detail*: int32.
    """

    left: np.ndarray
    kind: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    queue: np.ndarray
    user: np.ndarray
    gang: np.ndarray
    level: np.ndarray
    holds: np.ndarray
    near_from: np.ndarray
    near: np.ndarray
    near_rack_from: np.ndarray
    near_rack: np.ndarray
    placed: np.ndarray
    missed: np.ndarray
    why: np.ndarray
    detail: np.ndarray


class PlacementLimits(NamedTuple):
    """What may still be taken.

    parent: (q,) int64. entity: (a,) int64, the row of ``share`` that limits
    each ask. queue*: (q, r) int64 below the maxima. user*: (u, r) int64.
    share*: (e, r) int64. beyond*: (e,) bool, the entity may have one container
    more than its share.
    """

    parent: np.ndarray
    entity: np.ndarray
    queue: np.ndarray
    user: np.ndarray
    share: np.ndarray
    beyond: np.ndarray


class Kinds(NamedTuple):
    """The kinds, k of them.

    shape, mask, fill: (k,) int64. direction: (k, r) float64, its product with
    what is free on a node is the alignment in ``LEVELS`` steps. empty_units*:
    (k,) int64, containers that its nodes would take if they were empty, -1
    unknown. held_units*, held_epoch*: (k,) int64, containers that reserved
    nodes would take, and when that was counted. gang_most*: (k,) int64, no gang
    of that many fits.
    """

    shape: np.ndarray
    mask: np.ndarray
    fill: np.ndarray
    direction: np.ndarray
    empty_units: np.ndarray
    held_units: np.ndarray
    held_epoch: np.ndarray
    gang_most: np.ndarray


class Pools(NamedTuple):
    """Candidates: for each kind one pool of all nodes, and one for each rack.

    table*: (k, w, 6) int64, for all nodes and then for each rack, columns as in
    ``pools``. node*: (k, v, n) int64, the candidates: those among all nodes, and
    those of each rack where the rack's nodes stand in ``rack_node``. w and v are
    1 where no ask has preferences. counts*: (``BINS`` + 1,) int64 and
    unsorted*: (n,) int64, of the sort.
    """

    table: np.ndarray
    node: np.ndarray
    counts: np.ndarray
    unsorted: np.ndarray


class Record(NamedTuple):
    """What was placed.

    ask*, node*: (batch,) int32. state*: (4,) int64, see ``PLACED`` and what follows.
    """

    ask: np.ndarray
    node: np.ndarray
    state: np.ndarray


PLACED = 0  # rows of the record
CURSOR = 1  # the node after the one used last
EPOCH = 2  # how often something was placed on a reserved node
TOP = 3  # no usable node is on a higher level

LEVELS = 32  # steps in which how empty or how aligned a node is, is told
BINS = 256  # steps in which nodes are sorted for packing

# Levels of locality
NODE = 0
RACK = 1
ANY = 2

# Typed, so that they do not have kernels compiled again for a constant
EVERYWHERE: int = np.int64(-1)  # type: ignore[assignment] # in place of a rack
ONE: int = np.int64(1)  # type: ignore[assignment]
