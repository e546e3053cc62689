"""Answers that nobody takes: who is sent something may be slow, and is not waited for without end."""

import asyncio

UNREAD_S = 30.0  # so far behind the slowest pace whoever is sent something is cut off
SLOWEST_BYTES_S = 16 << 10  # the pace that is asked of bodies too
LOOK_S = 0.05  # between two looks, at the least


class Unread:
    """How far one connection's other end is behind the slowest pace; it catches up by all that it takes."""

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._late, self._at, self._left = 0.0, self._loop.time(), 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether there is more to take than is kept for it."""
        return self._timer is not None

    def begins(self) -> None:
        """There is more than is kept for it; until now it was not waited for."""
        now = self._loop.time()
        self._late = max(0.0, self._late - (now - self._at))
        self._at, self._left = now, self._transport.get_write_buffer_size()
        self._look_again()

    def ends(self) -> None:
        """There is room again."""
        if self.waits:
            self._count()
            self.forget()

    def closes(self) -> None:
        """Nothing more comes: what was sent may never be taken, and the transport would wait for that."""
        self.forget()
        self._timer = self._loop.call_later(UNREAD_S, self._transport.abort)

    def forget(self) -> None:
        """It is somebody else's, or gone."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """Cut it off if it is too far behind."""
        self._count()
        if self._late >= UNREAD_S:
            self._transport.abort()
        else:
            self._look_again()

    def _count(self) -> None:
        now, left = self._loop.time(), self._transport.get_write_buffer_size()
        self._late = max(0.0, self._late + (now - self._at) - (self._left - left) / SLOWEST_BYTES_S)
        self._at, self._left = now, left

    def _look_again(self) -> None:
        self.forget()
        self._timer = self._loop.call_later(max(LOOK_S, UNREAD_S - self._late), self.look)
