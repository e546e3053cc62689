"""A node without an agent: the test itself says what it reports, byte for byte."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.patience import wait_until
from wire import desired, keys, status
from wire.nodeapi import Register
from wire.states import ContainerState, NodeState, Want

REGISTER = """
import json
from dataclasses import asdict
from controlplane.statestore.actions import nodes
from controlplane.statestore.models import SubCluster
from wire.nodeapi import Register
found = nodes.bulk_register(SubCluster.objects.get(pk={s}), [Register(**json.loads({described!r}))])
print(json.dumps(asdict(found[0])))
"""


class Ghost:
    """``send`` writes any bytes as its status; ``beat`` writes a true one. ``taken``: what it was told to run."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        described = Register("", name, "rack-g", 1024, 4000, labels={"ghost": "true"})
        text = json.dumps({f: getattr(described, f) for f in Register.__dataclass_fields__})
        code = REGISTER.format(s=SUB_CLUSTER, described=text)
        session = json.loads(cluster.stack.manage("shell", "-c", code).stdout.splitlines()[-1])
        self.node_id = int(session["node_id"])
        self.keys = {int(k): bytes.fromhex(v) for k, v in session["lease_keys"].items()}
        self.seq = 1000
        self.epoch = self.generation = 0
        self.taken: dict[int, int] = {}  # container -> state it reports

    def send(self, data: bytes) -> None:
        """Write and wait until the RM has read it: it takes the second hint after the round of the first."""
        r = self.cluster.redis
        r.set(keys.status(SUB_CLUSTER, self.node_id), data)
        for _ in range(2):
            r.zadd(keys.dirty(SUB_CLUSTER), {str(self.node_id): 0})
            wait_until(lambda: r.zscore(keys.dirty(SUB_CLUSTER), str(self.node_id)) is None, 10, "a hint taken", 0.005)

    def status(self, **changed: object) -> status.NodeStatus:
        """What a healthy node would say now."""
        self.seq += 1
        reports = [status.ContainerReport(cid, state, memory_mib=8) for cid, state in self.taken.items()]
        values = {"epoch": self.epoch, "generation": self.generation, "containers": reports, "disk_free_mib": 1000}
        return status.NodeStatus(self.node_id, **({"seq": self.seq} | values | changed))

    def beat(self) -> bytes:
        self.obey()
        data = status.encode(self.status())
        self.send(data)
        return data

    def obey(self) -> None:
        body = self.cluster.redis.get(keys.desired(SUB_CLUSTER, self.node_id))
        if body is None:
            return
        doc = desired.decode(body, self.node_id, self.keys)
        if (doc.epoch, doc.generation) <= (self.epoch, self.generation):
            return
        self.epoch, self.generation = doc.epoch, doc.generation
        self.taken = {c: s for c, s in self.taken.items() if c in doc.entries}
        for cid, want in doc.entries.items():
            if want == Want.STOP:
                self.taken[cid] = ContainerState.KILLED
            elif cid in doc.leases:
                self.taken.setdefault(cid, ContainerState.RUNNING)


@contextmanager
def ghost(cluster: Cluster, name: str) -> Iterator[Ghost]:
    """A ghost that is up; decommissioned afterwards."""
    made = Ghost(cluster, name)

    def up() -> bool:
        made.beat()
        return cluster.node_state(name) == NodeState.UP

    wait_until(up, 10, f"{name} is up")
    try:
        yield made
    finally:
        cluster.decommission(name)
