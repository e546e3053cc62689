"""What was last found of a topic, for as long as what it was made of has not been written again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 1024
KNOWN_S = 60.0  # then it is found anew, whatever its stamp: names it shows may have been changed elsewhere


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    stamp: Hashable
    until: float
    what: T


class Kept(Generic[T]):
    """The least recently wanted of more than ``most`` are forgotten. Used by several threads."""

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, stamp: Hashable, read: Callable[[], T]) -> T:
        """What was read under this very stamp, or ``read()``. The stamp is to be older than what ``read`` finds."""
        now = self._clock()
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.stamp == stamp and now < entry.until:
                self._entries.move_to_end(key)
                return entry.what
        found = read()
        with self._lock:
            self._entries[key] = _Entry(stamp, now + KNOWN_S, found)
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return found
