"""Queues as a leader keeps to them: limits pushed while jobs run, partitions, and a part of the federation."""

from typing import Any

from controlplane.policy import versions
from controlplane.statestore.actions import nodes, subclusters
from controlplane.statestore.actions.audit import SYSTEM
from tests.integration.rm.cluster import Cluster
from wire.nodeapi import Register

ONE_GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 100}}


def publish(queues: dict[str, Any], **more: Any) -> int:
    return versions.publish(SYSTEM, {"queues": queues, **more}, "test", force=True).pk


def test_amounts_pushed_while_a_job_runs_bind_at_once(cluster: Cluster) -> None:
    publish({"a": {"maximum": {"memory_mib": "3 GiB"}}, "default": {}})
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit(ONE_GIB | {"count": 8}, queue="root.a")
    leader.round()
    assert len(leader.memory.containers) == 3
    version = publish({"a": {"maximum": {"memory_mib": 5000}}, "default": {}})
    leader.round()
    assert len(leader.memory.containers) == 4, "5,000 MiB hold four GiB"
    assert leader.summary().policy_version == version
    publish({"a": {"maximum": {"memory_mib": "2 GiB"}}, "default": {}})
    leader.round()
    assert len(leader.memory.containers) == 4, "what runs is not taken by a lower maximum"


def test_a_partitions_nodes_serve_those_who_name_it(cluster: Cluster) -> None:
    publish({"default": {}, "a": {"default_partition": "one"}}, partitions={"one": {"nodes": "name == n1"}})
    leader = cluster.lead()
    cluster.nodes.step()
    for group, queue in (({}, "root.a"), ({"partition": "one"}, "root.default"), ({"partition": ""}, "root.a")):
        cluster.submit(ONE_GIB | {"count": 2} | group, queue=queue)
    leader.round()
    found = cluster.rows("SELECT job_id, node_id, count(*) FROM statestore_container GROUP BY 1, 2 ORDER BY 1, 2")
    assert [(node, n) for _, node, n in found] == [(cluster.ids[1], 2), (cluster.ids[1], 2), (cluster.ids[0], 2)]


def test_an_amount_is_of_the_federation_and_each_sub_cluster_has_its_part(cluster: Cluster) -> None:
    east = subclusters.create(SYSTEM, "east")
    nodes.bulk_register(east, [Register("", f"e{i}", "r", 4096, 4000, 2) for i in range(6)])
    publish({"a": {"maximum": {"memory_mib": "16 GiB"}}, "default": {}})  # of 32, of which 8 are here
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit(ONE_GIB | {"count": 8}, queue="root.a")
    leader.round()
    assert len(leader.memory.containers) == 4
