"""Those who wait for events of application masters, and what wakes them.

One Redis subscription and one look at the StateStore every two seconds per
process, however many wait: none of them holds a thread or a connection. The
subscription is a hint; without it events come as late as the next look.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import redis.asyncio
import structlog
from django.conf import settings

from controlplane.router.threads import Threads
from controlplane.statestore.queries.jobs import masters
from wire import keys

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 2.0
RETRY_S = 1.0
SILENT_S = 30.0  # without any hint for this long the subscription is made anew: it may have been lost silently
WAITING_MAX = 64  # polls and streams of one application at once: each of its events has all of them read
HEARD_S = 10.0  # a hint that came while somebody was reading is remembered for this long
threads = Threads("masters", 2)


@dataclass(eq=False)
class Waiter:
    """One long poll or stream. ``over``: its container has ended."""

    job_id: int
    container_id: int
    after: int
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False


class Hub:
    """Works while at least one waits."""

    def __init__(self) -> None:
        self._waiters: dict[int, set[Waiter]] = {}
        self._heard: dict[int, float] = {}  # job -> when a hint for it came last
        self._tasks: list[asyncio.Task[None]] = []

    def full(self, job_id: int) -> bool:
        """Whether as many of this application's wait as may."""
        return len(self._waiters.get(job_id, ())) >= WAITING_MAX

    @asynccontextmanager
    async def waiting(self, job_id: int, container_id: int, after: int) -> AsyncIterator[Waiter]:
        waiter = Waiter(job_id, container_id, after)
        self._waiters.setdefault(job_id, set()).add(waiter)
        self._start()
        try:
            yield waiter
        finally:
            others = self._waiters.get(job_id, set())
            others.discard(waiter)
            if not others:
                self._waiters.pop(job_id, None)

    async def wait(self, waiter: Waiter, since: float, timeout_s: float) -> bool:
        """Until there may be news for the waiter; False when none came in time. since: when it last began to read."""
        if self._heard.get(waiter.job_id, 0.0) >= since:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await waiter.woken.wait()
        except TimeoutError:
            return False
        waiter.woken.clear()
        return True

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._tasks or any(task.done() or task.get_loop() is not loop for task in self._tasks):
            self._tasks = [loop.create_task(self._listen()), loop.create_task(self._look())]

    def _wake(self, jobs: set[int]) -> None:
        now = time.monotonic()
        for job in jobs:
            self._heard[job] = now
            for waiter in self._waiters.get(job, ()):
                waiter.woken.set()

    async def _listen(self) -> None:
        while True:
            try:
                await self._subscription()
            except (redis.RedisError, OSError) as error:
                log.debug("hints are interrupted", problem=str(error))
                await asyncio.sleep(RETRY_S)

    async def _subscription(self) -> None:
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL, socket_timeout=None, socket_connect_timeout=5)
        try:
            async with client.pubsub(ignore_subscribe_messages=True) as pubsub:
                await pubsub.subscribe(keys.masters())
                heard = time.monotonic()
                while time.monotonic() - heard < SILENT_S:
                    message = await pubsub.get_message(timeout=SILENT_S / 3)
                    if message is not None:
                        heard = time.monotonic()
                        self._wake({int(job) for job in message["data"].split() if job.isdigit()})
        finally:
            await client.aclose()

    async def _look(self) -> None:
        """What hints may have missed, and whose container has ended; for all that wait in two queries."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now = time.monotonic()
            self._heard = {job: at for job, at in self._heard.items() if now - at < HEARD_S}
            waiters = [waiter for some in self._waiters.values() for waiter in some]
            if not waiters:
                continue
            try:
                asked = [(w.job_id, w.container_id, w.after) for w in waiters]
                moved, live = await threads.start(masters.news, asked)
            except Exception as error:  # a store that does not answer now is asked again
                log.debug("no look at events", problem=str(error))
                continue
            for waiter in waiters:
                waiter.over = waiter.container_id not in live
                if waiter.over or waiter.job_id in moved:
                    waiter.woken.set()


hub = Hub()
