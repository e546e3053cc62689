"""The loop and the threads beside it: what takes a while runs on them, and comes back as a call on the loop."""

import selectors
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

TRANSFERS = 4  # downloads and uploads at the same time
CONTACTS = 3  # what keeps the node in touch: connecting, registering, announcing


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
        """Have the loop make this call, soon."""
        self.posted.append(call)
        try:
            self.outside.send(b"x")
        except OSError:
            pass  # full: the loop is awake anyway

    def deliver(self) -> None:
        """Make the calls, those too that are posted meanwhile."""
        while self.posted:
            self.posted.popleft()()

    def _drain(self, _: int) -> None:
        try:
            self.inside.recv(4096)
        except BlockingIOError:
            pass


class Background:
    """Threads for what takes a while. ``post`` brings a call onto the loop; ``stopping`` is set on the way out."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        self.post = post
        self.pool = ThreadPoolExecutor(TRANSFERS, "transfer")
        self.contact = ThreadPoolExecutor(CONTACTS, "contact")  # never behind a transfer, which may take for ever
        self.stopping = threading.Event()

    def close(self) -> None:
        """Begin nothing more; what runs is not waited for."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.contact.shutdown(wait=False, cancel_futures=True)
