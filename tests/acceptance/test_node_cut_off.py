"""A node whose network is gone, and what happens when it comes back with everything still running."""

import pytest

from tests.acceptance.cluster import Cluster
from tests.limits import limit, within
from tests.patience import wait_until
from wire import status
from wire.states import ContainerReason, ContainerState, NodeState

pytestmark = pytest.mark.faults

GRACE_S = 1
HEARTBEAT_S = 1


def told_lost(cluster: Cluster, name: str) -> int:
    """How often the RM has said that this node is lost."""
    return sum("nodes lost" in line and f"'{name}'" in line for line in cluster.worker_logs().splitlines())


def test_a_cut_off_node_is_lost_once_and_its_work_placed_again(cluster: Cluster):
    job = cluster.task_job("portable", cluster.gate("portable") + "exit 0", count=5)
    starts = cluster.started(job, 5)
    victim = starts[0].node
    moved = {s.index for s in starts if s.node == victim}
    before = told_lost(cluster, victim)
    with cluster.cut_off(victim):
        with limit("node cut off: its work runs elsewhere", 15):
            within(10, lambda: cluster.node_state(victim) == NodeState.LOST, "node cut off: LOST")
            cluster.started(job, 5 + len(moved), 15)
        again = cluster.starts(job)[5:]
        assert {s.index for s in again} == moved
        assert victim not in {s.node for s in again}
        assert {s.attempt for s in again} == {2}
        capacity = cluster.tenant.overview()
        assert capacity is not None
        assert told_lost(cluster, victim) == before + 1
    wait_until(lambda: cluster.node_state(victim) == NodeState.UP, 20, "it is up again")
    cluster.open_gate("portable")
    cluster.settled(job)
    assert told_lost(cluster, victim) == before + 1
    lost = cluster.sql(
        "SELECT id, state, reason FROM statestore_container_history WHERE job_id = %s AND state = %s",
        job.id,
        ContainerState.LOST,
    )
    assert len(lost) == len(moved) and {row[2] for row in lost} == {ContainerReason.NODE_LOST}


def test_the_capacity_of_a_lost_node_is_gone_and_returns(cluster: Cluster):
    def capacity() -> float:
        return sum(s.capacity.vcores_milli for s in cluster.tenant.sub_clusters())

    whole = capacity()
    with cluster.cut_off("east-3"):
        wait_until(lambda: cluster.node_state("east-3") == NodeState.LOST, 12, "LOST")
        wait_until(lambda: capacity() < whole, 5, "its capacity is gone")
    wait_until(lambda: capacity() == whole, 15, "its capacity is back")


def test_a_node_that_returns_with_replaced_containers_publishes_nothing(cluster: Cluster):
    """On the cut node one old attempt goes on running and one ends well; both have been replaced."""
    wait = cluster.gate("attempts-1") + '[ "$HYDRA_TASK_INDEX" != 1 ] || sleep 300; '
    script = 'echo "$HYDRA_ATTEMPT" > out; [ "$HYDRA_ATTEMPT" != 1 ] || { ' + wait + "}"
    spec = cluster.spec("twice", script, count=2, outputs=[{"name": "out", "path": "out"}])
    whole = int(next(cluster.tenant.nodes()).capacity.vcores_milli)
    fill = cluster.task_job(
        "fill", cluster.gate("refill"), count=2, resources={"memory_mib": 64, "vcores_milli": whole}
    )
    cluster.started(fill, 2)  # so that both attempts start on the third node, which will be cut off
    job = cluster.submit(spec)
    starts = cluster.started(job, 2)
    (victim,) = {start.node for start in starts}
    cluster.open_gate("refill")
    wait_until(lambda: all(row[4] == 2 for row in cluster.live(job)), 20, "both are known to run")
    with cluster.cut_off(victim):
        cluster.settled(job, 30)
        cluster.open_gate("attempts-1")
        by_index = {s.index: s for s in starts}
        wait_until(lambda: not by_index[0].alive, 10, "the old attempt of task 0 has ended well, unseen")
        assert by_index[1].alive
    within(
        2 * HEARTBEAT_S + GRACE_S + 5, lambda: cluster.node_state(victim) == NodeState.UP, "cut-off node returns: UP"
    )
    within(
        2 * HEARTBEAT_S + GRACE_S, lambda: not by_index[1].alive, "cut-off node returns: its stale containers are dead"
    )
    old = {start.number for start in starts}  # the late output is refused, or given up because the attempt is to stop
    wait_until(lambda: not old & told(cluster, victim), 20, "it has nothing left of the old attempts")
    outputs = {o.index: o for o in cluster.tenant.outputs(job.id)}
    assert sorted(outputs) == [0, 1]
    rows = cluster.sql("SELECT task_index, container_id FROM statestore_taskoutput WHERE job_id = %s", job.id)
    assert sorted(row[0] for row in rows) == [0, 1], "one published output per task"
    for index, output in outputs.items():
        target = cluster.tenant.download(output.digest, cluster.stack.home.run / f"out-{index}")
        assert target.read_text() == "2\n"


def told(cluster: Cluster, node: str) -> set[int]:
    """The containers that this node's last report speaks of."""
    return {c.container_id for c in status.decode(cluster.status(node) or b"").containers}
