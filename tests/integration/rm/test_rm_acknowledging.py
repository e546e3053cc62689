"""Few starts and ends are told at once; many when they have lasted, or with the nodes' next documents."""

import pytest

from controlplane.rm.steps.collect import STARTS_AT_ONCE, YOUNG_MS
from controlplane.rm.steps.outcome import ACKNOWLEDGE_US, ENDS_AT_ONCE
from tests.integration.rm.cluster import Cluster
from wire.states import ContainerState

SMALL = {"resources": {"memory_mib": 16, "vcores_milli": 10}}


def test_many_ends_are_acknowledged_together_within_a_second(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    count = ENDS_AT_ONCE + 40
    job = cluster.submit({"count": count, **SMALL})
    assert leader.round().placed == count
    cluster.nodes.step()
    leader.round()
    few = set(list(cluster.nodes.all_held())[:10])
    cluster.nodes.finish(ids=few)
    cluster.nodes.step()
    assert leader.round().ended == len(few)
    cluster.nodes.step()
    assert not few & set(cluster.nodes.all_held()), "a few ends are acknowledged in the round that hears of them"
    cluster.nodes.finish()
    cluster.nodes.step()
    assert leader.round().ended == count - len(few)
    cluster.nodes.step()
    assert len(cluster.nodes.all_held()) == count - len(few), "nobody waits for these acknowledgements"
    due = leader.rounds.next_due_s()
    assert due is not None and 0 < due <= ACKNOWLEDGE_US / 1e6, "yet they come without anything else happening"
    leader.clock.ahead_s += due + 0.01
    assert leader.round().ended == 0
    cluster.nodes.step()
    assert cluster.nodes.all_held() == {}
    cluster.play(leader, job, rounds=2)


def test_acknowledgements_ride_on_the_next_document(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    count = ENDS_AT_ONCE + 10
    cluster.submit({"count": count, **SMALL})
    leader.round()
    cluster.nodes.step()
    cluster.nodes.finish()
    cluster.nodes.step()
    later = cluster.submit({"count": 2 * len(cluster.ids), **SMALL})
    report = leader.round()
    assert (report.ended, report.placed) == (count, 2 * len(cluster.ids))
    cluster.nodes.step()
    assert len(cluster.nodes.all_held()) == 2 * len(cluster.ids), "only the new ones are left"
    cluster.play(leader, later)


@pytest.mark.parametrize(
    ("kind", "count", "at_once"),
    [("batch", STARTS_AT_ONCE, True), ("batch", STARTS_AT_ONCE + 9, False), ("service", STARTS_AT_ONCE + 9, True)],
)
def test_many_starts_of_bulk_containers_are_written_when_they_have_lasted(
    cluster: Cluster, kind: str, count: int, at_once: bool
) -> None:
    running = f"SELECT count(started_at) FROM statestore_container WHERE state = {int(ContainerState.RUNNING)}"
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    cluster.submit({"count": count, **SMALL}, kind=kind)
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert cluster.one(running) == (count if at_once else 0)
    cluster.nodes.containers.began -= YOUNG_MS / 1000
    leader.clock.ahead_s += YOUNG_MS / 1000
    cluster.nodes.step()
    leader.round()
    assert cluster.one(running) == count
    began = "SELECT min(extract(epoch FROM clock_timestamp() - started_at)) FROM statestore_container"
    assert cluster.one(began) < 60


def test_of_short_containers_the_end_tells_the_start(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    count = STARTS_AT_ONCE + 9
    job = cluster.submit({"count": count, **SMALL})
    leader.round()
    cluster.nodes.step()
    leader.round()
    cluster.nodes.finish()
    cluster.nodes.step()
    assert leader.round().ended == count
    assert cluster.one("SELECT count(started_at) FROM statestore_container_history") == count
    cluster.play(leader, job, rounds=2)
