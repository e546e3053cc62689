"""HTTP connections: whoever says nothing, says without end or does not read is not waited for without end."""

import socket
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from controlplane.router import connection, unread
from controlplane.router.connection import HEAD_MAX, BoundedHttp, Waiting
from tests.patience import let_pass, wait_until
from tests.unit.router.serving import Serving, serving

ASKS = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """The number of headers, once the body is there."""
    while (await receive()).get("more_body"):
        pass
    text = str(len(scope["headers"])).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": text})


def until_its_end(there: socket.socket) -> bytes:
    """What comes until the other end closes the connection."""
    read = b""
    with suppress(ConnectionError):
        while piece := there.recv(65_536):
            read += piece
    return read


def nobody_waits(web: Serving) -> bool:
    return not web.server.server_state.connections and not Waiting.held


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n", ASKS + b"GET /"])
def test_a_head_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)
    with serving(answers) as web, web.reached() as there:
        web.server.config.timeout_keep_alive = 60
        if said.startswith(ASKS):
            there.sendall(ASKS)
            read = b""
            while not read.endswith(b"\r\n\r\n1"):
                read += there.recv(100)
            said = said.removeprefix(ASKS)
        there.sendall(said)
        assert until_its_end(there) == b""
        wait_until(lambda: nobody_waits(web), 10, "nothing is left of it")


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"GET /", b"a" * 1000),
        (b"GET / HTTP/1.1\r\nX: ", b"a" * 1000),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 200),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", b"X: y\r\n" * 200),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ", b"a" * 1000),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 1000),
        (b"", b"\r\n" * 500),
    ],
)
def test_a_head_without_end_is_refused(beginning: bytes, more: bytes) -> None:
    with serving(answers) as web, web.reached() as there:
        there.sendall(beginning)
        with suppress(ConnectionError):  # it is closed while there is more to come
            for _ in range(3 * HEAD_MAX // len(more)):
                there.sendall(more)
        assert until_its_end(there)[:12] in (b"HTTP/1.1 431", b"")  # a reset takes the answer with it
        wait_until(lambda: nobody_waits(web), 10, "it is closed")


def test_what_fits_is_read_and_headers_behind_a_body_are_nobodys() -> None:
    long = b"GET / HTTP/1.1\r\nA: " + b"a" * (HEAD_MAX - 1000) + b"\r\n\r\n"
    behind = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n"
    large = b"POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + b"a" * 300_000
    with serving(answers) as web, web.reached() as there:
        for asked in (long, behind, large, long):
            there.sendall(asked)
            read = b""
            while not read.endswith(b"\r\n\r\n1"):
                read += there.recv(100)
        there.shutdown(socket.SHUT_WR)


def test_of_an_address_so_many_wait_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEADS_ADDRESS", 3)
    with serving(answers) as web, ExitStack() as held:
        first = held.enter_context(web.reached())
        for n in range(3):
            wait_until(lambda n=n: len(web.server.server_state.connections) == n + 1, 10, "it is there")  # type: ignore[misc]
            last = held.enter_context(web.reached())
        assert until_its_end(first) == b""
        last.sendall(ASKS)
        assert last.recv(100).startswith(b"HTTP/1.1 200")
        assert [sum(not each.idle for each in found) for found in Waiting.held.values()] == [2]


def test_an_answer_that_is_not_read_is_given_up_and_one_that_is_read_slowly_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def much(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4000000")]})
        await send({"type": "http.response.body", "body": bytes(4_000_000)})

    with serving(much) as web:
        with monkeypatch.context() as soon, web.reached() as there:
            soon.setattr(unread, "UNREAD_S", 0.1)
            there.sendall(ASKS)
            wait_until(lambda: nobody_waits(web), 10, "it is given up")
        with web.reached() as there:
            there.sendall(ASKS)
            left = 4_000_000
            for _ in range(5):  # it is looked at each time that some more was taken
                found = wait_until(lambda: of_the_answer(web), 10, "more is there than is taken")
                assert found is not None
                before = found.transport.get_write_buffer_size()
                while found.transport.get_write_buffer_size() == before:
                    left -= len(there.recv(65_536))
                found.loop.call_soon_threadsafe(found.unread.look)
            while left > 0:
                piece = there.recv(65_536)
                assert piece
                left -= len(piece)


def test_an_answer_of_which_too_little_is_taken_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "UNREAD_S", 0.5)
    monkeypatch.setattr(unread, "SLOWEST_BYTES_S", 1 << 30)

    async def without_end(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})

    with serving(without_end) as web, web.reached() as there, suppress(ConnectionError):
        there.sendall(ASKS)
        while there.recv(1000):
            let_pass(0.01)
    wait_until(lambda: nobody_waits(web), 10, "it is given up")


@pytest.mark.parametrize("keep_alive", [b"keep-alive", b"close"])
def test_an_end_that_is_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch, keep_alive: bytes) -> None:
    """Less than a connection keeps for its reader, so that it never waits for him."""
    monkeypatch.setattr(unread, "UNREAD_S", 0.1)

    async def some(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"50000")]})
        await send({"type": "http.response.body", "body": bytes(50_000)})

    with serving(some) as web, web.reached() as there:
        web.server.config.timeout_keep_alive = 0
        there.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: " + keep_alive + b"\r\n\r\n")
        wait_until(lambda: web.server.server_state.total_requests == 1, 10, "it is answered")
        wait_until(lambda: nobody_waits(web), 10, "it is given up")


@pytest.mark.parametrize("asked", [ASKS, b"POST /large HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"])
def test_of_an_address_so_many_are_idle_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch, asked: bytes) -> None:
    monkeypatch.setattr(connection, "HEADS_ADDRESS", 3)

    async def refuses(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    with serving(refuses) as web, ExitStack() as held:
        first, *others = [held.enter_context(web.reached()) for _ in range(3)]
        for there in (first, *others):
            there.sendall(asked)
            assert there.recv(100).startswith(b"HTTP/1.1 413")
        wait_until(lambda: [len(found) for found in Waiting.held.values()] == [3], 10, "all are idle")
        held.enter_context(web.reached())
        assert until_its_end(first) == b""
        assert [len(found) for found in Waiting.held.values()] == [3]
        if asked == ASKS:
            others[0].sendall(ASKS)
            assert others[0].recv(100).startswith(b"HTTP/1.1 413"), "it goes on where it was"


def of_the_answer(web: Serving) -> BoundedHttp | None:
    """The connection on which it waits to be taken."""
    found = web.server.server_state.connections
    return next((each for each in found if isinstance(each, BoundedHttp) and each.unread.waits), None)


def test_a_websocket_is_no_head_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "bytes": b"x"})

    with serving(echo) as web, web.opened() as there, web.reached() as silent:
        assert until_its_end(silent) == b""  # the time is over
        there.sendall(bytes([0x82, 0x80]) + bytes(4))
        assert there.recv(10) == b"\x82\x01x"
