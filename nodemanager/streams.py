"""What one container prints: two named pipes, read here within a budget and kept in capped segments."""

import os
import selectors

from nodemanager.capture import STREAMS, Writer

READ_BYTES = 1 << 16
BUDGET_BYTES = 2 << 20  # read per stream and TICK; a flood beyond it waits in the writer
TICK_S = 0.1


class Streams:
    """``bytes``: of each stream whose end has been seen. ``uid``: who may open the pipes; -1 for our own user.

    The pipes have names, so that the next supervisor can go on reading.
    """

    def __init__(self, folder: str, uid: int, cap_bytes: int, selector: selectors.BaseSelector) -> None:
        self.folder, self.uid, self.cap_bytes, self.selector = folder, uid, cap_bytes, selector
        self.bytes = dict.fromkeys(STREAMS, 0)
        self.throttled = True  # a live task may print only so much at a time
        self.pipes: dict[int, Writer] = {}
        self.budget: dict[int, int] = {}
        self.paused: set[int] = set()
        self.refilled_at = 0.0  # when the budgets were last filled

    def _path(self, stream: str) -> str:
        return os.path.join(self.folder, f"{stream}.pipe")

    def make(self, stream: str) -> int:
        """A named pipe, read here; returns the task's end. Raises OSError.

        The task's end can read too, so that the task survives a moment without
        a reader: the next supervisor opens the pipe again by its name.
        """
        path = self._path(stream)
        if not os.path.exists(path):
            os.mkfifo(path, 0o600)
            if self.uid >= 0:
                os.chown(path, self.uid, self.uid)
        self.reopen(stream)
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def reopen(self, stream: str) -> None:
        """Read a pipe that is there. Raises OSError."""
        fd = os.open(self._path(stream), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.pipes[fd] = Writer(self.folder, stream, self.cap_bytes)
        self.budget[fd] = BUDGET_BYTES
        self._listen(fd)

    def _listen(self, fd: int) -> None:
        self.selector.register(fd, selectors.EVENT_READ, lambda _: self._read(fd))

    def _read(self, fd: int) -> bool:
        """Move what is there; returns whether there may be more."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close(fd)
            return False
        self.pipes[fd].write(data)
        self.budget[fd] -= len(data)
        if self.budget[fd] <= 0 and fd not in self.paused and self.throttled:
            self.selector.unregister(fd)
            self.paused.add(fd)
        return True

    def _close(self, fd: int) -> None:
        if fd not in self.paused:
            self.selector.unregister(fd)
        self.paused.discard(fd)
        self.budget.pop(fd, None)
        writer = self.pipes.pop(fd)
        self.bytes[writer.stream] = writer.offset
        writer.close()
        os.close(fd)

    def refill(self, now: float) -> None:
        """Once per TICK, writers that flooded may go on."""
        if now - self.refilled_at < TICK_S:
            return
        self.refilled_at = now
        for fd in self.budget:
            self.budget[fd] = BUDGET_BYTES
        for fd in self.paused:
            self._listen(fd)
        self.paused.clear()

    def due(self) -> float:
        """When ``refill`` has something to do; s, monotonic."""
        return self.refilled_at + TICK_S if self.paused else float("inf")

    def drain(self, long: bool) -> bool:
        """Read what the dead have left; whether all of it has come. ``long``: waited for it long enough."""
        for fd in list(self.pipes):
            while fd in self.pipes and self._read(fd):
                if long:
                    break
        return not self.pipes

    def close(self) -> None:
        """Read no more; what is still in the pipes is lost."""
        for fd in list(self.pipes):
            self._close(fd)

    def remove(self) -> None:
        """Delete the pipes' names."""
        for stream in STREAMS:
            try:
                os.unlink(self._path(stream))
            except OSError:
                pass
