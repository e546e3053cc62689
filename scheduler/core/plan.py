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
    NO_ROOM = 4


@dataclass(frozen=True, slots=True)
class Place:
    """One row per container. ask, node: (k,) int32 positions in the snapshot."""

    ask: np.ndarray
    node: np.ndarray


@dataclass(frozen=True, slots=True)
class Refusal:
    """Asks not placed in full.

    ask: (u,) int32. missing: (u,) int64 containers. why: (u,) int8 ``Why``.
    detail: (u,) int32, the queue whose maximum binds, or -1.
    """

    ask: np.ndarray
    missing: np.ndarray
    why: np.ndarray
    detail: np.ndarray


def _empty() -> Place:
    return Place(np.empty(0, np.int32), np.empty(0, np.int32))


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions of one round. Later stages add preempt, reserve, speculate, promote and resize."""

    place: Place = field(default_factory=_empty)
    refused: Refusal | None = None
    rejected: tuple[str, ...] = ()  # proposals that conflict with what was placed, with the reason
