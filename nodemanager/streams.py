"""What one container prints: two named pipes, read here within a budget and kept in capped segments."""

import os
import selectors
import time
from collections.abc import Sequence

from nodemanager.capture import STREAMS, Writer
from nodemanager.masking import Mask

READ_BYTES = 1 << 16
BUDGET_BYTES = 2 << 20  # read per stream and TICK; a flood beyond it waits in the writer
TICK_S = 0.1
HELD_S = 0.5  # how long what may be the beginning of a secret's value waits for the rest


class Streams:
    """``bytes``: of each stream whose end has been seen. ``uid``: who may open the pipes; -1 for our own user.
    ``secret``: lines that are not kept as they are.

    The pipes have names, so that the next supervisor can go on reading.
    """

    def __init__(
        self, folder: str, uid: int, cap_bytes: int, selector: selectors.BaseSelector, secret: Sequence[str] = ()
    ) -> None:
        self.folder, self.uid, self.cap_bytes, self.selector = folder, uid, cap_bytes, selector
        self.secret = secret
        self.masks: dict[int, Mask] = {}
        self.held_until: dict[int, float] = {}  # of pipes of which something is held
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
        if self.secret:
            self.masks[fd] = Mask(self.secret)
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
        self._keep(fd, data)
        self.budget[fd] -= len(data)
        if self.budget[fd] <= 0 and fd not in self.paused and self.throttled:
            self.selector.unregister(fd)
            self.paused.add(fd)
        return True

    def _keep(self, fd: int, data: bytes) -> None:
        mask = self.masks.get(fd)
        if mask is None:
            self.pipes[fd].write(data)
            return
        self.pipes[fd].write(mask.take(data))
        self.held_until.pop(fd, None)
        if mask.held:
            self.held_until[fd] = time.monotonic() + HELD_S

    def _let_go(self, fd: int) -> None:
        """Keep what was held: no rest of a value has come."""
        if self.held_until.pop(fd, None) is not None:
            self.pipes[fd].write(self.masks[fd].give_up())

    def _close(self, fd: int) -> None:
        self._let_go(fd)
        self.masks.pop(fd, None)
        if fd not in self.paused:
            self.selector.unregister(fd)
        self.paused.discard(fd)
        self.budget.pop(fd, None)
        writer = self.pipes.pop(fd)
        self.bytes[writer.stream] = writer.offset
        writer.close()
        os.close(fd)

    def refill(self, now: float) -> None:
        """Once per TICK, writers that flooded may go on. What was held for long enough is kept."""
        for fd in [fd for fd, until in self.held_until.items() if until <= now]:
            self._let_go(fd)
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
        held = min(self.held_until.values(), default=float("inf"))
        return min(held, self.refilled_at + TICK_S) if self.paused else held

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
