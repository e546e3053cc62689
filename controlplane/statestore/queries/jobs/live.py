"""What is live: what an account has of jobs that have not ended, and the files that such jobs name."""

import datetime as dt
from typing import NamedTuple

from django.db import connection

from wire.states import JobState

# What was asked of services and not carried out yet counts: of what was asked twice, the last.
_LIVE = f"""
WITH live AS (
    SELECT id, queue, task_count, spec_bytes FROM statestore_job
     WHERE owner_id = %s AND state < {int(JobState.SUCCEEDED)}
), asked AS (
    SELECT DISTINCT ON (i.job_id, i.kind, i.payload->'group')
           i.job_id, g.count AS had, (i.payload->>'count')::bigint AS tasks, (i.payload->>'size')::bigint AS size
      FROM statestore_intent i JOIN live ON live.id = i.job_id
      LEFT JOIN statestore_taskgroup g ON g.job_id = i.job_id AND g.no = (i.payload->>'group')::int
     WHERE i.kind IN ('scale', 'update')
     ORDER BY i.job_id, i.kind, i.payload->'group', i.id DESC
), more AS (
    SELECT job_id, sum(greatest(0, tasks - had)) AS tasks, max(size) AS size FROM asked GROUP BY job_id
)
SELECT queue, count(*), sum(task_count + coalesce(more.tasks, 0))::bigint, sum(greatest(spec_bytes, more.size))::bigint
  FROM live LEFT JOIN more ON more.job_id = live.id GROUP BY queue
"""
# In the database: of a service each of ten revisions says as much as a job may.
_FILES = f"""
SELECT DISTINCT file->>'digest' FROM statestore_job j, LATERAL (
         SELECT jsonb_path_query(j.spec, '$.files[*]')
    UNION ALL SELECT jsonb_path_query(j.spec, '$.groups[*].files[*]')
    UNION ALL SELECT jsonb_path_query(j.revisions, '$[*].spec.files[*]')
    UNION ALL SELECT jsonb_path_query(j.revisions, '$[*].spec.groups[*].files[*]')) named(file)
 WHERE j.state < {int(JobState.SUCCEEDED)} AND j.submitted_at < %s AND file->>'digest' IS NOT NULL
"""


class LiveRow(NamedTuple):
    """In one queue: jobs, their tasks, and bytes that they say."""

    queue: str
    jobs: int
    tasks: int
    size: int


def live(owner_id: int) -> list[LiveRow]:
    """By queue, with what was asked of services and their homes have not carried out yet. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_LIVE, [owner_id])
        return [LiveRow(*row) for row in cursor.fetchall()]


def named_files(before: dt.datetime) -> set[str]:
    """Digests of files that jobs from before then name that have not ended; of a service, in any of its revisions.

    One query.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FILES, [before])
        return {digest for (digest,) in cursor.fetchall()}
