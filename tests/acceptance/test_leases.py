"""Commands nobody entitled has signed, written where a real node reads: it starts nothing of them, and says so."""

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.patience import stretched, wait_until
from wire import desired, keys, status
from wire.desired import Desired, Lease
from wire.states import Want

FORGED = 1 << 52 | 1 << 32 | 4_000_000_000  # a container number nobody has handed out


@dataclass
class Target:
    """A real node, with what an attacker might have found of it."""

    cluster: Cluster
    name: str
    document: Desired  # the one it obeys
    raw: bytes
    template: bytes
    tenant: int

    @property
    def node_id(self) -> int:
        return self.document.node_id

    def key(self, node_id: int = 0, key_id: int = 1) -> bytes:
        return desired.node_key(self.cluster.lease_master(), key_id, node_id or self.node_id)

    def lease(self, **changed: object) -> Lease:
        """A lease that would be obeyed, but for ``changed``."""
        until = int(time.time()) + 3600
        true = Lease(
            FORGED, self.node_id, 1, 0, 1, 0, self.document.epoch, until, 64, 100, 0, self.tenant, 0, 1, self.template
        )  # fmt: skip
        return replace(true, **changed)  # type: ignore[arg-type]

    def sealed(self, leases: bytes, container: int = FORGED, node_id: int = 0, **changed: object) -> bytes:
        """The node's document with one more entry and these packed leases, signed with its own key."""
        d = replace(self.document, **({"generation": self.document.generation + 1} | changed))  # type: ignore[arg-type]
        entries = b"".join(desired.ENTRY.pack(c, w) for c, w in {**d.entries, container: Want.RUN}.items())
        node = node_id or d.node_id
        return desired.encode_signed(
            d.sub_cluster, node, d.epoch, d.generation, d.policy_version, 1, desired.Key(self.key()), entries, leases
        )

    def put(self, data: bytes, says: str) -> None:
        """Write it where the node reads, and wait until the node has said ``says``."""
        seen = self.cluster.stack.log(self.name).count(says)
        self.cluster.redis.set(keys.desired(SUB_CLUSTER, self.node_id), data)
        self.cluster.redis.publish(keys.wake_channel(SUB_CLUSTER, self.node_id), "")
        wait_until(lambda: self.cluster.stack.log(self.name).count(says) > seen, 10, f"{self.name} says {says!r}")


def obeyed(cluster: Cluster, node: int) -> tuple[bytes, Desired] | None:
    """The node's document, once its status says that it obeys exactly this one."""
    raw = cluster.redis.get(keys.desired(SUB_CLUSTER, node))
    document = desired.decode(raw, node, {1: desired.node_key(cluster.lease_master(), 1, node)})
    said = status.decode(cluster.redis.get(keys.status(SUB_CLUSTER, node)))
    return (raw, document) if (said.epoch, said.generation) == (document.epoch, document.generation) else None


@pytest.fixture
def target(cluster: Cluster) -> Iterator[Target]:
    """A node that runs something of ours, which must go on whatever is forged."""
    job = cluster.task_job("bystander", cluster.gate("bystander") + "exit 0")
    start = cluster.started(job, 1)[0]
    wait_until(lambda: all(row[4] == 2 for row in cluster.live(job)), 20, "it is known to run")
    node = cluster.node_id(start.node)
    raw, document = wait_until(lambda: obeyed(cluster, node), 10, "the node obeys what lies there")
    template = next(iter(cluster.redis.scan_iter(keys.template(SUB_CLUSTER, "*")))).decode().rpartition(":")[2]
    owner = cluster.sql("SELECT owner_id FROM statestore_job WHERE id = %s", job.id)[0][0]
    before = cluster.starts()
    yield Target(cluster, start.node, document, raw, bytes.fromhex(template), owner)
    assert cluster.starts() == before, "something was started"
    assert start.alive, "something was stopped"
    cluster.redis.set(keys.desired(SUB_CLUSTER, node), raw)
    cluster.open_gate("bystander")
    epoch, holder = cluster.led()
    cluster.stack.kill(holder)  # the next leader's documents are above whatever generation was forged
    cluster.led(epoch)
    cluster.settled(job, 30)
    cluster.settled(cluster.task_job("afterwards", "true", count=6), 30)
    wait_until(lambda: cluster.stack.ready(holder), 20, "the killed worker is back")


def test_forged_documents_and_leases_are_refused_offline(cluster: Cluster, target: Target):
    """``refused``: the whole document; nothing of it is obeyed, so what runs is not stopped either."""
    others = [
        n for (n,) in cluster.sql("SELECT id FROM statestore_node WHERE name LIKE 'east-%%'") if n != target.node_id
    ]
    own, foreign = target.key(), target.key(others[0])
    lease = target.lease()
    good = desired.encode_lease(lease, own)
    more = replace(target.document, generation=target.document.generation + 1, entries={})
    refused = "a desired document is refused"
    target.put(desired.encode(more, 1, foreign), "the signature does not match")
    target.put(desired.encode(more, 1, b"x" * 32), "the signature does not match")
    target.put(desired.encode(more, 7, own), "signed with the unknown key 7")
    target.put(cluster.redis.get(keys.desired(SUB_CLUSTER, others[0])), f"meant for node {others[0]}")
    target.put(target.raw[:-1], refused)
    target.put(b"\0" * len(target.raw), refused)
    # The document is signed as it should be (by a thief of that key), the lease in it is not.
    target.put(target.sealed(desired.encode_lease(lease, foreign)), "the signature of the lease")
    for name, at, value in (
        ("1 core into 64", 44, struct.pack("<I", 64_000)),
        ("another user", 56, struct.pack("<I", target.tenant + 1)),
        ("a later expiry", 32, struct.pack("<Q", 1 << 40)),
        ("another command", desired.LEASE.size - 32, b"\1" * 32),
    ):
        changed = good[:at] + value + good[at + len(value) :]
        assert changed != good, name
        target.put(target.sealed(changed), "the signature of the lease")
    other = target.lease(node_id=others[0])
    target.put(target.sealed(desired.encode_lease(other, own)), f"a lease is for node {others[0]}")


def test_replayed_documents_are_ignored(cluster: Cluster, target: Target):
    """What was true once: a lower generation, and the document of an epoch that is over."""
    node, r = target.node_id, cluster.redis
    empty = replace(target.document, entries={}, leases={})
    last = (empty.epoch, empty.generation)
    for epoch, generation in ((last[0], last[1] - 1), (last[0] - 1, 2**31), last):
        old = replace(empty, epoch=epoch, generation=generation)
        r.set(keys.desired(SUB_CLUSTER, node), desired.encode(old, 1, target.key()))
        r.publish(keys.wake_channel(SUB_CLUSTER, node), "")
        seen = sequence(cluster, node)
        wait_until(lambda s=seen: sequence(cluster, node) >= s + 2, 10, "two heartbeats")
    assert cluster.sql("SELECT count(*) FROM statestore_container WHERE node_id = %s", node) == [(1,)]


def sequence(cluster: Cluster, node: int) -> int:
    return status.decode(cluster.redis.get(keys.status(SUB_CLUSTER, node))).seq


def test_an_expired_lease_or_one_of_a_later_epoch_starts_nothing(cluster: Cluster, target: Target):
    """Signed with the right key: the node judges time and epoch by itself."""
    late = target.lease(expires_at=int(time.time()) - 5)
    target.put(target.sealed(desired.encode_lease(late, target.key())), "it expired")
    above = target.lease(container_id=FORGED + 1, epoch=target.document.epoch + 1)
    packed = desired.encode_lease(above, target.key())
    target.put(target.sealed(packed, FORGED + 1, generation=target.document.generation + 2), "above the document's")


def test_keys_roll_without_stopping_anything(cluster: Cluster):
    """Web first, then the workers, start with the next key id, and later fall back to the previous one."""
    job = cluster.task_job("through", cluster.gate("through") + "exit 0", count=3)
    starts = cluster.started(job, 3)
    epoch, _ = cluster.led()
    for name in ("web", "worker-a", "worker-b"):
        cluster.stack.hold(name)
    second = {"HYDRA_LEASE_KEY_ID": "2"}
    web = cluster.fork("web", environ=second)
    worker = cluster.fork("worker", "--name", "worker-c", "--queues", "rm.east,control", environ=second)
    try:
        cluster.led(epoch, 20)
        cluster.settled(cluster.task_job("new-key", "true", count=6), 30)
        assert all(start.alive for start in starts)
        assert cluster.leader()[1] == "worker-c"
        documents = [cluster.redis.get(keys.desired(SUB_CLUSTER, cluster.node_id(f"east-{i}"))) for i in (1, 2, 3)]
        assert {desired.HEADER.unpack_from(d)[8] for d in documents} == {2}, "documents are signed with the new key"
    finally:
        for process in (worker, web):
            process.terminate()
            process.join(stretched(20))
        for name in ("web", "worker-a", "worker-b"):
            cluster.stack.release(name)
    cluster.settled(cluster.task_job("old-key", "true", count=6), 30)
    assert all(start.alive for start in starts)
    assert len(cluster.starts(job)) == 3
    cluster.open_gate("through")
    cluster.settled(job)
