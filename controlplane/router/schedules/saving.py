"""Schedules as people make and change them: checked as submits are, by the same code."""

import datetime as dt
import json
from dataclasses import dataclass, replace
from typing import Any

from contract import jobspec, yamltext
from contract.jobspec import JobSpec
from contract.problems import FieldError
from contract.schedules import JOB_TEXT_MAX, UPCOMING, ScheduleRequest
from controlplane.accounts.models import User
from controlplane.router import jobfile, secrets, submission
from controlplane.router.schedules import calendars, filling
from controlplane.router.schedules.calendars import Calendar
from controlplane.statestore.actions.schedules import Written
from controlplane.statestore.errors import Invalid

Json = dict[str, Any]
TIMES_MAX = 1000  # characters
TEMPLATE_MAX = 4 * JOB_TEXT_MAX  # characters of JSON


@dataclass(frozen=True, slots=True)
class Checked:
    """What was asked for, sound; and what is to be said of it."""

    written: Written
    calendar: Calendar
    upcoming: list[dt.datetime]
    warnings: list[FieldError]
    outlook: Json


def check(user: User, owner: User, asked: ScheduleRequest, now: dt.datetime, *, files: bool = True) -> Checked:
    """As it can be kept; ``Invalid`` names all that is wrong, of the job under ``job.``, with its place in its text.

    The job must be one that its owner may submit; and ``user``, who runs it in his name by writing it, too. files:
    whether those that it names must be there.
    """
    calendar, wrong = calendars.read(asked.cron, asked.zone, asked.except_days, asked.until)
    ahead = upcoming(calendar, now) if calendar else []
    if calendar and not ahead:
        wrong.append(FieldError("cron", "names no time to come", "look at cron, except_days and until together"))
    spec: JobSpec | None = None
    template = None
    warned, outlook = list[FieldError](), Json()
    try:
        first, zone = ahead[0] if ahead else now, calendar.zone if calendar else dt.UTC
        template = _bounded(jobfile.read(asked.job))
        job = filling.job_of(template, asked.set, asked.name, first, zone)
        if owner.pk != user.pk:
            _check_writer(user, owner, job, files=files)
        spec, warned, outlook = submission.checked(owner, job, files=files)
    except Invalid as error:
        wrong += _of_job(error.errors or [FieldError("", error.detail)], asked)
    if spec is not None and spec.kind == "service":
        remedy = "submit it once, and schedule batches and applications"
        wrong += _of_job([FieldError("kind", "a service does not end by itself", remedy)], asked)
    if wrong or spec is None or calendar is None:
        raise Invalid("the schedule has errors", wrong)
    return Checked(_written(asked, template, spec, ahead[0]), calendar, ahead, _of_job(warned, asked), outlook)


def wrong_times(asked: Any) -> list[FieldError]:
    """What is wrong with the cron expression and the zone of something that is perhaps no ``ScheduleRequest``."""
    given = asked if isinstance(asked, dict) else {}
    cron, zone = given.get("cron"), given.get("zone", "UTC")
    if not (isinstance(cron, str) and isinstance(zone, str) and len(cron) + len(zone) < TIMES_MAX):
        return []
    return calendars.read(cron, zone, [])[1]


def _bounded(template: Any) -> Any:
    """A job file as it is kept, every alias written out."""
    size = 0
    for piece in json.JSONEncoder(default=str).iterencode(template):
        size += len(piece)
        if size > TEMPLATE_MAX:
            many = f"comes to more than {TEMPLATE_MAX:,} characters with its aliases written out"
            raise Invalid("the job file says too much", [FieldError("job", many, "put what is large into files")])
    return template


def _check_writer(user: User, owner: User, job: Any, *, files: bool) -> None:
    """``Invalid`` unless somebody else may write what is to run in the owner's name."""
    spec, _ = jobspec.parse(job)
    if spec is not None and (wrong := secrets.of_others(spec, owner)):
        raise Invalid("the job has errors", wrong)
    submission.checked(user, job, files=files)


def upcoming(calendar: Calendar, now: dt.datetime) -> list[dt.datetime]:
    """The next times, a few."""
    return [at for at, _ in zip(calendar.upcoming(now), range(UPCOMING), strict=False)]


def _of_job(errors: list[FieldError], asked: ScheduleRequest) -> list[FieldError]:
    """What is said of the job, as fields of the schedule: values that it gives are its own."""
    placed = errors if any(each.line for each in errors) else yamltext.located(errors, asked.job)
    own = {"job", *(f"set.{name}" for name in asked.set)}
    return [each if each.field in own else replace(each, field=f"job.{each.field}".rstrip(".")) for each in placed]


def _written(asked: ScheduleRequest, template: Any, spec: JobSpec, first: dt.datetime) -> Written:
    return Written(
        name=asked.name,
        queue=spec.queue,
        cron=" ".join(asked.cron.split()),
        zone=asked.zone,
        except_days=asked.except_days,
        job=asked.job,
        template=template,
        given=asked.set,
        digests=sorted({f.digest for f in (*spec.files, *(f for g in spec.groups for f in g.files))}),
        overlap=asked.overlap,
        start_within_s=asked.start_within_s,
        keep=asked.keep,
        until=asked.until,
        suspended=asked.suspended,
        next_at=first,
    )
