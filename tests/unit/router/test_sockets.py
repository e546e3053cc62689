"""WebSockets by their address: who has as many as he may keeps nobody else out."""

import asyncio
import resource
import threading
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Opcode
from websockets.sync.client import connect

from controlplane.embedded.management.commands import web
from controlplane.router import websocket
from controlplane.router.sockets import TOO_MANY, BoundedSockets
from controlplane.router.websocket import MESSAGE_MAX
from tests.patience import until, wait_until
from tests.unit.router.serving import serving


class Held:
    """An application whose sockets stay open until ``end``."""

    def __init__(self) -> None:
        self.open, self.end = 0, asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.open += 1
        await self.end.wait()
        self.open -= 1


def test_an_address_holds_so_many_sockets_and_no_more(settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"sockets_address": 3}

    async def play() -> None:
        held, said = Held(), list[Any]()
        bounded = BoundedSockets(held)

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            said.append(message)

        def connect(address: str) -> "asyncio.Task[None]":
            return asyncio.create_task(bounded({"type": "websocket", "client": (address, 1)}, receive, send))

        tasks = [connect("192.0.2.1") for _ in range(5)]
        tasks += [connect(f"2001:db8::{n}") for n in range(5)]  # of one network
        tasks += [connect("192.0.2.2")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert held.open == 3 + 3 + 1
        assert [message["code"] for message in said] == [TOO_MANY] * 4
        held.end.set()
        await asyncio.gather(*tasks)
        assert not bounded.places.held
        await connect("192.0.2.1")
        assert len(said) == 4, "there is room again"

    asyncio.run(play())


def test_web_opens_as_many_files_as_the_host_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        web.open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An application that says what it hears."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": message["bytes"]})


def frame(opcode: Opcode, data: bytes = b"", fin: bool = True) -> bytes:
    """As a browser sends it, with a mask that changes nothing."""
    assert len(data) < 126
    return bytes([fin << 7 | opcode, 0x80 | len(data)]) + bytes(4) + data


class Hears:
    """An application that keeps what it hears, and hears only while it may."""

    def __init__(self) -> None:
        self.heard, self.may = list[bytes](), threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await until(self.may.is_set, 60, "it may hear")
        while (message := await receive())["type"] == "websocket.receive":
            self.heard.append(message["bytes"])


def test_a_message_that_is_not_whole_yet_takes_little_memory() -> None:
    with serving(echo) as web:
        for path, most in (("/ws/v1", MESSAGE_MAX), ("/ws/v1/execs/1", MESSAGE_MAX), ("/proxy/1/page/ws", 4 << 20)):
            with connect(f"ws://127.0.0.1:{web.port}{path}", compression=None, max_size=None) as there:
                there.send(b"x" * most)
                assert len(there.recv(10)) == most
                if most == MESSAGE_MAX:
                    with pytest.raises(ConnectionClosedError) as closed:
                        there.send(iter([b"x" * most, b"x"]))  # in two frames, of which each is short enough
                        there.recv(10)
                    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009


def test_pongs_that_nobody_reads_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "IDLE_MOST", 1_000_000)
    application = Hears()
    application.may.set()
    with serving(application) as web, web.opened() as there:
        for number in range(10_000):
            there.sendall(frame(Opcode.PING, f"{number:0125}".encode()))
        there.sendall(frame(Opcode.BINARY, b"all"))
        wait_until(lambda: application.heard == [b"all"], 20, "all of it was looked at")
        assert web.connection.transport.get_write_buffer_size() < 200_000
        read = b""
        while f"{9_999:0125}".encode() not in read:  # the last is answered, as soon as there is room
            read = read[-200:] + there.recv(65_536)


@pytest.mark.parametrize("said", [frame(Opcode.PING), frame(Opcode.PONG, b"x"), frame(Opcode.CONT, b"", False)])
def test_who_says_nothing_over_and_over_is_cut_off(said: bytes) -> None:
    application = Hears()
    application.may.set()
    with serving(application) as web, web.opened() as there:
        there.sendall(frame(Opcode.BINARY, b"a", False) + said * 20)
        there.sendall(said * 2 * websocket.IDLE_MOST)
        read = b""
        with suppress(OSError):  # what was sent and not looked at makes it a reset
            while piece := there.recv(65_536):
                read += piece
        assert bytes([0x88]) in read and (1008).to_bytes(2, "big") in read


def test_short_parts_of_a_message_take_no_more_memory_than_bytes() -> None:
    application = Hears()
    with serving(application) as web, web.opened() as there:
        there.sendall(frame(Opcode.BINARY, b"a", False) + frame(Opcode.CONT, b"b", False) * 100)
        wait_until(lambda: web.connection.frames and len(web.connection.frames[0]) == 101, 10, "they have come")
        assert len(web.connection.frames) == 1
        there.sendall(frame(Opcode.CONT, b"c"))
        application.may.set()
        wait_until(lambda: application.heard == [b"a" + b"b" * 100 + b"c"], 10, "it is whole")


def test_what_is_not_taken_is_not_looked_at() -> None:
    application = Hears()
    wanted = [b"%06d" % number for number in range(20_000)]
    with serving(application) as web, web.opened() as there:
        sent = threading.Thread(target=there.sendall, args=(b"".join(frame(Opcode.BINARY, w) for w in wanted),))
        sent.start()
        wait_until(lambda: web.connection.came, 10, "more has come than is taken")
        assert web.connection.queue.qsize() <= websocket.PIECE // len(frame(Opcode.BINARY, wanted[0])) + 1
        application.may.set()
        wait_until(lambda: application.heard == wanted, 20, "all of it was heard")
        sent.join()


def test_a_connection_that_is_over_goes_whether_or_not_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "GONE_S", 0.1)

    async def talks(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "bytes": bytes(10 << 20)})
        await receive()

    with serving(talks) as web, web.opened() as there:
        there.sendall(frame(Opcode.CLOSE))
        wait_until(lambda: not web.server.server_state.connections, 10, "it is gone")
