"""The leader's loop with nodes that play by themselves: quick, watchful, and out of office at once."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from django.conf import settings
from django.db import connections

from controlplane import shutdown
from controlplane.rm.adapters.clock import DatabaseClock
from controlplane.rm.driver.leader import Leader, Pace
from controlplane.rm.driver.liveness import AnsweredClock
from controlplane.rm.tasks import lead
from controlplane.statestore import bus
from controlplane.statestore.models import Lease
from simulator.hollow import HollowNodes
from tests import invariants
from tests.integration.rm.cluster import Cluster
from tests.patience import let_pass, stretched, wait_until
from wire.states import JobState

QUICK = Pace(heartbeat_s=0.1, interval_s=0.02, renew_s=0.1, node_lost_s=2.0, max_disconnect_s=60.0)


@contextmanager
def thread(run: Callable[[], object]) -> Iterator[threading.Thread]:
    def guarded() -> None:
        try:
            run()
        finally:
            connections.close_all()

    t = threading.Thread(target=guarded, daemon=True)
    t.start()
    yield t
    t.join(stretched(10))
    assert not t.is_alive()


@contextmanager
def serving(cluster: Cluster, run_s: float, pace: Pace = QUICK) -> Iterator[HollowNodes]:
    """A leader and its nodes at work; containers run for ``run_s``."""
    stop, it = threading.Event(), cluster.lead()
    clock = it.rounds.clock = DatabaseClock(it.store.now_us)
    loop = Leader(it.rounds, it.memory, it.store, it.bus, clock, "test", pace, lambda jobs: None, AnsweredClock())
    nodes = {n: node.lease_keys for n, node in cluster.nodes.nodes.items()}
    played = HollowNodes(settings.REDIS_URL, cluster.sub.pk, nodes, run_s)
    with thread(lambda: loop.run(stop.is_set)) as t, thread(lambda: played.run(stop, heartbeat_s=0.1, tick_s=0.01)):
        try:
            yield played
        finally:
            stop.set()
            wait_until(lambda: not t.is_alive(), 5, "a leader told to stop stops")


def ended(cluster: Cluster, *jobs: int) -> Callable[[], bool]:
    return lambda: all(cluster.job(j).state >= JobState.SUCCEEDED for j in jobs)


def test_jobs_run_through_by_themselves_and_the_summary_tells_it(cluster: Cluster) -> None:
    with serving(cluster, run_s=0.02):
        jobs = [cluster.submit({"count": 60}, {"name": "sum", "after": ["g0"]}) for _ in range(3)]
        bus.wake([cluster.sub.pk])
        wait_until(ended(cluster, *jobs), 30, "three jobs")

        def told() -> bool:
            shown = bus.summaries([cluster.sub.pk]).get(cluster.sub.pk)
            return shown is not None and (shown.ended, shown.live) == (183, 0)

        wait_until(told, 5, "the summary of a quiet cluster")
        summary = bus.summaries([cluster.sub.pk])[cluster.sub.pk]
        assert (summary.placed, summary.pending_containers, summary.frozen) == (183, 0, False)
        assert invariants.queue_usage(cluster.rows, cluster.sub.pk, summary.queues) == []
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1") == [(10, 183)]


def test_a_leader_with_nothing_to_do_extends_its_lease(cluster: Cluster) -> None:
    def expires() -> dt.datetime:
        return cast(dt.datetime, cluster.one("SELECT expires_at FROM statestore_lease"))

    with serving(cluster, run_s=0.02):
        for _ in range(5):
            before = expires()
            wait_until(lambda before=before: expires() > before, 5, "the lease lasts longer")


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(settings.HYDRA, "lease_s", 15.0)
    shutdown.requested.clear()
    yield
    shutdown.requested.clear()


@pytest.mark.usefixtures("post")
def test_the_post_offered_twice_is_taken_once_and_again_when_it_is_lost(cluster: Cluster) -> None:
    def led(epoch: int) -> bool:
        return Lease.objects.get().epoch == epoch

    try:
        with thread(lambda: lead(cluster.sub.pk)) as first:
            wait_until(lambda: led(1), 10, "the first leads")
            for _ in range(3):
                lead(cluster.sub.pk)  # doubled and late: comes back at once
            assert (first.is_alive(), Lease.objects.get().epoch) == (True, 1)
            cluster.rows("SELECT pg_terminate_backend(backend_pid) FROM statestore_lease")
            first.join(stretched(10))
            assert not first.is_alive(), "it gives up once its session is gone"
        cluster.expire()
        with thread(lambda: [lead(cluster.sub.pk) or let_pass(0.05) for _ in range(100) if not led(2)]) as second:
            wait_until(lambda: led(2), 10, "the second leads")
            job = cluster.submit({})
            wait_until(lambda: cluster.job(job).state == JobState.ADMITTED, 10, "it works")
            shutdown.requested.set()
            wait_until(lambda: not second.is_alive(), 5, "it resigns")
    finally:
        shutdown.requested.set()
    assert cluster.one("SELECT expires_at <= clock_timestamp() FROM statestore_lease"), "the post is free at once"
