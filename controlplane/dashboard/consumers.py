"""The browser's WebSocket ``/ws/v1``: complete snapshots of the topics it subscribes to.

From the browser ``{"subscribe": [...]}``, ``{"unsubscribe": [...]}``,
``{"resync": [...]}``, ``{"ping": x}``; to it ``{"topic", "seq", "snapshot"}``,
``{"topic", "error": {"status", "detail"}}``, ``{"pong": x}``. ``seq`` rises by
one with each snapshot of a topic on this socket.
"""

import asyncio
import contextlib
import json
import logging
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as StoreError

from .feed import Feed, dumps
from .hints import Hints
from .sessions import still_valid
from .snapshots import Reader, Refusal
from .topics import parse

log = logging.getLogger(__name__)

NOT_SIGNED_IN = 4401  # close code: sign in again; reconnecting does not help
INTERNAL_ERROR = 1011
TOPICS_MAX = 32  # per socket
MESSAGE_MAX = 16_384  # characters from a browser
SESSION_CHECK_S = 10.0
IDLE_S = 3600.0

reader = Reader()
hints = Hints()


class LiveConsumer(AsyncWebsocketConsumer):
    """One tab. A single task reads and sends, so a slow browser gets fewer snapshots and never a queue of old ones."""

    channel_layer_alias = ""  # hints come through ``hints``: a broken layer must not end the socket

    async def connect(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.woken = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        await self.accept()
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(NOT_SIGNED_IN)
            return
        self.user_id: int = user.pk
        hints.join(self)
        self.tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._watch_session())]

    async def disconnect(self, code: int) -> None:
        hints.leave(self)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def hinted(self, topics: frozenset[str]) -> None:
        """Some topics may have changed; only shortens the time until they are read again."""
        for feed in self.feeds.values():
            if feed.topic.hint in topics:
                feed.wanted = True
                self.woken.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.tasks:
            return
        message = self._message(text_data)
        if message is None:
            detail = 'A message is a JSON object such as {"subscribe": ["jobs"]}.'
            await self.send(dumps({"error": {"status": 400, "detail": detail}}))
            return
        if "ping" in message:
            await self.send(dumps({"pong": message["ping"]}))
        for name in _names(message.get("unsubscribe")):
            self.feeds.pop(name, None)
        for name in _names(message.get("subscribe")):
            await self._subscribe(name)
        for name in _names(message.get("resync")):
            if feed := self.feeds.get(name):
                feed.force = True
        self.woken.set()

    def _message(self, text: str | None) -> dict[str, Any] | None:
        if text is None or len(text) > MESSAGE_MAX:
            return None
        try:
            value = json.loads(text)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    async def _subscribe(self, name: str) -> None:
        topic = parse(name)
        if topic is None:
            await self.send(dumps({"topic": name[:512], "error": {"status": 404, "detail": "There is no such topic."}}))
        elif name not in self.feeds and len(self.feeds) >= TOPICS_MAX:
            detail = f"A page may follow {TOPICS_MAX} topics; unsubscribe from one first."
            await self.send(dumps({"topic": name, "error": {"status": 429, "detail": detail}}))
        else:
            self.feeds[name] = Feed(topic)

    async def _serve(self) -> None:
        """A fault here ends the socket, so that the browser connects anew instead of watching old numbers."""
        try:
            await self._serve_topics()
        except Exception:
            log.exception("a socket's topics can no longer be served")
            await self._end(INTERNAL_ERROR)

    async def _end(self, code: int) -> None:
        self.feeds.clear()
        with contextlib.suppress(Exception):  # the browser may be gone already
            await self.close(code)

    async def _serve_topics(self) -> None:
        """Read what is due, send what changed, wait for the next thing to be due."""
        loop = asyncio.get_running_loop()
        while True:
            self.woken.clear()
            for feed in [f for f in self.feeds.values() if f.due_at() <= loop.time()]:
                await self._refresh(feed, loop.time())
            next_due = min((f.due_at() for f in self.feeds.values()), default=loop.time() + IDLE_S)
            with contextlib.suppress(TimeoutError):
                await self._until(next_due - loop.time())

    async def _until(self, seconds: float) -> None:
        """Wait that long, or until something new is wanted; a hint waits out the least interval of its topic."""
        if seconds > 0:
            await asyncio.wait_for(self.woken.wait(), seconds)
        else:
            await asyncio.sleep(0)

    async def _refresh(self, feed: Feed, now: float) -> None:
        feed.reading(now)
        try:
            result = await reader.get(self.user_id, feed.topic)
        except Exception:
            log.exception("topic %s cannot be read", feed.topic.name)
            result = Refusal(500, "This cannot be shown because of a fault in Hydra; its log says more.")
        if isinstance(result, Refusal) and result.status == 401:
            await self._end(NOT_SIGNED_IN)
            return
        message = feed.took(result)
        if message is not None and self.feeds.get(feed.topic.name) is feed:
            await self.send(message)

    async def _watch_session(self) -> None:
        """End the socket soon after signing out elsewhere, a changed password or a disabled account."""
        while True:
            await asyncio.sleep(SESSION_CHECK_S)
            try:
                valid = await reader.run(still_valid, self.scope, self.user_id)
            except StoreError:
                continue  # nothing can be said while the store is away, and nothing can be read either
            if not valid:
                await self._end(NOT_SIGNED_IN)
                return


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
