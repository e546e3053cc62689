"""A web server and a mail server on real sockets, which keep what they are told."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import let_pass


@dataclass
class Hooks:
    """``told``: heads and bodies in the order in which they came. answer: the status of each path, 204 otherwise.

    silent: paths that are answered once ``go_on`` is set.
    """

    port: int = 0
    told: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answer: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    go_on: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def of(self, path: str) -> list[bytes]:
        return [body for at, _, body in self.told if at == path]


@contextmanager
def hooks() -> Iterator[Hooks]:
    """Webhooks at a port of this machine."""
    kept = Hooks()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.told.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            if self.path in kept.silent:
                kept.go_on.wait()
            status = kept.answer.get(self.path, 204)
            self.send_response(status)
            if status // 100 == 3:
                self.send_header("Location", kept.url("/elsewhere"))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield kept
        finally:
            kept.go_on.set()
            server.shutdown()


@dataclass
class Mails:
    """``taken``: sender, addresses and text of each."""

    port: int = 0
    taken: list[tuple[str, list[str], str]] = field(default_factory=list)


class _MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True  # connections of the one before may not have lapsed


@contextmanager
def mail_server(slow_s: float = 0, port: int = 0) -> Iterator[Mails]:
    """A server that speaks as much SMTP as a sender needs. slow_s: until it has taken a mail. port: 0 is a free one."""
    kept = Mails()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            sender, to = "", list[str]()
            self.say("220 tests")
            while line := self.rfile.readline().decode().strip():
                word = line[:4].upper()
                if word == "MAIL":
                    sender, to = line.partition("<")[2].partition(">")[0], []
                elif word == "RCPT":
                    to.append(line.partition("<")[2].partition(">")[0])
                elif word == "DATA":
                    self.say("354 go on")
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    kept.taken.append((sender, to, text.decode().replace("\r\n", "\n")))
                    let_pass(slow_s)
                self.say("221 bye" if word == "QUIT" else "250 tests")
                if word == "QUIT":
                    return

        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    with _MailServer(("127.0.0.1", port), Handler) as server:
        kept.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield kept
        finally:
            server.shutdown()
