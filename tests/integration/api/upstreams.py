"""Applications behind the tracking proxy, kind and hostile: one real server that misbehaves as its path says."""

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import let_pass, stretched

PIECE = b"x" * 65_536


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Upstream"

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, body: bytes, status: int = 200, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self) -> None:
        self.server.seen.append((self.command, self.path))
        name = self.path.partition("?")[0].strip("/").replace("/", "_") or "index"
        with contextlib.suppress(ConnectionError):
            getattr(self, f"on_{name}", self.on_index)()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def on_index(self) -> None:
        """What has arrived."""
        size = 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while length := int(self.rfile.readline(), 16):
                size += len(self.rfile.read(length))
                self.rfile.readline()
            self.rfile.readline()
        else:
            left = int(self.headers.get("Content-Length") or 0)
            while left and (data := self.rfile.read(min(left, 1 << 20))):
                size, left = size + len(data), left - len(data)
        seen = {"method": self.command, "path": self.path, "headers": list(self.headers.items()), "size": size}
        self.answer(json.dumps(seen).encode(), 200, ("Content-Type", "application/json"))

    def on_elsewhere(self) -> None:
        self.answer(b"", 302, ("Location", "https://evil.example/?steal"))

    def on_redirect(self) -> None:
        self.answer(b"", 302, ("Location", "/landed?x=1"))

    def on_cookies(self) -> None:
        theirs = [("Set-Cookie", v) for v in ("sessionid=stolen; Path=/", "theirs=1; Path=/", "CSRFTOKEN=x")]
        self.answer(b"ok", 200, *theirs, ("Clear-Site-Data", '"*"'))

    def on_huge(self) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Huge: " + b"a" * 2_000_000 + b"\r\n\r\n")

    def on_nonsense(self) -> None:
        self.wfile.write(b"I am not HTTP\r\n\r\n")
        self.close_connection = True

    def on_slow(self) -> None:
        self.server.released.wait(stretched(30))

    def on_drip(self) -> None:
        """A head that never ends, a byte at a time."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        with contextlib.suppress(OSError):
            while not self.server.released.wait(0.05):
                self.wfile.write(b"a")

    def on_cut(self) -> None:
        """Promises more than it sends."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        self.close_connection = True

    def on_flood(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            for _ in range(self.server.pieces):
                self.wfile.write(PIECE)
            self.server.flooded.set()

    def on_endless(self) -> None:
        """Until whoever reads it goes."""
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"tick\n")
                let_pass(0.1)
        except OSError:
            self.server.left.set()

    def on_error(self) -> None:
        self.answer(b"<script>alert(1)</script>", 500, ("Content-Type", "text/html"))


class Upstream(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.released, self.left, self.flooded = threading.Event(), threading.Event(), threading.Event()
        self.pieces = 800
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def close(self) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()


def closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def header(seen: dict[str, Any], name: str) -> list[str]:
    return [value for key, value in seen["headers"] if key.lower() == name]
