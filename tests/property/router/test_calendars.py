"""Calendars at random: times rise, are the same wherever one begins to look, and none is lost or doubled."""

import datetime as dt
from itertools import islice, pairwise, takewhile

from hypothesis import given
from hypothesis import strategies as st

from controlplane.router.schedules import calendars
from controlplane.router.schedules.calendars import Calendar, due

SPAN = dt.timedelta(days=4)
# Around moments at which clocks are put forward or back, in zones that do it at other hours, and by half an hour.
ZONES = {
    "Europe/Berlin": ["2026-03-29", "2026-10-25"], "America/New_York": ["2026-03-08", "2026-11-01"],
    "Africa/Cairo": ["2026-04-24", "2026-10-30"], "Australia/Lord_Howe": ["2026-04-05", "2026-10-04"],
    "America/Sao_Paulo": ["2018-02-18", "2018-11-04"], "America/Havana": ["2026-03-08", "2026-11-01"],
    "UTC": ["2026-03-29"],
}  # fmt: skip
MINUTES = st.sampled_from(["0", "30", "15,45", "59", "*/20", "*", "10-50/20"])
HOURS = st.sampled_from(["0", "1", "2", "3", "23", "*", "*/2", "1-3", "0,12"])
DAYS = st.sampled_from(["* * *", "* * sun", "L * *", "1 * mon", "* * 1-5"])


@st.composite
def calendar(draw: st.DrawFn) -> tuple[Calendar, dt.datetime]:
    """One, and a moment a day or two before clocks change."""
    zone = draw(st.sampled_from(sorted(ZONES)))
    day = draw(st.sampled_from(ZONES[zone]))
    cron = f"{draw(MINUTES)} {draw(HOURS)} {draw(DAYS)}"
    found, wrong = calendars.read(cron, zone, draw(st.sampled_from([[], [day]])))
    assert found is not None, wrong
    ago = dt.timedelta(minutes=draw(st.integers(0, 48 * 60)))
    return found, dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC) - ago


def within(found: Calendar, begin: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
    return list(takewhile(lambda at: at <= end, found.upcoming(begin)))


@given(calendar(), st.integers(0, int(SPAN.total_seconds())))
def test_times_rise_and_are_the_same_wherever_one_begins(drawn: tuple[Calendar, dt.datetime], later_s: int) -> None:
    found, begin = drawn
    all_of_them = within(found, begin, begin + SPAN)
    assert all(a < b for a, b in pairwise(all_of_them))
    later = begin + dt.timedelta(seconds=later_s)
    assert within(found, later, begin + SPAN) == [at for at in all_of_them if at > later]


@given(calendar(), st.lists(st.integers(0, int(SPAN.total_seconds())), max_size=12))
def test_however_seldom_and_askew_one_looks_each_time_counts_once(
    drawn: tuple[Calendar, dt.datetime], looks: list[int]
) -> None:
    """Looks in any order: a clock may be put back."""
    found, begin = drawn
    first, started, missed = found.after(begin), list[dt.datetime](), 0
    for seconds in looks:
        now = begin + dt.timedelta(seconds=seconds)
        if first is None or first > now:
            continue
        looked = due(found, first, now, 10**9)
        started.append(looked.at)
        missed += looked.missed.times if looked.missed else 0
        assert looked.then is None or looked.then > now
        first = looked.then
    assert len(set(started)) == len(started)
    passed = within(found, begin, begin + dt.timedelta(seconds=max(looks, default=0)))
    assert set(started) <= set(passed) and started == sorted(started)
    assert len(passed) == len(started) + missed or missed >= calendars.COUNTED_MOST


@given(calendar())
def test_the_latest_is_found_from_either_end(drawn: tuple[Calendar, dt.datetime]) -> None:
    found, begin = drawn
    passed = within(found, begin, begin + SPAN)
    if passed:
        assert found.latest(passed[0], begin + SPAN) == passed[-1]
    assert list(islice(found.upcoming(begin), 3))[: len(passed)] == passed[:3]


@given(st.text(alphabet="0123456789*/,-#LWmonsuJAN @", max_size=40))
def test_any_text_is_a_calendar_or_told_to_be_none(text: str) -> None:
    found, wrong = calendars.read(text, "UTC", [])
    assert (found is None) == bool(wrong)
    if found:
        at = found.after(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
        assert found.words and (at is None or at.second == 0)
