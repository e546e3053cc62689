"""Those in this process that one task serves together: sockets whose sessions are checked, watches that hear hints."""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Members(Generic[T]):
    """``_serve`` runs in the members' event loop while there is at least one."""

    def __init__(self) -> None:
        self._members: set[T] = set()
        self._task: asyncio.Task[None] | None = None

    def join(self, who: T) -> None:
        self._members.add(who)
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = loop.create_task(self._serve())

    def leave(self, who: T) -> None:
        self._members.discard(who)
        if not self._members and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _serve(self) -> None:
        raise NotImplementedError
