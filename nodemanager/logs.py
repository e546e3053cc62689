"""Carries what tasks print to the control plane: one POST per node and second, while there is news.

Offsets are of the whole stream, so a piece sent twice changes nothing and a
restart resumes where the last acknowledged piece ended. Memory is bounded by
one batch: whatever waits lies in the capped segment files.
"""

import base64
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nodemanager import capture, jsonfiles
from nodemanager.capture import STREAMS
from nodemanager.http import Http, HttpError
from wire import nodeapi

PERIOD_S = 1.0
FIRST_S = 0.15  # news after quiet travels this soon, so that short tasks share a batch
CHUNK_BYTES = 64 << 10
BATCH_BYTES = 512 << 10
ROUNDS = 8  # batches per period: what a flood may send
BACKOFF_MAX_S = 30.0


@dataclass(slots=True)
class FollowedContainer:
    """A container whose output is followed. ``sent``: offsets up to which the control plane has each stream."""

    container: str
    folder: str  # the container's own; logs/ is in it
    sent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    ended: bool = False
    closed: set[str] = field(default_factory=set)  # streams whose end has been told
    on_sent: Callable[[], None] | None = None  # when ended and all is sent

    def end_unsent(self, stream: str) -> bool:
        """Whether readers should hear now that nothing follows; a task that printed nothing needs no word."""
        return self.ended and stream not in self.closed and any(self.sent.values())


class LogPusher:
    """One thread. ``follow``, ``end`` and ``forget`` may be called from the loop; they never block."""

    def __init__(self, http: Http, note: Callable[..., None]) -> None:
        self.http, self.note = http, note
        self.condition = threading.Condition()
        self.followed: dict[str, FollowedContainer] = {}
        self.stopping = False
        self.flush_soon = False
        self.backoff_s = 0.0
        self.thread = threading.Thread(target=self._run, name="logs", daemon=True)

    def follow(self, container: str, folder: str) -> None:
        """Follow a container from where an earlier agent stopped."""
        sent = jsonfiles.read_json(os.path.join(folder, "pushed.json")) or {}
        item = FollowedContainer(container, folder)
        item.sent.update({s: sent[s] for s in STREAMS if isinstance(sent.get(s), int)})
        with self.condition:
            self.followed.setdefault(container, item)
            self.condition.notify()

    def end(self, container: str, log_bytes: int) -> None:
        """No more output will come; ``log_bytes`` 0 means that there never was any."""
        with self.condition:
            item = self.followed.get(container)
            if item is None:
                return
            if log_bytes == 0 and item.on_sent is None:
                del self.followed[container]
                return
            item.ended = self.flush_soon = True
            self.condition.notify()

    def forget(self, container: str, on_sent: Callable[[], None]) -> None:
        """Call ``on_sent`` once everything is sent: the folder may go."""
        with self.condition:
            item = self.followed.get(container)
            if item is not None:
                item.ended, item.on_sent = True, on_sent
                self.condition.notify()
                return
        on_sent()

    def close(self, timeout_s: float) -> None:
        """Give what is left ``timeout_s`` to leave."""
        with self.condition:
            self.stopping = True
            self.condition.notify()
        if self.thread.is_alive():
            self.thread.join(timeout_s)

    # --- the thread

    def _run(self) -> None:
        while True:
            with self.condition:
                while not self.followed and not self.stopping:
                    self.condition.wait()
                if not self.stopping:
                    wait = self.backoff_s or (FIRST_S if self.flush_soon else PERIOD_S)
                    self.condition.wait_for(lambda: self.stopping or (self.flush_soon and not self.backoff_s), wait)
                if self.flush_soon and not self.stopping:
                    self.condition.wait_for(lambda: self.stopping, FIRST_S)
                last, self.flush_soon = self.stopping, False
            self._push_all()
            if last:
                return

    def _push_all(self) -> None:
        for _ in range(ROUNDS):
            chunks, moved = self._gather()
            if chunks and not self._post(chunks):
                return
            self._moved(moved)
            if not chunks:
                return

    def _gather(self) -> tuple[list[dict[str, Any]], list[tuple[FollowedContainer, str, int]]]:
        """The next batch, every container in turn, and the offsets it brings."""
        with self.condition:
            items = list(self.followed.values())
        chunks: list[dict[str, Any]] = []
        moved: list[tuple[FollowedContainer, str, int]] = []
        room = BATCH_BYTES
        for item in items:
            for stream in STREAMS:
                if room <= 0:
                    return chunks, moved
                data, offset, skipped = self._read(item, stream, min(room, CHUNK_BYTES))
                if data:
                    room -= len(data)
                    text = base64.b64encode(data).decode()
                    chunks.append(
                        {
                            "container": item.container,
                            "stream": stream,
                            "offset": offset,
                            "data": text,
                            "skipped": skipped,
                        }
                    )
                    moved.append((item, stream, offset + len(data)))
                elif item.end_unsent(stream):
                    chunks.append({"container": item.container, "stream": stream, "offset": offset, "data": ""})
                    moved.append((item, stream, offset))
        self._rotate(items)
        return chunks, moved

    def _rotate(self, items: list[FollowedContainer]) -> None:
        """Who came first in this batch comes last in the next."""
        with self.condition:
            if len(items) > 1 and items[0].container in self.followed:
                self.followed[items[0].container] = self.followed.pop(items[0].container)

    def _read(self, item: FollowedContainer, stream: str, limit: int) -> tuple[bytes, int, int]:
        """Bytes after what was sent, their offset, and how many before them are lost for good."""
        at = item.sent[stream]
        for segment in capture.segments(os.path.join(item.folder, "logs"), stream):
            if segment.end <= at:
                continue
            start = max(at, segment.offset)
            try:
                with open(segment.path, "rb") as file:
                    file.seek(start - segment.offset)
                    data = file.read(limit)
            except OSError:
                continue  # rotated away this moment: it has become a gap
            if data:
                return data, start, start - at
        return b"", at, 0

    def _post(self, chunks: list[dict[str, Any]]) -> bool:
        """Whether the batch is done with: taken, or refused for good."""
        try:
            self.http.request("POST", f"{nodeapi.PREFIX}/logs", {"chunks": chunks})
        except HttpError as error:
            if error.retry or error.status == 401:  # who is unknown registers again; what is refused stays refused
                self.backoff_s = min(BACKOFF_MAX_S, max(1.0, self.backoff_s * 2))
                return False
            self.note("warning", "a batch of logs was refused and is dropped", why=str(error))
        self.backoff_s = 0.0
        return True

    def _moved(self, moved: list[tuple[FollowedContainer, str, int]]) -> None:
        touched = {}
        for item, stream, offset in moved:
            if item.sent[stream] == offset:
                item.closed.add(stream)
            item.sent[stream] = offset
            touched[item.container] = item
        for item in touched.values():
            try:
                jsonfiles.write_json(os.path.join(item.folder, "pushed.json"), item.sent)
            except OSError:
                pass  # sent again after a restart, which changes nothing
        if not self.backoff_s:
            self._finished()

    def _finished(self) -> None:
        """Let go of containers that ended and have nothing left to send."""
        done = []
        with self.condition:
            for item in list(self.followed.values()):
                if item.ended and not any(item.end_unsent(s) or self._read(item, s, 1)[0] for s in STREAMS):
                    del self.followed[item.container]
                    done.append(item)
        for item in done:
            if item.on_sent is not None:
                item.on_sent()
