"""Endpoints of live containers: for lists, and for the proxy that reaches them."""

import re
from dataclasses import dataclass
from typing import Any

from controlplane.statestore.models import Job, Master
from controlplane.statestore.queries.paging import Cursor, Page, page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.ids import format_container

from . import services

MASTER = "master"  # the group of a job's own application master
# A row counts while its container lives, and while its node still registers the host it was told with.
_LIVE = """SELECT e.id, e.name, e.host, coalesce(e.reach, e.host) AS reach, e.port, e.healthy, e.checked_at,
           e.container_id, c.group_no, c.task_index, c.attempt, j.owner_id, g.name AS "group", n.name AS node
    FROM statestore_endpoint e
    JOIN statestore_container c ON c.id = e.container_id AND c.job_id = e.job_id
    JOIN statestore_node n ON n.id = c.node_id AND n.host = e.host
    JOIN statestore_job j ON j.id = e.job_id
    JOIN statestore_taskgroup g ON g.job_id = c.job_id AND g.no = c.group_no
    WHERE e.job_id = %(job)s"""
_KEY = "(c.group_no, c.task_index, e.id)"
_NAME = re.compile(r"(?:(?P<group>[a-z0-9-]{1,63})\.(?P<index>\d{1,9})\.)?(?P<name>[a-z0-9-]{1,32})", re.ASCII)


def address(job_id: int, group: str, index: int, name: str) -> str:
    """The path under which web passes requests on to the endpoint."""
    return f"/proxy/{job_id}/{group}.{index}.{name}/"


def tracked(job_id: int, said: dict[str, Any] | None) -> str | None:
    """The path to the page that a job's master has named (``Master.tracking``); always below its own endpoint."""
    if said is None:
        return None
    path: str = said["path"].removeprefix("/")
    return address(job_id, MASTER, 0, said["port"]) + path


def tracking(job_id: int) -> str | None:
    """``tracked``, of a job. One query."""
    return tracked(job_id, Master.objects.filter(pk=job_id).values_list("tracking", flat=True).first())


def list_page(job: Job, at: Cursor, size: int) -> Page:
    """One page of a job's endpoints by group and task. One query."""
    where = f" AND {_KEY} {'<' if at.back else '>'} (%(k0)s, %(k1)s, %(k2)s)" if at.key else ""
    down = " DESC" if at.back else ""
    sql = f"{_LIVE}{where} ORDER BY c.group_no{down}, c.task_index{down}, e.id{down} LIMIT %(limit)s"
    values: dict[str, Any] = {"job": job.pk, "limit": size + 1}
    rows = rows_as_dicts(sql, values | dict(zip(("k0", "k1", "k2"), at.key, strict=False)))
    shown = [_endpoint(job, r) for r in rows]
    return page(shown, [(r["group_no"], r["task_index"], r["id"]) for r in rows], size, at)


def _endpoint(job: Job, r: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": r["name"],
        "group": r["group"],
        "index": r["task_index"],
        "container": format_container(r["container_id"]),
        "node": r["node"],
        "host": r["host"],
        "port": r["port"],
        "healthy": r["healthy"],
        "checked_at": r["checked_at"],
        "proxy": address(job.pk, r["group"], r["task_index"], r["name"]),
        "revision": services.revision_of(job.services, r["group_no"], r["task_index"], r["attempt"]),
    }


@dataclass(frozen=True, slots=True)
class EndpointTarget:
    """Where a request for an endpoint goes."""

    host: str
    port: int
    container_id: int
    owner_id: int


def target(job_id: int, wanted: str) -> EndpointTarget | None:
    """The live endpoint ``name``, or ``group.index.name``, of a job: a healthy one, the first of several.

    The same one as long as it serves, so that a page's requests stay together. None: nobody serves by that name.
    """
    match = _NAME.fullmatch(wanted)
    if match is None:
        return None
    where, values = " AND e.name = %(name)s", {"job": job_id, "name": match["name"]}
    if match["group"]:
        where += " AND g.name = %(group)s AND c.task_index = %(index)s"
        values |= {"group": match["group"], "index": int(match["index"])}
    order = " ORDER BY e.healthy IS FALSE, e.healthy IS NULL, c.group_no, c.task_index, e.id DESC LIMIT 1"
    found = rows_as_dicts(_LIVE + where + " AND coalesce(e.reach, e.host) <> ''" + order, values)
    if not found:
        return None
    return EndpointTarget(*(found[0][name] for name in ("reach", "port", "container_id", "owner_id")))
