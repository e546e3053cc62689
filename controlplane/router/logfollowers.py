"""Whoever follows a log, told when there is news of it: one look at the StateStore for all of this process together."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from django.db import InterfaceError, OperationalError

from controlplane.accounts.turns import turns
from controlplane.router.threads import Threads
from controlplane.statestore.queries.jobs import logs
from controlplane.statestore.queries.jobs.logsources import LogSource

log = structlog.get_logger(__name__)
LOOK_EVERY_S = 0.25
TOGETHER = 500  # of them in one query


@dataclass(slots=True, eq=False)
class _Follower:
    """at: by stream, the offset that news is to be beyond."""

    who: int
    source: LogSource
    at: Mapping[int, int]
    told: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Followers:
    """Those of one process; for its event loop. There are looks while somebody follows."""

    def __init__(self) -> None:
        self._threads = Threads("log-followers", 1)  # whoever just reads does not wait behind them
        self._all: set[_Follower] = set()
        self._looking: asyncio.Task[None] | None = None

    async def something_new(self, who: int, source: LogSource, at: Mapping[int, int], longest_s: float) -> bool:
        """Whether there is news, as soon as there is; False when none came in time. The looks are the account's."""
        mine = _Follower(who, source, at)
        self._all.add(mine)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(longest_s):
                await mine.told
        except TimeoutError:
            return False
        finally:
            self._all.discard(mine)
        return True

    async def _look(self) -> None:
        while self._all:
            due = [each for each in self._all if not turns.wait_s(each.who)]  # others' accounts are beyond their share
            for begin in range(0, len(due), TOGETHER):
                await self._tell(due[begin : begin + TOGETHER])
            await asyncio.sleep(LOOK_EVERY_S)

    async def _tell(self, due: Sequence[_Follower]) -> None:
        def pay(took_s: float) -> None:
            for each in due:
                turns.spent(each.who, took_s / len(due))

        try:
            news = await self._threads.start(logs.news, [(each.source, each.at) for each in due], pay=pay)
        except (OperationalError, InterfaceError) as error:  # a store that does not answer now is asked again
            log.debug("no look for news of logs", problem=str(error))
            return
        except Exception as error:
            for each in due:
                if not each.told.done():
                    each.told.set_exception(error)
            return
        for each, new in zip(due, news, strict=True):
            if new and not each.told.done():
                each.told.set_result(None)
