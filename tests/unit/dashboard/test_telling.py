"""What a socket is told, message by message, as its account's share of the process lets it."""

import asyncio

import pytest

from controlplane.accounts.turns import BURST_S, Turns
from controlplane.dashboard import consumers
from controlplane.dashboard.consumers import LiveConsumer
from controlplane.dashboard.feed import Feed
from controlplane.dashboard.snapshots import TopicSnapshot
from controlplane.dashboard.topics import parse
from tests.patience import until

TOPICS = ("jobs", "overview", "queues")


def test_each_message_of_a_socket_waits_for_its_accounts_share(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        turns, sent = Turns(0.01), list[str]()
        monkeypatch.setattr(consumers, "turns", turns)
        socket = LiveConsumer()
        socket.feeds, socket.woken, socket.user_id = {}, asyncio.Event(), 1

        async def send(text: str) -> None:
            sent.append(text)

        monkeypatch.setattr(socket, "send", send)
        for name in TOPICS:
            topic = parse(name)
            assert topic is not None
            socket.feeds[name] = Feed(topic, socket.woken.set)
        turns.spent(1, BURST_S - consumers.MESSAGE_S / 2)
        turns.asks(2)
        for feed in socket.feeds.values():
            feed.offer(TopicSnapshot("1", b"1"))
        telling = asyncio.create_task(socket._serve())
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(sent) == 1, "the second waits until the first is paid for"
        await until(lambda: len(sent) == len(TOPICS), 20, "all are told in time")
        telling.cancel()
        await asyncio.wait([telling])

    asyncio.run(play())


@pytest.mark.parametrize("said", ['{"ping": 1}', '{"unsubscribe": ["jobs"]}', '{"x": 1}', "[]", None])
def test_messages_that_want_nothing_over_and_over_wait_for_their_accounts_share(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    async def play() -> None:
        now = 1.0
        turns = Turns(0.01, lambda: now)
        monkeypatch.setattr(consumers, "turns", turns)

        def socket_of(user_id: int) -> LiveConsumer:
            made = LiveConsumer()
            made.feeds, made.woken, made.user_id, made.tasks = {}, asyncio.Event(), user_id, [asyncio.Future()]
            made.idle, made.idle_at = 0.0, 0.0
            monkeypatch.setattr(made, "send", lambda text: asyncio.sleep(0))
            return made

        greedy, modest = socket_of(1), socket_of(2)
        turns.spent(1, BURST_S + 1)
        turns.asks(2)
        for _ in range(consumers.IDLE_MOST):  # a page says so much and keeps nobody waiting
            await greedy.receive(said)
        more = [asyncio.create_task(greedy.receive(said)) for _ in range(5)]
        for _ in range(10 * consumers.IDLE_MOST):
            await modest.receive(said)
        assert not any(task.done() for task in more)
        now += 200
        await until(lambda: all(task.done() for task in more), 20, "they are answered when they are paid for")

    asyncio.run(play())
