"""The same thing done by several threads at once, each with a database connection of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from tests.patience import stretched

T = TypeVar("T")


def at_once(work: Callable[[int], T], threads: int) -> list[T]:
    """``work(0)`` to ``work(threads - 1)``, begun together; their answers in order."""
    ready = threading.Barrier(threads)

    def one(number: int) -> T:
        try:
            ready.wait(stretched(30))
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))
