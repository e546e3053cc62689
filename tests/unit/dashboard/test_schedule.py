"""When a topic is read: after a hint, after a while without one, less often where reading takes long."""

from controlplane.dashboard.schedule import LEAST_S, REFRESH_S, Schedule


def read(one: Schedule, now: float, took_s: float = 0.0) -> float:
    due = one.begin(now)
    one.took_s = took_s
    return due


def test_what_somebody_has_nothing_of_is_read_at_once() -> None:
    one = Schedule("overview", 0, asked=True)
    assert one.due_at() < 100
    assert read(one, 100.2) == 100.2
    one.asked = True
    assert one.due_at() == 100.2 + LEAST_S


def test_without_a_hint_all_of_an_account_is_read_at_the_same_moments_and_of_others_at_others() -> None:
    early, late, other = Schedule("jobs", 0), Schedule("overview", 0), Schedule("jobs", 1)
    read(early, 100.0)
    moment = early.due_at()
    assert 100.0 < moment <= 100.0 + REFRESH_S
    read(late, moment - 0.1)
    read(other, 100.0)
    assert late.due_at() == moment != other.due_at()
    assert read(late, moment) == moment + REFRESH_S and late.due_at() == moment + REFRESH_S


def test_a_hint_shortens_the_wait_and_counts_for_what_was_not_yet_begun() -> None:
    one = Schedule("jobs", 0)
    read(one, 100.0)
    one.hinted = True
    assert one.due_at() == 100.0 + LEAST_S
    assert read(one, 100.3) == 100.3 + LEAST_S
    assert not one.hinted and one.due_at() == 100.5, "as without any hint"


def test_what_takes_long_to_read_is_read_less_often() -> None:
    slow, quick = Schedule("fleet", 0), Schedule("jobs", 0)
    for one in (slow, quick):
        read(one, 100.0, took_s=3.0)
        one.hinted = one.asked = True
    assert slow.due_at() == 103.0 and quick.due_at() == 100.75
