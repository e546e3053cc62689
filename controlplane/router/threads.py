"""The web process's threads: a bounded number, each keeping its database connection from request to request.

Django's own ASGI handler makes a thread, and so a connection, per request.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import close_old_connections
from django.db.backends.signals import connection_created

T = TypeVar("T")
MAX_WAITING = 200  # more calls than this without a thread are refused, so that the others are answered in a second
STATEMENT_TIMEOUT_MS = 5000  # a single statement of a request; longer ones are a fault, not patience
_local = threading.local()


def _enter(name: str) -> None:
    _local.web = name


def _limit_statements(sender: Any, connection: Any, **_: Any) -> None:
    if getattr(_local, "web", None) and connection.vendor == "postgresql":
        with connection.connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")


connection_created.connect(_limit_statements, dispatch_uid="web statement timeout")


def _nobody(took_s: float) -> None:
    """Who pays for what the process does for all."""


class Threads:
    """A pool of request threads. ``waiting``: calls that have no thread yet."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.pending = 0
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name, initializer=_enter, initargs=(name,))

    @property
    def waiting(self) -> int:
        return max(0, self.pending - self.size)

    def start(self, call: Callable[..., T], *args: Any, pay: Callable[[float], None] = _nobody) -> "asyncio.Future[T]":
        """Run ``call`` in a thread of the pool; the future belongs to the running loop.

        pay: told in that loop, before whoever waits, how many seconds of the processor it took; also of a call for
        which nobody waits any more, once it has ended.
        """
        loop, context, took = asyncio.get_running_loop(), contextvars.copy_context(), list[float]()
        self.pending += 1
        begun = self._pool.submit(context.run, lambda: _clean(took, call, *args))

        def over(_: "Future[T]") -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._done, took, pay)

        begun.add_done_callback(over)
        future = asyncio.wrap_future(begun, loop=loop)
        future.add_done_callback(_nobody_asks)
        return future

    def _done(self, took: list[float], pay: Callable[[float], None]) -> None:
        self.pending -= 1
        pay(sum(took))


def _nobody_asks(future: "asyncio.Future[Any]") -> None:
    if not future.cancelled():
        future.exception()  # whoever stopped waiting for it will not


async def ended(begun: "asyncio.Future[T]") -> T:
    """What ``start`` has begun answers; a cancellation is raised once it has ended: no thread can be taken from it."""
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:
        await asyncio.wait({begun})
        raise


def alone(name: str, call: Callable[..., T], *args: Any) -> T:
    """Run ``call`` as a thread of a pool would, in a process that has no other."""
    _enter(name)
    return _clean([], call, *args)


def _clean(took: list[float], call: Callable[..., T], *args: Any) -> T:
    """Leave the thread's connection usable for the next request, whatever this one did to it."""
    began = time.thread_time()
    close_old_connections()
    try:
        return call(*args)
    finally:
        close_old_connections()
        took.append(time.thread_time() - began)
