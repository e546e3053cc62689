"""History over time, in at most so many points. At most nine queries, and one for each node, whatever the range."""

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection

from controlplane import clock
from controlplane.statestore.series import nodes
from controlplane.statestore.series.columns import CLUSTER, NODE, QUEUE, SAMPLED_BY, SAMPLES
from controlplane.statestore.series.levels import Level, levels, window
from controlplane.statestore.series.metrics import Kind, Metric
from controlplane.statestore.series.sketch import Sketch, quantile

Json = dict[str, Any]

_SCOPES = "SELECT name, id FROM statestore_seriesscope WHERE name = ANY(%s)"
_RANGE = """
  FROM statestore_series{more} WHERE step = %(step)s AND scope_id = ANY(%(scopes)s) AND at >= %(start)s AND at < %(end)s
"""
_BIN = "date_bin(make_interval(secs => %(bucket)s), at, timestamptz 'epoch')"
_SKETCHES = f"""
SELECT scope_id, {_BIN}, e >> 32, sum(e & 4294967295)::bigint {_RANGE.format(more=", unnest(latency) AS e")}
 GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of an answer: n buckets of ``bucket_s`` from ``start`` on, read from windows of ``level``."""

    level: Level
    bucket_s: int
    start: dt.datetime
    n: int

    @property
    def at(self) -> list[dt.datetime]:
        return [self.start + dt.timedelta(seconds=i * self.bucket_s) for i in range(self.n)]


@dataclass(slots=True)
class _Bucket:
    """sums: by column. left_out: the most queues that any of its windows has no row of."""

    sums: dict[str, int] = field(default_factory=dict)
    left_out: int = 0


Found = dict[tuple[str, dt.datetime], _Bucket]
Sketches = dict[tuple[str, dt.datetime], Sketch]


class Owed(NamedTuple):
    """What a queue is guaranteed since the policy in force is that."""

    since: dt.datetime
    amount: float


AllOwed = Mapping[tuple[str, str], Owed]  # by queue's scope and column


def grid(start: dt.datetime, end: dt.datetime, points: int, now: dt.datetime, coarser: int = 0) -> Grid:
    """The coarsest windows that are fine enough for the points, or the finest that are still kept."""
    wanted_s = (end - start).total_seconds() / points
    kept = [level for level in levels() if start >= now - level.kept] or [levels()[-1]]
    fitting = [level for level in kept if level.step_s <= wanted_s]
    level = fitting[-1] if fitting else kept[0]
    for other in levels():
        if coarser and other.step_s > level.step_s:
            level, coarser = other, coarser - 1
    bucket_s = level.step_s * max(1, math.ceil(wanted_s / level.step_s))
    first = window(start, bucket_s)
    return Grid(level, bucket_s, first, max(1, math.ceil((end - first).total_seconds() / bucket_s)))


def read(
    scopes: Sequence[str], metrics: Sequence[Metric], start: dt.datetime, end: dt.datetime, points: int, owed: AllOwed
) -> Json:
    """Each metric of each scope that has it, null where nothing is known.

    What a queue was guaranteed is kept of windows in which it had something; of others, since the policy in force is
    that, it is ``owed``.
    """
    now = clock.now()
    finer = None
    for coarser in range(len(levels())):
        g = grid(start, end, points, now, coarser)
        if g == finer:
            break
        found, sketches = _read(g, scopes, metrics)
        finer = g
        if not _left_out(scopes, found):
            break
    single = {s: nodes.read(int(s.removeprefix(NODE)), g.start, g.bucket_s, g.n) for s in scopes if s.startswith(NODE)}
    series = [
        {
            "scope": scope,
            "metric": m.name,
            "unit": m.unit,
            "values": single[scope][m.column]
            if scope in single
            else _values(g, scope, m, found, sketches, now, owed.get((scope, m.column))),
        }
        for scope in scopes
        for m in metrics
        if m.of(scope)
    ]
    return {"step_s": g.bucket_s, "at": [int(at.timestamp()) for at in g.at], "series": series}


def known(scopes: Sequence[str]) -> set[str]:
    """Of these, those that have had a row."""
    with connection.cursor() as cursor:
        cursor.execute(_SCOPES, [list(scopes)])
        return {name for name, _ in cursor.fetchall()}


def _read(g: Grid, scopes: Sequence[str], metrics: Sequence[Metric]) -> tuple[Found, Sketches]:
    """No window is read that says nothing of what is asked: a long range has very many, each on a page of its own."""
    columns = sorted({m.column for m in metrics if m.kind is not Kind.QUANTILE})
    summed = [*scopes, CLUSTER] if columns or any(scope.startswith(QUEUE) for scope in scopes) else []
    sketched = [scope for scope in scopes if any(m.kind is Kind.QUANTILE and m.of(scope) for m in metrics)]
    values: Json = {"step": g.level.step_s, "bucket": g.bucket_s, "start": g.start}
    values["end"] = g.start + dt.timedelta(seconds=g.n * g.bucket_s)
    found: Found = {}
    sketches: Sketches = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_SCOPES, [[*scopes, CLUSTER]])
        numbers: dict[str, int] = dict(cursor.fetchall())
        names = {number: name for name, number in numbers.items()}
        if summed:
            cursor.execute(_sums(columns), values | {"scopes": _known(numbers, summed)})
            for number, at, left_out, *sums in cursor.fetchall():
                found[names[number], at] = _Bucket(dict(zip((*SAMPLES, *columns), sums, strict=True)), left_out)
        if sketched:
            cursor.execute(_SKETCHES, values | {"scopes": _known(numbers, sketched)})
            for number, at, bin_, n in cursor.fetchall():
                sketches[names[number], at][bin_] = n
    return found, sketches


def _sums(columns: Sequence[str]) -> str:
    sums = ", ".join(f"sum({c})::bigint" for c in (*SAMPLES, *columns))
    return f"SELECT scope_id, {_BIN}, max(left_out), {sums} {_RANGE.format(more='')} GROUP BY 1, 2"


def _known(numbers: dict[str, int], scopes: Sequence[str]) -> list[int]:
    return [numbers[scope] for scope in scopes if scope in numbers]


def _left_out(scopes: Sequence[str], found: Found) -> bool:
    """Whether some queue has no row in a window that has not all queues."""
    queues = [scope for scope in scopes if scope.startswith(QUEUE)]
    return any(
        bucket.left_out and any((queue, at) not in found for queue in queues)
        for (scope, at), bucket in found.items()
        if scope == CLUSTER
    )


def _values(
    g: Grid, scope: str, metric: Metric, found: Found, sketches: Sketches, now: dt.datetime, owed: Owed | None
) -> list[float | None]:
    values: list[float | None] = []
    for at in g.at:
        if metric.kind is Kind.QUANTILE:
            values.append(_rounded(quantile(sketches.get((scope, at), {}), metric.q)))
            continue
        own, whole = found.get((scope, at)), found.get((CLUSTER, at))
        if metric.idle and scope.startswith(QUEUE) and whole is not None and not whole.left_out:
            # Every queue with anything in it has a row: one without has nothing, and idle moments count as well.
            own = _Bucket((own.sums if own else {}) | {name: whole.sums[name] for name in SAMPLES})
        value = _value(g, at, metric, own, now)
        if value is None and owed and at >= owed.since and whole is not None and whole.sums["n_load"]:
            value = owed.amount
        values.append(_rounded(value))
    return values


def _value(g: Grid, at: dt.datetime, metric: Metric, bucket: _Bucket | None, now: dt.datetime) -> float | None:
    if bucket is None:
        return None
    total = bucket.sums.get(metric.column, 0)
    if metric.kind is Kind.MEAN:
        samples = bucket.sums.get(SAMPLED_BY[metric.column], 0)
        return total / samples * metric.factor if samples else None
    if metric.kind is Kind.COUNT:
        return float(total)
    passed_s = min(float(g.bucket_s), max(1.0, (now - at).total_seconds()))
    return total / passed_s


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
