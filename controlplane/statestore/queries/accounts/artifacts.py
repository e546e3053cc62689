"""What an account keeps of artifacts: how much, which, and what of its own still wants one of them."""

import json
from typing import Any, NamedTuple

from django.db import connection

from controlplane.statestore.queries.paging import Cursor, Page, page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.states import JobState

NAMED = 3  # of the jobs and schedules that want an artifact, so many are told
_KEPT = "SELECT count(*), coalesce(sum(size), 0)::bigint FROM statestore_artifactowner WHERE owner_id = %s"
# Of bytes that very many tasks have published, a few outputs are looked at for one of the account's own.
_LIST = """
WITH kept AS MATERIALIZED (
    SELECT id, owner_id, artifact_id AS digest, size FROM statestore_artifactowner
     WHERE owner_id = %(owner)s {beyond} ORDER BY size{down}, id{down} LIMIT %(limit)s)
SELECT kept.id, kept.digest, kept.size, a.created_at, a.last_used_at, made.*
  FROM kept JOIN statestore_artifact a ON a.digest = kept.digest
  LEFT JOIN LATERAL (
       SELECT o.job_id AS job, g.name AS "group", o.task_index AS index, o.name
         FROM (SELECT * FROM statestore_taskoutput WHERE digest = kept.digest LIMIT 100) o
         JOIN statestore_job j ON j.id = o.job_id AND j.owner_id = kept.owner_id
         JOIN statestore_taskgroup g ON g.job_id = o.job_id AND g.no = o.group_no
        ORDER BY o.id DESC LIMIT 1) made ON true
 ORDER BY kept.size{down}, kept.id{down}
"""
_FILES = "$.files[*].digest ? (@ == $digest)", "$.groups[*].files[*].digest ? (@ == $digest)"
_REVISIONS = tuple(f"$[*].spec{path[1:]}" for path in _FILES)


def _named(column: str, paths: tuple[str, ...]) -> str:
    """Whether this column names the digest at any of these paths."""
    return " OR ".join(f"jsonb_path_exists({column}, '{path}', %(found)s::jsonb)" for path in paths)


# What was asked of a service, and its home has not begun yet, counts.
_JOBS = f"""
SELECT j.id FROM statestore_job j
 WHERE j.owner_id = %(owner)s AND j.state < {JobState.SUCCEEDED:d} AND (
       {_named("j.spec", _FILES)} OR {_named("j.revisions", _REVISIONS)}
    OR EXISTS (SELECT 1 FROM statestore_taskoutput o WHERE o.job_id = j.id AND o.digest = %(digest)s)
    OR j.id IN (SELECT i.job_id FROM statestore_intent i
                 WHERE i.kind = 'update' AND ({_named("i.payload->'spec'", _FILES)}))
    OR EXISTS (SELECT 1 FROM statestore_masterask m WHERE m.job_id = j.id AND ({_named("m.spec", _FILES[:1])}))
    OR EXISTS (SELECT 1 FROM statestore_masterlaunch m WHERE m.job_id = j.id AND ({_named("m.spec", _FILES[:1])})))
 ORDER BY j.id LIMIT %(limit)s
"""
_SCHEDULES = """
SELECT name FROM statestore_schedule WHERE owner_id = %(owner)s AND digests ? %(digest)s ORDER BY id LIMIT %(limit)s
"""


class Kept(NamedTuple):
    """Distinct artifacts, and bytes."""

    files: int
    size: int


def kept(owner_id: int) -> Kept:
    """Of all that the account keeps. One query, over an index that has nothing of others."""
    with connection.cursor() as cursor:
        cursor.execute(_KEPT, [owner_id])
        return Kept(*cursor.fetchone())


def list_page(owner_id: int, at: Cursor, size: int) -> Page:
    """What the account keeps, the largest first. One query."""
    beyond = f"AND (size, id) {'>' if at.back else '<'} (%(size)s, %(id)s)" if at.key else ""
    values: dict[str, Any] = {"owner": owner_id, "limit": size + 1} | dict(zip(("size", "id"), at.key, strict=False))
    rows = rows_as_dicts(_LIST.format(beyond=beyond, down="" if at.back else " DESC"), values)
    shown = [
        {key: row[key] for key in ("digest", "size", "created_at", "last_used_at")}
        | {"output": {key: row[key] for key in ("job", "group", "index", "name")} if row["job"] else None}
        for row in rows
    ]
    return page(shown, [(row["size"], row["id"]) for row in rows], size, at)


def wanted_by(owner_id: int, digest: str) -> list[str]:
    """What of the account's own wants it: jobs that have not ended, and schedules. A few; two queries."""
    values = {"owner": owner_id, "digest": digest, "found": json.dumps({"digest": digest}), "limit": NAMED + 1}
    with connection.cursor() as cursor:
        cursor.execute(_JOBS, values)
        found = [f"job {number}" for (number,) in cursor.fetchall()]
        cursor.execute(_SCHEDULES, values)
        return found + [f"schedule {name}" for (name,) in cursor.fetchall()]
