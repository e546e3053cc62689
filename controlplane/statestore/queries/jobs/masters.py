"""What application masters read: their asks, their containers, their events."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import F, Max

from controlplane.statestore.models import Container, Job, MasterAsk, MasterEvent, MasterLaunch
from wire.ids import format_container
from wire.states import ContainerState

from .containers import node_names

EVENTS_MAX = 1000  # in one answer
_LIVE = 100_000  # containers listed at most


def last_event(job_id: int) -> int:
    """The number of the job's last event; 0 before the first."""
    return int(MasterEvent.objects.filter(job_id=job_id).aggregate(last=Max("seq"))["last"] or 0)


def events(job_id: int, after: int) -> dict[str, Any]:
    """Events with numbers above ``after``, oldest first, and the cursor behind them."""
    rows = list(
        MasterEvent.objects.filter(job_id=job_id, seq__gt=after)
        .order_by("seq")
        .values("seq", "at", "kind", "body")[:EVENTS_MAX]
    )
    found = [{"seq": r["seq"], "at": r["at"], "kind": r["kind"]} | r["body"] for r in rows]
    return {
        "events": found,
        "cursor": found[-1]["seq"] if found else after,
        "missed": bool(found) and found[0]["seq"] != after + 1,
    }


_NEWS = """
SELECT DISTINCT w.job_id FROM unnest(%s::bigint[], %s::bigint[]) AS w(job_id, after)
 WHERE EXISTS (SELECT 1 FROM statestore_masterevent e WHERE e.job_id = w.job_id AND e.seq > w.after)
"""


def news(waiting: Sequence[tuple[int, int, int]]) -> tuple[set[int], set[int]]:
    """Of those that wait, each its job, its container and its cursor: jobs with later events, and live containers."""
    jobs, containers, cursors = (list(column) for column in zip(*waiting, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_NEWS, (jobs, cursors))
        found = {job for (job,) in cursor.fetchall()}
    return found, set(Container.objects.filter(pk__in=set(containers)).values_list("pk", flat=True))


# A version before this one did not count what it told; then the highest task says how many there were.
_GRANTED = """
SELECT g.no, coalesce(g.granted, x.most, 0) FROM statestore_taskgroup g LEFT JOIN (
    SELECT group_no, max(index) + 1 AS most FROM (
        SELECT group_no, task_index AS index FROM statestore_container WHERE job_id = %(job)s UNION ALL
        SELECT group_no, index FROM statestore_task WHERE submitted_on = %(day)s AND job_id = %(job)s) y
     GROUP BY group_no) x ON x.group_no = g.no
 WHERE g.job_id = %(job)s
"""


def asks(job: Job) -> list[dict[str, Any]]:
    """Oldest first; ``granted`` counts what has ended, too."""
    with connection.cursor() as cursor:
        cursor.execute(_GRANTED, {"job": job.pk, "day": job.submitted_at.date()})
        granted = dict(cursor.fetchall())
    return [
        {
            "id": ask.name,
            "target": ask.target,
            "version": ask.version,
            "held": bool(ask.spec.get("held")),
            "granted": granted.get(ask.no, 0),
        }
        for ask in MasterAsk.objects.filter(job_id=job.pk).order_by("no")
    ]


def containers(job_id: int) -> list[dict[str, Any]]:
    """Live containers of the job but its masters', oldest first."""
    rows = list(Container.objects.filter(job_id=job_id, group_no__gt=0).order_by("pk")[:_LIVE])
    named = {ask.no: ask for ask in MasterAsk.objects.filter(job_id=job_id)}
    launched = dict(MasterLaunch.objects.filter(pk__in=[r.pk for r in rows]).values_list("pk", "spec__tag"))
    nodes = {number: node.name for number, node in node_names({r.node_id for r in rows}).items()}
    return [
        {
            "container": format_container(r.pk),
            "ask": named[r.group_no].name,
            "index": r.task_index,
            "state": ContainerState(r.state).name,
            "launched": r.pk in launched or not named[r.group_no].spec.get("held"),
            "tag": launched.get(r.pk) or "",
            "node": nodes.get(r.node_id, ""),
            "allocated_at": r.allocated_at,
            "started_at": r.started_at,
        }
        for r in rows
        if r.group_no in named
    ]


def container_group(container: Container) -> tuple[Job, dict[str, Any]]:
    """A live container's job and what it runs, as ``container_spec``; of the job's specification no other group."""
    own, of_all = F(f"spec__groups__{container.group_no}"), F("spec__files")
    job = Job.objects.defer("spec", "revisions").annotate(own_group=own, files_of_all=of_all).get(pk=container.job_id)
    return job, _asked(container) if job.own_group is None else _with_files(job.own_group, job.files_of_all)


def container_spec(container: Container, spec: dict[str, Any]) -> dict[str, Any]:
    """What a live container runs, as a group of a specification. spec: its job's."""
    if container.group_no < len(spec["groups"]):
        return _with_files(spec["groups"][container.group_no], spec.get("files"))
    return _asked(container)


def _with_files(group: dict[str, Any], of_all: list[Any] | None) -> dict[str, Any]:
    """The group with the files that all groups of its job have before its own."""
    return group | {"files": [*(of_all or ()), *(group.get("files") or ())]}


def _asked(container: Container) -> dict[str, Any]:
    """What the application master asked for, and launched it with."""
    ask = MasterAsk.objects.values_list("spec", flat=True).get(job_id=container.job_id, no=container.group_no)
    own = MasterLaunch.objects.filter(pk=container.pk).values_list("spec", flat=True).first()
    return ask | (own or {})
