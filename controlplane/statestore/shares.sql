-- The fence of posts of which there is one in the federation, and amounts in the admission ledger.
-- Tables: models/shares.py, models/admission.py.

CREATE FUNCTION statestore_fence_duty(post text, my_epoch integer, lease_s double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE statestore_dutylease SET expires_at = clock_timestamp() + make_interval(secs => lease_s)
     WHERE name = post AND epoch = my_epoch;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'epoch % no longer has the post %', my_epoch, post USING ERRCODE = 'HY001';
    END IF;
END $$;

-- What a job's gangs and declared parallelism come to, of the r-th resource: at most, since groups may wait for others.
CREATE FUNCTION statestore_at_once(spec jsonb, r integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum((g->'resources'->>(ARRAY['memory_mib', 'vcores_milli', 'gpus'])[r + 1])::bigint
               * CASE WHEN (g->>'gang')::boolean THEN (g->>'count')::bigint
                      ELSE least((g->>'parallelism')::bigint, (g->>'count')::bigint) END), 0)::bigint
      FROM jsonb_array_elements(spec->'groups') g
$$;

-- As before, and amounts: their queue is <path>#<partition>, their owner -1 - r for the r-th resource. One that has not
-- counted under this policy yet is counted by its jobs' amounts, of whatever partition.
CREATE OR REPLACE FUNCTION statestore_admitted_elsewhere(me smallint, policy bigint, queues text[], owners bigint[])
RETURNS TABLE (n bigint, running bigint) LANGUAGE sql STABLE AS $$
    WITH others AS MATERIALIZED (
        SELECT s.id, coalesce(l.version >= policy, false) AS counted
          FROM statestore_subcluster s LEFT JOIN statestore_admissionledger l ON l.sub_cluster_id = s.id
         WHERE s.id <> me),
    amounts AS (SELECT EXISTS (SELECT 1 FROM unnest(owners) o WHERE o < 0) AS wanted),
    lagging AS MATERIALIZED (
        SELECT j.home_id, j.queue, j.owner_id, count(*) AS jobs,
               sum(CASE WHEN wanted THEN statestore_at_once(j.spec, 0) END) AS memory,
               sum(CASE WHEN wanted THEN statestore_at_once(j.spec, 1) END) AS vcores,
               sum(CASE WHEN wanted THEN statestore_at_once(j.spec, 2) END) AS gpus
          FROM statestore_job j, amounts
         WHERE j.home_id IN (SELECT id FROM others WHERE NOT counted) AND j.state BETWEEN 1 AND 9
         GROUP BY 1, 2, 3)
    SELECT k.n, coalesce(sum(greatest(c.running, CASE WHEN o.counted THEN 0 ELSE
               (SELECT sum(CASE k.owner WHEN -1 THEN g.memory WHEN -2 THEN g.vcores WHEN -3 THEN g.gpus ELSE g.jobs END)
                  FROM lagging g
                 WHERE g.home_id = o.id AND starts_with(g.queue || '.', split_part(k.queue, '#', 1) || '.')
                   AND (k.owner <= 0 OR k.owner = g.owner_id))
               END)), 0)::bigint
      FROM unnest(queues, owners) WITH ORDINALITY AS k(queue, owner, n)
      LEFT JOIN others o ON true
      LEFT JOIN statestore_admissioncount c ON c.queue = k.queue AND c.owner = k.owner AND c.sub_cluster_id = o.id
     GROUP BY k.n ORDER BY k.n
$$;
