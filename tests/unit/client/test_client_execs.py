"""The person's end of an exec, against a WebSocket server."""

import threading
from types import SimpleNamespace
from typing import Any

from websockets.sync.server import ServerConnection, serve

from client.execs import _connected
from tests.patience import stretched
from wire import execs
from wire.execs import Kind


def test_who_reads_slowly_still_answers_the_server() -> None:
    """Else it would take them for gone: as many small frames as the window allows wait to be read."""
    answered = threading.Event()

    def talks(socket: ServerConnection) -> None:
        piece = execs.frame(Kind.STDOUT, b"x")
        for _ in range(execs.WINDOW // execs.cost_of(piece)):
            socket.send(piece)
        if socket.ping().wait(stretched(10)):
            answered.set()

    with serve(talks, "127.0.0.1", 0, compression=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        transport: Any = SimpleNamespace(url=url, authorization="Token x")
        _, close = _connected(transport, "/")
        try:
            assert answered.wait(stretched(15))
        finally:
            close()
            server.shutdown()
