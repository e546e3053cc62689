"""What operators want of nodes and how far it has come; maintenance windows; what a drain would do."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore.models import Container, Intent, Job, MaintenanceWindow, Node, SubCluster
from scheduler.lifecycle.emptying import down_at_once, window_phase
from scheduler.placement.choice import Chooses, of_window
from wire.ids import format_container
from wire.resources import AXES
from wire.states import NodeState

from . import masters, rooms
from .headroom import headroom
from .queuetree import asked_partitions
from .rooms import Room

Json = dict[str, Any]
FIELDS = ("duty", "duty_message", "duty_deadline", "duty_at", "duty_by__username", "health_text")
Reach = Callable[[str, Sequence[int]], Collection[int]]  # of a queue: to which of these its jobs' tasks may go
_USED = """
SELECT node_id, sum(memory_mib)::bigint, sum(vcores_milli)::bigint, sum(bit_count(gpus::bit(64)))::bigint
  FROM statestore_container WHERE node_id = ANY(%s) GROUP BY 1
"""
EMPTYING = (Node.Duty.DRAINING, Node.Duty.DECOMMISSIONED)


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window that has neither ended nor been cancelled, and which nodes it is about."""

    row: MaintenanceWindow
    chooses: Chooses

    @classmethod
    def of(cls, row: MaintenanceWindow) -> "Window":
        return cls(row, of_window(row.node, row.rack, row.labels))

    def matches(self, node: Json) -> bool:
        return self.chooses(node["name"], node["rack"], node["labels"])

    def phase(self, now: dt.datetime) -> str:
        """As of ``window_phase``."""
        return window_phase(now, self.row.starts_at - dt.timedelta(seconds=self.row.lead_s), self.row.ends_at)

    def active(self, now: dt.datetime) -> bool:
        """Whether its nodes are kept from work already."""
        return self.phase(now) == "active"


def windows(sub_clusters: Iterable[int]) -> dict[int, list[Window]]:
    """By sub-cluster, in order of their start. One query."""
    found: dict[int, list[Window]] = defaultdict(list)
    rows = MaintenanceWindow.objects.filter(
        sub_cluster__in=set(sub_clusters), cancelled_at=None, ends_at__gt=timezone.now()
    )
    for row in rows.order_by("starts_at", "id"):
        found[row.sub_cluster_id].append(Window.of(row))
    return found


def standing(rows: Sequence[Json]) -> dict[int, Json]:
    """For each node row (with ``FIELDS``) what its JSON says of its duty. At most three queries."""
    now, of_sub = timezone.now(), windows(row["sub_cluster_id"] for row in rows)
    found = {row["id"]: _standing(row, of_sub[row["sub_cluster_id"]], now) for row in rows}
    leaving = [row["id"] for row in rows if _leaving(row, found[row["id"]])]
    if leaving:
        held = Container.objects.filter(node_id__in=leaving).values_list("node_id", flat=True).distinct()
        untold = Intent.objects.filter(kind=Intent.Kind.NODE, node_id__in=leaving).values_list("node_id", flat=True)
        for number in set(leaving) - set(held) - set(untold):
            found[number]["drained"] = True
    return found


def _leaving(row: Json, standing: Json) -> bool:
    emptied = row["duty"] in EMPTYING or row["sub_cluster__state"] == SubCluster.State.DRAINING
    return emptied or bool(standing["maintenance"] and standing["maintenance"]["active"])


def _standing(row: Json, of_sub: list[Window], now: dt.datetime) -> Json:
    matching = [w for w in of_sub if w.matches(row)]
    mine = next((w for w in matching if w.active(now)), matching[0] if matching else None)
    return {
        "duty": row["duty"],
        "message": row["duty_message"],
        "deadline": row["duty_deadline"],
        "duty_at": row["duty_at"],
        "drained": False,
        "maintenance": mine and {
            "id": mine.row.pk,
            "starts_at": mine.row.starts_at,
            "ends_at": mine.row.ends_at,
            "message": mine.row.message,
            "active": mine.active(now),
        },
    }  # fmt: skip


def maintenance_list(user: User) -> list[Json]:
    """Windows that have not ended or been cancelled, the next one first. Tenants do not see who made them."""
    rows = list(
        MaintenanceWindow.objects.filter(cancelled_at=None, ends_at__gt=timezone.now())
        .select_related("sub_cluster", "created_by")
        .order_by("starts_at", "id")
    )
    nodes = nodes_of({row.sub_cluster_id for row in rows})
    made_by = {} if sees_everything(user) else {"created_by": None}
    return [maintenance_json(row, nodes) | made_by for row in rows]


def maintenance_json(row: MaintenanceWindow, nodes: Iterable[Json]) -> Json:
    window, now = Window.of(row), timezone.now()
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
        "state": "cancelled" if row.cancelled_at else window.phase(now),
        "nodes": sum(n["sub_cluster_id"] == row.sub_cluster_id and window.matches(n) for n in nodes),
        "created_at": row.created_at,
        "created_by": row.created_by.username if row.created_by else None,
    }


def nodes_of(sub_clusters: Iterable[int]) -> list[Json]:
    """What ``maintenance_json`` needs to count the nodes of a window."""
    return list(
        Node.objects.filter(sub_cluster__in=sub_clusters)
        .exclude(state=NodeState.DECOMMISSIONED)
        .values("name", "rack", "labels", "sub_cluster_id")
    )


# --- what a drain would do


def drain_preview(node: Node, deadline_s: int | None, reach: Reach) -> Json:
    """What runs there, whether the services fit elsewhere now, and what would be stopped at the deadline.

    They fit where nodes have room and the maxima of their queues allow it.
    """
    now = timezone.now()
    deadline = None if deadline_s is None else now + dt.timedelta(seconds=deadline_s)
    held = list(Container.objects.filter(node_id=node.pk).order_by("job_id", "group_no", "task_index"))
    jobs = {j.pk: j for j in Job.objects.filter(pk__in={c.job_id for c in held}).select_related("owner")}
    services: dict[tuple[int, int], list[Container]] = defaultdict(list)
    batch = []
    for c in held:
        if c.job_id in jobs and jobs[c.job_id].kind == Job.Kind.SERVICE:
            services[c.job_id, c.group_no].append(c)
        elif c.job_id in jobs:
            batch.append(_batch(c, jobs[c.job_id], now, deadline))
    found = _moves(node, [(jobs[job], no, tasks) for (job, no), tasks in services.items()], reach)
    return {
        "node": node.pk,
        "name": node.name,
        "at": now,
        "deadline": deadline,
        "services": found,
        "services_fit": all(s["fit"] == len(s["tasks"]) for s in found),
        "batch": batch,
        **{outcome: sum(b["outcome"] == outcome for b in batch) for outcome in ("ends", "stopped", "unknown")},
    }


def _batch(c: Container, job: Job, now: dt.datetime, deadline: dt.datetime | None) -> Json:
    group = masters.container_spec(c, job.spec)
    estimate = group.get("estimated_duration_s")
    ends_at = (c.started_at or c.allocated_at) + dt.timedelta(seconds=estimate) if estimate else None
    if deadline is None:
        outcome = "ends"
    elif ends_at is None or ends_at < now:  # nobody knows, or it has outlived its estimate
        outcome = "unknown"
    else:
        outcome = "ends" if ends_at <= deadline else "stopped"
    return {
        "job": job.pk,
        "job_name": job.name,
        "owner": job.owner.username,
        "group": group["name"],
        "index": c.task_index,
        "container": format_container(c.pk),
        "started_at": c.started_at,
        "ends_at": ends_at,
        "outcome": outcome,
    }


def _rooms(leaving: Node) -> dict[int, list[Room]]:
    """By sub-cluster, its own and those that take work: the other nodes that take containers now."""
    subs = {*SubCluster.objects.filter(state=SubCluster.State.RUNNING).values_list("pk", flat=True)}
    subs.add(leaving.sub_cluster_id)
    now, planned = timezone.now(), windows(subs)
    up = Node.objects.filter(sub_cluster__in=subs, state=NodeState.UP, health=0, duty=Node.Duty.IN_SERVICE)
    rows = up.exclude(pk=leaving.pk).values("id", "name", "rack", "labels", "sub_cluster_id", *AXES)
    nodes = [n for n in rows if not any(w.active(now) and w.matches(n) for w in planned[n["sub_cluster_id"]])]
    with connection.cursor() as cursor:
        cursor.execute(_USED, [[n["id"] for n in nodes]])
        used = {node_id: amounts for node_id, *amounts in cursor.fetchall()}
    found: dict[int, list[Room]] = {sub: [] for sub in subs}
    for n, room in zip(nodes, rooms.of(nodes, used), strict=True):
        found[n["sub_cluster_id"]].append(room)
    return found


def _moves(leaving: Node, services: list[tuple[Job, int, list[Container]]], reach: Reach) -> list[Json]:
    """How many of these services' tasks start again, one service after the other: all of them leave first."""
    if not services:
        return []
    own, free, may_hold = leaving.sub_cluster_id, _rooms(leaving), headroom()
    partition_of = asked_partitions()
    of = [partition_of(job.queue, job.spec["groups"][no].get("partition")) for job, no, _ in services]
    for (job, _, tasks), partition in zip(services, of, strict=True):
        may_hold.take(own, partition, job.queue, _shape(tasks), -len(tasks))
    found = []
    for (job, no, tasks), partition in zip(services, of, strict=True):
        fit, shape = 0, _shape(tasks)
        for sub in _may_use(job, own, free, reach):
            wanted = may_hold.units(sub, partition, job.queue, shape, len(tasks) - fit)
            there = rooms.of_partition(free[sub], partition)
            started = rooms.fit(shape, wanted, job.spec["groups"][no], there)
            may_hold.take(sub, partition, job.queue, shape, started)
            fit += started
        found.append(_service(job, no, tasks, fit))
    return found


def _may_use(job: Job, own: int, free: dict[int, list[Room]], reach: Reach) -> list[int]:
    """Sub-clusters that the job's tasks may use; the one they leave first."""
    subs = {own, job.home_id, *reach(job.queue, [job.home_id, *free])} & free.keys()
    return sorted(subs, key=lambda sub: (sub != own, sub))


def _shape(tasks: list[Container]) -> list[int]:
    return [tasks[0].memory_mib, tasks[0].vcores_milli, tasks[0].gpus.bit_count()]


def _service(job: Job, no: int, tasks: list[Container], fit: int) -> Json:
    group = job.spec["groups"][no]
    return {
        "job": job.pk,
        "job_name": job.name,
        "owner": job.owner.username,
        "group": group["name"],
        "tasks": [c.task_index for c in tasks],
        "count": group["count"],
        "at_once": down_at_once(group["count"]),
        "resources": dict(zip(AXES, _shape(tasks), strict=True)),
        "fit": fit,
    }
