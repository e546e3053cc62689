"""Maintenance windows: which there are, and which nodes each is about."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore.models import MaintenanceWindow, Node
from scheduler.core.nodeselection import NodePredicate, window_nodes
from scheduler.lifecycle.draining import window_phase
from wire.states import NodeState

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window that has neither ended nor been cancelled, and which nodes it is about."""

    row: MaintenanceWindow
    chooses: NodePredicate

    @classmethod
    def of(cls, row: MaintenanceWindow) -> "Window":
        return cls(row, window_nodes(row.node, row.rack, row.labels))

    def matches(self, node: Json) -> bool:
        return self.chooses(node["name"], node["rack"], node["labels"])

    def phase(self, now: dt.datetime) -> str:
        """As of ``window_phase``."""
        return window_phase(now, self.row.starts_at - dt.timedelta(seconds=self.row.lead_s), self.row.ends_at)

    def leads(self, now: dt.datetime) -> bool:
        """Whether it is about to begin: its nodes are being emptied."""
        return self.active(now) and now < self.row.starts_at

    def active(self, now: dt.datetime) -> bool:
        """Whether its nodes are kept from work already."""
        return self.phase(now) == "active"


def windows(sub_clusters: Iterable[int]) -> dict[int, list[Window]]:
    """By sub-cluster, in order of their start. One query."""
    found: dict[int, list[Window]] = defaultdict(list)
    rows = MaintenanceWindow.objects.filter(
        sub_cluster__in=set(sub_clusters), cancelled_at=None, ends_at__gt=clock.now()
    )
    for row in rows.order_by("starts_at", "id"):
        found[row.sub_cluster_id].append(Window.of(row))
    return found


def listed(user: User) -> list[Json]:
    """Windows that have not ended or been cancelled, the next one first. Tenants do not see who made them."""
    rows = list(
        MaintenanceWindow.objects.filter(cancelled_at=None, ends_at__gt=clock.now())
        .select_related("sub_cluster", "created_by")
        .order_by("starts_at", "id")
    )
    nodes = nodes_of({row.sub_cluster_id for row in rows})
    made_by = {} if sees_everything(user) else {"created_by": None}
    return [as_json(row, nodes) | made_by for row in rows]


def as_json(row: MaintenanceWindow, nodes: Iterable[Json]) -> Json:
    window, now = Window.of(row), clock.now()
    return {
        "id": row.pk,
        "sub_cluster": row.sub_cluster.name,
        "node": row.node,
        "rack": row.rack,
        "labels": row.labels,
        "starts_at": row.starts_at,
        "ends_at": row.ends_at,
        "lead_s": row.lead_s,
        "message": row.message,
        "state": "cancelled" if row.cancelled_at else "emptying" if window.leads(now) else window.phase(now),
        "nodes": sum(n["sub_cluster_id"] == row.sub_cluster_id and window.matches(n) for n in nodes),
        "created_at": row.created_at,
        "created_by": row.created_by.username if row.created_by else None,
    }


def nodes_of(sub_clusters: Iterable[int]) -> list[Json]:
    """What ``as_json`` needs to count the nodes of a window."""
    return list(
        Node.objects.filter(sub_cluster__in=sub_clusters)
        .exclude(state=NodeState.DECOMMISSIONED)
        .values("name", "rack", "labels", "sub_cluster_id")
    )
