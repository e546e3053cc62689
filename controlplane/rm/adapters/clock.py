"""The Clock port: the database's time, carried on by this machine's monotonic clock."""

import time


class DatabaseClock:
    """Wall-clock jumps on this machine do not reach the rows.

    ``now_us`` at construction: the database's clock, microseconds since 1970.
    """

    def __init__(self, now_us: int):
        self._offset_us = now_us - time.monotonic_ns() // 1000

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000 + self._offset_us

    def monotonic(self) -> float:
        return time.monotonic()
