"""Agents and supervisors die; containers and the truth about them do not."""

import os
import signal
from pathlib import Path

import pytest

from tests import seeds
from tests.integration.nodemanager.plane import NodeProcess, Plane, wait_for
from tests.limits import no_sooner
from tests.machine import FACTOR
from tests.patience import lasting, let_pass
from tests.processes import alive
from wire.states import ContainerReason, ContainerState, NodeHealth

HEARD_WITHIN_S = 5.0  # of an agent, else its containers end: longer than a busy machine keeps one waiting


@pytest.mark.faults
def test_a_killed_agent_adopts_the_same_processes_ten_times(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "echo started; while [ ! -e go ]; do sleep 0.05; done; exit 7"])
    plane.in_state(cid, ContainerState.RUNNING)
    pid = node.pid_of(cid)
    for _ in range(10):
        node.kill()
        node.start()
        assert plane.reports()[cid].state == ContainerState.RUNNING
        assert alive(pid)
    assert node.pid_of(cid) == pid
    (node.container(cid) / "work" / "go").touch()
    assert plane.ended(cid).exit_code == 7
    wait_for(lambda: plane.log(cid) == b"started\n", "its output arrives")
    assert len(plane.registrations) == 1


@pytest.mark.skipif(not seeds.SOAK, reason="the long variants run with --soak")
@pytest.mark.timeout(420 * FACTOR)
def test_an_agent_killed_at_random_for_five_minutes_loses_nothing(plane: Plane, node: NodeProcess) -> None:
    random = seeds.drawn(3)
    stays = plane.add(["sleep", "600"])
    plane.in_state(stays, ContainerState.RUNNING)
    pid, codes = node.pid_of(stays), {}
    for _ in lasting(300):
        code = random.randrange(1, 100)
        codes[plane.add(["sh", "-c", f"sleep {random.uniform(0, 4):.2f}; exit {code}"])] = code
        let_pass(random.uniform(1.5, 7.5))
        node.kill()
        node.start()
    assert node.pid_of(stays) == pid
    for cid, code in codes.items():
        assert plane.ended(cid).exit_code == code


def test_a_task_that_ends_without_an_agent_keeps_its_true_exit_code(plane: Plane, node: NodeProcess) -> None:
    bad = plane.add(["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; echo last words; exit 9"])
    good = plane.add(["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done"])
    for cid in (bad, good):
        plane.in_state(cid, ContainerState.RUNNING)
    node.kill()
    for cid in (bad, good):
        (node.container(cid) / "work" / "go").touch()
        wait_for(lambda cid=cid: (node.container(cid) / "exit.json").exists(), "it ends unattended")
    node.start()
    report = plane.ended(bad)
    assert (report.reason, report.exit_code) == (ContainerReason.EXIT_CODE, 9)
    assert plane.ended(good).state == ContainerState.SUCCEEDED
    wait_for(lambda: plane.log(bad) == b"last words\n", "its last words arrive")


def test_damaged_state_stops_nothing_and_is_said(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"])
    plane.in_state(cid, ContainerState.RUNNING)
    pid = node.pid_of(cid)
    whole = (node.folder / "state.json").read_bytes()
    for damage in (whole[: len(whole) // 2], b"", os.urandom(300), b'{"version": 1, "session": 5}', b"[]"):
        node.kill()
        (node.folder / "state.json").write_bytes(damage)
        node.start()
        plane.in_state(cid, ContainerState.RUNNING)
        assert alive(pid)
        assert node.pid_of(cid) == pid
    assert "damaged" in node.log()
    plane.drop(cid)
    wait_for(lambda: not alive(pid), "a complete document that omits it stops it")


def test_a_killed_supervisor_is_replaced_and_its_tasks_are_followed(plane: Plane, node: NodeProcess) -> None:
    stays = plane.add(["sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 4"])
    plane.in_state(stays, ContainerState.RUNNING)
    wait_for(lambda: plane.log(stays) == b"one\n", "its first line")
    pid, old = node.pid_of(stays), node.supervisor_pid
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: node.supervisor_pid != old, "another supervisor")
    after = plane.add(["true"])
    assert plane.ended(after).state == ContainerState.SUCCEEDED
    assert alive(pid)
    (node.container(stays) / "work" / "go").touch()
    report = plane.ended(stays)
    # A kernel that tells how a stranger's process ended gives the code; else nobody can know it.
    assert (report.reason, report.exit_code) in {(ContainerReason.EXIT_CODE, 4), (ContainerReason.EXIT_UNKNOWN, 0)}
    wait_for(lambda: plane.log(stays) == b"one\ntwo\n", "the output continues")
    wait_for(lambda: not plane.status().health & NodeHealth.SUPERVISOR_DOWN, "health recovers")


def test_what_ended_while_the_supervisor_was_dead_is_unknown(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"])
    plane.in_state(cid, ContainerState.RUNNING)
    node.kill()
    pid = node.pid_of(cid)
    os.kill(node.supervisor_pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "it is gone")
    node.start()
    report = plane.ended(cid)
    assert (report.state, report.reason) == (ContainerState.FAILED, ContainerReason.EXIT_UNKNOWN)


def test_terminated_agents_leave_containers_running_unless_told(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"])
    plane.in_state(cid, ContainerState.RUNNING)
    pid = node.pid_of(cid)
    node.kill(signal.SIGTERM)
    assert alive(pid)
    node.start("--stop-containers")
    supervisor = node.supervisor_pid
    node.kill(signal.SIGTERM)
    assert not alive(pid)
    assert plane.ended(cid).reason == ContainerReason.STOPPED
    wait_for(lambda: not alive(supervisor), "the supervisor goes too")


def test_absent_stale_and_foreign_documents_change_nothing(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"])
    plane.in_state(cid, ContainerState.RUNNING)
    saved, generation = dict(plane.wants), plane.generation
    plane.redis.flushall()
    wait_for(lambda: plane.status() is not None, "the status returns after FLUSHALL")
    plane.wants = {}
    plane.epoch, plane.generation = 0, 99  # a lower epoch
    plane.publish()
    plane.epoch, plane.generation = 1, generation - 1  # obeyed before
    plane.publish()
    plane.key, right = b"x" * 32, plane.key  # not signed by the RM
    plane.generation = generation + 10
    plane.publish()
    seq = plane.status().seq
    wait_for(lambda: plane.status().seq > seq + 2, "some heartbeats")
    assert plane.reports()[cid].state == ContainerState.RUNNING
    assert (plane.status().epoch, plane.status().generation) == (1, generation)
    plane.key, plane.wants = right, saved
    plane.generation = generation
    plane.publish()
    wait_for(lambda: plane.status().generation == generation + 1, "a good one is obeyed again")


def test_a_restarted_redis_without_users_is_joined_again(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sleep", "60"])
    plane.in_state(cid, ContainerState.RUNNING)
    pid = node.pid_of(cid)
    plane.valkey.stop()
    plane.valkey.start()
    plane.redis = plane.valkey.client
    plane.in_state(cid, ContainerState.RUNNING, 30.0)
    assert node.pid_of(cid) == pid
    assert ("GET", "/node/v1/session") in plane.requests


def test_a_node_cut_off_for_too_long_stops_its_containers(plane: Plane, tmp_path: Path) -> None:
    plane.max_disconnect_s = HEARD_WITHIN_S
    node = NodeProcess(plane, tmp_path / "cut").start()
    try:
        cid = plane.add(["sleep", "60"])
        plane.in_state(cid, ContainerState.RUNNING)
        pid = node.pid_of(cid)
        with no_sooner(HEARD_WITHIN_S - 0.5, "it was stopped"):
            plane.valkey.stop()
            wait_for(lambda: not alive(pid), "it is stopped")
        assert node.log().count("Redis cannot be reached") == 1, "said once"
        plane.valkey.start()
        plane.redis = plane.valkey.client
        assert plane.ended(cid, 30.0).reason == ContainerReason.DISCONNECTED
    finally:
        node.close()


def test_containers_of_an_agent_that_hangs_end_by_themselves(plane: Plane, tmp_path: Path) -> None:
    plane.max_disconnect_s = HEARD_WITHIN_S
    node = NodeProcess(plane, tmp_path / "hung").start()
    try:
        cid = plane.add(["sleep", "3600"])
        plane.in_state(cid, ContainerState.RUNNING)
        pid = node.pid_of(cid)
        let_pass(HEARD_WITHIN_S + 1)
        assert alive(pid)  # an agent that has nothing to say is not one that hangs
        assert node.process is not None
        node.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: not alive(pid), "it is stopped")
        node.process.send_signal(signal.SIGCONT)
        assert plane.ended(cid).reason == ContainerReason.DISCONNECTED
    finally:
        node.close()


def test_containers_of_a_dead_agent_end_by_themselves(plane: Plane, tmp_path: Path) -> None:
    plane.max_disconnect_s = HEARD_WITHIN_S
    node = NodeProcess(plane, tmp_path / "dead").start()
    try:
        cid = plane.add(["sleep", "60"])
        plane.in_state(cid, ContainerState.RUNNING)
        pid, supervisor = node.pid_of(cid), node.supervisor_pid
        node.kill()
        wait_for(lambda: not alive(pid), "it is stopped")
        wait_for(lambda: not alive(supervisor), "the supervisor goes when it has nothing left")
        node.start()
        assert plane.ended(cid).reason == ContainerReason.DISCONNECTED
    finally:
        node.close()


def test_a_node_keeps_its_credential_apart_from_its_state(plane: Plane, node: NodeProcess) -> None:
    """Also one whose state an older node manager has written: without it the name would be lost with the state."""
    (kept,) = (node.folder / "run").glob("credential-*.json")
    kept.unlink()
    node.kill()
    node.start()
    assert kept.exists() and len(plane.registrations) == 1
    node.kill()
    (node.folder / "state.json").unlink()
    node.start()
    assert plane.registrations[1]["credential"] == plane.registrations[0]["credential"]


def test_a_decommissioned_node_keeps_its_supervisor_for_its_containers_alone(plane: Plane, node: NodeProcess) -> None:
    cid = plane.add(["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"])
    plane.in_state(cid, ContainerState.RUNNING)
    pid, supervisor = node.pid_of(cid), node.supervisor_pid
    plane.decommission()
    wait_for(lambda: "did not renew the session" in node.log(), "it is told")
    os.kill(supervisor, signal.SIGTERM)
    let_pass(2.0)
    assert alive(supervisor) and alive(pid)
    (node.container(cid) / "work" / "go").touch()
    wait_for(lambda: not alive(supervisor), "the supervisor goes when it has nothing left")
    assert node.process is not None and node.process.poll() is None

    plane.take_back()
    again = plane.add(["true"])
    assert plane.ended(again, 30).state == ContainerState.SUCCEEDED


def test_a_supervisor_that_holds_nothing_ends_when_told_to(plane: Plane, node: NodeProcess) -> None:
    supervisor = node.supervisor_pid
    node.kill(signal.SIGTERM)
    assert alive(supervisor)
    os.kill(supervisor, signal.SIGTERM)
    wait_for(lambda: not alive(supervisor), "it ends")
