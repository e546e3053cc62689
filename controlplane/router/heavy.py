"""Requests that bring much, or come from an account that asks for much: told from the others, and answered beside this
process (``aside``), fairly by party."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import IO
from weakref import WeakValueDictionary

import structlog
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse

from controlplane.accounts.turns import Turn, turns
from controlplane.router import aside, problems
from controlplane.router.aside import Answer, Aside, Scope, Work
from controlplane.router.payers import account_behind
from controlplane.router.threads import Threads, alone

FROM_BYTES = 64 << 10  # of a body: a thousand small jobs have twice as many
RETRY_AFTER_S = 2
STREAM = 0  # a worker's status of an answer in pieces, such as a file's: this process makes and sends it
View = Callable[[HttpRequest], HttpResponseBase]

log = structlog.get_logger(__name__)


class AnsweredBeside(HttpResponse):
    """What another process has answered. account: who pays for it, if that was found out there."""

    account: int | None = None


class Heavy:
    """Answers such requests; for one event loop. beside: where; None: in threads of this process, as all others."""

    def __init__(self, view: View, beside: Aside | None) -> None:
        self._view, self._beside = view, beside
        self.threads = Threads("heavy", aside.WORKERS)
        self._places: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def takes(self, body: IO[bytes], who: Hashable) -> bool:
        """Whether it is worth the way: the body is large, or much is asked by an account that keeps others waiting.

        Strangers stay: what they try (passwords, tokens) is counted by process.
        """
        size = body.seek(0, os.SEEK_END)
        body.seek(0)
        return self._beside is not None and (size >= FROM_BYTES or (isinstance(who, int) and turns.crowds(who)))

    @asynccontextmanager
    async def place(self, who: Hashable) -> AsyncIterator[None]:
        """One of a party's places before the workers: another party's waits for one request of it at most."""
        places = self._places.get(who)
        if places is None:
            places = self._places[who] = asyncio.Semaphore(aside.WORKERS)
        async with places:
            yield

    def answer(self, request: ASGIRequest, body: IO[bytes], turn: Turn, crowds: bool) -> HttpResponseBase:
        """The view's answer. In a thread of ``threads``. crowds: whether the party keeps others waiting."""
        assert self._beside is not None
        try:
            found = self._beside.answer(request.scope, body, aside.NICE if crowds else 0)
        except aside.Absent as problem:
            log.warning("a large request is answered by this process", problem=str(problem))
            body.seek(0)
            return self._view(request)
        except aside.Gone as problem:
            detail = f"{problem}; what was asked for may or may not happen: look, then repeat it"
            return problems.plain(503, detail, RETRY_AFTER_S)
        turn.pay(found.cost)
        if found.status == STREAM:
            return self._view(request)
        response = AnsweredBeside(found.content, status=found.status, headers=dict(found.headers))
        response.cookies, response.account = found.cookies, found.account
        return response


def work(view: View) -> Work:
    """What a worker does: answer as a thread of the process would that it was copied from."""

    def answer(scope: Scope, body: IO[bytes]) -> Answer:
        request = ASGIRequest(scope, body)
        response = alone("heavy", view, request)
        payer = account_behind(request)
        if isinstance(response, StreamingHttpResponse):
            response.close()
            return Answer(STREAM, [], None, b"", payer, 0.0)
        headers = list(response.headers.items())
        return Answer(response.status_code, headers, response.cookies, response.content, payer, 0.0)

    return answer
