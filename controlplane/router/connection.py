"""HTTP connections as web speaks them: uvicorn's, and what one of them makes web keep or wait for is bounded.

Nobody has signed in on a connection whose request is not there yet, so that it is bounded by where it comes from:
who connects and says nothing, or says without end, has so many places and so much time. Who was answered and asks for
nothing more has such a place too.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from controlplane.accounts.throttles import address_of
from controlplane.router.unread import Unread

HEAD_MAX = 64 << 10  # bytes of a request's line and headers, and of any part of it that says nothing yet
HEADER = 32  # bytes that a header counts for beside its own, as in RFC 9113 (6.5.2)
HEAD_S = 15.0  # from a connection's beginning, or a request's first byte, until the head is whole
HEADS_ADDRESS = settings.HYDRA["connections_address"]  # that wait for their head; with more the oldest goes
TOO_LONG = 431


class HeadTooLong(Exception):
    """Ends the parsing of a request."""


class Waiting:
    """A connection that has yet to say what it wants: it has ``HEAD_S``, and of an address so many have a place.

    idle: it was answered and has begun no other request; how long it may do so is uvicorn's to say.
    """

    held: "ClassVar[defaultdict[str, dict[Waiting, None]]]" = defaultdict(dict)  # by address, the oldest first

    def __init__(self, address: str, cut: Callable[[], object], idle: bool = False) -> None:
        self.cut, self.address, self.idle = cut, address_of({"REMOTE_ADDR": address}), idle
        self.timer = None if idle else asyncio.get_running_loop().call_later(HEAD_S, cut)
        others = self.held[self.address]
        others[self] = None
        if len(others) > HEADS_ADDRESS:
            oldest = next(iter(others))
            del others[oldest]
            oldest.cut()

    def end(self) -> None:
        """It has said it, or is gone."""
        if self.timer:
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
        self.unread: Unread = None  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.unread = Unread(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self.unread.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.unsaid += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.unsaid > HEAD_MAX:
            self.head = self.unsaid
            self.send_400_response("")
        elif self.in_head and not self._answering() and (self.waiting is None or self.waiting.idle):
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

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self.unread.closes()
        elif not self.waiting and not self._answering():
            self._wait_for_head(idle=True)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.unread.closes()

    def handle_websocket_upgrade(self) -> None:
        self.in_head = False  # what comes is the socket's
        self.unread.forget()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if self.head <= HEAD_MAX:
            super().send_400_response(msg)
        else:
            self.transport.write(STATUS_LINE[TOO_LONG] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread.begins()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self.unread.ends()

    def _grow(self, more: int) -> None:
        self.unsaid = 0
        self.head += more
        if self.head > HEAD_MAX:
            raise HeadTooLong

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self, idle: bool = False) -> None:
        self._head_is_there()  # one place, of which TLS has had its part
        self.waiting = Waiting((self.client or ("",))[0], self.transport.abort, idle)

    def _head_is_there(self) -> None:
        if self.waiting:
            self.waiting.end()
            self.waiting = None
