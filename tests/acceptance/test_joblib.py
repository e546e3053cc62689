"""joblib's calls as tasks in containers: results, exceptions, retries and the end of what nobody waits for."""

import os
import signal
import threading
from typing import Any

import pytest

joblib = pytest.importorskip("joblib")

from client.joblib import BatchLost, HydraBackend  # noqa: E402 - what follows needs joblib
from tests.acceptance.cluster import Cluster  # noqa: E402
from tests.acceptance.interpreter import interpreter  # noqa: E402
from tests.stack import wait_until  # noqa: E402

pytestmark = pytest.mark.acceptance


def parallel(cluster: Cluster, n_jobs: int, **more: Any) -> Any:
    python, env = interpreter(cluster, "joblib", "cloudpickle")
    backend = HydraBackend(cluster.tenant, python=python, env=env, memory_mib=128, vcores_milli=200, **more)
    return joblib.Parallel(n_jobs=n_jobs, backend=backend, batch_size=1)


def live(cluster: Cluster) -> list[int]:
    return [job.id for job in cluster.tenant.jobs(tag="joblib", state="live")]


def test_calls_return_and_raise_and_are_tried_again(cluster: Cluster) -> None:
    def where(i: int) -> tuple[int, str]:
        return i * i, os.environ["HYDRA_CONTAINER_ID"]

    found = parallel(cluster, 3)(joblib.delayed(where)(i) for i in range(6))
    assert [square for square, _ in found] == [i * i for i in range(6)]
    assert len({container for _, container in found}) == 6

    def divide(i: int) -> float:
        return 1 / i

    with pytest.raises(ZeroDivisionError):
        parallel(cluster, 2)(joblib.delayed(divide)(i) for i in (1, 0))

    python, _ = interpreter(cluster, "joblib", "cloudpickle")
    bare = HydraBackend(cluster.tenant, group={"command": [python, "-S", "batch.py"]}, memory_mib=128, vcores_milli=200)
    with pytest.raises(ImportError, match=r"No module named 'cloudpickle' \(by .*\); name another Python"):
        joblib.Parallel(n_jobs=2, backend=bare, batch_size=1)(joblib.delayed(divide)(i) for i in (1, 2))

    def dies_once() -> str:
        if os.environ["HYDRA_ATTEMPT"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return os.environ["HYDRA_ATTEMPT"]

    assert parallel(cluster, 2)(joblib.delayed(dies_once)() for _ in range(2)) == ["2", "2"]
    with pytest.raises(BatchLost, match="job"):
        parallel(cluster, 2, retries=0)(joblib.delayed(dies_once)() for _ in range(2))


def test_what_nobody_waits_for_any_more_ends(cluster: Cluster) -> None:
    def endless(i: int) -> None:
        if not i:
            raise ValueError("the first one")
        threading.Event().wait()

    with pytest.raises(ValueError, match="the first one"):
        parallel(cluster, 3)(joblib.delayed(endless)(i) for i in range(3))
    wait_until(lambda: not live(cluster), what="its tasks have been ended")
