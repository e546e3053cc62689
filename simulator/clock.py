"""Time that passes only when somebody moves it on."""

import datetime as dt
from typing import Any

BEGINS = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
_BEGINS_S = int(BEGINS.timestamp())


class VirtualClock:
    """The Clock port of a simulated federation. now: seconds since its beginning; every reader sees the same."""

    def __init__(self, now: float = 0.0):
        self.now = now

    def now_us(self) -> int:
        return _BEGINS_S * 1_000_000 + round(self.now * 1e6)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Whoever sleeps moves the time on."""
        self.now += max(0.0, seconds)

    def processor_s(self) -> float:
        """Nothing takes time here but what is told to."""
        return 0.0

    @property
    def wall_s(self) -> float:
        """Seconds since 1970."""
        return _BEGINS_S + self.now

    def to_us(self, at: float) -> int:
        """A moment of this clock in microseconds since 1970."""
        return _BEGINS_S * 1_000_000 + round(at * 1e6)


def seconds(at_us: Any) -> Any:
    """Microseconds since 1970 as seconds since the beginning: one, or an array of them."""
    return (at_us - _BEGINS_S * 1_000_000) / 1e6


def moment(at_us: int) -> dt.datetime:
    """As Postgres would give it back."""
    return dt.datetime.fromtimestamp(at_us / 1e6, dt.UTC)
