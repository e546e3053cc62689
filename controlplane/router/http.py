"""HTTP in front of Django: bounded bodies, bounded threads, and an answer within two seconds when the store hangs.

Synchronous views run whole (middleware included) in one hop to a pooled
thread that keeps its database connection. Asynchronous ones (long polls) run
on the event loop and hold neither. Nodes have threads of their own, so that
people's requests cannot keep them waiting, nor they people's; and people's
wait for their turn, so that one account's cannot keep the others waiting.
What brings much is answered beside this process, as is all that an account
asks for that comes near the end of its share.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, MutableMapping
from contextlib import AsyncExitStack, ExitStack
from typing import IO, Any

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from controlplane.accounts.turns import Crowded, Turn, turns
from controlplane.router import aside, bodies, metrics, problems
from controlplane.router.aside import Aside
from controlplane.router.download import Streamed
from controlplane.router.heavy import Heavy, work
from controlplane.router.payers import CROWDED, payers
from controlplane.router.sending import Sending
from controlplane.router.storeprobe import StoreProbe
from controlplane.router.threads import MAX_WAITING, Threads, ended
from wire import nodeapi

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

THREADS, NODE_THREADS = 6, 4
PATIENCE_S = 1.0  # then the store is asked whether it still answers
LOOK_AGAIN_S = 0.5
LONGEST_S = 120.0
RETRY_AFTER_S = 2
LOOP_S = 0.0005  # of the processor, that a request takes of the event loop
REFUSED_S = 0.005  # the same of one refused as somebody unknown: who goes on with it comes to the end of his share


def _of_node(path: str) -> bool:
    return path.startswith(nodeapi.PREFIX + "/")


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
        self._heavy = Heavy(self._sync.answer, None)
        self._people = Threads("request", THREADS)
        self._nodes = Threads("node-request", NODE_THREADS)
        self._probe = StoreProbe()
        self._sending = Sending()

    def begin_beside(self) -> Aside:
        """From now on requests that bring much are answered by processes of their own; as ``aside.begin``."""
        beside = aside.begin(work(self._sync.answer))
        self._heavy = Heavy(self._sync.answer, beside)
        return beside

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"not HTTP: {scope['type']}")
        route = bodies.route_of(scope)
        who = payers.of(scope) if route.shared and not _of_node(scope["path"]) else None
        try:
            body = await bodies.read(scope, receive, route, self._threads(scope["path"]), who)
        except RequestAborted:
            return
        except bodies.BodyRefused as refused:
            if who is not None:
                turns.spent(who, LOOP_S)
            await self.send_response(refused.response, send)
            return
        if route.asynchronous:
            await self.handle(scope, bodies.replayed(body, receive), send)
        else:
            await self._serve(scope, body, send, who, route.elsewhere)

    def _threads(self, path: str) -> Threads:
        return self._nodes if _of_node(path) else self._people

    async def _serve(
        self, scope: MutableMapping[str, Any], body: IO[bytes], send: Send, who: Hashable | None, elsewhere: bool
    ) -> None:
        began = time.perf_counter()
        set_script_prefix(get_script_prefix(scope))
        request, refused = self.create_request(scope, body)
        response = refused if request is None else await self._answer(request, body, who, elsewhere)
        if request is None:
            body.close()
        metrics.SECONDS.observe(time.perf_counter() - began)
        if who is not None and request is not None:
            send = _paying(send, payers.of_request(request))
        with ExitStack() as held:
            held.callback(response.close)
            sent = held.enter_context(self._sending.place(request, response))
            metrics.REQUESTS.labels(scope["method"], str(sent.status_code)).inc()
            await self.send_response(sent, send)

    async def _answer(
        self, request: ASGIRequest, body: IO[bytes], who: Hashable | None, elsewhere: bool
    ) -> HttpResponseBase:
        """The view's answer, or a problem when there are too many requests or the store does not answer."""
        answering = asyncio.ensure_future(self._in_turn(request, body, who, elsewhere))
        until = time.monotonic() + LONGEST_S
        patience = PATIENCE_S
        while time.monotonic() < until:
            done, _ = await asyncio.wait({answering}, timeout=patience)
            if done:
                return answering.result()
            if not await self._probe.alive():
                break
            patience = LOOK_AGAIN_S
        answering.cancel()
        metrics.REFUSED.labels("store").inc()
        detail = "the StateStore does not answer; what was asked for may or may not happen: repeat it"
        return problems.plain(503, detail, RETRY_AFTER_S)

    async def _in_turn(
        self, request: ASGIRequest, body: IO[bytes], who: Hashable | None, elsewhere: bool
    ) -> HttpResponseBase:
        """The view's answer, when it is this party's turn. Cancelled, it is not begun, or goes on for nobody.

        Its places are the party's until the view has ended, whoever has been answered by then: it holds a thread.
        """
        begun: asyncio.Future[HttpResponseBase] | None = None
        try:
            async with AsyncExitStack() as places:
                turn, beside = Turn(None), False
                if who is not None:
                    turn = await places.enter_async_context(turns.turn(who))
                    beside = elsewhere and self._heavy.takes(body, who)
                if beside:
                    await places.enter_async_context(self._heavy.place(who))
                threads = self._heavy.threads if beside else self._threads(request.path)
                if threads.waiting > MAX_WAITING:
                    return _busy("this server has more requests than it can answer soon")
                if beside:
                    begun = threads.start(self._heavy.answer, request, body, turn, turns.crowds(who), pay=turn.pay)
                else:
                    begun = threads.start(self._sync.answer, request, pay=turn.pay)
                response = await ended(begun)
                if who is not None:
                    turn.who = payers.learn(request, getattr(response, "account", None))
                    turn.pay(REFUSED_S if isinstance(turn.who, str) and response.status_code in (401, 429) else LOOP_S)
                return response
        except Crowded:
            return _busy(CROWDED)
        finally:
            if begun is None:
                body.close()
            else:
                begun.add_done_callback(lambda _: body.close())  # an abandoned view may still read it

    async def send_response(self, response: HttpResponseBase, send: Send) -> None:
        if response.streaming and not response.is_async and not isinstance(response, Streamed):
            response.streaming_content = _pieces(
                iter(response.streaming_content)
            )  # Django would read all of it at once
        await super().send_response(response, send)


def _busy(detail: str) -> HttpResponseBase:
    metrics.REFUSED.labels("busy").inc()
    return problems.plain(429, detail, 1)


def _paying(send: Send, who: Hashable) -> Send:
    """Sends an answer for whoever pays for it: of a large one the next piece when he may use more of the process."""

    async def paying(message: MutableMapping[str, Any]) -> None:
        await send(message)
        if size := len(message.get("body", b"")):
            turns.spent(who, size * bodies.BYTE_S)
        if message.get("more_body"):
            await turns.within_share(who, LONGEST_S)

    return paying


async def _pieces(iterator: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
        yield piece
