"""Threads of a web process: what runs in one counts, and is paid for, whoever still waits for it."""

import asyncio
import threading
import time

from controlplane.router.threads import Threads, ended
from tests.patience import stretched, until


def test_a_call_that_nobody_waits_for_any_more_counts_and_is_paid_for_until_it_has_ended() -> None:
    async def play() -> None:
        pool, end, begun, paid = Threads("test", 1), threading.Event(), threading.Event(), list[float]()

        def call() -> None:
            begun.set()
            end.wait(stretched(60))
            until_s = time.thread_time() + 0.01
            while time.thread_time() < until_s:
                pass

        first, never = pool.start(call, pay=paid.append), pool.start(call, pay=paid.append)
        await until(begun.is_set, 10, "one runs")
        first.cancel()
        never.cancel()
        await until(lambda: pool.pending == 1, 10, "what never begins is over")
        assert paid == [0.0]
        end.set()
        await until(lambda: pool.pending == 0, 10, "so is what has ended")
        assert paid[1] >= 0.01

    asyncio.run(play())


def test_whoever_waits_for_the_end_is_cancelled_with_it() -> None:
    async def play() -> None:
        pool, end = Threads("test", 1), threading.Event()
        waits = asyncio.create_task(ended(pool.start(end.wait, 60)))
        await asyncio.sleep(0)
        waits.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waits.done()
        end.set()
        await asyncio.wait({waits})
        assert waits.cancelled()

    asyncio.run(play())
