"""TCP connections as streams, of which many share one exec: how SSH forwards ports (RFC 4254, 5 and 7).

A message is the payload of one STDIN or STDOUT frame of ``wire.execs``: a byte that says its kind, the stream's number
and what it carries. The exec's window bounds all of them together; each stream has one of its own besides, so that
the one whose reader is slow holds up no other. Used by both ends, with threads; whoever passes frames on knows nothing.
"""

import queue
import socket
import struct
import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from wire import execs
from wire.execs import ExecError, Window

MOST = 64  # streams that a person's end has at once; a node's end twice as many, as some have ended there alone
WINDOW = 128 << 10  # bytes of a direction of a stream that the far end has not taken yet, by what messages cost
THREADS_MAX = 4 * MOST  # of a node's end: two for each stream, that read and write, the first having connected it
WORDS_MAX = 300
_HEAD = struct.Struct(">BI")
_PORT, _CREDIT = struct.Struct(">H"), struct.Struct(">I")
DATA_MAX = execs.DATA_MAX - _HEAD.size


class Refused(Exception):
    """A port cannot be connected to; the text says why."""


class Kind(IntEnum):
    """``DATA`` without any ends its direction; ``CLOSE`` ends both at once, and may say why."""

    OPEN = 0
    DATA = 1
    CLOSE = 2
    CREDIT = 3


def message(kind: Kind, number: int, payload: bytes = b"") -> bytes:
    return _HEAD.pack(kind, number) + payload


def parse(data: bytes) -> tuple[Kind, int, bytes]:
    """Kind, stream and payload; ``ExecError`` unless they are sound."""
    try:
        kind, number = _HEAD.unpack_from(data)
        return Kind(kind), number, data[_HEAD.size :]
    except (struct.error, ValueError):
        raise ExecError("a message of no kind that streams have") from None


def _number(form: struct.Struct, payload: bytes) -> int:
    try:
        value: int = form.unpack(payload)[0]
    except struct.error:
        raise ExecError("a number of another length") from None
    return value


class Streams:
    """One end of them. ``send``: brings a message to the other end, and blocks until it may; False when that is gone.

    connect: the node's; a connection to a port, or ``Refused``. closed: told of each stream that has ended, with the
    other end's words, if there are any.
    """

    def __init__(
        self,
        send: Callable[[bytes], bool],
        connect: Callable[[int], socket.socket] | None = None,
        closed: Callable[[int, str], None] = lambda port, why: None,
    ) -> None:
        self.send, self.connect, self.closed = send, connect, closed
        self._lock = threading.Lock()
        self._streams: dict[int, _Stream] = {}
        self._working = 0  # threads, those of streams that are over included
        self._last = 0

    def open(self, port: int, connection: socket.socket) -> None:
        """Bring a connection that was made here to ``port`` there."""
        with self._lock:
            self._last += 1
            stream = self._streams[self._last] = _Stream(self, self._last, port)
        if self.send(message(Kind.OPEN, stream.number, _PORT.pack(port))):
            stream.run(connection)
        else:
            connection.close()
            self.gone(stream)

    def hear(self, data: bytes) -> None:
        """What the other end says. Never blocks; ``ExecError`` of what it may not say."""
        kind, number, payload = parse(data)
        if kind is Kind.OPEN:
            self._opened(number, _number(_PORT, payload))
            return
        with self._lock:
            stream = self._streams.get(number)
        if stream is None:
            return  # it is over here, which the other end did not know yet
        if kind is Kind.DATA:
            stream.heard(payload)
        elif kind is Kind.CREDIT:
            stream.credit(_number(_CREDIT, payload))
        else:
            stream.over(payload.decode(errors="replace")[:WORDS_MAX])

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.over()

    def gone(self, stream: "_Stream", why: str = "") -> None:
        with self._lock:
            known = self._streams.get(stream.number) is stream
            if known:
                del self._streams[stream.number]
        if known:
            self.closed(stream.port, why)

    def work(self, task: Callable[..., None], *args: Any) -> None:
        """In a thread of its own, for which there is a place."""

        def run() -> None:
            try:
                task(*args)
            finally:
                self._left()

        threading.Thread(target=run, daemon=True).start()

    def take(self) -> None:
        """A place for a thread more."""
        with self._lock:
            self._working += 1

    def _left(self) -> None:
        with self._lock:
            self._working -= 1

    def _opened(self, number: int, port: int) -> None:
        with self._lock:
            full = len(self._streams) >= 2 * MOST or self._working + 2 > THREADS_MAX
            if self.connect is None or number in self._streams or full:
                raise ExecError("a stream that may not be opened")
            stream = self._streams[number] = _Stream(self, number, port)
            self._working += 2
        self.work(self._connected, stream)

    def _connected(self, stream: "_Stream") -> None:
        """Connects it, and reads then. The place of its second thread is left where there is nothing to write."""
        assert self.connect is not None
        begun = False
        try:
            connection = self.connect(stream.port)
            begun = stream.begin(connection)
        except (Refused, OSError) as error:
            self.send(message(Kind.CLOSE, stream.number, str(error).encode()[:WORDS_MAX]))
            self.gone(stream)
        finally:
            if not begun:
                self._left()
        if begun:
            self.work(stream.write, connection)
            stream.read(connection)


class _Stream:
    """A connection here and its window there: a thread reads it, another writes to it."""

    def __init__(self, streams: Streams, number: int, port: int) -> None:
        self.streams, self.number, self.port = streams, number, port
        self._sent, self._received = Window(WINDOW), Window(WINDOW)
        self._inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # bounded by the window; None: it is over
        self._state = threading.Condition()
        self._connection: socket.socket | None = None
        self._open = 2  # directions that have not ended
        self._over = False

    def begin(self, connection: socket.socket) -> bool:
        """Use this connection; False where the stream was over before there was one."""
        with self._state:
            self._connection = connection
            if self._over:
                connection.close()
            return not self._over

    def run(self, connection: socket.socket) -> None:
        if self.begin(connection):
            for task in (self.read, self.write):
                self.streams.take()
                self.streams.work(task, connection)

    def heard(self, data: bytes) -> None:
        with self._state:
            self._received.send(len(data) + execs.OVERHEAD)
        self._inbox.put(data)

    def credit(self, cost: int) -> None:
        with self._state:
            self._sent.credit(cost)
            self._state.notify_all()

    def over(self, why: str = "") -> None:
        """Nothing more goes either way."""
        with self._state:
            self._over = True
            self._state.notify_all()
            if self._connection is not None:
                _shut(self._connection, socket.SHUT_RDWR)
        self._inbox.put(None)
        self.streams.gone(self, why)

    def _ended(self, connection: socket.socket) -> None:
        """A direction is at its end; with the other one the connection is closed."""
        with self._state:
            self._open -= 1
            last = self._open == 0
        if last:
            connection.close()
            self.streams.gone(self)

    def read(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(DATA_MAX):
                if not self._say(data):
                    break
            self._say(b"")
        except OSError:
            self._broken()
        self._ended(connection)

    def _say(self, data: bytes) -> bool:
        cost = len(data) + execs.OVERHEAD
        with self._state:
            self._state.wait_for(lambda: self._over or cost <= self._sent.room)
            if self._over:
                return False
            self._sent.send(cost)
        return self.streams.send(message(Kind.DATA, self.number, data))

    def write(self, connection: socket.socket) -> None:
        try:
            while data := self._inbox.get():
                connection.sendall(data)
                cost = len(data) + execs.OVERHEAD
                with self._state:
                    self._received.credit(cost)
                self.streams.send(message(Kind.CREDIT, self.number, _CREDIT.pack(cost)))
            _shut(connection, socket.SHUT_WR)
        except OSError:
            self._broken()
        self._ended(connection)

    def _broken(self) -> None:
        """The connection here was cut: so is the one there."""
        with self._state:
            told, self._over = self._over, True
        if not told:
            self.streams.send(message(Kind.CLOSE, self.number))
            self.over()


def _shut(connection: socket.socket, how: int) -> None:
    try:
        connection.shutdown(how)
    except OSError:
        pass  # it is cut already
