"""HTTP connections as web speaks them: uvicorn's, and what one of them makes web keep or wait for is bounded.

Nobody has signed in on a connection whose request is not there yet, so that it is bounded by where it comes from:
who connects and says nothing, or says without end, has so many places and so much time.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from controlplane.accounts.throttles import address_of

HEAD_MAX = 64 << 10  # bytes of a request's line and headers, and of any part of it that says nothing yet
HEADER = 32  # bytes that a header counts for beside its own, as in RFC 9113 (6.5.2)
HEAD_S = 15.0  # from a connection's beginning, or a request's first byte, until the head is whole
HEADS_ADDRESS = 256  # connections of an address that wait for their head; with more the oldest goes
UNREAD_S = 30.0  # in which who was sent something takes some of it
TOO_LONG = 431


class HeadTooLong(Exception):
    """Ends the parsing of a request."""


class Waiting:
    """A connection that has yet to say what it wants: it has ``HEAD_S``, and of an address so many have a place."""

    held: "ClassVar[defaultdict[str, dict[Waiting, None]]]" = defaultdict(dict)  # by address, the oldest first

    def __init__(self, address: str, cut: Callable[[], object]) -> None:
        self.cut, self.address = cut, address_of({"REMOTE_ADDR": address})
        self.timer = asyncio.get_running_loop().call_later(HEAD_S, cut)
        others = self.held[self.address]
        others[self] = None
        if len(others) > HEADS_ADDRESS:
            oldest = next(iter(others))
            del others[oldest]
            oldest.cut()

    def end(self) -> None:
        """It has said it, or is gone."""
        self.timer.cancel()
        others = self.held[self.address]
        others.pop(self, None)
        if not others:
            del self.held[self.address]  # who has gone leaves nothing behind


class BoundedHttp(HttpToolsProtocol):
    """One connection. Too long a head is answered with 431; who is waited for in vain is cut off."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.head = 0  # bytes of the request's head so far
        self.unsaid = 0  # bytes that came since the parser last had something to tell
        self.in_head = True
        self.waiting: Waiting | None = None
        self.unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self._all_is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.unsaid += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.unsaid > HEAD_MAX:
            self.head = self.unsaid
            self.send_400_response("")
        elif self.in_head and not self.waiting and not self._answering():
            self._wait_for_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.head, self.in_head = 0, True

    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Those that come after a body are nobody's."""
        self._grow(len(name) + len(value) + HEADER)
        if self.in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.unsaid, self.head, self.in_head = 0, 0, False
        self._head_is_there()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.unsaid = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.unsaid, self.in_head = 0, True
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self.in_head = False  # what comes is the socket's
        self._all_is_read()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if self.head <= HEAD_MAX:
            super().send_400_response(msg)
        else:
            self.transport.write(STATUS_LINE[TOO_LONG] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_at_unread(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all_is_read()

    def _grow(self, more: int) -> None:
        self.unsaid = 0
        self.head += more
        if self.head > HEAD_MAX:
            raise HeadTooLong

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._head_is_there()  # one place, of which TLS has had its part
        self.waiting = Waiting((self.client or ("",))[0], self.transport.abort)

    def _head_is_there(self) -> None:
        if self.waiting:
            self.waiting.end()
            self.waiting = None

    def _look_at_unread(self, before: int) -> None:
        self.unread_timer = self.loop.call_later(UNREAD_S, self.time_is_over, before)

    def _all_is_read(self) -> None:
        if self.unread_timer:
            self.unread_timer.cancel()
            self.unread_timer = None

    def time_is_over(self, before: int) -> None:
        """Cut it off, unless some of what there was ``before`` (bytes) was taken."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._look_at_unread(left)
        else:
            self.transport.abort()
