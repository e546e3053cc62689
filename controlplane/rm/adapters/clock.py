"""The Clock port: the time of this machine, and the database's, carried on by this machine's monotonic clock."""

import time


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

    ``now_us`` at construction: the database's clock, microseconds since 1970.
    """

    def __init__(self, now_us: int):
        self._offset_us = now_us - time.monotonic_ns() // 1000

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000 + self._offset_us
