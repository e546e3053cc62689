"""Waiting for what other processes do: the one place where tests wait.

How long is counted in *answered time*: between two looks at most ``ANSWERED_S`` passes, however long they really lie
apart, as the product's own clock of liveness counts. So a machine that stands still for a minute ends no patience.
What is waited for may take ``EASY`` times as long as on a quiet machine, and longer by ``machine.FACTOR`` on a slow
one: patience bounds how long a broken thing is waited for. What the product promises in seconds is measured with
``tests.limits``.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tests.machine import FACTOR

T = TypeVar("T")
ANSWERED_S = 0.25
EASY = 3.0
SOON_S = 0.05


class RanOut(AssertionError):
    """What was waited for has not come. The test is run once more, alone: it may have been the machine's fault."""


def stretched(seconds: float) -> float:
    """The limit of what works for so many seconds on a quiet machine, such as a type checker: for pytest's own."""
    return seconds * EASY * FACTOR


class Patience:
    """Answered time that is left. ``spend`` says that nothing has come yet."""

    def __init__(self, timeout_s: float = 30.0, what: str = "") -> None:
        self.what, self.left_s = what, stretched(timeout_s)
        self.began = self._looked = time.monotonic()

    @property
    def pause_s(self) -> float:
        """Until the next look: a tenth of how long it has been waited for, which is seen that much too late at most."""
        return min(max(SOON_S, (self._looked - self.began) / 10), ANSWERED_S)

    def spend(self) -> None:
        """Raises ``RanOut`` when nothing is left."""
        now = time.monotonic()
        self.left_s -= min(now - self._looked, ANSWERED_S)
        self._looked = now
        if self.left_s < 0:
            raise RanOut(f"not within {now - self.began:.0f} s: {self.what}")


def wait_until(condition: Callable[[], T], timeout_s: float = 30.0, what: str = "", every_s: float | None = None) -> T:
    """The condition's first true value; ``RanOut`` naming ``what`` when it does not come in time.

    every_s: between two looks. Without it, less and less often: a look at a stack takes the processor from it.
    """
    patience = Patience(timeout_s, what or getattr(condition, "__name__", "it"))
    while not (value := condition()):
        patience.spend()
        time.sleep(patience.pause_s if every_s is None else every_s)
    return value


async def until(condition: Callable[[], T], timeout_s: float = 30.0, what: str = "", every_s: float = 0.02) -> T:
    """``wait_until`` for coroutines."""
    patience = Patience(timeout_s, what or getattr(condition, "__name__", "it"))
    while not (value := condition()):
        patience.spend()
        await asyncio.sleep(every_s)
    return value


def lasting(seconds: float) -> Iterator[float]:
    """Again and again, for as long as a load or a trouble is to last; the seconds since it began."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        yield passed


def let_pass(seconds: float) -> None:
    """Let real time pass: the length of an outage, the pace of a load, a span in which nothing may happen."""
    time.sleep(seconds)


async def passes(seconds: float) -> None:
    """``let_pass`` for coroutines."""
    await asyncio.sleep(seconds)
