"""What runs of a service now, and what was asked of it since it was submitted."""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from controlplane import clock
from controlplane.statestore.models import Container, ContainerHistory, Job, Task, TaskGroup
from scheduler.lifecycle.group import BACKOFF_MAX_S, LATER
from wire.states import TaskState

Attempt = tuple[int, int]
Json = dict[str, Any]
_KEPT = """
SELECT (SELECT jsonb_agg(kept.said - 'spec' ORDER BY kept.nth)
          FROM jsonb_array_elements(j.revisions) WITH ORDINALITY kept(said, nth))::text
  FROM statestore_job j WHERE j.id = %s
"""
_SPEC = """
SELECT COALESCE(jsonb_path_query_first(revisions, '$[*] ? (@.revision == $number).spec',
                                       jsonb_build_object('number', %s::int)), spec)::text
  FROM statestore_job WHERE id = %s
"""


def groups(job: Job) -> dict[str, tuple[int, int]]:
    """Its groups' numbers, and how many tasks each has of its own, by name. One query."""
    found = TaskGroup.objects.filter(job_id=job.pk).order_by("no").values_list("name", "no", "count")
    return {name: (no, count - _standing_in(job.services, no)) for name, no, count in found}


def counts(jobs: Iterable[Job]) -> dict[tuple[int, int], int]:
    """How many tasks each group of these has of its own, as it was scaled, by job and number. One query."""
    said = {job.pk: job.services for job in jobs}
    found = TaskGroup.objects.filter(job_id__in=said).values_list("job_id", "no", "count")
    return {(job, no): count - _standing_in(said[job], no) for job, no, count in found}


def _standing_in(services: Json | None, group_no: int) -> int:
    """So many of the group's tasks, the last ones, serve only while others restart."""
    return int((services or {}).get(f"{group_no}", {}).get("standing_in", 0))


def live(job: Job, group_no: int, task: int | None = None) -> list[Attempt]:
    """Tasks of the group, or one of them, with their attempts that have not ended, by task. One query."""
    found = Container.objects.filter(job_id=job.pk, group_no=group_no)
    found = found if task is None else found.filter(task_index=task)
    return list(found.order_by("task_index", "attempt").values_list("task_index", "attempt"))


def pausing(job: Job, group_no: int, task: int | None = None) -> list[Attempt]:
    """Tasks of the group, or that one, that may pause since their last attempt has ended: it failed, or its node could
    do nothing for it. One query, of a key's part.

    Some of them may run again by now, or wait for room alone.
    """
    since, day = clock.now() - dt.timedelta(seconds=BACKOFF_MAX_S), job.submitted_at.date()
    found = Task.objects.filter(submitted_on=day, job_id=job.pk, group_no=group_no)
    found = found if task is None else found.filter(index=task)
    earlier = since - dt.timedelta(days=1)  # the row of an attempt that ran elsewhere is a little older than its task's
    later = ContainerHistory.objects.filter(pk=OuterRef("container_id"), reason__in=LATER, finished_at__gt=earlier)
    waiting = found.filter(Q(failures__gt=0) | Exists(later), state=TaskState.PENDING, finished_at__gt=since)
    return list(waiting.order_by("index").values_list("index", "attempts"))


def restarting(services: Json | None, group_no: int) -> int:
    """How many tasks of the group are to start again and have not yet. services: of the job's row."""
    said = (services or {}).get(f"{group_no}", {})
    every = sorted((of, first, count) for part in ("now", "queue", "unsure") for first, count, of in said.get(part, ()))
    found, reached = 0, (0, 0)  # runs overlap where what has its turn is asked for at once, too
    for of, first, count in every:
        counted = max(first, reached[1]) if of == reached[0] else first
        found += max(0, first + count - counted)
        reached = of, max(counted, first + count)
    return found


def _count(said: Json, *parts: str) -> int:
    return sum(count for part in parts for _, count, _ in said.get(part, ()))


def rollout(services: Json | None, groups: Sequence[Json], ended: bool) -> Json:
    """``revision`` and ``rollout`` of ``contract.jobs.JobDetail``. groups: as the API shows them. ended: the job."""
    said = services or {}
    going = said.get("rollout")
    if going is None or ended:
        return {"revision": said.get("revision", 1), "rollout": None}
    changing = [group for group in groups if group["no"] in going["groups"]]
    standing_in = sum(_standing_in(said, group["no"]) for group in changing)
    tasks = sum(group["count"] for group in changing) - standing_in
    left = sum(_count(said.get(f"{group['no']}", {}), "queue", "unsure") for group in changing)
    rules, began = going["rules"], _moment(going["began_us"])
    limited = rules["deadline_s"] and not going["back"]
    shown = {name: going[name] for name in ("revision", "previous", "failures", "back")} | {
        "updated": max(0, tasks - left),
        "tasks": tasks,
        "max_failures": rules["max_failures"],
        "standing_in": standing_in,
        "began_at": began,
        "due_at": began + dt.timedelta(seconds=rules["deadline_s"]) if limited else None,
    }
    return {"revision": going["revision"], "rollout": shown}


def _moment(at_us: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(at_us / 1e6, dt.UTC)


def revision_of(services: Json | None, group_no: int, task: int, attempt: int) -> int:
    """Which revision this attempt of a task of the job runs."""
    said = services or {}
    going = said.get("rollout")
    if going is None or group_no not in going["groups"]:
        return int(said.get("revision", 1))
    group = said.get(f"{group_no}", {})
    old = (run for part in ("queue", "unsure") for run in group.get(part, ()))
    before = any(first <= task < first + count and attempt == of for first, count, of in old)
    return int(going["previous"] if before else going["revision"])


def revisions(job: Job) -> list[Json]:
    """All that is kept of the job's revisions, the oldest first, but for their specifications. Two queries at most.

    A job that was never updated has one.
    """
    with connection.cursor() as cursor:
        cursor.execute(_KEPT, [job.pk])
        (kept,) = cursor.fetchone()
    if kept:
        return list(json.loads(kept))
    first = {"revision": 1, "at_us": job.submitted_at.timestamp() * 1e6, "by": job.owner.username}
    return [first | {"outcome": "", "back": None, "size": job.spec_bytes}]


def specification(job: Job, revision: int) -> Json:
    """What one of the job's revisions runs. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_SPEC, [revision, job.pk])
        found: Json = json.loads(cursor.fetchone()[0])
    return found


def as_answers(kept: Sequence[Json]) -> list[Json]:
    """``contract.jobs.Revision`` of each, the newest first."""
    names = ("revision", "by", "outcome", "back")
    return [
        {name: r[name] for name in names} | {"at": _moment(r["at_us"]), "changes": r.get("changes", [])}
        for r in reversed(kept)
    ]


def as_scaled(spec: Json, services: Json | None) -> Json:
    """The specification with as many tasks in each group as it has by now."""
    if not services:
        return spec
    counts = {int(no): said["count"] - said.get("standing_in", 0) for no, said in services.items() if no.isdecimal()}
    groups = [group | {"count": counts.get(no, group["count"])} for no, group in enumerate(spec["groups"])]
    return spec | {"groups": groups}
