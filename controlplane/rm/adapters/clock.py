"""The Clock port: the time of this machine, and the database's, carried on by this machine's monotonic clock."""

import time
from collections.abc import Callable, Iterator

QUESTIONS = 5


class HostClock:
    """For what is timed in this process alone and written nowhere."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def processor_s(self) -> float:
        return time.thread_time()


class DatabaseClock(HostClock):
    """Wall-clock jumps on this machine do not reach the rows.

    ``ask``: the database's clock, microseconds since 1970. Its answer is taken for that of the moment before the
    question, so that this clock is never behind the database's, and ahead of it by the quickest of some answers.
    """

    def __init__(self, ask: Callable[[], int]):
        self._offset_us = min(self._asked(ask))[1]

    @staticmethod
    def _asked(ask: Callable[[], int]) -> Iterator[tuple[int, int]]:
        """(how long the answer took, what to add to the monotonic clock), µs, a few times."""
        for _ in range(QUESTIONS):
            began = time.monotonic_ns() // 1000
            now_us = ask()
            yield time.monotonic_ns() // 1000 - began, now_us - began

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000 + self._offset_us
