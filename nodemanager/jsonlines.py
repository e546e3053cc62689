"""JSON values, one a line, over a socket that never blocks: what agent and supervisor speak."""

import json
import selectors
import socket
from collections.abc import Callable
from typing import Any

MAX_LINE = 4 << 20


class JsonLines:
    """One connection of an event loop.

    ``on_line`` gets each line; ``on_lost`` is called once, when the other end is gone
    or sends a line longer than ``MAX_LINE``. What is said then is dropped: both
    ends begin a new connection with a complete list.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        connection: socket.socket,
        on_line: Callable[[bytes], None],
        on_lost: Callable[[], None],
    ) -> None:
        connection.setblocking(False)
        self.selector, self.connection = selector, connection
        self.on_line, self.on_lost = on_line, on_lost
        self.inbox, self.outbox = bytearray(), bytearray()
        self.open = True
        selector.register(connection, selectors.EVENT_READ, self._ready)

    def send(self, message: dict[str, Any]) -> None:
        """Send, or keep until the other end reads; dropped once the connection is gone."""
        if not self.open:
            return
        self.outbox += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self._flush()
        except OSError:
            self._gone()

    def close(self) -> None:
        """End the connection without calling ``on_lost``."""
        if self.open:
            self.open = False
            self.selector.unregister(self.connection)
            self.connection.close()

    def send_and_close(self, message: dict[str, Any]) -> None:
        """A last word, waited for."""
        if self.open:
            self.connection.setblocking(True)
            self.send(message)
        self.close()

    def _gone(self) -> None:
        if self.open:
            self.close()
            self.on_lost()

    def _ready(self, mask: int) -> None:
        try:
            if mask & selectors.EVENT_READ:
                data = self.connection.recv(1 << 18)
                if not data:
                    self._gone()
                    return
                self.inbox += data
            self._flush()
        except BlockingIOError:
            pass
        except OSError:
            self._gone()
            return
        *lines, rest = self.inbox.split(b"\n")
        self.inbox = bytearray(rest)
        for line in lines:
            if self.open:
                self.on_line(bytes(line))
        if len(self.inbox) > MAX_LINE:
            self._gone()

    def _flush(self) -> None:
        try:
            while self.outbox:
                del self.outbox[: self.connection.send(self.outbox)]
        except BlockingIOError:
            pass
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outbox else 0)
        if self.selector.get_key(self.connection).events != events:
            self.selector.modify(self.connection, events, self._ready)
