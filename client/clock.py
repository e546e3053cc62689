"""The time by which hydractl goes: the server's, so that ``-10m`` means the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime


class _Source:
    now: Callable[[], datetime] = staticmethod(lambda: datetime.now(UTC))


def go_by(source: Callable[[], datetime]) -> None:
    """Take the time from there."""
    _Source.now = staticmethod(source)


def now() -> datetime:
    """This machine's, where no server has been named."""
    return _Source.now()
