"""Rows as Postgres's binary COPY format, built by NumPy in one pass per column.

Every column is fixed-width and not null, so a block of rows is one array:
per row a field count, then for each field its length and big-endian bytes.
"""

import struct
from collections.abc import Mapping

import numpy as np
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = b"PGCOPY\n\xff\r\n\0" + b"\0" * 8
_TRAILER = b"\xff\xff"
_UNIX_TO_PG_US = 946_684_800_000_000  # Postgres counts from 2000-01-01
_UNIX_TO_PG_DAYS = 10_957
_INT8, _INT8_ARRAY = 20, 1016  # object ids of Postgres's types
_ARRAY_HEADER = struct.Struct(">iiIii")  # dimensions, whether there are nulls, type, length, first index
_ELEMENT = np.dtype([("length", ">i4"), ("value", ">i8")])


class Ids(Dumper):
    """An array of integers as a ``bigint[]`` parameter."""

    oid = _INT8_ARRAY
    format = Format.BINARY

    def dump(self, obj: np.ndarray) -> bytes:
        packed = np.empty(len(obj), _ELEMENT)
        packed["length"], packed["value"] = 8, obj
        return _ARRAY_HEADER.pack(1, 0, _INT8, len(obj), 1) + packed.tobytes()


def rows(table: np.ndarray) -> bytes:
    """COPY data of a structured array of integers, columns in field order.

    A field whose name ends in ``_us`` is a timestamp (Unix microseconds), one
    that ends in ``_on`` a date (days since 1970).
    """
    names = table.dtype.names
    assert names is not None
    packed = np.zeros(len(table), _layout(names, {n: table.dtype[n].itemsize for n in names}))
    packed["fields"] = len(names)
    for name in names:
        packed[f"{name}.length"] = table.dtype[name].itemsize
        packed[name] = _shifted(name, table[name])
    return _HEADER + packed.tobytes() + _TRAILER


def _shifted(name: str, values: np.ndarray) -> np.ndarray:
    if name.endswith("_us"):
        return values - _UNIX_TO_PG_US
    return values - _UNIX_TO_PG_DAYS if name.endswith("_on") else values


def _layout(names: tuple[str, ...], sizes: Mapping[str, int]) -> np.dtype:
    fields = [("fields", ">i2")]
    for name in names:
        fields += [(f"{name}.length", ">i4"), (name, f">i{sizes[name]}")]
    return np.dtype(fields)
