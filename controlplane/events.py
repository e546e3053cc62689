"""Hints to browsers: which topics may have changed. Nothing here is state, and all of it may be lost.

A hint is ``{"type": "hint", "topics": [...]}`` to the Channels group
``hints``; whoever shows a topic then reads it again from the StateStore.
Topics: ``overview``, ``jobs``, ``jobs:<owner>`` for lists of nothing but one
account's jobs, ``job:<id>``, ``nodes``, ``queues``, ``policy``. One background
thread sends, coalesced, so that a caller never waits for Redis.
"""

import asyncio
import atexit
import threading
import time
from collections.abc import Iterable, Mapping

import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)

GROUP = "hints"
COALESCE_S = 0.05
END_MAX_S = 3.0
MAX_TOPICS = 500  # more than this in one go are told as "jobs" of everybody
EVERYBODYS = "jobs:*"


class _Sender:
    """Collects topics from any thread; its own loop sends them in one message per ``COALESCE_S``."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ending = False
        self._thread: threading.Thread | None = None

    def add(self, topics: Iterable[str]) -> None:
        with self._lock:
            self._topics.update(topics)
            if self._thread is None or not self._thread.is_alive():
                if self._thread is None:
                    atexit.register(self.end)
                self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                self._thread.start()
        self._wake.set()

    def end(self) -> None:
        """Send what is left and stop: an interpreter that ends under a thread inside a C extension may abort."""
        self._ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(END_MAX_S)

    def _take(self) -> list[str]:
        with self._lock:
            topics, self._topics = self._topics, set()
        if len(topics) > MAX_TOPICS:
            topics = {t for t in topics if not t.startswith(("job:", "jobs:"))} | {"jobs", EVERYBODYS}
        return sorted(topics)

    def _run(self) -> None:
        # The thread waits, not the loop's executor: a daemon thread may be left behind when the process ends.
        loop = asyncio.new_event_loop()
        while not self._ending:
            self._wake.wait()
            self._wake.clear()
            if topics := self._take():
                loop.run_until_complete(self._send(topics))
            if not self._ending:
                time.sleep(COALESCE_S)  # what comes meanwhile goes out together

    async def _send(self, topics: list[str]) -> None:
        layer = get_channel_layer()
        if layer is None:
            return
        try:
            async with asyncio.timeout(2):
                await layer.group_send(GROUP, {"type": "hint", "topics": topics})
        except Exception as error:  # a hint that cannot be sent is a hint lost, whatever the reason
            log.debug("hint not sent", problem=str(error))


_sender = _Sender()


def hint(*topics: str) -> None:
    """Say that these topics may have changed. Returns at once and never raises."""
    _sender.add(topics)


def of_owner(owner: int) -> set[str]:
    """Topics that concern a list of this account's jobs."""
    return {f"jobs:{owner}", EVERYBODYS}


def job_changed(owners: Mapping[int, int]) -> None:
    """Say that these jobs, and so the lists and the overview, may have changed. owners: job -> whose it is.

    An RM says so after a committed round, of the jobs it touched.
    """
    hint("overview", *_of_jobs(owners))


def _of_jobs(owners: Mapping[int, int]) -> set[str]:
    if not owners:
        return set()
    return {"jobs"} | {f"job:{job}" for job in owners} | {f"jobs:{owner}" for owner in owners.values()}
