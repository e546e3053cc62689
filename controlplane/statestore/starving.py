"""Queues that are below their guarantee and want more: which, by how much, and since when.

The GPG looks every few seconds and keeps a row for each while it lasts, so
that a screen opened at night can say how long it has been so.
"""

from collections.abc import Mapping

import numpy as np
import psycopg

from controlplane.statestore.capacities import ROOT
from scheduler.shares.tree import QueueHierarchy
from wire.resources import CORES, MEMORY

CLOSE = 0.05  # of the guarantee: nearer than that the next container may just be too large
NEEDED = [MEMORY, CORES]  # by every container
AFTER_S = 10.0  # what lasts shorter is the ordinary course of a round

_STANDS = """
INSERT INTO statestore_starvation AS s (queue, partition, since, seen_at)
SELECT queue, partition, clock_timestamp(), clock_timestamp() FROM unnest(%s::text[], %s::text[]) AS v(queue, partition)
    ON CONFLICT (queue, partition) DO UPDATE SET seen_at = EXCLUDED.seen_at,
       since = CASE WHEN s.seen_at < clock_timestamp() - make_interval(secs => %s) THEN EXCLUDED.since ELSE s.since END
"""
_OVER = """
DELETE FROM statestore_starvation
 WHERE (queue, partition) NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""


def lacking(
    hierarchy: QueueHierarchy, guaranteed: np.ndarray, maximum: np.ndarray, used: np.ndarray, demand: np.ndarray
) -> np.ndarray:
    """(q, R) int64: what each queue wants and is guaranteed, and does not hold; zero for those who have what is theirs.

    All (q, R) of whole subtrees but ``demand``, of the queue itself. What a maximum
    below keeps from starting is no demand, and every container needs memory and
    cores. A queue at its guarantee of one resource that it wants has its
    guarantee: the others follow it.
    """
    wants = demand.copy()
    for rows in reversed(hierarchy.levels[1:]):
        left = np.maximum(maximum[rows] - used[rows], 0)
        full = ((wants[rows] > 0) & (left == 0))[:, NEEDED].any(axis=1)
        wants[rows] = np.where(full[:, None], 0, np.minimum(wants[rows], left))
        np.add.at(wants, hierarchy.parent[rows], wants[rows])
    room = np.maximum(guaranteed - used, 0)
    part = np.where(wants > 0, room / np.maximum(guaranteed, 1), np.inf).min(axis=1)
    starves = (wants > 0).any(axis=1) & (part > CLOSE)
    starves[ROOT] = False  # it has all there is: what it lacks nobody can give
    found: np.ndarray = np.where(starves[:, None], np.minimum(wants, room), 0)
    return found


def put(session: psycopg.Connection, starving: Mapping[tuple[str, str], object], gap_s: float) -> None:
    """Keep rows for exactly these (queue, partition), inside the caller's fenced transaction.

    gap_s: one that nobody has looked at for longer begins anew.
    """
    queues, partitions = [q for q, _ in starving], [p for _, p in starving]
    session.execute(_STANDS, (queues, partitions, gap_s))
    session.execute(_OVER, (queues, partitions))
