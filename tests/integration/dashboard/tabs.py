"""A browser's end of the live socket, spoken to the whole ASGI application."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client as Browser

from controlplane.accounts.models import User
from controlplane.asgi import application
from tests.patience import stretched

WITHIN_S = stretched(5.0)
Message = dict[str, Any]


class Tab:
    """A browser tab's end of the socket."""

    def __init__(self, socket: ApplicationCommunicator) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        await self.put(text=text)

    async def put(self, **frame: str | bytes) -> None:
        """A frame as it is: ``text`` or ``bytes``."""
        await self._socket.send_input({"type": "websocket.receive", **frame})

    async def say(self, **message: Any) -> None:
        await self.send(json.dumps(message))

    async def hear(self, within_s: float = WITHIN_S) -> Message:
        output = await self._socket.receive_output(within_s)
        assert output["type"] == "websocket.send", output
        return json.loads(output["text"])

    async def hear_until(self, wanted: Any, within_s: float = WITHIN_S) -> Message:
        """The first message that satisfies ``wanted``."""
        async with asyncio.timeout(within_s):
            while True:
                message = await self.hear(within_s)
                if wanted(message):
                    return message

    async def closed_with(self, within_s: float = WITHIN_S, silently: bool = False) -> int:
        """The close code. silently: nothing may come before it."""
        async with asyncio.timeout(within_s):
            while True:
                output = await self._socket.receive_output(within_s)
                if output["type"] == "websocket.close":
                    return int(output["code"])
                assert not silently, output


def cookie_of(user: User) -> str:
    browser = Browser()
    browser.force_login(user)
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


@asynccontextmanager
async def tab(user: User | None, origin: str = "http://localhost") -> AsyncIterator[Tab]:
    headers = [(b"host", b"localhost"), (b"origin", origin.encode())]
    if user is not None:
        value = await sync_to_async(cookie_of)(user)
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={value}".encode()))
    scope = {"type": "websocket", "path": "/ws/v1", "query_string": b"", "headers": headers, "subprotocols": []}
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    answer = await socket.receive_output(WITHIN_S)
    assert answer["type"] == "websocket.accept", answer
    try:
        yield Tab(socket)
    finally:
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await socket.wait(WITHIN_S)
