"""Outputs that count: those of the attempt its task row names, and only once it has succeeded."""

from collections.abc import Set
from typing import Any

from controlplane.statestore.models import Job
from controlplane.statestore.queries.paging import Cursor, Page, page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.ids import format_container
from wire.states import TaskState

# The LIMIT of one keeps the look at a task a look-up for each output of the page, not a join of all there are.
_WON = f"""SELECT o.id, g.name AS "group", o.group_no, o.task_index AS index, o.name, o.path, o.digest, o.size,
           o.container_id
    FROM statestore_taskoutput o
    JOIN statestore_taskgroup g ON g.job_id = o.job_id AND g.no = o.group_no,
    LATERAL (SELECT 1 FROM statestore_task t WHERE t.submitted_on = %(day)s AND t.job_id = o.job_id
         AND t.group_no = o.group_no AND t.index = o.task_index AND t.container_id = o.container_id
         AND t.state = {TaskState.SUCCEEDED:d} LIMIT 1) won
    WHERE o.job_id = %(job)s"""
# Beyond a key in three parts, each a range of the index; Postgres cannot tell how much lies beyond a row value.
_BEYOND = (
    "o.group_no = %(k0)s AND o.task_index = %(k1)s AND o.id {beyond} %(k2)s",
    "o.group_no = %(k0)s AND o.task_index {beyond} %(k1)s",
    "o.group_no {beyond} %(k0)s",
)


def list_page(job: Job, at: Cursor, size: int) -> Page:
    """One page of a job's outputs by group and task. One query."""
    down = " DESC" if at.back else ""
    tail = f" ORDER BY {{t}}group_no{down}, {{t}}{{index}}{down}, {{t}}id{down} LIMIT %(limit)s"
    parts = [part.format(beyond="<" if at.back else ">") for part in _BEYOND] if at.key else ["true"]
    each = [f"({_WON} AND {part}{tail.format(t='o.', index='task_index')})" for part in parts]
    sql = f"SELECT * FROM ({' UNION ALL '.join(each)}) found{tail.format(t='', index='index')}"
    values: dict[str, Any] = {"job": job.pk, "day": job.submitted_at.date(), "limit": size + 1}
    rows = rows_as_dicts(sql, values | dict(zip(("k0", "k1", "k2"), at.key, strict=False)))
    shown = [
        {key: r[key] for key in ("group", "index", "name", "path", "digest", "size")}
        | {"container": format_container(r["container_id"])}
        for r in rows
    ]
    return page(shown, [(r["group_no"], r["index"], r["id"]) for r in rows], size, at)


_AMONG = f"{_WON} AND (g.name, o.name) IN (SELECT * FROM unnest(%(groups)s::text[], %(names)s::text[]))"


def of_groups(job: Job, wanted: Set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Every counting output among ``wanted``, pairs of group and output name. One query."""
    if not wanted:
        return []
    return rows_as_dicts(f"{_AMONG} ORDER BY o.group_no, o.task_index, o.id", _values(job, wanted))


def made(job: Job, wanted: Set[tuple[str, str]], digest: str) -> bool:
    """Whether a counting output among ``wanted`` is of these bytes. One query, however many outputs there are."""
    if not wanted:
        return False
    return bool(rows_as_dicts(f"{_AMONG} AND o.digest = %(digest)s LIMIT 1", _values(job, wanted) | {"digest": digest}))


def _values(job: Job, wanted: Set[tuple[str, str]]) -> dict[str, Any]:
    pairs = sorted(wanted)
    return {
        "job": job.pk,
        "day": job.submitted_at.date(),
        "groups": [group for group, _ in pairs],
        "names": [name for _, name in pairs],
    }
