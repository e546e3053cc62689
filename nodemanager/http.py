"""HTTP to the control plane: one kept connection per thread, small and blocking."""

import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from nodemanager.clock import Clock
from wire.nodeapi import TIME_HEADER

TIMEOUT_S = 15.0
BLOCK = 1 << 16


class HttpError(Exception):
    """No usable answer. ``status`` is 0 when there was none at all."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}" if status else text)
        self.status = status

    @property
    def retry(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 408, 429) or self.status >= 500


class Http:
    """Requests to one control plane; safe to use from several threads."""

    def __init__(self, base: str, ca_file: str, clock: Clock) -> None:
        parts = urlsplit(base)
        self.host, self.port = parts.hostname or "", parts.port
        self.prefix = parts.path.rstrip("/")
        self.tls: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self.tls = ssl.create_default_context(cafile=ca_file or None)
        self.clock = clock
        self.authorization = ""
        self.local = threading.local()

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self.local, "connection", None)
        if kept is None:
            if self.tls is not None:
                kept = http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_S, context=self.tls)
            else:
                kept = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
            self.local.connection = kept
        return kept

    def _drop(self) -> None:
        kept = getattr(self.local, "connection", None)
        if kept is not None:
            kept.close()
            self.local.connection = None

    @contextmanager
    def _answer(
        self, method: str, path: str, body: bytes | BinaryIO | None, headers: dict[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        """The open answer to a request; a stale kept connection is replaced once."""
        if self.authorization:
            headers = {"Authorization": self.authorization, **headers}
        for last in (False, True):
            connection = self._connection()
            fresh = connection.sock is None
            try:
                connection.request(method, self.prefix + path, body, headers)
                answer = connection.getresponse()
                break
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if fresh or last:
                    raise HttpError(0, f"{type(error).__name__}: {error}") from None
                if body is not None and not isinstance(body, bytes):
                    body.seek(0)
        self._read_clock(answer)
        try:
            yield answer
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise HttpError(0, f"{type(error).__name__}: {error}") from None
        except BaseException:
            self._drop()
            raise

    def _read_clock(self, answer: http.client.HTTPResponse) -> None:
        """``Date`` would be the clock of whatever host answers, a proxy's perhaps."""
        with suppress(ValueError):
            self.clock.synchronize(float(answer.getheader(TIME_HEADER, "")), time.monotonic())

    def request(self, method: str, path: str, value: Any = None) -> Any:
        """Send and receive JSON. Raises ``HttpError`` for no answer and for any status of 300 and above."""
        body = None if value is None else json.dumps(value, separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        with self._answer(method, path, body, headers) as answer:
            data = answer.read()
            if answer.status >= 300:
                raise HttpError(answer.status, _text(data))
            try:
                return json.loads(data) if data else None
            except ValueError:
                raise HttpError(0, "the answer is not JSON") from None

    def download(self, path: str) -> Iterator[bytes]:
        """The body of a GET in blocks. Raises ``HttpError``."""
        with self._answer("GET", path, None, {}) as answer:
            if answer.status != 200:
                raise HttpError(answer.status, _text(answer.read(4096)))
            while block := answer.read(BLOCK):
                yield block

    def upload(self, path: str, file: BinaryIO) -> None:
        """PUT a whole file. Raises ``HttpError``."""
        size = os.fstat(file.fileno()).st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        with self._answer("PUT", path, file if size else b"", headers) as answer:
            data = answer.read()
            if answer.status >= 300:
                raise HttpError(answer.status, _text(data))


def _text(data: bytes) -> str:
    """What a problem document says, in one line."""
    try:
        problem = json.loads(data)
        text = problem.get("detail") or problem.get("title") or ""
    except (ValueError, AttributeError):
        text = data[:200].decode(errors="replace")
    return " ".join(str(text).split())[:300]
