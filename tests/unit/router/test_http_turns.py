"""One account's requests take as many threads as it may have, and another's are answered beside them."""

import asyncio
import io
import os
import socket
import threading
import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.functional import SimpleLazyObject

from controlplane.accounts import turns as module
from controlplane.accounts.models import User
from controlplane.accounts.turns import AT_ONCE, BURST_S, WAITING_MAX, Turn, Turns
from controlplane.router import bodies, heavy, http, payers
from controlplane.router.aside import Aside
from controlplane.router.masterauth import MasterPrincipal
from controlplane.router.threads import Threads
from controlplane.router.views import containers, masterevents
from tests.patience import stretched, until

GREEDY, MODEST = b"Token greedy", b"Token modest"
ACCOUNTS = {GREEDY: 1, MODEST: 2}


def scope(token: bytes, path: str = "/api/v1/jobs") -> dict[str, Any]:
    headers = [(b"authorization", token)] if token else []
    known = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    return known | {"headers": headers, "client": ("192.0.2.1", 1), "server": ("192.0.2.2", 80), "scheme": "http"}


def request_of(token: bytes, user: object) -> ASGIRequest:
    """As authentication leaves it."""
    made = ASGIRequest(scope(token), io.BytesIO())
    made.user = user  # type: ignore[assignment]
    return made


class Web:
    """A handler whose views stay in their threads until ``end``."""

    def __init__(self) -> None:
        self.handler, self.end, self.begun = http.HttpHandler(), threading.Event(), 0
        self.handler._sync.answer = self.view  # type: ignore[method-assign]

    def view(self, request: Any) -> HttpResponse:
        self.begun += 1
        if request.headers["Authorization"].encode() == GREEDY:
            self.end.wait(stretched(60))
        return HttpResponse()

    async def asked(self, token: bytes, path: str = "/api/v1/jobs") -> int:
        """The status of the answer."""
        said: list[Any] = []

        async def receive() -> Any:
            if not said:
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.get_running_loop().create_future()

        async def send(message: Any) -> None:
            said.append(message)

        await self.handler(scope(token, path), receive, send)
        return int(said[0]["status"])


@pytest.fixture(autouse=True)
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    fresh = Turns(0.2)
    for place in (module, http, payers, masterevents):
        monkeypatch.setattr(place, "turns", fresh)
    for token, number in ACCOUNTS.items():
        payers.payers.learn(request_of(token, User(pk=number)))
    return fresh


def test_an_account_whose_requests_take_long_keeps_no_other_waiting() -> None:
    async def play() -> None:
        web = Web()
        web.handler._probe.alive = answers  # type: ignore[method-assign]
        try:
            greedy = [asyncio.create_task(web.asked(GREEDY)) for _ in range(AT_ONCE + WAITING_MAX)]
            await until(lambda: web.begun >= AT_ONCE, 20, "all that may have begun")
            assert [await web.asked(MODEST) for _ in range(3)] == [200] * 3
            assert await web.asked(GREEDY) == 429
            assert web.begun == AT_ONCE + 3
        finally:
            web.end.set()
        assert set(await asyncio.gather(*greedy)) == {200}

    async def answers() -> bool:
        return True

    asyncio.run(play())


def test_what_was_not_begun_when_the_store_hangs_is_answered_and_never_begins() -> None:
    async def play() -> None:
        web = Web()
        web.handler._probe.alive = hangs  # type: ignore[method-assign]
        try:
            greedy = [asyncio.create_task(web.asked(GREEDY)) for _ in range(AT_ONCE + 10)]
            assert set(await asyncio.gather(*greedy)) == {503}
            assert await web.asked(GREEDY) == 503, "those it was answered for have the threads still"
            assert web.begun == AT_ONCE
            web.handler._probe.alive = answers  # type: ignore[method-assign]
        finally:
            web.end.set()
        assert await web.asked(GREEDY) == 200, "they have ended"

    async def hangs() -> bool:
        return False

    async def answers() -> bool:
        return True

    asyncio.run(play())


def test_who_has_used_more_than_his_share_waits_while_others_ask_but_probes_do_not(turns: Turns) -> None:
    async def play() -> None:
        web = Web()
        web.end.set()
        turns.spent(ACCOUNTS[GREEDY], BURST_S + 1)
        assert await web.asked(GREEDY) == 200, "nobody else asks"
        turns.spent("192.0.2.1", BURST_S + 1)
        assert await web.asked(MODEST) == 200
        held = asyncio.create_task(web.asked(GREEDY))
        stranger = asyncio.create_task(web.asked(b"Token whose"))
        probe = asyncio.create_task(web.asked(b"Token whose", "/healthz"))
        assert await probe == 200
        assert await web.asked(MODEST) == 200
        assert not held.done()
        assert not stranger.done()
        held.cancel()
        stranger.cancel()
        await asyncio.wait([held, stranger])

    asyncio.run(play())


def test_an_account_that_keeps_others_waiting_is_answered_beside_and_a_stranger_is_not(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heavy, "turns", turns)
    ours, its = socket.socketpair()
    with ours, its:
        beside = heavy.Heavy(HttpResponse, Aside(ours, os.getpid()))
        small, large = io.BytesIO(b"{}"), io.BytesIO(b" " * heavy.FROM_BYTES)
        for who in (1, "192.0.2.1"):
            turns.spent(who, BURST_S)
        assert not beside.takes(small, 1), "nobody else asks"
        turns.asks(2)
        assert beside.takes(small, 1) and not beside.takes(small, 2)
        assert not beside.takes(small, "192.0.2.1"), "passwords and tokens are counted by process"
        assert beside.takes(large, "192.0.2.1") and large.tell() == 0
        assert not heavy.Heavy(HttpResponse, None).takes(large, 1)


def test_what_comes_in_pieces_or_tells_of_the_process_is_answered_by_the_process() -> None:
    made: list[str] = []

    def view(request: Any) -> Any:
        made.append(request.path)
        return StreamingHttpResponse([b"a", b"b"]) if len(made) < 3 else HttpResponse(b"c")

    def worked() -> Any:
        with ThreadPoolExecutor(1) as fresh:  # has no connection to look after, whatever this one has
            return fresh.submit(heavy.work(view), scope(MODEST), io.BytesIO()).result()

    answer = worked()
    assert (answer.status, answer.content) == (heavy.STREAM, b"")

    class Beside(Aside):
        def answer(self, *_: object) -> Any:
            return answer

    ours, its = socket.socketpair()
    with ours, its:
        beside = heavy.Heavy(view, Beside(ours, os.getpid()))
        found = beside.answer(request_of(MODEST, User(pk=2)), io.BytesIO(), Turn(2), True)
    assert b"".join(found) == b"ab" and len(made) == 2
    assert worked().content == b"c"
    for path, elsewhere in (("jobs", True), ("metrics", False), (f"artifacts/{'0' * 64}", False)):
        assert bodies.route_of(scope(MODEST, f"/api/v1/{path}")).elsewhere is elsewhere


def test_a_large_answer_goes_on_when_its_account_may_use_more(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        sent: list[int] = []

        async def send(message: Any) -> None:
            sent.append(len(message["body"]))

        sends, now = http._paying(send, 1), time.monotonic()
        monkeypatch.setattr(turns, "_clock", lambda: now)  # nobody comes to more while this machine is slow
        turns.spent(1, BURST_S - 0.001)
        turns.asks(2)
        piece = {"type": "http.response.body", "body": b"x" * (1 << 20), "more_body": True}
        going = asyncio.create_task(_all(sends, piece))
        await asyncio.sleep(0)
        assert sent == [1 << 20] and not going.done(), "a MiB costs 2 ms"
        monkeypatch.setattr(turns, "_clock", time.monotonic)
        await going
        assert sent == [1 << 20] * 2 + [0]

    async def _all(sends: Any, piece: dict[str, Any]) -> None:
        await sends(piece)
        await sends(piece)
        await sends(piece | {"body": b"", "more_body": False})

    asyncio.run(play())


def test_who_pays_is_known_without_looking_anybody_up() -> None:
    """A page of somebody with a session: his account was asked for by nobody, and is not read in the event loop."""

    def look_up() -> User:
        raise AssertionError("the account was looked up")

    page = request_of(b"Token whose", SimpleLazyObject(look_up))
    assert payers.payers.learn(page) == payers.payers.of(page.scope) == "192.0.2.1"
    payers.payers.learn(request_of(b"Token whose", User(pk=7)))
    assert payers.payers.of_request(page) == payers.payers.of(page.scope) == 7


def test_logs_that_nobody_waits_for_any_more_have_their_places_until_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> None:
        end, begun = threading.Event(), list[int]()
        monkeypatch.setattr(containers, "threads", Threads("test", 3 * AT_ONCE))

        def view(request: Any) -> HttpResponse:
            begun.append(1)
            end.wait(stretched(60))
            return HttpResponse()

        def asked() -> "asyncio.Task[Any]":
            return asyncio.create_task(containers._read(view, request_of(GREEDY, User(pk=1)), (), {}))

        try:
            left = [asked() for _ in range(AT_ONCE)]
            await until(lambda: len(begun) == AT_ONCE, 20, "all that may have begun")
            for task in left:
                task.cancel()
            more = [asked() for _ in range(AT_ONCE)]
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(begun) == AT_ONCE
        finally:
            end.set()
        await asyncio.wait([*left, *more])
        assert len(begun) == 2 * AT_ONCE

    asyncio.run(play())


def test_a_masters_owner_pays_for_its_looks_at_events(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(container_id: int, after: int) -> tuple[MasterPrincipal, dict[str, Any]]:
        until_s = time.thread_time() + 0.05
        while time.thread_time() < until_s:
            pass
        return MasterPrincipal(1, container_id, 1, owner_id=7), {"events": [], "cursor": 0}

    paid: list[tuple[Hashable, float]] = []
    monkeypatch.setattr(turns, "spent", lambda who, seconds: paid.append((who, seconds)))

    async def play() -> None:
        asked = masterevents._Asked(container_id=2, after=0, wait_s=0, stream="")
        for _ in range(3):
            await masterevents._looked(ASGIRequest(scope(b"Bearer master"), io.BytesIO()), asked)

    monkeypatch.setattr(masterevents, "_look", looks)
    monkeypatch.setattr(masterevents, "threads", Threads("test", 1))
    asyncio.run(play())
    assert {who for who, _ in paid} == {7} and sum(seconds for _, seconds in paid) >= 0.15
    assert payers.payers.of(scope(b"Bearer master")) == 7, "known before the next is looked up"
