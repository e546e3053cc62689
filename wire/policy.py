"""Which policy version a sub-cluster runs: one small value for all of its nodes.

A node does nothing by a policy version but say that it has heard of it; what
it does, a signed document tells it. So the value is not signed: nodes can read
it and nobody but the sub-cluster's RM can write it (``wire.keys.acl_rules``).
The epoch keeps a leader that was replaced from being heard after its successor.
"""

import struct

VERSION = 1
MAGIC = b"HP"
_FORM = struct.Struct("<2sHII")  # magic version epoch policy


class PolicyError(ValueError):
    """The bytes name no policy version."""


def encode(epoch: int, version: int) -> bytes:
    return _FORM.pack(MAGIC, VERSION, epoch, version)


def decode(data: bytes) -> tuple[int, int]:
    """(epoch of the leader that says so, policy version); the higher pair is the newer one."""
    if len(data) != _FORM.size:
        raise PolicyError(f"a policy version of {len(data)} bytes")
    magic, form, epoch, version = _FORM.unpack(data)
    if magic != MAGIC or form != VERSION:
        raise PolicyError(f"unknown form {form}")
    return epoch, version
