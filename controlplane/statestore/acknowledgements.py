"""Which policy version each part says it runs: one row a part, written by itself when it took another version in.

Nodes are counted by their RM, never a row each. Times are the database's.
``seconds`` is since the push, and null for a part that started after it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EXPIRES_S = 15.0  # of a part that says nothing any more; RMs have their leases
FORGOTTEN_S = 3600.0
LAGGARDS_MAX = 100

# Asynchronous: what is lost with the server is said again.
_PUT = """
WITH soon AS (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO statestore_acknowledgement AS a (kind, name, sub_cluster_id, epoch, version, at, seconds, seen_at, nodes,
    laggards, spread, slowest_s)
SELECT %(kind)s, {name}, %(sub)s, %(epoch)s, %(version)s, clock_timestamp(), NULL, clock_timestamp(), %(nodes)s::jsonb,
       %(laggards)s::jsonb, %(spread)s::jsonb, %(slowest_s)s FROM soon {source}
    ON CONFLICT (kind, name) DO UPDATE
   SET epoch = EXCLUDED.epoch, version = EXCLUDED.version, seen_at = EXCLUDED.seen_at,
       at = CASE WHEN a.version = EXCLUDED.version THEN a.at ELSE EXCLUDED.at END,
       seconds = CASE WHEN a.version = EXCLUDED.version THEN a.seconds
                      ELSE greatest(0, extract(epoch FROM EXCLUDED.at) - %(pushed_us)s / 1e6) END,
       nodes = EXCLUDED.nodes, laggards = EXCLUDED.laggards,
       spread = CASE WHEN a.version = EXCLUDED.version AND EXCLUDED.slowest_s IS NULL THEN a.spread
                     ELSE EXCLUDED.spread END,
       slowest_s = CASE WHEN a.version = EXCLUDED.version THEN coalesce(EXCLUDED.slowest_s, a.slowest_s)
                        ELSE EXCLUDED.slowest_s END
 WHERE a.epoch <= EXCLUDED.epoch
"""
_PUT_PART = _PUT.format(name="%(name)s", source="")
_PUT_RM = _PUT.format(name="s.name", source="JOIN statestore_subcluster s ON s.id = %(sub)s")
_FORGET = """
DELETE FROM statestore_acknowledgement
 WHERE kind <> 'rm' AND (kind = %s AND name = %s OR seen_at < clock_timestamp() - make_interval(secs => %s))
"""


@dataclass(frozen=True, slots=True)
class NodesRun:
    """What a sub-cluster's nodes run. counts: version -> nodes that are not lost. laggards: at most 100 names.

    spread: (ms since the push, nodes), rising; of nodes that changed to the
    version while they were watched. slowest_s: the longest, exactly; None without any.
    """

    counts: Mapping[int, int] = field(default_factory=dict)
    laggards: Sequence[str] = ()
    spread: Sequence[tuple[int, int]] = ()
    slowest_s: float | None = None


def put_rm(cursor: Any, sub_cluster: int, epoch: int, version: int, pushed_us: int, nodes: NodesRun) -> bool:
    """Write the row of that sub-cluster's RM; False when a leader of a higher epoch has written it.

    cursor: of psycopg or of Django. pushed_us: when the version became the
    sub-cluster's, microseconds since 1970 on the database's clock.
    """
    values = {"kind": "rm", "sub": sub_cluster, "epoch": epoch, "version": version, "pushed_us": pushed_us}
    cursor.execute(_PUT_RM, values | _nodes(nodes))
    return bool(cursor.rowcount)


def put(cursor: Any, kind: str, name: str, version: int, pushed_us: int) -> None:
    """Write, or renew, the row of one process."""
    values = {"kind": kind, "name": name, "sub": None, "epoch": 0, "version": version, "pushed_us": pushed_us}
    cursor.execute(_PUT_PART, values | _nodes(NodesRun()))


def forget(cursor: Any, kind: str, name: str) -> None:
    """Drop what an earlier process of that name has said, and rows of processes long gone."""
    cursor.execute(_FORGET, (kind, name, FORGOTTEN_S))


def _nodes(nodes: NodesRun) -> dict[str, Any]:
    return {
        "nodes": json.dumps({str(version): n for version, n in nodes.counts.items()}),
        "laggards": json.dumps(list(nodes.laggards)),
        "spread": json.dumps(list(nodes.spread)),
        "slowest_s": nodes.slowest_s,
    }
