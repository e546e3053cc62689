"""What a long history leaves beside its jobs: the rest of the audit log, changes of the policy, tokens, use, charts."""

import psycopg

from client import Client

TEAMS = 1_666  # each a queue with two leaves: with root, 4,999 queues
CHANGES = 2_000  # of each kind of change of the policy
SIMULATIONS, TOKENS, WINDOWS = 500, 2_000, 200
SCHEDULES, TIMES = 200, 50  # of each owner, and of each twentieth of these
DAYS_OF_USE = 400
QUEUES_OF_CHARTS = 50

# Older than all that jobs did, so that whoever walks back from the newest entry walks past everything.
_AUDIT = """
INSERT INTO statestore_auditentry (at, actor_id, action, target, after, address)
SELECT now() - interval '100 days' + i * interval '1 s', CASE WHEN i %% 10 > 0 THEN u.id END,
       (ARRAY['policy.publish', 'policy.override.add', 'policy.rollout.create', 'node.drain', 'account.token',
              'sub-cluster.running'])[1 + i %% 6],
       (ARRAY['policy', 'policy-override', 'rollout', 'node', 'account', 'sub-cluster'])[1 + i %% 6] || '/' || i,
       '{}'::jsonb, '10.1.2.4'::inet
  FROM generate_series(1, 6 * %(changes)s) i, accounts_user u WHERE u.username = 'operator' ORDER BY i
"""
_OVERRIDES = """
INSERT INTO statestore_policyoverride (queue, field, partition, change, starts_at, ends_at, message, author_id,
    created_at, cancelled_at, problem)
SELECT 'root.team0001', 'weight', '', '{"to": 2}', now() - i * interval '1 h', now() - i * interval '1 h', 'for a time',
       u.id, now() - i * interval '2 h', CASE WHEN i %% 3 = 0 THEN now() - i * interval '1 h' END, ''
  FROM generate_series(1, %(changes)s) i, accounts_user u WHERE u.username = 'operator'
"""
_PROPOSALS = """
INSERT INTO statestore_policyproposal (kind, payload, changes, message, author_id, base_id, created_at, expires_at,
    state, decision)
SELECT 'document', '{"force": false}', '[]', 'theirs', u.id, v.id, now() - i * interval '1 h',
       now() - i * interval '1 h', 'approved', ''
  FROM generate_series(1, %(changes)s) i, statestore_policyversion v, accounts_user u
 WHERE v.active AND u.username = 'operator'
"""
_ROLLOUTS = """
INSERT INTO statestore_rollout (version_id, from_version_id, state, live, stages, guards, on_breach, stage, baseline,
    metrics, message, created_at, ended_at)
SELECT v.id, v.id, 'completed', false, '[{"sub_clusters": ["west"], "soak_s": 60}]', '{}', 'rollback', 0, '{}', '{}',
       '', now() - i * interval '1 h', now() - i * interval '1 h'
  FROM generate_series(1, %(changes)s) i, statestore_policyversion v WHERE v.active
"""
_SIMULATIONS = """
INSERT INTO statestore_simulation (kind, requested_by_id, requested_at, state, message, progress, simulated_s,
    begins_at, ends_at, base_id, version_id, document, digest, change, seeds, sample, result, page, ended_at, attempts,
    trace_name)
SELECT 'policy', u.id, now() - i * interval '1 h', 'done', '', 1, 3600, now() - interval '2 h', now() - interval '1 h',
       v.id, v.id, v.document, md5(i::text), 'root.team0001: weight 1 to 2', 1, 1,
       jsonb_build_object('queues', (SELECT jsonb_agg(q) FROM generate_series(1, 5000) q)), 'page', now(), 1, ''
  FROM generate_series(1, %(simulations)s) i, statestore_policyversion v, accounts_user u
 WHERE v.active AND u.username = 'operator'
"""
_TOKENS = """
INSERT INTO knox_authtoken (digest, created, user_id, expiry, token_key)
SELECT md5(u.id || '-' || i) || md5('x'), now() - i * interval '1 min', u.id,
       now() + CASE WHEN i %% 2 = 0 THEN interval '1 day' ELSE interval '-1 day' END, left(md5(u.id || '-' || i), 15)
  FROM generate_series(1, %(tokens)s) i, accounts_user u WHERE u.username IN ('tenant', 'operator')
"""
_JOIN_TOKENS = """
INSERT INTO statestore_jointoken (sub_cluster_id, sha256, note, node, created_at, expires_at, revoked_at)
SELECT s.id, md5(s.id || '-' || i) || md5('x'), 'a rack', '', now(), now() + interval '1 day',
       CASE WHEN i %% 20 > 0 THEN now() END
  FROM generate_series(1, %(tokens)s) i, statestore_subcluster s
"""
_WINDOWS = """
INSERT INTO statestore_maintenancewindow (sub_cluster_id, node, rack, labels, starts_at, ends_at, lead_s, message,
    created_at, cancelled_at)
SELECT s.id, '', 'rack-' || i, '', now() + (i - 190) * interval '1 day', now() + (i - 189) * interval '1 day', 600, '',
       now(), NULL
  FROM generate_series(1, %(windows)s) i, statestore_subcluster s
"""
_SCHEDULES = """
INSERT INTO statestore_schedule (name, owner_id, queue, cron, zone, except_days, job, template, given, digests, overlap,
    start_within_s, keep, suspended, next_at, look_at, revision, created_at, changed_at)
SELECT 'schedule-' || i, u.id, 'root.team' || lpad(((u.id * 7 + i) %% %(teams)s)::text, 4, '0') || '.prod', '0 4 * * *',
       'UTC', '[]', 'name: nightly', '{}', '{}', '[]', 'skip', 3600, 50, i %% 10 = 0, now() + interval '1 day',
       CASE WHEN i %% 10 > 0 THEN now() + interval '1 day' END, 1, now(), now()
  FROM generate_series(1, %(schedules)s) i, accounts_user u WHERE u.role = 'tenant'
"""
_TIMES = """
INSERT INTO statestore_schedulerun (schedule_id, at, outcome, message, times, made_at)
SELECT s.id, now() - i * interval '1 day', CASE WHEN i %% 7 = 0 THEN 'overlap' ELSE 'refused' END,
       'the queue is stopped', 1, now() - i * interval '1 day'
  FROM generate_series(1, %(times)s) i, statestore_schedule s WHERE s.id %% 20 = 0
"""
_USE = """
INSERT INTO statestore_usagehour (hour, sub_cluster_id, queue, owner_id, containers, memory_mib_s, vcores_milli_s,
    gpu_s)
SELECT date_trunc('hour', now()) - h * interval '1 h', s.id, 'root.team' || lpad((u.id %% 20 + q)::text, 4, '0')
       || '.prod', u.id, 40, 1000000, 500000, 0
  FROM generate_series(1, 24 * %(days_of_use)s) h, statestore_subcluster s, generate_series(0, 2) q,
       (SELECT id FROM accounts_user WHERE role = 'tenant' ORDER BY username = 'tenant' DESC LIMIT 10) u
"""
_USE_BY_TAG = """
INSERT INTO statestore_usagetag (owner_id, day, tag, queue, sub_cluster_id, containers, failed, cpu_ms, memory_mib_s,
    vcores_milli_s, gpu_s)
SELECT u.id, current_date - d, 'tag-' || t, 'root.team' || lpad((u.id %% 20)::text, 4, '0') || '.prod', s.id, 40, 1,
       100000, 1000000, 500000, 0
  FROM generate_series(1, %(days_of_use)s) d, generate_series(1, 50) t, statestore_subcluster s,
       (SELECT id FROM accounts_user WHERE role = 'tenant' ORDER BY username = 'tenant' DESC LIMIT 10) u
"""
_RECEIVERS = """
INSERT INTO statestore_receiver (owner_id, name, kind, address, sealed, every_job, created_at, changed_at, free_at,
    claim, failures, error)
SELECT u.id, 'west', 'mail', '', '', '[]', now(), now(), now(), 0, 0, ''
  FROM accounts_user u WHERE u.username IN ('tenant', 'operator')
"""
_TOLD = """
INSERT INTO statestore_notification (receiver_id, job_id, event, at, state, attempts, error, tried_at)
SELECT r.id, NULL, 'test', now() - i * interval '1 min', 'sent', 1, '', now() - i * interval '1 min'
  FROM generate_series(1, 2 * %(times)s * 100) i, statestore_receiver r
"""
_SCOPES = """
INSERT INTO statestore_seriesscope (name)
SELECT 'cluster' UNION ALL SELECT 'sub-cluster:' || name FROM statestore_subcluster
 UNION ALL SELECT 'queue:root.team' || lpad(i::text, 4, '0') FROM generate_series(0, %(charts)s - 1) i
    ON CONFLICT DO NOTHING
"""
_SERIES = """
INSERT INTO statestore_series (step, scope_id, at, n_load, n_measured, n_nodes, allocated_memory_mib,
    capacity_memory_mib, share_ppm, nodes_up, decisions, latency)
SELECT w.step, s.id, to_timestamp(floor(extract(epoch FROM now()) / w.step) * w.step - i * w.step), 6, 6, 6, 1000, 2000,
       300000, 30, 600, CASE WHEN s.name LIKE 'queue:%%' THEN ARRAY[(5::bigint << 32) + 7, (9::bigint << 32) + 3]
                             ELSE (SELECT array_agg((b << 32) + 7) FROM generate_series(50::bigint, 89) b) END
  FROM (VALUES (10, 720), (60, 1440), (600, 14400)) w(step, windows), LATERAL generate_series(1, w.windows) i,
       statestore_seriesscope s
    ON CONFLICT DO NOTHING
"""
_STEPS = (
    _AUDIT, _OVERRIDES, _PROPOSALS, _ROLLOUTS, _SIMULATIONS, _TOKENS, _JOIN_TOKENS, _WINDOWS, _SCHEDULES, _TIMES, _USE,
    _USE_BY_TAG, _RECEIVERS, _TOLD, _SCOPES,
)  # fmt: skip


def publish_queues(client: Client) -> None:
    """Put a policy of 5,000 queues in force: three of each team, beside the one that is there."""
    document = dict(client.policy().document or {})
    teams = {f"team{i:04}": {"children": {"prod": {"weight": 3}, "dev": {}}} for i in range(TEAMS)}
    document["queues"] = {**document["queues"], **teams}
    client.apply_policy(document, "a queue for each team", force=True)


def fill(store: psycopg.Connection) -> None:
    """The rows beside those of jobs; those of the audit log come before what jobs leave there."""
    values = {
        "changes": CHANGES, "simulations": SIMULATIONS, "tokens": TOKENS, "windows": WINDOWS,
        "days_of_use": DAYS_OF_USE, "charts": QUEUES_OF_CHARTS, "teams": TEAMS, "schedules": SCHEDULES, "times": TIMES,
    }  # fmt: skip
    for sql in (*_STEPS, _SERIES):
        store.execute(sql, values)
