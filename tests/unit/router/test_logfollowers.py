"""All that follow logs are looked for together, as often as their accounts may."""

import asyncio
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db import OperationalError

from controlplane.accounts.turns import BURST_S, Turns
from controlplane.router import logfollowers
from controlplane.router.logfollowers import Followers
from controlplane.statestore.queries.jobs import logs
from controlplane.statestore.queries.jobs.logsources import LogSource
from tests.patience import passes, until

DAY = dt.date(2030, 1, 1)


def source(container: int) -> LogSource:
    return LogSource(container, 1, 1, DAY, live=True)


class Store:
    """News of these containers beyond these offsets. looked: what was asked for, look by look."""

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self.looked: list[list[int]] = []
        self.fails: Exception | None = None
        self.failed = 0

    def news(self, wanted: Sequence[tuple[LogSource, Mapping[int, int]]]) -> list[bool]:
        if self.fails:
            self.failed += 1
            raise self.fails
        self.looked.append([src.container_id for src, _ in wanted])
        return [self.ends.get(src.container_id, 0) > at[0] for src, at in wanted]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    found = Store()
    monkeypatch.setattr(logs, "news", found.news)
    monkeypatch.setattr(logfollowers, "LOOK_EVERY_S", 0.02)
    return found


@pytest.fixture(autouse=True)
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    fresh = Turns(0.2)
    monkeypatch.setattr(logfollowers, "turns", fresh)
    return fresh


def played(play: Any) -> None:
    asyncio.run(play())


def test_many_cost_one_look_and_each_hears_of_its_own(store: Store) -> None:
    async def play() -> None:
        all_ = Followers()
        waiting = [asyncio.create_task(all_.something_new(7, source(n % 10), {0: n}, 20)) for n in range(30)]
        await until(lambda: len(store.looked) >= 3, 20, "several looks", 0.005)
        assert all(sorted(look) == sorted([*range(10)] * 3) for look in store.looked)
        store.ends[3] = 20
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert done == {waiting[3], waiting[13]} and all(each.result() for each in done), "23 knows of all there is"
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)
        looks = len(store.looked)
        await passes(0.1)
        assert len(store.looked) <= looks + 1, "nobody follows any more"
        assert not await all_.something_new(7, source(1), {0: 0}, 0.05), "nothing came in time"

    played(play)


def test_who_is_beyond_his_share_is_not_looked_for_meanwhile(store: Store, turns: Turns) -> None:
    async def play() -> None:
        all_ = Followers()
        turns.spent(7, BURST_S + 1)
        turns.asks(8)
        store.ends = {1: 5, 2: 5}
        held = asyncio.create_task(all_.something_new(7, source(1), {0: 0}, 20))
        assert await all_.something_new(8, source(2), {0: 0}, 20)
        assert store.looked == [[2]] and not held.done()
        held.cancel()
        await asyncio.wait([held])

    played(play)


def test_a_store_that_is_away_is_asked_again(store: Store) -> None:
    async def play() -> None:
        all_ = Followers()
        store.fails = OperationalError("the store is away")
        waiting = [asyncio.create_task(all_.something_new(7, source(n), {0: 0}, 20)) for n in range(3)]
        await until(lambda: store.failed >= 3, 20, "several looks", 0.005)
        assert not any(each.done() for each in waiting)
        store.fails, store.ends = None, dict.fromkeys(range(3), 1)
        assert await asyncio.gather(*waiting) == [True] * 3

    played(play)


def test_what_nobody_foresaw_is_told_to_all_and_asked_again_by_the_next(store: Store) -> None:
    async def play() -> None:
        all_ = Followers()
        store.fails = ValueError("a defect")
        told = await asyncio.gather(
            *(all_.something_new(7, source(n), {0: 0}, 20) for n in range(3)), return_exceptions=True
        )
        assert [type(each) for each in told] == [ValueError] * 3
        store.fails, store.ends = None, {1: 1}
        assert await all_.something_new(7, source(1), {0: 0}, 20)

    played(play)
