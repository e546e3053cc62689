"""When what runs on nodes of a sub-cluster is expected to end, by what its jobs say."""

from typing import NamedTuple

import numpy as np
from django.db import connection

from controlplane.statestore.resourcecolumns import per_axis_held
from wire.resources import AXES

MOST = 20_000  # containers; of more it is not worked out
_ENDS = f"""
WITH held AS MATERIALIZED (
    SELECT node_id, job_id, group_no, extract(epoch FROM allocated_at)::float8 AS started,
           {per_axis_held("{1} AS {0}")}
      FROM statestore_container WHERE sub_cluster_id = %(sub)s LIMIT %(most)s + 1),
said AS (
    SELECT g.job_id, g.group_no, (j.spec -> 'groups' -> g.group_no ->> 'estimated_duration_s')::float8 AS seconds
      FROM (SELECT DISTINCT job_id, group_no FROM held) g JOIN statestore_job j ON j.id = g.job_id)
SELECT h.node_id, h.started, coalesce(said.seconds, 0), extract(epoch FROM clock_timestamp())::float8,
       {", ".join(f"h.{axis}" for axis in AXES)}
  FROM held h LEFT JOIN said USING (job_id, group_no)
"""


class RunningContainers(NamedTuple):
    """c containers. node: (c,) int64 numbers. started, duration: (c,) float64 s; a duration of 0: nobody said.

    shape: (c, R) int64. now: s, on the clock of ``started``.
    """

    node: np.ndarray
    started: np.ndarray
    duration: np.ndarray
    shape: np.ndarray
    now: float


def running(sub_cluster: int) -> RunningContainers | None:
    """All that runs there; None where that is more than ``MOST``, or nothing. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_ENDS, {"sub": sub_cluster, "most": MOST})
        rows = cursor.fetchall()
    if not 0 < len(rows) <= MOST:
        return None
    node, started, duration, now, *shape = zip(*rows, strict=True)
    return RunningContainers(
        np.array(node, np.int64), np.array(started, np.float64), np.array(duration, np.float64),
        np.array(shape, np.int64).T, float(now[0]),
    )  # fmt: skip
