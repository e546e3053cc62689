"""Sub-clusters as lists and one by one: their rows beside what their RMs last summed up.

A summary is missing while no RM leads or Redis does not answer; then the
measured fields are null or zero and the rows still tell what exists.
"""

from collections import defaultdict
from typing import Any

from django.db.models import Count, Sum

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore import bus
from controlplane.statestore.models import Node, SubCluster
from controlplane.statestore.queries.looks import shared
from wire.resources import AXES, NOTHING
from wire.states import NodeState
from wire.summary import Summary

from . import veil
from .life import lives

Json = dict[str, Any]


def sub_clusters(user: User) -> list[Json]:
    """Every sub-cluster with its leader, nodes and load; a tenant's own part of it. Few queries, mostly shared."""
    return veil.sub_clusters(user, all_sub_clusters())


def sub_cluster(user: User, name: str) -> Json | None:
    """One sub-cluster, or ``None``. Tenants do not see who operates it."""
    rows = list(SubCluster.objects.select_related("state_by").filter(name=name))
    by = rows[0].state_by.username if rows and rows[0].state_by and sees_everything(user) else None
    return veil.sub_clusters(user, _sub_clusters(rows))[0] | {"state_by": by} if rows else None


@shared
def all_sub_clusters() -> list[Json]:
    """The same for who sees everything; nobody changes it."""
    return _sub_clusters(list(SubCluster.objects.order_by("id")))


def _sub_clusters(rows: list[SubCluster]) -> list[Json]:
    found_lives = lives(rows)
    nodes: dict[int, Json] = defaultdict(
        lambda: {"states": defaultdict(int), "capacity": dict.fromkeys(AXES, 0), "duties": defaultdict(int)}
    )
    counted = (
        Node.objects.filter(sub_cluster__in=rows)
        .values("sub_cluster_id", "state", "duty")
        .annotate(n=Count("id"), **{f"sum_{a}": Sum(a) for a in AXES})
    )
    for row in counted:
        entry = nodes[row["sub_cluster_id"]]
        entry["states"][NodeState(row["state"]).name.lower()] += row["n"]
        if row["state"] != NodeState.DECOMMISSIONED:
            entry["duties"][row["duty"]] += row["n"]
        if row["state"] == NodeState.UP and row["duty"] == Node.Duty.IN_SERVICE:
            entry["duties"]["open"] += row["n"]
        if row["state"] in (NodeState.UP, NodeState.UNHEALTHY):
            for axis in AXES:
                entry["capacity"][axis] += row[f"sum_{axis}"]
    found = bus.summaries(row.pk for row in rows)
    return [_sub_cluster(row, found_lives[row.pk], nodes[row.pk], found.get(row.pk)) for row in rows]


def _sub_cluster(row: SubCluster, life: Json, nodes: Json, shown: Summary | None) -> Json:
    return {
        "id": row.pk,
        "name": row.name,
        "state": row.state,
        **life,
        "nodes": {state.name.lower(): nodes["states"].get(state.name.lower(), 0) for state in NodeState},
        "duties": {
            **_service(row, life, nodes),
            "cordoned": nodes["duties"][Node.Duty.CORDONED],
            "draining": sum(nodes["duties"][duty] for duty in Node.EMPTYING),
        },
        "capacity": nodes["capacity"],
        **_shown(shown),
    }


_NOTHING = Summary(
    at=0.0, epoch=0, leader="", policy_version=0, frozen=False, live=0, allocated=NOTHING, used_memory_mib=0,
    used_cpu_milli=0, pending_containers=0, pending=NOTHING,
)  # fmt: skip


def _shown(shown: Summary | None) -> Json:
    """What its leader last said; what nobody said is zero, or unknown."""
    s = shown or _NOTHING
    return {
        "allocated": dict(zip(AXES, s.allocated, strict=True)),
        "used": {"memory_mib": s.used_memory_mib, "cpu_milli": s.used_cpu_milli},
        "pending": {"containers": s.pending_containers, **dict(zip(AXES, s.pending, strict=True))},
        "live_containers": s.live,
        "frozen": s.frozen,
        "would_preempt": s.observed._asdict() if s.observed else None,
        "rounds": s.rounds,
        "placed": s.placed,
        "ended": s.ended,
        "round_ms": s.round_ms if shown else None,
        "rounds_per_s": s.rounds_per_s,
        "placed_per_s": s.placed_per_s,
        "ended_per_s": s.ended_per_s,
        "policy_version": s.policy_version if shown else None,
        "summary_age_s": round(max(0.0, clock.unix() - s.at), 1) if shown else None,
    }


def _service(row: SubCluster, life: Json, nodes: Json) -> dict[str, int]:
    """Of the nodes that are up: those that take containers, and those that are kept from them."""
    up = nodes["states"].get("up", 0)
    takes = 0 if row.state in (SubCluster.State.DRAINING, SubCluster.State.DECOMMISSIONED) else nodes["duties"]["open"]
    load = life["load"]
    if life["lease_ok"] and load and load["epoch"] == life["epoch"]:  # its leader knows of maintenance, too
        takes = min(takes, load["nodes_up"])
    return {"open": takes, "closed": up - takes}
