"""Load rows: what a leader says its sub-cluster has, uses and wants."""

import numpy as np
import pytest

from controlplane.rm.driver.load import ANYWAY_S, EVERY_S, LoadReporter, own_load
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.ports import Fenced
from controlplane.rm.rows import QueueRow
from controlplane.rm.steps.rehoming import LOOK_S
from controlplane.statestore.limited import VAIN
from controlplane.statestore.loads import Load
from tests.amounts import amounts
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, another, leading
from tests.limits import limit


def _loads(cluster: Cluster, leader: object) -> dict[str, Load]:
    return {load.name: load for load in leader.store.loads()}  # type: ignore[attr-defined]


def test_a_row_says_what_queues_use_and_want(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 0.5, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}})
    leader = leading(cluster)
    cluster.submit({"count": 20}, queue="root.a")  # 512 MiB and half a core each; 16 find room
    cluster.submit({"count": 3, "resources": {"memory_mib": 100, "vcores_milli": 4000}}, queue="root.b")
    leader.round()
    reporter = LoadReporter()
    reporter.report(leader.memory, cluster.sub.pk, leader.store, leader.clock)
    load = _loads(cluster, leader)["west"]
    assert (load.led, load.state, load.epoch, load.nodes_up) == (True, "running", leader.epoch, 2)
    assert load.policy_version == leader.memory.queues.version and load.age_s < 5
    assert load.capacity.tolist() == [*amounts(8192, 8000, 4)]
    p = load.queues[""]
    assert p.capacity.tolist() == [*amounts(8192, 8000, 4)] and p.paths == ["root.a", "root.b"]
    total = p.used + p.pending
    assert total.tolist() == [[*amounts(20 * 512, 20 * 500)], [*amounts(300, 12000)]]
    assert (load.capacity - load.free == p.used.sum(axis=0)).all()
    assert (load.pending == p.pending.sum(axis=0)).all()


def test_what_no_node_here_could_hold_is_no_demand(cluster: Cluster) -> None:
    leader = leading(cluster)
    cluster.submit({"count": 3, "resources": {"memory_mib": 4096, "vcores_milli": 100}})
    cluster.submit({"count": 2, "resources": {"memory_mib": 1 << 20, "vcores_milli": 100}})
    for _ in range(2):
        leader.clock.ahead_s += LOOK_S
        cluster.nodes.step()
        leader.round()
    load = _told(cluster, leader)
    assert load.demand.tolist() == [*amounts(3 * 4096, 3 * 100)]
    assert load.pending.tolist() == [*amounts(4096 + 2 * (1 << 20), 300)], (
        "it is told as well, and that it waits in vain"
    )
    assert {path: row.tolist() for path, row in zip(*load.limited.tables[""], strict=True)} == {
        f"{VAIN}root.default": [*amounts(2 << 20, 200)]
    }


def test_what_waits_for_a_maximum_is_told_by_whose_it_is(cluster: Cluster) -> None:
    cluster.policy({"a": {"guaranteed": 0.5, "maximum": 0.5, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}})
    leader = leading(cluster)
    cluster.submit({"count": 20}, queue="root.a")  # 512 MiB and half a core each; 8 are half of all
    cluster.submit({"count": 10}, queue="root.b")
    leader.round()
    load = _told(cluster, leader)
    assert [(paths, rows.tolist()) for paths, rows in load.limited.tables.values()] == [
        (["root.a"], [[*amounts(12 * 512, 12 * 500)]])
    ]
    assert load.demand.tolist() == [*amounts(18 * 512, 18 * 500)], "two of b wait for room"
    cluster.policy({"a": {"guaranteed": 0.5, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}})
    leader.round()
    assert not _told(cluster, leader).limited.tables


def _told(cluster: Cluster, leader: Leading) -> Load:
    LoadReporter().report(leader.memory, cluster.sub.pk, leader.store, leader.clock)
    return _loads(cluster, leader)["west"]


def test_rows_of_all_sub_clusters_are_read_by_each(cluster: Cluster) -> None:
    other = another(cluster)
    here, there = leading(cluster), leading(other)
    for c, leader in ((cluster, here), (other, there)):
        LoadReporter().report(leader.memory, c.sub.pk, leader.store, leader.clock)
    there.leadership.release()
    found = _loads(cluster, here)
    assert {name: load.led for name, load in found.items()} == {"west": True, "east": False}


def test_a_row_is_written_when_it_changes_and_else_now_and_then(cluster: Cluster) -> None:
    leader, reporter = leading(cluster), LoadReporter()

    def told(seconds: float) -> bool:
        leader.clock.ahead_s += seconds
        before = cluster.one("SELECT max(at) FROM statestore_load")
        reporter.report(leader.memory, cluster.sub.pk, leader.store, leader.clock)
        return bool(cluster.one("SELECT max(at) FROM statestore_load") != before)

    assert told(0) and not told(EVERY_S / 2) and not told(EVERY_S)
    assert told(ANYWAY_S) and not told(EVERY_S)
    cluster.submit({"count": 1})
    leader.round()
    assert told(0), "at once after a second without news"
    cluster.submit({"count": 1})
    leader.round()
    assert not told(EVERY_S / 2) and told(EVERY_S / 2)


def test_a_replaced_leader_writes_no_row(cluster: Cluster) -> None:
    old = leading(cluster)
    load = own_load(old.memory, cluster.sub.pk)
    new = own_load(old.memory, cluster.sub.pk)
    object.__setattr__(new, "epoch", old.epoch + 1)
    old.store.put_load(new)
    with pytest.raises(Fenced):
        old.store.put_load(load)
    assert cluster.one("SELECT epoch FROM statestore_load") == old.epoch + 1


@pytest.mark.faults
def test_thousands_of_queues_cost_little(cluster: Cluster) -> None:
    leader = leading(cluster)
    m, queues = leader.memory, 5000
    rows = [QueueRow("root", "")]
    rows += [QueueRow(f"root.team{i // 50}.queue-with-a-name-{i}", "root") for i in range(queues)]
    m.take_queues(QueueTree(m.queues.version, rows))
    m.ledger.queues[0, 1:] = np.arange(1, queues + 1)[:, None]
    own_load(m, cluster.sub.pk)
    with limit("load of 5,000 queues: worked out and stored", 2):  # about 15 ms on a quiet machine
        leader.store.put_load(own_load(m, cluster.sub.pk))
    assert len(_loads(cluster, leader)["west"].queues[""].paths) == queues
