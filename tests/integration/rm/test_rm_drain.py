"""Nodes that operators take out of service: cordon, drain, maintenance windows, decommission."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from controlplane.statestore.actions import duty, maintenance, nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.errors import Conflict, Gone
from controlplane.statestore.models import (
    AuditEntry,
    Container,
    ContainerHistory,
    JobEvent,
    MaintenanceWindow,
    Node,
    NodeCredential,
    Task,
    TaskGroup,
)
from tests.amounts import amounts
from tests.integration.rm.cluster import Cluster, Leading
from tests.stepped import memory_state
from wire.nodeapi import Register
from wire.states import ContainerReason, ContainerState, JobState, NodeState

TINY = {"resources": {"memory_mib": 64, "vcores_milli": 100}}
SOON_S = 1.0  # so far a test moves the clock for the next look at what has to leave


def node(node_id: int) -> Node:
    return Node.objects.get(pk=node_id)


def spread(job_id: int) -> dict[int, int]:
    """Node -> live containers of the job."""
    found: dict[int, int] = {}
    for node_id in Container.objects.filter(job_id=job_id).values_list("node_id", flat=True):
        found[node_id] = found.get(node_id, 0) + 1
    return found


def turn(cluster: Cluster, leader: Leading, times: int = 1) -> None:
    """The leader and the nodes in turn, a second passing each time."""
    for _ in range(times):
        leader.clock.ahead_s += SOON_S
        leader.round()
        cluster.nodes.step()
        leader.round()


def running(cluster: Cluster, leader: Leading, *groups: dict[str, Any], **job: Any) -> int:
    """A job whose containers all run."""
    cluster.nodes.step()
    leader.round()
    number = cluster.submit(*groups, **job)
    turn(cluster, leader, 2)
    assert set(Container.objects.filter(job_id=number).values_list("state", flat=True)) == {ContainerState.RUNNING}
    return number


def endings(job_id: int) -> list[tuple[int, int]]:
    return list(ContainerHistory.objects.filter(job_id=job_id).order_by("id").values_list("state", "reason"))


def test_a_cordoned_node_takes_nothing_new_and_keeps_what_it_has(cluster: Cluster) -> None:
    leader = cluster.lead()
    first = running(cluster, leader, TINY | {"count": 8})
    held = spread(first)
    assert len(held) == 2
    duty.cordon(SYSTEM, node(cluster.ids[0]), "a noisy fan")
    second = cluster.submit(TINY | {"count": 8})
    turn(cluster, leader, 3)
    assert spread(first) == held, "what runs, runs on"
    assert set(spread(second)) == {cluster.ids[1]}
    duty.uncordon(SYSTEM, node(cluster.ids[0]))
    third = cluster.submit(TINY | {"count": 40})
    turn(cluster, leader)
    assert set(spread(third)) == set(cluster.ids)
    actions = AuditEntry.objects.filter(action__startswith="node.").exclude(action="node.register")
    assert list(actions.order_by("id").values_list("action", flat=True)) == ["node.cordon", "node.uncordon"]


def test_a_job_that_finds_every_node_cordoned_waits_and_starts_with_the_first_that_is_back(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    for each in cluster.ids:
        duty.cordon(SYSTEM, node(each))
    job = cluster.submit(TINY)
    turn(cluster, leader)
    assert cluster.job(job).state == JobState.ADMITTED
    duty.uncordon(SYSTEM, node(cluster.ids[1]))
    turn(cluster, leader)
    assert spread(job) == {cluster.ids[1]: 1}


def test_a_drain_moves_services_at_once_and_never_below_half(cluster: Cluster) -> None:
    leader = cluster.lead()
    service = running(cluster, leader, TINY | {"count": 6}, kind="service")
    here = spread(service)[cluster.ids[0]]
    assert here == 3
    duty.drain(SYSTEM, node(cluster.ids[0]), 3600, "new disks")
    lowest = 6
    for _ in range(8):
        leader.clock.ahead_s += SOON_S
        leader.round()
        wanted = np.flatnonzero(leader.memory.containers.live).tolist()
        serving = sum(
            leader.memory.containers.state[s] == ContainerState.RUNNING and leader.memory.containers.want[s] == 1
            for s in wanted
        )
        lowest = min(lowest, serving)
        cluster.nodes.step()
    assert lowest == 3, "half of it serves at every moment"
    assert spread(service) == {cluster.ids[1]: 6}
    assert endings(service) == [(ContainerState.KILLED, ContainerReason.DRAINED)] * 3
    rows = Task.objects.filter(job_id=service)
    assert {(r.failures, r.attempts) for r in rows} == {(0, 1)}, "blameless, and not held back"
    told = list(JobEvent.objects.filter(job_id=service, kind="drain").values_list("message", flat=True))
    assert (
        len(told) == 1 and "stopped, to start again where there is room: node n0 is being drained: new disks" in told[0]
    )


def test_a_service_larger_than_the_move_it_may_make_moves_in_steps(cluster: Cluster) -> None:
    leader = cluster.lead()
    for each in cluster.ids[1:]:
        duty.cordon(SYSTEM, node(each))
    service = running(cluster, leader, TINY | {"count": 5}, kind="service")
    assert spread(service) == {cluster.ids[0]: 5}
    for each in cluster.ids[1:]:
        duty.uncordon(SYSTEM, node(each))
    duty.drain(SYSTEM, node(cluster.ids[0]), 3600)
    leader.clock.ahead_s += SOON_S
    leader.round()
    assert int((leader.memory.containers.want[leader.memory.containers.live] == 2).sum()) == 2
    leader.clock.ahead_s += SOON_S
    leader.round()
    assert int((leader.memory.containers.want[leader.memory.containers.live] == 2).sum()) == 2, "not again"
    turn(cluster, leader, 12)
    assert spread(service) == {cluster.ids[1]: 5}


def test_a_service_of_one_moves_although_it_is_away_for_a_moment(cluster: Cluster) -> None:
    leader = cluster.lead()
    service = running(cluster, leader, TINY, kind="service")
    (at,) = spread(service)
    duty.drain(SYSTEM, node(at), None)
    turn(cluster, leader, 3)
    (now,) = spread(service)
    assert now != at


def test_batch_tasks_end_by_themselves_until_the_deadline_and_are_then_tried_again(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader, TINY | {"count": 4, "retries": 0})
    assert spread(job) == dict.fromkeys(cluster.ids, 2)
    duty.drain(SYSTEM, node(cluster.ids[0]), 60)
    turn(cluster, leader, 3)
    assert spread(job) == dict.fromkeys(cluster.ids, 2), "the deadline is not there yet"
    leader.clock.ahead_s += 60
    turn(cluster, leader, 3)
    assert spread(job) == {cluster.ids[1]: 4}
    assert endings(job) == [(ContainerState.KILLED, ContainerReason.DRAINED)] * 2
    cluster.play(leader, job)
    assert cluster.job(job).state == JobState.SUCCEEDED, "no retry was used up"


def test_a_drain_survives_a_take_over(cluster: Cluster) -> None:
    leader = cluster.lead()
    service = running(cluster, leader, TINY | {"count": 4}, kind="service")
    batch = running(cluster, leader, TINY | {"count": 4})
    duty.drain(SYSTEM, node(cluster.ids[0]), 300)
    leader.clock.ahead_s += SOON_S
    leader.round()  # the first of the service's tasks are asked to stop; nobody has heard of it yet
    assert memory_state(leader.memory)["containers"].keys() == memory_state(leader.rebuilt())["containers"].keys()
    leader.close()
    cluster.leaders.remove(leader)
    successor = cluster.lead()
    turn(cluster, successor, 6)
    assert spread(service) == {cluster.ids[1]: 4}
    assert spread(batch)[cluster.ids[0]] == 2
    successor.clock.ahead_s += 300
    turn(cluster, successor, 3)
    assert spread(batch) == {cluster.ids[1]: 4}
    assert {reason for _, reason in endings(service) + endings(batch)} == {ContainerReason.DRAINED}


def test_a_killed_job_on_a_drained_node_was_not_drained(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader, TINY | {"count": 2})
    for each in cluster.ids:
        duty.drain(SYSTEM, node(each), 3600)
    cluster.kill(job)
    turn(cluster, leader, 2)
    assert {reason for _, reason in endings(job)} == {ContainerReason.STOPPED}


def window(cluster: Cluster, starts_s: float, ends_s: float, lead_s: int = 600, **which: str) -> MaintenanceWindow:
    now = timezone.now()
    values = {"node": "", "rack": "", "labels": "", "message": "firmware"} | which
    new = maintenance.NewWindow(
        starts_at=now + dt.timedelta(seconds=starts_s),
        ends_at=now + dt.timedelta(seconds=ends_s),
        lead_s=lead_s,
        **values,
    )
    return maintenance.add(SYSTEM, cluster.sub, new)


@pytest.mark.parametrize("which", [{"node": "n0"}, {"labels": "name in (n0, n7)"}])
def test_a_maintenance_window_comes_and_goes_by_itself(cluster: Cluster, which: dict[str, str]) -> None:
    leader = cluster.lead()
    service = running(cluster, leader, TINY | {"count": 2}, kind="service")
    batch = running(cluster, leader, TINY | {"count": 2})
    window(cluster, 1000, 2000, 300, **which)
    turn(cluster, leader, 2)
    assert spread(service) == spread(batch) == dict.fromkeys(cluster.ids, 1), "it is far away"
    leader.clock.ahead_s += 700
    turn(cluster, leader, 4)
    assert spread(service) == {cluster.ids[1]: 2}, "services move from the lead time on"
    assert spread(batch) == dict.fromkeys(cluster.ids, 1)
    late = cluster.submit(TINY | {"count": 4})
    turn(cluster, leader, 1)
    assert set(spread(late)) == {cluster.ids[1]}
    leader.clock.ahead_s += 300
    turn(cluster, leader, 3)
    assert spread(batch) == {cluster.ids[1]: 2}, "nothing is left when it begins"
    message = JobEvent.objects.filter(job_id=batch, kind="drain").values_list("message", flat=True)
    assert "node n0 is being emptied for maintenance: firmware" in message[0]
    leader.clock.ahead_s += 1000
    again = cluster.submit(TINY | {"count": 40})
    turn(cluster, leader, 1)
    assert set(spread(again)) == set(cluster.ids)


def test_what_would_run_into_a_window_is_placed_elsewhere_or_waits(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    window(cluster, 1000, 2000, 300, node="n0")
    short, long = (cluster.submit(TINY | {"count": 8, "estimated_duration_s": s}) for s in (500, 1500))
    unknown = cluster.submit(TINY | {"count": 8})
    turn(cluster, leader)
    assert set(spread(short)) == set(cluster.ids)
    assert cluster.ids[0] in spread(unknown)
    assert set(spread(long)) == {cluster.ids[1]}
    other = window(cluster, 1200, 2000, 300, node="n1")
    waits, fits = (cluster.submit(TINY | {"estimated_duration_s": s}) for s in (1500, 1050))
    turn(cluster, leader)
    assert not spread(waits)
    (reason,) = TaskGroup.objects.filter(job_id=waits).values_list("reason", flat=True)
    assert "maintenance" in reason["text"]
    assert set(spread(fits)) == {cluster.ids[1]}
    maintenance.cancel(SYSTEM, other)
    turn(cluster, leader)
    assert set(spread(waits)) == {cluster.ids[1]}


def test_a_window_of_a_rack_in_force_at_a_take_over_and_cancelled(cluster: Cluster) -> None:
    row = window(cluster, -10, 3600, rack="r")
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit(TINY)
    turn(cluster, leader)
    assert cluster.job(job).state == JobState.ADMITTED, "every node is in that rack"
    maintenance.cancel(SYSTEM, row)
    turn(cluster, leader)
    assert cluster.job(job).state == JobState.RUNNING
    cluster.play(leader, job)


def test_a_decommissioned_node_leaves_once_it_is_empty_and_stays_away(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader, TINY | {"count": 4})
    gone = cluster.ids[0]
    duty.decommission(SYSTEM, node(gone), 60)
    assert duty.retire() == [], "its RM has not heard of it"
    turn(cluster, leader, 2)
    assert duty.retire() == [], "something runs there"
    leader.clock.ahead_s += 60
    turn(cluster, leader, 3)
    assert spread(job) == {cluster.ids[1]: 4}
    assert duty.retire() == ["n0"] and duty.retire() == []
    turn(cluster, leader)
    assert node(gone).state == NodeState.DECOMMISSIONED
    assert NodeCredential.objects.get(node_id=gone).revoked_at is not None
    assert leader.memory.capacity(np.array([leader.memory.nodes.index[i] for i in cluster.ids])).tolist() == [
        *amounts(4096, 4000, 2)
    ]
    assert ContainerHistory.objects.filter(node_id=gone).count() == 2, "its history stays"
    _, secret = nodes.new_join_token(SYSTEM, cluster.sub, node="n0")
    with pytest.raises(Gone, match="uncordon n0"):
        nodes.register(Register(secret, "n0", "r", 4096, 4000))
    with pytest.raises(Conflict):
        duty.drain(SYSTEM, node(gone), None)
    duty.uncordon(SYSTEM, node(gone))
    assert nodes.register(Register(secret, "n0", "r", 4096, 4000)).node_id == gone
    turn(cluster, leader)
    assert node(gone).state == NodeState.REGISTERED or node(gone).state == NodeState.UP
