"""Which reads of a process's sockets are made when: few at a time, the most wanted first.

The number of threads that wait for the store is small: a store that hangs
holds up those threads and nothing else. When more is wanted than they can
read, what is due first is read first, so that what somebody has just been told
of does not wait behind what is only looked at again.
"""

import asyncio
import functools
import heapq
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from controlplane.accounts.turns import turns
from controlplane.statestore.queries.looks import Look

from .snapshots import Result, TopicRefusal, read
from .topics import Topic

READ_TIMEOUT_S = 5.0
THREADS = 2
GATHER_S = 0.005  # what is wanted within it is looked at together
TOGETHER = 64  # reads
_ONE_OF = {"job": "jobs", "jobs": "accounts"}  # topic of ``controlplane.events`` -> of what it names one
_MOVING = ("overview", "jobs")
LOOK_S = 0.25  # reads closer together than this share what does not depend on the account


class Reader:
    """Reads for all that is followed in this process, in the event loop that it is first asked in."""

    def __init__(self, how: Callable[[int, Topic, Look], Result] = read) -> None:
        self._how = how
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="snapshot")
        self._due: list[tuple[float, int, int, Topic, asyncio.Future[Result]]] = []
        self._busy = 0
        self._gathering = False
        self._order = itertools.count()
        self._ended = 0
        self._look, self._look_until = Look(), float("-inf")

    async def get(self, user_id: int, topic: Topic, due: float = 0.0) -> Result:
        """The topic as of a moment after this call. due: by the loop's clock; what is due first is read first.

        A refusal when nothing at all was read for ``READ_TIMEOUT_S``.
        """
        loop = asyncio.get_running_loop()
        wanted: asyncio.Future[Result] = loop.create_future()
        heapq.heappush(self._due, (due, next(self._order), user_id, topic, wanted))
        if not self._gathering:
            self._gathering = True
            loop.call_later(GATHER_S, self._gathered, loop)
        try:
            while True:
                ended = self._ended
                try:
                    async with asyncio.timeout(READ_TIMEOUT_S):
                        return await asyncio.shield(wanted)
                except TimeoutError:
                    if self._ended == ended:
                        return TopicRefusal(503, f"The StateStore has not answered for {READ_TIMEOUT_S:.0f} s.")
        finally:
            wanted.cancel()  # nobody waits for it any more

    def hinted(self, topics: frozenset[str]) -> None:
        """What has changed is not shown again as it was found before; but for what moves all the time, as loads do."""
        for topic in topics:
            what, _, which = topic.partition(":")
            if what in _ONE_OF and which.isdecimal():
                self._look.change(_ONE_OF[what], int(which))
            elif topic not in _MOVING:
                self._look_until = float("-inf")

    async def run(self, function: Callable[..., Any], *values: Any) -> Any:
        """Run something else that reads the store in one of these threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *values)

    def close(self) -> None:
        """End the threads and with them their connections; what still waits is not read."""
        self._due.clear()
        self._pool.shutdown(wait=True)

    def _gathered(self, loop: asyncio.AbstractEventLoop) -> None:
        self._gathering = False
        self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give free threads what is due first."""
        while self._due and self._busy < THREADS:
            look = self._looking(loop.time())
            *_, user_id, topic, wanted = heapq.heappop(self._due)
            if wanted.done():
                continue
            self._busy += 1
            reading = loop.run_in_executor(self._pool, self._paid, loop, user_id, topic, look)
            reading.add_done_callback(functools.partial(self._end, loop, wanted))

    def _paid(self, loop: asyncio.AbstractEventLoop, user_id: int, topic: Topic, look: Look) -> Result:
        """In one of the threads: what it takes of the processor is the account's."""
        began = time.thread_time()
        try:
            return self._how(user_id, topic, look)
        finally:
            loop.call_soon_threadsafe(turns.spent, user_id, time.thread_time() - began)

    def _looking(self, now: float) -> Look:
        if now >= self._look_until:
            first = [entry for entry in heapq.nsmallest(TOGETHER, self._due) if not entry[-1].done()]
            jobs = {topic.number for *_, topic, _ in first if topic.kind == "job"}
            self._look, self._look_until = Look({user for _, _, user, *_ in first}, jobs), now + LOOK_S
        return self._look

    def _end(
        self, loop: asyncio.AbstractEventLoop, wanted: asyncio.Future[Result], reading: asyncio.Future[Result]
    ) -> None:
        self._ended += 1
        self._busy -= 1
        error = reading.exception()
        if not wanted.done():
            if error:
                wanted.set_exception(error)
            else:
                wanted.set_result(reading.result())
        self._begin(loop)
