"""Leader, web and a node hold still for a minute, all at once, and wake in a cluster that has gone on without them."""

import time

import pytest

from client import HydraError
from tests.acceptance.cluster import Cluster
from tests.limits import within
from tests.patience import let_pass, wait_until
from wire.states import NodeState

pytestmark = pytest.mark.faults

PAUSE_S = 60.0


def test_a_minute_in_which_leader_web_and_a_node_hold_still(cluster: Cluster):
    before = len(cluster.starts())
    job = cluster.task_job("held", cluster.gate("held") + "exit 0", count=5)
    starts = cluster.started(job, 5)
    victim = starts[0].node
    stale = [start for start in starts if start.node == victim]
    for worker in ("worker-a", "worker-b"):
        wait_until(lambda worker=worker: cluster.stack.ready(worker), 30, f"{worker} runs")
    epoch, holder = cluster.led()
    with cluster.frozen(holder), cluster.frozen(victim), cluster.frozen("web"):
        began = time.monotonic()
        within(10, lambda: cluster.leader()[0] > epoch, "leader stopped: a standby leads")
        wait_until(lambda: cluster.node_state(victim) == NodeState.LOST, 30, "LOST, by the next leader")
        wait_until(lambda: len(cluster.starts()) == before + 5 + len(stale), 30, "its work runs elsewhere")
        assert all(start.alive for start in starts), "its supervisor and its containers have not been stopped"
        let_pass(max(0.0, PAUSE_S - (time.monotonic() - began)))  # the pause itself
    within(10, lambda: answers(cluster), "web paused for a minute: it answers")
    within(10, lambda: cluster.node_state(victim) == NodeState.UP, "node paused for a minute: UP")
    within(10, lambda: not any(s.alive for s in stale), "node paused for a minute: its stale containers are dead")
    assert all(start.alive for start in starts if start.node != victim)
    cluster.open_gate("held")
    cluster.settled(job)
    assert len(cluster.starts(job)) == 5 + len(stale), "nothing was started a third time"
    cluster.settled(cluster.task_job("after", "true", count=6))


def answers(cluster: Cluster) -> bool:
    try:
        return cluster.tenant.overview() is not None
    except HydraError:
        return False
