"""Schedules as the API shows them, what became of their times, and what of them is due."""

import datetime as dt
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import Case, Q, QuerySet, When

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs_q
from controlplane.statestore.models import Job, Schedule, ScheduleRun
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page
from wire.states import JobState

Json = dict[str, Any]
_LAST = """
SELECT r.id FROM unnest(%s::bigint[]) s(id),
       LATERAL (SELECT id FROM statestore_schedulerun WHERE schedule_id = s.id ORDER BY id DESC LIMIT 1) r
"""


def find(user: User, schedule_id: int) -> Schedule | None:
    """The schedule's row, if ``user`` may see it."""
    if not 0 < schedule_id < 2**63:
        return None
    found = Schedule.objects.select_related("owner").filter(visible_jobs_q(user), pk=schedule_id)
    return found.first()


def list_page(user: User, at: Cursor, size: int, owner: str | None, queue: str | None, name: str | None) -> Page:
    """Schedules that ``user`` may see, the newest first, each with its last run. ``name``: its beginning.

    queue: with those below it. Three queries.
    """
    found = Schedule.objects.select_related("owner").defer("job", "template", "given", "digests")
    found = found.filter(visible_jobs_q(user))
    if owner is not None:
        found = found.filter(owner__username=owner)
    if queue is not None:
        found = found.filter(Q(queue=queue) | Q(queue__startswith=f"{queue}."))
    if name is not None:
        found = found.filter(name__startswith=name)
    rows = by_number(found, at, size, newest_first=True)
    last = last_runs([row.pk for row in rows[:size]])
    return page([(row, last.get(row.pk)) for row in rows], [(row.pk,) for row in rows], size, at)


def last_runs(ids: list[int]) -> dict[int, Json]:
    """By schedule, the last of what became of its times. Two queries."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST, [ids])
        numbers = [number for (number,) in cursor.fetchall()]
    return {run.schedule_id: run_json(run) for run in _with_jobs().filter(pk__in=numbers)}


def run(number: int) -> Json:
    """One of them, which there is."""
    return run_json(_with_jobs().get(pk=number))


def runs(schedule: Schedule, at: Cursor, size: int) -> Page:
    """What became of its times, the last one first. One query."""
    rows = by_number(_with_jobs().filter(schedule=schedule), at, size, newest_first=True)
    return page([run_json(run) for run in rows], [(run.pk,) for run in rows], size, at)


def _with_jobs() -> "QuerySet[ScheduleRun]":
    return ScheduleRun.objects.select_related("job", "by").only(
        "schedule_id", "at", "outcome", "message", "times", "made_at", "job__state", "by__username"
    )


def run_json(run: ScheduleRun) -> Json:
    job = {"id": run.job.pk, "state": JobState(run.job.state).name} if run.job else None
    return {
        "id": run.pk,
        "at": run.at,
        "outcome": run.outcome,
        "job": job,
        "message": run.message,
        "times": run.times,
        "by": run.by.username if run.by else None,
        "made_at": run.made_at,
    }


def due(now: dt.datetime, behind: Collection[int] = ()) -> "QuerySet[Schedule]":
    """What is due, the longest first, its rows locked; those that another process looks at are passed over.

    behind: accounts whose schedules come after all others.
    """
    found = Schedule.objects.select_for_update(skip_locked=True, of=("self",)).select_related("owner")
    last = [Case(When(owner_id__in=behind, then=1), default=0)] if behind else []
    return found.filter(look_at__lte=now).order_by(*last, "look_at")


def live_jobs(schedule: Schedule) -> list[Job]:
    """Its jobs that have not ended, the oldest first."""
    found = Job.objects.filter(scheduled__schedule=schedule, state__lt=JobState.SUCCEEDED)
    return list(found.defer("spec", "revisions", "services").order_by("pk"))


def wanted_files() -> set[str]:
    """Digests of all files that schedules name. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT jsonb_array_elements_text(digests) FROM statestore_schedule")
        return {digest for (digest,) in cursor.fetchall()}
