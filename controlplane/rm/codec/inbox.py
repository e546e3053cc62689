"""Statuses of many nodes, read in one pass; whatever is malformed is counted and left out."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from controlplane.rm.codec.records import REPORT, STATUS
from controlplane.rm.columns import summed
from wire import status
from wire.states import ContainerReason, ContainerState

_TAKEN = ("seq", "epoch", "generation", "policy_version", "health", "disk_free_mib", "cpu_milli", "memory_mib",
          "entries")  # fmt: skip
ENTRIES = _TAKEN.index("entries")

_STATES = np.zeros(256, np.bool_)
_STATES[[int(s) for s in ContainerState if s != ContainerState.LOST]] = True
_LAST_REASON = int(max(ContainerReason))
_CRC_AT = 44
_NO_CRC = b"\0\0\0\0"


@dataclass(frozen=True, slots=True)
class Inbox:
    """Accepted statuses of this pass.

    at: (k,) int64 node positions. heads: (k, 9) int64 of seq, epoch,
    generation, policy_version, health, disk_free_mib, cpu_milli, memory_mib,
    entries. owner: (e,) int64 position of each entry's node. entries: (e,) ``REPORT``.
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
    sizes = np.array([-1 if p is None else len(p) for p in payloads], np.int64)
    there = np.flatnonzero(sizes >= 0)
    fits = there[_sized(sizes[there])]
    bodies = [p for p in (payloads[i] for i in fits.tolist()) if p is not None]
    heads = np.frombuffer(b"".join([p[: STATUS.itemsize] for p in bodies]), STATUS)
    ids, at = np.array(node_ids, np.int64)[fits], np.array(positions, np.int64)[fits]
    known = known_seq[at]
    read = np.flatnonzero(_sound(heads, ids, sizes[fits]))
    read = read[_intact([bodies[i] for i in read.tolist()], heads["crc"][read])]
    counts = heads["entries"][read].astype(np.int64)
    entries = np.frombuffer(b"".join([bodies[i][STATUS.itemsize :] for i in read.tolist()]), REPORT)
    sane = _sane(entries, counts)
    # The last status is met again at every sweep; a node never counts backwards: somebody has put an old one back.
    rejected = len(there) - int((sane & (heads["seq"][read] >= known[read])).sum())
    new = sane & (heads["seq"][read] > known[read])
    if not new.all():
        entries = entries.take(np.flatnonzero(np.repeat(new, counts)))
    taken = heads.take(read[new])
    table = np.array([taken[name] for name in _TAKEN], np.int64).T
    return Inbox(at[read[new]], table, np.repeat(at[read[new]], counts[new]), entries, rejected)


def _sized(sizes: np.ndarray) -> np.ndarray:
    """Which lengths a status may have."""
    found: np.ndarray = (sizes >= STATUS.itemsize) & (sizes <= status.MAX_BYTES) & (sizes % status.RECORD_BYTES == 0)
    return found


def _sound(heads: np.ndarray, node_ids: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Which headers speak of their node and fit their length."""
    found: np.ndarray = (heads["magic"] == status.MAGIC) & (heads["version"] == status.VERSION)
    found &= (heads["node"] == node_ids) & (heads["seq"] < 1 << 63)
    found &= heads["entries"].astype(np.int64) * status.RECORD_BYTES + STATUS.itemsize == sizes
    return found


def _intact(payloads: list[bytes], crcs: np.ndarray) -> np.ndarray:
    """Which checksums are that of their bytes with the checksum itself left blank: (k,) bool."""
    crc32 = zlib.crc32
    sums = [crc32(p[_CRC_AT + 4 :], crc32(p[:_CRC_AT] + _NO_CRC)) for p in payloads]
    found: np.ndarray = np.array(sums, np.uint32) == crcs
    return found


def _sane(entries: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which statuses say only what can be."""
    wrong = ~(_STATES[entries["state"]] & (entries["id"] > 0) & (entries["reason"] <= _LAST_REASON))
    total = summed(wrong)
    ends = np.cumsum(counts)
    found: np.ndarray = total[ends] == total[ends - counts]
    return found
