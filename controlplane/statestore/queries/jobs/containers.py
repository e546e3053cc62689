"""Containers of a job. Live ones are in a small table, ended ones in history by day."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from controlplane.statestore.models import Job, Node, TaskGroup
from controlplane.statestore.queries.paging import Cursor, Page, page
from controlplane.statestore.queries.sql import rows_as_dicts
from controlplane.statestore.resourcecolumns import per_axis
from wire import states
from wire.ids import format_container
from wire.resources import gpu_ids
from wire.states import ContainerReason, ContainerState

_LIVE = f"""SELECT id, sub_cluster_id, node_id, group_no, task_index, attempt, state, {per_axis("{0}")},
    allocated_at, started_at, NULL::timestamptz AS finished_at, NULL::int AS exit_code, 0::smallint AS reason,
    NULL::int AS peak_memory_mib, NULL::bigint AS cpu_ms FROM statestore_container WHERE job_id = %(job)s"""
_ENDED = f"""SELECT id, sub_cluster_id, node_id, group_no, task_index, attempt, state, {per_axis("{0}")},
    allocated_at, started_at, finished_at, exit_code, reason, peak_memory_mib, cpu_ms
    FROM statestore_container_history WHERE job_id = %(job)s AND finished_at >= %(since)s"""
# Beyond a key in three parts, each a range of the index; Postgres cannot tell how much lies beyond a row value.
_BEYOND = (
    "group_no = %(k0)s AND task_index = %(k1)s AND id {beyond} %(k2)s",
    "group_no = %(k0)s AND task_index {beyond} %(k1)s",
    "group_no {beyond} %(k0)s",
)
# The job's first containers by group and task; the index has them in this order.
_FIRST = "SELECT sub_cluster_id, allocated_at, {end} FROM {table} ORDER BY group_no, task_index, id LIMIT %(most)s"
_LIVE_ONES = _FIRST.format(end="NULL::timestamptz AS finished_at", table="statestore_container WHERE job_id = %(job)s")
_ENDED_ONES = _FIRST.format(
    end="finished_at", table="statestore_container_history WHERE job_id = %(job)s AND finished_at >= %(since)s"
)
_PLACES = f"""SELECT s.name AS sub_cluster, min(c.allocated_at) AS first_at, count(*) AS containers,
    CASE WHEN bool_or(c.finished_at IS NULL) THEN NULL ELSE max(c.finished_at) END AS last_at,
    count(*) FILTER (WHERE c.finished_at IS NULL) AS running
  FROM (({_LIVE_ONES}) UNION ALL ({_ENDED_ONES})) c JOIN statestore_subcluster s ON s.id = c.sub_cluster_id
 GROUP BY s.name ORDER BY first_at, s.name"""
COUNTED_MAX = 20_000  # of those that live, and of those that have ended
_SKEW = dt.timedelta(days=1)


class NodeName(NamedTuple):
    """What people know a node by."""

    name: str
    sub_cluster: str


def history_since(job: Job) -> dt.datetime:
    """Before the end of any of its containers, however far apart the clocks are by which rows were stamped.

    Spares the partitions of the days before.
    """
    return job.submitted_at - _SKEW


def beyond(way: str, last: str | None = None) -> list[str]:
    """Conditions, one of which holds of a row beyond (k0, k1, k2) in the order of group, task and container.

    way: ``>``, or ``<`` going back. last: the same of the container alone, such as ``>=``.
    """
    return [part.format(beyond=(last or way) if part == _BEYOND[0] else way) for part in _BEYOND]


def reported_exit(row: dict[str, Any]) -> int | None:
    """``states.reported_exit`` of a row with ``state``, ``reason``, ``started_at`` and ``exit_code``."""
    return states.reported_exit(row["state"], row["reason"], row["started_at"] is not None, row["exit_code"])


def list_page(job: Job, at: Cursor, size: int, task: tuple[int, int] | None = None) -> Page:
    """One page of the job's containers by group, task and age. Three queries."""
    where = " AND group_no = %(group)s AND task_index = %(index)s" if task else ""
    parts = beyond("<" if at.back else ">") if at.key else ["true"]
    down = " DESC" if at.back else ""
    order = f" ORDER BY group_no{down}, task_index{down}, id{down} LIMIT %(limit)s"
    each = [f"({rows}{where} AND {part}{order})" for rows in (_LIVE, _ENDED) for part in parts]
    sql = f"{' UNION ALL '.join(each)}{order}"
    values = {"job": job.pk, "since": history_since(job), "limit": size + 1}
    values |= dict(zip(("k0", "k1", "k2"), at.key, strict=False))
    if task:
        values |= dict(zip(("group", "index"), task, strict=True))
    rows = rows_as_dicts(sql, values)
    keys = [(r["group_no"], r["task_index"], r["id"]) for r in rows]
    return page(as_json(job, rows), keys, size, at)


def attempts_page(job: Job, task: tuple[int, int], at: Cursor, size: int) -> Page:
    """One page of a task's attempts, the newest first. Three queries.

    By their numbers: ids of several sub-clusters are not by age.
    """
    beyond = f" AND (attempt, id) {'>' if at.back else '<'} (%(k0)s, %(k1)s)" if at.key else ""
    where = f" AND group_no = %(group)s AND task_index = %(index)s{beyond}"
    down = "" if at.back else " DESC"
    order = f" ORDER BY attempt{down}, id{down} LIMIT %(limit)s"
    sql = f"({_LIVE}{where}{order}) UNION ALL ({_ENDED}{where}{order}){order}"
    values = {"job": job.pk, "since": history_since(job), "limit": size + 1, "group": task[0], "index": task[1]}
    rows = rows_as_dicts(sql, values | dict(zip(("k0", "k1"), at.key, strict=False)))
    return page(as_json(job, rows), [(r["attempt"], r["id"]) for r in rows], size, at)


def places(job: Job) -> dict[str, Any]:
    """The sub-clusters in which the job was given containers, the first one first. One query of bounded cost."""
    values = {"job": job.pk, "since": history_since(job), "most": COUNTED_MAX}
    rows = rows_as_dicts(_PLACES, values)
    live = sum(row["running"] for row in rows)
    ended = sum(row["containers"] for row in rows) - live
    return {"results": rows, "complete": max(live, ended) < COUNTED_MAX}


def node_names(ids: set[int]) -> dict[int, NodeName]:
    """By node number. One query."""
    return {
        pk: NodeName(name, sub)
        for pk, name, sub in Node.objects.filter(pk__in=ids).values_list("pk", "name", "sub_cluster__name")
    }


def as_json(job: Job, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    names = dict(TaskGroup.objects.filter(job_id=job.pk).values_list("no", "name"))
    nodes = node_names({r["node_id"] for r in rows})
    return [_container(job.pk, r, names, nodes) for r in rows]


def _container(job_id: int, r: dict[str, Any], groups: dict[int, str], nodes: dict[int, NodeName]) -> dict[str, Any]:
    node, sub_cluster = nodes.get(r["node_id"], (f"#{r['node_id']}", ""))
    return {
        "id": format_container(r["id"]),
        "job": job_id,
        "group": groups.get(r["group_no"], str(r["group_no"])),
        "index": r["task_index"],
        "attempt": r["attempt"],
        "node": node,
        "sub_cluster": sub_cluster,
        "state": ContainerState(r["state"]).name,
        "reason": ContainerReason(r["reason"]).name if r["reason"] else None,
        "exit_code": reported_exit(r),
        "allocated_at": r["allocated_at"],
        "started_at": r["started_at"],
        "finished_at": r["finished_at"],
        "memory_mib": r["memory_mib"],
        "vcores_milli": r["vcores_milli"],
        "gpus": gpu_ids(r["gpus"]),
        "peak_memory_mib": r["peak_memory_mib"],
        "cpu_ms": r["cpu_ms"],
    }
