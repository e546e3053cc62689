"""The few jobs or queues that most of a guard's number comes from: read once it is broken, and bounded as it is."""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from controlplane.statestore import loads
from wire.ids import container_id
from wire.resources import AXES
from wire.states import TERMINAL, ContainerState

from .lately import ENDED_MAX, JOBS_MAX

MOST = 3

_SINCE = "statement_timestamp() - make_interval(secs => %(window_s)s)"
_FAILING = f"""
SELECT j.id, j.name, j.queue, e.failed, e.ended FROM (
       SELECT c.job_id, count(*) FILTER (WHERE c.state = %(failed)s) AS failed, count(*) AS ended
         FROM unnest(%(low)s::bigint[], %(high)s::bigint[]) AS s(low, high) CROSS JOIN LATERAL (
              SELECT job_id, state, finished_at FROM statestore_container_history
               WHERE id BETWEEN s.low AND s.high AND finished_at > {_SINCE} - interval '1 day'
               ORDER BY id DESC LIMIT %(most)s) c
        WHERE c.finished_at > {_SINCE} GROUP BY 1) e
  JOIN statestore_job j ON j.id = e.job_id
 WHERE e.failed > 0 ORDER BY e.failed DESC, j.id LIMIT %(shown)s
"""
_WAITING = f"""
SELECT id, name, queue, waited_s FROM (
       (SELECT j.id, j.name, j.queue,
               extract(epoch FROM coalesce(j.started_at, statement_timestamp()) - j.submitted_at)::float8 AS waited_s
          FROM statestore_job j
         WHERE j.home_id = ANY(%(subs)s) AND j.state < {TERMINAL} AND j.submitted_at > {_SINCE} LIMIT %(most)s)
        UNION ALL
       (SELECT j.id, j.name, j.queue, extract(epoch FROM j.started_at - j.submitted_at)::float8 FROM (
               SELECT id, name, queue, home_id, submitted_at, started_at FROM statestore_job
                WHERE finished_at > {_SINCE} ORDER BY finished_at DESC LIMIT %(most)s) j
         WHERE j.home_id = ANY(%(subs)s) AND j.submitted_at > {_SINCE} AND j.started_at IS NOT NULL)) found
 ORDER BY waited_s DESC, id LIMIT %(shown)s
"""


class Failing(NamedTuple):
    """A job, and of its containers that ended in the window those that failed."""

    job: int
    name: str
    queue: str
    failed: int
    ended: int


class Waiting(NamedTuple):
    """A job that came in the window, and the seconds that it waited or waits."""

    job: int
    name: str
    queue: str
    waited_s: float


class Wanting(NamedTuple):
    """A queue, and what its live asks want beyond what it uses, along the axis of resources."""

    queue: str
    amounts: tuple[int, ...]


def failing(sub_clusters: Collection[int], window_s: float) -> list[Failing]:
    """The jobs with the most failed containers among those that ended last, the worst first."""
    low = [container_id(i, 0, 0) for i in sub_clusters]
    high = [container_id(i + 1, 0, 0) - 1 for i in sub_clusters]
    values = {"low": low, "high": high, "most": ENDED_MAX, "failed": int(ContainerState.FAILED), "window_s": window_s}
    return [Failing(*row) for row in _read(_FAILING, values)]


def waiting(sub_clusters: Collection[int], window_s: float) -> list[Waiting]:
    """The jobs that waited longest, of those whose home is one of these."""
    values = {"subs": list(sub_clusters), "most": JOBS_MAX, "window_s": window_s}
    return [Waiting(*row) for row in _read(_WAITING, values)]


def wanting(sub_clusters: Collection[int]) -> list[Wanting]:
    """The queues that lack most by what leaders said last, measured by the resource of which they lack the most."""
    connection.ensure_connection()
    found: dict[str, np.ndarray] = {}
    for load in loads.read(connection.connection):
        for part in load.queues.values() if load.sub_cluster in sub_clusters and load.counts else ():
            for path, pending in zip(part.paths, part.pending, strict=True):
                found[path] = found.get(path, np.zeros(len(AXES), np.int64)) + pending
    everyones = np.maximum(sum(found.values(), np.zeros(len(AXES), np.int64)), 1)
    worst = sorted((path for path in found if found[path].any()), key=lambda p: (-(found[p] / everyones).max(), p))
    return [Wanting(path, tuple(found[path].tolist())) for path in worst[:MOST]]


def _read(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values | {"shown": MOST})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
