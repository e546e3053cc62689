"""Artifacts as streamed answers, whole or in part (``Range``)."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import IO

from django.core.files.storage import default_storage
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from controlplane.router.problems import plain
from controlplane.statestore.actions.artifacts import name_of

PIECE_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """(first, last) of the one range asked for; everything without a header we can read; ``None`` when outside."""
    match = _RANGE.fullmatch(header or "")
    if not match or match[1] == match[2] == "":
        return 0, size - 1
    if match[1] == "":
        first, last = max(0, size - int(match[2])), size - 1
    else:
        first = int(match[1])
        last = min(int(match[2]), size - 1) if match[2] else size - 1
    return (first, last) if first <= last else None


class Pieces:
    """A file's bytes, read in pieces by whichever kind of server asks; closed with the answer."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file, self._left = file, length

    def _next(self) -> bytes:
        piece = self._file.read(min(PIECE_BYTES, self._left))
        self._left -= len(piece)
        return piece

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._next():
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(self._next):
            yield piece

    def close(self) -> None:
        self._file.close()


class Streamed(StreamingHttpResponse):
    """A streamed answer whose pieces can be read with and without an event loop."""

    is_async = False  # for Django's synchronous handlers; its ASGI handler asks ``__aiter__`` first

    def __init__(self, pieces: Pieces, **options: object) -> None:
        super().__init__(iter(()), **options)
        self.pieces = pieces
        self._resource_closers.append(pieces.close)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.pieces.__aiter__()

    @property
    def streaming_content(self) -> Iterator[bytes]:
        return iter(self.pieces)

    @streaming_content.setter
    def streaming_content(self, value: object) -> None:
        pass


def artifact(digest: str, size: int, wanted: str | None, head: bool = False) -> HttpResponseBase:
    """The answer to GET or HEAD of an artifact that may be read."""
    try:
        file = default_storage.open(name_of(digest), "rb")
    except FileNotFoundError:
        return plain(404, "the artifact's bytes have been removed from the store; upload them again")
    span = byte_range(wanted, size) if wanted and size else (0, size - 1)
    if span is None:
        file.close()
        response: HttpResponseBase = plain(416, f"the artifact has {size} bytes")
        response["Content-Range"] = f"bytes */{size}"
        return response
    first, last = span
    whole = last - first + 1 == size
    if head:
        file.close()
        response = HttpResponse(content_type="application/octet-stream")
    else:
        file.seek(first)
        response = Streamed(
            Pieces(file, last - first + 1), status=200 if whole else 206, content_type="application/octet-stream"
        )
        if not whole:
            response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["Content-Length"] = str(last - first + 1)
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = f'"{digest}"'
    response["Content-Disposition"] = "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    return response
