"""Log pieces that nodes send. Of each only what goes beyond what is kept is new, so repeating one changes nothing."""

import base64
import binascii
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import connection, transaction

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
_ENDS = """SELECT s.container, s.stream, newest."end"
      FROM unnest(%s::bigint[], %s::smallint[], %s::date[]) AS s (container, stream, day), LATERAL (
           SELECT "offset" + length(data) AS "end" FROM statestore_log_chunk
            WHERE container_id = s.container AND stream = s.stream AND day >= s.day
            ORDER BY "offset" DESC LIMIT 1) newest"""
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('logs'), hashint8(%s))"  # of a node
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


def store(node_id: int, pieces: Sequence[Piece], days: Mapping[int, dt.date]) -> None:
    """Keep the pieces of a node's containers, and of each stream the newest ``log_max_mib``.

    ``days``: container -> day of its allocation. A piece lies in the partition of the day it came, so that of what
    runs for weeks the newest days are kept.
    """
    streams = sorted({(p.container_id, p.stream) for p in pieces})
    most = int(settings.HYDRA["log_max_mib"] * (1 << 20))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME, [node_id])  # else what comes twice at once goes beyond the same end twice
        cursor.execute(_ENDS, [[c for c, _ in streams], [s for _, s in streams], [days[c] for c, _ in streams]])
        ends = {(container, stream): end for container, stream, end in cursor.fetchall()}
        new = _beyond(pieces, ends)
        columns = ("container_id", "stream", "offset", "data", "skipped")
        cursor.execute(_STORE, [[getattr(p, name) for p in new] for name in columns])
        for container, stream in dict.fromkeys((p.container_id, p.stream) for p in new):
            if (end := ends[container, stream]) > most:
                cursor.execute(_BEYOND, [container, stream, days[container], end - most])


def _beyond(pieces: Iterable[Piece], ends: dict[tuple[int, int], int]) -> list[Piece]:
    """What goes beyond these ends of streams, which are moved on, and the empty pieces there: they say that nothing
    follows. A node may cut what it sends again elsewhere; pieces that overlap would be more than a stream may have."""
    new = []
    for p in sorted(pieces, key=lambda piece: (piece.offset, -len(piece.data))):
        known = max(0, ends.get((p.container_id, p.stream), 0) - p.offset)
        if known < len(p.data) or not (p.data or known):
            ends[p.container_id, p.stream] = p.offset + len(p.data)
            new.append(replace(p, offset=p.offset + known, data=p.data[known:], skipped=0 if known else p.skipped))
    return new


def containers(pieces: Iterable[Piece]) -> set[int]:
    return {p.container_id for p in pieces}
