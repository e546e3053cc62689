"""What a leader last said of each of its nodes, for screens: columns of numbers, in Redis under ``keys.nodes``.

Tens of thousands of nodes are shown every second, so neither the leader that
writes them nor the process that reads them looks at a node by itself.
"""

import struct
from dataclasses import dataclass

import numpy as np

from wire.resources import AXES

_MAGIC = b"HNL1"
_HEAD = struct.Struct("<4sdII")  # magic, at, epoch, nodes
_COLUMNS = (
    ("id", "<i8"),
    ("state", "i1"),
    ("health", "<i2"),
    *((axis, "<i2" if axis == "gpus" else "<i4") for axis in AXES),
    ("used_memory_mib", "<i4"),
    ("used_cpu_milli", "<i4"),
    ("containers", "<i4"),
    ("age_ms", "<i4"),
    ("held", "i1"),
)


@dataclass(frozen=True, slots=True)
class NodeLoads:
    """Parallel arrays over a sub-cluster's nodes, (n,) each, ascending by ``id``.

    at: Unix seconds at which the leader looked. state, health: ``NodeState``,
    ``NodeHealth``. allocated: of each resource; used_*: as the node last
    reported. age_ms: of its last report then. held: a reservation
    keeps what is free there for one ask (0 or 1).
    """

    at: float
    epoch: int
    id: np.ndarray
    state: np.ndarray
    health: np.ndarray
    allocated: dict[str, np.ndarray]
    used_memory_mib: np.ndarray
    used_cpu_milli: np.ndarray
    containers: np.ndarray
    age_ms: np.ndarray
    held: np.ndarray

    def position(self, node_id: int) -> int | None:
        """Where the node is in the arrays."""
        at = int(np.searchsorted(self.id, node_id))
        return at if at < len(self.id) and self.id[at] == node_id else None


def encode(at: float, epoch: int, columns: dict[str, np.ndarray]) -> bytes:
    """The columns of ``NodeLoads`` as bytes, those of ``allocated`` among the others, in order of ``id``.

    Numbers too large for theirs become the largest.
    """
    order = np.argsort(columns["id"], kind="stable")
    parts = [_HEAD.pack(_MAGIC, at, epoch, len(order))]
    for name, kind in _COLUMNS:
        limits = np.iinfo(kind)
        parts.append(np.clip(columns[name][order], limits.min, limits.max).astype(kind).tobytes())
    return b"".join(parts)


def decode(data: bytes) -> NodeLoads | None:
    """What was encoded; ``None`` when it is something else."""
    if len(data) < _HEAD.size:
        return None
    magic, at, epoch, count = _HEAD.unpack_from(data)
    width = sum(np.dtype(kind).itemsize for _, kind in _COLUMNS)
    if magic != _MAGIC or len(data) != _HEAD.size + count * width:
        return None
    found, start = {}, _HEAD.size
    for name, kind in _COLUMNS:
        found[name] = np.frombuffer(data, kind, count, start)
        start += count * np.dtype(kind).itemsize
    allocated = {axis: found.pop(axis) for axis in AXES}
    return NodeLoads(at, epoch, allocated=allocated, **found)
