"""Events of application masters: a look, a long poll or a stream, on the event loop: waiting costs no thread."""

import functools
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from contract.masters import MasterEvents as MasterEventsAnswer
from controlplane.accounts.turns import Crowded, turns
from controlplane.router.masterauth import SCHEME, ByMaster, MasterPrincipal, container_of, principal
from controlplane.router.masterhub import WAITING_MAX, hub, threads
from controlplane.router.payers import CROWDED, in_turn
from controlplane.router.problems import plain
from controlplane.statestore.errors import Refused, TooMany
from controlplane.statestore.queries.jobs import masters

from .common import answers, choice, integer, number_parameter, rendered
from .masters import MasterView, me

WAIT_MAX_S = 60
STREAM_S = 600.0  # then the client opens another
ALIVE_S = 10.0  # an empty line this often, so that a connection that is gone is noticed
STREAMS = {"ndjson": "application/x-ndjson", "sse": "text/event-stream"}


class MasterEvents(MasterView):
    @extend_schema(
        operation_id="masters_events",
        parameters=[
            number_parameter("after", 0, 2**62, "Number of the last event you know; 0 by default"),
            number_parameter("wait_s", 0, WAIT_MAX_S, "Wait so long for one; 0 by default"),
            OpenApiParameter("stream", str, enum=list(STREAMS), description="Go on for ten minutes, an event a line"),
        ],
        responses=answers({200: MasterEventsAnswer}) | {(200, mime): OpenApiTypes.STR for mime in STREAMS.values()},
    )
    def get(self, request: Request) -> Response:
        """What happened to the job's containers since."""
        after = integer(request, "after", 0, 0, 2**62)
        integer(request, "wait_s", 0, 0, WAIT_MAX_S)
        choice(request, "stream", STREAMS)
        return Response(masters.events(me(request).job_id, after))

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        """An async view beside the synchronous one, which says what is wrong: who waits holds no thread."""
        view = super().as_view(**initkwargs)

        @functools.wraps(view)
        async def waits(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                try:
                    return await _events(request)
                except (ValueError, APIException, Refused, OperationalError, InterfaceError):
                    return await in_turn(threads, request, rendered, view, request, args, kwargs)
            except Crowded:
                return plain(429, CROWDED, 1)

        return waits


async def _events(request: HttpRequest) -> HttpResponseBase:
    """The answer to a usual look; raises for the synchronous view to say what is wrong."""
    began = time.monotonic()
    asked = _asked(request)
    master, found = await _looked(request, asked)
    if not ByMaster().allow_request(SimpleNamespace(user=master), None):
        raise TooMany("too many requests")
    if (asked.stream or asked.wait_s) and hub.full(master.job_id):
        return plain(429, f"an application waits {WAITING_MAX} times at once; end one, or ask at once", 1)
    if asked.stream:
        return _streamed(master, found, asked.stream, began)
    if asked.wait_s and not found["events"]:
        found = await _awaited(request, asked, master, found, began)
    return JsonResponse(found)


@dataclass(frozen=True, slots=True)
class _Asked:
    container_id: int
    after: int
    wait_s: int
    stream: str


def _asked(request: HttpRequest) -> _Asked:
    """What a look for events wants; ``ValueError`` or ``AuthenticationFailed`` for anything unusual."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    known, stream = request.GET, request.GET.get("stream", "")
    after, wait_s = int(known.get("after", "0")), int(known.get("wait_s", "0"))
    usual = request.method == "GET" and scheme == SCHEME and stream in ("", *STREAMS)
    if not (usual and 0 <= after <= 2**62 and 0 <= wait_s <= WAIT_MAX_S):
        raise ValueError(request.get_full_path())
    return _Asked(container_of(token.strip()), after, wait_s, stream)


def _look(container_id: int, after: int) -> tuple[MasterPrincipal, dict[str, Any]]:
    master = principal(container_id)
    return master, masters.events(master.job_id, after)


async def _looked(request: HttpRequest, asked: _Asked) -> tuple[MasterPrincipal, dict[str, Any]]:
    """The same, in the turn of the master's owner."""
    return await in_turn(threads, request, _look, asked.container_id, asked.after, whose=lambda seen: seen[0].owner_id)


async def _awaited(
    request: HttpRequest, asked: _Asked, master: MasterPrincipal, found: dict[str, Any], began: float
) -> dict[str, Any]:
    """What there is once there is any, or when the time is over. A hint that comes late or twice ends no wait."""
    until = began + asked.wait_s
    async with hub.waiting(master.job_id, master.container_id, found["cursor"]) as waiter:
        while not (found["events"] or waiter.over) and await hub.wait(waiter, began, until - time.monotonic()):
            began = time.monotonic()
            _, found = await _looked(request, asked)
    return found


def _streamed(master: MasterPrincipal, found: dict[str, Any], stream: str, began: float) -> HttpResponseBase:
    lines = _stream(master, found, stream, began)
    return StreamingHttpResponse(lines, content_type=STREAMS[stream], headers={"Cache-Control": "no-store"})


async def _stream(master: MasterPrincipal, found: dict[str, Any], stream: str, began: float) -> AsyncIterator[bytes]:
    """Events as they come, until the master ends or ten minutes have passed."""
    until = began + STREAM_S
    if hub.full(master.job_id):  # by others that came at the same moment
        return
    async with hub.waiting(master.job_id, master.container_id, found["cursor"]) as waiter:
        yield b"\n"
        while not waiter.over and time.monotonic() < until:
            for event in found["events"]:
                yield _line(event, stream)
            waiter.after = found["cursor"]
            if not found["events"] and not await hub.wait(waiter, began, ALIVE_S):
                yield b"\n"
                continue
            began = time.monotonic()
            await turns.within_share(master.owner_id, ALIVE_S)
            paid = functools.partial(turns.spent, master.owner_id)
            try:
                found = await threads.start(masters.events, master.job_id, waiter.after, pay=paid)
            except (OperationalError, InterfaceError):
                return  # the application goes on from the last event it was told of, once the store answers


def _line(event: dict[str, Any], stream: str) -> bytes:
    text = json.dumps(event, cls=DjangoJSONEncoder, separators=(",", ":"))
    if stream == "sse":
        return f"id: {event['seq']}\nevent: {event['kind']}\ndata: {text}\n\n".encode()
    return text.encode() + b"\n"
