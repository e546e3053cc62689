"""What a round decides: typed actions, and for every ask it did not place the reason with numbers."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class Why(IntEnum):
    """The first limit that kept an ask from being placed in full."""

    PLACED = 0
    NO_NODES = 1  # no node of the sub-cluster takes containers
    NO_NODE_MATCHES = 2  # labels exclude every node, or none is large enough even when empty
    QUEUE_MAXIMUM = 3
    NO_ROOM = 4  # no node that matches has a free piece that large
    USER_MAXIMUM = 5
    LOCALITY_WAIT = 6  # there is room elsewhere; it still waits for a preferred node or rack
    RESERVED = 7  # there is room, on nodes that are held free for others, or until others are to start
    GANG = 8  # some would fit, not all at once
    QUEUE_SHARE = 9  # others are owed what is free
    ROUND_FULL = 10  # its turn comes with the next round


@dataclass(frozen=True, slots=True)
class Place:
    """One row per container. ask, node: (k,) int32 positions in the snapshot."""

    ask: np.ndarray
    node: np.ndarray


@dataclass(frozen=True, slots=True)
class Refusal:
    """Asks not placed in full.

    ask: (u,) int32. missing: (u,) int64 containers. why: (u,) int8 ``Why``.
    binding_row: (u,) int32, the queue whose maximum binds, or -1.
    """

    ask: np.ndarray
    missing: np.ndarray
    why: np.ndarray
    binding_row: np.ndarray


def _rows() -> np.ndarray:
    return np.empty(0, np.int32)


def _empty() -> Place:
    return Place(_rows(), _rows())


@dataclass(frozen=True, slots=True)
class Preempt:
    """Rows of ``Snapshot.running``, (k,) int32 each.

    warn: will be stopped at ``Memo.warned_due`` unless what they pay for is no
    longer owed. kill: their time is over. owed_to: (len(warn),) int32, the
    queue each warned container is taken for. intra: (len(warn),) bool, taken
    for a job of its own queue. spared: (m,) int64 ids of containers warned
    earlier that may stay.
    """

    warn: np.ndarray = field(default_factory=_rows)
    owed_to: np.ndarray = field(default_factory=_rows)
    intra: np.ndarray = field(default_factory=lambda: np.empty(0, np.bool_))
    kill: np.ndarray = field(default_factory=_rows)
    spared: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Reserve:
    """Nodes newly held free: ask, node: (k,) int32."""

    ask: np.ndarray = field(default_factory=_rows)
    node: np.ndarray = field(default_factory=_rows)


@dataclass(frozen=True, slots=True)
class PromisedStarts:
    """Starts promised to asks that wait, where queues backfill.

    ask: (k,) int32 and start: (k,) float64 s, in the order in which they were
    promised. kept_back_by: (a,) int32, the ask whose start keeps each ask back, or -1.
    """

    ask: np.ndarray
    start: np.ndarray
    kept_back_by: np.ndarray


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """How a round left things, for explaining it.

    free: (n, r) int64. left: (a,) int64 containers each ask still wants. why:
    (a,) int8 ``Why``. binding_row: (a,) int32, the row of the queue or user whose
    maximum binds, or -1. order: (a,) int32, asks as they were served. entity:
    (a,) int32 and share: (e, r) float64, what each row of the share tree may hold.
    promised: where queues backfill.
    """

    free: np.ndarray
    left: np.ndarray
    why: np.ndarray
    binding_row: np.ndarray
    order: np.ndarray
    entity: np.ndarray
    share: np.ndarray
    promised: PromisedStarts | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions of one round, and what it left behind."""

    place: Place = field(default_factory=_empty)
    refused: Refusal | None = None
    preempt: Preempt = field(default_factory=Preempt)
    reserve: Reserve = field(default_factory=Reserve)
    outcome: RoundOutcome | None = None
