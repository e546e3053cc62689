"""Reads that are the same whoever asks, made once for all that look at the stores at the same time.

A live page of a thousand people asks for the same sub-clusters a thousand
times. Within ``looking`` what ``shared`` functions return is found once, and
what ``together`` functions return of each account or job is read for all that
the look is about in one go; outside of it, as in a REST view, each call reads
the stores.
"""

import functools
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Look:
    """What was found in one look at the stores. Several threads may look at once; each thing is read by one of them.

    accounts, jobs: numbers of those that it is about, read together.
    """

    def __init__(self, accounts: Set[int] = frozenset(), jobs: Set[int] = frozenset()) -> None:
        self.about = {"accounts": frozenset(accounts), "jobs": frozenset(jobs)}
        self._changed: dict[str, set[int]] = {"accounts": set(), "jobs": set()}
        self._found: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def once(self, what: Hashable, read: Callable[[], T]) -> T:
        """``read()``, or what it gave another caller. Who comes while it is read waits, and shares a failure."""
        with self._lock:
            found = self._found.get(what)
            mine = found is None
            if found is None:
                found = self._found[what] = Future()
        if mine:
            try:
                found.set_result(read())
            except BaseException as error:
                with self._lock:
                    del self._found[what]
                found.set_exception(error)
        result: T = found.result()
        return result

    def change(self, what: str, number: int) -> None:
        """From now on what was found of this one is not shown again."""
        self._changed[what].add(number)

    def holds(self, what: str, number: int) -> bool:
        return number in self.about[what] and number not in self._changed[what]


_looking: ContextVar[Look | None] = ContextVar("looking", default=None)


@contextmanager
def looking(look: Look) -> Iterator[None]:
    """Let this thread's reads be a part of ``look``."""
    token = _looking.set(look)
    try:
        yield
    finally:
        _looking.reset(token)


def shared(read: Callable[P, T]) -> Callable[P, T]:
    """A read of hashable arguments that is made once in a look. All get the same object: nobody changes it."""

    @functools.wraps(read)
    def once(*args: P.args, **kwargs: P.kwargs) -> T:
        look = _looking.get()
        if look is None:
            return read(*args, **kwargs)
        return look.once((read, args, tuple(kwargs.items())), lambda: read(*args, **kwargs))

    return once


def together(what: str) -> Callable[[Callable[[Set[int]], Mapping[int, T]]], Callable[[int], T | None]]:
    """Makes of a read of many ``accounts`` or ``jobs`` one of a single one: ``None`` when nothing was found of it."""

    def decorator(read: Callable[[Set[int]], Mapping[int, T]]) -> Callable[[int], T | None]:
        @functools.wraps(read)
        def one(number: int) -> T | None:
            look = _looking.get()
            if look is None or not look.holds(what, number):
                return read({number}).get(number)
            return look.once(read, lambda: read(look.about[what])).get(number)

        return one

    return decorator
