"""Each node's own history: a sample a minute, 4 bytes a column of a row that 64 nodes share."""

import datetime as dt
from collections.abc import Iterable

import numpy as np
from django.conf import settings
from django.db import connection

from controlplane.statestore import bus
from controlplane.statestore.nodeloads import NodeLoads
from wire.resources import AXES
from wire.states import NodeState

STEP_S = 60
BLOCK = 64  # nodes of a row
COLUMNS = (*(f"allocated_{axis}" for axis in AXES), "used_memory_mib", "used_vcores_milli")
NODE_BYTES = 4 * len(COLUMNS)
FRESH_MS = 15_000  # what a node said longer ago says nothing of now
_UNKNOWN = -1
_PUT = """
INSERT INTO statestore_nodeseries (block, at, data)
SELECT block, %s, data FROM unnest(%s::bigint[], %s::bytea[]) AS v(block, data) ON CONFLICT DO NOTHING
"""
_READ = """
SELECT extract(epoch FROM at)::bigint, substring(data FROM %s FOR %s) FROM statestore_nodeseries
 WHERE block = %s AND at >= %s AND at < %s ORDER BY at
"""
_OLD = "DELETE FROM statestore_nodeseries WHERE at < statement_timestamp() - %s"


def sample(at: dt.datetime, sub_clusters: Iterable[int]) -> int:
    """Keep what the nodes of these sub-clusters have given and use now, for the minute that begins ``at``; how many."""
    found = [_known(load) for load in bus.node_loads(sub_clusters).values()]
    ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in found)])
    if not len(ids):
        return 0
    blocks, row = np.unique(ids // BLOCK, return_inverse=True)
    table = np.full((len(blocks), BLOCK, len(COLUMNS)), _UNKNOWN, "<i4")
    table[row, ids % BLOCK] = np.concatenate([values for _, values in found])
    with connection.cursor() as cursor:
        cursor.execute(_PUT, [at, blocks.tolist(), [part.tobytes() for part in table]])
    return len(ids)


def _known(load: NodeLoads) -> tuple[np.ndarray, np.ndarray]:
    """((n,) ids, (n, columns) int32) of the nodes that are heard of."""
    heard = np.isin(load.state, (NodeState.UP, NodeState.UNHEALTHY)) & (load.age_ms <= FRESH_MS)
    given = (*(load.allocated[axis] for axis in AXES), load.used_memory_mib, load.used_cpu_milli)
    return load.id[heard], np.stack(given, axis=1)[heard].astype("<i4")


def read(node_id: int, start: dt.datetime, step_s: int, n: int) -> dict[str, list[float | None]]:
    """By column: the mean of the samples in each of ``n`` windows of ``step_s`` from ``start`` on.

    A sample stands for its minute, so shorter windows in it have the same value. None where nothing is known.
    """
    first = int(start.timestamp())
    low, end = first - first % STEP_S, first + n * step_s
    bounds = [dt.datetime.fromtimestamp(t, dt.UTC) for t in (low, end)]
    with connection.cursor() as cursor:
        cursor.execute(_READ, [node_id % BLOCK * NODE_BYTES + 1, NODE_BYTES, node_id // BLOCK, *bounds])
        rows = cursor.fetchall()
    at = np.array([t for t, _ in rows], np.int64)
    values = np.frombuffer(b"".join(data for _, data in rows), "<i4").reshape(-1, len(COLUMNS)).astype(np.float64)
    known = values[:, 0] != _UNKNOWN
    means = _means(at[known], values[known], first, step_s, n)
    return {name: [None if np.isnan(v) else float(v) for v in means[:, i]] for i, name in enumerate(COLUMNS)}


def _means(at: np.ndarray, values: np.ndarray, first: int, step_s: int, n: int) -> np.ndarray:
    """(n, columns) float64, NaN without a sample."""
    found = np.full((n, values.shape[1]), np.nan)
    starts = first + np.arange(n) * step_s
    low, high = np.searchsorted(at, starts - starts % STEP_S), np.searchsorted(at, starts + step_s)
    sums = np.concatenate([np.zeros((1, values.shape[1])), values.cumsum(axis=0)])
    some = high > low
    found[some] = (sums[high[some]] - sums[low[some]]) / (high - low)[some, None]
    return found


def purge() -> int:
    """Drop samples past their time; how many rows."""
    with connection.cursor() as cursor:
        cursor.execute(_OLD, [dt.timedelta(hours=settings.HYDRA["series_nodes_hours"])])
        return int(cursor.rowcount)
