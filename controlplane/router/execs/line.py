"""What the two web processes of an exec say to one another: Redis' channels, with nothing lost unnoticed."""

import asyncio
import struct
from types import TracebackType
from typing import Self

import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

CONNECT_S = 5.0
SILENT_S = 15.0  # the other end says something every PULSE_S
PULSE_S = 5.0
LAST_WORDS_S = 2.0  # what a gone end has said last is still on its way
_NUMBER = struct.Struct(">I")


class LineDown(Exception):
    """The other end is gone, or something on the way was lost; the text is for the person."""


class Line:
    """One end of an exec's line; use it in ``async with``, on one event loop. ``hears``, ``says``: channels.

    What is said is numbered, so that whoever hears notices what is missing. A word without content is a pulse.
    """

    def __init__(self, hears: str, says: str) -> None:
        self._hears, self._says = hears, says
        self._said = self._heard = 0
        self._saying = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._client = redis.asyncio.Redis.from_url(
            settings.BROKER_URL, socket_timeout=None, socket_connect_timeout=CONNECT_S, retry=Retry(NoBackoff(), 0)
        )
        self._pubsub = self._client.pubsub()
        try:
            await self._pubsub.subscribe(self._hears)
            if await self._pubsub.get_message(timeout=CONNECT_S) is None:  # that the channel is listened to
                raise OSError("no answer")
        except (RedisError, OSError) as error:
            await self._close()
            raise LineDown("the web processes cannot reach one another; try again shortly") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        try:
            await self._pubsub.aclose()  # type: ignore[no-untyped-call]
            await self._client.aclose()
        except (RedisError, OSError):
            pass  # it is over either way

    async def say(self, frame: bytes = b"") -> None:
        """Pass a frame on, or a pulse. ``LineDown`` when nobody hears it."""
        try:
            async with self._saying:  # one after the other: publications take several connections
                heard = await self._client.publish(self._says, _NUMBER.pack(self._said & 0xFFFFFFFF) + frame)
                self._said += bool(frame)
        except (RedisError, OSError) as error:
            raise LineDown("the connection between the web processes was lost") from error
        if not heard:
            await asyncio.sleep(LAST_WORDS_S)
            raise LineDown("the other end of the connection is gone")

    async def hear(self, silent_s: float = SILENT_S) -> bytes:
        """The next frame; ``LineDown`` when one was lost, or nothing at all came for ``silent_s``."""
        while True:
            try:
                message = await self._pubsub.get_message(timeout=silent_s)
            except (RedisError, OSError) as error:
                raise LineDown("the connection between the web processes was lost") from error
            if message is None:
                raise LineDown("the other end of the connection has fallen silent")
            data: bytes = message["data"]
            if _NUMBER.unpack_from(data)[0] != self._heard & 0xFFFFFFFF:
                raise LineDown("a part of what was said between the web processes was lost")
            if len(data) > _NUMBER.size:
                self._heard += 1
                return data[_NUMBER.size :]
