"""A store with a long history: jobs that have ended, and all that was written beside them, put into its tables at once.

The rows are those a year of use would leave, not those of a mock: skewed owners
and queues, many successes and few failures, tags of all frequencies. Every
number follows from the row's own, so that two loads are equal.
"""

import os
import sys
from dataclasses import dataclass

import psycopg

from benchmarks import historyothers
from benchmarks.historyothers import TEAMS
from wire.states import TERMINAL, JobState, NodeState

OWNERS, DAYS = 200, 90
LIVE = 500  # jobs that have not ended
NODES, VERSIONS, VIEWS, ARTIFACTS = 5_000, 2_000, 100, 40_000
LARGE_TASKS = 200_000  # of one job
LARGE_EVENTS = 20_000
EVERY = 25  # one job in so many has rows of tasks, containers and outputs

# A number in [0, 1) that follows from a row's and a column's.
_CHANCE = """
CREATE OR REPLACE FUNCTION chance(i bigint, salt int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT (hashint8extended(i, salt::bigint) & 1048575) / 1048576.0 $$
"""
_OWNERS = """
INSERT INTO accounts_user (username, password, is_superuser, first_name, last_name, email, is_staff, is_active,
    date_joined, role, sign_outs)
SELECT 'user-' || lpad(i::text, 3, '0'), '!', false, '', '', '', false, true, now(), 'tenant', 0
  FROM generate_series(1, %(owners)s) i
"""
_JOBS = """
INSERT INTO statestore_job (name, kind, queue, owner_id, priority, tags, spec, home_id, submitted_at, state, message,
    epoch, admitted_at, started_at, finished_at)
SELECT v.prefix || '-' || (i %% 997) || '-' || i,
       CASE WHEN chance(i, 1) < 0.001 THEN 'application' WHEN chance(i, 1) < 0.03 THEN 'service' ELSE 'batch' END,
       'root.team' || lpad(v.team::text, 4, '0') || CASE WHEN chance(i, 2) < 0.7 THEN '.prod' ELSE '.dev' END,
       v.owner, (10 * chance(i, 3))::int - 5, v.tags,
       jsonb_build_object('name', v.prefix, 'kind', 'batch', 'queue', 'root.default', 'priority', 0, 'tags', v.tags,
           'files', '[]'::jsonb, 'groups', jsonb_build_array(
           jsonb_build_object('name', 'map', 'count', 40, 'command', '["python3", "map.py", "--part", "all"]'::jsonb,
               'env', '{"REGION": "west", "STAGE": "2", "INPUT": "/data/events/2026"}'::jsonb, 'after', '[]'::jsonb,
               'files', '[]'::jsonb, 'partition', null, 'retries', 2, 'grace_s', 5.0, 'shell', false),
           jsonb_build_object('name', 'reduce', 'count', 1, 'command', '["python3", "reduce.py"]'::jsonb,
               'env', '{}'::jsonb, 'after', '["map"]'::jsonb, 'files', '[]'::jsonb, 'partition', null))),
       v.home, v.at, v.state, CASE WHEN v.state = %(failed)s THEN 'map/7 failed for good: exit code 1' ELSE '' END, 1,
       v.at + interval '1 s', v.at + interval '3 s',
       CASE WHEN v.state >= %(ended)s THEN v.at + interval '3 s' + chance(i, 4) * interval '2 h' END
  FROM generate_series(1, %(jobs)s) i,
       (SELECT array_agg(id ORDER BY username = 'tenant' DESC, username DESC) AS ids
          FROM accounts_user WHERE role = 'tenant') owners,
       (SELECT array_agg(id ORDER BY id) AS ids FROM statestore_subcluster) homes,
       LATERAL (SELECT
           (ARRAY['etl', 'train', 'report', 'index', 'backfill', 'eval', 'render', 'sync'])[
               1 + (8 * power(chance(i, 5), 2))::int %% 8] AS prefix,
           floor(%(teams)s * power(chance(i, 6), 2))::int AS team,
           owners.ids[1 + (cardinality(owners.ids) * power(chance(i, 7), 2))::int %% cardinality(owners.ids)] AS owner,
           homes.ids[1 + i %% cardinality(homes.ids)] AS home,
           now() - %(days)s * interval '1 day' * (1 - i::float8 / %(jobs)s) - interval '3 h' AS at,
           CASE WHEN i > %(jobs)s - %(live)s THEN %(running)s::int WHEN chance(i, 8) < 0.92 THEN %(succeeded)s
                WHEN chance(i, 8) < 0.98 THEN %(failed)s ELSE %(killed)s END AS state,
           CASE WHEN chance(i, 9) < 0.4 THEN '[]'::jsonb
                WHEN chance(i, 9) < 0.7 THEN '["nightly"]'::jsonb
                ELSE jsonb_build_array('nightly', 'run-' || i / 50, 'model-' || (300 * power(chance(i, 10), 3))::int)
           END AS tags
       ) v
 ORDER BY i
"""
_GROUPS = """
INSERT INTO statestore_taskgroup (job_id, no, name, count, memory_mib, vcores_milli, gpus, execution_type, state,
    running, succeeded, failed, killed, retried, started_at, finished_at)
SELECT j.id, no, CASE no WHEN 0 THEN 'map' ELSE 'reduce' END, CASE no WHEN 0 THEN 40 ELSE 1 END, 2048, 1000, 0, 0,
       CASE WHEN j.state < %(ended)s THEN %(running)s ELSE j.state END, 0,
       CASE WHEN j.state = %(succeeded)s THEN 40 - 39 * no ELSE 0 END,
       CASE WHEN j.state = %(failed)s THEN 1 ELSE 0 END, 0, 0, j.started_at, j.finished_at
  FROM statestore_job j, generate_series(0, 1) no WHERE no = 0 OR j.id %% 3 = 0
"""
_EVENTS = """
INSERT INTO statestore_jobevent (job_id, at, kind, message)
SELECT id, submitted_at, 'routed', 'routed to west by load (the least demand beside its capacity)' FROM statestore_job
 ORDER BY id
"""
_AUDIT = """
INSERT INTO statestore_auditentry (at, actor_id, action, target, after, address)
SELECT submitted_at, owner_id, CASE WHEN chance(id, 11) < 0.03 THEN 'job.kill' ELSE 'job.submit' END, 'job/' || id,
       '{"jobs": 1}'::jsonb, '10.1.2.3'::inet
  FROM statestore_job ORDER BY id
"""
_TASKS = """
INSERT INTO statestore_task (submitted_on, job_id, group_no, index, state, attempts, failures, container_id, exit_code,
    finished_at)
SELECT (j.submitted_at AT TIME ZONE 'UTC')::date, j.id, 0, i, %(succeeded)s, 1, 0, (j.id << 20) + i, 0, j.finished_at
  FROM statestore_job j, LATERAL generate_series(0, (CASE WHEN j.id = %(large)s THEN %(tasks)s ELSE 40 END) - 1) i
 WHERE j.id = %(large)s OR (j.id %% %(every)s = 0 AND j.state = %(succeeded)s)
"""
_CONTAINERS = """
INSERT INTO statestore_container_history (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state,
    epoch, memory_mib, vcores_milli, gpus, allocated_at, started_at, finished_at, exit_code, reason, peak_memory_mib,
    cpu_ms)
SELECT t.container_id, j.home_id, 1 + t.container_id %% %(nodes)s, j.id, 0, t.index, 1, %(succeeded)s, 1, 2048, 1000, 0,
       j.started_at, j.started_at, j.finished_at, 0, 0, 700, 5000
  FROM statestore_task t JOIN statestore_job j ON j.id = t.job_id
"""
_OUTPUTS = """
INSERT INTO statestore_taskoutput (job_id, group_no, task_index, container_id, name, path, digest, size, created_at)
SELECT t.job_id, 0, t.index, t.container_id, 'part', 'out/part', md5(t.container_id::text) || md5('x'), 4096,
       t.finished_at
  FROM statestore_task t
"""
_NODES = """
INSERT INTO statestore_node (sub_cluster_id, name, rack, labels, memory_mib, vcores_milli, gpus, enforces,
    host, version, registered_at, state, health, health_text, duty, duty_message)
SELECT ids[1 + i %% cardinality(ids)], 'node-' || i, 'rack-' || i / 40, '{"disk": "ssd", "zone": "a"}', 65536, 16000, 0,
       '["memory", "cpu"]', '10.0.0.1', '1', now(), %(up)s, 0, '', 'in_service', ''
  FROM generate_series(1, %(nodes)s) i, (SELECT array_agg(id ORDER BY id) AS ids FROM statestore_subcluster) homes
"""
_VERSIONS = """
INSERT INTO statestore_policyversion (document, overrides, message, created_at, active)
SELECT v.document, '[]', 'change number ' || i, now() - i * interval '1 h', false
  FROM generate_series(1, %(versions)s) i, (SELECT document FROM statestore_policyversion WHERE active) v
"""
_VIEWS = """
INSERT INTO statestore_savedview (owner_id, name, query, created_at)
SELECT u.id, 'view ' || i, 'state=FAILED&tag=run-' || i, now()
  FROM generate_series(1, %(views)s) i, accounts_user u WHERE u.username IN ('tenant', 'operator')
"""
_ARTIFACTS = """
INSERT INTO statestore_artifact (digest, size, created_at, last_used_at)
SELECT encode(sha256(i::text::bytea), 'hex'), i, now(), now() FROM generate_series(1, %(artifacts)s) i
"""
_KEPT = """
INSERT INTO statestore_artifactowner (artifact_id, owner_id, size)
SELECT a.digest, u.id, a.size FROM statestore_artifact a, accounts_user u WHERE u.username IN ('tenant', 'operator')
"""
_GRANTS = """
INSERT INTO accounts_queueaccess (user_id, queue, level)
SELECT u.id, q, 'admin' FROM accounts_user u, unnest(ARRAY['root.team0003', 'root.team1300.dev']) q
 WHERE u.username = 'tenant'
"""
# Jobs, groups, tasks and containers that succeed, fail or are killed have the same numbers; jobs and groups run alike.
_STATES = {
    "ended": TERMINAL, "running": JobState.RUNNING, "succeeded": JobState.SUCCEEDED, "failed": JobState.FAILED,
    "killed": JobState.KILLED, "up": NodeState.UP,
}  # fmt: skip
_PARTITIONED = ("statestore_container_history", "statestore_task")
_STEPS = {
    "jobs": _JOBS, "groups": _GROUPS, "events": _EVENTS, "audit": _AUDIT, "nodes": _NODES, "versions": _VERSIONS,
    "views": _VIEWS, "artifacts": _ARTIFACTS, "kept": _KEPT,
}  # fmt: skip
_OF_SOME = {"tasks": _TASKS, "containers": _CONTAINERS, "outputs": _OUTPUTS}


@dataclass(frozen=True)
class Loaded:
    """``first``, ``last``: numbers of the oldest and the newest job. ``large``: the job of many tasks, the tenant's.

    ``node``, ``proposal``, ``rollout``, ``schedule``, ``simulation``: numbers of some.
    """

    first: int
    last: int
    large: int
    node: int
    proposal: int
    rollout: int
    schedule: int
    simulation: int


def load(database_url: str, jobs: int) -> Loaded:
    """Fill the tables and let Postgres look at them, as its own autovacuum would have by the end of such a history."""
    with psycopg.connect(database_url, autocommit=True) as store:
        store.execute("SET synchronous_commit = off")
        store.execute(_CHANCE)
        values = {
            "jobs": jobs, "owners": OWNERS, "teams": TEAMS, "days": DAYS, "live": LIVE, "nodes": NODES, "views": VIEWS,
            "artifacts": ARTIFACTS,
            "versions": VERSIONS, "tasks": LARGE_TASKS, "every": EVERY, **_STATES,
        }  # fmt: skip
        for sql in (_OWNERS, _GRANTS):
            store.execute(sql, values)
        historyothers.fill(store)
        for name, sql in _STEPS.items():
            print(f"loading {name}", file=sys.stderr)
            store.execute(sql, values)
        loaded = _choose(store)
        values["large"] = loaded.large
        add_partitions(store)
        for name, sql in _OF_SOME.items():
            print(f"loading {name}", file=sys.stderr)
            store.execute(sql, values)
        _enlarge(store, loaded.large)
        store.execute("DROP FUNCTION chance")
        print("looking at what was loaded", file=sys.stderr)
        store.execute("VACUUM (ANALYZE)")
        store.execute("CHECKPOINT")
    os.sync()  # what was loaded is not to be written beside what is measured
    return loaded


def _choose(store: psycopg.Connection) -> Loaded:
    row = store.execute(
        "SELECT min(id), max(id), (SELECT max(j.id) FROM statestore_job j JOIN accounts_user u ON u.id = j.owner_id"
        " WHERE u.username = 'tenant' AND j.state = %s), (SELECT max(id) FROM statestore_node),"
        " (SELECT max(id) FROM statestore_policyproposal), (SELECT max(id) FROM statestore_rollout),"
        " (SELECT max(r.schedule_id) FROM statestore_schedulerun r JOIN statestore_schedule s ON s.id = r.schedule_id"
        " JOIN accounts_user u ON u.id = s.owner_id WHERE u.username = 'tenant'),"
        " (SELECT max(id) FROM statestore_simulation) FROM statestore_job",
        (JobState.SUCCEEDED,),
    ).fetchone()
    assert row is not None
    return Loaded(*row)


def add_partitions(store: psycopg.Connection) -> None:
    """One per table and day on which a job came or ended; the days ahead are there already."""
    days = store.execute(
        "SELECT DISTINCT (at AT TIME ZONE 'UTC')::date FROM statestore_job j,"
        " LATERAL (VALUES (j.submitted_at), (j.finished_at)) v(at) WHERE at IS NOT NULL"
    ).fetchall()
    for (day,) in days:
        for table in _PARTITIONED:
            store.execute(
                f"CREATE TABLE IF NOT EXISTS {table}_{day:%Y%m%d} PARTITION OF {table}"
                f" FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
            )


def _enlarge(store: psycopg.Connection, large: int) -> None:
    """The large job's group has as many tasks as there are rows, and a third as many that nobody ever started."""
    store.execute(
        "UPDATE statestore_taskgroup SET count = %s, succeeded = %s WHERE job_id = %s AND no = 0",
        (LARGE_TASKS * 4 // 3, LARGE_TASKS, large),
    )
    store.execute(
        "INSERT INTO statestore_jobevent (job_id, at, kind, message)"
        " SELECT %s, now(), 'retry', 'map/' || i || ' is tried again: exit code 1' FROM generate_series(1, %s) i",
        (large, LARGE_EVENTS),
    )
