"""The tables of a round's placement: named tuples of arrays, for kernels.

All arrays are C-contiguous and of the dtypes given here, so that each kernel
has one compiled form. What changes in the course of a round is marked with an
asterisk. Letters in sizes are those of ``scheduler.core.snapshot``: n nodes, r
resources, q queues, u users, a asks, s shapes, m masks; further k equivalence
classes and e entities.

An *equivalence class* (as in Borg and Quincy) is a distinct (shape, mask, fill):
asks of one class differ in nothing that a node could tell, so that each node is
looked at once for all of them. An *entity* is a row of the table of shares that
limits an ask. *Units* are containers of one ask, counted.

In kernels, beside these tables: ``a`` is an ask, ``node`` and ``eq_class`` are
positions, ``i`` runs over resources (over promises, where ``r`` then runs over
resources), ``x`` over whatever is listed.
"""

from typing import NamedTuple

import numpy as np


class NodeTable(NamedTuple):
    """The nodes.

    free*: (n, r) int64. capacity: (n, r) int64. inverse: (n, r) float64,
    1 / capacity, 0 where there is none. usable: (n,) bool, open and not
    reserved for anybody. level*: (n,) int64, how empty in ``LEVELS``
    steps. links*: (n, 2) and buckets*: (``LEVELS`` + 1, 2) int64, see
    ``bucketqueue``. reserved: (h,) int64, reserved nodes. reserved_for: (n,) int64,
    the ask a node is reserved for, or -1. open_nodes: how many take containers,
    reserved ones too. rack: (n,) int64. rack_from: (racks + 1,), rack_node: (n,) int64, the
    nodes of rack x are ``rack_node[rack_from[x]:rack_from[x + 1]]``. shapes:
    (s, r) int64. masks: (m, n) bool.
    """

    free: np.ndarray
    capacity: np.ndarray
    inverse: np.ndarray
    usable: np.ndarray
    level: np.ndarray
    links: np.ndarray
    buckets: np.ndarray
    reserved: np.ndarray
    reserved_for: np.ndarray
    open_nodes: int
    rack: np.ndarray
    rack_from: np.ndarray
    rack_node: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray


class AskTable(NamedTuple):
    """The asks, a of them.

    left*: int64 still wanted. eq_class, shape, mask, queue, user: int64. gang:
    bool. locality: int8, how far from what it prefers it may go: ``NODE_LOCAL``,
    ``RACK_LOCAL`` or ``OFF_SWITCH``, as YARN calls them. own_node: int64, the node
    reserved for it, or -1; a gang's are those that are ``reserved_for`` it. near and
    near_rack as in a snapshot: preferred nodes and racks. placed*: int64. missed*:
    bool, it let an opportunity pass. why*: int8 ``Why``. binding_row*: int32.
    """

    left: np.ndarray
    eq_class: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    queue: np.ndarray
    user: np.ndarray
    gang: np.ndarray
    locality: np.ndarray
    own_node: np.ndarray
    near_from: np.ndarray
    near: np.ndarray
    near_rack_from: np.ndarray
    near_rack: np.ndarray
    placed: np.ndarray
    missed: np.ndarray
    why: np.ndarray
    binding_row: np.ndarray


class PlacementLimits(NamedTuple):
    """What may still be taken.

    parent: (q,) int64. entity: (a,) int64, the row of ``share_room`` that limits
    each ask. queue_room*: (q, r) int64 below the maxima. user_room*: (u, r) int64.
    share_room*: (e, r) int64. may_overshoot*: (e,) bool, the entity may have one
    container more than its share.
    """

    parent: np.ndarray
    entity: np.ndarray
    queue_room: np.ndarray
    user_room: np.ndarray
    share_room: np.ndarray
    may_overshoot: np.ndarray


class EquivalenceClasses(NamedTuple):
    """The equivalence classes, k of them.

    shape, mask, fill: (k,) int64. direction: (k, r) float64, its product with
    what is free on a node is the alignment in ``LEVELS`` steps. empty_units*:
    (k,) int64, containers that its nodes would take if they were empty, -1
    unknown. reserved_units*, reserved_version*: (k,) int64, containers that reserved
    nodes would take, and at which ``RESERVED_VERSION`` that was counted.
    gang_too_large*: (k,) int64, no gang of that many fits.
    """

    shape: np.ndarray
    mask: np.ndarray
    fill: np.ndarray
    direction: np.ndarray
    empty_units: np.ndarray
    reserved_units: np.ndarray
    reserved_version: np.ndarray
    gang_too_large: np.ndarray


class CandidatePools(NamedTuple):
    """Candidates: for each equivalence class one pool of all nodes, and one for each rack.

    table*: (k, w, ``POOL_COLUMNS``) int64, for all nodes and then for each rack, columns as in
    ``pools``. node*: (k, v, n) int64, the candidates: those among all nodes, and
    those of each rack where the rack's nodes stand in ``rack_node``. w and v are
    1 where no ask has preferences. counts*: (``BINS`` + 1,) int64 and
    unsorted*: (n,) int64, of the sort.
    """

    table: np.ndarray
    node: np.ndarray
    counts: np.ndarray
    unsorted: np.ndarray


class PlacementLog(NamedTuple):
    """What was placed.

    ask*, node*: (batch,) int32, a row for each container. state*: (LOG_STATE_SIZE,) int64, see ``N_PLACED``.
    """

    ask: np.ndarray
    node: np.ndarray
    state: np.ndarray


# Positions in ``PlacementLog.state``
N_PLACED = 0  # rows of the log
CURSOR = 1  # the node after the one used last
RESERVED_VERSION = 2  # how often something was placed on a reserved node
TOP_LEVEL = 3  # no usable node is on a higher level
LOG_STATE_SIZE = 4

LEVELS = 32  # steps in which how empty or how aligned a node is, is told
BINS = 256  # steps in which nodes are sorted for packing

# Levels of locality, in the order in which an ask gives up what it prefers
NODE_LOCAL = 0
RACK_LOCAL = 1
OFF_SWITCH = 2

# Typed, so that they do not have kernels compiled again for a constant
ALL_RACKS: int = np.int64(-1)  # type: ignore[assignment] # in place of a rack
ONE: int = np.int64(1)  # type: ignore[assignment]
