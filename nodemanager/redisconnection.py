"""The node's one connection to Redis: status out, wake-ups and desired documents in.

Speaks RESP3 through hiredis, so that pushes and answers share one connection,
and never blocks the loop: connecting happens on a thread.
"""

import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast
from urllib.parse import urlsplit

import hiredis

from nodemanager.mailbox import Background

CONNECT_TIMEOUT_S = 5.0
REPLY_TIMEOUT_S = 5.0  # a silent Redis is a lost one
BACKOFF_S = (0.05, 0.2, 0.5, 1.0, 2.0)
OnReply = Callable[[Any], None]
Command = tuple[str | int | float | bytes | memoryview]  # as hiredis declares it; any length is meant


def open_socket(url: str, ca_file: str) -> socket.socket:
    """Connect as ``redis://``, ``rediss://`` or ``unix://`` says; blocks. Raises OSError."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(CONNECT_TIMEOUT_S)
        connection.connect(parts.path)
    else:
        connection = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 6379), CONNECT_TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme == "rediss":
        context = ssl.create_default_context(cafile=ca_file or None)
        connection = context.wrap_socket(connection, server_hostname=parts.hostname)
    connection.setblocking(False)
    return connection


class RedisConnection:
    """``on_ready``: connected and authenticated. ``on_wake``: a hint. ``on_denied``: the user must be restored.

    ``on_unreachable``: no connection came about, or none on which it answers, and why; with every try.
    """

    def __init__(
        self,
        *,
        selector: selectors.BaseSelector,
        background: Background,
        on_ready: Callable[[], None],
        on_wake: Callable[[bytes], None],
        on_denied: Callable[[str], None],
        on_unreachable: Callable[[str], None],
    ) -> None:
        self.selector, self.background = selector, background
        self.on_ready, self.on_wake = on_ready, on_wake
        self.on_denied, self.on_unreachable = on_denied, on_unreachable
        self.url = self.user = self.password = self.ca_file = ""
        self.channels: tuple[str, ...] = ()
        self.connection: socket.socket | None = None
        self.connecting: Future[socket.socket] | None = None
        self.reader = hiredis.Reader()
        self.pending: deque[tuple[OnReply, float]] = deque()
        self.outbox = bytearray()
        self.ready = False
        self.failures = 0
        self.retry_at = 0.0

    def configure(self, url: str, user: str, password: str, ca_file: str, channels: tuple[str, ...]) -> None:
        """Where Redis is, who we are there and which channels bring hints; a change drops the connection."""
        changed = (url, user, password) != (self.url, self.user, self.password)
        self.url, self.user, self.password = url, user, password
        self.ca_file, self.channels = ca_file, channels
        self.retry_at = 0.0
        if changed:
            self.drop()

    # --- connecting

    def tick(self, now: float) -> None:
        """Connect when it is time; give up on a connection that does not answer."""
        if self.connection is not None:
            if self.pending and now - self.pending[0][1] > REPLY_TIMEOUT_S:
                self._lose("it does not answer")
        elif self.connecting is None and self.url and now >= self.retry_at:
            self.connecting = self.background.contact.submit(open_socket, self.url, self.ca_file)
            self.connecting.add_done_callback(lambda future: self.background.post(lambda: self._on_connected(future)))

    def _on_connected(self, future: "Future[socket.socket]") -> None:
        self.connecting = None
        try:
            connection = future.result()
        except OSError as error:
            self._schedule_retry()
            self.on_unreachable(str(error))
            return
        self.connection = connection
        self.reader = hiredis.Reader()
        self.selector.register(connection, selectors.EVENT_READ, self._readable)
        self.send(self._on_hello, "HELLO", "3", "AUTH", self.user, self.password, "SETNAME", self.user)

    def _on_hello(self, reply: Any) -> None:
        if isinstance(reply, hiredis.ReplyError):
            text = str(reply)
            if text.startswith(("WRONGPASS", "NOPERM", "NOAUTH")):
                self.drop()
                self.on_denied(text)
            else:
                self._lose(text)
            return
        self.ready = True
        self.failures = 0
        self._send("SUBSCRIBE", *self.channels)
        self.on_ready()

    def _schedule_retry(self) -> None:
        self.retry_at = time.monotonic() + BACKOFF_S[min(self.failures, len(BACKOFF_S) - 1)]
        self.failures += 1

    def drop(self) -> None:
        """Close; what was asked and not answered is forgotten, the next heartbeat asks again."""
        if self.connection is not None:
            self.selector.unregister(self.connection)
            self.connection.close()
            self.connection = None
            self._schedule_retry()
        self.ready = False
        self.pending.clear()
        self.outbox.clear()

    def _lose(self, why: str) -> None:
        was_ready = self.ready
        self.drop()
        if not was_ready:
            self.on_unreachable(why)

    # --- talking

    def send(self, on_reply: OnReply, *arguments: str | bytes) -> None:
        """One command; ``on_reply`` gets the reply (a ``hiredis.ReplyError`` when refused) or is never called."""
        if self.connection is None:
            return
        self.pending.append((on_reply, time.monotonic()))
        self._send(*arguments)

    def _send(self, *arguments: str | bytes) -> None:
        self.outbox += hiredis.pack_command(cast(Command, arguments))
        self._flush()

    def _flush(self) -> None:
        if self.connection is None:
            return
        try:
            while self.outbox:
                del self.outbox[: self.connection.send(self.outbox)]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError as error:
            self._lose(str(error))
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outbox else 0)
        if self.selector.get_key(self.connection).events != events:
            self.selector.modify(self.connection, events, self._readable)

    def _readable(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush()
        try:
            while self.connection is not None:
                data = self.connection.recv(1 << 16)
                if not data:
                    self._lose("it closed the connection")
                    return
                self.reader.feed(data)
                self._replies()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except (OSError, hiredis.ProtocolError) as error:
            self._lose(str(error))

    def _replies(self) -> None:
        while self.connection is not None:
            reply = self.reader.gets()
            if reply is False and not isinstance(reply, bytes):
                return
            if isinstance(reply, hiredis.PushNotification):
                if reply and reply[0] == b"message":
                    self.on_wake(reply[2])
                elif reply and reply[0] == b"subscribe":
                    self.on_wake(b"")  # what was published before this moment was missed
                continue
            if isinstance(reply, hiredis.ReplyError) and str(reply).startswith(("NOPERM", "NOAUTH")):
                self.drop()
                self.on_denied(str(reply))
                return
            if self.pending:
                self.pending.popleft()[0](reply)
