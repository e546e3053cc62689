"""What a socket is told of a topic: what it does not know yet, once, and the newest only."""

import json

from controlplane.dashboard.feed import Feed
from controlplane.dashboard.snapshots import TopicRefusal, TopicSnapshot
from controlplane.dashboard.topics import parse

AWAY, HERE, THERE = TopicRefusal(503, "The store is away."), TopicSnapshot("1", b"1"), TopicSnapshot("2", b"2")


class Socket:
    """A feed and how often it was woken."""

    def __init__(self) -> None:
        topic = parse("jobs")
        assert topic is not None
        self.woken = 0
        self.feed = Feed(topic, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def told(self, *results: TopicSnapshot | TopicRefusal) -> object:
        for result in results:
            self.feed.offer(result)
        message = self.feed.message()
        return None if message is None else {k: v for k, v in json.loads(message).items() if k != "topic"}


def test_what_is_known_wakes_nobody() -> None:
    one = Socket()
    assert one.told(HERE) == {"seq": 1, "snapshot": 1}
    assert one.told(TopicSnapshot("1", b"1")) is None and one.woken == 1
    assert one.told(THERE) == {"seq": 2, "snapshot": 2} and one.told() is None


def test_of_what_came_while_it_was_sending_only_the_newest_is_sent() -> None:
    one = Socket()
    one.told(HERE)
    assert one.told(THERE, TopicSnapshot("3", b"3")) == {"seq": 2, "snapshot": 3}
    assert one.told(HERE, TopicSnapshot("3", b"3")) is None, "it is as it was"


def test_a_refusal_is_told_once_and_what_comes_after_it_is_new() -> None:
    one = Socket()
    one.told(HERE)
    assert one.told(AWAY) == {"error": {"status": 503, "detail": "The store is away."}}
    assert one.told(TopicRefusal(503, "The store is away.")) is None
    assert one.told(HERE) == {"seq": 2, "snapshot": 1}


def test_who_has_lost_something_is_told_what_it_was_told_before() -> None:
    one = Socket()
    one.told(HERE)
    one.feed.force = True
    assert one.told(HERE) == {"seq": 2, "snapshot": 1} and one.told(HERE) is None
