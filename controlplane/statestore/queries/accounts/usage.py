"""What an account used, hour by hour: the ledger's rows, summed as a chart or an accountant wants them.

A container counts in the hour in which it ended, for all the time it was held.
"""

import datetime as dt
from typing import Any

from django.db import connection

from contract.problems import FieldError
from controlplane.statestore.errors import Invalid
from controlplane.statestore.queries.sql import beginning, rows_as_dicts
from controlplane.statestore.resourcecolumns import SECONDS, USED_SUMS

Json = dict[str, Any]
DAYS_MAX = 400
ACCOUNTS_DAYS_MAX = 31  # of the hours of all accounts, each of which is read
ROWS_MAX = 10_000
EXPORT_MAX = 100_000
# Files of hours have had the first of these columns for longest, and what reads them may go by their places.
COLUMNS = ("containers", *SECONDS, *(name for name in USED_SUMS if name not in ("containers", *SECONDS)))
HEAD = ("hour", "sub_cluster", "queue", *COLUMNS)

# A queue and those below it. What begins so is found by an index in which others stand beside it.
_IN = "(%(queue)s = '' OR (u.queue LIKE %(begins)s AND (u.queue = %(queue)s OR u.queue LIKE %(below)s)))"

# Hours as they are come in the index's order, so that no more are read than are answered with.
_AT = {"hour": "u.hour", "day": "date_trunc('day', u.hour AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"}
_SUMS = f"""
SELECT {{at}} AS at, u.queue, {", ".join(f"sum(u.{column})::bigint AS {column}" for column in COLUMNS)}
  FROM statestore_usagehour u
 WHERE u.owner_id = %(owner)s AND u.hour >= %(begin)s AND u.hour < %(end)s AND {_IN}
 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %(most)s
"""
_ACCOUNT_SUMS = f"""
SELECT COALESCE(a.username, '') AS owner, used.* FROM (
  SELECT u.owner_id, {", ".join(f"sum(u.{column})::bigint AS {column}" for column in COLUMNS)}
    FROM statestore_usagehour u
   WHERE u.hour >= %(begin)s AND u.hour < %(end)s AND {_IN}
   GROUP BY 1 ORDER BY vcores_milli_s DESC, 1 LIMIT %(most)s
) used LEFT JOIN accounts_user a ON a.id = used.owner_id ORDER BY vcores_milli_s DESC, owner_id
"""
_ROWS = f"""
SELECT u.hour, {{owner}}s.name, u.queue, {", ".join(f"u.{column}" for column in COLUMNS)}
  FROM statestore_usagehour u LEFT JOIN statestore_subcluster s ON s.id = u.sub_cluster_id {{accounts}}
 WHERE {{whose}}u.hour >= %(begin)s AND u.hour < %(end)s AND {_IN}
 ORDER BY u.hour, u.sub_cluster_id, u.queue, u.owner_id LIMIT %(most)s
"""


TAG_HEAD = ("day", "sub_cluster", "queue", "tag", *USED_SUMS)
_TAG_SUMS = f"""
SELECT u.tag, u.queue, {", ".join(f"sum(u.{column})::bigint AS {column}" for column in USED_SUMS)}
  FROM statestore_usagetag u
 WHERE u.owner_id = %(owner)s AND u.day >= %(begin)s AND u.day <= %(end)s AND {_IN}
 GROUP BY 1, 2 ORDER BY vcores_milli_s DESC, 1, 2 LIMIT %(most)s
"""
_TAG_DAYS = f"""
SELECT u.day::timestamp AT TIME ZONE 'UTC' AS at, u.queue,
       {", ".join(f"sum(u.{column})::bigint AS {column}" for column in USED_SUMS)}
  FROM statestore_usagetag u
 WHERE u.owner_id = %(owner)s AND u.day >= %(begin)s AND u.day <= %(end)s AND u.tag = %(tag)s
   AND {_IN}
 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %(most)s
"""
_TAG_ROWS = f"""
SELECT u.day, {{owner}}s.name, u.queue, u.tag, {", ".join(f"u.{column}" for column in USED_SUMS)}
  FROM statestore_usagetag u LEFT JOIN statestore_subcluster s ON s.id = u.sub_cluster_id {{accounts}}
 WHERE {{whose}}u.day >= %(begin)s AND u.day <= %(end)s AND {_IN}
 ORDER BY u.day, u.owner_id, u.tag, u.queue, u.sub_cluster_id LIMIT %(most)s
"""
# Of one account, or of all with their names: rows come in the order of an index either way.
_OF_ONE = {"owner": "", "accounts": "", "whose": "u.owner_id = %(owner)s AND "}
_OF_ALL = {
    "owner": "a.username, ",
    "accounts": "LEFT JOIN accounts_user a ON a.id = u.owner_id",
    "whose": "",
}


def tags(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "") -> Json:
    """Sums per tag and queue of the days (UTC) from that of ``begin`` to the last before ``end``, what used most first.

    ``complete``: false where there are more than ``ROWS_MAX``.
    """
    rows = rows_as_dicts(_TAG_SUMS, _days(owner_id, begin, end, queue, ROWS_MAX + 1))
    return {"begin": begin, "end": end, "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def tag_lines(owner_id: int | None, begin: dt.datetime, end: dt.datetime, queue: str = "") -> list[tuple[Any, ...]]:
    """The same ledger's rows as they are, oldest first, as ``lines`` has them; the head is ``head(TAG_HEAD, ...)``."""
    return _exported(_TAG_ROWS, _days(owner_id, begin, end, queue, EXPORT_MAX + 1))


def _days(owner_id: int | None, begin: dt.datetime, end: dt.datetime, queue: str, most: int) -> dict[str, Any]:
    first, last = (at.astimezone(dt.UTC).date() for at in (begin, end - dt.timedelta(microseconds=1)))
    return {"owner": owner_id, "begin": first, "end": last, "most": most, **_in(queue)}


def _in(queue: str) -> dict[str, str]:
    return {"queue": queue, "begins": beginning(queue), "below": beginning(f"{queue}.")}


def hours(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str = "", step: str = "hour") -> Json:
    """Sums per hour or day, and queue. ``complete``: false where there are more than ``ROWS_MAX``."""
    values = {"owner": owner_id, "begin": begin, "end": end, "most": ROWS_MAX + 1, **_in(queue)}
    rows = rows_as_dicts(_SUMS.format(at=_AT[step]), values)
    return {"begin": begin, "end": end, "step": step, "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def tag_days(owner_id: int, begin: dt.datetime, end: dt.datetime, queue: str, tag: str) -> Json:
    """The same of jobs of one tag, by the days (UTC) from that of ``begin`` to the last before ``end``."""
    rows = rows_as_dicts(_TAG_DAYS, _days(owner_id, begin, end, queue, ROWS_MAX + 1) | {"tag": tag})
    return {"begin": begin, "end": end, "step": "day", "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def accounts(begin: dt.datetime, end: dt.datetime, queue: str = "") -> Json:
    """Sums per account, what used most first. ``complete``: false where there are more than ``ROWS_MAX``."""
    rows = rows_as_dicts(_ACCOUNT_SUMS, {"begin": begin, "end": end, "most": ROWS_MAX + 1, **_in(queue)})
    for row in rows:
        del row["owner_id"]
    return {"begin": begin, "end": end, "results": rows[:ROWS_MAX], "complete": len(rows) <= ROWS_MAX}


def lines(owner_id: int | None, begin: dt.datetime, end: dt.datetime, queue: str = "") -> list[tuple[Any, ...]]:
    """The ledger's rows as they are, oldest first: of an account, or of all, each with its owner's name.

    ``Invalid`` for more than ``EXPORT_MAX``: an account would be short of what is left out.
    """
    values = {"owner": owner_id, "begin": begin, "end": end, "most": EXPORT_MAX + 1, **_in(queue)}
    rows = _exported(_ROWS, values)
    return [(hour.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), *rest) for hour, *rest in rows]


def head(columns: tuple[str, ...], owner_id: int | None) -> tuple[str, ...]:
    """``HEAD`` or ``TAG_HEAD``, with the owner where it is of all accounts."""
    when, *others = columns
    return columns if owner_id is not None else (when, "owner", *others)


def _exported(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    parts = _OF_ALL if values["owner"] is None else _OF_ONE
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**parts), values)
        rows = cursor.fetchall()
    if len(rows) > EXPORT_MAX:
        remedy = "ask for a shorter time, or for one queue, and put the files together"
        wrong = FieldError("begin", f"comes to more than {EXPORT_MAX:,} lines", remedy)
        raise Invalid("the ledger is too long for one file", [wrong])
    return list(rows)
