"""One HTTP exchange through the proxy: both bodies stream, however long they are."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx

from controlplane.router.proxy import headers, pages
from controlplane.router.proxy.access import Admission, ProxyRefusal
from controlplane.router.proxy.address import Address

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CONNECT_S = 5.0
IDLE_S = 300.0  # between two pieces of an answer
WRITE_S = 60.0
CONNECTIONS = 400


class Gone(Exception):
    """The browser has left."""


class Body:
    """The request's body as it comes. Whoever waits for the browser to leave does so after its end."""

    def __init__(self, receive: Receive, length: int | None) -> None:
        self._receive = receive
        self.expected = length != 0
        self.finished = asyncio.Event()
        if not self.expected:
            self.finished.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            if piece := message.get("body", b""):
                yield piece
            more = message.get("more_body", False)
        self.finished.set()

    async def left(self) -> None:
        """Until the browser has left."""
        await self.finished.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def length_of(found: list[headers.Header]) -> int | None:
    """Bytes of the body; 0 without one, None when it comes in chunks."""
    values = dict(found)
    if "transfer-encoding" in values:
        return None
    text = values.get("content-length", "0")
    return int(text) if text.isdigit() else None


class Exchange:
    """A request passed on and its answer passed back. ``answer_s``: how long the application may take to begin."""

    def __init__(self, client: httpx.AsyncClient, address: Address, admission: Admission, answer_s: float) -> None:
        self.client, self.address, self.admission, self.answer_s = client, address, admission, answer_s
        self.upstream = authority(admission.target.host, admission.target.port)
        self.began = False  # the browser has been sent the head of an answer

    async def run(
        self, scope: Message, passed: list[headers.Header], body: Body, send: Send, own_cookies: set[str]
    ) -> ProxyRefusal | headers.LeadsElsewhere | None:
        """None once the answer has been passed on, or could not be to its end; else what to say instead."""
        try:
            answer = await self._ask(scope, passed, body)
            try:
                await self._pass_on(answer, send, own_cookies)
            finally:
                await answer.aclose()
        except headers.LeadsElsewhere as where:
            return where
        except Gone:
            return None
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            return None if self.began else self._words(error)
        return None

    async def _ask(self, scope: Message, passed: list[headers.Header], body: Body) -> httpx.Response:
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        url = httpx.URL(scheme="http", host=self.admission.target.host, port=self.admission.target.port)
        request = httpx.Request(
            scope["method"],
            url.copy_with(raw_path=(self.address.path or "/").encode() + query),
            headers=[*passed, ("host", self.upstream)],
            content=body.pieces() if body.expected else None,
            extensions={"timeout": {"connect": CONNECT_S, "read": IDLE_S, "write": WRITE_S, "pool": CONNECT_S}},
        )
        sending = asyncio.create_task(self.client.send(request, stream=True))
        sent = asyncio.create_task(body.finished.wait())
        try:
            await asyncio.wait({sending, sent}, return_when=asyncio.FIRST_COMPLETED)
            async with asyncio.timeout(self.answer_s):
                return await sending
        finally:
            sent.cancel()
            sending.cancel()  # of no effect on one that is done

    async def _pass_on(self, answer: httpx.Response, send: Send, own_cookies: set[str]) -> None:
        raw = [(n.decode("latin1").lower(), v.decode("latin1")) for n, v in answer.headers.raw]
        out = headers.outwards(raw, own_cookies, address=self.address, upstream=self.upstream)
        head = [(n.encode("latin1"), v.encode("latin1")) for n, v in out]
        self.began = True
        await send({"type": "http.response.start", "status": answer.status_code, "headers": head})
        async for piece in answer.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _words(self, error: Exception) -> ProxyRefusal:
        endpoint, job = self.address.endpoint, self.address.job_id
        if isinstance(error, httpx.PoolTimeout):
            return pages.busy(endpoint, job)
        if isinstance(error, httpx.ConnectTimeout):
            return pages.gone(endpoint, job, f"no connection within {CONNECT_S:g} s")
        if isinstance(error, TimeoutError | httpx.TimeoutException):
            return pages.slow(endpoint, job, self.answer_s)
        if isinstance(error, httpx.NetworkError):
            return pages.gone(endpoint, job, "the connection failed")
        return pages.broken(endpoint, job, type(error).__name__)


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
