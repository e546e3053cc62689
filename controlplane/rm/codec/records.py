"""The records of ``wire`` as NumPy sees them: many are read or built in one pass. ``wire`` itself has no NumPy."""

import numpy as np

from wire import desired, status
from wire.resources import DIVISIBLE

STATUS = np.dtype(
    {
        "names": ["magic", "version", "node", "seq", "epoch", "generation", "policy_version", "health", "entries",
                  "disk_free_mib", "cpu_milli", "memory_mib", "crc"],
        "formats": ["S2", "<u2", "<u4", "<u8", "<u4", "<u4", "<u4", "<u2", "<u2", "<u4", "<u4", "<u4", "<u4"],
        "offsets": [0, 2, 4, 8, 16, 20, 24, 28, 30, 32, 36, 40, 44],
        "itemsize": 64,
    }
)  # fmt: skip
REPORT = np.dtype(
    [
        ("id", "<i8"), ("state", "u1"), ("spare", "u1"), ("reason", "<u2"), ("exit_code", "<i4"), ("ran_ms", "<u4"),
        ("memory_mib", "<u4"), ("cpu_ms", "<u4"), ("spare2", "<u4"),
    ]
)  # fmt: skip
DOCUMENT = np.dtype(
    [
        ("magic", "S2"), ("version", "<u2"), ("writer", "S8"), ("sub_cluster", "<u4"), ("node", "<u4"),
        ("epoch", "<u4"), ("generation", "<u4"), ("policy_version", "<u4"), ("key_id", "<u4"), ("entries", "<u4"),
        ("leases", "<u4"),
    ]
)  # fmt: skip
WANTED = np.dtype([("id", "<i8"), ("want", "u1")])
_LEASE = [
    ("container", "<i8"), ("node", "<u4"), ("job", "<i8"), ("group", "<u2"), ("attempt", "<u2"), ("task", "<u4"),
    ("epoch", "<u4"), ("expires_at", "<i8"), *((axis, "<u4") for axis in DIVISIBLE), ("gpus", "<i8"),
    ("tenant", "<u4"), ("timeout_s", "<u4"), ("key_id", "<u4"), ("template", "V32"),
]  # fmt: skip
LEASE = np.dtype(_LEASE)
SIGNED_LEASE = np.dtype([*_LEASE, ("mac", f"V{desired.MAC_BYTES}")])

assert STATUS.itemsize == status.HEADER.size
assert REPORT.itemsize == status.RECORD_BYTES
assert DOCUMENT.itemsize == desired.HEADER.size
assert WANTED.itemsize == desired.ENTRY.size
assert LEASE.itemsize == desired.LEASE.size
assert SIGNED_LEASE.itemsize == desired.LEASE_BYTES
