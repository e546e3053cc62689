"""Share assignments: what every queue gets in each sub-cluster, written by the GPG, read by the RMs.

They are data with an age. One that is old stays in force until a newer one
comes, but nothing is preempted on its account.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import psycopg

from controlplane.statestore.packed import Table, pack, unpack

# Asynchronous: what is lost with the server is worked out again two seconds later.
_SOON = "WITH soon AS (SELECT set_config('synchronous_commit', 'off', true))"
_PUT = f"""
{_SOON}
INSERT INTO statestore_shareassignment AS a (sub_cluster_id, version, at, epoch, policy_version, body)
SELECT v.sub, %s, clock_timestamp(), %s, %s, v.body FROM soon, unnest(%s::smallint[], %s::bytea[]) AS v(sub, body)
    ON CONFLICT (sub_cluster_id) DO UPDATE
   SET version = EXCLUDED.version, at = EXCLUDED.at, epoch = EXCLUDED.epoch, body = EXCLUDED.body,
       policy_version = EXCLUDED.policy_version
 WHERE a.epoch <= EXCLUDED.epoch
"""
_RENEW = f"""
{_SOON}
UPDATE statestore_shareassignment SET at = clock_timestamp() FROM soon WHERE version = %s AND epoch = %s
"""
_FORGET = "DELETE FROM statestore_shareassignment WHERE sub_cluster_id <> ALL(%s::smallint[]) AND epoch <= %s"
_LAST = "SELECT coalesce(max(version), 0) FROM statestore_shareassignment"
_ALL = """
SELECT sub_cluster_id, version, (extract(epoch FROM at) * 1e6)::bigint, policy_version, body
  FROM statestore_shareassignment
"""
_READ = """
SELECT version, (extract(epoch FROM at) * 1e6)::bigint, policy_version, CASE WHEN version <> %s THEN body END
  FROM statestore_shareassignment WHERE sub_cluster_id = %s
"""


UNLIMITED = np.int64(1) << 60


@dataclass(frozen=True, slots=True)
class Assignment:
    """One sub-cluster's shares as they stand.

    at_us: when they were worked out or found to be still right, on the
    database's clock. policy_version: whose queues they are. tables: per
    partition k paths and (k, 3R) int64, None where the reader has that version
    already. Units of whole subtrees: what the queue gets here (R columns), the
    part of it that it is guaranteed, for which others give way, and what it may
    use at most, ``UNLIMITED`` where its part by size of the partition bounds it.
    """

    version: int
    at_us: int
    policy_version: int
    tables: Mapping[str, Table] | None


def read(session: psycopg.Connection, sub_cluster: int, known: int) -> Assignment | None:
    """The sub-cluster's shares; None when there are none. ``known``: the version the reader has."""
    row = session.execute(_READ, (known, sub_cluster)).fetchone()
    if row is None:
        return None
    version, at_us, policy_version, body = row
    return Assignment(version, at_us, policy_version, None if body is None else unpack(bytes(body)))


def read_all(session: psycopg.Connection) -> dict[int, Assignment]:
    """Every sub-cluster's shares, by its number."""
    rows = session.execute(_ALL).fetchall()
    return {sub: Assignment(version, at, policy, unpack(bytes(body))) for sub, version, at, policy, body in rows}


def last_version(session: psycopg.Connection) -> int:
    """The highest version written so far, 0 without any."""
    (version,) = session.execute(_LAST).fetchone() or (0,)
    return int(version)


def put(
    session: psycopg.Connection,
    epoch: int,
    version: int,
    policy_version: int,
    tables: Mapping[int, Mapping[str, Table]],
) -> None:
    """Write the shares of these sub-clusters and drop all others', inside the caller's fenced transaction."""
    bodies = {sub: pack(of_one) for sub, of_one in tables.items()}
    session.execute(_PUT, (version, epoch, policy_version, list(bodies), list(bodies.values())))
    session.execute(_FORGET, (list(bodies), epoch))


def renew(session: psycopg.Connection, epoch: int, version: int) -> int:
    """Say that the shares of this version are still right; how many rows do."""
    return session.execute(_RENEW, (version, epoch)).rowcount


def table(paths: Sequence[str], share: np.ndarray, owed: np.ndarray, ceiling: np.ndarray) -> Table:
    """One partition of an assignment, from (q, R) each; queues that get nothing and are not limited are left out."""
    at = np.flatnonzero(share.any(axis=1) | (ceiling < UNLIMITED).any(axis=1))
    return [paths[i] for i in at.tolist()], np.concatenate((share[at], owed[at], ceiling[at]), axis=1)
