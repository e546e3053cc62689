"""A Redis that takes connections and answers on none of them is as none."""

import selectors
import socket
import threading
import time

import pytest

from nodemanager.mailbox import Background
from nodemanager.redisconnection import REPLY_TIMEOUT_S, RedisConnection
from tests.patience import wait_until


def answering(said: bytes) -> socket.socket:
    """A server that says this to whoever connects, and closes."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 10)
                connection.sendall(said)

    threading.Thread(target=serve, daemon=True).start()
    return server


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "it closed the connection"),
        (b"-LOADING it reads its data\r\n", "LOADING it reads its data"),
        (b"HTTP/1.1 400 Bad Request\r\n", 'Protocol error, got "H" as reply type byte'),
    ],
)
def test_who_answers_nothing_of_use_is_unreachable(said: bytes, why: str) -> None:
    told: list[str] = []
    with answering(said) as server:
        connection, posted = made(told, server.getsockname()[1])
        wait_until(lambda: step(connection, posted) or told, what="told of")
        connection.drop()
        assert told[0].startswith(why)


def test_who_never_answers_is_unreachable_and_who_is_left_is_not() -> None:
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection, posted = made(told, server.getsockname()[1])
        wait_until(lambda: step(connection, posted) or connection.connection, what="connected")
        connection.tick(time.monotonic() + REPLY_TIMEOUT_S + 1)
        assert told == ["it does not answer"]
        connection.retry_at = 0.0
        wait_until(lambda: step(connection, posted) or connection.connection, what="connected again")
        connection.configure("redis://127.0.0.1:1", "n", "p", "", ())
        assert told == ["it does not answer"], "another address says nothing of this one"


def made(told: list[str], port: int) -> tuple[RedisConnection, list[object]]:
    posted: list[object] = []
    connection = RedisConnection(
        selector=selectors.DefaultSelector(),
        background=Background(posted.append),
        on_ready=lambda: None,
        on_wake=lambda hint: None,
        on_denied=lambda why: None,
        on_unreachable=told.append,
    )
    connection.configure(f"redis://127.0.0.1:{port}", "n", "p", "", ())
    return connection, posted


def step(connection: RedisConnection, posted: list[object]) -> None:
    """What the node's loop does."""
    connection.tick(time.monotonic())
    while posted:
        posted.pop(0)()  # type: ignore[operator]
    for key, mask in connection.selector.select(0.0) if connection.selector.get_map() else ():
        key.data(mask)
