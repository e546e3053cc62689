"""What accounts follow, read once for all sockets of this process that follow it, and handed to each of them."""

import asyncio
import contextlib

import structlog

from controlplane.accounts.turns import turns
from controlplane.events import of_owner

from .feed import Feed
from .hints import Hints
from .reader import Reader
from .schedule import Schedule
from .snapshots import Result, TopicRefusal, TopicSnapshot
from .topics import Topic

log = structlog.get_logger(__name__)

FAULT = TopicRefusal(500, "This cannot be shown because of a fault in Hydra; its log says more.")
FAULT_REST_S = 1.0
HELD_S = 10.0  # the longest that a read waits for its account's share of the process


class Watch:
    """One topic of one account, and a task that reads it while anybody follows."""

    def __init__(self, user_id: int, topic: Topic, reader: Reader) -> None:
        self.feeds: set[Feed] = set()
        self._user_id, self._topic, self._reader = user_id, topic, reader
        self._schedule = Schedule(topic.kind, user_id)
        self._topics = frozenset({topic.hint})  # of ``controlplane.events``, that concern it
        self._woken = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def ask(self) -> None:
        """Somebody wants it as it is from now on."""
        self._schedule.asked = True
        self._woken.set()

    def hinted(self, topics: frozenset[str]) -> None:
        """Some topics may have changed; only shortens the time until this one is read again."""
        if not self._schedule.hinted and not self._topics.isdisjoint(topics):
            self._schedule.hinted = True
            self._woken.set()

    def end(self) -> None:
        self._task.cancel()

    async def _serve(self) -> None:
        while True:
            try:
                await self._until_due()
                await turns.within_share(self._user_id, HELD_S)
                result = await self._read()
            except Exception:
                log.exception("a topic cannot be read", topic=self._topic.name)
                self._offer(FAULT)
                await asyncio.sleep(FAULT_REST_S)
            else:
                self._offer(result)

    def _offer(self, result: Result) -> None:
        for feed in self.feeds:
            feed.offer(result)

    async def _until_due(self) -> None:
        loop = asyncio.get_running_loop()
        while (wait_s := self._schedule.due_at() - loop.time()) > 0:
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()

    async def _read(self) -> Result:
        loop, schedule = asyncio.get_running_loop(), self._schedule
        began = loop.time()
        result = await self._reader.get(self._user_id, self._topic, schedule.begin(began))
        schedule.took_s = loop.time() - began
        if self._topic.kind == "jobs" and isinstance(result, TopicSnapshot):
            self._topics = frozenset(of_owner(self._user_id) if result.own else {self._topic.hint})
        return result


class Watches:
    """All that the sockets of this process follow."""

    def __init__(self, reader: Reader, hints: Hints) -> None:
        self._reader, self._hints = reader, hints
        self._known: dict[tuple[int, str], Watch] = {}

    def join(self, user_id: int, feed: Feed) -> None:
        """The feed is offered its topic, read anew, and whatever it becomes."""
        key = user_id, feed.topic.name
        watch = self._known.get(key)
        if watch is None:
            watch = self._known[key] = Watch(user_id, feed.topic, self._reader)
            self._hints.join(watch)
        watch.feeds.add(feed)
        watch.ask()

    def again(self, user_id: int, feed: Feed) -> None:
        """The feed has lost something and is to be sent the whole."""
        feed.force = True
        self._known[user_id, feed.topic.name].ask()

    def leave(self, user_id: int, feed: Feed) -> None:
        key = user_id, feed.topic.name
        watch = self._known[key]
        watch.feeds.discard(feed)
        if not watch.feeds:
            del self._known[key]
            self._hints.leave(watch)
            watch.end()
