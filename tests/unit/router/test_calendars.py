"""When schedules are due: clocks put forward and back, excluded days, outages; and what is no calendar."""

import datetime as dt
from itertools import islice

import pytest

from controlplane.router.schedules import calendars
from controlplane.router.schedules.calendars import Calendar, Missed, due

BERLIN = "Europe/Berlin"  # forward on 29 March 2026 at 2, back on 25 October at 3


def calendar(cron: str, zone: str = "UTC", *without: str, until: dt.datetime | None = None) -> Calendar:
    found, wrong = calendars.read(cron, zone, list(without), until)
    assert found is not None, wrong
    return found


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def times(found: Calendar, after: str, count: int) -> list[str]:
    """In its zone: month, day, time and offset."""
    return [f"{at.astimezone(found.zone):%m-%d %H:%M %z}" for at in islice(found.upcoming(utc(after)), count)]


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # What names an hour runs at the first moment after a gap, and once in an hour that comes twice.
        ("30 2 * * *", BERLIN, "2026-03-28T12:00", ["03-29 03:00 +0200", "03-30 02:30 +0200"]),
        ("0,30 2 * * *", BERLIN, "2026-03-28T12:00", ["03-29 03:00 +0200", "03-30 02:00 +0200"]),
        ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
        ("30 2 * * *", BERLIN, "2026-10-25T01:10", ["10-26 02:30 +0100"]),  # within the second of these hours
        ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", ["04-24 01:00 +0300", "04-25 00:00 +0300"]),
        # What runs every so often goes by the time that passes.
        ("*/30 * * * *", BERLIN, "2026-03-29T00:00", ["03-29 01:30 +0100", "03-29 03:00 +0200", "03-29 03:30 +0200"]),
        ("0 * * * *", BERLIN, "2026-10-24T23:30", ["10-25 02:00 +0200", "10-25 02:00 +0100", "10-25 03:00 +0100"]),
        ("@weekly", "UTC", "2026-12-23T12:00", ["12-27 00:00 +0000", "01-03 00:00 +0000"]),
        ("0 0 L * *", "UTC", "2026-01-31T12:00", ["02-28 00:00 +0000", "03-31 00:00 +0000"]),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00", ["02-29 00:00 +0000"]),
    ],
)
def test_times(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert times(calendar(cron, zone), after, len(expected)) == expected


def test_days_without() -> None:
    found = calendar("0 9 * * mon-fri", "UTC", "12-25", "2026-12-28/2026-12-30")
    assert times(found, "2026-12-23T12:00", 4) == [f"{day} 09:00 +0000" for day in ("12-24", "12-31", "01-01", "01-04")]
    # On that day the hour before midnight came twice.
    found = calendar("*/10 * * * *", "America/Sao_Paulo", "2018-02-17")
    assert times(found, "2018-02-17T12:00", 2) == ["02-18 00:00 -0300", "02-18 00:10 -0300"]
    for cron, day in (("0 0 25 12 *", "12-25"), ("0 0 29 2 mon#5", "02-29"), ("* * * * *", "2026-01-01/2999-12-31")):
        assert calendar(cron, "UTC", day).after(utc("2026-01-01T00:00")) is None, cron


def test_until() -> None:
    found = calendar("0 0 * * *", until=utc("2026-01-03T00:00"))
    assert times(found, "2026-01-01T12:00", 9) == ["01-02 00:00 +0000", "01-03 00:00 +0000"]


@pytest.mark.parametrize(
    ("now", "at", "missed", "late", "then"),
    [
        ("2026-01-01T00:00:00", "2026-01-01T00:00", 0, False, "2026-01-01T00:10"),
        ("2026-01-01T00:09:59", "2026-01-01T00:00", 0, False, "2026-01-01T00:10"),
        ("2026-01-01T00:10:00", "2026-01-01T00:10", 1, False, "2026-01-01T00:20"),
        ("2026-01-01T03:05:00", "2026-01-01T03:00", 18, False, "2026-01-01T03:10"),
        ("2027-06-01T00:01:00", "2027-06-01T00:00", calendars.COUNTED_MOST, False, "2027-06-01T00:10"),
    ],
)
def test_of_all_that_has_passed_the_latest_counts(now: str, at: str, missed: int, late: bool, then: str) -> None:
    first = utc("2026-01-01T00:00")
    found = due(calendar("*/10 * * * *"), first, utc(now), 600)
    assert (found.at, found.late, found.then) == (utc(at), late, utc(then))
    assert found.missed == (Missed(first, missed) if missed else None)


def test_what_is_too_late() -> None:
    daily, first = calendar("0 0 * * *"), utc("2026-01-01T00:00")
    assert not due(daily, first, first + dt.timedelta(seconds=600), 600).late
    assert due(daily, first, first + dt.timedelta(seconds=601), 600).late


def test_a_time_that_is_the_last() -> None:
    found = due(
        calendar("0 0 * * *", until=utc("2026-01-02T12:00")), utc("2026-01-01T00:00"), utc("2026-03-01T00:00"), 1
    )
    assert (found.at, found.late, found.then) == (utc("2026-01-02T00:00"), True, None)


@pytest.mark.parametrize(
    "cron",
    [
        "", "* * * *", "* * * * * *", "60 * * * *", "0 24 * * *", "0 0 30 2 *", "@reboot", "a b c d e", "5/ * * * *",
        "*/0 * * * *", "-1 * * * *", "9-1 * * * *", "* * * * 1#2/2", "* * * * #", "* * LL * *",
        "\N{ARABIC-INDIC DIGIT ONE} * * * *",
    ],
)  # fmt: skip
def test_what_is_no_cron_expression(cron: str) -> None:
    found, wrong = calendars.read(cron, "UTC", [])
    assert found is None and [each.field for each in wrong] == ["cron"] and wrong[0].remedy


@pytest.mark.parametrize(
    ("cron", "which"),
    [
        ("61 * * * *", "its minute '61' cannot be"), ("0 25 * * *", "its hour '25' cannot be"),
        ("0 0 30 2 *", "its day-of-month '30' cannot be"), ("0 0 1 13 *", "its month '13' cannot be"),
        ("0 0 * * wen", "its day-of-week 'wen' cannot be"), ("* * * *", "is not a cron expression"),
        ("5/ 25 * jam 1", "its minute '5/' and its hour '25' and its month 'jam' cannot be"),
        ("0 24 30 feb *", "its hour '24' and its day-of-month '30' cannot be"),
    ],
)  # fmt: skip
def test_a_cron_expression_is_told_which_of_its_fields_is_wrong(cron: str, which: str) -> None:
    (wrong,) = calendars.read(cron, "UTC", [])[1]
    assert wrong.field == "cron" and wrong.message.endswith(which) and wrong.remedy


def test_the_remedy_of_several_fields_names_each() -> None:
    (wrong,) = calendars.read("61 25 * * *", "UTC", [])[1]
    assert wrong.remedy.startswith("minute: use 0 to 59") and "; hour: use 0 to 23" in wrong.remedy


def test_all_that_is_wrong_is_told_with_what_may_have_been_meant() -> None:
    _, wrong = calendars.read("x", "Europe/Brlin", ["2026-02-30", "12-25", "2026-01-02/2026-01-01", "13-01", "02-29"])
    assert [each.field for each in wrong] == ["cron", "zone", "except_days.0", "except_days.2", "except_days.3"]
    assert wrong[1].remedy == "did you mean Europe/Berlin?"
    assert calendars.read("@daily", "../../etc/passwd", [])[0] is None
