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
Answer = Callable[[int, str], None]


@dataclass(slots=True)
class Question:
    """One that has not been answered. ``until``: when it counts as failed; s, monotonic."""

    container_id: int
    request: bytes  # empty: the connection is enough
    connection: socket.socket
    until: float
    timeout_s: float
    heard: bytes = b""


class Prober:
    """``answer(container, "")`` when it serves, else with what is wrong; once for every ``ask``."""

    def __init__(self, selector: selectors.BaseSelector, answer: Answer) -> None:
        self.selector, self.answer = selector, answer
        self.open: dict[int, Question] = {}

    def ask(self, container_id: int, address: str, port: int, path: str, timeout_s: float) -> None:
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
        question = Question(container_id, request, connection, time.monotonic() + timeout_s, timeout_s)
        self.open[container_id] = question
        self.selector.register(connection, selectors.EVENT_WRITE, lambda _: self._connected(question))
        failed = connection.connect_ex((address, port))
        if failed not in (0, errno.EINPROGRESS):
            self._end(question, os.strerror(failed))

    def tend(self, now: float) -> None:
        """Give up on those that took too long."""
        for question in [q for q in self.open.values() if now >= q.until]:
            self._end(question, f"no answer within {question.timeout_s:g} s")

    def drop(self, container_id: int) -> None:
        """Ask no longer; there will be no answer."""
        if question := self.open.get(container_id):
            self._close(question)

    def close(self) -> None:
        """Ask nobody any longer; nothing is answered."""
        for question in list(self.open.values()):
            self._close(question)

    def _close(self, question: Question) -> None:
        del self.open[question.container_id]
        self.selector.unregister(question.connection)
        question.connection.close()

    def _end(self, question: Question, wrong: str) -> None:
        self._close(question)
        self.answer(question.container_id, wrong)

    def _connected(self, question: Question) -> None:
        failed = question.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed or not question.request:
            self._end(question, os.strerror(failed) if failed else "")
            return
        try:
            question.connection.send(question.request)  # a request is far smaller than any socket's buffer
        except OSError as error:
            self._end(question, error.strerror or "the connection broke")
            return
        self.selector.modify(question.connection, selectors.EVENT_READ, lambda _: self._heard(question))

    def _heard(self, question: Question) -> None:
        try:
            data = question.connection.recv(ANSWER_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(question, error.strerror or "the connection broke")
            return
        question.heard += data
        if match := STATUS_LINE.match(question.heard):
            status = int(match[1])
            self._end(question, "" if 200 <= status < 400 else f"HTTP status {status}")
        elif not data or len(question.heard) >= ANSWER_BYTES:
            self._end(question, "the answer is not HTTP")
