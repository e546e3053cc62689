"""Web's own server, with an application of a test's."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from controlplane.embedded.management.commands import web
from controlplane.router.websocket import BoundedWebSocket
from tests.patience import stretched, wait_until


class Server(web.Server):
    """Begins without what concerns the whole process."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.listen_on(sockets or [])


class Serving:
    """Web's own server with an application, and what of the machine's memory a connection has is little."""

    def __init__(self, application: Any, listener: socket.socket) -> None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        config = web.configuration(access_log=False)
        config.app = application
        self.server = Server(config)
        self.port = listener.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]})

    def reached(self) -> socket.socket:
        """A connection on which nothing was said, and of which nothing is read that is not asked for."""
        there = socket.socket()
        there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        there.settimeout(stretched(10))
        there.connect(("127.0.0.1", self.port))
        return there

    def opened(self) -> socket.socket:
        """The same, as a WebSocket."""
        there = self.reached()
        head = "Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        there.sendall(f"GET /ws/v1 HTTP/1.1\r\n{head}Sec-WebSocket-Key: {'A' * 22}==\r\n\r\n".encode())
        told = b""
        while not told.endswith(b"\r\n\r\n"):
            told += there.recv(1)
        assert told.startswith(b"HTTP/1.1 101")
        return there

    @property
    def connection(self) -> BoundedWebSocket:
        """The socket that is open."""
        (found,) = self.server.server_state.connections
        assert isinstance(found, BoundedWebSocket)
        return found


@contextmanager
def serving(application: Any) -> Iterator[Serving]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = Serving(application, listener)
        found.thread.start()
        wait_until(lambda: found.server.started, 10, "it serves")
        try:
            yield found
        finally:
            found.server.should_exit = True
            found.thread.join()
