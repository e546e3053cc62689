"""Nodes as lists and one by one: their rows beside what their RMs last said of them.

While no RM leads or Redis does not answer, what is measured is zero and the
rows still tell what exists.
"""

from collections.abc import Iterable
from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore import bus
from controlplane.statestore.models import Node
from controlplane.statestore.nodeloads import NodeLoads
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page
from wire.resources import AXES
from wire.states import NodeHealth, NodeState

from . import duty, veil

Json = dict[str, Any]
_FAULTS = sum(NodeHealth)  # a newer node may know others
_FIELDS = (
    "id",
    "name",
    "sub_cluster_id",
    "sub_cluster__name",
    "sub_cluster__state",
    "rack",
    "labels",
    *AXES,
    "enforces",
    "host",
    "version",
    "state",
    "health",
    *duty.FIELDS,
)


def list_page(
    user: User, at: Cursor, size: int, sub_cluster: str | None = None, name: str | None = None, part: str | None = None
) -> Page:
    """One page of nodes by number, those whose name contains ``part``. At most four queries."""
    found = Node.objects.values(*_FIELDS)
    if sub_cluster is not None:
        found = found.filter(sub_cluster__name=sub_cluster)
    if name is not None:
        found = found.filter(name=name)
    if part:
        found = found.filter(name__contains=part)
    rows = by_number(found, at, size)
    return page(as_json(user, rows), [(row["id"],) for row in rows], size, at)


def one(user: User, node_id: int) -> Json | None:
    """One node, or ``None``. At most four queries."""
    if not 0 < node_id < 2**63:
        return None
    rows = list(Node.objects.filter(pk=node_id).values(*_FIELDS))
    return as_json(user, rows)[0] if rows else None


def as_json(user: User, rows: Iterable[Json]) -> list[Json]:
    rows = list(rows)
    loads = bus.node_loads({row["sub_cluster_id"] for row in rows})
    everything = sees_everything(user)
    standing = duty.standing(rows)
    found = [
        standing[row["id"]] | _node(row, _measured(loads.get(row["sub_cluster_id"]), row["id"]), everything)
        for row in rows
    ]
    return veil.nodes(user, found)


_MEASURED = ("state", "health", "used_memory_mib", "used_cpu_milli", "containers", "age_ms")


def _measured(loads: NodeLoads | None, node_id: int) -> dict[str, int] | None:
    """What its RM last said of the node, or ``None``."""
    at = loads.position(node_id) if loads else None
    if loads is None or at is None:
        return None
    columns = {name: getattr(loads, name) for name in _MEASURED} | loads.allocated
    return {name: int(column[at]) for name, column in columns.items()}


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
