"""The queues of the policy in force: their limits in units of the federation, their use, what they hold."""

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Sum

from controlplane.accounts.models import QueueAccess, User
from controlplane.accounts.rights import level_in, sees_everything
from controlplane.statestore import bus
from controlplane.statestore.capacities import AXES, DEFAULT, Limits, R, Shape, resolve
from controlplane.statestore.models import Job, Node, PolicyVersion, Queue, SubCluster
from controlplane.statestore.nodesets import Partition, capacity_of, ordered
from wire.states import JobState, NodeState

Json = dict[str, Any]
PARTITIONS_FRESH_S = 10.0
_LIVE_NODES = (NodeState.REGISTERED, NodeState.UP, NodeState.UNHEALTHY)  # what an RM counts as its capacity
_SHOWN = (
    "open_to_all", "stopped", "leaf", "weight", "ordering", "preemptable", "user_maximum", "max_running_jobs",
    "max_running_jobs_per_user", "max_am_share", "max_priority", "default_priority", "default_partition",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tree:
    """A policy version's queues; they never change."""

    version: int
    rows: list[Queue]
    shape: Shape
    partitions: tuple[Partition, ...]
    limits: dict[str, Limits]


@dataclass(slots=True)
class _Known:
    """What this process has read last; each is replaced as a whole."""

    tree: _Tree | None = None
    partitions: tuple[float, tuple[Partition, ...], dict[str, np.ndarray]] = (0.0, (), {})


_known = _Known()


def whole(value: Any) -> int:
    return value if type(value) is int else 0


def queues(user: User) -> list[Json]:
    """Every queue with its limits, use and jobs, summed over sub-clusters. Four queries, five for tenants."""
    tree = _tree()
    if tree is None:
        return []
    limits = {}
    for name, amounts in capacities(tree.partitions).items():
        guaranteed, maximum = resolve(tree.shape, tree.limits[name], amounts)
        limits[name] = guaranteed.tolist(), maximum.tolist()
    use, jobs = _use(), _jobs(tree.rows, tree.shape)
    everything = sees_everything(user)
    return [_queue(user, everything, q, at, limits, use[q.path], jobs[at]) for at, q in enumerate(tree.rows)]


def _tree() -> _Tree | None:
    """The policy in force, read again when it is another version."""
    active = PolicyVersion.objects.filter(active=True).values_list("pk", "document__partitions").first()
    if active is None:
        return None
    known = _known.tree
    if known is None or known.version != active[0]:
        rows = list(Queue.objects.filter(version_id=active[0]).order_by("path"))
        shape = Shape.of([q.path for q in rows], [q.parent_path for q in rows])
        partitions = ordered(active[1])
        stored = [q.capacities for q in rows]
        limits = {name: Limits.of(stored, name) for name in (*(p.name for p in partitions), DEFAULT)}
        known = _known.tree = _Tree(active[0], rows, shape, partitions, limits)
    return known


def capacities(partitions: tuple[Partition, ...]) -> dict[str, np.ndarray]:
    """Capacity of each partition over all sub-clusters: (R,) int64. With partitions up to ten seconds old."""
    live = Node.objects.filter(state__in=_LIVE_NODES)
    if not partitions:
        sums = live.aggregate(**{f"sum_{axis}": Sum(axis) for axis in AXES})
        return {DEFAULT: np.array([sums[f"sum_{axis}"] or 0 for axis in AXES], np.int64)}
    at, those, found = _known.partitions
    if those != partitions or time.monotonic() - at > PARTITIONS_FRESH_S:
        nodes = live.values_list("name", "rack", "labels", *AXES)
        found = capacity_of(partitions, nodes.iterator(chunk_size=5000))
        _known.partitions = (time.monotonic(), partitions, found)
    return found


def _use() -> dict[str, dict[str, int]]:
    """Queue -> what it uses and how many containers wait, as the RMs last said."""
    use: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for summary in bus.summaries(list(SubCluster.objects.values_list("pk", flat=True))).values():
        for path, entry in (summary.get("queues") or {}).items():
            for key, value in entry.items():
                use[path][key] += whole(value)
    return use


def _jobs(rows: list[Queue], shape: Shape) -> list[list[int]]:
    """(live, running) jobs in each queue and below it."""
    at = {q.path: i for i, q in enumerate(rows)}
    counts = np.zeros((len(rows), 2), np.int64)
    live = Job.objects.filter(state__lt=JobState.SUCCEEDED).values_list("queue", "state").annotate(n=Count("id"))
    for path, state, n in live:
        if path in at:
            counts[at[path]] += (n, n if state == JobState.RUNNING else 0)
    found: list[list[int]] = shape.summed(counts).tolist()
    return found


def _queue(
    user: User, everything: bool, q: Queue, at: int, limits: dict[str, Any], use: dict[str, int], jobs: list[int]
) -> Json:
    each = {name: {"guaranteed": g[at], "maximum": m[at]} for name, (g, m) in limits.items()}
    total = {side: [sum(e[side][i] for e in each.values()) for i in range(R)] for side in ("guaranteed", "maximum")}
    level = QueueAccess.Level.ADMIN if everything else level_in(user, q.path)
    state = "running" if not q.stopped else "draining" if jobs[0] else "stopped"
    return {
        "path": q.path,
        "parent": q.parent_path or None,
        "policy_version": q.version_id,
        **{name: getattr(q, name) for name in _SHOWN},
        "state": state,
        "guaranteed": _amounts(total["guaranteed"]),
        "maximum": _amounts(total["maximum"]),
        "user_limit": _amounts([int(m * q.user_maximum + 1e-6) for m in total["maximum"]]),
        "partitions": {
            name: {side: _amounts(e[side]) for side in ("guaranteed", "maximum")} for name, e in each.items() if name
        },
        "used": {axis: use[axis] for axis in AXES} | {"containers": use["containers"]},
        "pending": use["pending"],
        "live_jobs": jobs[0],
        "running_jobs": jobs[1],
        "may_submit": not q.stopped and q.leaf and (q.open_to_all or level is not None),
    }


def _amounts(values: list[int]) -> dict[str, int]:
    return dict(zip(AXES, values, strict=True))
