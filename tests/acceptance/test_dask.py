"""Dask clusters as jobs: a real scheduler and real workers in containers, computing."""

import os
import signal
import threading
from typing import Any

import httpx
import pytest

distributed = pytest.importorskip("distributed")

from client.dask import HydraCluster  # noqa: E402
from tests.acceptance.cluster import Cluster  # noqa: E402
from tests.acceptance.interpreter import interpreter  # noqa: E402
from tests.processes import Pid, alive  # noqa: E402
from tests.stack import wait_until  # noqa: E402

pytestmark = pytest.mark.acceptance


def dask_cluster(cluster: Cluster, **options: Any) -> HydraCluster:
    python, env = interpreter(cluster, "distributed", "msgpack", "cryptography")
    small = {"memory_mib": 512, "vcores_milli": 200}
    return HydraCluster(cluster.tenant, python=python, env=env, scheduler=small, nthreads=1, **(small | options))


def test_an_adaptive_run_of_a_real_computation(cluster: Cluster) -> None:
    def where(i: int) -> tuple[int, str, str]:
        threading.Event().wait(0.3)  # its work
        return i * i, os.environ["HYDRA_CONTAINER_ID"], os.environ["HYDRA_NODE"]

    with dask_cluster(cluster) as workers:
        workers.adapt(minimum=0, maximum=3, interval="200ms", wait_count=3, target_duration="1s")
        with distributed.Client(workers) as dask:
            assert workers.scheduler_address.startswith("tls://")
            found = dask.gather(dask.map(where, range(60)))
            assert [square for square, _, _ in found] == [i * i for i in range(60)]
            containers = {container for _, container, _ in found}
            assert 2 <= len(containers) <= 3
            total = dask.submit(sum, dask.map(lambda i: i + 1, range(100))).result(60)
            assert total == 5050
        link = workers.dashboard_link.replace("/status", "/health")
        answer = httpx.get(link, headers={"Authorization": f"Token {cluster.stack.token()}"}, trust_env=False)
        assert answer.text.strip() == "ok"  # the scheduler's own pages, through the proxy
        wait_until(lambda: not workers.observed, 60, "nobody is kept once the work is done")
        job = workers.job_id
        assert cluster.tenant.job(job).tracking == f"/proxy/{job}/master.0.dashboard/status"
        live = [c for c in cluster.tenant.containers(job) if c.state in ("ALLOCATED", "LOCALIZING", "RUNNING")]
        wait_until(lambda: len(cluster.live(cluster.tenant.job(job))) == 1, 30, f"only the scheduler lives, of {live}")
    ended = cluster.wait(job, 30)
    assert ended.state == "SUCCEEDED", ended.message
    assert containers <= {c.id for c in cluster.tenant.containers(job)}


def test_a_worker_that_dies_is_replaced_and_what_it_did_is_done_again(cluster: Cluster) -> None:
    def say(i: int) -> tuple[int, int, str]:
        return i, os.getpid(), os.environ["HYDRA_CONTAINER_ID"]

    with dask_cluster(cluster, workers=2) as workers, distributed.Client(workers) as dask:
        workers.wait_for_workers(2, timeout=60)
        futures = dask.map(say, range(40), pure=False)
        first = dask.gather(futures)
        _, number, container = first[0]
        pid = Pid(number)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid) and container not in workers.observed, 30, "the worker is gone")
        workers.wait_for_workers(2, timeout=60)
        again = dask.gather(futures)
        assert [i for i, _, _ in again] == list(range(40)) and container not in {c for _, _, c in again}
        workers.scale(1)
        wait_until(lambda: len(workers.observed) == 1, 30, "one is let go")
        assert sum(dask.gather(dask.map(lambda i: i, range(10)))) == 45
        job = workers.job_id
    assert cluster.wait(job, 30).state == "SUCCEEDED"


def test_a_cluster_whose_workers_cannot_start_says_why(cluster: Cluster) -> None:
    with dask_cluster(cluster, worker={"env": {"PYTHONHOME": "/nowhere"}, "resources": {"memory_mib": 64}}) as workers:
        workers.scale(1)
        job = cluster.wait(workers.job_id, 120)
    assert job.state == "FAILED" and "its workers end at once" in (job.message or "")
