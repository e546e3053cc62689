"""What guards make of measures: pure."""

import pytest
from pydantic import ValidationError

from controlplane.policy.guards import Cause, Guards, Measures, StageComparison, breaches


def compared(staged: dict[str, object], others: dict[str, object] | None = None) -> StageComparison:
    return StageComparison(staged=Measures(**{"window_s": 60.0} | staged), others=Measures(**(others or {})))


def broken(guards: dict[str, float], before: StageComparison, now: StageComparison) -> list[str]:
    return breaches(Guards(**guards), before, now, "west")


QUIET = compared({})


def test_without_guards_nothing_is_broken() -> None:
    now = compared({"pending_p99_s": 1e5, "jobs": 100, "ended": 100, "failed": 100, "ended_per_min": 1e4})
    assert broken({}, QUIET, now) == []


@pytest.mark.parametrize(
    ("was", "value", "jobs", "found"),
    [(3.0, 34.0, 5, True), (3.0, 19.0, 5, False), (40.0, 34.0, 5, False), (None, 34.0, 5, True), (3.0, 34.0, 2, False)],
)
def test_jobs_that_wait_longer_than_allowed_and_than_before(
    was: float | None, value: float, jobs: int, found: bool
) -> None:
    before = compared({"pending_p99_s": was, "jobs": 9})
    text = broken({"pending_p99_s": 20}, before, compared({"pending_p99_s": value, "jobs": jobs}))
    assert bool(text) is found
    if found and was:
        assert text == ["99 % of jobs wait up to 34.0 s (before the push 3.0 s; the guard allows 20 s) in west"]


def test_failures_are_counted_by_share_and_by_rate() -> None:
    before = compared({"ended": 100, "failed": 1, "ended_per_min": 60.0})
    now = compared({"ended": 100, "failed": 30, "ended_per_min": 60.0})
    assert broken({"failure_share": 0.1}, before, now) == [
        "30.0 % of containers fail (before the push 1.0 %; the guard allows 10 %) in west"
    ]
    assert broken({"failures_per_min": 10}, before, now) == [
        "18.0 containers fail per minute (before the push 0.6; the guard allows 10) in west"
    ]
    assert broken({"failures_per_min": 20, "failure_share": 0.5}, before, now) == []
    few = compared({"ended": 9, "failed": 9})
    assert broken({"failure_share": 0.1}, before, few) == [], "nine containers are no evidence"
    assert broken({"failure_share": 0.1}, now, now) == [], "it was so before"


def test_missing_allocations_count_only_where_somebody_waits_and_the_others_go_on() -> None:
    guard = {"allocation_rate_drop": 0.2}
    before = compared({"allocations_per_s": 100.0}, {"allocations_per_s": 100.0})
    slow = {"allocations_per_s": 50.0, "waits": True}
    (text,) = broken(guard, before, compared(slow, {"allocations_per_s": 120.0}))
    assert text.startswith(
        "containers allocated per second: 50.0 (before the push 100.0; the guard allows a drop of 20"
    )
    assert broken(guard, before, compared(slow | {"waits": False}, {"allocations_per_s": 120.0})) == []
    assert broken(guard, before, compared(slow, {"allocations_per_s": 60.0})) == [], "everywhere there is less to do"
    (text,) = broken(guard, before, compared({"allocations_per_s": 40.0, "waits": True}, {"allocations_per_s": 80.0}))
    assert "80.0 by how the others changed" in text
    few = compared({"allocations_per_s": 0.1}, {})
    assert broken(guard, few, compared({"allocations_per_s": 0.0, "waits": True})) == [], "too few to say"


def test_a_drop_of_utilization() -> None:
    guard = {"utilization_drop": 0.1}
    before = compared({"utilization": 0.9}, {"utilization": 0.9})
    assert broken(guard, before, compared({"utilization": 0.85, "waits": True}, {"utilization": 0.9})) == []
    (text,) = broken(guard, before, compared({"utilization": 0.6, "waits": True}, {"utilization": 0.9}))
    assert text == "utilization: 60.0 % (before the push 90.0 %; the guard allows a drop of 10 %) in west"
    assert broken(guard, before, compared({"utilization": 0.6}, {"utilization": 0.9})) == [], "nobody waits"
    assert broken(guard, QUIET, compared({"utilization": 0.6, "waits": True})) == [], "nothing is known of before"


@pytest.mark.parametrize(
    "wrong", [{"failure_share": 2}, {"utilization_drop": 0}, {"pending": 3}, {"pending_p99_s": "3"}]
)
def test_bounds_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Guards(**wrong)


def test_what_is_broken_names_whose_doing_it_is_and_asks_for_nobody_else() -> None:
    now = compared({"pending_p99_s": 34.0, "jobs": 5, "ended": 100, "failed": 1})
    asked: list[Cause] = []

    def named(cause: Cause) -> str:
        asked.append(cause)
        return "job 7 a in root.a (34.0 s)"

    guards = Guards(pending_p99_s=20, failure_share=0.5)
    (text,) = breaches(guards, QUIET, now, "west", named)
    assert text.endswith(" in west: job 7 a in root.a (34.0 s)") and asked == [Cause.WAITING]
