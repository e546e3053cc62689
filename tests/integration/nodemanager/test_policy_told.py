"""A real node manager hears of policy versions by one value for its whole sub-cluster."""

import redis

from tests.integration.nodemanager.plane import NODE, SUB, NodeProcess, Plane, wait_for
from wire import keys, policy


def runs(plane: Plane) -> int:
    status = plane.status()
    return status.policy_version if status else 0


def announce(plane: Plane, epoch: int, version: int, wake: bool = True) -> None:
    value = policy.encode(epoch, version)
    plane.redis.set(keys.policy(SUB), value)
    if wake:
        plane.redis.publish(keys.policy_wake(SUB), value)


def test_a_node_says_at_once_which_version_it_was_told(plane: Plane, node: NodeProcess) -> None:
    plane.publish()
    wait_for(lambda: runs(plane) == 1, "its document names version 1")
    announce(plane, plane.epoch, 7)
    wait_for(lambda: runs(plane) == 7, "told by the channel")
    announce(plane, plane.epoch, 8, wake=False)
    wait_for(lambda: runs(plane) == 8, "read at a heartbeat")
    announce(plane, plane.epoch, 5)
    announce(plane, 0, 99)
    plane.publish()
    cid = plane.add(["true"])
    plane.ended(cid)
    assert runs(plane) == 8, "neither a document made before, nor an older leader, takes it back"
    plane.epoch += 1
    announce(plane, plane.epoch, 3)
    wait_for(lambda: runs(plane) == 3, "a later leader is believed whatever it says")
    plane.redis.set(keys.policy(SUB), b"nonsense")
    plane.redis.publish(keys.policy_wake(SUB), b"")
    wait_for(lambda: "cannot be read" in node.log(), "it says so and goes on")
    assert runs(plane) == 3


def test_a_restarted_node_says_it_again_without_a_new_document(plane: Plane, node: NodeProcess) -> None:
    plane.publish()
    announce(plane, plane.epoch, 7)
    wait_for(lambda: runs(plane) == 7, "told")
    node.kill()
    node.start()
    wait_for(lambda: (plane.status() or 0) and runs(plane) == 7, "told again")


def test_no_node_can_name_a_version(plane: Plane, node: NodeProcess) -> None:
    plane.publish()
    wait_for(lambda: runs(plane) == 1, "it is there")
    as_node = redis.Redis(
        port=plane.valkey.port, username=keys.acl_user(NODE), password=plane.credential, socket_timeout=5
    )
    for refused in (
        lambda: as_node.set(keys.policy(SUB), policy.encode(9, 9)),
        lambda: as_node.publish(keys.policy_wake(SUB), b""),
        lambda: as_node.get(keys.policy(SUB + 1)),
    ):
        try:
            refused()
        except redis.exceptions.NoPermissionError:
            continue
        raise AssertionError("a node may do that")
    assert as_node.get(keys.policy(SUB)) is None
