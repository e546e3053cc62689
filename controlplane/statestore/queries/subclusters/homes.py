"""The sub-clusters a job may be sent to, with their load. One statement, read twice a second by every web process."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db import connection

from controlplane.statestore.limited import unpacked
from controlplane.statestore.loads import SILENT_S, demand
from controlplane.statestore.models import SubCluster
from controlplane.statestore.resourcecolumns import per_axis
from scheduler.federation.routing import HomeCandidate
from wire.resources import Amounts, amounts
from wire.states import NodeState

# What a leader says is the sum over its nodes; without one they are summed up here.
_READ = f"""
SELECT s.id, s.name, s.state, coalesce(e.expires_at > clock_timestamp() AND e.holder <> '', false),
       coalesce(n.open, l.nodes_up, 0), coalesce(n.capacity, l.capacity), l.free, l.pending, l.limited,
       coalesce(extract(epoch FROM l.at)::float8, 0)
  FROM statestore_subcluster s
  LEFT JOIN statestore_lease e ON e.sub_cluster_id = s.id
  LEFT JOIN statestore_load l ON l.sub_cluster_id = s.id
  LEFT JOIN LATERAL (
       SELECT count(*) FILTER (WHERE duty = 'in_service') AS open,
              ARRAY[{per_axis("coalesce(sum({0}), 0)")}]::bigint[] AS capacity
         FROM statestore_node
        WHERE sub_cluster_id = s.id AND state = %(up)s
          AND (l.at IS NULL OR l.at < clock_timestamp() - make_interval(secs => %(stale)s))
       HAVING l.at IS NULL OR l.at < clock_timestamp() - make_interval(secs => %(stale)s)
  ) n ON true
 WHERE s.state <> 'decommissioned'
 ORDER BY s.id
"""


@dataclass(frozen=True, slots=True)
class Home:
    """One sub-cluster. Amounts: along ``AXES``; demand is what is held and what waits for room.

    at: when its leader looked, in seconds of the epoch; 0: never. limited: by a
    queue's path, what waits for its maximum, beside that.
    """

    id: int
    name: str
    state: str
    led: bool
    nodes_up: int
    capacity: Amounts
    demand: Amounts
    at: float
    limited: Mapping[str, Amounts]

    def candidate(self) -> HomeCandidate:
        """As routing sees it, with what its leader last said."""
        accepts = self.state == SubCluster.State.RUNNING
        return HomeCandidate(
            self.id,
            self.name,
            accepts,
            self.led,
            self.nodes_up,
            self.capacity,
            list(self.demand),
            self.at,
            self.limited,
        )


def homes() -> list[Home]:
    """Every sub-cluster that has not left, by number."""
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"up": int(NodeState.UP), "stale": SILENT_S})
        return [_home(*row) for row in cursor.fetchall()]


def _home(
    number: int, name: str, state: str, led: bool, nodes_up: int,
    capacity: list[int], free: list[int] | None, pending: list[int] | None, limited: bytes | None, at: float,
) -> Home:  # fmt: skip
    whole = np.array(capacity, np.int64)
    idle, wanted = np.array(free or capacity, np.int64), np.array(pending or [0] * len(capacity), np.int64)
    waits = unpacked(limited)
    owed = demand(whole, idle, wanted, waits)
    return Home(number, name, state, led, nodes_up, amounts(capacity), amounts(owed.tolist()), at, waits.by_queue)
