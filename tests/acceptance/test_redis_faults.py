"""Redis killed, emptied, full, paused: everything in it is a hint that comes again."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controlplane.statestore import nodeloads
from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.limits import limit, within
from tests.machine import FACTOR
from tests.patience import let_pass, wait_until
from wire import keys
from wire.states import NodeState

pytestmark = pytest.mark.faults

ACTIVE_S = 30
ACCEPT_S = 3
LEADS_S = 10


@contextmanager
def outage(cluster: Cluster, fault: str, soak: bool) -> Iterator[None]:
    """Inject the fault; it is over when the block is left. A kill and a loss are over at once."""
    r = cluster.redis
    if fault == "killed":
        cluster.stack.kill("valkey")
        yield
    elif fault == "emptied":
        r.flushall()
        yield
    elif fault == "replaced by an empty one":
        (cluster.stack.home.root / "valkey" / "users.acl").unlink()
        cluster.stack.kill("valkey")
        yield
    elif fault == "full":
        used = r.config_get("maxmemory")["maxmemory"]
        r.config_set("maxmemory", "1")
        try:
            yield
            let_pass(60 if soak else 6)  # the outage itself
        finally:
            r.config_set("maxmemory", used)
    else:
        with cluster.frozen("valkey"):
            yield
            let_pass(60 if soak else 12)  # the outage itself


@pytest.mark.parametrize("fault", ["killed", "emptied", "replaced by an empty one", "full", "paused"])
def test_nothing_is_lost_and_all_is_active_again(cluster: Cluster, fault: str, soak: bool):
    name = fault.split(maxsplit=1)[0]
    job = cluster.task_job(name, cluster.gate(name) + "exit 0", count=4)
    starts = cluster.started(job, 4)
    leader = cluster.led()
    with outage(cluster, fault, soak), limit(f"Redis {fault}: five submits", 5 * ACCEPT_S):
        during = [cluster.task_job(f"{name}-during-{i}", "true") for i in range(5)]
    with limit(f"Redis {fault}: everything submitted is done after its return", ACTIVE_S):
        for submitted in during:
            cluster.settled(submitted, ACTIVE_S)
        after = cluster.settled(cluster.task_job(f"{name}-after", "true"), ACTIVE_S)
    assert after.succeeded
    within(ACTIVE_S, lambda: active(cluster), f"Redis {fault}: leader, summary and nodes are active")
    assert cluster.leader() == leader, "a leader that has its database leads on without Redis"
    assert all(start.alive for start in starts), "a container was stopped"
    assert cluster.starts(job) == starts
    cluster.open_gate(name)
    cluster.settled(job)


def active(cluster: Cluster) -> bool:
    """Somebody leads, shows fresh sums, and hears every node."""
    shown = cluster.summary()
    loads = nodeloads.decode(cluster.redis.get(keys.nodes(SUB_CLUSTER)) or b"")
    age_s = abs(time.time() - shown.at) if shown else 0.0
    if shown is None or loads is None or age_s >= 6 * FACTOR or shown.epoch != cluster.leader()[0]:
        return False
    there = loads.state < NodeState.DECOMMISSIONED
    heard = (loads.state[there] == NodeState.UP) & (loads.age_ms[there] < 4000)
    return bool(heard.all()) and not shown.frozen


def test_credentials_of_nodes_are_restored(cluster: Cluster):
    names = [f"node-{cluster.node_id(f'east-{i}')}" for i in (1, 2, 3)]
    assert set(names) <= set(cluster.redis.acl_users())
    cluster.redis.acl_deluser(*names)
    cluster.redis.flushall()
    within(ACTIVE_S, lambda: set(names) <= set(cluster.redis.acl_users()), "Redis users are restored")
    within(ACTIVE_S, lambda: active(cluster), "users lost: everything is active")


@pytest.mark.parametrize("fault", ["emptied", "full"])
def test_the_post_is_taken_although_the_broker_was(cluster: Cluster, fault: str):
    if fault == "emptied":
        cluster.broker.flushall()
    else:
        cluster.broker.config_set("maxmemory", "1")
    try:
        assert cluster.settled(cluster.task_job(f"broker-{fault}", "true")).succeeded
    finally:
        cluster.broker.config_set("maxmemory", str(512 << 20))
    epoch, holder = cluster.led()
    cluster.stack.kill(holder, signal.SIGKILL)
    within(ACTIVE_S, lambda: cluster.leader()[0] > epoch, f"broker {fault}, leader killed: another leads")
    wait_until(lambda: cluster.stack.ready(holder), 20, "the killed worker is back")


@pytest.mark.parametrize("fault", ["down", "full"])
def test_the_post_is_taken_without_a_broker(cluster: Cluster, fault: str):
    epoch, holder = cluster.led()
    if fault == "down":
        cluster.stack.hold("broker")
    else:
        cluster.broker.config_set("maxmemory", "1")
    try:
        with limit(f"broker {fault}, leader killed: the standby leads", LEADS_S):
            cluster.stack.kill(holder, signal.SIGKILL)
            wait_until(lambda: cluster.leader()[0] > epoch, LEADS_S, f"broker {fault}: another leads")
        assert cluster.settled(cluster.task_job(f"without-{fault}", "true")).succeeded
    finally:
        if fault == "down":
            cluster.stack.release("broker")
        else:
            cluster.broker.config_set("maxmemory", str(512 << 20))
    wait_until(lambda: cluster.stack.ready(holder), 30, "the killed worker is back")
