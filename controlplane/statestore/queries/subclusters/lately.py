"""What sub-clusters did lately, for the guards of rollouts: bounded reads, whatever there is of history.

Rounds and ended containers are read from the newest on, at most so many a
sub-cluster, and only then cut to the window; so a busy sub-cluster is judged
by its last minutes and an old history costs nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection

from wire.ids import container_id
from wire.states import TERMINAL, ContainerState

ROUNDS_MAX = 3000  # a sub-cluster; at ten a second five minutes
ENDED_MAX = 3000
JOBS_MAX = 3000

_SINCE = "statement_timestamp() - make_interval(secs => %(window_s)s)"
_ROUNDS = f"""
SELECT r.sub_cluster_id, sum(r.placed)::bigint, sum(r.ended)::bigint,
       extract(epoch FROM statement_timestamp()
                          - CASE WHEN count(*) >= %(most)s THEN min(r.at) ELSE {_SINCE} END)::float8
  FROM unnest(%(subs)s::smallint[]) AS s(id) CROSS JOIN LATERAL (
       SELECT sub_cluster_id, placed, ended, at FROM statestore_round
        WHERE sub_cluster_id = s.id AND at > {_SINCE} - interval '1 day' ORDER BY first_seq DESC LIMIT %(most)s) r
 WHERE r.at > {_SINCE} GROUP BY 1
"""
# Ids rise with the leader's epoch and within it, so the highest are the latest.
_ENDED = f"""
SELECT s.id, count(*), count(*) FILTER (WHERE e.state = %(failed)s)
  FROM unnest(%(subs)s::smallint[], %(low)s::bigint[], %(high)s::bigint[]) AS s(id, low, high) CROSS JOIN LATERAL (
       SELECT state, finished_at FROM statestore_container_history
        WHERE id BETWEEN s.low AND s.high AND finished_at > {_SINCE} - interval '1 day'
        ORDER BY id DESC LIMIT %(most)s) e
 WHERE e.finished_at > {_SINCE} GROUP BY 1
"""
_JOBS = f"""
SELECT j.home_id, extract(epoch FROM coalesce(j.started_at, statement_timestamp()) - j.submitted_at)::float8
  FROM unnest(%(subs)s::smallint[]) AS s(id) CROSS JOIN LATERAL (
       SELECT id, home_id, submitted_at, started_at FROM statestore_job
        WHERE home_id = s.id AND state < {TERMINAL} AND submitted_at > {_SINCE} LIMIT %(most)s) j
 UNION ALL
SELECT j.home_id, extract(epoch FROM j.started_at - j.submitted_at)::float8 FROM (
       SELECT home_id, submitted_at, started_at FROM statestore_job
        WHERE finished_at > {_SINCE} ORDER BY finished_at DESC LIMIT %(most)s) j
 WHERE j.home_id = ANY(%(subs)s) AND j.submitted_at > {_SINCE} AND j.started_at IS NOT NULL
"""
_LOADS = """
SELECT sub_cluster_id, capacity, free, pending FROM statestore_load
 WHERE sub_cluster_id = ANY(%(subs)s) AND at > statement_timestamp() - interval '15 s'
"""


@dataclass(slots=True)
class Lately:
    """What one sub-cluster did in the window. waits: seconds each of its new jobs waited. capacity, free: units."""

    placed: int = 0
    ended_in_rounds: int = 0
    rounds_s: float = 0.0
    ended: int = 0
    failed: int = 0
    waits: tuple[float, ...] = ()
    capacity: tuple[int, ...] = ()
    free: tuple[int, ...] = ()
    pending: tuple[int, ...] = ()


def lately(sub_clusters: Collection[int], window_s: float) -> dict[int, Lately]:
    """By sub-cluster, for the last ``window_s``. Four queries."""
    ids = sorted(sub_clusters)
    found = {i: Lately(rounds_s=window_s) for i in ids}
    low, high = [container_id(i, 0, 0) for i in ids], [container_id(i + 1, 0, 0) - 1 for i in ids]
    values = {"subs": ids, "window_s": window_s, "low": low, "high": high}
    for sub, placed, ended, seconds in _read(_ROUNDS, values | {"most": ROUNDS_MAX}):
        found[sub].placed, found[sub].ended_in_rounds, found[sub].rounds_s = placed, ended, seconds
    for sub, ended, failed in _read(_ENDED, values | {"most": ENDED_MAX, "failed": int(ContainerState.FAILED)}):
        found[sub].ended, found[sub].failed = ended, failed
    for sub, waited in _read(_JOBS, values | {"most": JOBS_MAX}):
        found[sub].waits += (waited,)
    for sub, *amounts in _read(_LOADS, values):
        found[sub].capacity, found[sub].free, found[sub].pending = (tuple(a) for a in amounts)
    return found


def _read(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
