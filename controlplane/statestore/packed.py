"""Numbers per partition and queue as bytes: what thousands of queues have would be slow to read as JSON."""

import json
import zlib
from collections.abc import Mapping

import numpy as np

Table = tuple[list[str], np.ndarray]  # k queue paths, and (k, w) int64
_WORD = "<i8"


def pack(tables: Mapping[str, Table]) -> bytes:
    """Tables by the partition's name. A deflated line of JSON, then the numbers as little-endian 64-bit words."""
    head = [[name, paths, values.shape[1]] for name, (paths, values) in tables.items()]
    words = [np.ascontiguousarray(values, _WORD).tobytes() for _, values in tables.values()]
    return zlib.compress(b"".join((json.dumps(head, separators=(",", ":")).encode(), b"\n", *words)), 1)


def unpack(body: bytes) -> dict[str, Table]:
    """What was packed."""
    raw = zlib.decompress(body)
    end = raw.index(b"\n")
    tables: dict[str, Table] = {}
    at = end + 1
    for name, paths, width in json.loads(raw[:end]):
        size = len(paths) * width
        tables[name] = paths, np.frombuffer(raw, _WORD, size, at).reshape(len(paths), width).astype(np.int64)
        at += size * 8
    return tables
