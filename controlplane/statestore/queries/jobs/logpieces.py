"""The kept pieces of one stream, read forward or backward, never more bytes at once than somebody asked for."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from django.db import connection

from controlplane.statestore.queries.jobs.logsources import LogSource

PIECES = 64  # read at once
FEW = 8  # pieces of a stream that is read with others
BRIEF = 8 << 10  # bytes, likewise
BACK = 8  # times as many where lines are looked for


@dataclass(frozen=True, slots=True)
class Kept:
    """A piece as it is kept. ``came``: by the database's clock; of older ones only the day is known."""

    stream: int
    begin: int  # bytes of the stream before it
    data: bytes
    came: dt.datetime

    @property
    def end(self) -> int:
        """Bytes of the stream up to its end."""
        return self.begin + len(self.data)


_CAME = "COALESCE(at, day::timestamp AT TIME ZONE 'UTC')"
_OF = "day >= %(day)s AND container_id = %(container)s AND stream = %(stream)s"
# What is beyond the wanted bytes is not even fetched.
_BOUNDED = """SELECT "offset", CASE WHEN before < %(limit)s THEN data END, came FROM (
    SELECT "offset", data, {came} AS came,
           sum({wanted}) OVER (ORDER BY "offset" {way} ROWS UNBOUNDED PRECEDING) - {wanted} AS before
      FROM statestore_log_chunk WHERE {of} AND {where} ORDER BY "offset" {way} LIMIT %(pieces)s) piece
     ORDER BY "offset" {way}"""
_FORWARD = _BOUNDED.format(
    came=_CAME, of=_OF, way="ASC", wanted='("offset" + length(data) - GREATEST("offset", %(offset)s))',
    where=f"""\"offset" >= COALESCE((
        SELECT max("offset") FROM statestore_log_chunk WHERE {_OF} AND "offset" <= %(offset)s), 0)
        AND ("offset" + length(data) > %(offset)s OR length(data) = 0)""",
)  # fmt: skip
_BACKWARD = _BOUNDED.format(came=_CAME, of=_OF, way="DESC", wanted="length(data)", where='"offset" < %(offset)s')
_END = f'SELECT "offset" + length(data) FROM statestore_log_chunk WHERE {_OF} ORDER BY "offset" DESC LIMIT 1'
# Of each wanted stream whether its last piece reaches beyond an offset.
_WRITTEN = """SELECT w.no - 1
  FROM unnest(%s::date[], %s::bigint[], %s::smallint[], %s::bigint[])
       WITH ORDINALITY AS w(day, container, stream, "offset", no)
 WHERE (SELECT c."offset" + length(c.data) > w."offset"{or_ended}
          FROM statestore_log_chunk c
         WHERE c.day >= w.day AND c.container_id = w.container AND c.stream = w.stream
         ORDER BY c."offset" DESC LIMIT 1)"""
_NEWS = _WRITTEN.format(or_ended=' OR (length(c.data) = 0 AND c."offset" = w."offset")')
_BRIEF = f"""SELECT w.no - 1, w.stream, p."offset", p.data, p.came
  FROM unnest(%(days)s::date[], %(containers)s::bigint[], %(streams)s::smallint[])
       WITH ORDINALITY AS w(day, container, stream, no)
 CROSS JOIN LATERAL (
    SELECT few.*, count(*) OVER () AS pieces, sum(length(data)) OVER () AS bytes FROM (
        SELECT c."offset", c.data, {_CAME} AS came FROM statestore_log_chunk c
         WHERE c.day >= w.day AND c.container_id = w.container AND c.stream = w.stream
         ORDER BY c."offset" LIMIT %(few)s + 1) few) p
 WHERE p.pieces <= %(few)s AND p.bytes <= %(brief)s ORDER BY w.no, p."offset\""""
_MOMENT = "GREATEST(%(since)s::timestamptz, statement_timestamp() - make_interval(secs => %(last_s)s::int))"
_SINCE = f"""SELECT "offset" FROM statestore_log_chunk
    WHERE {_OF} AND day >= ({_MOMENT} AT TIME ZONE 'UTC')::date AND {_CAME} >= {_MOMENT}
    ORDER BY "offset" LIMIT 1"""


def forward(src: LogSource, stream: int, offset: int, limit: int) -> tuple[list[Kept], bool]:
    """Pieces that reach beyond ``offset`` or end the stream, some ``limit`` bytes, and whether there are more."""
    kept, more = _read(_FORWARD, src, stream, offset, limit, PIECES)
    return _in_order(kept), more


def brief(wanted: Sequence[tuple[LogSource, int]]) -> dict[int, list[Kept]]:
    """All pieces of those of these (source, stream) that have ``FEW`` of ``BRIEF`` bytes in all at most. One query."""
    values = {
        "days": [src.day for src, _ in wanted],
        "containers": [src.container_id for src, _ in wanted],
        "streams": [stream for _, stream in wanted],
        "few": FEW,
        "brief": BRIEF,
    }
    found: dict[int, list[Kept]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_BRIEF, values)
        for no, stream, begin, data, came in cursor.fetchall():
            found.setdefault(no, []).append(Kept(stream, begin, bytes(data), came))
    return {no: _in_order(pieces) for no, pieces in found.items()}


def _in_order(kept: list[Kept]) -> list[Kept]:
    """A node that has lost count sends some once more, cut elsewhere: what follows came no earlier than that."""
    return list(accumulate(kept, lambda before, piece: replace(piece, came=max(before.came, piece.came))))


def backward(src: LogSource, stream: int, before: int, limit: int) -> tuple[list[Kept], bool]:
    """Pieces that begin before an offset, the last first, some ``limit`` bytes of them, and whether there are more."""
    return _read(_BACKWARD, src, stream, before, limit, BACK * PIECES)


def end(src: LogSource, stream: int) -> int:
    """Bytes that the stream has had so far."""
    with connection.cursor() as cursor:
        cursor.execute(_END, _named(src, stream))
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def news(wanted: Sequence[tuple[LogSource, int, int]]) -> set[int]:
    """Which of these (source, stream, offset) have a last piece that reaches beyond the offset, or says that the stream
    has ended there. One query."""
    return _those(_NEWS, wanted)


def written(wanted: Sequence[tuple[LogSource, int, int]]) -> set[int]:
    """Which of these (source, stream, offset) have a last piece that reaches beyond the offset. One query."""
    return _those(_WRITTEN.format(or_ended=""), wanted)


def _those(sql: str, wanted: Sequence[tuple[LogSource, int, int]]) -> set[int]:
    columns = [[src.day for src, *_ in wanted], [src.container_id for src, *_ in wanted]]
    columns += [[stream for _, stream, _ in wanted], [offset for *_, offset in wanted]]
    with connection.cursor() as cursor:
        cursor.execute(sql, columns)
        return {no for (no,) in cursor.fetchall()}


def since(src: LogSource, stream: int, moment: dt.datetime | None, last_s: int | None) -> int:
    """Where the first piece begins that came at ``moment`` or later and in the last ``last_s`` seconds, whichever are
    given; the end when none has come since. All by the database's clock.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, _named(src, stream) | {"since": moment, "last_s": last_s})
        row = cursor.fetchone()
    return int(row[0]) if row else end(src, stream)


def _named(src: LogSource, stream: int) -> dict[str, object]:
    return {"day": src.day, "container": src.container_id, "stream": stream}


def _read(sql: str, src: LogSource, stream: int, offset: int, limit: int, most: int) -> tuple[list[Kept], bool]:
    with connection.cursor() as cursor:
        cursor.execute(sql, _named(src, stream) | {"offset": offset, "limit": limit, "pieces": most})
        rows = cursor.fetchall()
    kept = [Kept(stream, begin, bytes(data), came) for begin, data, came in rows if data is not None]
    return kept, len(kept) < len(rows) or len(rows) == most
