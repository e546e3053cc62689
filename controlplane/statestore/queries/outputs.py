"""Outputs that count: those of the attempt its task row names, and only once it has succeeded."""

from typing import Any

from controlplane.statestore.models import Job
from wire.ids import format_container
from wire.states import TaskState

from .paging import Cursor, Page, page
from .sql import rows_as_dicts

_WON = f"""SELECT o.id, g.name AS "group", o.group_no, o.task_index AS index, o.name, o.path, o.digest, o.size,
           o.container_id
    FROM statestore_taskoutput o
    JOIN statestore_taskgroup g ON g.job_id = o.job_id AND g.no = o.group_no
    JOIN statestore_task t ON t.submitted_on = %(day)s AND t.job_id = o.job_id AND t.group_no = o.group_no
         AND t.index = o.task_index AND t.container_id = o.container_id AND t.state = {TaskState.SUCCEEDED:d}
    WHERE o.job_id = %(job)s"""
KEY = "(o.group_no, o.task_index, o.id)"


def list_page(job: Job, at: Cursor, size: int) -> Page:
    """One page of a job's outputs by group and task. One query."""
    where = f" AND {KEY} {'<' if at.back else '>'} (%(k0)s, %(k1)s, %(k2)s)" if at.key else ""
    down = " DESC" if at.back else ""
    sql = f"{_WON}{where} ORDER BY o.group_no{down}, o.task_index{down}, o.id{down} LIMIT %(limit)s"
    values: dict[str, Any] = {"job": job.pk, "day": job.submitted_at.date(), "limit": size + 1}
    rows = rows_as_dicts(sql, values | dict(zip(("k0", "k1", "k2"), at.key, strict=False)))
    shown = [
        {key: r[key] for key in ("group", "index", "name", "path", "digest", "size")}
        | {"container": format_container(r["container_id"])}
        for r in rows
    ]
    return page(shown, [(r["group_no"], r["index"], r["id"]) for r in rows], size, at)


def of_groups(job: Job, wanted: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Every counting output among ``wanted``, pairs of group and output name. One query."""
    if not wanted:
        return []
    sql = f"""{_WON} AND (g.name, o.name) IN (SELECT * FROM unnest(%(groups)s::text[], %(names)s::text[]))
        ORDER BY o.group_no, o.task_index, o.id"""
    pairs = sorted(wanted)
    values = {
        "job": job.pk,
        "day": job.submitted_at.date(),
        "groups": [group for group, _ in pairs],
        "names": [name for _, name in pairs],
    }
    return rows_as_dicts(sql, values)
