"""What several sockets of an account follow is read once for all of them, and at once for who comes new."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator

import pytest

from controlplane.accounts.turns import BURST_S, Turns
from controlplane.dashboard import reader as reading
from controlplane.dashboard import watches as watching
from controlplane.dashboard.feed import Feed
from controlplane.dashboard.hints import Hints
from controlplane.dashboard.reader import Reader
from controlplane.dashboard.schedule import REFRESH_S
from controlplane.dashboard.snapshots import Result, TopicSnapshot
from controlplane.dashboard.topics import Topic, parse
from controlplane.dashboard.watches import FAULT, Watches
from controlplane.statestore.queries.looks import Look
from tests.patience import passes, stretched


class Store:
    """Answers with what is set; counts reads. own: lists hold the account's own jobs alone."""

    def __init__(self) -> None:
        self.value, self.own, self.reads = 1, True, 0
        self.fault = False
        self.lock = threading.Lock()

    def read(self, user_id: int, topic: Topic, look: Look) -> Result:
        with self.lock:
            self.reads += 1
        if self.fault:
            raise RuntimeError("broken")
        return TopicSnapshot(str(self.value), b"%d" % self.value, self.own)


class Socket:
    """What one socket is told."""

    def __init__(self, watches: Watches, user_id: int = 7, name: str = "jobs") -> None:
        topic = parse(name)
        assert topic is not None
        self.watches, self.user_id = watches, user_id
        self.woken = asyncio.Event()
        self.feed = Feed(topic, self.woken.set)
        watches.join(user_id, self.feed)

    async def hears(self) -> object:
        async with asyncio.timeout(stretched(20)):
            await self.woken.wait()
        self.woken.clear()
        message = json.loads(self.feed.message() or "{}")
        return message.get("snapshot", message.get("error"))

    def leave(self) -> None:
        self.watches.leave(self.user_id, self.feed)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def watches(store: Store) -> Iterator[Callable[[], Watches]]:
    """Made inside the test's event loop."""
    reader = Reader(store.read)
    yield lambda: Watches(reader, Hints(reader))
    reader.close()


async def test_tabs_of_an_account_share_reads_and_accounts_do_not(store: Store, watches: Callable[[], Watches]) -> None:
    all_of_them = watches()
    tabs = [Socket(all_of_them) for _ in range(20)]
    assert [await tab.hears() for tab in tabs] == [1] * 20
    assert store.reads == 1
    store.value = 2
    assert [await tab.hears() for tab in tabs] == [2] * 20
    assert store.reads <= 3
    other = Socket(all_of_them, user_id=8)
    assert await other.hears() == 2
    for tab in (*tabs, other):
        tab.leave()
    read = store.reads
    await passes(REFRESH_S)
    assert store.reads <= read + 1, "but for one under way nobody reads for those who have left"


async def test_who_comes_new_or_has_lost_something_waits_for_no_turn(
    store: Store, watches: Callable[[], Watches]
) -> None:
    all_of_them = watches()
    first = Socket(all_of_them, name="overview")
    await first.hears()
    second = Socket(all_of_them, name="overview")
    assert all_of_them._known[second.user_id, "overview"]._schedule.asked
    assert await second.hears() == 1
    all_of_them.again(second.user_id, second.feed)
    assert await second.hears() == 1
    assert not first.woken.is_set(), "it knows"
    first.leave(), second.leave()


async def test_a_hint_of_ones_own_jobs_is_followed_and_of_others_is_not(
    store: Store, watches: Callable[[], Watches]
) -> None:
    all_of_them = watches()
    one = Socket(all_of_them)
    await one.hears()
    watch = all_of_them._known[one.user_id, "jobs"]
    watch.hinted(frozenset({"jobs", "jobs:8", "overview"}))
    assert not watch._schedule.hinted
    watch.hinted(frozenset({"jobs", "jobs:7"}))
    assert watch._schedule.hinted
    store.own = False  # it was granted a queue
    store.value = 2
    assert await one.hears() == 2
    watch.hinted(frozenset({"jobs", "jobs:8"}))
    assert watch._schedule.hinted
    one.leave()


async def test_a_fault_is_told_and_reading_goes_on(store: Store, watches: Callable[[], Watches]) -> None:
    store.fault = True
    one = Socket(watches())
    assert await one.hears() == {"status": FAULT.status, "detail": FAULT.detail}
    store.fault = False
    assert await one.hears() == 1
    one.leave()


async def test_who_has_used_more_than_his_share_is_told_later_while_others_ask(
    store: Store, watches: Callable[[], Watches], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(0.2)
    for module in (watching, reading):
        monkeypatch.setattr(module, "turns", turns)
    all_of_them = watches()
    turns.spent(7, BURST_S + 1)
    turns.asks(8)
    greedy, modest = Socket(all_of_them), Socket(all_of_them, user_id=8)
    assert await modest.hears() == 1
    assert store.reads == 1
    assert not greedy.woken.is_set()
    assert await greedy.hears() == 1, "nobody else asks any more"
    greedy.leave(), modest.leave()
