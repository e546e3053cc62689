"""Bodies that do not come whole: so many of one address and one account at once, and room on the disk or words."""

import asyncio
import errno
import json
import socket
import tempfile
from contextlib import ExitStack
from typing import Any

import pytest
from django.http import HttpResponse

from controlplane.accounts.models import User
from controlplane.accounts.places import PartyPlaces
from controlplane.router import bodies, http, payers
from tests.patience import until, wait_until
from tests.unit.router.serving import Serving, serving
from tests.unit.router.test_http_turns import request_of, scope

BULK = b"POST /api/v1/jobs/bulk HTTP/1.1\r\nHost: x\r\n"
LARGE = BULK + b"Content-Length: 31457280\r\n\r\n" + b" " * 1000
SMALL = BULK + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> PartyPlaces:
    fresh = PartyPlaces(2, 3)
    monkeypatch.setattr(bodies, "reading", fresh)
    monkeypatch.setattr(bodies, "AT_ONCE_S", 0.1)
    return fresh


def handler() -> http.HttpHandler:
    """One whose views are there, and look nothing up."""
    made = http.HttpHandler()
    made._sync.answer = lambda request: HttpResponse()  # type: ignore[method-assign]
    return made


def begun(web: Serving, held: ExitStack, said: bytes) -> socket.socket:
    there = held.enter_context(web.reached())
    there.sendall(said)
    return there


def until_its_end(there: socket.socket) -> bytes:
    read = b""
    while piece := there.recv(4096):
        read += piece
    return read


def test_of_an_address_so_many_bodies_come_at_once_and_what_is_whole_is_taken(reading: PartyPlaces) -> None:
    with serving(handler()) as web, ExitStack() as held:
        first = [begun(web, held, LARGE) for _ in range(3)]
        wait_until(lambda: reading.addresses.held["127.0.0.1"] == 3, 10, "all have a place")
        head, _, body = until_its_end(begun(web, held, LARGE)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 429") and b"connection: close" in head.lower()
        assert json.loads(body.split(b"\r\n")[1])["detail"] == bodies.TOO_MANY
        assert begun(web, held, SMALL).recv(100).startswith(b"HTTP/1.1 200"), "it came at once"
        first[0].close()
        wait_until(lambda: reading.addresses.held["127.0.0.1"] == 2, 10, "there is room")
        begun(web, held, BULK + b"Content-Length: 2\r\n\r\n")
        wait_until(lambda: reading.addresses.held["127.0.0.1"] == 3, 10, "one that has not begun needs a place too")
    wait_until(lambda: not reading.addresses.held, 10, "nothing is left of them")


def test_an_account_sends_so_many_at_once_beside_its_address(reading: PartyPlaces) -> None:
    payers.payers.learn(request_of(b"Token sends", User(pk=71)))
    known = LARGE.replace(b"Host: x", b"Host: x\r\nAuthorization: Token sends")
    with serving(handler()) as web, ExitStack() as held:
        for _ in range(2):
            begun(web, held, known)
        wait_until(lambda: reading.known.held == {71: 2}, 10, "both have a place")
        assert until_its_end(begun(web, held, known)).startswith(b"HTTP/1.1 429")
        begun(web, held, LARGE)
        wait_until(lambda: reading.addresses.held["127.0.0.1"] == 1, 10, "others are not in its way")


async def coming(monkeypatch: pytest.MonkeyPatch, sender: Any, pieces: "asyncio.Queue[bytes]") -> Any:
    """A large body of somebody known; an empty piece is the last."""

    async def receive() -> Any:
        piece = await pieces.get()
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    monkeypatch.setattr(bodies, "_known", lambda scope, view: sender)
    told = scope(b"Node x", "/api/v1/artifacts/" + "0" * 64) | {"method": "PUT"}
    return await bodies.read(told, receive, bodies.route_of(told), handler()._people, None)


def test_nodes_behind_one_address_have_places_of_their_own_once_they_are_known(
    monkeypatch: pytest.MonkeyPatch, reading: PartyPlaces
) -> None:
    async def play() -> None:
        pieces = asyncio.Queue[bytes]()
        sent = asyncio.create_task(coming(monkeypatch, ("node", 5), pieces))
        await until(lambda: reading.addresses.held == {"192.0.2.1": 1}, 10, "nobody knows whose it is")
        pieces.put_nowait(bytes(2 << 20))
        await until(lambda: reading.known.held == {("node", 5): 1}, 10, "it is the node's")
        assert not reading.addresses.held
        pieces.put_nowait(b"")
        with await sent as body:
            assert len(body.read()) == 2 << 20
        assert not reading.known.held

    asyncio.run(play())


def test_a_full_disk_is_said_and_leaves_no_place_taken(monkeypatch: pytest.MonkeyPatch, reading: PartyPlaces) -> None:
    class Full(tempfile.SpooledTemporaryFile[bytes]):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    async def play() -> None:
        pieces = asyncio.Queue[bytes]()
        pieces.put_nowait(bytes(2 << 20))
        monkeypatch.setattr(bodies.tempfile, "SpooledTemporaryFile", Full)
        with pytest.raises(bodies.BodyRefused) as refused:
            await coming(monkeypatch, 1, pieces)
        assert refused.value.response.status_code == 503 and str(refused.value) == bodies.NO_ROOM
        assert not reading.known.held and not reading.addresses.held

    asyncio.run(play())
