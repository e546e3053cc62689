"""Whether Postgres answers at all, asked on its own thread, so that a request that waits for it can be given up."""

import asyncio
import time

from django.db import connection

from controlplane.router.threads import Threads

PATIENCE_S = 0.5
LOOK_S = 0.05  # each look counts for so much, however late a busy machine lets it come: it is late for the answer, too
FRESH_S = 0.25


def _ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


class StoreProbe:
    """One question at a time, shared by all requests that wait. Use it on one event loop."""

    def __init__(self) -> None:
        self._threads = Threads("store-probe", 1)
        self._question: asyncio.Future[None] | None = None
        self._alive_at = -FRESH_S

    async def alive(self) -> bool:
        """True when a query came back just now. A question that hangs stays asked, and means no until it returns."""
        if time.monotonic() - self._alive_at < FRESH_S:
            return True
        if self._question is None or self._question.done():
            self._question = self._threads.start(_ask)
        question, looks = self._question, round(PATIENCE_S / LOOK_S)
        while looks and not question.done():
            await asyncio.wait({question}, timeout=LOOK_S)
            looks -= 1
        if not question.done() or question.cancelled() or question.exception():  # whatever it is, it did not answer
            return False
        self._alive_at = time.monotonic()
        return True
