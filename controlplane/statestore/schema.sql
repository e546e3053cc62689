-- Tables that Django's models cannot describe: storage parameters, partitions, and the fence.
-- Column order of the copied tables is that of the binary COPY in controlplane/rm/store.py.

CREATE TABLE statestore_container (
    id bigint PRIMARY KEY,
    sub_cluster_id smallint NOT NULL,
    node_id bigint NOT NULL,
    job_id bigint NOT NULL,
    group_no smallint NOT NULL,
    task_index integer NOT NULL,
    attempt smallint NOT NULL,
    state smallint NOT NULL,
    epoch integer NOT NULL,
    memory_mib integer NOT NULL,
    vcores_milli integer NOT NULL,
    gpus bigint NOT NULL,
    allocated_at timestamptz NOT NULL,
    started_at timestamptz
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX container_by_job ON statestore_container (job_id);

CREATE TABLE statestore_container_history (
    id bigint NOT NULL,
    sub_cluster_id smallint NOT NULL,
    node_id bigint NOT NULL,
    job_id bigint NOT NULL,
    group_no smallint NOT NULL,
    task_index integer NOT NULL,
    attempt smallint NOT NULL,
    state smallint NOT NULL,
    epoch integer NOT NULL,
    memory_mib integer NOT NULL,
    vcores_milli integer NOT NULL,
    gpus bigint NOT NULL,
    allocated_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    exit_code integer NOT NULL,
    reason smallint NOT NULL,
    peak_memory_mib integer NOT NULL,
    cpu_ms bigint NOT NULL
) PARTITION BY RANGE (finished_at);
CREATE INDEX history_by_id ON statestore_container_history (id);
CREATE INDEX history_by_job ON statestore_container_history (job_id, group_no, task_index);

CREATE TABLE statestore_task (
    submitted_on date NOT NULL,
    job_id bigint NOT NULL,
    group_no smallint NOT NULL,
    index integer NOT NULL,
    state smallint NOT NULL,
    attempts smallint NOT NULL,
    failures smallint NOT NULL,
    container_id bigint NOT NULL,
    exit_code integer NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (submitted_on, job_id, group_no, index)
) PARTITION BY RANGE (submitted_on);

CREATE TABLE statestore_round (
    sub_cluster_id smallint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    at timestamptz NOT NULL,
    epoch integer NOT NULL,
    number bigint NOT NULL,
    placed integer NOT NULL,
    ended integer NOT NULL,
    plan_us integer NOT NULL,
    commit_us integer NOT NULL,
    transitions bytea NOT NULL,
    PRIMARY KEY (sub_cluster_id, first_seq, at)
) PARTITION BY RANGE (at);

CREATE TABLE statestore_log_chunk (
    container_id bigint NOT NULL,
    stream smallint NOT NULL,
    "offset" bigint NOT NULL,
    day date NOT NULL,
    data bytea NOT NULL,
    skipped bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (container_id, stream, "offset", day)
) PARTITION BY RANGE (day);

CREATE TABLE statestore_container_history_default PARTITION OF statestore_container_history DEFAULT;
CREATE TABLE statestore_task_default PARTITION OF statestore_task DEFAULT;
CREATE TABLE statestore_round_default PARTITION OF statestore_round DEFAULT;
CREATE TABLE statestore_log_chunk_default PARTITION OF statestore_log_chunk DEFAULT;

-- Called in the same message as COMMIT: the transaction ends only if this leader still leads.
-- The rows go first, so the lease row is locked for no longer than the commit takes.
CREATE FUNCTION statestore_fence(sub_cluster smallint, my_epoch integer, lease_s double precision,
                                 transitions integer DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    seq bigint;
BEGIN
    UPDATE statestore_lease
       SET expires_at = clock_timestamp() + make_interval(secs => lease_s), next_seq = next_seq + transitions
     WHERE sub_cluster_id = sub_cluster AND epoch = my_epoch
    RETURNING next_seq INTO seq;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'epoch % no longer leads sub-cluster %', my_epoch, sub_cluster USING ERRCODE = 'HY001';
    END IF;
    RETURN seq;
END $$;
