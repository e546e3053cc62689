"""A WebSocket of ASGI that carries frames, and tasks of which the first to end decides."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

from wire import execs

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")


class Left(Exception):
    """The other end of the socket is gone."""


class FrameSocket:
    """One end of a WebSocket; what is not a binary message of a frame's length is refused."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send

    async def accept(self) -> None:
        await self._send({"type": "websocket.accept"})

    async def frame(self) -> bytes:
        """The next frame. Raises ``Left``, or ``ExecError`` of what is none."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise Left
        data = message.get("bytes")
        if not isinstance(data, bytes) or not 1 <= len(data) <= execs.FRAME_MAX:
            raise execs.ExecError(f"a message that is no frame of 1 to {execs.FRAME_MAX} bytes")
        return data

    async def say(self, frame: bytes) -> None:
        """Send it, when the other end has room. Raises ``Left``."""
        try:
            await self._send({"type": "websocket.send", "bytes": frame})
        except (OSError, RuntimeError) as error:  # as servers say that nobody is there any more
            raise Left from error

    async def close(self, code: int = 1000) -> None:
        with contextlib.suppress(Exception):  # it may be gone already
            await self._send({"type": "websocket.close", "code": code, "reason": ""})


async def first_of(*work: Coroutine[Any, Any, T]) -> T:
    """What the first of them to end returns or raises; the others are given up."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
