"""Requests that are repeated for as long as the control plane does not answer: no task is to blame for that."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from nodemanager.http import HttpError

T = TypeVar("T")
PATIENCE_S = 600.0  # an update or a failover of the control plane takes less
FIRST_S, LONGEST_S = 0.25, 15.0  # between two tries


class Unreachable(Exception):
    """The control plane has not answered for ``PATIENCE_S``, or the node manager stops."""


def persist(call: Callable[[], T], stopping: threading.Event, patience_s: float = PATIENCE_S) -> T:
    """What ``call`` answers. Raises ``HttpError`` where trying again cannot help, else ``Unreachable``."""
    until, pause_s = time.monotonic() + patience_s, FIRST_S
    while True:
        try:
            return call()
        except HttpError as error:
            if not error.retry:
                raise
            if time.monotonic() >= until or stopping.wait(pause_s):
                raise Unreachable(str(error)) from None
        pause_s = min(LONGEST_S, 2 * pause_s)
