"""Kept logs: bytes of one stream from an offset on."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs_q
from controlplane.statestore.models import Container, ContainerHistory, Job

LIMIT_BYTES = 256 * 1024
LIMIT_BYTES_MAX = 1 << 20
PIECES = 64  # read for one answer
LATE = dt.timedelta(seconds=3)  # how long after a container's end its last pieces may still arrive


@dataclass(frozen=True, slots=True)
class LogSource:
    """A container whose logs one may read."""

    container_id: int
    sub_cluster_id: int
    node_id: int
    day: dt.date  # of its allocation: no piece is from before
    live: bool  # when it was looked up


def source(user: User, container_id: int) -> LogSource | None:
    """The container if ``user`` may see its job; at most three queries."""
    fields = ("pk", "sub_cluster_id", "node_id", "allocated_at", "job_id")
    live = Container.objects.filter(pk=container_id).values(*fields).first()
    found: dict[str, Any] | None = live or ContainerHistory.objects.filter(pk=container_id).values(*fields).first()
    if found is None or not Job.objects.filter(visible_jobs_q(user), pk=found["job_id"]).exists():
        return None
    day = found["allocated_at"].date()
    return LogSource(container_id, found["sub_cluster_id"], found["node_id"], day, live is not None)


# Both moments are the database's: the clocks of web processes are compared with nothing.
_SETTLED = """SELECT CASE WHEN EXISTS (SELECT FROM statestore_container WHERE id = %(container)s) THEN false
    ELSE COALESCE((SELECT max(finished_at) < statement_timestamp() - %(late)s FROM statestore_container_history
                    WHERE id = %(container)s), true) END"""


def settled(container_id: int) -> bool:
    """Whether no further piece of a container is to be expected. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, {"container": container_id, "late": LATE})
        return bool(cursor.fetchone()[0])


_FROM = """SELECT "offset", data, skipped FROM statestore_log_chunk
    WHERE day >= %(day)s AND container_id = %(container)s AND stream = %(stream)s AND "offset" >= COALESCE((
        SELECT max("offset") FROM statestore_log_chunk
         WHERE day >= %(day)s AND container_id = %(container)s AND stream = %(stream)s AND "offset" <= %(offset)s), 0)
    ORDER BY "offset" LIMIT %(pieces)s"""


def read(src: LogSource, stream: int, offset: int, limit: int) -> dict[str, Any]:
    """Up to ``limit`` bytes from ``offset`` on, as the API shows them. At most two queries."""
    values = {"day": src.day, "container": src.container_id, "stream": stream, "offset": offset, "pieces": PIECES}
    with connection.cursor() as cursor:
        cursor.execute(_FROM, values)
        pieces = cursor.fetchall()
    data, at, skipped = _join(pieces, offset, limit)
    end = max((begin + len(piece) for begin, piece, _ in pieces), default=0)
    told = any(not piece and begin <= at for begin, piece, _ in pieces)  # the node said that nothing follows
    complete = len(pieces) < PIECES and at >= end and (told or (not src.live and settled(src.container_id)))
    if not complete:
        data, at = _whole_characters(data, at)
    return {
        "data": data.decode("utf-8", "replace"),
        "offset": offset,
        "next_offset": at,
        "skipped": skipped,
        "complete": complete,
    }


def _join(pieces: list[tuple[int, bytes, int]], offset: int, limit: int) -> tuple[bytes, int, int]:
    """(bytes, offset after them, bytes that were never kept). Overlapping pieces are shown once."""
    data, at, skipped = bytearray(), offset, 0
    for begin, piece, _ in pieces:
        end = begin + len(piece)
        if end <= at:
            continue
        if len(data) >= limit:
            break
        if begin > at:
            if data:
                break  # a gap is shown at the beginning of an answer, so that ``skipped`` has one meaning
            skipped, at = begin - at, begin
        part = bytes(piece)[at - begin :][: limit - len(data)]
        data += part
        at += len(part)
    return bytes(data), at, skipped


def _whole_characters(data: bytes, at: int) -> tuple[bytes, int]:
    """Leave a character that is cut at the end to the next answer."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # a continuation byte; its beginning is further left
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if length > back and back < len(data):
            return data[:-back], at - back
        break
    return data, at


def anything_after(src: LogSource, at: Mapping[int, int]) -> bool:
    """Whether a piece of one of the streams reaches beyond its offset, or none will ever. A query each, and one."""
    sql = """SELECT 1 FROM statestore_log_chunk WHERE day >= %s AND container_id = %s AND stream = %s
        AND ("offset" + length(data) > %s OR ("offset" = %s AND length(data) = 0)) AND "offset" >= %s - 1048576
        LIMIT 1"""
    with connection.cursor() as cursor:
        for stream, offset in at.items():
            cursor.execute(sql, [src.day, src.container_id, stream, offset, offset, offset])
            if cursor.fetchone():
                return True
    return settled(src.container_id)
