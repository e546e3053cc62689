"""The desired document: what one writer wants on one node, complete and signed.

``header | entries (id, want) | leases | mac``. Entries list every container of
this writer; one that is omitted is to be stopped and forgotten. Leases are for
containers the node has not reported yet, each signed for itself, so that an
agent can check offline that it may start exactly this: container, node,
resources, tenant, epoch, expiry. Keys belong to one node and rotate by id.
"""

import hashlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from wire.resources import DIVISIBLE

VERSION = 1
MAGIC = b"HD"
MAC_BYTES = 16
HEADER = struct.Struct("<2sH8sIIIIIIII")  # magic version writer sub node epoch generation policy key n_entries n_leases
ENTRY = struct.Struct("<qB")
LEASE = struct.Struct(f"<qIqHHIIQ{len(DIVISIBLE) * 'I'}QIII32s")  # the fields of ``Lease``
LEASE_BYTES = LEASE.size + MAC_BYTES
_LEASE_START = struct.Struct("<qI")  # container node
_LEASE_KEY, _LEASE_KEY_AT = struct.Struct("<I"), LEASE.size - 36
WRITER_RM = b"rm"
_HASH_BLOCK = 64  # bytes SHA-256 takes at a time


class DesiredError(ValueError):
    """The document or a lease in it may not be obeyed; the text says why."""


class WrongKey(DesiredError):
    """It is signed with a key that is not the one known by its number: a forgery, or the keys have changed."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Leave to start one container on one node.

    ``gpus``: bit mask of device ids. ``tenant``: number of the owning account,
    which the node maps to an operating-system user. ``expires_at``: Unix
    seconds; a start after it is refused. ``timeout_s``: 0 means none.
    """

    container_id: int
    node_id: int
    job_id: int
    group_no: int
    attempt: int
    task_index: int
    epoch: int
    expires_at: int
    memory_mib: int
    vcores_milli: int
    gpus: int
    tenant: int
    timeout_s: int
    key_id: int
    template: bytes  # SHA-256 of the template


@dataclass(frozen=True, slots=True)
class Desired:
    writer: bytes
    sub_cluster: int
    node_id: int
    epoch: int
    generation: int
    policy_version: int
    entries: dict[int, int]  # container id -> wire.states.Want
    leases: dict[int, Lease]


def node_key(master: bytes, key_id: int, node_id: int) -> bytes:
    """A node's signing key; known to the RM (from ``master``) and to that node only."""
    return hmac.digest(master, b"node:%d:%d" % (key_id, node_id), "sha256")


class Key:
    """A node's signing key, made ready: the hashes of its two paddings are taken once, which halves a signature."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes):
        padded = key.ljust(_HASH_BLOCK, b"\0")
        if len(padded) != _HASH_BLOCK:
            raise ValueError(f"a key of {len(key)} bytes, at most {_HASH_BLOCK}")
        self._inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded))
        self._outer = hashlib.sha256(bytes(b ^ 0x5C for b in padded))

    def mac(self, data: bytes) -> bytes:
        """The same as ``mac`` with these bytes as key: HMAC (RFC 2104)."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(data)
        outer.update(inner.digest())
        return outer.digest()[:MAC_BYTES]


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")[:MAC_BYTES]


def sign_leases(leases: bytes, key: Key) -> bytes:
    """Leases end to end (``LEASE``), each followed by its own signature."""
    parts = list[bytes]()
    for at in range(0, len(leases), LEASE.size):
        body = leases[at : at + LEASE.size]
        parts += (body, key.mac(body))
    return b"".join(parts)


def encode_lease(lease: Lease, key: bytes) -> bytes:
    body = LEASE.pack(*[getattr(lease, each.name) for each in fields(Lease)])
    return body + mac(key, body)


def encode_signed(
    sub_cluster: int,
    node_id: int,
    epoch: int,
    generation: int,
    policy_version: int,
    key_id: int,
    key: Key,
    entries: bytes,
    leases: bytes,
    writer: bytes = WRITER_RM,
) -> bytes:
    """A document from entries and leases already packed (``ENTRY``, ``sign_leases``)."""
    head = HEADER.pack(
        MAGIC,
        VERSION,
        writer,
        sub_cluster,
        node_id,
        epoch,
        generation,
        policy_version,
        key_id,
        len(entries) // ENTRY.size,
        len(leases) // LEASE_BYTES,
    )
    body = head + entries + leases
    return body + key.mac(body)


def encode(doc: Desired, key_id: int, key: bytes) -> bytes:
    """Bytes of a document whose leases are signed with the same key."""
    entries = b"".join(ENTRY.pack(cid, want) for cid, want in doc.entries.items())
    leases = b"".join(encode_lease(lease, key) for lease in doc.leases.values())
    return encode_signed(
        doc.sub_cluster,
        doc.node_id,
        doc.epoch,
        doc.generation,
        doc.policy_version,
        key_id,
        Key(key),
        entries,
        leases,
        doc.writer,
    )


class Verified(NamedTuple):
    """What a signed document says of itself, and its packed ``ENTRY`` and signed ``LEASE`` records."""

    writer: bytes
    sub_cluster: int
    node_id: int
    epoch: int
    generation: int
    policy_version: int
    entries: bytes
    leases: bytes


def verify(data: bytes, node_id: int, keys: Mapping[int, Key]) -> Verified:
    """A document meant for ``node_id`` whose signature, and each of its leases', is right.

    ``keys``: key id -> this node's key; current and previous. Raises
    ``DesiredError``; a caller obeys nothing of a document that raises. Whether
    a lease has expired is the caller's to judge, when it starts something.
    """
    if len(data) < HEADER.size + MAC_BYTES:
        raise DesiredError(f"a document of {len(data)} bytes")
    magic, version, writer, sub, node, epoch, gen, policy, key_id, n, m = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise DesiredError(f"unknown document version {version}")
    if len(data) != HEADER.size + n * ENTRY.size + m * LEASE_BYTES + MAC_BYTES:
        raise DesiredError("the length does not match the counts")
    if node != node_id:
        raise DesiredError(f"meant for node {node}, this is node {node_id}")
    key = keys.get(key_id)
    if key is None:
        raise WrongKey(f"signed with the unknown key {key_id}")
    if not hmac.compare_digest(key.mac(data[:-MAC_BYTES]), data[-MAC_BYTES:]):
        raise WrongKey("the signature does not match")
    split = HEADER.size + n * ENTRY.size
    for at in range(split, len(data) - MAC_BYTES, LEASE_BYTES):
        _verify_lease(data, at, node_id, keys)
    return Verified(
        writer.rstrip(b"\0"), sub, node, epoch, gen, policy, data[HEADER.size : split], data[split:-MAC_BYTES]
    )


def _verify_lease(data: bytes, at: int, node_id: int, keys: Mapping[int, Key]) -> None:
    end = at + LEASE.size
    (key_id,) = _LEASE_KEY.unpack_from(data, at + _LEASE_KEY_AT)
    key = keys.get(key_id)
    if key is None:
        raise WrongKey(f"a lease is signed with the unknown key {key_id}")
    container, node = _LEASE_START.unpack_from(data, at)
    if not hmac.compare_digest(key.mac(data[at:end]), data[end : end + MAC_BYTES]):
        raise WrongKey(f"the signature of the lease for container {container} does not match")
    if node != node_id:
        raise DesiredError(f"a lease is for node {node}, this is node {node_id}")


def decode(data: bytes, node_id: int, keys: Mapping[int, bytes]) -> Desired:
    """``verify``, and everything in it by container."""
    v = verify(data, node_id, {number: Key(key) for number, key in keys.items()})
    leases = [Lease(*LEASE.unpack_from(v.leases, at)) for at in range(0, len(v.leases), LEASE_BYTES)]
    entries = dict(ENTRY.iter_unpack(v.entries))
    return Desired(*v[:6], entries, {lease.container_id: lease for lease in leases})


def wanted(data: bytes) -> list[int]:
    """The containers a document lists, its signature unchecked: for showing, never for obeying."""
    if len(data) < HEADER.size:
        return []
    magic, version, *_, n, _ = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or len(data) < HEADER.size + n * ENTRY.size:
        return []
    return [container for container, _ in ENTRY.iter_unpack(data[HEADER.size : HEADER.size + n * ENTRY.size])]


def digest(data: bytes) -> bytes:
    """SHA-256, the address of templates and artifacts."""
    return hashlib.sha256(data).digest()
