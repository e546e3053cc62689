"""Asks containers whether they serve: a connection, or one GET, on the agent's loop and without a thread."""

import errno
import os
import re
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")
ANSWER_BYTES = 4096  # read of an answer: its first line is all that counts
OnResult = Callable[[int, str], None]


@dataclass(slots=True)
class PendingProbe:
    """One that has not been answered. ``until``: when it counts as failed; s, monotonic."""

    container_id: int
    request: bytes  # empty: the connection is enough
    connection: socket.socket
    until: float
    timeout_s: float
    received: bytes = b""


class Prober:
    """``on_result(container, "")`` when it serves, else with what is wrong; once for every ``probe``."""

    def __init__(self, selector: selectors.BaseSelector, on_result: OnResult) -> None:
        self.selector, self.on_result = selector, on_result
        self.open: dict[int, PendingProbe] = {}

    def probe(self, container_id: int, address: str, port: int, path: str, timeout_s: float) -> None:
        """``path``: to GET; "" asks for a connection only."""
        self.drop(container_id)
        request = b""
        if path:
            host = f"[{address}]" if ":" in address else address
            lines = (
                f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: hydra-health\r\nConnection: close\r\n\r\n"
            )
            request = lines.encode()
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        probe = PendingProbe(container_id, request, connection, time.monotonic() + timeout_s, timeout_s)
        self.open[container_id] = probe
        self.selector.register(connection, selectors.EVENT_WRITE, lambda _: self._connected(probe))
        failed = connection.connect_ex((address, port))
        if failed not in (0, errno.EINPROGRESS):
            self._end(probe, os.strerror(failed))

    def tick(self, now: float) -> None:
        """Give up on those that took too long."""
        for probe in [q for q in self.open.values() if now >= q.until]:
            self._end(probe, f"no answer within {probe.timeout_s:g} s")

    def drop(self, container_id: int) -> None:
        """Ask no longer; there will be no answer."""
        if probe := self.open.get(container_id):
            self._close(probe)

    def close(self) -> None:
        """Ask nobody any longer; nothing is answered."""
        for probe in list(self.open.values()):
            self._close(probe)

    def _close(self, probe: PendingProbe) -> None:
        del self.open[probe.container_id]
        self.selector.unregister(probe.connection)
        probe.connection.close()

    def _end(self, probe: PendingProbe, wrong: str) -> None:
        self._close(probe)
        self.on_result(probe.container_id, wrong)

    def _connected(self, probe: PendingProbe) -> None:
        failed = probe.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed or not probe.request:
            self._end(probe, os.strerror(failed) if failed else "")
            return
        try:
            probe.connection.send(probe.request)  # a request is far smaller than any socket's buffer
        except OSError as error:
            self._end(probe, error.strerror or "the connection broke")
            return
        self.selector.modify(probe.connection, selectors.EVENT_READ, lambda _: self._readable(probe))

    def _readable(self, probe: PendingProbe) -> None:
        try:
            data = probe.connection.recv(ANSWER_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(probe, error.strerror or "the connection broke")
            return
        probe.received += data
        if match := STATUS_LINE.match(probe.received):
            status = int(match[1])
            self._end(probe, "" if 200 <= status < 400 else f"HTTP status {status}")
        elif not data or len(probe.received) >= ANSWER_BYTES:
            self._end(probe, "the answer is not HTTP")
