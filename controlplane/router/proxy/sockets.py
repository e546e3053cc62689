"""WebSockets through the proxy: two pumps between the browser's socket and the application's."""

import asyncio
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin

from controlplane.router.proxy import headers
from controlplane.router.proxy.access import Admission
from controlplane.router.proxy.address import Address
from controlplane.router.proxy.forward import CONNECT_S, Message, Receive, Send, authority

MESSAGE_MAX = 16 << 20  # bytes of one message, either way
GOING_AWAY = 1001
UNANSWERED = 1014  # bad gateway


class _OneTry(connect):
    """A connection to just this address: a redirect is an answer, never followed."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def bridge(
    scope: Message, receive: Receive, send: Send, address: Address, admission: Admission, passed: list[headers.Header]
) -> None:
    """From the browser's handshake, already received, to the end of either side."""
    target = authority(admission.target.host, admission.target.port)
    query = f"?{scope['query_string'].decode('latin1')}" if scope["query_string"] else ""
    try:
        upstream = await _OneTry(
            f"ws://{target}{address.path or '/'}{query}",
            additional_headers=passed,
            origin=Origin(f"http://{target}"),  # applications compare it with their own address
            subprotocols=scope.get("subprotocols") or None,
            user_agent_header=None,
            compression=None,
            proxy=None,
            open_timeout=CONNECT_S,
            max_size=MESSAGE_MAX,
        )
    except (OSError, TimeoutError, WebSocketException):
        await send({"type": "websocket.close", "code": UNANSWERED, "reason": "the task does not answer"})
        return
    async with upstream:
        await send({"type": "websocket.accept", "subprotocol": upstream.subprotocol})
        pumps = {asyncio.create_task(_up(receive, upstream)), asyncio.create_task(_down(upstream, send))}
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)


async def _up(receive: Receive, upstream: ClientConnection) -> None:
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            await upstream.close(_code(message.get("code")), str(message.get("reason") or "")[:100])
            return
        data: Any = message.get("bytes")
        try:
            await upstream.send(data if data is not None else message.get("text") or "")
        except ConnectionClosed:
            return


async def _down(upstream: ClientConnection, send: Send) -> None:
    try:
        async for data in upstream:
            kind = "text" if isinstance(data, str) else "bytes"
            await send({"type": "websocket.send", kind: data})
    except ConnectionClosed:
        pass
    code = upstream.close_code
    await send({"type": "websocket.close", "code": _code(code), "reason": (upstream.close_reason or "")[:100]})


def _code(code: int | None) -> int:
    """A close code that may be sent; some only stand for what happened."""
    return code if code and (code in {1000, *range(1001, 1004), *range(1007, 1015)} or code >= 3000) else GOING_AWAY
