"""Calls from other threads and signals, carried onto the loop."""

import selectors
import signal
import socket
from collections import deque
from collections.abc import Callable


class Mailbox:
    """``post`` from any thread; the loop calls ``deliver``. Signals wake the loop through it too."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self.posted: deque[Callable[[], None]] = deque()
        self.inside, self.outside = socket.socketpair()
        self.inside.setblocking(False)
        self.outside.setblocking(False)
        selector.register(self.inside, selectors.EVENT_READ, self._drain)
        signal.set_wakeup_fd(self.outside.fileno(), warn_on_full_buffer=False)

    def post(self, call: Callable[[], None]) -> None:
        self.posted.append(call)
        try:
            self.outside.send(b"x")
        except OSError:
            pass  # full: the loop is awake anyway

    def deliver(self) -> None:
        while self.posted:
            self.posted.popleft()()

    def _drain(self, _: int) -> None:
        try:
            self.inside.recv(4096)
        except BlockingIOError:
            pass
