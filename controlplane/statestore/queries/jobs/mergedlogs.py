"""Both streams of a container as one, in the order in which their pieces came to the control plane.

A node sends what was written about once a second: what both streams say within one such batch stands there with
stdout first, since nobody has noted the moment of each write.
"""

import datetime as dt
import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from controlplane.statestore.models import LogChunk
from controlplane.statestore.queries.jobs import logpieces
from controlplane.statestore.queries.jobs.logpieces import Kept
from controlplane.statestore.queries.jobs.logsources import LogSource, settled

TAIL_MAX = 10_000  # lines
TAIL_BYTES = 4 << 20  # of each stream that are looked through for them
LIMIT_MIN = 8  # bytes of an answer: both streams may end in a cut character, of up to four bytes
STEP_BYTES = 256 << 10
TAIL_READS = 40  # of each stream, likewise: it may have come a byte at a time

Positions = Mapping[int, int]  # stream -> offset


def start(
    src: LogSource,
    streams: Iterable[int],
    tail: int | None = None,
    since: dt.datetime | None = None,
    last_s: int | None = None,
) -> dict[int, int]:
    """Where to begin reading: at the last ``tail`` lines of all streams together, and at the first piece that came
    at ``since`` or in the last ``last_s`` seconds by the database's clock. Whichever is the latest counts.
    """
    at = dict.fromkeys(streams, 0)
    if since is not None or last_s is not None:
        at = {stream: logpieces.since(src, stream, since, last_s) for stream in at}
    if tail is not None:
        for stream, offset in _tail(src, at, tail).items():
            at[stream] = max(at[stream], offset)
    return at


def _tail(src: LogSource, streams: Iterable[int], lines: int) -> dict[int, int]:
    """Where the last lines of all streams together begin."""
    begin = {stream: logpieces.end(src, stream) for stream in streams}
    starts = [_line_starts(src, stream, at) for stream, at in begin.items()]
    for _, stream, offset in islice(heapq.merge(*starts, key=lambda s: s[:2], reverse=True), lines):
        begin[stream] = offset
    return begin


def _line_starts(src: LogSource, stream: int, end: int) -> Iterator[tuple[dt.datetime, int, int]]:
    """(when it came, stream, offset) of each line before ``end``, the last first."""
    later = Kept(stream, end, b"", dt.datetime.max.replace(tzinfo=dt.UTC))
    more, seen, reads = end > 0, 0, 0
    while more and seen < TAIL_BYTES and reads < TAIL_READS:
        reads += 1
        pieces, more = logpieces.backward(src, stream, later.begin, STEP_BYTES)
        for piece in pieces:
            data = piece.data[: later.begin - piece.begin]
            came = min(piece.came, later.came)
            whole = later.begin == end  # what ends a stream begins no line
            if (data.endswith(b"\n") or len(data) < later.begin - piece.begin) and not whole:
                yield later.came, stream, later.begin
            cut = len(data) - data.endswith(b"\n")
            while (cut := data.rfind(b"\n", 0, cut)) >= 0:
                yield came, stream, piece.begin + cut + 1
            later = Kept(stream, piece.begin, b"", came)
            seen += len(data)
    if later.begin < end:
        yield later.came, stream, later.begin


def read(src: LogSource, at: Positions, limit: int) -> dict[str, Any]:
    """Some ``limit`` bytes from where each stream was left, as the API shows them. At most three queries.

    ``seen``: up to where anything was there, cut characters included; ``next``: where to go on.
    """
    windows = {stream: logpieces.forward(src, stream, offset, limit) for stream, offset in at.items()}
    taken = _Taken(at, limit)
    for piece in _in_order(windows):
        if not taken.add(piece):
            break
    complete = all(not more and _ended(pieces, taken.at[stream]) for stream, (pieces, more) in windows.items())
    if not complete:
        left = all(
            not more and taken.at[stream] >= max((p.end for p in pieces), default=0)
            for stream, (pieces, more) in windows.items()
        )
        complete = left and not src.live and bool(settled({src.container_id}))
    seen = dict(taken.at)
    taken.close(complete)
    return {"seen": seen, "pieces": taken.pieces, "next": taken.at, "complete": complete}


def _ended(pieces: list[Kept], at: int) -> bool:
    """Whether the node said that nothing follows, and all before that was taken."""
    told = any(not piece.data and piece.begin <= at for piece in pieces)
    return told and at >= max(piece.end for piece in pieces)


def _in_order(windows: Mapping[int, tuple[list[Kept], bool]]) -> Iterator[Kept]:
    """All pieces by the moment they came. Of a stream that has more to read nothing later than that is known."""
    last = [_order(pieces[-1]) for pieces, more in windows.values() if more and pieces]
    known = min(last, default=None)
    for piece in heapq.merge(*(pieces for pieces, _ in windows.values()), key=_order):
        if known is None or _order(piece) <= known:
            yield piece


def _order(piece: Kept) -> tuple[dt.datetime, int]:
    return piece.came, piece.stream


class _Taken:
    """What an answer shows so far, and where each stream goes on. A character cut in two pieces is shown once."""

    def __init__(self, at: Positions, limit: int) -> None:
        self.at, self.limit = dict(at), limit
        self.pieces: list[dict[str, Any]] = []
        self._cut: dict[int, bytes] = {}

    def add(self, piece: Kept) -> bool:
        """Take a piece, or as much of it as there is room for; whether there is room for more."""
        at = self.at[piece.stream]
        if piece.end <= at:
            return True
        skipped = max(0, piece.begin - at)
        if skipped:
            self._flush(piece.stream)
        part = piece.data[max(0, at - piece.begin) :][: self.limit]
        self.limit -= len(part)
        self.at[piece.stream] = max(at, piece.begin) + len(part)
        held = self._cut.pop(piece.stream, b"")
        whole, cut = _whole(held + part)
        if cut:
            self._cut[piece.stream] = cut
        offset = self.at[piece.stream] - len(cut) - len(whole)
        if whole or skipped:
            self._show(piece.stream, offset, whole, skipped, piece.came)
        return self.limit > 0

    def close(self, complete: bool) -> None:
        """Leave cut characters to the next answer, unless there will be none."""
        if complete:
            for stream in list(self._cut):
                self._flush(stream)
        for stream, cut in self._cut.items():
            self.at[stream] -= len(cut)

    def _flush(self, stream: int) -> None:
        if cut := self._cut.pop(stream, b""):
            came = next((p["at"] for p in reversed(self.pieces) if p["stream"] == LogChunk.Stream(stream).label), None)
            self._show(stream, self.at[stream] - len(cut), cut, 0, came)

    def _show(self, stream: int, offset: int, data: bytes, skipped: int, came: dt.datetime | None) -> None:
        label = str(LogChunk.Stream(stream).label)
        self.pieces.append(
            {
                "stream": label,
                "offset": offset,
                "data": data.decode("utf-8", "replace"),
                "skipped": skipped,
                "at": came,
            }
        )


def _whole(data: bytes) -> tuple[bytes, bytes]:
    """(whole characters, the beginning of one that is cut at the end)."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # a continuation byte; its beginning is further left
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return (data[:-back], data[-back:]) if length > back else (data, b"")
    return data, b""
