"""What is followed in one process is read few at a time, what is due first before the rest."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from controlplane.dashboard import reader as module
from controlplane.dashboard.reader import THREADS, Reader
from controlplane.dashboard.snapshots import TopicRefusal, TopicSnapshot
from controlplane.dashboard.topics import Topic, parse
from controlplane.statestore.queries.looks import Look
from tests.patience import stretched, wait_until


class Store:
    """Answers with how many reads were begun; holds them back while ``open`` is not set."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str]] = []
        self.looks: list[Look] = []
        self.open = threading.Event()
        self.open.set()

    def read(self, user_id: int, topic: Topic, look: Look) -> TopicSnapshot:
        self.begun.append((user_id, topic.name))
        self.looks.append(look)
        number = len(self.begun)
        assert self.open.wait(stretched(10))
        return TopicSnapshot(str(number), b"")


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.open.set()


@pytest.fixture
def reader(store: Store) -> Iterator[Reader]:
    made = Reader(store.read)
    yield made
    store.open.set()
    made.close()


def topic(name: str) -> Topic:
    found = parse(name)
    assert found is not None
    return found


JOBS = topic("jobs")


async def begun(store: Store, count: int) -> None:
    await asyncio.to_thread(wait_until, lambda: len(store.begun) >= count, 10, f"{count} reads have begun")


async def test_what_is_due_first_is_read_first_when_all_threads_are_busy(store: Store, reader: Reader) -> None:
    store.open.clear()
    busy = [asyncio.ensure_future(reader.get(user, JOBS)) for user in range(THREADS)]
    await begun(store, THREADS)
    waiting = [asyncio.ensure_future(reader.get(100 + due, JOBS, due=float(due))) for due in (3, 1, 2)]
    given_up = asyncio.ensure_future(reader.get(99, JOBS, due=0.5))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)
    store.open.set()
    await asyncio.gather(*busy, *waiting)
    assert [user for user, _ in store.begun[THREADS:]] == [101, 102, 103]


async def test_a_store_that_answers_nothing_is_told_and_nothing_piles_up(
    store: Store, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_TIMEOUT_S", 0.1)
    store.open.clear()
    for _ in range(3):
        answers = await asyncio.gather(*(reader.get(user, JOBS) for user in range(2 * THREADS)))
        assert {answer.status for answer in answers if isinstance(answer, TopicRefusal)} == {503}
    store.open.set()
    assert isinstance(await reader.get(1, JOBS), TopicSnapshot)
    assert len(store.begun) == THREADS + 1, "what nobody waits for any more is not read"


async def test_reads_look_together_until_a_hint_of_what_many_see(store: Store, reader: Reader) -> None:
    await reader.get(1, JOBS)
    await reader.get(2, JOBS)
    reader.hinted(frozenset({"jobs", "job:7", "jobs:3", "overview"}))
    await reader.get(3, JOBS)
    assert store.looks[0] is store.looks[1] is store.looks[2]
    assert not store.looks[0].holds("accounts", 3), "something of it has changed"
    reader.hinted(frozenset({"policy"}))
    await reader.get(4, JOBS)
    assert store.looks[3] is not store.looks[0]


async def test_what_is_wanted_in_a_moment_is_looked_at_together(store: Store, reader: Reader) -> None:
    await asyncio.gather(reader.get(1, topic("job:7")), reader.get(2, JOBS), reader.get(3, topic("job:8")))
    (look,) = set(store.looks)
    assert look.about == {"accounts": {1, 2, 3}, "jobs": {7, 8}}
    reader.hinted(frozenset({"job:7"}))
    assert not look.holds("jobs", 7) and look.holds("jobs", 8)


async def test_a_fault_is_told_and_the_thread_reads_on(reader: Reader, store: Store) -> None:
    broken = Reader(lambda *_: 1 // 0)  # type: ignore[arg-type,return-value]
    for _ in range(THREADS + 1):
        with pytest.raises(ZeroDivisionError):
            await broken.get(1, JOBS)
    broken.close()
