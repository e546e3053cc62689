"""What containers write; a part of ``Client``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

from client import answers
from client.transport import Transport
from contract.jobs import LogPart, LogPiece, MergedLog

FOLLOW_TIMEOUT_S = 40.0  # the server holds a followed read for up to 25 s
PATIENCE_S = 600.0  # how long waiting and following outlast a server that is away
_POLL_MIN_S = 0.1
_PAUSE_S = 0.5


class LogCalls:
    _transport: Transport

    def logs(
        self,
        container: str,
        follow: bool = False,
        *,
        stream: str = "stdout",
        offset: int = 0,
        limit_bytes: int | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Iterator[LogPiece]:
        """One stream of a container from ``offset`` (bytes) on; with ``follow`` until the stream has ended.

        A broken connection or a restarted server is survived: reading goes on at the last offset.
        """
        while True:
            started = time.monotonic()
            params = {"stream": stream, "offset": offset, "limit": limit_bytes, "follow": 1 if follow else None}
            piece = answers.read(LogPiece, self._read(f"{quote(container, safe='')}/logs", params, patience_s))
            moved = piece.next_offset > offset
            offset = max(offset, piece.next_offset)
            if moved or piece.data:
                yield piece
            if piece.complete or not (moved or follow):
                return
            _unhurried(started, moved)

    def merged_logs(
        self,
        container: str,
        follow: bool = False,
        *,
        stream: str | None = None,
        tail: int | None = None,
        since: datetime | None = None,
        last_s: int | None = None,
        offset: int = 0,
        limit_bytes: int | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Iterator[LogPart]:
        """What a container wrote to stdout and stderr, or to one ``stream``, in the order in which it came, about a
        second apart; with ``follow`` until it has ended. A broken connection or a restarted server is survived.

        It begins at the last ``tail`` lines, with what came at ``since`` or in the last ``last_s`` seconds by the
        cluster's clock, whichever is the latest; or else after ``offset`` bytes of each stream.
        """
        begin: dict[str, Any] = {
            "tail": tail,
            "since": since.isoformat() if since else None,
            "last_s": last_s,
        }
        cursor = f"{offset}.{offset}" if offset else None
        while True:
            started = time.monotonic()
            where = {"cursor": cursor, "follow": 1 if follow else None} if cursor else begin
            params = {"stream": stream, "limit": limit_bytes, **where}
            found = answers.read(MergedLog, self._read(f"{quote(container, safe='')}/logs/merged", params, patience_s))
            moved = bool(found.pieces) or found.next != cursor
            cursor = found.next
            yield from found.pieces
            if found.complete or not (moved or follow):
                return
            _unhurried(started, moved)

    def _read(self, path: str, params: dict[str, Any], patience_s: float) -> Any:
        timeout_s = FOLLOW_TIMEOUT_S if params.get("follow") else None
        return self._transport.request(
            "GET", f"/api/v1/containers/{path}", params=params, patience_s=patience_s, timeout_s=timeout_s
        ).json()


def _unhurried(started: float, moved: bool) -> None:
    """A server that does not hold the request must not be hammered."""
    if not moved and time.monotonic() - started < _POLL_MIN_S:
        time.sleep(_PAUSE_S)
