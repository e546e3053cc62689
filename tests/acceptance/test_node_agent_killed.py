"""Node manager kill -9: what runs goes on, and the truth about what ended is told."""

import os
import random
import signal

import pytest

from tests.acceptance.cluster import Cluster, Start
from tests.patience import lasting, let_pass, wait_until

pytestmark = pytest.mark.faults


def came_up(cluster: Cluster, name: str) -> int:
    """How often this node's agent has taken its containers over and begun to work."""
    return cluster.stack.log(name).count('"event": "ready"')


def killed(cluster: Cluster, name: str, pid: int) -> None:
    """Kill -9 and wait until a new agent works and was heard: kill upon kill unheard would be one long silence."""
    before, said = came_up(cluster, name), cluster.status(name)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: came_up(cluster, name) > before, 20, f"{name} works again")
    wait_until(lambda: cluster.status(name) != said, 20, f"{name} has reported")
    wait_until(lambda: cluster.node_state(name) == 1, 20, f"{name} is up")


def still(starts: list[Start], cluster: Cluster) -> None:
    """The same processes and no others."""
    assert all(start.alive for start in starts), cluster.sql("SELECT id, reason FROM statestore_container_history")
    known = {start.number for start in starts}
    assert [s for s in cluster.starts() if s.number in known] == starts, "something was started again"


def test_ten_kills_change_no_process(cluster: Cluster):
    job = cluster.task_job("lasting", cluster.gate("lasting") + "exit 0", count=6)
    starts = cluster.started(job, 6)
    victim = starts[0].node
    for _ in range(10):
        killed(cluster, victim, cluster.stack.pid(victim))
        still(starts, cluster)
    cluster.open_gate("lasting")
    cluster.settled(job)
    assert {c.attempt for c in cluster.tenant.containers(job.id)} == {1}


@pytest.mark.soak
def test_kills_for_five_minutes(cluster: Cluster, soak: bool):
    if not soak:
        pytest.skip("the long variant runs with --soak")
    job = cluster.task_job("enduring", cluster.gate("enduring") + "exit 0", count=6)
    starts = cluster.started(job, 6)
    for _ in lasting(300):
        cluster.stack.kill(random.choice(starts).node)
        let_pass(random.uniform(1.5, 7.5))
        still(starts, cluster)
        wait_until(lambda: all(cluster.stack.pid(s.node) for s in starts), 20, "the agents run")
    cluster.open_gate("enduring")
    cluster.settled(job)
    assert len(cluster.starts(job)) == 6


def test_what_ended_without_an_agent_keeps_its_exit_code_and_output(cluster: Cluster):
    """The agent is stopped while its tasks end, and killed before it can see that."""
    gate, outputs = cluster.gate("unseen"), [{"name": "out", "path": "out"}]
    good = cluster.task_job("unseen-good", gate + "echo result > out; exit 0", outputs=outputs)
    bad = cluster.task_job("unseen-bad", gate + "echo last words; exit 3", outputs=outputs)
    starts = cluster.started(good, 1) + cluster.started(bad, 1)
    for job in (good, bad):
        wait_until(lambda job=job: [row[4] for row in cluster.live(job)] == [2], 20, "it is known to run")
    agents = {node: cluster.stack.kill(node, signal.SIGSTOP) for node in {start.node for start in starts}}
    cluster.open_gate("unseen")
    wait_until(lambda: not any(start.alive for start in starts), 10, "they have ended unseen")
    for name, pid in agents.items():
        killed(cluster, name, pid)
    cluster.settled(good, 30)
    assert [o.name for o in cluster.tenant.outputs(good.id)] == ["out"]
    assert "exit status 3" in cluster.settled(bad, 30, "FAILED").message
    (end,) = cluster.tenant.containers(bad.id)
    assert (end.state, end.exit_code) == ("FAILED", 3)
    assert "".join(p.data for p in cluster.tenant.logs(end.id, follow=True)) == "last words\n"
    assert not list(cluster.tenant.outputs(bad.id))


@pytest.mark.parametrize("damage", ["half", "empty", "garbage", "gone"])
def test_damaged_local_state_stops_nothing(cluster: Cluster, damage: str):
    job = cluster.task_job("kept", cluster.gate(f"kept-{damage}") + "exit 5", count=1)
    starts = cluster.started(job, 1)
    victim = starts[0].node
    wait_until(lambda: all(row[4] == 2 for row in cluster.live(job)), 20, "it is known to run")
    before = cluster.stack.kill(victim, signal.SIGSTOP)
    path = cluster.stack.home.nodes / victim / "state.json"
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"half": whole[: len(whole) // 2], "empty": b"", "garbage": os.urandom(400)}[damage])
    killed(cluster, victim, before)
    still(starts, cluster)
    if damage != "gone":
        assert "damaged" in cluster.stack.log(victim)
    cluster.open_gate(f"kept-{damage}")
    ended = cluster.settled(job, 30, "FAILED")
    assert "exit status 5" in ended.message
    assert len(cluster.starts(job)) == 1
