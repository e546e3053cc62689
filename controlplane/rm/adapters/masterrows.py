"""What application masters want, as web has stored it, and what they are told: the RM's SQL for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from controlplane.rm.adapters.named import read
from controlplane.rm.rows import LaunchRow, MasterAskRow, MasterSessionRow, Wanted
from controlplane.statestore.resourcecolumns import per_axis
from wire.states import GroupState

if TYPE_CHECKING:
    import psycopg

    from controlplane.rm.changes import Changes

KEPT = 10_000  # events of a job; older ones go
_PRUNE_EVERY = 1000

# started: tasks that have a container or a row; the count never falls below it.
_ASKS = """
SELECT a.job_id, a.no, a.spec, a.target,
       greatest((SELECT max(c.task_index) + 1 FROM statestore_container c
                  WHERE c.job_id = a.job_id AND c.group_no = a.no),
                (SELECT max(t.index) + 1 FROM statestore_task t JOIN statestore_job j ON j.id = t.job_id
                  WHERE t.submitted_on = (j.submitted_at AT TIME ZONE 'UTC')::date
                    AND t.job_id = a.job_id AND t.group_no = a.no), 0) AS started,
       (SELECT g.granted FROM statestore_taskgroup g WHERE g.job_id = a.job_id AND g.no = a.no) AS granted
  FROM statestore_masterask a WHERE a.job_id = ANY(%s) ORDER BY a.job_id, a.no
"""
_SOME_ASKS = """
SELECT a.job_id, a.no, a.spec, a.target, 0 AS started, NULL AS granted FROM statestore_masterask a
  JOIN unnest(%s::bigint[], %s::smallint[]) AS w(job_id, known) ON w.job_id = a.job_id
 WHERE a.no >= w.known OR (a.job_id, a.no) IN (SELECT * FROM unnest(%s::bigint[], %s::smallint[]))
 ORDER BY a.job_id, a.no
"""
_LAUNCHES = """
SELECT l.container_id, l.job_id, l.spec
  FROM statestore_masterlaunch l JOIN statestore_container c ON c.id = l.container_id
 WHERE l.job_id = ANY(%s)
"""
_SOME_LAUNCHES = "SELECT container_id, job_id, spec FROM statestore_masterlaunch WHERE container_id = ANY(%s)"
_SESSIONS = """
SELECT j.id AS job_id, m.verdict, coalesce(m.message, '') AS message,
       coalesce((SELECT max(e.seq) FROM statestore_masterevent e WHERE e.job_id = j.id), 0) AS last_event
  FROM statestore_job j LEFT JOIN statestore_master m ON m.job_id = j.id WHERE j.id = ANY(%s)
"""
_PUT_GROUPS = f"""
INSERT INTO statestore_taskgroup (job_id, no, name, count, {per_axis("{0}")}, execution_type, state,
    running, succeeded, failed, killed, retried)
SELECT v.job, v.no, v.name, v.count, {per_axis("v.{0}")}, 0, {GroupState.PENDING:d}, 0, 0, 0, 0, 0
  FROM unnest(%s::bigint[], %s::smallint[], %s::text[], %s::int[], {per_axis("%s::bigint[]")})
    AS v(job, no, name, count, {per_axis("{0}")})
ON CONFLICT (job_id, no) DO UPDATE SET count = EXCLUDED.count
"""
_ADD_EVENTS = """
INSERT INTO statestore_masterevent (job_id, seq, at, kind, body)
SELECT job, seq, to_timestamp(at / 1e6), kind, body
  FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::jsonb[]) AS v(job, seq, at, kind, body)
"""
_GRANTED = """
UPDATE statestore_taskgroup g SET granted = v.granted
  FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[]) AS v(job, no, granted) WHERE g.job_id = v.job AND g.no = v.no
"""
_PRUNE = "DELETE FROM statestore_masterevent WHERE job_id = %s AND seq <= %s"


def read_all(session: "psycopg.Connection[Any]", jobs: Sequence[int]) -> Wanted:
    """Everything of these jobs (a new leader's rebuild)."""
    if not jobs:
        return Wanted()
    each = (list(jobs),)
    return Wanted(
        read(session, MasterAskRow, _ASKS, each),
        read(session, LaunchRow, _LAUNCHES, each),
        read(session, MasterSessionRow, _SESSIONS, each),
    )


def read_some(
    session: "psycopg.Connection[Any]",
    known: dict[int, int],
    asks: Sequence[tuple[int, int]],
    launches: Sequence[int],
    ending: Sequence[int],
) -> Wanted:
    """What intents name. known: job -> groups it has already; later ones are read as well."""
    columns = list(known), list(known.values()), [a[0] for a in asks], [a[1] for a in asks]
    found = Wanted(read(session, MasterAskRow, _SOME_ASKS, columns))
    if launches:
        found.launches = read(session, LaunchRow, _SOME_LAUNCHES, (list(launches),))
    if ending:
        found.sessions = read(session, MasterSessionRow, _SESSIONS, (list(ending),))
    return found


def write(session: "psycopg.Connection[Any]", c: "Changes") -> None:
    """Rows of groups that came or changed their count, and what masters are told. Within the round's transaction."""
    if c.master_groups:
        groups = [(job, no, g.run.name, g.run.count, *g.amounts) for (job, no), g in c.master_groups.items()]
        session.execute(_PUT_GROUPS, [list(column) for column in zip(*groups, strict=True)])
    if c.granted:
        granted = [(*key, count) for key, count in c.granted.items()]
        session.execute(_GRANTED, [list(column) for column in zip(*granted, strict=True)])
    if c.master_events:
        job, seq, at_us, kind, body = (list(column) for column in zip(*c.master_events, strict=True))
        session.execute(_ADD_EVENTS, (job, seq, at_us, kind, [Jsonb(b) for b in body]))
        for job_id, last in dict(zip(job, seq, strict=True)).items():
            if last // _PRUNE_EVERY != (last - job.count(job_id)) // _PRUNE_EVERY:
                session.execute(_PRUNE, (job_id, last - KEPT))
