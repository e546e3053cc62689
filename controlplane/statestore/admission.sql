-- Claims on limits that all sub-clusters share. Tables: models/admission.py. Keys are (queue, owner), owner 0: anybody.

-- What all other sub-clusters run of each key. One that has not counted under this policy yet (it lags, or nobody leads
-- it) is counted by its jobs; what it has claimed meanwhile may be more than its jobs show.
CREATE FUNCTION statestore_admitted_elsewhere(me smallint, policy bigint, queues text[], owners bigint[])
RETURNS TABLE (n bigint, running bigint) LANGUAGE sql STABLE AS $$
    WITH others AS MATERIALIZED (
        SELECT s.id, coalesce(l.version >= policy, false) AS counted
          FROM statestore_subcluster s LEFT JOIN statestore_admissionledger l ON l.sub_cluster_id = s.id
         WHERE s.id <> me),
    lagging AS MATERIALIZED (
        SELECT j.home_id, j.queue, j.owner_id, count(*) AS jobs
          FROM statestore_job j
         WHERE j.home_id IN (SELECT id FROM others WHERE NOT counted) AND j.state BETWEEN 1 AND 9
         GROUP BY 1, 2, 3)
    SELECT k.n, coalesce(sum(greatest(c.running, CASE WHEN o.counted THEN 0 ELSE
               (SELECT sum(g.jobs) FROM lagging g
                 WHERE g.home_id = o.id AND starts_with(g.queue || '.', k.queue || '.') AND k.owner IN (0, g.owner_id))
               END)), 0)::bigint
      FROM unnest(queues, owners) WITH ORDINALITY AS k(queue, owner, n)
      LEFT JOIN others o ON true
      LEFT JOIN statestore_admissioncount c ON c.queue = k.queue AND c.owner = k.owner AND c.sub_cluster_id = o.id
     GROUP BY k.n ORDER BY k.n
$$;

-- Raise this sub-cluster's counts from ``own`` towards ``wish``, as far as the limits ``most`` of the whole federation
-- leave room; one statement, so that nothing stays locked while a leader is stopped. Tells what others run, and the
-- counts that are now written.
CREATE FUNCTION statestore_claim(me smallint, my_epoch integer, lease_s double precision, policy bigint,
                                 queues text[], owners bigint[], own bigint[], wish bigint[], most bigint[])
RETURNS TABLE (elsewhere bigint, granted bigint) LANGUAGE plpgsql AS $$
DECLARE
    others bigint[];
    given bigint[];
BEGIN
    INSERT INTO statestore_admissionhead (queue)
    SELECT DISTINCT q FROM unnest(queues) q WHERE NOT EXISTS (SELECT 1 FROM statestore_admissionhead h WHERE h.queue = q)
     ORDER BY q ON CONFLICT DO NOTHING;
    PERFORM 1 FROM statestore_admissionhead WHERE queue = ANY(queues) ORDER BY queue FOR UPDATE;
    SELECT array_agg(e.running ORDER BY e.n) INTO others
      FROM statestore_admitted_elsewhere(me, policy, queues, owners) e;
    SELECT array_agg(greatest(k.own, least(k.wish, k.most - k.others)) ORDER BY k.n) INTO given
      FROM unnest(own, wish, most, others) WITH ORDINALITY AS k(own, wish, most, others, n);
    INSERT INTO statestore_admissioncount AS c (queue, owner, sub_cluster_id, running, epoch)
    SELECT k.queue, k.owner, me, k.given, my_epoch FROM unnest(queues, owners, given) AS k(queue, owner, given)
        ON CONFLICT (queue, owner, sub_cluster_id) DO UPDATE SET running = EXCLUDED.running, epoch = EXCLUDED.epoch;
    PERFORM statestore_fence(me, my_epoch, lease_s);
    RETURN QUERY SELECT k.o, k.g FROM unnest(others, given) WITH ORDINALITY AS k(o, g, n) ORDER BY k.n;
END $$;
