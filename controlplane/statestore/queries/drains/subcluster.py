"""What draining a sub-cluster would do: what runs there, what leaves, what is tied to it, how full the others get."""

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contract import stored
from controlplane import clock
from controlplane.statestore.models import Job, Node, SubCluster
from controlplane.statestore.queries.queues.tree import asked_partitions
from controlplane.statestore.queries.sql import rows_as_dicts
from controlplane.statestore.resourcecolumns import per_axis, per_axis_held
from wire.resources import AXES
from wire.states import JobState, NodeState

from . import rooms
from .headroom import Headroom, headroom_without
from .rooms import Constraints, Reach, Room

Json = dict[str, Any]
TIED_MAX = 100  # groups that can run nowhere else, listed
_OUTCOMES = ("ends", "stopped", "unknown")
_UNTOLD: Json = {"name": "", "command": []}

# One row per group with containers here. ends_at: by the estimate; a task that outlived its own is unknown.
_HERE = f"""
WITH g AS MATERIALIZED (
    SELECT c.job_id, c.group_no, j.queue, j.kind, j.name, u.username AS owner, j.home_id, s.spec,
           make_interval(secs => nullif((s.spec->>'estimated_duration_s')::float8, 0)) AS lasts
      FROM (SELECT DISTINCT job_id, group_no FROM statestore_container WHERE sub_cluster_id = %(sub)s) c
      JOIN statestore_job j ON j.id = c.job_id JOIN accounts_user u ON u.id = j.owner_id,
           LATERAL (SELECT j.spec->'groups'->(c.group_no::int) AS spec) s
), c AS (
    SELECT c.job_id, c.group_no, {per_axis_held("{1} AS {0}", "c.")},
           coalesce(c.started_at, c.allocated_at) + g.lasts AS ends_at
      FROM statestore_container c JOIN g USING (job_id, group_no) WHERE c.sub_cluster_id = %(sub)s
), sums AS (
    SELECT job_id, group_no, count(*) AS containers, {per_axis("sum({0})::bigint AS {0}")},
           {per_axis("max({0}) AS each_{0}")},
           count(*) FILTER (WHERE %(deadline)s::timestamptz IS NULL OR ends_at BETWEEN %(now)s AND %(deadline)s)
               AS ends,
           count(*) FILTER (WHERE %(deadline)s::timestamptz IS NOT NULL AND ends_at > greatest(%(deadline)s, %(now)s))
               AS stopped,
           count(*) FILTER (WHERE %(deadline)s::timestamptz IS NOT NULL AND (ends_at IS NULL OR ends_at < %(now)s))
               AS unknown
      FROM c GROUP BY job_id, group_no
)
SELECT job_id AS job, group_no, g.queue, g.kind, g.name AS job_name, g.owner, g.home_id, g.spec, containers,
       {per_axis("{0}, each_{0}")}, ends, stopped, unknown
  FROM sums JOIN g USING (job_id, group_no) ORDER BY 1, 2
"""
# Groups of jobs at home here that have something left to start and say where.
_CHOOSY = f"""
SELECT j.id AS job, t.no AS group_no, j.queue, j.kind, j.name AS job_name, u.username AS owner,
       j.spec->'groups'->(t.no::int) AS spec, {per_axis("t.{0} AS each_{0}")}, 0 AS containers
  FROM statestore_job j JOIN statestore_taskgroup t ON t.job_id = j.id JOIN accounts_user u ON u.id = j.owner_id
 WHERE j.home_id = %(sub)s AND j.state < %(ended)s AND t.state < %(ended)s
   AND t.running + t.succeeded + t.failed + t.killed < t.count
   AND jsonb_path_exists(j.spec,
           '$.groups[*] ? (@.node_labels != "" || @.locality.relax == false || @.partition != null)')
 ORDER BY 1, 2 LIMIT 1000
"""


@dataclass(frozen=True, slots=True)
class Other:
    """Another sub-cluster that takes work: what is in use there, and its open nodes, empty."""

    name: str
    used: list[int]
    rooms: list[Room]


def preview(row: SubCluster, deadline_s: int | None, reach: Reach) -> Json:
    """What a drain would do now. A bounded number of queries, one of which reads all containers there."""
    now = clock.now()
    deadline = None if deadline_s is None else now + dt.timedelta(seconds=deadline_s)
    here = _rows(_HERE, sub=row.pk, deadline=deadline, now=now)
    choosy = _rows(_CHOOSY, sub=row.pk, ended=int(JobState.SUCCEEDED))
    elsewhere = _open_elsewhere(row.pk)
    partition_of = _partitions()
    tied = _tied(row.pk, here + choosy, elsewhere, reach, partition_of)
    stuck = {(t["job"], t["group_no"]) for t in tied}
    moving = [group for group in here if (group["job"], group["group_no"]) not in stuck and _leaving(group)]
    moves = [sum(group[axis] * _leaving(group) // group["containers"] for group in moving) for axis in AXES]
    others, room = _others(list(elsewhere.values()), moves)
    held_back = _held_back(row.pk, moving, list(elsewhere), reach, partition_of)
    jobs = Job.objects.filter(home=row.pk, state__lt=JobState.SUCCEEDED)
    return {
        "sub_cluster": row.name,
        "state": row.state,
        "at": now,
        "deadline": deadline,
        "jobs": jobs.count(),
        "containers": sum(g["containers"] for g in here),
        "guests": sum(g["containers"] for g in here if g["home_id"] != row.pk),
        **_totals(here),
        "queues": _by_queue(here),
        "moves": dict(zip(AXES, moves, strict=True)),
        "fits": room and not held_back,
        "over_maximum": [{"queue": queue, "containers": n} for queue, n in sorted(held_back.items())],
        "others": others,
        "tied": [{k: v for k, v in t.items() if k != "group_no"} for t in tied[:TIED_MAX]],
        "tied_groups": len(tied),
    }


def _rows(sql: str, **values: Any) -> list[Json]:
    """Rows with ``spec`` read as a ``StoredGroup``; one that says nothing where a master asked for it later."""
    found = rows_as_dicts(sql, values)
    specs = (json.loads(row["spec"]) if isinstance(row["spec"], str) else row["spec"] for row in found)
    return [row | {"spec": stored.group(_UNTOLD | (spec or {}))} for row, spec in zip(found, specs, strict=True)]


def _service(group: Json) -> bool:
    return bool(group["kind"] == Job.Kind.SERVICE)


def _totals(groups: list[Json]) -> dict[str, int]:
    """services: containers that leave at once. ends, stopped, unknown: what becomes of the others."""
    batch = [g for g in groups if not _service(g)]
    services = sum(g["containers"] for g in groups if _service(g))
    return {"services": services} | {outcome: sum(g[outcome] for g in batch) for outcome in _OUTCOMES}


def _by_queue(groups: list[Json]) -> list[Json]:
    found: dict[str, list[Json]] = {}
    for group in groups:
        found.setdefault(group["queue"], []).append(group)
    return [
        {
            "queue": queue,
            "jobs": len({g["job"] for g in mine}),
            "containers": sum(g["containers"] for g in mine),
            "amounts": {axis: sum(g[axis] for g in mine) for axis in AXES},
            **_totals(mine),
        }
        for queue, mine in sorted(found.items())
    ]


def _leaving(group: Json) -> int:
    """How many of its containers would be stopped and start again."""
    return int(group["containers"] - (0 if _service(group) else group["ends"]))


def _partitions() -> Callable[[Json], str]:
    """Of a group: the partition that its asks go to, by its own word or its queue's. Two queries at most."""
    asked = asked_partitions()
    return lambda group: asked(group["queue"], group["spec"].partition)


def _held_back(
    own: int, moving: list[Json], elsewhere: list[int], reach: Reach, partition_of: Callable[[Json], str]
) -> dict[str, int]:
    """By queue, how many containers would wait although there were room: its maxima elsewhere are reached."""
    found: dict[str, int] = {}
    may_hold = headroom_without(own) if moving else Headroom()
    for group in moving:
        queue, partition, left = group["queue"], partition_of(group), _leaving(group)
        shape = [group[f"each_{axis}"] for axis in AXES]
        for sub in sorted({*reach(queue, [group["home_id"], *elsewhere])} & {*elsewhere}):
            units = may_hold.units(sub, partition, queue, shape, left)
            may_hold.take(sub, partition, queue, shape, units)
            left -= units
        if left:
            found[queue] = found.get(queue, 0) + left
    return found


def _open_elsewhere(own: int) -> dict[int, Other]:
    """Every other sub-cluster that takes work, by number. Three queries."""
    takes = dict(SubCluster.objects.filter(state=SubCluster.State.RUNNING).exclude(pk=own).values_list("pk", "name"))
    used = {pk: [0] * len(AXES) for pk in takes} | rooms.used("sub_cluster_id", takes)
    up = Node.objects.filter(sub_cluster__in=takes, state=NodeState.UP, duty=Node.Duty.IN_SERVICE)
    nodes = list(up.values("id", "name", "rack", "labels", "sub_cluster_id", *AXES))
    found: dict[int, list[Room]] = {pk: [] for pk in takes}
    for node, room in zip(nodes, rooms.of(nodes, {}), strict=True):
        found[node["sub_cluster_id"]].append(room)
    return {pk: Other(name, used[pk], found[pk]) for pk, name in takes.items()}


def _tied(
    own: int, groups: list[Json], elsewhere: dict[int, Other], reach: Reach, partition_of: Callable[[Json], str]
) -> list[Json]:
    """Groups for which no other sub-cluster has a node, however empty, with the reason."""
    known: dict[tuple[object, ...], str] = {}
    found, seen = [], set()
    for group in groups:
        key = (group["job"], group["group_no"])
        if key in seen:
            continue
        seen.add(key)
        constraints = Constraints.of(group["spec"])
        shape = [group[f"each_{axis}"] for axis in AXES]
        partition = partition_of(group)
        home = group.get("home_id", own)
        wish = (group["queue"], home, partition, constraints, *shape)
        if wish not in known:
            may = {*reach(group["queue"], [home, *elsewhere]), home}
            there = {sub: other.rooms for sub, other in elsewhere.items()}
            known[wish] = rooms.nowhere(constraints, shape, partition, there, may)
        if known[wish]:
            told = {k: group[k] for k in ("job", "job_name", "owner", "queue", "containers", "group_no")}
            found.append(told | {"group": group["spec"].name, "why": known[wish]})
    return found


def _others(elsewhere: list[Other], moving: list[int]) -> tuple[list[Json], bool]:
    """How full the others are now and, were it spread by what is free there, afterwards; whether it fits in all."""
    capacity = [[sum(room.free[i] for room in other.rooms) for i in range(len(AXES))] for other in elsewhere]
    free = [[max(0, c - u) for c, u in zip(k, o.used, strict=True)] for k, o in zip(capacity, elsewhere, strict=True)]
    total = [sum(f[i] for f in free) for i in range(len(AXES))]
    found = []
    for other, most, room in zip(elsewhere, capacity, free, strict=True):
        extra = [m * f // t if t else 0 for m, f, t in zip(moving, room, total, strict=True)]
        after = [u + e for u, e in zip(other.used, extra, strict=True)]
        found.append(
            {
                "sub_cluster": other.name,
                "nodes": len(other.rooms),
                "capacity": dict(zip(AXES, most, strict=True)),
                "allocated": dict(zip(AXES, other.used, strict=True)),
                "percent": _percent(other.used, most),
                "percent_after": _percent(after, most),
            }
        )
    return found, all(m <= t for m, t in zip(moving, total, strict=True))


def _percent(used: list[int], capacity: list[int]) -> float:
    """The fullest resource, in percent of what there is of it."""
    return round(max((100 * u / c for u, c in zip(used, capacity, strict=True) if c), default=0.0), 1)
