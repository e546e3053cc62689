"""HTTP in front of Django: bounded bodies, bounded threads, and an answer within two seconds when the store hangs.

Synchronous views run whole (middleware included) in one hop to a pooled
thread that keeps its database connection. Asynchronous ones (long polls) run
on the event loop and hold neither. Nodes have threads of their own, so that
people's requests cannot keep them waiting, nor they people's.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from typing import IO, Any

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from controlplane.router import bodies, metrics, problems
from controlplane.router.download import Streamed
from controlplane.router.storeprobe import StoreProbe
from controlplane.router.threads import MAX_WAITING, Threads
from wire import nodeapi

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

THREADS, NODE_THREADS = 6, 4
PATIENCE_S = 1.0  # then the store is asked whether it still answers
LOOK_AGAIN_S = 0.5
LONGEST_S = 120.0
RETRY_AFTER_S = 2


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
        route = bodies.route_of(scope)
        try:
            body = await bodies.read(scope, receive, route, self._threads(scope["path"]))
        except RequestAborted:
            return
        except bodies.BodyRefused as refused:
            await self.send_response(refused.response, send)
            return
        if route.asynchronous:
            await self.handle(scope, bodies.replayed(body, receive), send)
        else:
            await self._serve(scope, body, send)

    def _threads(self, path: str) -> Threads:
        return self._nodes if path.startswith(nodeapi.PREFIX + "/") else self._people

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
        threads = self._threads(request.path)
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
