"""A task's output stream kept in capped, rotated segment files.

A segment is named after its stream and the absolute offset of its first byte
(``stdout.000000000000``), so a reader sees what was dropped: the gap before a
segment. The newest bytes are kept, at most ``cap`` per stream.
"""

import os
from dataclasses import dataclass

STREAMS = ("stdout", "stderr")
SEGMENTS = 4  # a stream's cap is divided into this many files


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a stream, as it lies on disk; sizes in bytes."""

    path: str
    offset: int  # of its first byte in the stream
    size: int

    @property
    def end(self) -> int:
        """Offset in the stream of the first byte after it."""
        return self.offset + self.size


def segments(folder: str, stream: str) -> list[Segment]:
    """The stream's segments by offset; empty when there are none."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name, _, offset = entry.name.rpartition(".")
                if name == stream and offset.isdigit():
                    found.append(Segment(entry.path, int(offset), entry.stat().st_size))
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda s: s.offset)


class Writer:
    """Appends one stream. Continues where an earlier writer stopped."""

    def __init__(self, folder: str, stream: str, cap: int) -> None:
        self.folder, self.stream = folder, stream
        self.segment_bytes = max(4096, cap // SEGMENTS)
        held = segments(folder, stream)
        self.offset = held[-1].end if held else 0  # bytes of the stream so far, kept or dropped
        self.kept = [s.path for s in held]
        self.room = 0
        self.fd = -1

    def write(self, data: bytes) -> None:
        """Keep ``data``. A full disk loses it, and the gap shows that."""
        view = memoryview(data)
        while view:
            if self.room <= 0 or self.fd < 0:
                self._rotate()
            piece = view[: self.room]
            if self.fd >= 0 and self._append(piece):
                self.room -= len(piece)
            else:
                self.close()  # the next segment starts at a new offset, so the loss is visible
            self.offset += len(piece)
            view = view[len(piece) :]

    def _append(self, piece: memoryview) -> bool:
        try:
            written = os.write(self.fd, piece)
            if written == len(piece):
                return True
            os.ftruncate(self.fd, os.fstat(self.fd).st_size - written)
        except OSError:
            pass
        return False

    def _rotate(self) -> None:
        self.close()
        self.room = self.segment_bytes
        path = os.path.join(self.folder, f"{self.stream}.{self.offset:012d}")
        try:
            self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:
            self.fd = -1
            return
        if not self.kept or self.kept[-1] != path:
            self.kept.append(path)
        while len(self.kept) > SEGMENTS:
            try:
                os.unlink(self.kept.pop(0))
            except OSError:
                pass

    def close(self) -> None:
        """Let go of the file; a later ``write`` begins another segment."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.room = -1, 0
