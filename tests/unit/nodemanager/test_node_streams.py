"""Connections to containers' ports: streams with windows of their own, and which ports are whose."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from nodemanager.listening import Reachable, listeners, sockets_of
from tests import mutations
from tests.patience import stretched, wait_until
from tests.seeds import drawn
from wire import execs, streams
from wire.execs import ExecError
from wire.streams import Kind, Refused, Streams

LARGE = os.urandom(1 << 20) * 3


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port of this process whose connections are answered so, each by a thread."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def echo(connection: socket.socket) -> None:
    """All of it, once the other direction has ended."""
    with connection:
        connection.sendall(received(connection))


def received(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65_536), b""))


class Ends:
    """A person's end and a node's, each of which hears at once what the other says."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, str]] = []
        self.sent: list[bytes] = []  # by the person
        self.person = Streams(self._inwards, closed=lambda port, why: self.ended.append((port, why)))
        self.node = Streams(self._outwards, connect=self._connect)

    def connect(self, port: int) -> socket.socket:
        """A connection of the person's, brought to this port."""
        mine, theirs = socket.socketpair()
        self.person.open(port, theirs)
        return mine

    def _connect(self, port: int) -> socket.socket:
        if port == 1:
            raise Refused("nothing listens there")
        return socket.create_connection(("127.0.0.1", port))

    def _inwards(self, data: bytes) -> bool:
        self.sent.append(data)
        self.node.hear(data)
        return True

    def _outwards(self, data: bytes) -> bool:
        self.person.hear(data)
        return True


def test_each_direction_ends_by_itself_and_what_was_said_comes_whole() -> None:
    ends = Ends()
    with serving(echo) as port:
        mine = ends.connect(port)
        writer = threading.Thread(target=lambda: (mine.sendall(LARGE), mine.shutdown(socket.SHUT_WR)))
        writer.start()
        assert received(mine) == LARGE
        writer.join()
    wait_until(lambda: ends.ended == [(port, "")], 10, "it is over here")
    wait_until(lambda: not ends.node._streams, 10, "and there")
    assert max(map(len, ends.sent)) <= execs.DATA_MAX, "each goes into a frame"


def test_one_that_is_not_read_holds_up_no_other() -> None:
    ends, hold = Ends(), threading.Event()

    def idle(connection: socket.socket) -> None:
        hold.wait(stretched(60))
        connection.close()

    with serving(idle) as stuck, serving(echo) as port:
        filled = ends.connect(stuck)
        filled.settimeout(0.2)
        with pytest.raises(TimeoutError):
            filled.sendall(bytes(64 << 20))
        waiting = next(iter(ends.node._streams.values()))._received
        assert 0 <= waiting.room < streams.WINDOW, "as much as its window is kept, and no more"
        mine = ends.connect(port)
        mine.sendall(b"passes")
        mine.shutdown(socket.SHUT_WR)
        assert received(mine) == b"passes"
        hold.set()
        wait_until(lambda: (stuck, "") in ends.ended, 10, "one that is cut there is cut here")


def test_a_port_that_cannot_be_had_says_why() -> None:
    ends = Ends()
    assert received(ends.connect(1)) == b""
    wait_until(lambda: ends.ended == [(1, "nothing listens there")], 10, "the words have come")


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", streams.message(Kind.OPEN, 1, b"\0"), b"\x09" + bytes(4), streams.message(Kind.OPEN, 7, b"\0\1")],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ExecError):
        Ends().person.hear(data)


def test_no_end_opens_more_than_a_node_has_threads_for() -> None:
    held = threading.Event()

    def connect(port: int) -> socket.socket:
        held.wait(stretched(60))
        raise Refused("too late")

    node = Streams(lambda data: True, connect=connect)
    with pytest.raises(ExecError):
        for number in range(10 * streams.MOST):
            node.hear(streams.message(Kind.OPEN, number, b"\0\1"))
    assert len(node._streams) == 2 * streams.MOST
    held.set()
    wait_until(lambda: not node._streams, 10, "each was refused")


@pytest.mark.parametrize("where", ["connect", "send"])
def test_streams_that_are_over_count_until_their_threads_have_ended(where: str) -> None:
    held, others, sending = threading.Event(), list[socket.socket](), list[bytes]()

    def connect(port: int) -> socket.socket:
        if where == "connect":  # to what takes no more connections
            held.wait(stretched(60))
            raise Refused("too late")
        mine, theirs = socket.socketpair()
        theirs.sendall(b"more than the person takes")
        others.append(theirs)
        return mine

    def send(data: bytes) -> bool:
        sending.append(data)
        return where == "connect" or held.wait(stretched(60))

    node = Streams(send, connect=connect)
    try:
        with pytest.raises(ExecError, match="may not be opened"):
            for number in range(2 * streams.THREADS_MAX):
                node.hear(streams.message(Kind.OPEN, number, b"\0\1"))
                if where == "send":
                    wait_until(lambda: len(sending) > number, 10, "it is read", 0.001)  # noqa: B023 - asked here
                node.hear(streams.message(Kind.CLOSE, number))
                assert node._working <= streams.THREADS_MAX
    finally:
        held.set()
        wait_until(lambda: not node._working, 10, "all have ended")
        for each in others:
            each.close()


def test_a_stream_that_is_over_ends_no_other_of_its_number() -> None:
    held, begun = threading.Event(), list[int]()

    def connect(port: int) -> socket.socket:
        begun.append(port)
        if port == 1:
            held.wait(stretched(60))
            raise Refused("too late")
        return socket.socketpair()[0]

    node = Streams(lambda data: True, connect=connect)
    node.hear(streams.message(Kind.OPEN, 5, b"\0\1"))
    wait_until(lambda: begun, 10, "it connects")
    node.hear(streams.message(Kind.CLOSE, 5))
    node.hear(streams.message(Kind.OPEN, 5, b"\0\2"))
    held.set()
    wait_until(lambda: node._working <= 2, 10, "the first has ended")
    assert node._streams[5].port == 2
    node.close()
    wait_until(lambda: not node._working, 10, "so has the second")


def test_more_than_a_window_is_refused() -> None:
    ends = Ends()
    mine = ends.connect(1)
    stream = streams._Stream(ends.person, 9, 1)
    ends.person._streams[9] = stream
    with pytest.raises(ExecError):
        for _ in range(3):
            ends.person.hear(streams.message(Kind.DATA, 9, bytes(streams.DATA_MAX)))
    mine.close()


@pytest.mark.parametrize("end", ["person", "node"])
def test_whatever_is_said_of_streams_is_taken_or_refused_and_leaves_nothing(end: str, soak: bool) -> None:
    rng = drawn(5)
    sound = [
        streams.message(Kind.OPEN, number, b"\0\1") if end == "node" else streams.message(Kind.DATA, number, b"x")
        for number in (1, 2, 3)
    ]
    sound += [streams.message(Kind.DATA, 1, bytes(9000)), streams.message(Kind.CREDIT, 1, b"\0\0\0\x45")]
    sound += [streams.message(Kind.DATA, 2), streams.message(Kind.CLOSE, 3, b"why")]
    for _ in range(2000 if soak else 100):
        others = list[socket.socket]()

        def connection(port: int, kept: list[socket.socket] = others) -> socket.socket:
            mine, theirs = socket.socketpair()
            theirs.sendall(b"hello")
            kept.append(theirs)
            return mine

        found = Streams(lambda data: True, connect=connection if end == "node" else None)
        if end == "person":
            for port in (1, 2, 3):
                found.open(port, connection(port))
        try:
            for data in sound:
                found.hear(mutations.data(rng, data) if rng.random() < 0.3 else data)
        except ExecError:
            pass
        found.close()
        wait_until(lambda: not found._working and not found._streams, 10, "all has ended", 0.001)  # noqa: B023
        for each in others:
            each.close()


def test_only_what_the_containers_own_processes_listen_on_is_connected_to() -> None:
    with serving(echo) as port, serving(echo) as other:
        own = Reachable([port], lambda: {os.getpid()})
        with own.connect(port) as connection:
            assert connection.getpeername() == ("127.0.0.1", port)
        for reachable, wanted in ((own, other), (Reachable([port], set), port), (own, 1)):
            with pytest.raises(Refused, match=f"nothing of the container listens on port {wanted}"):
                reachable.connect(wanted)
        assert {each.inode for each in listeners(port)} <= sockets_of({os.getpid()})
    assert listeners(port) == []


def test_what_listens_on_all_addresses_is_reached_by_the_machines_own() -> None:
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        assert [each.address for each in listeners(port)] == ["0.0.0.0"]
        with Reachable([port], lambda: {os.getpid()}).connect(port) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"
