"""Schedules as the API answers them: their rows, and what their calendars say."""

import datetime as dt
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

from contract.problems import FieldError
from controlplane.router.schedules import calendars
from controlplane.router.schedules.saving import Checked, upcoming
from controlplane.statestore.models import Schedule

Json = dict[str, Any]


def listed(row: Schedule, last_run: Json | None) -> Json:
    """A schedule as lists show it."""
    calendar, _ = calendars.read(row.cron, row.zone, row.except_days, row.until)
    zone = calendar.zone if calendar else None
    return {
        "id": row.pk,
        "name": row.name,
        "owner": row.owner.username,
        "queue": row.queue,
        "cron": row.cron,
        "words": calendar.words if calendar else row.cron,
        "zone": row.zone,
        "overlap": row.overlap,
        "suspended": row.suspended,
        "until": row.until,
        "next_at": None if row.suspended or not row.next_at else _local(row.next_at, zone),
        "last_run": last_run,
    }


def whole(row: Schedule, last_run: Json | None, now: dt.datetime, warnings: list[FieldError] | None = None) -> Json:
    """All of a schedule."""
    calendar, _ = calendars.read(row.cron, row.zone, row.except_days, row.until)
    return listed(row, last_run) | {
        "except_days": row.except_days,
        "job": row.job,
        "set": row.given,
        "start_within_s": row.start_within_s,
        "keep": row.keep,
        "revision": row.revision,
        "created_at": row.created_at,
        "changed_at": row.changed_at,
        "upcoming": [_local(at, calendar.zone) for at in upcoming(calendar, now)] if calendar else [],
        "warnings": [asdict(each) for each in warnings or ()],
    }


def previewed(checked: Checked) -> Json:
    """What a schedule would do, of one that is not kept."""
    return {
        "words": checked.calendar.words,
        "upcoming": [_local(at, checked.calendar.zone) for at in checked.upcoming],
        "queue": checked.written.queue,
        "warnings": [asdict(each) for each in checked.warnings],
        "outlook": checked.outlook,
    }


def _local(at: dt.datetime, zone: ZoneInfo | None) -> str:
    """With the offset that the zone has then."""
    return at.astimezone(zone or dt.UTC).isoformat()
