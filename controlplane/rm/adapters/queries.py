"""The RM's SQL, named."""

from controlplane.statestore.models.audit import OTHERS
from controlplane.statestore.resourcecolumns import HELD, USED_SUMS, per_axis, per_axis_held
from wire.resources import AXES
from wire.states import LIVE_NODE_MAX, TERMINAL, ContainerState, JobState, NodeState, TaskState

_UP = int(NodeState.UP)  # nodes in a state up to this one are there, and report
_SUBMITTED, _PENDING = int(JobState.SUBMITTED), int(TaskState.PENDING)

NODES = f"""
SELECT n.id, n.name, n.rack, n.labels, {per_axis("n.{0}")}, n.state, n.health,
       c.revoked_at IS NOT NULL AS revoked, n.duty, n.duty_message,
       (extract(epoch FROM n.duty_deadline) * 1e6)::bigint AS duty_deadline_us,
       n.enforces @> '["one_tenant_at_a_time"]'::jsonb AS one_tenant
  FROM statestore_node n JOIN statestore_nodecredential c ON c.node_id = n.id
 WHERE n.sub_cluster_id = %s ORDER BY n.id
"""
# A sub-cluster that is being drained is a window over all its nodes: services leave now, the rest at its deadline.
WINDOWS = """
WITH me AS (SELECT %s::smallint AS id)
SELECT node, rack, labels, message, (extract(epoch FROM starts_at) * 1e6)::bigint AS starts_us,
       (extract(epoch FROM ends_at) * 1e6)::bigint AS ends_us, lead_s::bigint
  FROM statestore_maintenancewindow w JOIN me ON w.sub_cluster_id = me.id
 WHERE cancelled_at IS NULL AND ends_at > clock_timestamp()
 UNION ALL
SELECT '', '', '', s.state_message, d.us, 1::bigint << 62, d.us / 1000000 + 1
  FROM statestore_subcluster s JOIN me ON s.id = me.id,
       LATERAL (SELECT coalesce((extract(epoch FROM s.deadline) * 1e6)::bigint, 1::bigint << 62) AS us) d
 WHERE s.state = 'draining'
 ORDER BY starts_us
"""
QUEUES = """
SELECT q.path, q.parent_path, q.leaf, q.capacities, q.weight, q.ordering, q.preemptable, q.user_maximum,
       q.max_running_jobs, q.max_running_jobs_per_user, q.max_am_share, q.state, q.default_partition, v.id AS version
  FROM statestore_policyversion v JOIN statestore_queue q ON q.version_id = v.id
 WHERE v.active ORDER BY q.path
"""
# Components are those of the sub-cluster's own version while one is rolled out to it.
POLICY = """
SELECT v.document->'partitions' AS partitions, v.document->'components' AS in_force,
       coalesce(c.document, v.document)->'components' AS of_version,
       coalesce(c.document, v.document)->'sub_clusters'->s.name->'components' AS own, coalesce(c.id, v.id) AS target,
       (extract(epoch FROM CASE WHEN c.id IS NULL THEN v.activated_at ELSE s.components_at END) * 1e6)::bigint
         AS pushed_us,
       CASE WHEN v.document->>'queues' LIKE ANY (ARRAY['%%"federation"%%', '%%"backfill"%%'])
            THEN v.document->'queues' END AS queues
  FROM statestore_policyversion v JOIN statestore_subcluster s ON s.id = %s
  LEFT JOIN statestore_policyversion c ON c.id = s.components_version_id WHERE v.id = %s
"""
OTHER_NODES = f"""
SELECT sub_cluster_id < %(own)s AS before, name, rack, labels, {per_axis("{0}")}
  FROM statestore_node WHERE sub_cluster_id <> %(own)s AND state <= {LIVE_NODE_MAX}
"""
PLACES_ELSEWHERE = f"""
SELECT sub_cluster_id, name, rack, labels, {per_axis("{0}")}
  FROM statestore_node
 WHERE sub_cluster_id <> %s AND state <= {LIVE_NODE_MAX} AND duty IN ('in_service', 'cordoned')
"""
OTHER_SUMS = f"""
SELECT sub_cluster_id < %(own)s AS before, '' AS name, '' AS rack, '{{}}'::jsonb AS labels,
       {per_axis("sum({0})::bigint AS {0}")}
  FROM statestore_node WHERE sub_cluster_id <> %(own)s AND state <= {LIVE_NODE_MAX} GROUP BY 1
"""
_JOB = """
SELECT j.id, j.name, j.kind, j.queue, j.owner_id, u.username, j.priority, {}, j.submitted_at, j.state, j.message,
       j.admitted_at, j.started_at, j.home_id, j.services
  FROM statestore_job j JOIN accounts_user u ON u.id = j.owner_id
"""
# A job that waits for admission is still submitted; its epoch says that an RM has taken it.
_KNOWN = "j.id = ANY(%s) AND j.services->'revision' IS NULL"
LIVE_JOBS = f"""{_JOB.format(f"CASE WHEN {_KNOWN} THEN '{{}}'::jsonb ELSE j.spec END AS spec")}
 WHERE j.home_id = %s AND j.state < {TERMINAL} AND (j.state > {_SUBMITTED} OR j.epoch > 0) ORDER BY j.id
"""
AT_HOME = f"SELECT id FROM statestore_job WHERE id = ANY(%s) AND home_id = %s AND state < {TERMINAL}"
JOBS = _JOB.format("j.spec") + " WHERE j.id = ANY(%s)"
# Read ahead of a take-over: live jobs that nobody adds groups to, and that are known not to say much.
AHEAD = f"""
SELECT id FROM statestore_job
 WHERE home_id = %s AND state < {TERMINAL} AND kind <> 'application' AND spec_bytes BETWEEN 1 AND %s ORDER BY id
"""
TASKS = """
SELECT job_id, group_no, index AS task, state, attempts, failures FROM statestore_task
 WHERE job_id = ANY(%s) AND submitted_on = ANY(%s)
"""
# The row of an attempt that ran elsewhere is a little older than its task's. A stable time lets days be left out.
LAST_ENDS = f"""
SELECT t.job_id, t.group_no, t.index AS task, h.state, h.reason, t.exit_code,
       (extract(epoch FROM t.finished_at) * 1e6)::bigint AS at_us
  FROM statestore_task t JOIN statestore_container_history h ON h.id = t.container_id
 WHERE t.job_id = ANY(%(jobs)s) AND t.submitted_on = ANY(%(days)s) AND t.state = {_PENDING} AND t.failures > 0
   AND t.finished_at > statement_timestamp() - make_interval(secs => %(longest_s)s)
   AND h.finished_at > statement_timestamp() - make_interval(secs => %(longest_s)s) - interval '1 day'
"""
GROUPS = """
SELECT job_id, no, state, running, succeeded, failed, killed, retried, reason IS NOT NULL AS has_reason
  FROM statestore_taskgroup WHERE job_id = ANY(%s)
"""
CONTAINERS = """
SELECT id, node_id, job_id, group_no, task_index AS task, attempt, state, gpus, allocated_at, started_at
  FROM statestore_container WHERE sub_cluster_id = %s ORDER BY id
"""
INTENTS = """
SELECT id, kind, coalesce(job_id, 0) AS job_id, coalesce(node_id, 0) AS node_id, payload
  FROM statestore_intent WHERE sub_cluster_id = %s ORDER BY id LIMIT %s
"""

# Planned without statistics, a join with these small tables would scan the live table.
SESSION = """
SET enable_hashjoin = off; SET enable_mergejoin = off; SET statement_timeout = '20s'; SET jit = off;
SET idle_in_transaction_session_timeout = '10s';
CREATE TEMP TABLE task_again (LIKE statestore_task) ON COMMIT DELETE ROWS;
"""

COPY_NEW = f"""
COPY statestore_container (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch,
    {HELD}, allocated_at) FROM STDIN (FORMAT BINARY)
"""
_COPY_ENDED = f"""
COPY statestore_container_history (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch,
    {HELD}, allocated_at, {{}}finished_at, exit_code, reason, peak_memory_mib, cpu_ms)
FROM STDIN (FORMAT BINARY)
"""
COPY_ENDED = _COPY_ENDED.format("started_at, ")
COPY_NEVER_RAN = _COPY_ENDED.format("")
COPY_TASKS = "COPY statestore_task FROM STDIN (FORMAT BINARY)"
COPY_TASKS_AGAIN = "COPY task_again FROM STDIN (FORMAT BINARY)"

MOVE = """
UPDATE statestore_container c SET state = m.state, epoch = %s,
       started_at = CASE WHEN m.us > 0 THEN 'epoch'::timestamptz + m.us * interval '1 microsecond' ELSE c.started_at END
  FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS m(id, state, us) WHERE c.id = m.id
"""
FORGET = "DELETE FROM statestore_container WHERE id = ANY(%s)"
UPSERT_TASKS = """
INSERT INTO statestore_task SELECT DISTINCT ON (submitted_on, job_id, group_no, index) * FROM task_again
 ORDER BY submitted_on, job_id, group_no, index, attempts DESC
ON CONFLICT (submitted_on, job_id, group_no, index) DO UPDATE SET state = EXCLUDED.state,
    attempts = EXCLUDED.attempts, failures = EXCLUDED.failures, container_id = EXCLUDED.container_id,
    exit_code = EXCLUDED.exit_code, finished_at = EXCLUDED.finished_at
"""
FORGIVE = """
UPDATE statestore_task t SET failures = 0 FROM unnest(%s::date[], %s::bigint[], %s::smallint[], %s::int[])
    AS v(submitted_on, job_id, group_no, index)
 WHERE (t.submitted_on, t.job_id, t.group_no, t.index) = (v.submitted_on, v.job_id, v.group_no, v.index)
   AND t.submitted_on = ANY(%s::date[])
"""
UPDATE_JOBS = """
UPDATE statestore_job j SET state = v.state, epoch = %s, message = v.message, priority = v.priority, queue = v.queue,
       admitted_at = to_timestamp(nullif(v.admitted, 0) / 1e6),
       started_at = to_timestamp(nullif(v.started, 0) / 1e6),
       finished_at = to_timestamp(nullif(v.finished, 0) / 1e6)
  FROM unnest(%s::bigint[], %s::smallint[], %s::text[], %s::smallint[], %s::text[], %s::bigint[], %s::bigint[],
              %s::bigint[])
    AS v(id, state, message, priority, queue, admitted, started, finished)
 WHERE j.id = v.id AND j.epoch <= %s
"""
# Of most accounts there is no receiver, and nothing else is looked at.
NOTIFY = """
INSERT INTO statestore_notification (receiver_id, job_id, event, at, state, attempts, error)
SELECT r.id, v.job, v.event, to_timestamp(%s / 1e6), 'waiting', 0, ''
  FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) WITH ORDINALITY AS v(job, owner, event, named, ord)
  JOIN statestore_receiver r ON r.owner_id = v.owner
 WHERE r.every_job ? v.event OR r.name = ANY(string_to_array(v.named, ','))
 ORDER BY v.ord, r.id
ON CONFLICT DO NOTHING
"""
UPDATE_GROUPS = f"""
UPDATE statestore_taskgroup g SET state = v.state, running = v.running, succeeded = v.succeeded, failed = v.failed,
       killed = v.killed, retried = v.retried, reason = v.reason,
       started_at = coalesce(g.started_at, to_timestamp(nullif(v.started, 0) / 1e6)),
       finished_at = CASE WHEN v.state >= {TERMINAL}
                          THEN coalesce(g.finished_at, to_timestamp(nullif(v.finished, 0) / 1e6)) END
  FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[], %s::int[], %s::int[], %s::int[], %s::int[], %s::int[],
              %s::jsonb[], %s::bigint[], %s::bigint[])
    AS v(job, no, state, running, succeeded, failed, killed, retried, reason, started, finished)
 WHERE g.job_id = v.job AND g.no = v.no
"""
UPDATE_SERVICES = """
UPDATE statestore_job j SET services = v.services, task_count = v.tasks
  FROM unnest(%s::bigint[], %s::jsonb[], %s::int[]) AS v(id, services, tasks)
 WHERE j.id = v.id AND j.epoch <= %s
"""
HAD = f"""
SELECT id, {per_axis_held("{1}")} FROM statestore_container WHERE sub_cluster_id = %s AND job_id = ANY(%s::bigint[])
"""
REVISIONS = "SELECT revisions FROM statestore_job WHERE id = %s"
REVISE = """
UPDATE statestore_job j SET spec = v.spec, revisions = v.revisions,
       spec_bytes = CASE WHEN v.size > 0 THEN v.size ELSE j.spec_bytes END
  FROM unnest(%s::bigint[], %s::jsonb[], %s::jsonb[], %s::int[]) AS v(id, spec, revisions, size)
 WHERE j.id = v.id AND j.epoch <= %s
"""
RESHAPE = f"""
UPDATE statestore_taskgroup g SET {per_axis("{0} = v.{0}")}
  FROM unnest(%s::bigint[], %s::smallint[], {", ".join(["%s::int[]"] * len(AXES))}) AS v(job, no, {", ".join(AXES)})
 WHERE g.job_id = v.job AND g.no = v.no
"""
COUNT_TASKS = """
UPDATE statestore_taskgroup g SET count = v.count
  FROM unnest(%s::bigint[], %s::smallint[], %s::int[]) AS v(job, no, count)
 WHERE g.job_id = v.job AND g.no = v.no AND g.count <> v.count
"""
# Asks that the sub-cluster has not answered yet, or all of its asks.
_ASKS_HERE = """
SELECT a.job_id, a.group_no, a.base, a.target, a.taken, a.wish, a.work, a.halt, a.version, a.acknowledged,
       j.home_id, j.priority, j.queue, j.services->a.group_no::text AS service,
       coalesce((j.services->>'revision')::int, 1) AS revision
  FROM statestore_ask a JOIN statestore_job j ON j.id = a.job_id WHERE a.sub_cluster_id = %s
"""
UNREAD_ASKS = _ASKS_HERE + " AND a.version > a.acknowledged ORDER BY a.job_id, a.group_no LIMIT %s"
ASKS_HERE = _ASKS_HERE + " ORDER BY a.job_id, a.group_no"
REMOTE_ASKS = """
SELECT job_id, group_no, sub_cluster_id, base, target, taken, wish, work FROM statestore_ask WHERE job_id = ANY(%s)
"""
REMOTE_CONTAINERS = """
SELECT job_id, group_no, task_index AS task, attempt
  FROM statestore_container WHERE job_id = ANY(%s) AND sub_cluster_id <> %s
"""
# What has to leave elsewhere serves until it does. Sub-clusters take turns, by number: of those that empty nodes with
# containers of a service, only the first counts on what the others still have.
SERVING_ELSEWHERE = """
SELECT job_id, group_no, count(*) FILTER (WHERE serves AND (stays OR %(own)s < first))
  FROM (SELECT c.job_id, c.group_no, c.state = %(running)s AS serves, l.stays,
               min(c.sub_cluster_id) FILTER (WHERE NOT l.stays) OVER (PARTITION BY c.job_id, c.group_no) AS first
          FROM statestore_container c
          JOIN statestore_node n ON n.id = c.node_id
          JOIN statestore_subcluster s ON s.id = c.sub_cluster_id,
               LATERAL (SELECT n.duty = 'in_service' AND s.state = 'running' AS stays) l
         WHERE c.job_id = ANY(%(jobs)s) AND c.sub_cluster_id <> %(own)s) x
 GROUP BY 1, 2
"""
# A node says the same of all ports of a container.
SERVING = f"""
SELECT c.job_id, c.group_no, c.task_index AS task, c.attempt,
       (SELECT bool_and(e.healthy IS TRUE) FROM statestore_endpoint e WHERE e.container_id = c.id) AS healthy,
       coalesce((extract(epoch FROM c.started_at) * 1e6)::bigint, 0) AS started_us
  FROM statestore_container c WHERE c.job_id = ANY(%s) AND c.state = {int(ContainerState.RUNNING)}
"""
# While something is asked back, the target belongs to the other side.
PUT_ASKS = """
INSERT INTO statestore_ask AS a (job_id, group_no, sub_cluster_id, base, target, taken, wish, work, halt, version,
    acknowledged, since)
SELECT job, no, sub, base, target, 0, wish, work, halt, 1, 0, clock_timestamp()
  FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bytea[],
              %s::bool[]) AS v(job, no, sub, base, target, wish, work, halt)
ON CONFLICT (job_id, group_no, sub_cluster_id) DO UPDATE
   SET base = EXCLUDED.base, work = EXCLUDED.work, wish = EXCLUDED.wish, halt = EXCLUDED.halt, version = a.version + 1,
       target = CASE WHEN EXCLUDED.wish < EXCLUDED.target THEN a.target ELSE EXCLUDED.target END,
       since = CASE WHEN EXCLUDED.target > a.target THEN EXCLUDED.since ELSE a.since END
"""
# The row is where it is settled what was started: an ask that was lowered meanwhile matches no more.
ANSWER_ASKS = """
UPDATE statestore_ask a SET taken = v.taken, acknowledged = greatest(a.acknowledged, v.version), reason = v.reason,
       target = least(a.target, v.target),
       wish = CASE WHEN a.version = v.version AND a.wish < a.target THEN %s ELSE a.wish END
  FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[], %s::bigint[], %s::int[], %s::jsonb[])
    AS v(job, no, taken, target, version, reason)
 WHERE a.job_id = v.job AND a.group_no = v.no AND a.sub_cluster_id = %s AND a.target >= v.taken
RETURNING a.job_id, a.group_no
"""
# Takes demand back from sub-clusters that nobody leads and which therefore cannot answer. One whose lease has merely
# run out is to read of it, or it would keep the demand in mind.
WITHDRAW = """
UPDATE statestore_ask a SET target = greatest(a.taken, least(a.wish, a.target)), wish = %(unlowered)s,
       version = a.version + 1
  FROM unnest(%(jobs)s::bigint[], %(groups)s::smallint[], %(subs)s::smallint[]) AS v(job, no, sub)
 WHERE a.job_id = v.job AND a.group_no = v.no AND a.sub_cluster_id = v.sub AND a.wish < a.target
   AND NOT EXISTS (SELECT FROM statestore_lease l WHERE l.sub_cluster_id = v.sub AND l.expires_at > clock_timestamp())
RETURNING a.job_id, a.group_no, a.sub_cluster_id, a.target
"""
# With their job's end. Who has not read what was said last may remember more than there is (``WITHDRAW``), and is told.
DROP_ASKS = """
WITH gone AS (
    DELETE FROM statestore_ask WHERE job_id = ANY(%s) RETURNING job_id, sub_cluster_id, version > acknowledged AS unread
)
INSERT INTO statestore_intent (sub_cluster_id, kind, job_id, payload, created_at)
SELECT DISTINCT sub_cluster_id, 'kill', job_id, '{"ended": true}'::jsonb, clock_timestamp() FROM gone WHERE unread
"""
# The home may be another one by now than when the job was handed over.
ADD_REPORTS = """
INSERT INTO statestore_report (home_id, job_id, sub_cluster_id, group_no, target, events, told)
SELECT j.home_id, v.job, %s, v.no, v.target, coalesce(v.events, ''), v.told
  FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[], %s::bytea[], %s::jsonb[]) WITH ORDINALITY
       AS v(job, no, target, events, told, ord)
  JOIN statestore_job j ON j.id = v.job ORDER BY v.ord
"""
REPORTS = """
SELECT id, job_id, sub_cluster_id, group_no, target, events, told AS master_events
  FROM statestore_report
 WHERE home_id = %s ORDER BY id LIMIT %s
"""
REPORTS_READ = "DELETE FROM statestore_report WHERE id = ANY(%s)"
DROP_REPORTS = f"""
DELETE FROM statestore_report r USING statestore_job j
 WHERE r.id = ANY(%s) AND j.id = r.job_id AND j.state >= {TERMINAL}
"""
FORWARD_REPORTS = """
UPDATE statestore_report r SET home_id = j.home_id FROM statestore_job j
 WHERE r.id = ANY(%s) AND j.id = r.job_id AND j.home_id <> r.home_id
"""
ADD_EVENTS = """
INSERT INTO statestore_jobevent (job_id, at, kind, message)
SELECT job, to_timestamp(at / 1e6), kind, message
  FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS v(job, at, kind, message)
"""
UPDATE_NODES = """
UPDATE statestore_node n SET state = v.state, health = v.health, state_changed_at = clock_timestamp()
  FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[]) AS v(id, state, health) WHERE n.id = v.id
"""
# As a new submit there. All of them move, or this memory is not to be believed.
REHOME = """
WITH home AS MATERIALIZED (
    SELECT id FROM statestore_subcluster WHERE id = ANY(%(homes)s) AND state = 'running' FOR KEY SHARE
), moved AS (
    UPDATE statestore_job j SET home_id = v.home, epoch = 0, state = 0, admitted_at = NULL
      FROM unnest(%(jobs)s::bigint[], %(homes)s::smallint[]) AS v(id, home) JOIN home ON home.id = v.home
     WHERE j.id = v.id AND j.home_id = %(own)s AND j.epoch <= %(epoch)s AND j.started_at IS NULL
 RETURNING j.id, j.home_id
), waiting AS (
    UPDATE statestore_taskgroup g SET state = 0, reason = NULL FROM moved m WHERE g.job_id = m.id
)
INSERT INTO statestore_intent (sub_cluster_id, kind, job_id, payload, created_at)
SELECT home_id, 'submit', id, '{}'::jsonb, clock_timestamp() FROM moved ORDER BY id
"""
# Behind the submit, whichever of them was written first.
FORWARD_INTENTS = """
WITH gone AS (
    DELETE FROM statestore_intent i USING statestore_job j
     WHERE i.job_id = ANY(%(jobs)s) AND j.id = i.job_id AND i.sub_cluster_id = %(own)s AND j.home_id <> %(own)s
       AND i.kind IN ('kill', 'priority', 'move', 'scale', 'restart', 'update', 'master')
 RETURNING i.id, j.home_id, i.kind, i.job_id, i.payload, i.created_at
)
INSERT INTO statestore_intent (sub_cluster_id, kind, job_id, payload, created_at)
SELECT home_id, kind, job_id, payload, created_at FROM gone ORDER BY id
"""
DONE_INTENTS = "DELETE FROM statestore_intent WHERE id = ANY(%s)"
_USED, _USED_VALUES = ", ".join(USED_SUMS), ", ".join("%s::bigint[]" for _ in USED_SUMS)
_USED_ADDED = ", ".join(f"{column} = u.{column} + EXCLUDED.{column}" for column in USED_SUMS)
ADD_USAGE = f"""
INSERT INTO statestore_usagehour AS u (hour, sub_cluster_id, queue, owner_id, {_USED})
SELECT to_timestamp(hour * 3600.0), %s, queue, owner, {_USED}
  FROM unnest(%s::bigint[], %s::text[], %s::bigint[], {_USED_VALUES}) AS v(hour, queue, owner, {_USED})
ON CONFLICT (hour, sub_cluster_id, queue, owner_id) DO UPDATE SET {_USED_ADDED}
"""
# Of a day an account has so many tags of its own, those that came first; all others together have one name. What has
# the empty one is of jobs without a tag, and always told apart.
ADD_TAGGED = f"""
WITH more AS MATERIALIZED (
    SELECT date '1970-01-01' + day::int AS day, queue, owner, tag, {_USED}
      FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], {_USED_VALUES})
        AS v(day, queue, owner, tag, {_USED})
), known AS MATERIALIZED (
    SELECT DISTINCT m.owner, m.day, k.tag
      FROM (SELECT DISTINCT owner, day FROM more) m
      JOIN statestore_usagetag k ON k.owner_id = m.owner AND k.day = m.day WHERE k.tag NOT IN ('', '{OTHERS}')
), placed AS (
    SELECT owner, day, tag,
           EXISTS (SELECT FROM known k WHERE (k.owner, k.day, k.tag) = (m.owner, m.day, m.tag)) AS known,
           (SELECT count(*) FROM known k WHERE (k.owner, k.day) = (m.owner, m.day)) AS had
      FROM (SELECT DISTINCT owner, day, tag FROM more) m
), named AS (
    SELECT owner, day, tag,
           CASE WHEN known OR tag = ''
                  OR had + row_number() OVER (PARTITION BY owner, day, known OR tag = '' ORDER BY tag) <= %s
                THEN tag ELSE '{OTHERS}' END AS name
      FROM placed
)
INSERT INTO statestore_usagetag AS u (day, sub_cluster_id, queue, owner_id, tag, {_USED})
SELECT m.day, %s, m.queue, m.owner, n.name, {", ".join(f"sum(m.{column})" for column in USED_SUMS)}
  FROM more m JOIN named n USING (owner, day, tag) GROUP BY 1, 3, 4, 5 ORDER BY 1, 3, 4, 5
ON CONFLICT (owner_id, day, tag, queue, sub_cluster_id) DO UPDATE SET {_USED_ADDED}
"""
ADD_ROUND = """
INSERT INTO statestore_round (sub_cluster_id, first_seq, last_seq, at, epoch, number, placed, ended, plan_us,
    commit_us, transitions)
SELECT sub_cluster_id, next_seq, next_seq + %s - 1, to_timestamp(%s / 1e6), %s, %s, %s, %s, %s, %s, %s
  FROM statestore_lease WHERE sub_cluster_id = %s
"""
