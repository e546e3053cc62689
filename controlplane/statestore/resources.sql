-- The resources in the order of every vector of amounts, as wire/resources.py has them.
CREATE OR REPLACE FUNCTION statestore_axes() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY['memory_mib', 'vcores_milli', 'gpus']
$$;

-- What a job needs at the same time by its specification, of the r-th resource, as declared.sql had it.
CREATE OR REPLACE FUNCTION statestore_at_once(spec jsonb, r integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(k * (resources->>(statestore_axes())[r + 1])::bigint), 0)::bigint
      FROM (SELECT g->'resources', CASE WHEN (g->>'gang')::boolean THEN (g->>'count')::bigint
                                        ELSE least((g->>'parallelism')::bigint, (g->>'count')::bigint) END
              FROM jsonb_array_elements(spec->'groups') g
            UNION ALL
            SELECT spec->'master'->'container'->'resources', (spec->'master'->>'parallelism')::bigint
            UNION ALL
            SELECT spec->'master'->'resources', least((spec->'master'->>'parallelism')::bigint, 1)) AS need(resources, k)
$$;

-- What others have admitted, jobs and amounts, as shares.sql had it: ``r`` is the resource, and null where jobs count.
CREATE OR REPLACE FUNCTION statestore_admitted_elsewhere(me smallint, policy bigint, queues text[], owners bigint[])
RETURNS TABLE (n bigint, running bigint) LANGUAGE sql STABLE AS $$
    WITH others AS MATERIALIZED (
        SELECT s.id, coalesce(l.version >= policy, false) AS counted
          FROM statestore_subcluster s LEFT JOIN statestore_admissionledger l ON l.sub_cluster_id = s.id
         WHERE s.id <> me),
    asked AS (SELECT DISTINCT (-1 - o)::integer AS r FROM unnest(owners) o WHERE o < 0),
    live AS MATERIALIZED (
        SELECT home_id, queue, owner_id, spec FROM statestore_job
         WHERE home_id IN (SELECT id FROM others WHERE NOT counted) AND state BETWEEN 1 AND 9),
    lagging AS MATERIALIZED (
        SELECT home_id, queue, owner_id, NULL::integer AS r, count(*) AS n FROM live GROUP BY 1, 2, 3
         UNION ALL
        SELECT home_id, queue, owner_id, r, sum(statestore_at_once(spec, r)) FROM live, asked GROUP BY 1, 2, 3, 4)
    SELECT k.n, coalesce(sum(greatest(c.running, CASE WHEN o.counted THEN 0 ELSE
               (SELECT sum(g.n) FROM lagging g
                 WHERE g.home_id = o.id AND starts_with(g.queue || '.', split_part(k.queue, '#', 1) || '.')
                   AND g.r IS NOT DISTINCT FROM CASE WHEN k.owner < 0 THEN (-1 - k.owner)::integer END
                   AND (k.owner <= 0 OR k.owner = g.owner_id))
               END)), 0)::bigint
      FROM unnest(queues, owners) WITH ORDINALITY AS k(queue, owner, n)
      LEFT JOIN others o ON true
      LEFT JOIN statestore_admissioncount c ON c.queue = k.queue AND c.owner = k.owner AND c.sub_cluster_id = o.id
     GROUP BY k.n ORDER BY k.n
$$;
