-- Claims on limits that all sub-clusters share, as admission.sql had them. Nothing more is granted to a sub-cluster
-- whose counts are not in the ledger: jobs have moved there, and its leader has not read so yet. That is asked last:
-- what others run has the jobs of any move that comes later.
CREATE OR REPLACE FUNCTION statestore_claim(me smallint, my_epoch integer, lease_s double precision, policy bigint,
                                            queues text[], owners bigint[], own bigint[], wish bigint[], most bigint[])
RETURNS TABLE (elsewhere bigint, granted bigint) LANGUAGE plpgsql AS $$
DECLARE
    others bigint[];
    counted boolean;
    given bigint[];
BEGIN
    INSERT INTO statestore_admissionhead (queue)
    SELECT DISTINCT q FROM unnest(queues) q WHERE NOT EXISTS (SELECT 1 FROM statestore_admissionhead h WHERE h.queue = q)
     ORDER BY q ON CONFLICT DO NOTHING;
    PERFORM 1 FROM statestore_admissionhead WHERE queue = ANY(queues) ORDER BY queue FOR UPDATE;
    SELECT array_agg(e.running ORDER BY e.n) INTO others
      FROM statestore_admitted_elsewhere(me, policy, queues, owners) e;
    counted := EXISTS (SELECT FROM statestore_admissionledger WHERE sub_cluster_id = me);
    SELECT array_agg(greatest(k.own, CASE WHEN counted THEN least(k.wish, k.most - k.others) END) ORDER BY k.n)
      INTO given FROM unnest(own, wish, most, others) WITH ORDINALITY AS k(own, wish, most, others, n);
    INSERT INTO statestore_admissioncount AS c (queue, owner, sub_cluster_id, running, epoch)
    SELECT k.queue, k.owner, me, k.given, my_epoch FROM unnest(queues, owners, given) AS k(queue, owner, given)
        ON CONFLICT (queue, owner, sub_cluster_id) DO UPDATE SET running = EXCLUDED.running, epoch = EXCLUDED.epoch;
    PERFORM statestore_fence(me, my_epoch, lease_s);
    RETURN QUERY SELECT k.o, k.g FROM unnest(others, given) WITH ORDINALITY AS k(o, g, n) ORDER BY k.n;
END $$;
