"""HTTP in front of Django: bounded bodies, bounded threads, and an answer within two seconds when the store hangs.

Synchronous views run whole (middleware included) in one hop to a pooled
thread that keeps its database connection. Asynchronous ones (long polls) run
on the event loop and hold neither. Nodes have threads of their own, so that
people's requests cannot keep them waiting, nor they people's.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from inspect import iscoroutinefunction
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve, set_script_prefix

from controlplane.router import metrics, problems
from controlplane.router.download import Streamed
from controlplane.router.storeprobe import StoreProbe
from controlplane.router.threads import Threads
from wire import nodeapi

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

THREADS, NODE_THREADS = 6, 4
MAX_WAITING = 200  # more requests than this without a thread are refused, so that the others are answered in a second
PATIENCE_S = 1.0  # then the store is asked whether it still answers
LOOK_AGAIN_S = 0.5
LONGEST_S = 120.0
BODY_MAX = 32 << 20
SPOOL_BYTES = 1 << 20
RETRY_AFTER_S = 2


class BodyTooLarge(Exception):
    """The client sends more than the address takes."""


class _SyncChain(BaseHandler):
    """Django's middleware and views without an event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)

    def answer(self, request: HttpRequest) -> HttpResponseBase:
        set_script_prefix("/")
        return self.get_response(request)


class HttpHandler(ASGIHandler):
    """The ASGI application for HTTP. One per process, on one event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._sync = _SyncChain()
        self._people = Threads("request", THREADS)
        self._nodes = Threads("node-request", NODE_THREADS)
        self._probe = StoreProbe()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"not HTTP: {scope['type']}")
        if _is_async(scope["path"]):
            await self.handle(scope, receive, send)
            return
        try:
            body = await _read_body(receive, _body_limit(scope))
        except RequestAborted:
            return
        except BodyTooLarge as error:
            await self.send_response(problems.plain(413, str(error)), send)
            return
        await self._serve(scope, body, send)

    async def _serve(self, scope: MutableMapping[str, Any], body: IO[bytes], send: Send) -> None:
        began = time.perf_counter()
        set_script_prefix(get_script_prefix(scope))
        request, refused = self.create_request(scope, body)
        response = refused if request is None else await self._answer(request, body)
        if request is None:
            body.close()
        metrics.SECONDS.observe(time.perf_counter() - began)
        metrics.REQUESTS.labels(scope["method"], str(response.status_code)).inc()
        try:
            await self.send_response(response, send)
        finally:
            response.close()

    async def _answer(self, request: ASGIRequest, body: IO[bytes]) -> HttpResponseBase:
        """The view's answer, or a problem when there are too many requests or the store does not answer."""
        threads = self._nodes if request.path.startswith(nodeapi.PREFIX + "/") else self._people
        if threads.waiting > MAX_WAITING:
            metrics.REFUSED.labels("busy").inc()
            body.close()
            return problems.plain(429, "this server has more requests than it can answer soon", 1)
        future = threads.start(self._sync.answer, request)
        future.add_done_callback(lambda _: body.close())  # an abandoned view may still read it
        until = time.monotonic() + LONGEST_S
        patience = PATIENCE_S
        while time.monotonic() < until:
            done, _ = await asyncio.wait({future}, timeout=patience)
            if done:
                return future.result()
            if not await self._probe.alive():
                break
            patience = LOOK_AGAIN_S
        metrics.REFUSED.labels("store").inc()
        detail = "the StateStore does not answer; what was asked for may or may not happen: repeat it"
        return problems.plain(503, detail, RETRY_AFTER_S)

    async def send_response(self, response: HttpResponseBase, send: Send) -> None:
        if response.streaming and not response.is_async and not isinstance(response, Streamed):
            response.streaming_content = _pieces(
                iter(response.streaming_content)
            )  # Django would read all of it at once
        await super().send_response(response, send)


async def _pieces(iterator: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
        yield piece


def _is_async(path: str) -> bool:
    try:
        return iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return False


def _body_limit(scope: MutableMapping[str, Any]) -> int:
    """Bytes this address takes: artifacts and outputs are large, everything else is JSON."""
    uploads = scope["method"] == "PUT"
    return int(settings.HYDRA["artifact_max_mib"]) << 20 if uploads else BODY_MAX


async def _read_body(receive: Receive, limit: int) -> IO[bytes]:
    """The body in a file that leaves memory when it grows; ``BodyTooLarge`` as soon as it is."""
    body = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - whoever reads it closes it
    size, more = 0, True
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestAborted
            piece = message.get("body", b"")
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(f"a body here may have {limit} bytes")
            if size > SPOOL_BYTES:
                await asyncio.to_thread(body.write, piece)
            else:
                body.write(piece)
            more = message.get("more_body", False)
    except BaseException:
        body.close()
        raise
    body.seek(0)
    return body
