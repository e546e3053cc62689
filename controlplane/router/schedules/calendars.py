"""When a schedule is due: a cron expression in a time zone, without some days, until some moment. Pure.

Where clocks are put forward or back, times are those of Debian's cron: what names an hour runs once on that day, at the
first moment after a gap; what runs every so often goes by the time that really passes.
"""

import datetime as dt
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from contract.problems import FieldError

NAMED = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
FIELDS = {  # of an expression, as the library calls them: what each takes
    "minute": "use 0 to 59, such as 0, */15 or 10-50/20",
    "hour": "use 0 to 23, such as 2, 8-18 or */6",
    "day-of-month": "use 1 to 31, and days that its months have, or L for the last",
    "month": "use 1 to 12 or jan to dec",
    "day-of-week": "use 0 to 7 (0 and 7 are Sunday) or sun to sat, such as mon-fri",
}
YEARS = 50  # that are looked ahead
COUNTED_MOST = 100
_SPAN = dt.timedelta(hours=1)
_DAY = dt.timedelta(days=1)
_LEAP = 2024  # a year that has every day
_ANY = dt.datetime(_LEAP, 1, 1, tzinfo=dt.UTC)


class Days(NamedTuple):
    """From one day to another, both included; yearly: of every year, and one day only."""

    first: dt.date
    last: dt.date
    yearly: bool = False

    def hold(self, day: dt.date) -> bool:
        if self.yearly:
            return (day.month, day.day) == (self.first.month, self.first.day)
        return self.first <= day <= self.last


class Missed(NamedTuple):
    """Times that nobody looked at. times: how many, ``COUNTED_MOST`` standing for more."""

    first: dt.datetime
    times: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """``cron``: five fields. Times are UTC, and later than what they are asked after."""

    cron: str
    zone: ZoneInfo
    without: tuple[Days, ...] = ()
    until: dt.datetime | None = None

    @property
    def words(self) -> str:
        """The expression in English."""
        return _words(self.cron) or self.cron

    def after(self, at: dt.datetime) -> dt.datetime | None:
        """The first time after ``at``; None where there is none for ``YEARS``, or any more."""
        last = at.year + YEARS
        while True:
            found = self._of_cron(at)
            if found is None or found.year > last or (self.until is not None and found > self.until):
                return None
            day = found.astimezone(self.zone).date()
            held = next((days for days in self.without if days.hold(day)), None)
            if held is None:
                return found
            free = (day if held.yearly else held.last) + _DAY
            ends = dt.datetime.combine(free, dt.time(), self.zone) - dt.timedelta(seconds=1)
            at = max(found, ends.replace(fold=1).astimezone(dt.UTC))

    def _of_cron(self, at: dt.datetime) -> dt.datetime | None:
        for local in CronSim(self.cron, at.astimezone(self.zone)):
            found = local.astimezone(dt.UTC)
            if found > at:  # within the hour that comes twice it begins with the first of the two
                return found
        return None

    def upcoming(self, at: dt.datetime) -> Iterator[dt.datetime]:
        """All times after ``at``, in order."""
        found = self.after(at)
        while found is not None:
            yield found
            found = self.after(found)

    def latest(self, first: dt.datetime, now: dt.datetime) -> dt.datetime:
        """The last time up to now, of which ``first`` is one; however long ago that is."""
        span = _SPAN
        while now - span > first:
            if last := self._last(now - span, now):
                return last
            span *= 8
        return self._last(first, now) or first

    def _last(self, after: dt.datetime, now: dt.datetime) -> dt.datetime | None:
        last = None
        for found in self.upcoming(after):
            if found > now:
                break
            last = found
        return last

    def missed(self, first: dt.datetime, before: dt.datetime) -> Missed | None:
        """The times from ``first``, which is one, to before another one."""
        times, at = 0, first
        while at < before and times < COUNTED_MOST:
            times += 1
            at = self.after(at) or before
        return Missed(first, times) if times else None


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done at one look. at: the one time for which something may be started. missed: those before it.

    late: it is longer ago than it may be. then: the next time.
    """

    at: dt.datetime
    missed: Missed | None
    late: bool
    then: dt.datetime | None


def due(calendar: Calendar, first: dt.datetime, now: dt.datetime, within_s: float) -> Due:
    """Of all times from ``first`` to now the latest counts. first: a time that is not after now."""
    at = calendar.latest(first, now)
    late = (now - at).total_seconds() > within_s
    return Due(at, calendar.missed(first, at), late, calendar.after(at))


def read(
    cron: str, zone: str, except_days: list[str], until: dt.datetime | None = None
) -> tuple[Calendar | None, list[FieldError]]:
    """The calendar, or what is wrong with it field by field."""
    fields, wrong = NAMED.get(cron.strip().lower(), cron.strip()), list[FieldError]()
    if _words(fields) is None:
        which, remedy = _fault(fields)
        wrong.append(FieldError("cron", f"{cron[:60]!r} is not a cron expression{which}", remedy))
    known = _zone(zone)
    if known is None:
        meant = difflib.get_close_matches(zone, _zones(), 1)
        remedy = f"did you mean {meant[0]}?" if meant else "give a name of the IANA, such as Europe/Berlin or UTC"
        wrong.append(FieldError("zone", f"there is no time zone {zone!r}", remedy))
    without = []
    for no, text in enumerate(except_days):
        days = _days(text)
        if days is None:
            remedy = "write YYYY-MM-DD, YYYY-MM-DD/YYYY-MM-DD (the earlier one first), or MM-DD for every year"
            wrong.append(FieldError(f"except_days.{no}", f"{text!r} is not a day or a span of days", remedy))
        else:
            without.append(days)
    if wrong or known is None:
        return None, wrong
    return Calendar(fields, known, tuple(without), until), []


@lru_cache(maxsize=4096)  # a page of a thousand schedules takes a tenth of a second to read, and most say the same
def _words(fields: str) -> str | None:
    """The expression in English; None where it is none."""
    if len(fields.split()) != 5:  # a sixth would be seconds
        return None
    try:
        return CronSim(fields, _ANY).explain()
    except (CronSimError, ValueError, AssertionError, LookupError, TypeError):  # the library's own, and its slips
        return None


def _fault(fields: str) -> tuple[str, str]:
    """What is wrong with something that is no cron expression, as the end of a sentence, and the remedy."""
    parts = fields.split()
    bad = _bad(parts) if len(parts) == len(FIELDS) else {}
    if not bad:
        return "", "give five fields (minute hour day month weekday), such as 30 2 * * mon-fri, or @daily"
    named = " and ".join(f"its {name} {part[:20]!r}" for name, part in bad.items())
    if len(bad) == 1:
        return f": {named} cannot be", FIELDS[next(iter(bad))]
    return f": {named} cannot be", "; ".join(f"{name}: {FIELDS[name]}" for name in bad)


def _bad(parts: list[str]) -> dict[str, str]:
    """The fields that cannot be, whatever the others are; and a day that none of its months has."""
    given = dict(zip(FIELDS, parts, strict=True))

    def reads(*names: str) -> bool:
        return _words(" ".join(part if name in names else "*" for name, part in given.items())) is not None

    bad = {name for name in FIELDS if not reads(name)}
    if not bad & {"day-of-month", "month"} and not reads("day-of-month", "month"):
        bad.add("day-of-month")
    return {name: part for name, part in given.items() if name in bad}


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone(name: str) -> ZoneInfo | None:
    return ZoneInfo(name) if name in _zones() else None


def _days(text: str) -> Days | None:
    try:
        if len(text) == len("12-25"):
            day = dt.date.fromisoformat(f"{_LEAP}-{text}")
            return Days(day, day, yearly=True)
        first, _, last = text.partition("/")
        found = Days(dt.date.fromisoformat(first), dt.date.fromisoformat(last or first))
    except ValueError:
        return None
    return found if found.first <= found.last and found.first.year > 1970 and found.last.year < 9000 else None
