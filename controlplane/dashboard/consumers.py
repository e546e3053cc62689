"""The browser's WebSocket ``/ws/v1``: complete snapshots of the topics it subscribes to.

``fleet`` alone is told in steps: complete at first and after a resync, then
``{"topic", "seq", "delta"}``, which holds after the message before it only.

From the browser ``{"subscribe": [...]}``, ``{"unsubscribe": [...]}``,
``{"resync": [...]}``, ``{"ping": x}``; to it ``{"topic", "seq", "snapshot"}``,
``{"topic", "error": {"status", "detail"}}``, ``{"pong": x, "seqs": {topic: seq}}``.
``seq`` rises by one with each snapshot of a topic on this socket; ``seqs`` are the last, so that a browser notices
that it has missed one even when nothing comes after it.
"""

import asyncio
import contextlib
from typing import Any

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from pydantic_core import from_json

from controlplane.accounts.places import Places
from controlplane.accounts.turns import turns

from .feed import Feed, dumps
from .hints import Hints
from .reader import Reader
from .sessions import Sessions
from .snapshots import TopicRefusal
from .topics import parse
from .watches import Watches

log = structlog.get_logger(__name__)

NOT_SIGNED_IN = 4401  # close code: sign in again; reconnecting does not help
INTERNAL_ERROR = 1011
TOO_MANY = 4429  # the account has as many sockets open as it may
TOPICS_MAX = 32  # per socket
MESSAGE_MAX = 16_384  # characters from a browser
HELD_S = 10.0  # the longest that wishes wait for their account's share of the process; a browser gives up after 12
MESSAGE_S, NAME_S, CHARACTER_S = 1e-4, 3e-5, 3e-9  # of the processor: a message told, a topic wanted, what is sent
SAID_S = 2e-4  # the same: a browser's message, with its answer
IDLE_MOST, IDLE_EACH_S = 20, 2.0  # messages of a socket that want nothing, at once and in each second, wait for nobody

reader = Reader()
hints = Hints(reader)
watches = Watches(reader, hints)
sessions = Sessions(reader)
places = Places(settings.HYDRA["sockets_user"])


class LiveConsumer(AsyncWebsocketConsumer):
    """One tab. A single task sends, so a slow browser gets fewer snapshots and never a queue of old ones."""

    channel_layer_alias = ""  # hints come through ``hints``: a broken layer must not end the socket

    async def connect(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.woken = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.has_place = False
        self.idle, self.idle_at = 0.0, 0.0  # messages that wanted nothing, fewer with time
        await self.accept()
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(NOT_SIGNED_IN)
            return
        self.user_id: int = user.pk
        self.has_place = places.take(self.user_id)
        if not self.has_place:
            await self.close(TOO_MANY)
            return
        self.sign_in = (self.scope["session"].session_key, user.pk)
        sessions.join(self)
        self.tasks = [asyncio.create_task(self._serve())]

    async def disconnect(self, code: int) -> None:
        if self.has_place:
            places.give_back(self.user_id)
            self.has_place = False
        sessions.leave(self)
        self._leave(*self.feeds)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.tasks:
            return
        turns.spent(self.user_id, SAID_S + len(text_data or bytes_data or "") * CHARACTER_S)
        message = self._message(text_data)
        said = message or {}
        wanted = _names(said.get("subscribe")) + _names(said.get("resync"))
        await self._wait(wanted)
        if message is None:
            detail = 'A message is a JSON object such as {"subscribe": ["jobs"]}.'
            await self.send(dumps({"error": {"status": 400, "detail": detail}}))
            return
        if "ping" in message:
            seqs = {name: feed.seq for name, feed in self.feeds.items()}
            await self.send(dumps({"pong": message["ping"], "seqs": seqs}))
        self._leave(*_names(message.get("unsubscribe")))
        for name in _names(message.get("subscribe")):
            await self._subscribe(name)
        for name in _names(message.get("resync")):
            if feed := self.feeds.get(name):
                watches.again(self.user_id, feed)

    async def _wait(self, wanted: list[str]) -> None:
        """Until the account may use more of the process. A page's beat does not, unless it comes ever again."""
        if wanted:
            turns.asks(self.user_id)
        elif not self._often():
            return
        await turns.within_share(self.user_id, HELD_S)
        turns.spent(self.user_id, NAME_S * len(wanted))

    def _often(self) -> bool:
        now = asyncio.get_running_loop().time()
        self.idle = max(0.0, self.idle - (now - self.idle_at) * IDLE_EACH_S) + 1
        self.idle_at = now
        return self.idle > IDLE_MOST

    def _message(self, text: str | None) -> dict[str, Any] | None:
        if text is None or len(text) > MESSAGE_MAX:
            return None
        try:
            value = from_json(text, allow_inf_nan=False)  # bounds how deeply it is nested
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
            self._leave(name)
            feed = self.feeds[name] = Feed(topic, self.woken.set)
            watches.join(self.user_id, feed)

    def _leave(self, *names: str) -> None:
        for name in names:
            if feed := self.feeds.pop(name, None):
                watches.leave(self.user_id, feed)

    async def _serve(self) -> None:
        """A fault here ends the socket, so that the browser connects anew instead of watching old numbers."""
        try:
            while True:
                await self.woken.wait()
                self.woken.clear()
                for feed in tuple(self.feeds.values()):
                    await turns.within_share(self.user_id, HELD_S)
                    await self._tell(feed)
        except Exception:
            log.exception("a socket's topics can no longer be served")
            await self._end(INTERNAL_ERROR)

    async def _tell(self, feed: Feed) -> None:
        if isinstance(feed.offered, TopicRefusal) and feed.offered.status == 401:
            await self._end(NOT_SIGNED_IN)
        elif self.feeds.get(feed.topic.name) is feed and (message := feed.message()) is not None:
            turns.spent(self.user_id, MESSAGE_S + len(message) * CHARACTER_S)
            await self.send(message)

    async def _end(self, code: int) -> None:
        self._leave(*self.feeds)
        with contextlib.suppress(Exception):  # the browser may be gone already
            await self.close(code)

    async def signed_out(self) -> None:
        await self._end(NOT_SIGNED_IN)


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
