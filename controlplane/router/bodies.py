"""Bodies of requests: how much an address takes, how long they may take to come, and whose may leave memory.

Until it is known whose request it is, no more of a body is taken in than stays
in memory: past ``SPOOL_BYTES`` the view's own authentication looks at the
request's head first.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import iscoroutinefunction
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import RequestAborted, SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.urls import Resolver404, resolve
from rest_framework.exceptions import APIException

from controlplane.accounts.turns import turns
from controlplane.router import problems
from controlplane.router.threads import MAX_WAITING, Threads
from controlplane.router.views.common import SMALL, View
from controlplane.statestore.errors import Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

SPOOL_BYTES = 1 << 20
SLOWEST_BYTES_S = 16 << 10  # a body that comes slower than this, after a first wait, is given up
KNOWN_S = 5.0  # how long it may take to learn whose request it is
RETRY_AFTER_S = 2
BYTE_S = 2e-9  # of the processor, that a byte takes on its way into a file
PATH_MAX = 200  # of an address that is remembered
_BODIES = {"POST", "PUT", "PATCH"}


class BodyRefused(Exception):
    """The body is not taken; the response says why."""

    def __init__(self, status: int, detail: str, retry_after_s: int = 0) -> None:
        super().__init__(detail)
        self.response: HttpResponse = problems.plain(status, detail, retry_after_s)
        if status == 408:
            self.response["Connection"] = "close"  # or the rest would be waited for
        if status == 401:
            self.response["WWW-Authenticate"] = "Token"


@dataclass(frozen=True, slots=True)
class Route:
    """What an address takes. view: None where no view of the API is. limit: bytes of a body."""

    view: type[View] | None
    asynchronous: bool
    limit: int

    @property
    def shared(self) -> bool:
        """Whether accounts take turns there; not where supervisors ask, who are told how it is at once."""
        return self.view is None or bool(self.view.throttle_classes)

    @property
    def elsewhere(self) -> bool:
        """Whether a copy of this process may answer: it is no file that comes or goes, nor about this process."""
        view = self.view
        return view is not None and set(View.parser_classes) <= set(view.parser_classes) and not view.of_process


def route_of(scope: Scope) -> Route:
    """By path and method. Where there is nothing, and where a method takes no body, there is little to say."""
    path, method = scope["path"], scope["method"]
    return _route(path, method) if len(path) <= PATH_MAX else _route.__wrapped__(path, method)


@lru_cache(maxsize=1000)
def _route(path: str, method: str) -> Route:
    """In the event loop, for whoever asks: the same addresses are asked for over and over."""
    try:
        found = resolve(path).func
    except Resolver404:
        return Route(None, False, SMALL)
    view = getattr(found, "cls", None)
    ours = view if isinstance(view, type) and issubclass(view, View) else None
    takes = ours is not None and method in _BODIES and hasattr(ours, method.lower())
    return Route(ours, iscoroutinefunction(found), ours.body_max if ours and takes else SMALL)


async def read(scope: Scope, receive: Receive, route: Route, threads: Threads, who: Hashable | None) -> IO[bytes]:
    """The body, in a file that leaves memory when it grows; ``BodyRefused`` as soon as it is too much or too slow.

    threads: where to look whose request it is. who: the party that pays for what does not stay in memory, and whose
    next piece is taken when it may use more of the process. The caller closes the file.
    """
    said = dict(scope["headers"]).get(b"content-length", b"")
    if said.isdigit() and int(said) > route.limit:
        raise _too_large(route)
    body = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - whoever reads it closes it
    began, size, more, known, held = time.monotonic(), 0, True, False, bytearray()
    try:
        while more:
            piece, more = await _piece(receive, began, size)
            size += len(piece)
            held += piece
            if size > route.limit:
                raise _too_large(route)
            if size > SPOOL_BYTES:
                known = known or await _somebodys(scope, route, threads)
            if not more or len(held) >= SPOOL_BYTES:
                await asyncio.to_thread(body.write, held) if size > SPOOL_BYTES else body.write(held)
                began += await _paid(who, len(held))
                held = bytearray()
    except BaseException:
        body.close()
        raise
    body.seek(0)
    return body


async def _paid(who: Hashable | None, size: int) -> float:
    """Seconds that the party had to wait for its share of the process, after so many bytes of its body."""
    began = time.monotonic()
    if who is not None and size >= SPOOL_BYTES:
        turns.spent(who, size * BYTE_S)
        await turns.within_share(who, settings.HYDRA["body_wait_s"])
    return time.monotonic() - began


async def _piece(receive: Receive, began: float, size: int) -> tuple[bytes, bool]:
    """The next piece, and whether there are more."""
    until = began + settings.HYDRA["body_wait_s"] + size / SLOWEST_BYTES_S
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            message = await receive()
    except TimeoutError:
        raise BodyRefused(408, "the body came too slowly; send it again") from None
    if message["type"] == "http.disconnect":
        raise RequestAborted
    return message.get("body", b""), message.get("more_body", False)


def _too_large(route: Route) -> BodyRefused:
    return BodyRefused(413, f"a body here may have {route.limit} bytes")


async def _somebodys(scope: Scope, route: Route, threads: Threads) -> bool:
    """True; ``BodyRefused`` when the view knows nobody who would send this."""
    if threads.waiting > MAX_WAITING:
        raise BodyRefused(429, "this server has more requests than it can answer soon", 1)
    try:
        async with asyncio.timeout(KNOWN_S):
            known = await threads.start(_known, dict(scope), route.view)
    except (OperationalError, InterfaceError, TimeoutError):
        raise BodyRefused(503, "the StateStore does not answer; try again shortly", RETRY_AFTER_S) from None
    if not known:
        raise BodyRefused(401, "log in before you send so much")
    return True


def _known(scope: Scope, view: type[View] | None) -> bool:
    """Whether the view's own authentication accepts the head of this request."""
    if view is None:
        return False
    request = ASGIRequest(scope, BytesIO())
    for middleware in (SessionMiddleware, AuthenticationMiddleware):
        middleware(_nothing).process_request(request)
    try:
        return bool(view().initialize_request(request).user.is_authenticated)
    except (APIException, Refused, SuspiciousOperation, MultiPartParserError):
        return False


def _nothing(_: object) -> HttpResponse:
    return HttpResponse()


def replayed(body: IO[bytes], receive: Receive) -> Receive:
    """A ``receive`` that tells a body that was read already, then what follows it."""
    told = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal told
        if told:
            return await receive()
        told = True
        with body:
            return {"type": "http.request", "body": body.read(), "more_body": False}

    return again
