"""What an account used, hour by hour: the ledger's rows, summed as a chart or an accountant wants them.

A container counts in the hour in which it ended, for all the time it was held.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db import connection

from controlplane.statestore.queries.sql import rows_as_dicts
from controlplane.statestore.resourcecolumns import SECONDS, TAG_SUMS, per_axis_second

Json = dict[str, Any]
DAYS_MAX = 400
ROWS_MAX = 10_000
EXPORT_MAX = 100_000
COLUMNS = ("containers", *SECONDS)
HEAD = ("hour", "sub_cluster", "queue", *COLUMNS)

# Hours as they are come in the index's order, so that no more are read than are answered with.
_AT = {"hour": "u.hour", "day": "date_trunc('day', u.hour AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"}
_SUMS = f"""
SELECT {{at}} AS at, u.queue,
       sum(u.containers)::bigint AS containers, {per_axis_second("sum(u.{0})::bigint AS {0}")}
  FROM statestore_usagehour u
 WHERE u.owner_id = %(owner)s AND u.hour >= %(begin)s AND u.hour < %(end)s AND (%(queue)s = '' OR u.queue = %(queue)s)
 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %(most)s
"""
_ROWS = f"""
SELECT u.hour, s.name, u.queue, u.containers, {per_axis_second("u.{0}")}
  FROM statestore_usagehour u LEFT JOIN statestore_subcluster s ON s.id = u.sub_cluster_id
 WHERE u.owner_id = %(owner)s AND u.hour >= %(begin)s AND u.hour < %(end)s AND (%(queue)s = '' OR u.queue = %(queue)s)
 ORDER BY u.hour, u.sub_cluster_id, u.queue LIMIT %(most)s
"""


TAG_HEAD = ("day", "sub_cluster", "queue", "tag", *TAG_SUMS)
_TAG_SUMS = f"""
SELECT u.tag, u.queue, {", ".join(f"sum(u.{column})::bigint AS {column}" for column in TAG_SUMS)}
  FROM statestore_usagetag u
 WHERE u.owner_id = %(owner)s AND u.day >= %(begin)s AND u.day <= %(end)s AND (%(queue)s = '' OR u.queue = %(queue)s)
 GROUP BY 1, 2 ORDER BY vcores_milli_s DESC, 1, 2 LIMIT %(most)s
"""
_TAG_ROWS = f"""
SELECT u.day, s.name, u.queue, u.tag, {", ".join(f"u.{column}" for column in TAG_SUMS)}
  FROM statestore_usagetag u LEFT JOIN statestore_subcluster s ON s.id = u.sub_cluster_id
 WHERE u.owner_id = %(owner)s AND u.day >= %(begin)s AND u.day <= %(end)s AND (%(queue)s = '' OR u.queue = %(queue)s)
 ORDER BY u.owner_id, u.day, u.tag, u.queue, u.sub_cluster_id LIMIT %(most)s
"""


def tags(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "") -> Json:
    """Sums per tag and queue of the days (UTC) from that of ``begin`` to that of ``end``, what used most first.

    ``complete``: false where there are more than ``ROWS_MAX``.
    """
    rows = rows_as_dicts(_TAG_SUMS, _days(owner_id, begin, end, queue, ROWS_MAX + 1))
    return {"begin": begin, "end": end, "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def tag_lines(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "") -> Iterator[tuple[Any, ...]]:
    """The same ledger's rows as they are, under ``TAG_HEAD``, oldest first; at most ``EXPORT_MAX``."""
    with connection.cursor() as cursor:
        cursor.execute(_TAG_ROWS, _days(owner_id, begin, end, queue, EXPORT_MAX))
        yield from cursor


def _days(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str, most: int) -> dict[str, Any]:
    first, last = (at.astimezone(dt.UTC).date() for at in (begin, end))
    return {"owner": owner_id, "begin": first, "end": last, "queue": queue, "most": most}


def hours(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "", step: str = "hour") -> Json:
    """Sums per hour or day, and queue. ``complete``: false where there are more than ``ROWS_MAX``."""
    values = {"owner": owner_id, "begin": begin, "end": end, "queue": queue, "most": ROWS_MAX + 1}
    rows = rows_as_dicts(_SUMS.format(at=_AT[step]), values)
    return {"begin": begin, "end": end, "step": step, "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def lines(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "") -> Iterator[tuple[Any, ...]]:
    """The ledger's rows as they are, under ``HEAD``, oldest first; at most ``EXPORT_MAX``."""
    values = {"owner": owner_id, "begin": begin, "end": end, "queue": queue, "most": EXPORT_MAX}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        for hour, *rest in cursor:
            yield (hour.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), *rest)
