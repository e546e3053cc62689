"""What is due is started: each time of a schedule once, whoever looks and however often.

A time's row and its job are made in one transaction, under the lock of the
schedule's row. So a worker that dies in between has done nothing, two that look
at once do it once, and the row's uniqueness stands behind both.
"""

import datetime as dt
import time
from collections import defaultdict

import rules
import structlog
from django.db import InterfaceError, OperationalError, transaction

from controlplane.router import submission
from controlplane.router.schedules import calendars, filling
from controlplane.router.schedules.calendars import Calendar, Missed
from controlplane.statestore.actions import jobs
from controlplane.statestore.actions import schedules as actions
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.actions.jobs import Change
from controlplane.statestore.actions.schedules import Outcome
from controlplane.statestore.errors import Conflict, Forbidden, Invalid, Refused, Unavailable
from controlplane.statestore.models import Intent, Schedule, ScheduleRun
from controlplane.statestore.queries.jobs import schedules as queries

log = structlog.get_logger(__name__)
BUDGET_S = 0.5  # of one look, so that other duties have their turn; the next look goes on
AGAIN = dt.timedelta(seconds=10)  # while no sub-cluster takes jobs
MINUTE_S, PART_S = 60.0, 2.0  # of each minute, what one account's schedules take before others' go first
ERRORS_TOLD = 3


class Overlapping(Conflict):
    """A job of before lives, and the schedule starts none beside it."""


def step(now: dt.datetime | None = None, budget_s: float = BUDGET_S) -> int:
    """Carry out what is due; how many times were looked at. Two small queries when nothing is due."""
    until, done = time.monotonic() + budget_s, 0
    now = now or database_now()
    while _one(now):
        done += 1
        if time.monotonic() > until:
            break
    return done


class Parts:
    """What accounts' schedules have taken of this process lately: who has had much comes after the others."""

    def __init__(self) -> None:
        self._since, self._took = 0.0, defaultdict[int, float](float)

    def took(self, owner: int, seconds: float) -> None:
        """One of this account's was looked at for so long."""
        self._took[owner] += seconds

    def behind(self) -> list[int]:
        """Accounts that have had their part of the minute."""
        if time.monotonic() - self._since > MINUTE_S:
            self._since = time.monotonic()
            self._took.clear()
        return [owner for owner, seconds in self._took.items() if seconds > PART_S]


parts = Parts()


def _one(now: dt.datetime) -> bool:
    """The time that has been due for longest, if there is one. Where it fails, others have their turn before it."""
    row, began = None, time.monotonic()
    try:
        with transaction.atomic():
            row = queries.due(now, parts.behind()).first()
            if row is not None:
                _look(row, now)
                parts.took(row.owner_id, time.monotonic() - began)
    except Exception:
        if row is not None:
            Schedule.objects.filter(pk=row.pk, look_at__lte=now).update(look_at=now + AGAIN)
        raise
    return row is not None


def _look(row: Schedule, now: dt.datetime) -> None:
    try:
        calendar = calendar_of(row)
    except Invalid as error:  # what was taken once is not known any more, such as a time zone
        _give_up(row, error, now)
        return
    _carry_out(row, calendar, now)


def calendar_of(row: Schedule) -> Calendar:
    """When it is due; ``Invalid`` where what it says is not understood any more."""
    found, wrong = calendars.read(row.cron, row.zone, row.except_days, row.until)
    if found is None:
        raise Invalid("the schedule has errors", wrong)
    return found


def _give_up(row: Schedule, error: Invalid, now: dt.datetime) -> None:
    at = row.next_at or now
    if not actions.known(row, at):
        actions.note(row, at, Outcome.REFUSED, f"{said(error)}; it is suspended", now)
    row.suspended = True
    row.save(update_fields=["suspended"])
    actions.go_on(row, None, None)


def _carry_out(row: Schedule, calendar: Calendar, now: dt.datetime) -> None:
    first = row.next_at
    if first is None or first > now:  # the clock was put back
        actions.go_on(row, first, first)
        return
    due = calendars.due(calendar, first, now, row.start_within_s)
    if due.missed:
        note_missed(row, due.missed, Outcome.LATE, "missed; only the latest time counts", now)
    if not actions.known(row, due.at):
        if due.late:
            late = f"not started for {_span(now - due.at)}, and it starts within {row.start_within_s} s or not at all"
            actions.note(row, due.at, Outcome.LATE, late, now)
        elif not _started(row, calendar, due.at, now):
            actions.go_on(row, due.at, now + AGAIN)
            return
    actions.go_on(row, due.then, due.then)


def note_missed(row: Schedule, missed: Missed, outcome: Outcome, why: str, now: dt.datetime) -> None:
    """One row for all of them."""
    if actions.known(row, missed.first):
        return
    many = "one time" if missed.times == 1 else f"{missed.times} times"
    more = f"more than {missed.times} times" if missed.times >= calendars.COUNTED_MOST else many
    actions.note(row, missed.first, outcome, f"{more} {why}", now, times=missed.times)


def _started(row: Schedule, calendar: Calendar, at: dt.datetime, now: dt.datetime) -> bool:
    """Whether it is known what became of the time; not while no sub-cluster takes anything."""
    outcome, message, job = Outcome.STARTED, "", None
    try:
        job, message = start(row, calendar, at)
    except Unavailable as error:
        log.warning("a schedule waits", schedule=row.pk, why=error.detail)
        return False
    except Overlapping as error:
        outcome, message = Outcome.OVERLAP, error.detail
    except Refused as error:
        outcome, message = Outcome.REFUSED, said(error)
    except (OperationalError, InterfaceError):  # the StateStore is away: nothing has happened
        raise
    except Exception:
        log.exception("a schedule could not be carried out", schedule=row.pk)
        outcome, message = Outcome.REFUSED, "a fault of the control plane; its log says more"
    actions.note(row, at, outcome, message, now, job_id=job)
    return True


def start(row: Schedule, calendar: Calendar, at: dt.datetime) -> tuple[int, str]:
    """Submit its job for this time, as its owner; the job, and what is to be said. ``Refused`` where it cannot be."""
    owner = row.owner
    if not owner.is_active:
        raise Forbidden(f"the account {owner.username} is closed")
    if not rules.has_perm("jobs.submit", owner):
        raise Forbidden(f"the role {owner.role} of {owner.username} may not submit jobs")
    live = queries.live_jobs(row)
    numbers = ", ".join(str(job.pk) for job in live[:10]) + (" and others" if len(live) > 10 else "")
    if live and row.overlap == Schedule.Overlap.SKIP:
        raise Overlapping(f"job {numbers} of before had not ended")
    job = filling.job_of(row.template, row.given, row.name, at, calendar.zone)
    mine = Actor(owner.pk)
    with transaction.atomic():
        answer = submission.submit_one(owner, mine, job, None)
        if answer["queue"] != row.queue:  # in which it was written, by who might not submit to the other
            raise Forbidden(
                f"the job says queue {answer['queue']} at this time, and the schedule is one of {row.queue}"
            )
        if live and row.overlap == Schedule.Overlap.REPLACE:
            why = {"message": f"replaced by job {answer['id']} of its schedule"}
            jobs.change(mine, [Change(each, Intent.Kind.KILL, why) for each in live])
            return answer["id"], f"in place of job {numbers}"
    return answer["id"], ""


def run_now(actor: Actor, schedule_id: int) -> ScheduleRun:
    """Start its job at once, also while it is suspended; ``Refused`` as for a submit, ``Conflict`` for an overlap."""
    with transaction.atomic():
        row = actions.locked(schedule_id)
        calendar, now = calendar_of(row), database_now()
        job, message = start(row, calendar, now)
        run = actions.note(row, now, Outcome.STARTED, message, now, job_id=job, by_id=actor.user_id)
        record(actor, "schedule.run", f"schedule/{row.pk}", after={"job": job})
    return run


def resume(actor: Actor, schedule_id: int) -> None:
    """Start its job at the times to come; those that have passed are told and let go. A repeat changes nothing."""
    with transaction.atomic():
        row = actions.locked(schedule_id)
        if not row.suspended:
            return
        calendar, now = calendar_of(row), database_now()
        then = calendar.after(now)
        if row.next_at and row.next_at <= now and (missed := calendar.missed(row.next_at, then or now)):
            note_missed(row, missed, Outcome.SUSPENDED, "passed while it was suspended", now)
        actions.resumed(actor, row, then)


def said(error: Refused) -> str:
    """A refusal in one line."""
    told = " ".join(each.said() for each in error.errors[:ERRORS_TOLD])
    return f"{error.detail}: {told}" if told else error.detail


def _span(passed: dt.timedelta) -> str:
    return str(dt.timedelta(seconds=int(passed.total_seconds())))
