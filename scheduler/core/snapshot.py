"""What a round sees: arrays over nodes, queues and asks. Nothing here changes during a round.

Resources are vectors over ``axis`` (``memory_mib``, ``vcores_milli``, ``gpus``,
then extended ones); r is its length. Indices are positions in these arrays.
"""

from dataclasses import dataclass

import numpy as np

AXIS = ("memory_mib", "vcores_milli", "gpus")


@dataclass(frozen=True, slots=True)
class Nodes:
    """n nodes.

    capacity: (n, r) int64. free: (n, r) int64, may be negative on an overfull
    node. open: (n,) bool, may take new containers. rack: (n,) int32.
    """

    capacity: np.ndarray
    free: np.ndarray
    open: np.ndarray
    rack: np.ndarray


@dataclass(frozen=True, slots=True)
class Queues:
    """q queues, parents before children.

    parent: (q,) int32, -1 at the root. guaranteed, maximum, used: (q, r) int64,
    in resource units of this sub-cluster; ``used`` counts the whole subtree.
    """

    paths: list[str]
    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    used: np.ndarray


@dataclass(frozen=True, slots=True)
class Asks:
    """a asks, one per task group that wants containers.

    count: (a,) int64 wanted now. queue, shape, mask: (a,) int32 positions in
    queues, shapes, masks. priority: (a,) int32, higher first. order: (a,)
    int64, lower first within a priority (the job's number, then its group's).
    shapes: (s, r) int64 per container. masks: (m, n) bool, nodes that match.
    """

    count: np.ndarray
    queue: np.ndarray
    priority: np.ndarray
    order: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray


@dataclass(frozen=True, slots=True)
class Snapshot:
    axis: tuple[str, ...]
    nodes: Nodes
    queues: Queues
    asks: Asks


@dataclass(frozen=True, slots=True)
class Memo:
    """What a round may carry to the next, and may be lost. ``cursor``: node to fill next."""

    cursor: int = 0
