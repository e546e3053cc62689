"""Day partitions: made a few days ahead, dropped as a whole when their time is over.

Idempotent, and safe when two do it at once: a transaction-level advisory lock
makes them take turns. A lock that cannot be had soon is left for the next run,
so that the RM's rounds never queue behind this.
"""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.utils import OperationalError

from controlplane import clock

AHEAD_DAYS = 3
LOCK_KEY = 0x48594452  # "HYDR", for pg_advisory_xact_lock
LOCK_TIMEOUT = "2s"


@dataclass(frozen=True)
class Partitioned:
    table: str
    column: str
    kept: str  # name of the retention setting, days


TASKS = "statestore_task"
TABLES = (
    Partitioned("statestore_container_history", "finished_at", "history_days"),
    Partitioned(TASKS, "submitted_on", "history_days"),
    Partitioned("statestore_round", "at", "history_days"),
    Partitioned("statestore_log_chunk", "day", "log_days"),
)
# A job's tasks lie in the partition of its submission day, so they stay for as long as any such job does.
_JOBS_OF_DAY = "SELECT EXISTS (SELECT 1 FROM statestore_job WHERE submitted_at >= %s AND submitted_at < %s)"


def ensure(today: dt.date | None = None) -> list[str]:
    """Make the partitions of today and the days ahead; returns the names of new ones."""
    today = today or clock.now().date()
    wanted = {(t, today + dt.timedelta(days=n)) for t in TABLES for n in range(AHEAD_DAYS + 1)}
    missing = sorted((p for p in wanted if name(*p) not in set(existing())), key=lambda p: name(*p))
    made = []
    for table, day in missing:
        with _turn() as cursor:
            if name(table, day) not in existing():
                _make(cursor, table, day)
                made.append(name(table, day))
    return made


def drop_old(today: dt.date | None = None) -> list[str]:
    """Drop partitions past their retention; returns their names. Rows that lie in none go as well."""
    today = today or clock.now().date()
    dropped = []
    for table in TABLES:
        oldest = today - dt.timedelta(days=settings.HYDRA[table.kept])
        for partition in existing():
            day = _day(table, partition)
            if day and day < oldest:
                try:
                    dropped += _drop(table, partition, day)
                except OperationalError:
                    continue  # somebody reads it; the next run drops it
        if table.table != TASKS:  # which stay for as long as their job
            _empty(table, oldest)
    return dropped


def name(table: Partitioned, day: dt.date) -> str:
    return f"{table.table}_{day:%Y%m%d}"


def existing() -> list[str]:
    """Names of all partitions of these tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "JOIN pg_class p ON p.oid = i.inhparent WHERE p.relname = ANY(%s)",
            [[t.table for t in TABLES]],
        )
        return [partition for (partition,) in cursor.fetchall()]


@contextmanager
def _turn() -> Iterator[CursorWrapper]:
    """A transaction in which nobody else makes or drops partitions."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        yield cursor


def _make(cursor: CursorWrapper, table: Partitioned, day: dt.date) -> None:
    """A table of its own, then attached: that locks the parent less than creating it in place.

    Rows of that day that fell into the default partition move along.
    """
    new, default, column = name(table, day), f"{table.table}_default", f'"{table.column}"'
    after = day + dt.timedelta(days=1)
    cursor.execute(f"CREATE TABLE {new} (LIKE {table.table} INCLUDING ALL)")
    cursor.execute(
        f"WITH moved AS (DELETE FROM {default} WHERE {column} >= %s AND {column} < %s RETURNING *) "
        f"INSERT INTO {new} SELECT * FROM moved",
        [_bound(day), _bound(after)],
    )
    cursor.execute(
        f"ALTER TABLE {table.table} ATTACH PARTITION {new} FOR VALUES FROM (%s) TO (%s)", [_bound(day), _bound(after)]
    )


def _drop(table: Partitioned, partition: str, day: dt.date) -> list[str]:
    with _turn() as cursor:
        if table.table == TASKS:
            cursor.execute(_JOBS_OF_DAY, [_bound(day), _bound(day + dt.timedelta(days=1))])
            (needed,) = cursor.fetchone()
            if needed:
                return []
        cursor.execute(f"DROP TABLE IF EXISTS {partition}")
    return [partition]


def _empty(table: Partitioned, oldest: dt.date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM {table.table}_default WHERE "{table.column}" < %s', [_bound(oldest)])


def _day(table: Partitioned, partition: str) -> dt.date | None:
    match = re.fullmatch(rf"{table.table}_(\d{{8}})", partition)
    return dt.datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=dt.UTC).date() if match else None


def _bound(day: dt.date) -> str:
    return f"{day.isoformat()} 00:00:00+00"
