"""How the cluster is, as the StateStore and the RMs' summaries tell it: leaders and nodes."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.db import connection

from controlplane import clock
from controlplane.statestore import bus
from controlplane.statestore.models import Node, SubCluster
from wire.states import NodeState

WAIT_S = 30.0
POLL_S = 0.2
_LEASES = """
SELECT s.id, s.name, l.epoch, l.holder, l.expires_at > clock_timestamp(),
       extract(epoch FROM clock_timestamp() - l.expires_at)::float
  FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state <> 'decommissioned' ORDER BY s.id
"""


@dataclass(frozen=True)
class Leader:
    """``behind_s``: age of the leader's summary, None without one."""

    sub_cluster_id: int
    sub_cluster: str
    epoch: int
    holder: str
    alive: bool
    behind_s: float | None


@dataclass(frozen=True)
class NodeView:
    name: str
    sub_cluster: str
    state: str
    age_s: float | None


def leaders() -> list[Leader]:
    with connection.cursor() as cursor:
        cursor.execute(_LEASES)
        rows = cursor.fetchall()
    summaries = bus.summaries([sub for sub, *_ in rows])
    now = clock.unix()
    return [
        Leader(s, name, epoch, holder, bool(alive), now - summaries[s].at if s in summaries else None)
        for s, name, epoch, holder, alive, _ in rows
    ]


def decommissioned(names: Collection[str]) -> list[str]:
    """Which of these sub-clusters are."""
    found = SubCluster.objects.filter(name__in=names, state=SubCluster.State.DECOMMISSIONED)
    return list(found.order_by("id").values_list("name", flat=True))


def nodes() -> list[NodeView]:
    """Every registered node; state and age from the RM's summary where there is one."""
    rows = Node.objects.select_related("sub_cluster").order_by("sub_cluster_id", "name")
    found = list(rows)
    states: dict[int, int] = {}
    age_ms: dict[int, int] = {}
    for loads in bus.node_loads({n.sub_cluster_id for n in found}).values():
        ids = loads.id.tolist()
        states.update(zip(ids, loads.state.tolist(), strict=True))
        age_ms.update(zip(ids, loads.age_ms.tolist(), strict=True))
    return [
        NodeView(
            node.name,
            node.sub_cluster.name,
            _state(node, states.get(node.pk, node.state)),
            age_ms[node.pk] / 1000 if node.pk in age_ms else None,
        )
        for node in found
    ]


def _state(node: Node, state: int) -> str:
    """What nobody leads any more, nobody says anything of either."""
    gone = node.sub_cluster.state == SubCluster.State.DECOMMISSIONED
    return (NodeState.DECOMMISSIONED if gone else NodeState(state)).name


def wait_until_ready(sub_clusters: Collection[str], nodes_each: int, show: Callable[[str], None]) -> bool:
    """Until every sub-cluster has a leader and every node is up; False when that takes too long (it may still come)."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        led = {leader.sub_cluster for leader in leaders() if leader.alive}
        up = sum(node.state == "UP" and node.sub_cluster in sub_clusters for node in nodes())
        if led >= set(sub_clusters) and up >= nodes_each * len(sub_clusters):
            return True
        show(f"{len(led)} of {len(sub_clusters)} sub-clusters led, {up} of {nodes_each * len(sub_clusters)} nodes up")
        time.sleep(POLL_S)
    return False
