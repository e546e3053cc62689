"""Streamed answers: of one account, node or address so many are sent at once, and each has its pace."""

import asyncio
import tempfile
from typing import Any

import pytest

from controlplane.accounts.models import User
from controlplane.accounts.places import PartyPlaces
from controlplane.router import http, payers, unread
from controlplane.router.download import Pieces, Streamed
from controlplane.router.nodeauth import NodePrincipal
from controlplane.router.unread import SLOWEST_BYTES_S, UNREAD_S, Unread
from tests.patience import until
from tests.unit.router.test_http_turns import request_of, scope

PATH = "/api/v1/artifacts/" + "0" * 64


class Downloads:
    """A handler whose views answer with a file, and readers that take nothing of it until ``taken``."""

    def __init__(self) -> None:
        self.handler, self.files = http.HttpHandler(), list[Any]()
        self.handler._sync.answer = self.view  # type: ignore[method-assign]
        self.handler._sending.places = PartyPlaces(2, 3)
        self.taken, self.node = asyncio.Event(), 0

    def view(self, request: Any) -> Streamed:
        if request.path.startswith("/node/"):
            request.user = NodePrincipal(self.node, 1, "")
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
        file.write(b"some")
        file.seek(0)
        self.files.append(file)
        return Streamed(Pieces(file, 4))

    async def asked(self, token: bytes, path: str = PATH) -> int:
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)
            if message.get("more_body"):
                await self.taken.wait()

        await self.handler(scope(token, path), receive, send)
        return int(told[0]["status"])

    async def held(self, most: int, token: bytes, path: str = PATH) -> "list[asyncio.Task[int]]":
        """As many as may be, none of which ends."""
        before = len(self.files)
        found = [asyncio.create_task(self.asked(token, path)) for _ in range(most)]
        places = self.handler._sending.places
        held = sum(places.known.held.values()) + sum(places.addresses.held.values()) + most
        await until(
            lambda: sum(places.known.held.values()) + sum(places.addresses.held.values()) == held, 10, "all are sent"
        )
        assert len(self.files) == before + most
        return found


def test_of_one_account_so_many_downloads_are_open_and_nodes_have_their_own() -> None:
    payers.payers.learn(request_of(b"Token reads", User(pk=72)))

    async def play() -> None:
        web = Downloads()
        open_ = await web.held(2, b"Token reads")
        assert await web.asked(b"Token reads") == 429
        assert web.files[-1].closed, "what is not sent is not held"
        open_ += await web.held(3, b"Token nobody")
        assert await web.asked(b"Token nobody") == 429, "of an address"
        for web.node in (1, 2):
            open_ += await web.held(2, b"Node x", "/node/v1/artifacts/x")
            assert await web.asked(b"Node x", "/node/v1/artifacts/x") == 429
        web.taken.set()
        assert set(await asyncio.gather(*open_)) == {200}
        assert await web.asked(b"Token reads") == 200
        assert all(file.closed for file in web.files)

    asyncio.run(play())


def test_an_answer_that_is_not_streamed_needs_no_place() -> None:
    async def play() -> None:
        web = Downloads()
        web.handler._sync.answer = lambda request: http.problems.plain(404, "no")  # type: ignore[method-assign]
        web.handler._sending.places = PartyPlaces(0, 0)
        assert await web.asked(b"Token nobody") == 404

    asyncio.run(play())


class Reader:
    """A transport of which ``left`` bytes wait to be taken."""

    def __init__(self) -> None:
        self.left, self.cut = 1 << 20, False

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.cut = True


class Later:
    """What was to be called."""

    def cancel(self) -> None:
        """It is not."""


class Hours:
    """A loop's clock, which a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Any) -> Later:
        return Later()


def taking(monkeypatch: pytest.MonkeyPatch, each: int, every_s: float, times: int) -> bool:
    """Whether a reader is cut off who takes so many bytes so often, when he is looked at each time."""
    reader, clock = Reader(), Hours()
    monkeypatch.setattr(unread.asyncio, "get_running_loop", lambda: clock)
    watched = Unread(reader)  # type: ignore[arg-type]
    watched.begins()
    for _ in range(times):
        clock.now += every_s
        reader.left -= each
        watched.look()
    return reader.cut


def test_who_takes_a_little_now_and_then_is_cut_off_and_who_keeps_the_pace_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = UNREAD_S - 1
    assert taking(monkeypatch, 4096, some, 2), "some KB every 29 s"
    assert not taking(monkeypatch, 4096, some, 1)
    assert not taking(monkeypatch, int(SLOWEST_BYTES_S * some), some, 50)
    assert taking(monkeypatch, SLOWEST_BYTES_S // 2, 1.0, 61), "half the pace"
    assert taking(monkeypatch, 0, UNREAD_S, 1)
