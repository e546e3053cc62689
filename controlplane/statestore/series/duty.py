"""The duty that writes history: harmless when doubled, late or lost.

All of a step is one transaction under the lock of one row, marks included. A
second one that comes meanwhile goes away; one that dies leaves nothing.
"""

import datetime as dt

import psycopg
from django.db import connection, transaction

from . import counters, gauges, nodes, writing
from .columns import Rows
from .levels import FINEST_S, levels, window

STEPS_MAX = 20  # of one run; the next run goes on
_HEAD = "INSERT INTO statestore_serieshead (id, sampled) VALUES (1, 'epoch') ON CONFLICT DO NOTHING"
_LOCK = f"""
SELECT sampled, date_bin('{FINEST_S} s', coalesce(%s, statement_timestamp()), timestamptz 'epoch')
  FROM statestore_serieshead WHERE id = 1 FOR UPDATE SKIP LOCKED
"""
_SAMPLED = "UPDATE statestore_serieshead SET sampled = %s WHERE id = 1"
_SUB_CLUSTERS = "SELECT id, name FROM statestore_subcluster WHERE state <> 'decommissioned' ORDER BY id"
_OLD = """
DELETE FROM statestore_series WHERE step = %s AND at < statement_timestamp() - %s
   AND scope_id = ANY(ARRAY(SELECT id FROM statestore_seriesscope WHERE id > %s ORDER BY id LIMIT %s))
"""
_LAST_SCOPE = "SELECT max(id) FROM (SELECT id FROM statestore_seriesscope WHERE id > %s ORDER BY id LIMIT %s) s"
_UNUSED = """
DELETE FROM statestore_seriesscope s
 WHERE NOT EXISTS (SELECT 1 FROM statestore_series r WHERE r.scope_id = s.id AND r.step <> 0 AND r.step = ANY(%s))
   AND (SELECT sampled FROM statestore_serieshead WHERE id = 1 FOR UPDATE SKIP LOCKED) IS NOT NULL
RETURNING id
"""
SCOPES_AT_ONCE = 200


def run(at: dt.datetime | None = None) -> int:
    """Sample the present window, unless that is done, and count what happened; how many rows were added to.

    at: the time to go by; the database's without it.
    """
    written = 0
    for _ in range(STEPS_MAX):
        found, more = step(at)
        written += found
        if not more:
            break
    return written


def step(at: dt.datetime | None = None) -> tuple[int, bool]:
    """(rows added to, whether there is more to count). One transaction."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")  # what is lost with the server is counted again
            cursor.execute(_HEAD)
            cursor.execute(_LOCK, [at])
            row = cursor.fetchone()
            if row is None:
                return 0, False
            sampled, now = row
            cursor.execute(_SUB_CLUSTERS)
            names: dict[int, str] = dict(cursor.fetchall())
        rows, more = counters.count(names)
        if now > sampled:
            _join(rows, gauges.sample(_session(), now, names))
            if (minute := window(now, nodes.STEP_S)) > sampled:
                nodes.sample(minute, names)
            with connection.cursor() as cursor:
                cursor.execute(_SAMPLED, [now])
        writing.mark_left_out(rows)
        return writing.write(rows), more


def _session() -> psycopg.Connection:
    connection.ensure_connection()
    session: psycopg.Connection = connection.connection
    return session


def _join(rows: Rows, sampled: Rows) -> None:
    """Gauges of a window beside what was counted in it."""
    for key, row in sampled.items():
        if key in rows:
            rows[key].numbers.update(row.numbers)
            rows[key].rank = row.rank
        else:
            rows[key] = row


def purge() -> int:
    """Drop windows past their time, some scopes at a time, and scopes of which nothing is left."""
    removed = nodes.purge()
    for level in levels():
        removed += _purge_level(level.step_s, level.kept)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_UNUSED, [[level.step_s for level in levels()]])
        gone = [scope for (scope,) in cursor.fetchall()]
        cursor.execute("DELETE FROM statestore_series WHERE step = 0 AND scope_id = ANY(%s)", [gone])
    return removed


def _purge_level(step_s: int, kept: dt.timedelta) -> int:
    removed: int = 0
    after = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_OLD, [step_s, kept, after, SCOPES_AT_ONCE])
            removed += cursor.rowcount
            cursor.execute(_LAST_SCOPE, [after, SCOPES_AT_ONCE])
            (last,) = cursor.fetchone()
        if last is None:
            return removed
        after = last
