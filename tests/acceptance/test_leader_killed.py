"""RM workers killed and stopped while work flows: nothing restarts, nothing is lost, somebody leads on.

Two hundred hollow nodes give the load, two real ones the processes to watch.
"""

import contextlib
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from client import HydraError
from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.ports import Fenced
from tests.acceptance import afterwards
from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.limits import limit, within
from tests.patience import let_pass, wait_until
from tests.seeds import drawn
from wire import desired, keys, status

pytestmark = pytest.mark.faults

HOLLOW_NODES = 200
LEASE_S = 3
EPOCH_OF_ID = "(id >> 32 & ((1 << 20) - 1))"


class Crowd:
    """A cluster, its hollow nodes, and a stream of jobs that real and hollow nodes run."""

    def __init__(self, cluster: Cluster, hollow: "subprocess.Popen[str]") -> None:
        self.cluster, self.hollow = cluster, hollow
        self._stop = threading.Event()
        self.jobs: list[int] = []

    @contextlib.contextmanager
    def load(self) -> Iterator[None]:
        """Jobs arrive, about 200 containers a second, and one in eight brings real processes."""
        thread = threading.Thread(target=self._submit)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _submit(self) -> None:
        for number in range(1_000_000):
            if self._stop.wait(0.1):
                return
            if number % 8:
                spec = self.cluster.spec(f"load-{number}", "true", count=20, node_labels="hollow")
            else:
                spec = self.cluster.spec(f"real-{number}", "sleep 0.2", count=2, node_labels="!hollow")
            with contextlib.suppress(HydraError):  # not acknowledged: nothing is promised
                self.jobs.append(self.cluster.submit(spec).id)

    def end(self) -> dict:
        return json.loads(self.cluster.end(self.hollow) or "{}")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    with Cluster(tmp_path_factory.mktemp("crowd") / "home", nodes=2, relayed=False) as cluster:
        words = ["--sub-cluster", "east", "--nodes", str(HOLLOW_NODES), "--run-s", "0.5", "--remember"]
        hollow = cluster.run("hollow", *words)
        wait_until(lambda: up(cluster) == HOLLOW_NODES + 2, 30, "every node is up")
        yield Crowd(cluster, hollow)


def up(cluster: Cluster) -> int:
    return int(cluster.sql("SELECT count(*) FROM statestore_node WHERE state = 1")[0][0])


def allocated_by(cluster: Cluster, epoch: int) -> int:
    """Containers that the leader of this epoch has handed out."""
    tables = ("statestore_container", "statestore_container_history")
    return sum(cluster.sql(f"SELECT count(*) FROM {t} WHERE {EPOCH_OF_ID} = %s", epoch)[0][0] for t in tables)


def test_kills_at_random_moments_under_load(crowd: Crowd, soak: bool):
    cluster = crowd.cluster
    lasting = cluster.task_job("lasting", cluster.gate("lasting") + "exit 0", count=6, node_labels="!hollow")
    starts = cluster.started(lasting, 6)
    chance = drawn(1)
    with crowd.load():
        wait_until(lambda: len(crowd.jobs) > 10, 20, "work flows")
        for _ in range(40 if soak else 6):
            let_pass(chance.uniform(0.2, 1.5))  # the random moment
            kill_the_leader(cluster)
            assert all(start.alive for start in starts)
    cluster.open_gate("lasting")
    for job in [lasting.id, *crowd.jobs]:
        ended = cluster.wait(job, 60)
        assert ended.state == "SUCCEEDED", f"{ended.name}: {ended.message}"
    launches = Counter(start.container for start in cluster.starts())
    assert set(launches.values()) == {1}, "a container was started twice"
    attempts = cluster.sql("SELECT count(*) FROM statestore_container_history WHERE attempt > 1")
    assert attempts == [(0,)], "something was restarted"
    afterwards.holds(cluster)


def kill_the_leader(cluster: Cluster) -> None:
    """Kill -9 the leading worker once both workers are there, and wait for the next leader's first allocation."""
    epoch, holder = cluster.led()
    for worker in ("worker-a", "worker-b"):
        wait_until(lambda worker=worker: cluster.stack.ready(worker), 30, f"{worker} runs")
    with limit("leader killed under load: first new allocation", 5):
        cluster.stack.kill(holder)
        following, _ = cluster.led(above=epoch, timeout_s=10)
        wait_until(lambda: allocated_by(cluster, following) > 0, 10, "the new leader has placed something", 0.02)


def test_a_stopped_leader_is_replaced_and_can_do_nothing_when_it_wakes(crowd: Crowd):
    cluster = crowd.cluster
    lasting = cluster.task_job("patient", cluster.gate("patient") + "exit 0", count=4, node_labels="!hollow")
    starts = cluster.started(lasting, 4)
    epoch, holder = cluster.led()
    wait_until(lambda: cluster.stack.ready("worker-a") and cluster.stack.ready("worker-b"), 30, "a standby is there")
    with cluster.frozen(holder):
        began = time.monotonic()
        within(10, lambda: cluster.leader()[0] > epoch, "leader stopped: a standby leads")
        probe = cluster.task_job("meanwhile", "true", node_labels="!hollow")
        cluster.settled(probe, 15)
        let_pass(max(0.0, 3 * LEASE_S - (time.monotonic() - began)))
        rounds = rounds_of(cluster, epoch)
    wait_until(lambda: "another leader" in cluster.stack.log(holder) or resumed(cluster, holder), 20, "it has noticed")
    cluster.settled(cluster.task_job("after", "true", node_labels="!hollow"), 15)
    assert rounds_of(cluster, epoch) == rounds, "the old leader has committed a round"
    fence(cluster, epoch)
    lower_epochs_are_refused(cluster, epoch, {start.node for start in starts})
    assert all(start.alive for start in starts)
    cluster.open_gate("patient")
    cluster.settled(lasting)
    assert len(cluster.starts(lasting)) == 4
    afterwards.holds(cluster)


def rounds_of(cluster: Cluster, epoch: int) -> int:
    return int(cluster.sql("SELECT count(*) FROM statestore_round WHERE epoch = %s", epoch)[0][0])


def resumed(cluster: Cluster, holder: str) -> bool:
    """A worker whose session was ended from the other side leads no longer, or was replaced."""
    text = cluster.stack.log(holder)
    return "the StateStore is gone" in text or "no longer leading" in text


def fence(cluster: Cluster, epoch: int) -> None:
    """The statement that ends every round of a leader fails for an old epoch, and so would its commit."""
    with cluster.connect() as connection, pytest.raises(psycopg.Error) as refusal:
        connection.execute("SELECT statestore_fence(%s::smallint, %s, 3)", (SUB_CLUSTER, epoch))
    assert refusal.value.sqlstate == "HY001"


def lower_epochs_are_refused(cluster: Cluster, epoch: int, names: set[str]) -> None:
    """By Redis' script when it is asked, and by the nodes when a document lies there all the same."""
    bus = RedisBus(cluster.stack.redis_url(), SUB_CLUSTER, epoch, lambda: None)
    with pytest.raises(Fenced):
        bus.publish({}, {})
    bus.close()
    for name in names:
        node = cluster.node_id(name)
        key = desired.node_key(cluster.lease_master(), 1, node)
        nothing = desired.Desired(desired.WRITER_RM, SUB_CLUSTER, node, epoch, 2**31, 1, {}, {})
        place, own = keys.desired(SUB_CLUSTER, node), keys.wake_channel(SUB_CLUSTER, node)
        true = cluster.redis.get(place)
        cluster.redis.set(place, desired.encode(nothing, 1, key))
        heard = cluster.redis.publish(own, "")
        assert heard >= 1, f"{name} listens"
        sequence = status_seq(cluster, node)
        wait_until(lambda node=node, s=sequence: status_seq(cluster, node) >= s + 2, 10, f"{name} has read it")
        cluster.redis.set(place, true)


def status_seq(cluster: Cluster, node: int) -> int:
    return status.decode(cluster.redis.get(keys.status(SUB_CLUSTER, node))).seq


def test_hollow_nodes_started_nothing_twice(crowd: Crowd):
    """Last in this module: the hollow nodes end here and tell what they did."""
    tally = crowd.end()
    print(f"hollow nodes: {tally}")
    assert tally["started"] > 100
    assert tally["repeated"] == 0
    assert tally["refused"] == 0
