"""Whether rows are still the ones that were read: a short text that is another when one of them was written since.

Every write gives a row another ``xmin``, the transaction it is from. Looking at
those costs a tenth of reading the rows and making JSON of them. Transaction
numbers come around again after four thousand million: nothing rests on a stamp for long.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from django.db import connection

from controlplane.statestore.queries.looks import together

TASKS = 201  # a page of them, and whether there are more
_LISTED = """
SELECT md5(string_agg(r.stamp, ' ' ORDER BY r.stamp)) FROM (
    SELECT j.id || ':' || j.xmin::text FROM statestore_job j WHERE j.id = ANY(%(jobs)s)
     UNION ALL
    SELECT g.job_id || '.' || g.no || ':' || g.xmin::text FROM statestore_taskgroup g WHERE g.job_id = ANY(%(jobs)s)
) r(stamp)
"""
# Of tasks and containers those of the first tasks, by group and index; ``last``: the group of the last of these.
_JOBS = """
SELECT j.id, j.owner_id, j.queue, md5(concat_ws(' ', j.xmin::text,
    (SELECT string_agg(g.no || ':' || g.xmin::text, ' ' ORDER BY g.no) FROM statestore_taskgroup g
      WHERE g.job_id = j.id),
    (SELECT string_agg(t.group_no || '.' || t.index || ':' || t.xmin::text, ' ' ORDER BY t.group_no, t.index)
       FROM statestore_task t
      WHERE t.submitted_on = (j.submitted_at AT TIME ZONE 'UTC')::date AND t.job_id = j.id
        AND t.group_no <= f.last AND t.index < %(tasks)s),
    (SELECT string_agg(c.id || ':' || c.xmin::text, ' ' ORDER BY c.id) FROM statestore_container c
      WHERE c.job_id = j.id AND c.group_no <= f.last AND c.task_index < %(tasks)s),
    (SELECT m.xmin::text FROM statestore_master m WHERE m.job_id = j.id),
    (SELECT string_agg(e.id || ':' || e.xmin::text, ' ' ORDER BY e.id) FROM statestore_endpoint e
      WHERE e.job_id = j.id)))
  FROM statestore_job j
  CROSS JOIN LATERAL (
    SELECT coalesce(max(w.no), 0) AS last
      FROM (SELECT no, sum(count) OVER (ORDER BY no) - count AS before FROM statestore_taskgroup
             WHERE job_id = j.id) w
     WHERE w.before < %(tasks)s) f
 WHERE j.id = ANY(%(jobs)s)
"""


@dataclass(frozen=True, slots=True)
class Stamped:
    """A job's stamp, and what says who may see it."""

    owner_id: int
    queue: str
    stamp: str


def listed(jobs: Sequence[int]) -> str:
    """Of these jobs and their groups. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_LISTED, {"jobs": list(jobs)})
        return str(cursor.fetchone()[0])


@together("jobs")
def job(jobs: Set[int]) -> dict[int, Stamped]:
    """Of a job with its master, groups, first ``TASKS`` tasks with their containers, and endpoints. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_JOBS, {"jobs": list(jobs), "tasks": TASKS})
        return {number: Stamped(*row) for number, *row in cursor.fetchall()}
