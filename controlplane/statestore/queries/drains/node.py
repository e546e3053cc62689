"""What draining a node would do: what runs there, what moves, and what would be stopped."""

import datetime as dt
from collections import defaultdict
from typing import Any, NamedTuple

from contract import stored
from contract.stored import StoredGroup
from controlplane import clock
from controlplane.statestore.models import Container, Job, Node, SubCluster
from controlplane.statestore.queries.jobs.masters import container_spec
from controlplane.statestore.queries.jobs.services import counts
from controlplane.statestore.queries.nodes.maintenance import windows
from controlplane.statestore.queries.queues.tree import asked_partitions
from scheduler.lifecycle.draining import max_unavailable
from wire.ids import format_container
from wire.resources import AXES
from wire.states import NodeState

from . import rooms
from .headroom import headroom
from .rooms import Constraints, Reach, Room

Json = dict[str, Any]


class Service(NamedTuple):
    """A group of a service with tasks on the node that leaves. count: how many it has in all."""

    job: Job
    group: StoredGroup
    count: int
    tasks: list[Container]

    @property
    def shape(self) -> list[int]:
        """What a task has, along the axis of resources."""
        first = self.tasks[0]
        return [first.gpus.bit_count() if axis == "gpus" else getattr(first, axis) for axis in AXES]


def preview(node: Node, deadline_s: int | None, reach: Reach) -> Json:
    """What runs there, whether the services fit elsewhere now, and what would be stopped at the deadline.

    They fit where nodes have room and the maxima of their queues allow it.
    """
    now = clock.now()
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
    specs = {job: stored.job(jobs[job].spec) for job, _ in services}
    count = counts(jobs[job] for job in specs)
    leaving = [Service(jobs[job], specs[job].groups[no], count[job, no], its) for (job, no), its in services.items()]
    found = _moves(node, leaving, reach)
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
    group = stored.group(container_spec(c, job.spec))
    estimate = group.estimated_duration_s
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
        "group": group.name,
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
    now, planned = clock.now(), windows(subs)
    up = Node.objects.filter(sub_cluster__in=subs, state=NodeState.UP, health=0, duty=Node.Duty.IN_SERVICE)
    rows = up.exclude(pk=leaving.pk).values("id", "name", "rack", "labels", "sub_cluster_id", *AXES)
    nodes = [n for n in rows if not any(w.active(now) and w.matches(n) for w in planned[n["sub_cluster_id"]])]
    used = rooms.used("node_id", [n["id"] for n in nodes])
    found: dict[int, list[Room]] = {sub: [] for sub in subs}
    for n, room in zip(nodes, rooms.of(nodes, used), strict=True):
        found[n["sub_cluster_id"]].append(room)
    return found


def _moves(leaving: Node, services: list[Service], reach: Reach) -> list[Json]:
    """How many of these services' tasks start again, one service after the other: all of them leave first."""
    if not services:
        return []
    own, free, may_hold = leaving.sub_cluster_id, _rooms(leaving), headroom()
    partition_of = asked_partitions()
    of = [partition_of(s.job.queue, s.group.partition) for s in services]
    for s, partition in zip(services, of, strict=True):
        may_hold.take(own, partition, s.job.queue, s.shape, -len(s.tasks))
    found = []
    for s, partition in zip(services, of, strict=True):
        fit, queue, constraints = 0, s.job.queue, Constraints.of(s.group)
        for sub in _may_use(s.job, own, free, reach):
            wanted = may_hold.units(sub, partition, queue, s.shape, len(s.tasks) - fit)
            there = rooms.of_partition(free[sub], partition)
            started = rooms.fit(s.shape, wanted, constraints, there)
            may_hold.take(sub, partition, queue, s.shape, started)
            fit += started
        found.append(_service(s, fit))
    return found


def _may_use(job: Job, own: int, free: dict[int, list[Room]], reach: Reach) -> list[int]:
    """Sub-clusters that the job's tasks may use; the one they leave first."""
    subs = {own, job.home_id, *reach(job.queue, [job.home_id, *free])} & free.keys()
    return sorted(subs, key=lambda sub: (sub != own, sub))


def _service(s: Service, fit: int) -> Json:
    return {
        "job": s.job.pk,
        "job_name": s.job.name,
        "owner": s.job.owner.username,
        "group": s.group.name,
        "tasks": [c.task_index for c in s.tasks],
        "count": s.count,
        "at_once": max_unavailable(s.count),
        "resources": dict(zip(AXES, s.shape, strict=True)),
        "fit": fit,
    }
