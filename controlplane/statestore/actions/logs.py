"""Log pieces that nodes send. A piece is named by container, stream and offset, so repeating one changes nothing."""

import base64
import binascii
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from contract.problems import FieldError
from controlplane.statestore.errors import Invalid
from controlplane.statestore.models import LogChunk
from wire.ids import parse_container

STREAMS = {"stdout": LogChunk.Stream.STDOUT, "stderr": LogChunk.Stream.STDERR}
MAX_CHUNKS = 1000
MAX_CHUNK_BYTES = 1 << 20
FIELDS = {"container", "stream", "offset", "data", "skipped"}


# Day and moment are the database's, as is that of a container's allocation, from which on readers look.
_STORE = """INSERT INTO statestore_log_chunk (container_id, stream, "offset", day, at, data, skipped)
    SELECT container, stream, begin, (statement_timestamp() AT TIME ZONE 'UTC')::date, statement_timestamp(),
           data, skipped
      FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[], %s::bytea[], %s::bigint[])
           AS piece (container, stream, begin, data, skipped)
    ON CONFLICT DO NOTHING"""
_BEYOND = """DELETE FROM statestore_log_chunk
    WHERE container_id = %s AND stream = %s AND day >= %s AND "offset" + length(data) <= %s"""


@dataclass(frozen=True, slots=True)
class Piece:
    container_id: int
    stream: int
    offset: int
    data: bytes
    skipped: int


def parse(chunks: Any) -> list[Piece]:
    """The pieces of a request body; ``Invalid`` names the first one that is wrong."""
    if not isinstance(chunks, list) or len(chunks) > MAX_CHUNKS:
        wrong = FieldError("chunks", f"is not a list of at most {MAX_CHUNKS} pieces", "send fewer at once")
        raise Invalid("the log pieces cannot be read", [wrong])
    pieces = []
    for i, raw in enumerate(chunks):
        try:
            pieces.append(_piece(raw))
        except (ValueError, TypeError, KeyError, binascii.Error) as error:
            wrong = FieldError(
                f"chunks.{i}", str(error)[:200] or "is malformed", "send it as wire.nodeapi.LogChunk says"
            )
            raise Invalid("the log pieces cannot be read", [wrong]) from None
    return pieces


def _piece(raw: Any) -> Piece:
    if not isinstance(raw, dict) or not raw.keys() <= FIELDS:
        raise ValueError("is not a log piece")
    offset, skipped = raw["offset"], raw.get("skipped", 0)
    if type(offset) is not int or type(skipped) is not int or not (0 <= offset < 2**62 and 0 <= skipped <= offset):
        raise ValueError("offset or skipped is out of range")
    if not isinstance(raw["container"], str):
        raise ValueError("container is not a container id")
    if raw["stream"] not in STREAMS:
        raise ValueError("stream is neither stdout nor stderr")
    data = base64.b64decode(raw["data"], validate=True)
    if len(data) > MAX_CHUNK_BYTES:
        raise ValueError(f"holds more than {MAX_CHUNK_BYTES} bytes")
    return Piece(parse_container(raw["container"]), STREAMS[raw["stream"]], offset, data, skipped)


def store(pieces: Sequence[Piece], days: Mapping[int, dt.date]) -> None:
    """Keep the pieces, and of each stream the newest ``log_max_mib``. ``days``: container -> day of its allocation.

    A piece lies in the partition of the day it came, so that of what runs for weeks the newest days are kept.
    """
    columns = [
        [p.container_id for p in pieces],
        [p.stream for p in pieces],
        [p.offset for p in pieces],
        [p.data for p in pieces],
        [p.skipped for p in pieces],
    ]
    ends: dict[tuple[int, int], int] = {}
    for p in pieces:
        ends[p.container_id, p.stream] = max(ends.get((p.container_id, p.stream), 0), p.offset + len(p.data))
    most = int(settings.HYDRA["log_max_mib"] * (1 << 20))
    with connection.cursor() as cursor:
        cursor.execute(_STORE, columns)
        for (container, stream), end in ends.items():
            if end > most:
                cursor.execute(_BEYOND, [container, stream, days[container], end - most])


def containers(pieces: Iterable[Piece]) -> set[int]:
    return {p.container_id for p in pieces}
