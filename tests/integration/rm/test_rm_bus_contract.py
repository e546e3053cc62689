"""What every Bus promises its leader, over Valkey and in memory alike."""

import pytest
import redis
from django.conf import settings

from controlplane.rm.driver import reaper
from controlplane.rm.ports import Bus, BusDown, Fenced
from controlplane.statestore import bus as webs
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.ports import Behind, InMemory, Real
from tests.patience import stretched
from wire import keys


@pytest.fixture(params=[pytest.param("valkey", marks=pytest.mark.django_db(transaction=True)), "memory"])
def behind(request: pytest.FixtureRequest) -> Behind:
    return Real(request.getfixturevalue("cluster")) if request.param == "valkey" else InMemory()


def replaced(behind: Behind) -> tuple[Bus, Bus]:
    """Of a leader, and of the one that has taken over from it."""
    first = behind.west.lead().bus
    behind.west.expire()
    return first, behind.west.lead().bus


def test_who_has_news_is_told_once(behind: Behind) -> None:
    bus, (one, other) = behind.west.lead().bus, behind.west.ids
    bus.wait(0.001)
    assert bus.wait(0.001) == set()
    behind.tell(behind.west, one, b"first")
    behind.tell(behind.west, other, b"other")
    behind.tell(behind.west, one, b"second")
    assert bus.statuses([other, one, 10**9]) == [b"other", b"second", None]
    assert bus.wait(stretched(1.0)) == {str(one), str(other)}
    assert bus.wait(0.001) == set()
    assert bus.statuses([one]) == [b"second"], "a status stays"


@pytest.mark.django_db(transaction=True)
def test_a_dirty_set_that_is_none_heals(cluster: Cluster) -> None:
    behind = Real(cluster)
    leader, node = behind.west.lead(), behind.west.ids[0]
    leader.bus.wait(0.001)
    redis.Redis.from_url(settings.REDIS_URL).set(keys.dirty(leader.rounds.sub), b"wrecked")
    webs.wake([leader.rounds.sub])
    assert webs.breaker.open(), "one key is no reason to leave Redis alone"
    assert leader.bus.wait(0.001) == {keys.INTENTS, keys.SHARES}, "look at everything"
    behind.tell(behind.west, node, b"status")
    assert leader.bus.wait(stretched(1.0)) == {str(node)}


def test_others_are_woken(behind: Behind) -> None:
    west, east = behind.west.lead(), behind.east.lead()
    for leader in (west, east):
        leader.bus.wait(0.001)
    west.bus.wake([east.rounds.sub])
    west.bus.wake([])
    assert (west.bus.wait(0.001), east.bus.wait(stretched(1.0))) == (set(), {keys.INTENTS})


def test_documents_of_a_leader_that_was_replaced_are_refused(behind: Behind) -> None:
    (first, second), (node, other) = replaced(behind), behind.west.ids
    first.publish({node: b"one", other: b"one"}, {})
    assert first.publish({node: b"two"}, {b"d" * 32: b"template"})
    assert second.publish({node: b"three"}, {})
    for refused in (lambda: first.publish({node: b"four", other: b"four"}, {}), lambda: first.announce_policy(1)):
        with pytest.raises(Fenced):
            refused()
    assert [behind.document(behind.west, at) for at in (node, other)] == [b"three", b"one"]
    assert second.publish({}, {})


def test_the_word_of_a_policy_alone_refuses_who_was_replaced(behind: Behind) -> None:
    (first, second), node = replaced(behind), behind.west.ids[0]
    first.publish({node: b"one"}, {})
    second.announce_policy(1)
    with pytest.raises(Fenced):
        first.publish({node: b"two"}, {})
    assert behind.document(behind.west, node) == b"one"


def test_whoever_publishes_learns_that_all_was_lost(behind: Behind) -> None:
    bus, node = behind.west.lead().bus, behind.west.ids[0]
    assert not bus.publish({node: b"one"}, {}), "nothing was ever there"
    assert bus.publish({node: b"two"}, {})
    behind.flush(behind.west)
    bus.announce_policy(1)
    assert not bus.publish({node: b"three"}, {}), "the announcement does not hide it"
    assert bus.publish({}, {})
    assert behind.document(behind.west, node) == b"three"


def test_each_sub_cluster_has_what_is_its_own(behind: Behind) -> None:
    west, east, node = behind.west.lead().bus, behind.east.lead().bus, behind.west.ids[0]
    west.publish({node: b"document"}, {})
    behind.tell(behind.west, node, b"status")
    assert behind.document(behind.east, node) is None
    assert east.statuses([node]) == [None]


def test_a_redis_that_takes_no_writes_still_answers_and_the_probe_tells(behind: Behind) -> None:
    leader, node = behind.west.lead(), behind.west.ids[0]
    behind.tell(behind.west, node, b"before")
    leader.bus.probe()
    leader.bus.publish({}, {b"e" * 32: b"template"})
    behind.fill(True)
    try:
        leader.bus.withdraw_templates([b"e" * 32])
        assert behind.templates(behind.west) == 0
        assert leader.bus.statuses([node]) == [b"before"]
        for refused in (leader.bus.probe, lambda: leader.bus.publish({node: b"document"}, {b"d" * 32: b"template"})):
            with pytest.raises(BusDown):
                refused()
        with pytest.raises(BusDown):
            reaper.reports(leader.bus, leader.rounds.clock, [node], 0.1)
    finally:
        behind.fill(False)
    leader.bus.probe()


def test_who_was_replaced_withdraws_no_template(behind: Behind) -> None:
    first, second = replaced(behind)
    first.publish({}, {b"a" * 32: b"one", b"b" * 32: b"two"})
    second.publish({}, {})
    with pytest.raises(Fenced):
        first.withdraw_templates([b"a" * 32])
    assert behind.templates(behind.west) == 2
    second.withdraw_templates([b"a" * 32, b"unknown".ljust(32)])
    assert behind.templates(behind.west) == 1
