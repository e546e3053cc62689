"""Sub-clusters, nodes and the overview: rows of the StateStore beside what the RMs last summed up.

A summary is missing while no RM leads or Redis does not answer; then the
measured fields are null or zero and the rows still tell what exists.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Sum

from controlplane.accounts.models import User
from controlplane.accounts.rights import access, is_tenant, sees_everything, visible_jobs_q
from controlplane.statestore import bus
from controlplane.statestore.models import Job, Node, SubCluster
from controlplane.statestore.nodeloads import NodeLoads
from wire.resources import AXES
from wire.states import JobState, NodeHealth, NodeState
from wire.summary import Summary

from . import nodelife, veil
from .looks import shared
from .ownuse import own_use
from .paging import Cursor, Page, by_number, page
from .queues import queues
from .queuetree import in_force
from .subclusterlife import lives

Json = dict[str, Any]
QUEUES_MOST = 100  # of the overview; all of them stand under their own address
_FAULTS = sum(NodeHealth)  # a newer node may know others
_NODE_FIELDS = (
    "id",
    "name",
    "sub_cluster_id",
    "sub_cluster__name",
    "sub_cluster__state",
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


def sub_clusters(user: User) -> list[Json]:
    """Every sub-cluster with its leader, nodes and load; a tenant's own part of it. Few queries, mostly shared."""
    return veil.sub_clusters(user, _all_sub_clusters())


def sub_cluster(user: User, name: str) -> Json | None:
    """One sub-cluster, or ``None``. Tenants do not see who operates it."""
    rows = list(SubCluster.objects.select_related("state_by").filter(name=name))
    by = rows[0].state_by.username if rows and rows[0].state_by and sees_everything(user) else None
    return veil.sub_clusters(user, _sub_clusters(rows))[0] | {"state_by": by} if rows else None


@shared
def _all_sub_clusters() -> list[Json]:
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
            "draining": sum(nodes["duties"][duty] for duty in nodelife.EMPTYING),
        },
        "capacity": nodes["capacity"],
        **_shown(shown),
    }


_NOTHING = Summary(
    at=0.0, epoch=0, leader="", policy_version=0, frozen=False, live=0, allocated=(0, 0, 0), used_memory_mib=0,
    used_cpu_milli=0, pending_containers=0, pending=(0, 0, 0),
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
        "summary_age_s": round(max(0.0, time.time() - s.at), 1) if shown else None,
    }


def _service(row: SubCluster, life: Json, nodes: Json) -> dict[str, int]:
    """Of the nodes that are up: those that take containers, and those that are kept from them."""
    up = nodes["states"].get("up", 0)
    takes = 0 if row.state in (SubCluster.State.DRAINING, SubCluster.State.DECOMMISSIONED) else nodes["duties"]["open"]
    load = life["load"]
    if life["lease_ok"] and load and load["epoch"] == life["epoch"]:  # its leader knows of maintenance, too
        takes = min(takes, load["nodes_up"])
    return {"open": takes, "closed": up - takes}


def nodes_page(
    user: User, at: Cursor, size: int, sub_cluster: str | None = None, name: str | None = None, part: str | None = None
) -> Page:
    """One page of nodes by number, those whose name contains ``part``. At most four queries."""
    found = Node.objects.values(*_NODE_FIELDS)
    if sub_cluster is not None:
        found = found.filter(sub_cluster__name=sub_cluster)
    if name is not None:
        found = found.filter(name=name)
    if part:
        found = found.filter(name__contains=part)
    rows = by_number(found, at, size)
    return page(nodes_json(user, rows), [(row["id"],) for row in rows], size, at)


def node(user: User, node_id: int) -> Json | None:
    """One node, or ``None``. At most four queries."""
    if not 0 < node_id < 2**63:
        return None
    rows = list(Node.objects.filter(pk=node_id).values(*_NODE_FIELDS))
    return nodes_json(user, rows)[0] if rows else None


def nodes_json(user: User, rows: Iterable[Json]) -> list[Json]:
    rows = list(rows)
    loads = bus.node_loads({row["sub_cluster_id"] for row in rows})
    everything = sees_everything(user)
    standing = nodelife.standing(rows)
    found = [
        standing[row["id"]] | _node(row, _measured(loads.get(row["sub_cluster_id"]), row["id"]), everything)
        for row in rows
    ]
    return veil.nodes(user, found)


_MEASURED = ("state", "health", *AXES, "used_memory_mib", "used_cpu_milli", "containers", "age_ms")


def _measured(loads: NodeLoads | None, node_id: int) -> dict[str, int] | None:
    """What its RM last said of the node, or ``None``."""
    at = loads.position(node_id) if loads else None
    return None if at is None else {name: int(getattr(loads, name)[at]) for name in _MEASURED}


def _node(row: Json, m: dict[str, int] | None, everything: bool) -> Json:
    """Node JSON without its standing. Tenants do not see where a node is, how it is built and who operates it."""
    state = m["state"] if m and m["state"] in NodeState.__members__.values() else row["state"]
    health = NodeHealth((m["health"] if m else row["health"]) & _FAULTS)
    return {
        "id": row["id"],
        "name": row["name"],
        "sub_cluster": row["sub_cluster__name"],
        "sub_cluster_state": row["sub_cluster__state"],
        "rack": row["rack"],
        "state": NodeState(state).name,
        "health": [fault.name for fault in health],
        "health_text": row["health_text"] if everything and health & NodeHealth.SCRIPT else "",
        "labels": row["labels"],
        "capacity": {axis: row[axis] for axis in AXES},
        "allocated": {axis: m[axis] if m else 0 for axis in AXES},
        "used": {"memory_mib": m["used_memory_mib"] if m else 0, "cpu_milli": m["used_cpu_milli"] if m else 0},
        "containers": m["containers"] if m else 0,
        "last_seen_s": round(m["age_ms"] / 1000, 1) if m else None,
        "enforces": row["enforces"],
        "host": row["host"] if everything else "",
        "version": row["version"] if everything else "",
        "duty_by": row["duty_by__username"] if everything else None,
    }


def overview(user: User) -> Json:
    """The whole federation at a glance: the highest queues only, jobs that ``user`` may see.

    ``scope``: ``own`` where what is allocated, used and waiting is the account's own part. As many queries
    whatever the fleet's size, most of them shared with other accounts' looks.
    """
    subs = sub_clusters(user)
    live = _live_jobs(user)
    tree = in_force()
    return {
        "at": time.time(),
        "scope": "all" if sees_everything(user) else "own",
        "policy_version": tree and tree.version,
        "sub_clusters": subs,
        "duties": {
            what: sum(sub["duties"][what] for sub in subs) for what in ("open", "closed", "cordoned", "draining")
        },
        "nodes": {s.name.lower(): sum(sub["nodes"][s.name.lower()] for sub in subs) for s in NodeState},
        "capacity": _total(subs, "capacity", AXES),
        "allocated": _total(subs, "allocated", AXES),
        "used": _total(subs, "used", ("memory_mib", "cpu_milli")),
        "pending": _total(subs, "pending", ("containers", *AXES)),
        "live_containers": sum(sub["live_containers"] for sub in subs),
        "jobs": live,
        "queues": queues(user, QUEUES_MOST),
    }


def _total(subs: list[Json], what: str, axes: Iterable[str]) -> dict[str, int]:
    return {axis: sum(sub[what][axis] for sub in subs) for axis in axes}


def _live_jobs(user: User) -> dict[str, int]:
    """Live jobs by state; served by the index of live jobs, so history does not slow it."""
    counted = dict.fromkeys((s.name for s in JobState if s < JobState.SUCCEEDED), 0)
    counts: Iterable[tuple[int, int]]
    if is_tenant(user) and not access(user):
        counts = own_use(user.pk).states.items()
    else:
        live = Job.objects.filter(visible_jobs_q(user), state__lt=JobState.SUCCEEDED)
        counts = live.values_list("state").annotate(n=Count("id"))
    for state, n in counts:
        counted[JobState(state).name] = n
    return counted
