"""Bodies of requests: how much an address takes, how many of whom come at once and how slowly, and whose leave memory.

Until it is known whose request it is, no more of a body is taken in than stays
in memory: past ``SPOOL_BYTES`` the view's own authentication looks at the
request's head first.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from inspect import iscoroutinefunction
from io import BytesIO
from typing import IO, Any

import structlog
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

from controlplane.accounts.places import PartyPlaces
from controlplane.accounts.turns import turns
from controlplane.router import problems
from controlplane.router.payers import party_of, payers
from controlplane.router.threads import MAX_WAITING, Threads
from controlplane.router.views.common import SMALL, View
from controlplane.statestore.errors import Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

SPOOL_BYTES = 1 << 20
SLOWEST_BYTES_S = 16 << 10  # a body that comes slower than this, after a first wait, is given up
AT_ONCE_S = 1.0  # in which most bodies come whole, and need no place
KNOWN_S = 5.0  # how long it may take to learn whose request it is
RETRY_AFTER_S = 2
BYTE_S = 2e-9  # of the processor, that a byte takes on its way into a file
PATH_MAX = 200  # of an address that is remembered
TOO_MANY = "too many bodies come from here at once already; send fewer at a time"
NO_ROOM = "this server has no room for so much; send it again later, or tell an operator that its disk is full"
_BODIES = {"POST", "PUT", "PATCH"}

log = structlog.get_logger(__name__)
reading = PartyPlaces(settings.HYDRA["bodies_user"], settings.HYDRA["bodies_address"])


class BodyRefused(Exception):
    """The body is not taken; the response says why."""

    def __init__(self, status: int, detail: str, retry_after_s: int = 0) -> None:
        super().__init__(detail)
        self.response: HttpResponse = problems.plain(status, detail, retry_after_s)
        if status in (408, 429):
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


class _Coming:
    """A body while it comes. One that has not come at once has a place until it is whole, or given up.

    The place is one of its account's, and else of its address's until it is known whose it is. So whoever keeps all
    places of an address keeps nobody waiting there who sends little.
    """

    def __init__(self, receive: Receive, who: Hashable) -> None:
        self.size, self.began = 0, time.monotonic()
        self._receive, self._who, self._held = receive, who, False

    def belongs_to(self, who: Hashable) -> None:
        """It has a place of this party's from now on; ``BodyRefused`` where there is none."""
        self.end()
        if not reading.take(who):
            raise BodyRefused(429, TOO_MANY, RETRY_AFTER_S)
        self._who, self._held = who, True

    def end(self) -> None:
        """It needs no place any more."""
        if self._held:
            self._held = False
            reading.give_back(self._who)

    async def piece(self) -> tuple[bytes, bool]:
        """The next one, and whether there are more; ``BodyRefused`` when it comes too slowly."""
        longest_s = settings.HYDRA["body_wait_s"] + self.size / SLOWEST_BYTES_S
        try:
            if not self._held:
                with suppress(TimeoutError):
                    return await self._until(min(AT_ONCE_S, longest_s))
                self.belongs_to(self._who)
            return await self._until(longest_s)
        except TimeoutError:
            raise BodyRefused(408, "the body came too slowly; send it again") from None

    async def _until(self, longest_s: float) -> tuple[bytes, bool]:
        async with asyncio.timeout(max(0.0, self.began + longest_s - time.monotonic())):
            message = await self._receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        piece = message.get("body", b"")
        self.size += len(piece)
        return piece, message.get("more_body", False)


async def read(scope: Scope, receive: Receive, route: Route, threads: Threads, who: Hashable | None) -> IO[bytes]:
    """The body, in a file that leaves memory when it grows; ``BodyRefused`` as soon as it is too much or too slow.

    threads: where to look whose request it is. who: the party that pays for what does not stay in memory, and whose
    next piece is taken when it may use more of the process. The caller closes the file.
    """
    said = dict(scope["headers"]).get(b"content-length", b"")
    if said.isdigit() and int(said) > route.limit:
        raise _too_large(route)
    coming = _Coming(receive, payers.of(scope) if who is None else who)
    try:
        return await _kept(coming, scope, route, threads, who)
    except OSError as error:
        log.error("a body could not be kept", problem=str(error))
        raise BodyRefused(503, NO_ROOM, RETRY_AFTER_S) from None
    finally:
        coming.end()


async def _kept(coming: _Coming, scope: Scope, route: Route, threads: Threads, who: Hashable | None) -> IO[bytes]:
    """The body; ``OSError`` where there is no room for it."""
    body = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - whoever reads it closes it
    more, known, held = True, False, bytearray()
    try:
        while more:
            piece, more = await coming.piece()
            held += piece
            if coming.size > route.limit:
                raise _too_large(route)
            if coming.size > SPOOL_BYTES and not known:
                coming.belongs_to(await _sender(scope, route, threads))
                known = True
            if not more or len(held) >= SPOOL_BYTES:
                await asyncio.to_thread(body.write, held) if coming.size > SPOOL_BYTES else body.write(held)
                coming.began += await _paid(who, len(held))
                held = bytearray()
        body.seek(0)
    except BaseException:
        body.close()
        raise
    return body


async def _paid(who: Hashable | None, size: int) -> float:
    """Seconds that the party had to wait for its share of the process, after so many bytes of its body."""
    began = time.monotonic()
    if who is not None and size >= SPOOL_BYTES:
        turns.spent(who, size * BYTE_S)
        await turns.within_share(who, settings.HYDRA["body_wait_s"])
    return time.monotonic() - began


def _too_large(route: Route) -> BodyRefused:
    return BodyRefused(413, f"a body here may have {route.limit} bytes")


async def _sender(scope: Scope, route: Route, threads: Threads) -> Hashable:
    """Whose it is; ``BodyRefused`` when the view knows nobody who would send this."""
    if threads.waiting > MAX_WAITING:
        raise BodyRefused(429, "this server has more requests than it can answer soon", 1)
    try:
        async with asyncio.timeout(KNOWN_S):
            sender = await threads.start(_known, dict(scope), route.view)
    except (OperationalError, InterfaceError, TimeoutError):
        raise BodyRefused(503, "the StateStore does not answer; try again shortly", RETRY_AFTER_S) from None
    if sender is None:
        raise BodyRefused(401, "log in before you send so much: with Authorization: Token TOKEN")
    return sender


def _known(scope: Scope, view: type[View] | None) -> Hashable | None:
    """Whom the view's own authentication finds in the head of this request."""
    if view is None:
        return None
    request = ASGIRequest(scope, BytesIO())
    for middleware in (SessionMiddleware, AuthenticationMiddleware):
        middleware(_nothing).process_request(request)
    try:
        user = view().initialize_request(request).user
        return party_of(user) if user.is_authenticated else None
    except (APIException, Refused, SuspiciousOperation, MultiPartParserError):
        return None


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
