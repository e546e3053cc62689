"""Sub-clusters, nodes and the overview: rows of the StateStore beside what the RMs last summed up.

A summary is missing while no RM leads or Redis does not answer; then the
measured fields are null or zero and the rows still tell what exists.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything, visible_jobs_q
from controlplane.statestore import bus
from controlplane.statestore.capacities import AXES
from controlplane.statestore.models import Job, Lease, Node, PolicyVersion, SubCluster
from wire.states import JobState, NodeHealth, NodeState

from . import nodelife
from .paging import Cursor, Page, page
from .queues import queues, whole

Json = dict[str, Any]
_FAULTS = sum(NodeHealth)  # a newer node may know others
_NODE_FIELDS = (
    "id",
    "name",
    "sub_cluster_id",
    "sub_cluster__name",
    "rack",
    "labels",
    "memory_mib",
    "vcores_milli",
    "gpus",
    "enforces",
    "host",
    "version",
    "state",
    "health",
    *nodelife.FIELDS,
)


def _measures(summary: Json | None) -> dict[int, list[Any]]:
    """Node number -> its row in the summary; rows of another length are left out."""
    rows = (summary or {}).get("nodes") or []
    return {row[0]: row for row in rows if isinstance(row, list) and len(row) >= 11}


def sub_clusters() -> list[Json]:
    """Every sub-cluster with its leader, nodes and load. Three queries."""
    rows = list(SubCluster.objects.order_by("id"))
    leases = {lease.pk: lease for lease in Lease.objects.annotate(live=Q(expires_at__gt=Now()) & ~Q(holder=""))}
    nodes: dict[int, Json] = defaultdict(
        lambda: {"states": defaultdict(int), "capacity": dict.fromkeys(AXES, 0), "duties": defaultdict(int)}
    )
    counted = Node.objects.values("sub_cluster_id", "state", "duty").annotate(
        n=Count("id"), **{f"sum_{a}": Sum(a) for a in AXES}
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
    return [_sub_cluster(row, leases.get(row.pk), nodes[row.pk], found.get(row.pk)) for row in rows]


def _sub_cluster(row: SubCluster, lease: Any, nodes: Json, summary: Json | None) -> Json:
    measured = list(_measures(summary).values())
    s = summary or {}
    return {
        "id": row.pk,
        "name": row.name,
        "state": row.state,
        "leader": lease.holder if lease and lease.live else None,
        "epoch": lease.epoch if lease else 0,
        "lease_ok": bool(lease and lease.live),
        "nodes": {state.name.lower(): nodes["states"].get(state.name.lower(), 0) for state in NodeState},
        "duties": {
            "open": nodes["duties"]["open"],
            "cordoned": nodes["duties"][Node.Duty.CORDONED],
            "draining": sum(nodes["duties"][duty] for duty in nodelife.EMPTYING),
        },
        "capacity": nodes["capacity"],
        "allocated": {axis: sum(whole(m[3 + i]) for m in measured) for i, axis in enumerate(AXES)},
        "used": {"memory_mib": sum(whole(m[6]) for m in measured), "cpu_milli": sum(whole(m[7]) for m in measured)},
        "pending": s.get("pending") or {"containers": 0, "memory_mib": 0, "vcores_milli": 0, "gpus": 0},
        "live_containers": whole(s.get("live")),
        "frozen": bool(s.get("frozen")),
        "rounds": whole(s.get("rounds")),
        "placed": whole(s.get("placed")),
        "ended": whole(s.get("ended")),
        "round_ms": s.get("round_ms"),
        "rounds_per_s": s.get("rounds_per_s"),
        "placed_per_s": s.get("placed_per_s"),
        "policy_version": s.get("policy_version"),
        "summary_age_s": round(max(0.0, time.time() - s["at"]), 1) if isinstance(s.get("at"), int | float) else None,
    }


def nodes_page(user: User, at: Cursor, size: int, sub_cluster: str | None = None, name: str | None = None) -> Page:
    """One page of nodes by number. At most four queries."""
    found = Node.objects.order_by("-id" if at.back else "id")
    if sub_cluster is not None:
        found = found.filter(sub_cluster__name=sub_cluster)
    if name is not None:
        found = found.filter(name=name)
    if at.key:
        found = found.filter(id__lt=at.key[0]) if at.back else found.filter(id__gt=at.key[0])
    rows = list(found.values(*_NODE_FIELDS)[: size + 1])
    return page(nodes_json(user, rows), [(row["id"],) for row in rows], size, at)


def node(user: User, node_id: int) -> Json | None:
    """One node, or ``None``. At most four queries."""
    if not 0 < node_id < 2**63:
        return None
    rows = list(Node.objects.filter(pk=node_id).values(*_NODE_FIELDS))
    return nodes_json(user, rows)[0] if rows else None


def nodes_json(user: User, rows: Iterable[Json]) -> list[Json]:
    rows = list(rows)
    summaries = bus.summaries({row["sub_cluster_id"] for row in rows})
    measures = {s: _measures(summary) for s, summary in summaries.items()}
    everything = sees_everything(user)
    standing = nodelife.standing(rows)
    return [
        standing[row["id"]] | _node(row, measures.get(row["sub_cluster_id"], {}).get(row["id"]), everything)
        for row in rows
    ]


def _node(row: Json, m: list[Any] | None, everything: bool) -> Json:
    """Node JSON without its standing. Tenants do not see where a node is, how it is built and who operates it."""
    state = m[1] if m and m[1] in NodeState.__members__.values() else row["state"]
    health = NodeHealth((whole(m[2]) if m else row["health"]) & _FAULTS)
    return {
        "id": row["id"],
        "name": row["name"],
        "sub_cluster": row["sub_cluster__name"],
        "rack": row["rack"],
        "state": NodeState(state).name,
        "health": [fault.name for fault in health],
        "health_text": row["health_text"] if everything and health & NodeHealth.SCRIPT else "",
        "labels": row["labels"],
        "capacity": {axis: row[axis] for axis in AXES},
        "allocated": {axis: whole(m[3 + i]) if m else 0 for i, axis in enumerate(AXES)},
        "used": {"memory_mib": whole(m[6]) if m else 0, "cpu_milli": whole(m[7]) if m else 0},
        "containers": whole(m[8]) if m else 0,
        "last_seen_s": round(m[9] / 1000, 1) if m and isinstance(m[9], int | float) else None,
        "enforces": row["enforces"],
        "host": row["host"] if everything else "",
        "version": row["version"] if everything else "",
        "duty_by": row["duty_by__username"] if everything else None,
    }


def overview(user: User) -> Json:
    """The whole federation at a glance. Nine queries; job counts are those of jobs ``user`` may see."""
    subs = sub_clusters()
    live = _live_jobs(user)
    version = PolicyVersion.objects.filter(active=True).values_list("pk", flat=True).first()
    return {
        "at": time.time(),
        "policy_version": version,
        "sub_clusters": subs,
        "nodes": {s.name.lower(): sum(sub["nodes"][s.name.lower()] for sub in subs) for s in NodeState},
        "capacity": _total(subs, "capacity", AXES),
        "allocated": _total(subs, "allocated", AXES),
        "used": _total(subs, "used", ("memory_mib", "cpu_milli")),
        "pending": _total(subs, "pending", ("containers", *AXES)),
        "live_containers": sum(sub["live_containers"] for sub in subs),
        "jobs": live,
        "queues": queues(user),
    }


def _total(subs: list[Json], what: str, axes: Iterable[str]) -> dict[str, int]:
    return {axis: sum(whole(sub[what].get(axis)) for sub in subs) for axis in axes}


def _live_jobs(user: User) -> dict[str, int]:
    """Live jobs by state; served by the index of live jobs, so history does not slow it."""
    counted = dict.fromkeys((s.name for s in JobState if s < JobState.SUCCEEDED), 0)
    live = Job.objects.filter(visible_jobs_q(user), state__lt=JobState.SUCCEEDED)
    for state, n in live.values_list("state").annotate(n=Count("id")):
        counted[JobState(state).name] = n
    return counted
