"""Make and change schedules, and keep what became of their times."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.statestore.errors import Conflict, NotFound, Stale
from controlplane.statestore.models import JobEvent, Schedule, ScheduleRun
from wire.states import JobState

from .audit import Actor, record
from .keeping import keep_named

Outcome = ScheduleRun.Outcome
MESSAGE_MAX = 1000
_TOLD = ("name", "queue", "cron", "zone", "except_days", "overlap", "start_within_s", "keep", "until", "suspended")
# What is older than the newest ``keep``, but for jobs that live: an overlap is told by these.
_TRIM = """
DELETE FROM statestore_schedulerun WHERE id IN (
    SELECT r.id FROM statestore_schedulerun r LEFT JOIN statestore_job j ON j.id = r.job_id
     WHERE r.schedule_id = %(schedule)s AND (j.id IS NULL OR j.state >= %(ended)s)
       AND r.id < (SELECT id FROM statestore_schedulerun WHERE schedule_id = %(schedule)s
                    ORDER BY id DESC OFFSET %(keep)s - 1 LIMIT 1))
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A schedule as people want it, checked. next_at: its first time. Names are those of the row."""

    name: str
    queue: str
    cron: str
    zone: str
    except_days: list[str]
    job: str
    template: dict[str, Any]
    given: dict[str, Any]
    digests: list[str]
    overlap: str
    start_within_s: int
    keep: int
    until: dt.datetime | None
    suspended: bool
    next_at: dt.datetime | None


def _told(row: Schedule) -> dict[str, Any]:
    """What the audit log says of it: all but the job file and its values."""
    found = {name: getattr(row, name) for name in _TOLD}
    return found | {"until": row.until and row.until.isoformat()}


def _put(row: Schedule, written: Written, now: dt.datetime) -> None:
    for name in Written.__dataclass_fields__:
        setattr(row, name, getattr(written, name))
    row.look_at = None if row.suspended else row.next_at
    row.changed_at = now


def create(actor: Actor, owner: User, written: Written, now: dt.datetime) -> Schedule:
    """Keep it. ``Conflict`` where its owner has one of that name, or may have no more."""
    with transaction.atomic():
        keep_named(owner.pk, written.digests)
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once must not go past the bound
        _free(owner, written.name, None)
        most = int(settings.HYDRA["max_schedules_per_user"])
        if Schedule.objects.filter(owner=owner).count() >= most:
            many = f"you have {most} schedules, and may have no more (HYDRA_MAX_SCHEDULES_PER_USER)"
            raise Conflict(f"{many}; delete one, or ask an operator")
        row = Schedule(owner=owner, created_at=now)
        _put(row, written, now)
        row.save()
        record(actor, "schedule.create", f"schedule/{row.pk}", after=_told(row))
    return row


def update(actor: Actor, schedule_id: int, written: Written, revision: int, now: dt.datetime) -> Schedule:
    """Change all of it. ``Stale`` where it was changed since ``revision``. Times that have passed are let go."""
    with transaction.atomic():
        row = locked(schedule_id)
        if row.revision != revision:
            raise Stale(f"schedule {row.pk} is at revision {row.revision}, not {revision}; look at it again")
        if written.name != row.name:
            _free(row.owner, written.name, row.pk)
        keep_named(row.owner_id, written.digests)
        before, file = _told(row), (row.job, row.given)
        _put(row, written, now)
        row.revision += 1
        row.save()
        changed = {"job_changed": True} if file != (row.job, row.given) else {}
        record(actor, "schedule.update", f"schedule/{row.pk}", before, _told(row) | changed)
    return row


def _free(owner: User, name: str, but: int | None) -> None:
    if Schedule.objects.filter(owner=owner, name=name).exclude(pk=but).exists():
        text = f"{owner.username} has a schedule called {name} already"
        raise Conflict(text, [FieldError("name", text, "choose another name, or change that one")])


def suspend(actor: Actor, schedule_id: int) -> None:
    """Start nothing by itself until it is resumed; a repeat changes nothing."""
    with transaction.atomic():
        row = locked(schedule_id)
        if not row.suspended:
            row.suspended, row.look_at = True, None
            row.save(update_fields=["suspended", "look_at"])
            record(actor, "schedule.suspend", f"schedule/{row.pk}")


def resumed(actor: Actor, row: Schedule, next_at: dt.datetime | None) -> None:
    """Go on from this time; within the transaction that has locked the row."""
    row.suspended, row.next_at, row.look_at = False, next_at, next_at
    row.save(update_fields=["suspended", "next_at", "look_at"])
    record(actor, "schedule.resume", f"schedule/{row.pk}")


def delete(actor: Actor, schedule_id: int) -> None:
    """It starts nothing any more, and its history is gone; its jobs run on."""
    with transaction.atomic():
        row = locked(schedule_id)
        record(actor, "schedule.delete", f"schedule/{row.pk}", before=_told(row))
        row.delete()


def locked(schedule_id: int) -> Schedule:
    """The row, for a change within the caller's transaction; ``NotFound`` where it was deleted meanwhile."""
    row = Schedule.objects.select_for_update(of=("self",)).select_related("owner").filter(pk=schedule_id).first()
    if row is None:
        raise NotFound(f"there is no schedule {schedule_id} any more")
    return row


def note(
    row: Schedule, at: dt.datetime, outcome: ScheduleRun.Outcome, message: str, now: dt.datetime, **more: Any
) -> ScheduleRun:
    """Keep what became of a time, and forget what is too old; within the transaction that has locked the row.

    more: ``job_id``, ``times``, ``by_id``.
    """
    run = ScheduleRun.objects.create(
        schedule=row, at=at, outcome=outcome, message=message[:MESSAGE_MAX], made_at=now, **more
    )
    if run.job_id:
        told = f"started by schedule {row.pk} ({row.name}) for {at.isoformat(timespec='seconds')}"
        JobEvent.objects.create(job_id=run.job_id, at=now, kind="scheduled", message=told)
    with connection.cursor() as cursor:
        cursor.execute(_TRIM, {"schedule": row.pk, "keep": row.keep, "ended": int(JobState.SUCCEEDED)})
    return run


def known(row: Schedule, at: dt.datetime) -> bool:
    """Whether something became of that time already."""
    return ScheduleRun.objects.filter(schedule=row, at=at).exists()


def go_on(row: Schedule, next_at: dt.datetime | None, look_at: dt.datetime | None) -> None:
    """When it is due next, and when to look; within the transaction that has locked the row."""
    row.next_at, row.look_at = next_at, look_at
    row.save(update_fields=["next_at", "look_at"])
