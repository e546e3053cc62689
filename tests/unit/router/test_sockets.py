"""WebSockets by their address: who has as many as he may keeps nobody else out."""

import asyncio
import resource
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from controlplane.embedded.management.commands import web
from controlplane.router.sockets import TOO_MANY, BoundedSockets
from controlplane.router.websocket import MESSAGE_MAX


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


@pytest.fixture
def echoing() -> Iterator[str]:
    """Where web's own server has such an application."""
    config = web.configuration(access_log=False)
    config.app = echo
    server = uvicorn.Server(config)
    with web.socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_a_message_that_is_not_whole_yet_takes_little_memory(echoing: str) -> None:
    for path, most in (("/ws/v1", MESSAGE_MAX), ("/ws/v1/execs/1", MESSAGE_MAX), ("/proxy/1/page/ws", 4 << 20)):
        with connect(echoing + path, compression=None, max_size=None) as there:
            there.send(b"x" * most)
            assert len(there.recv(10)) == most
            if most == MESSAGE_MAX:
                with pytest.raises(ConnectionClosedError) as closed:
                    there.send(iter([b"x" * most, b"x"]))  # in two frames, of which each is short enough
                    there.recv(10)
                assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
