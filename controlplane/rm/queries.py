"""The RM's SQL, named."""

NODES = """
SELECT n.id, n.name, n.rack, n.labels, n.memory_mib, n.vcores_milli, n.gpus, n.state, n.health,
       c.revoked_at IS NOT NULL AS revoked, n.duty, n.duty_message,
       (extract(epoch FROM n.duty_deadline) * 1e6)::bigint AS duty_deadline_us
  FROM statestore_node n JOIN statestore_nodecredential c ON c.node_id = n.id
 WHERE n.sub_cluster_id = %s ORDER BY n.id
"""
WINDOWS = """
SELECT node, rack, labels, message, (extract(epoch FROM starts_at) * 1e6)::bigint AS starts_us,
       (extract(epoch FROM ends_at) * 1e6)::bigint AS ends_us, lead_s
  FROM statestore_maintenancewindow
 WHERE sub_cluster_id = %s AND cancelled_at IS NULL AND ends_at > clock_timestamp() ORDER BY starts_at, id
"""
QUEUES = """
SELECT v.id AS version, q.path, q.parent_path, q.leaf, q.capacities, q.weight, q.ordering, q.preemptable,
       q.user_maximum, q.max_running_jobs, q.max_running_jobs_per_user, q.max_am_share, q.state, q.default_partition
  FROM statestore_policyversion v JOIN statestore_queue q ON q.version_id = v.id
 WHERE v.active ORDER BY q.path
"""
POLICY = "SELECT document->'partitions', document->'components' FROM statestore_policyversion WHERE id = %s"
OTHER_NODES = """
SELECT sub_cluster_id < %(own)s, name, rack, labels, memory_mib, vcores_milli, gpus
  FROM statestore_node WHERE sub_cluster_id <> %(own)s AND state <= 2
"""
OTHER_SUMS = """
SELECT sub_cluster_id < %(own)s, '', '', '{}'::jsonb, sum(memory_mib)::bigint, sum(vcores_milli)::bigint,
       sum(gpus)::bigint
  FROM statestore_node WHERE sub_cluster_id <> %(own)s AND state <= 2 GROUP BY 1
"""
_JOB = """
SELECT j.id, j.name, j.kind, j.queue, j.owner_id, u.username, j.priority, j.spec, j.submitted_at, j.state, j.message,
       j.admitted_at, j.started_at
  FROM statestore_job j JOIN accounts_user u ON u.id = j.owner_id
"""
# A job that waits for admission is still submitted; its epoch says that an RM has taken it.
LIVE_JOBS = _JOB + " WHERE j.home_id = %s AND j.state < 10 AND (j.state > 0 OR j.epoch > 0) ORDER BY j.id"
JOBS = _JOB + " WHERE j.id = ANY(%s)"
TASKS = """
SELECT job_id, group_no, index, state, attempts, failures FROM statestore_task
 WHERE job_id = ANY(%s) AND submitted_on = ANY(%s)
"""
GROUPS = """
SELECT job_id, no, state, running, succeeded, failed, killed, retried, reason IS NOT NULL FROM statestore_taskgroup
 WHERE job_id = ANY(%s)
"""
CONTAINERS = """
SELECT id, node_id, job_id, group_no, task_index, attempt, state, gpus, allocated_at, started_at
  FROM statestore_container WHERE sub_cluster_id = %s ORDER BY id
"""
INTENTS = """
SELECT id, kind, job_id, node_id, payload FROM statestore_intent WHERE sub_cluster_id = %s ORDER BY id LIMIT %s
"""

# Planned without statistics, a join with these small tables would scan the live table.
SESSION = """
SET enable_hashjoin = off; SET enable_mergejoin = off; SET statement_timeout = '20s'; SET jit = off;
SET idle_in_transaction_session_timeout = '10s';
CREATE TEMP TABLE moved (id bigint, state smallint, started_at timestamptz) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE retold (LIKE statestore_task) ON COMMIT DELETE ROWS;
"""

COPY_NEW = """
COPY statestore_container (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch,
    memory_mib, vcores_milli, gpus, allocated_at) FROM STDIN (FORMAT BINARY)
"""
COPY_MOVED = "COPY moved FROM STDIN (FORMAT BINARY)"
_COPY_ENDED = """
COPY statestore_container_history (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch,
    memory_mib, vcores_milli, gpus, allocated_at, {}finished_at, exit_code, reason, peak_memory_mib, cpu_ms)
FROM STDIN (FORMAT BINARY)
"""
COPY_ENDED = _COPY_ENDED.format("started_at, ")
COPY_NEVER_RAN = _COPY_ENDED.format("")
COPY_TASKS = "COPY statestore_task FROM STDIN (FORMAT BINARY)"
COPY_RETOLD = "COPY retold FROM STDIN (FORMAT BINARY)"

MOVE = """
UPDATE statestore_container c SET state = m.state, epoch = %s,
       started_at = CASE WHEN m.started_at > '2000-01-01Z' THEN m.started_at ELSE c.started_at END
  FROM moved m WHERE c.id = m.id
"""
FORGET = "DELETE FROM statestore_container WHERE id = ANY(%s)"
RETELL = """
INSERT INTO statestore_task SELECT DISTINCT ON (submitted_on, job_id, group_no, index) * FROM retold
 ORDER BY submitted_on, job_id, group_no, index, attempts DESC
ON CONFLICT (submitted_on, job_id, group_no, index) DO UPDATE SET state = EXCLUDED.state,
    attempts = EXCLUDED.attempts, failures = EXCLUDED.failures, container_id = EXCLUDED.container_id,
    exit_code = EXCLUDED.exit_code, finished_at = EXCLUDED.finished_at
"""
UPDATE_JOBS = """
UPDATE statestore_job j SET state = v.state, epoch = %s, message = v.message, priority = v.priority,
       admitted_at = to_timestamp(nullif(v.admitted, 0) / 1e6),
       started_at = to_timestamp(nullif(v.started, 0) / 1e6),
       finished_at = to_timestamp(nullif(v.finished, 0) / 1e6)
  FROM unnest(%s::bigint[], %s::smallint[], %s::text[], %s::smallint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS v(id, state, message, priority, admitted, started, finished)
 WHERE j.id = v.id AND j.epoch <= %s
"""
UPDATE_GROUPS = """
UPDATE statestore_taskgroup g SET state = v.state, running = v.running, succeeded = v.succeeded, failed = v.failed,
       killed = v.killed, retried = v.retried, reason = v.reason,
       started_at = coalesce(g.started_at, to_timestamp(nullif(v.started, 0) / 1e6)),
       finished_at = CASE WHEN v.state >= 10 THEN coalesce(g.finished_at, to_timestamp(nullif(v.finished, 0) / 1e6)) END
  FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[], %s::int[], %s::int[], %s::int[], %s::int[], %s::int[],
              %s::jsonb[], %s::bigint[], %s::bigint[])
    AS v(job, no, state, running, succeeded, failed, killed, retried, reason, started, finished)
 WHERE g.job_id = v.job AND g.no = v.no
"""
PUT_ASKS = """
INSERT INTO statestore_ask AS a (job_id, group_no, sub_cluster_id, target, version, acknowledged)
SELECT job, no, %s, target, version, version FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[], %s::int[])
    AS v(job, no, target, version)
ON CONFLICT (job_id, group_no, sub_cluster_id) DO UPDATE
   SET target = EXCLUDED.target, version = a.version + 1, acknowledged = a.version + 1
"""
DROP_ASKS = "DELETE FROM statestore_ask WHERE job_id = ANY(%s) AND sub_cluster_id = %s"
ADD_EVENTS = """
INSERT INTO statestore_jobevent (job_id, at, kind, message)
SELECT job, to_timestamp(at / 1e6), kind, message
  FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS v(job, at, kind, message)
"""
UPDATE_NODES = """
UPDATE statestore_node n SET state = v.state, health = v.health, state_changed_at = clock_timestamp()
  FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[]) AS v(id, state, health) WHERE n.id = v.id
"""
DONE_INTENTS = "DELETE FROM statestore_intent WHERE id = ANY(%s)"
ADD_USAGE = """
INSERT INTO statestore_usagehour AS u (hour, sub_cluster_id, queue, owner_id, containers, memory_mib_s,
    vcores_milli_s, gpu_s)
SELECT to_timestamp(hour * 3600.0), %s, queue, owner, containers, memory, vcores, gpus
  FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS v(hour, queue, owner, containers, memory, vcores, gpus)
ON CONFLICT (hour, sub_cluster_id, queue, owner_id) DO UPDATE
   SET containers = u.containers + EXCLUDED.containers, memory_mib_s = u.memory_mib_s + EXCLUDED.memory_mib_s,
       vcores_milli_s = u.vcores_milli_s + EXCLUDED.vcores_milli_s, gpu_s = u.gpu_s + EXCLUDED.gpu_s
"""
ADD_ROUND = """
INSERT INTO statestore_round (sub_cluster_id, first_seq, last_seq, at, epoch, number, placed, ended, plan_us,
    commit_us, transitions)
SELECT sub_cluster_id, next_seq, next_seq + %s - 1, to_timestamp(%s / 1e6), %s, %s, %s, %s, %s, %s, %s
  FROM statestore_lease WHERE sub_cluster_id = %s
"""
