-- History over time, rolled up. See controlplane/statestore/series/.

CREATE TABLE statestore_seriesscope (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name varchar(320) NOT NULL UNIQUE
);

-- One row; whoever holds its lock writes history. sampled: the last window of which gauges were taken.
CREATE TABLE statestore_serieshead (
    id smallint PRIMARY KEY,
    sampled timestamptz NOT NULL
);

-- How far the rows of each sub-cluster have been counted. container: the highest id; seq: of the log of rounds.
CREATE TABLE statestore_seriesmark (
    sub_cluster_id smallint PRIMARY KEY,
    container bigint NOT NULL,
    seq bigint NOT NULL
);

-- step: seconds of the window that begins at ``at``; 0: totals since ever. Every number is a sum over the window's
-- samples (n_load, n_measured and n_nodes say of how many) or a count, so windows add up to longer ones exactly.
CREATE TABLE statestore_series (
    step smallint NOT NULL,
    scope_id integer NOT NULL,
    at timestamptz NOT NULL,
    n_load integer NOT NULL DEFAULT 0,
    n_measured integer NOT NULL DEFAULT 0,
    n_nodes integer NOT NULL DEFAULT 0,
    left_out integer NOT NULL DEFAULT 0,
    allocated_memory_mib bigint NOT NULL DEFAULT 0,
    allocated_vcores_milli bigint NOT NULL DEFAULT 0,
    allocated_gpus bigint NOT NULL DEFAULT 0,
    capacity_memory_mib bigint NOT NULL DEFAULT 0,
    capacity_vcores_milli bigint NOT NULL DEFAULT 0,
    capacity_gpus bigint NOT NULL DEFAULT 0,
    pending_memory_mib bigint NOT NULL DEFAULT 0,
    pending_vcores_milli bigint NOT NULL DEFAULT 0,
    pending_gpus bigint NOT NULL DEFAULT 0,
    share_ppm bigint NOT NULL DEFAULT 0,
    used_memory_mib bigint NOT NULL DEFAULT 0,
    used_vcores_milli bigint NOT NULL DEFAULT 0,
    pending_containers bigint NOT NULL DEFAULT 0,
    nodes_registered bigint NOT NULL DEFAULT 0,
    nodes_up bigint NOT NULL DEFAULT 0,
    nodes_unhealthy bigint NOT NULL DEFAULT 0,
    nodes_lost bigint NOT NULL DEFAULT 0,
    decisions bigint NOT NULL DEFAULT 0,
    preemptions bigint NOT NULL DEFAULT 0,
    latency bigint[],
    PRIMARY KEY (step, scope_id, at)
) PARTITION BY LIST (step);
CREATE TABLE statestore_series_total PARTITION OF statestore_series FOR VALUES IN (0) WITH (fillfactor = 60);
CREATE TABLE statestore_series_10s PARTITION OF statestore_series FOR VALUES IN (10) WITH (fillfactor = 90);
CREATE TABLE statestore_series_1min PARTITION OF statestore_series FOR VALUES IN (60) WITH (fillfactor = 70);
CREATE TABLE statestore_series_10min PARTITION OF statestore_series FOR VALUES IN (600) WITH (fillfactor = 70);

-- Sketches of latencies: per element bin << 32 | count. Sums of two and of many.
CREATE FUNCTION statestore_sketch_add(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE (
        SELECT array_agg((bin << 32) + n ORDER BY bin)
          FROM (SELECT e >> 32 AS bin, least(sum(e & 4294967295), 4294967295)::bigint AS n
                  FROM unnest(a || b) AS e GROUP BY 1) AS bins) END
$$;
CREATE AGGREGATE statestore_sketch_sum(bigint[]) (SFUNC = statestore_sketch_add, STYPE = bigint[]);

-- What was preempted when: nothing else stands in it, so ends of other kinds cost nothing.
CREATE INDEX history_preempted ON statestore_container_history (sub_cluster_id, finished_at) WHERE reason = 15;
-- What became of sub-clusters when.
CREATE INDEX audit_of_sub_clusters ON statestore_auditentry (at) WHERE action LIKE 'sub-cluster.%';
