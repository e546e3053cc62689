"""A worker that comes back gets its part of the sub-clusters, and what runs there runs on."""

from pathlib import Path

import pytest

from client import Client
from controlplane.rm.driver.balance import UNEVEN
from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

SUB_CLUSTERS = 6


def test_a_worker_that_comes_back_gets_its_part(tmp_path: Path) -> None:
    with Stack(ready_made(tmp_path / "home"), sub_clusters=SUB_CLUSTERS, nodes=1) as stack:
        operator, tenant = stack.client("operator"), stack.client("tenant")
        wait_until(lambda: sum(n.state == "UP" for n in operator.nodes()) == SUB_CLUSTERS, 90, "every node is up")
        stack.hold("worker-b")
        wait_until(lambda: leads(operator, "worker-a") == SUB_CLUSTERS, 60, "one worker leads them all")
        group = {"name": "work", "count": SUB_CLUSTERS, "command": ["sleep", "600"], "resources": {"vcores_milli": 100}}
        job = tenant.submit({"name": "stays", "groups": [group]}).id
        wait_until(lambda: running(tenant, job) == SUB_CLUSTERS, 60, "its tasks run")
        epochs = {s.name: s.epoch for s in operator.sub_clusters()}

        stack.release("worker-b")
        wait_until(lambda: leads(operator, "worker-b") * 2 > SUB_CLUSTERS - UNEVEN, 90, "the other leads its part")
        wait_until(lambda: leads(operator, "worker-a") + leads(operator, "worker-b") == SUB_CLUSTERS, 30, "all are led")
        moved = {s.name for s in operator.sub_clusters() if s.epoch != epochs[s.name]}
        assert moved == {s.name for s in operator.sub_clusters() if s.leader == "worker-b"}
        assert all(s.epoch - epochs[s.name] <= 1 for s in operator.sub_clusters())  # nothing went to and fro
        assert running(tenant, job) == SUB_CLUSTERS
        assert {c.attempt for c in tenant.containers(job)} == {1}
        tenant.kill(job)
        assert tenant.wait(job, timeout_s=60).state == "KILLED"


def leads(operator: Client, worker: str) -> int:
    return sum(s.leader == worker and bool(s.lease_ok) for s in operator.sub_clusters())


def running(tenant: Client, job: int) -> int:
    return sum(c.state == "RUNNING" for c in tenant.containers(job))
