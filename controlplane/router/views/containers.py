"""Logs of containers, with a long poll that holds neither a thread nor a connection while it waits."""

import functools
import re
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import LogPiece, MergedLog
from controlplane.accounts.places import Places
from controlplane.accounts.turns import Crowded
from controlplane.router.logfollowers import Followers
from controlplane.router.payers import CROWDED, in_turn
from controlplane.router.problems import plain
from controlplane.router.threads import MAX_WAITING, Threads
from controlplane.statestore.actions.logs import STREAMS
from controlplane.statestore.errors import NotFound
from controlplane.statestore.queries.jobs import logs, logsources, mergedlogs
from controlplane.statestore.queries.jobs.logsources import LogSource
from wire.ids import parse_container

from .common import (
    View,
    account,
    answers,
    choice,
    existing,
    integer,
    moment,
    moment_parameter,
    number_parameter,
    rendered,
    text,
    text_parameter,
    wrong,
)

FOLLOW_S = 25.0
A_PIECE = f"Bytes, {logs.LIMIT_BYTES} by default"
FOLLOWS_MAX = 32  # long polls of one account at once
threads = Threads("logs", 2)
followers = Followers()
following = Places(FOLLOWS_MAX)
LAST_S_MAX = 10 * 365 * 86_400
CURSOR = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}")


class Followed(View):
    """A view that is asked again when there is news of what its answer names as ``follow``."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        """An async view around the synchronous one, for the sake of ``follow``."""
        view = super().as_view(**initkwargs)

        @functools.wraps(view)
        async def waits(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if threads.waiting > MAX_WAITING:
                return plain(429, "more logs are being read than this server can answer soon", 1)
            answer = await _read(view, request, args, kwargs)
            wanted = getattr(answer, "follow", None)
            if wanted is None:
                return answer
            who, source, at = wanted
            if not following.take(who):
                return plain(429, f"an account follows at most {FOLLOWS_MAX} logs at once; ask without follow", 1)
            try:
                new = await followers.something_new(who, source, at, FOLLOW_S)
            finally:
                following.give_back(who)
            return await _read(view, request, args, kwargs) if new else answer

        return waits


class ContainerLogs(Followed):
    @extend_schema(
        operation_id="containers_logs",
        parameters=[
            OpenApiParameter("stream", str, enum=list(STREAMS), description="stdout by default"),
            number_parameter("offset", 0, 2**62, "Bytes of the stream to leave out"),
            number_parameter("limit", 4, logs.LIMIT_BYTES_MAX, A_PIECE),
            number_parameter("follow", 0, 1, "Wait up to 25 s for something to show"),
        ],
        responses=answers({200: LogPiece}),
    )
    def get(self, request: Request, container: str) -> Response:
        """A piece of what a container has written."""
        stream = choice(request, "stream", STREAMS) or STREAMS["stdout"]
        offset = integer(request, "offset", 0, 0, 2**62)
        limit = integer(request, "limit", logs.LIMIT_BYTES, 4, logs.LIMIT_BYTES_MAX)
        follow = integer(request, "follow", 0, 0, 1)
        source = _source(request, container)
        part = logs.read(source, stream, offset, limit)
        response = Response(part)
        if follow and not part["data"] and not part["complete"]:
            response.follow = (account(request).pk, source, {int(stream): part["next_offset"]})
        return response


class MergedLogs(Followed):
    @extend_schema(
        operation_id="containers_logs_merged",
        parameters=[
            OpenApiParameter("stream", str, enum=list(STREAMS), description="Only this one; both by default"),
            text_parameter("cursor", "From `next` of another answer", maxLength=40, pattern=f"^{CURSOR.pattern}$"),
            number_parameter("tail", 0, mergedlogs.TAIL_MAX, "Begin at the last so many lines"),
            moment_parameter("since", "Begin with what came then or later, by the cluster's clock"),
            number_parameter("last_s", 0, LAST_S_MAX, "Begin with what came in the last so many seconds"),
            number_parameter(
                "limit", mergedlogs.LIMIT_MIN, logs.LIMIT_BYTES_MAX, f"Bytes, {logs.LIMIT_BYTES} by default"
            ),
            number_parameter("follow", 0, 1, "With a cursor: wait up to 25 s for something to show"),
        ],
        responses=answers({200: MergedLog}),
    )
    def get(self, request: Request, container: str) -> Response:
        """What a container has written to both streams, in the order in which it came, about a second apart."""
        only = choice(request, "stream", STREAMS)
        streams = [only] if only else list(STREAMS.values())
        limit = integer(request, "limit", logs.LIMIT_BYTES, mergedlogs.LIMIT_MIN, logs.LIMIT_BYTES_MAX)
        follow = integer(request, "follow", 0, 0, 1)
        given, begin = _cursor(request), _begin(request)
        source = _source(request, container)
        at = {s: given[s] for s in streams} if given else mergedlogs.start(source, streams, **begin)
        part = mergedlogs.read(source, at, limit)
        goes_on, seen = part["next"], part.pop("seen")
        response = Response(part | {"next": ".".join(str(goes_on.get(s, 0)) for s in STREAMS.values())})
        if follow and given and not part["pieces"] and not part["complete"]:
            response.follow = (account(request).pk, source, seen)
        return response


def _cursor(request: Request) -> dict[int, int]:
    """Where each stream goes on; empty without a cursor."""
    given = text(request, "cursor")
    if given is None:
        return {}
    if not CURSOR.fullmatch(given):
        raise wrong("cursor", f"{given[:40]!r} is none", "take it from `next` of another answer")
    return dict(zip(STREAMS.values(), map(int, given.split(".")), strict=True))


def _begin(request: Request) -> dict[str, Any]:
    """What the request says of where to begin, as ``mergedlogs.start`` takes it."""
    given = {
        "tail": integer(request, "tail", -1, 0, mergedlogs.TAIL_MAX),
        "since": moment(request, "since"),
        "last_s": integer(request, "last_s", -1, 0, LAST_S_MAX),
    }
    return {name: value for name, value in given.items() if value not in (None, -1)}


def _source(request: Request, container: str) -> LogSource:
    found = logsources.source(account(request), _number(container))
    return existing(found, "there is no such container that you may see; it may not have been started yet")


def _number(container: str) -> int:
    try:
        return parse_container(container)
    except ValueError as error:
        raise NotFound(str(error)) from None


async def _read(view: Callable[..., Any], request: HttpRequest, args: Any, kwargs: Any) -> HttpResponseBase:
    """The synchronous view's answer, when it is the turn of whoever asks."""
    try:
        return await in_turn(threads, request, rendered, view, request, args, kwargs)
    except Crowded:
        return plain(429, CROWDED, 1)
