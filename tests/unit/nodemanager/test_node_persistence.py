"""What is asked again while nobody answers, for how long, and what is not asked again."""

import threading
from collections.abc import Callable

import pytest

from nodemanager import persistence
from nodemanager.http import HttpError
from nodemanager.persistence import LONGEST_S, PATIENCE_S, Unreachable, persist


class Time:
    """A clock that goes on by what is waited; nothing stops."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.pauses, self.ends_at = 0.0, list[float](), float("inf")
        self.stopping = threading.Event()
        monkeypatch.setattr(persistence.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(self.stopping, "wait", self._wait)

    def _wait(self, pause_s: float) -> bool:
        self.now += pause_s
        self.pauses.append(pause_s)
        return self.now >= self.ends_at


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def away_until(time: Time, seconds: float, status: int = 0) -> Callable[[], str]:
    def call() -> str:
        if time.now < seconds:
            raise HttpError(status, "no answer")
        return "done"

    return call


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_an_outage_of_minutes_is_outlasted_with_ever_fewer_tries(time: Time, status: int) -> None:
    assert persist(away_until(time, 300.0, status), time.stopping) == "done"
    assert time.pauses == sorted(time.pauses) and max(time.pauses) == LONGEST_S and len(time.pauses) < 40


def test_an_outage_without_end_is_told_apart_from_a_refusal(time: Time) -> None:
    with pytest.raises(Unreachable, match="no answer"):
        persist(away_until(time, float("inf")), time.stopping)
    assert PATIENCE_S <= time.now <= PATIENCE_S + LONGEST_S
    with pytest.raises(HttpError, match="404"):
        persist(away_until(time, float("inf"), 404), time.stopping)


def test_who_stops_does_not_wait(time: Time) -> None:
    time.ends_at = 1.0
    with pytest.raises(Unreachable):
        persist(away_until(time, float("inf")), time.stopping)
    assert time.now <= 2.0
