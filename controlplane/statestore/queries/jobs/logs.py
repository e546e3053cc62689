"""Kept logs: bytes of one stream from an offset on."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.statestore.queries.jobs import logpieces
from controlplane.statestore.queries.jobs.logpieces import Kept
from controlplane.statestore.queries.jobs.logsources import LogSource, settled

LIMIT_BYTES = 256 * 1024
LIMIT_BYTES_MAX = 1 << 20


def read(src: LogSource, stream: int, offset: int, limit: int) -> dict[str, Any]:
    """Up to ``limit`` bytes from ``offset`` on, as the API shows them. At most two queries."""
    pieces, more = logpieces.forward(src, stream, offset, limit)
    data, at, skipped = _join(pieces, offset, limit)
    told = any(not piece.data and piece.begin <= at for piece in pieces)  # the node said that nothing follows
    complete = not more and at >= max((piece.end for piece in pieces), default=0)
    complete = complete and (told or (not src.live and bool(settled({src.container_id}))))
    if not complete:
        data, at = _whole_characters(data, at)
    return {
        "data": data.decode("utf-8", "replace"),
        "offset": offset,
        "next_offset": at,
        "skipped": skipped,
        "complete": complete,
    }


def _join(pieces: list[Kept], offset: int, limit: int) -> tuple[bytes, int, int]:
    """(bytes, offset after them, bytes that were never kept). Overlapping pieces are shown once."""
    data, at, skipped = bytearray(), offset, 0
    for piece in pieces:
        if piece.end <= at:
            continue
        if len(data) >= limit:
            break
        if piece.begin > at:
            if data:
                break  # a gap is shown at the beginning of an answer, so that ``skipped`` has one meaning
            skipped, at = piece.begin - at, piece.begin
        part = piece.data[at - piece.begin :][: limit - len(data)]
        data += part
        at += len(part)
    return bytes(data), at, skipped


def _whole_characters(data: bytes, at: int) -> tuple[bytes, int]:
    """Leave a character that is cut at the end to the next answer."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # a continuation byte; its beginning is further left
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if length > back and back < len(data):
            return data[:-back], at - back
        break
    return data, at


def news(wanted: Sequence[tuple[LogSource, Mapping[int, int]]]) -> list[bool]:
    """Of each of these whether a piece of one of the streams reaches beyond its offset, or none will ever. Two queries,
    however many they are."""
    streams = [(no, src, stream, offset) for no, (src, at) in enumerate(wanted) for stream, offset in at.items()]
    more = {streams[found][0] for found in logpieces.news([each[1:] for each in streams])}
    ended = settled({src.container_id for src, _ in wanted})
    return [no in more or src.container_id in ended for no, (src, _) in enumerate(wanted)]
