"""Rows into every resolution at once, by adding: the coarser windows need no later pass that could be missed."""

import datetime as dt
from typing import Any

from django.db import connection

from .columns import CLUSTER, COUNTED, NUMBERS, QUEUE, Rows, WindowRow
from .levels import TOTAL, levels
from .sketch import packed

_SCOPES = "SELECT name, id FROM statestore_seriesscope WHERE name = ANY(%s)"
_NEW_SCOPES = """
INSERT INTO statestore_seriesscope (name) SELECT * FROM unnest(%s::text[]) ON CONFLICT DO NOTHING RETURNING name, id
"""
_ALWAYS = -1  # the rank of what is no queue


def _add(columns: tuple[str, ...], step: str, at: str, keep: str, left_out: str) -> str:
    names = ", ".join(columns)
    sums = ", ".join(f"sum({c})" for c in columns)
    adds = ", ".join(f"{c} = s.{c} + EXCLUDED.{c}" for c in columns)
    return f"""
INSERT INTO statestore_series AS s (step, scope_id, at, left_out, latency, {names})
SELECT {step}, scope, {at}, {left_out}, statestore_sketch_sum(latency), {sums} FROM v WHERE {keep} GROUP BY 2, 3
    ON CONFLICT (step, scope_id, at) DO UPDATE SET {adds}, left_out = greatest(s.left_out, EXCLUDED.left_out),
       latency = CASE WHEN EXCLUDED.latency IS NULL THEN s.latency
                      ELSE statestore_sketch_add(s.latency, EXCLUDED.latency) END
"""


def _statement(steps: int) -> str:
    numbers = ", ".join(NUMBERS)
    arrays = ", ".join(["%s::int[]", "%s::timestamptz[]", "%s::int[]", "%s::int[]", "%s::text[]"])
    arrays += ", %s::bigint[]" * len(NUMBERS)
    given = f"""
WITH v AS MATERIALIZED (
    SELECT scope, at, rank, queues, latency::bigint[] AS latency, {numbers}
      FROM unnest({arrays}) AS given(scope, at, rank, queues, latency, {numbers}))"""
    parts = [
        f"level{i} AS ("
        + _add(
            NUMBERS, "%s::smallint", "date_bin(make_interval(secs => %s), at, timestamptz 'epoch')", "rank < %s",
            "max(greatest(0, queues - %s))",
        ) + ")"
        for i in range(steps)
    ]  # fmt: skip
    happened = " OR ".join(f"{c} > 0" for c in COUNTED)
    total = _add(COUNTED, f"{TOTAL}::smallint", "timestamptz 'epoch'", happened, "0")
    return ",\n".join([given, *parts]) + total


def write(rows: Rows) -> int:
    """Add these rows to their windows, inside the caller's transaction; how many there were."""
    if not rows:
        return 0
    numbers = _numbers({scope for scope, _ in rows})
    kept = levels()
    columns = _columns(rows, numbers)
    bounds = [n for level in kept for n in (level.step_s, level.step_s, level.queues, level.queues)]
    with connection.cursor() as cursor:
        cursor.execute(_statement(len(kept)), [*columns, *bounds])
    return len(rows)


def _numbers(names: set[str]) -> dict[str, int]:
    """The scopes' numbers; new ones are made."""
    with connection.cursor() as cursor:
        cursor.execute(_SCOPES, [list(names)])
        known: dict[str, int] = dict(cursor.fetchall())
        if missing := sorted(names - set(known)):
            cursor.execute(_NEW_SCOPES, [missing])
            known |= dict(cursor.fetchall())
    return known


def _columns(rows: Rows, numbers: dict[str, int]) -> list[list[Any]]:
    """The rows as columns: scope, window, rank, queues, latency, then ``NUMBERS``."""
    ranked = _ranks(rows)
    scopes = [numbers[scope] for scope, _ in rows]
    windows = [at for _, at in rows]
    ranks = [ranked.get(scope, _ALWAYS) for scope, _ in rows]
    queues = [row.queues for row in rows.values()]
    latency = ["{" + ",".join(map(str, packed(row.latency))) + "}" if row.latency else None for row in rows.values()]
    values = [[row.numbers.get(column, 0) for row in rows.values()] for column in NUMBERS]
    return [scopes, windows, ranks, queues, latency, *values]


def _ranks(rows: Rows) -> dict[str, int]:
    """Every queue's rank: those of the newest sample, then the others."""
    found: dict[str, int] = {}
    others: dict[str, int] = {}
    for (scope, _), row in rows.items():
        if scope.startswith(QUEUE):
            if "n_load" in row.numbers:
                found[scope] = row.rank
            else:
                others[scope] = others.get(scope, 0) + row.numbers.get("decisions", 0)
    later = sorted((s for s in others if s not in found), key=lambda s: (-others[s], s))
    return found | {scope: len(found) + i for i, scope in enumerate(later)}


def mark_left_out(rows: Rows) -> None:
    """Every window's row of the whole says how many queues the window has."""
    counted: dict[dt.datetime, int] = {}
    for scope, at in rows:
        if scope.startswith(QUEUE):
            counted[at] = counted.get(at, 0) + 1
    for at, n in counted.items():
        rows.setdefault((CLUSTER, at), WindowRow()).queues = n
