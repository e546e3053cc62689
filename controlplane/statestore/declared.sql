-- What a job needs at the same time by its specification, of the r-th resource: at most, since groups may wait for others.
-- As before, and of a job with its own master what that declares: so many containers, and the master itself.
CREATE OR REPLACE FUNCTION statestore_at_once(spec jsonb, r integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(k * (resources->>(ARRAY['memory_mib', 'vcores_milli', 'gpus'])[r + 1])::bigint), 0)::bigint
      FROM (SELECT g->'resources', CASE WHEN (g->>'gang')::boolean THEN (g->>'count')::bigint
                                        ELSE least((g->>'parallelism')::bigint, (g->>'count')::bigint) END
              FROM jsonb_array_elements(spec->'groups') g
            UNION ALL
            SELECT spec->'master'->'container'->'resources', (spec->'master'->>'parallelism')::bigint
            UNION ALL
            SELECT spec->'master'->'resources', least((spec->'master'->>'parallelism')::bigint, 1)) AS need(resources, k)
$$;
