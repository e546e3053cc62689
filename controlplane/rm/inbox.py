"""Statuses of many nodes, read in one pass; whatever is malformed is counted and left out."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wire import status
from wire.states import ContainerReason, ContainerState

ENTRY = np.dtype(
    [
        ("id", "<i8"), ("state", "u1"), ("spare", "u1"), ("reason", "<u2"), ("exit_code", "<i4"), ("ran_ms", "<u4"),
        ("memory_mib", "<u4"), ("cpu_ms", "<u4"), ("spare2", "<u4"),
    ]
)  # fmt: skip
assert ENTRY.itemsize == status.RECORD_BYTES

_STATES = np.zeros(256, np.bool_)
_STATES[[int(s) for s in ContainerState if s != ContainerState.LOST]] = True
_LAST_REASON = max(ContainerReason)
_CRC_AT = 44
_NO_CRC = b"\0\0\0\0"
_HEAD = struct.Struct("<2sHIQIIIHHIII")  # up to the checksum


@dataclass(frozen=True, slots=True)
class Inbox:
    """Accepted statuses of this pass.

    at: (k,) int64 node positions. heads: (k, 9) int64 of seq, epoch,
    generation, policy_version, health, disk_free_mib, cpu_milli, memory_mib,
    entries. owner: (e,) int64 position of each entry's node. entries: (e,) ``ENTRY``.
    rejected: how many statuses were malformed or older than what was known.
    """

    at: np.ndarray
    heads: np.ndarray
    owner: np.ndarray
    entries: np.ndarray
    rejected: int


def read(
    positions: Sequence[int], node_ids: Sequence[int], known_seq: np.ndarray, payloads: Sequence[bytes | None]
) -> Inbox:
    """Decode the statuses that are well formed and newer than ``known_seq`` (per position)."""
    at, heads, bodies, rejected = [], [], [], 0
    for position, node_id, payload in zip(positions, node_ids, payloads, strict=True):
        if payload is None:
            continue
        head = _head(payload, node_id)
        if head is None:
            rejected += 1
        elif head[0] < int(known_seq[position]):
            rejected += 1  # a node never counts backwards: somebody has put an old status back
        elif head[0] > int(known_seq[position]):
            at.append(position)
            heads.append(head)
            bodies.append(payload[status.HEADER.size :])
    positions_read = np.array(at, np.int64)
    table = np.array(heads, np.int64).reshape(-1, 9)
    entries = np.frombuffer(b"".join(bodies), ENTRY)
    return Inbox(positions_read, table, np.repeat(positions_read, table[:, 8]), entries, rejected)


def _head(payload: bytes, node_id: int) -> tuple[int, ...] | None:
    """The numbers of a well-formed status of ``node_id``, else None."""
    size = len(payload)
    if not status.HEADER.size <= size <= status.MAX_BYTES or size % status.RECORD_BYTES:
        return None
    magic, version, node, seq, epoch, gen, policy, health, n, disk, cpu, memory = _HEAD.unpack_from(payload)[:12]
    if magic != status.MAGIC or version != status.VERSION or node != node_id or seq >= 1 << 63:
        return None
    if n * status.RECORD_BYTES + status.HEADER.size != size:
        return None
    crc = zlib.crc32(payload[_CRC_AT + 4 :], zlib.crc32(_NO_CRC, zlib.crc32(payload[:_CRC_AT])))
    if crc != int.from_bytes(payload[_CRC_AT : _CRC_AT + 4], "little"):
        return None
    if n and not _entries_sane(payload):
        return None
    return seq, epoch, gen, policy, health, disk, cpu, memory, n


def _entries_sane(payload: bytes) -> bool:
    entries = np.frombuffer(payload, ENTRY, offset=status.HEADER.size)
    return bool(
        _STATES[entries["state"]].all() and (entries["id"] > 0).all() and (entries["reason"] <= _LAST_REASON).all()
    )
