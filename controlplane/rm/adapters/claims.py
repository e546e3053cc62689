"""Counts of admitted jobs in the StateStore: reading the others', claiming room, writing one's own."""

from collections.abc import Mapping

import psycopg

from controlplane.rm.adapters.named import read
from controlplane.rm.claims import Claimed, ClaimRequest, Counts, Key

ELSEWHERE = "SELECT running FROM statestore_admitted_elsewhere(%s::smallint, %s, %s::text[], %s::bigint[]) ORDER BY n"
CLAIM = """
SELECT elsewhere, granted FROM statestore_claim(%s::smallint, %s, %s, %s, %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[])
"""
FORGET_ALL = "DELETE FROM statestore_admissioncount WHERE sub_cluster_id = %s"
FORGET = """
DELETE FROM statestore_admissioncount c USING unnest(%s::text[], %s::bigint[]) AS k(queue, owner)
 WHERE c.queue = k.queue AND c.owner = k.owner AND c.sub_cluster_id = %s
"""
PUT = """
INSERT INTO statestore_admissioncount (queue, owner, sub_cluster_id, running, epoch)
SELECT k.queue, k.owner, %s, k.running, %s
  FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS k(queue, owner, running)
    ON CONFLICT (queue, owner, sub_cluster_id) DO UPDATE SET running = EXCLUDED.running, epoch = EXCLUDED.epoch
"""
COUNTED = """
INSERT INTO statestore_admissionledger (sub_cluster_id, version, epoch) VALUES (%s, %s, %s)
    ON CONFLICT (sub_cluster_id) DO UPDATE SET version = EXCLUDED.version, epoch = EXCLUDED.epoch
"""


def elsewhere(session: psycopg.Connection, sub: int, version: int, keys: list[Key]) -> dict[Key, int]:
    """What all other sub-clusters run of each key. ``version``: of the policy in force here."""
    rows = session.execute(ELSEWHERE, (sub, version, *_columns(keys))).fetchall()
    return {key: row[0] for key, row in zip(keys, rows, strict=True)}


def claim(
    session: psycopg.Connection,
    sub: int,
    epoch: int,
    lease_s: float,
    version: int,
    requests: Mapping[Key, ClaimRequest],
) -> dict[Key, Claimed]:
    """Claim room in one transaction of its own."""
    w = requests.values()
    numbers = [[x.own for x in w], [x.requested for x in w], [x.most for x in w]]
    rows = read(session, Claimed, CLAIM, (sub, epoch, lease_s, version, *_columns(list(requests)), *numbers))
    return dict(zip(requests, rows, strict=True))


def write(session: psycopg.Connection, sub: int, epoch: int, counts: Counts) -> None:
    """Within the round's transaction: counts that have fallen, or all anew."""
    gone = [key for key, running in counts.running.items() if not running]
    if counts.recounted is not None:
        session.execute(FORGET_ALL, (sub,))
        session.execute(COUNTED, (sub, counts.recounted, epoch))
    elif gone:
        session.execute(FORGET, (*_columns(gone), sub))
    kept = {key: running for key, running in counts.running.items() if running}
    if kept:
        session.execute(PUT, (sub, epoch, *_columns(list(kept)), list(kept.values())))


def _columns(keys: list[Key]) -> tuple[list[str], list[int]]:
    return [queue for queue, _ in keys], [owner for _, owner in keys]
