"""A node's status: fixed 32-byte records that one pass can decode.

The header takes two records, each container one. Numbers are little-endian.
A status is complete: it lists every live container and every ended one that
the RM has not acknowledged (an acknowledged one is omitted from the desired
document). ``seq`` rises with each status a node ever sends; ``epoch`` and
``generation`` name the desired document it has obeyed.
"""

import struct
import zlib
from dataclasses import dataclass, field

VERSION = 1
MAGIC = b"HS"
HEADER = struct.Struct("<2sHIQIIIHHIIII16x")  # 64 bytes, crc last of the numbers
ENTRY = struct.Struct("<qBBHiIIII")  # 32 bytes
RECORD_BYTES = 32
MAX_ENTRIES = 4096
# From so many containers on, a node does not say at once that one has started: with its next status, at the latest
# at its next heartbeat. Ends, and all else that somebody waits for, it says at once.
PATIENT_ENTRIES = 16
MAX_BYTES = HEADER.size + MAX_ENTRIES * RECORD_BYTES
assert HEADER.size == 2 * RECORD_BYTES
assert ENTRY.size == RECORD_BYTES


class StatusError(ValueError):
    """The bytes are not a status this version reads; nothing of it may be used."""


@dataclass(frozen=True, slots=True)
class ContainerReport:
    """One container as its node sees it.

    ``ran_ms``: time since the process started (until its end once ended).
    ``memory_mib``: last sample while it runs, the peak once ended.
    ``cpu_ms``: processor time used so far.
    """

    container_id: int
    state: int  # wire.states.ContainerState
    reason: int = 0  # wire.states.ContainerReason
    exit_code: int = 0
    ran_ms: int = 0
    memory_mib: int = 0
    cpu_ms: int = 0


@dataclass(frozen=True, slots=True)
class NodeStatus:
    node_id: int
    seq: int
    epoch: int = 0
    generation: int = 0
    policy_version: int = 0
    health: int = 0  # wire.states.NodeHealth
    disk_free_mib: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0
    containers: list[ContainerReport] = field(default_factory=list)


def _u32(value: int) -> int:
    return max(0, min(int(value), 0xFFFFFFFF))


def encode(s: NodeStatus) -> bytes:
    """Bytes of a status. Measures are clamped to their fields; more than ``MAX_ENTRIES`` raises."""
    if len(s.containers) > MAX_ENTRIES:
        raise StatusError(f"{len(s.containers)} containers in one status, at most {MAX_ENTRIES}")
    body = b"".join(
        ENTRY.pack(
            c.container_id, c.state, 0, c.reason, c.exit_code, _u32(c.ran_ms), _u32(c.memory_mib), _u32(c.cpu_ms), 0
        )
        for c in s.containers
    )

    def head(crc: int) -> bytes:
        return HEADER.pack(
            MAGIC,
            VERSION,
            s.node_id,
            s.seq,
            s.epoch,
            s.generation,
            s.policy_version,
            s.health,
            len(s.containers),
            _u32(s.disk_free_mib),
            _u32(s.cpu_milli),
            _u32(s.memory_mib),
            crc,
        )

    return head(zlib.crc32(body, zlib.crc32(head(0)))) + body


def epoch_told(node_id: int, head: bytes) -> int:
    """The epoch that this node says it obeys, by its status' first ``HEADER.size`` bytes; 0 when they are none."""
    if len(head) < HEADER.size:
        return 0
    magic, version, node, _, epoch, *_ = HEADER.unpack_from(head)
    return int(epoch) if (magic, version, node) == (MAGIC, VERSION, node_id) else 0


def decode(data: bytes) -> NodeStatus:
    """Inverse of ``encode``; raises ``StatusError`` on anything malformed."""
    if not HEADER.size <= len(data) <= MAX_BYTES or len(data) % RECORD_BYTES:
        raise StatusError(f"a status of {len(data)} bytes")
    magic, version, node, seq, epoch, gen, policy, health, n, disk, cpu, mem, crc = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise StatusError(f"unknown status version {version}")
    if n * RECORD_BYTES + HEADER.size != len(data):
        raise StatusError(f"{n} entries in {len(data)} bytes")
    blank = data[:44] + b"\0\0\0\0" + data[48:]
    if zlib.crc32(blank) != crc:
        raise StatusError("checksum does not match")
    entries = [
        ContainerReport(cid, state, reason, code, ran, rss, used)
        for cid, state, _, reason, code, ran, rss, used, _ in ENTRY.iter_unpack(data[HEADER.size :])
    ]
    return NodeStatus(node, seq, epoch, gen, policy, health, disk, cpu, mem, entries)
