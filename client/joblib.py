"""joblib's parallel calls as Hydra jobs: each batch of calls is a task somewhere in the cluster.

import joblib
import client.joblib                                      # makes the backend known

with joblib.parallel_config("hydra", n_jobs=100, memory_mib=2048):
    found = joblib.Parallel()(joblib.delayed(fit)(seed) for seed in range(1000))

Needs ``joblib`` and ``cloudpickle`` here and in the containers' Python, of the same versions:
``pip install '.[joblib]'`` in a clone.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import cloudpickle
    from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, SequentialBackend, register_parallel_backend
except ImportError as missing:
    raise ImportError("the backend needs joblib; in a clone of this project: pip install '.[joblib]'") from missing

from client.api import Client
from client.errors import HydraError
from hydra import batch

LOOK_EVERY_S = 0.5
AT_ONCE = 200  # batches in one request
N_JOBS = 32  # where joblib is told to use all there is


class BatchLost(RuntimeError):
    """A batch's task ended without a result, in every attempt: it was killed, or its Python could not start."""


class HydraBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """hydra: a client; by default the login that ``hydractl`` uses. Amounts are of each task. python: the interpreter
    in the containers. retries: of a batch whose task is lost or killed. group: what else a job file's group may say.

    What a call raises is raised here, as is why the containers' Python cannot call. An interrupt, or the first error,
    ends what has not ended.
    """

    supports_retrieve_callback = True
    default_n_jobs = N_JOBS
    MIN_IDEAL_BATCH_DURATION, MAX_IDEAL_BATCH_DURATION = 5.0, 60.0  # a task takes a second to begin and to be seen

    def __init__(
        self,
        hydra: Client | None = None,
        *,
        name: str = "joblib",
        queue: str | None = None,
        python: str = "python3",
        env: Mapping[str, str] | None = None,
        retries: int = 2,
        memory_mib: int = 1024,
        vcores_milli: int = 1000,
        gpus: int = 0,
        group: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._hydra, self._own = hydra, hydra is None
        self._name = f"{name}-{uuid.uuid4().hex[:12]}"  # by which its jobs are found; use is told by tag, so no tag
        resources = {"memory_mib": memory_mib, "vcores_milli": vcores_milli, "gpus": gpus}
        said: dict[str, Any] = {"name": "calls", "command": [python, "batch.py"], "env": dict(env or {})}
        said |= {"retries": retries, "resources": resources, "outputs": [{"name": "result", "path": batch.RESULT}]}
        self._group: dict[str, Any] = said | dict(group or {})
        self._job = {"name": self._name, "tags": ["joblib"]} | ({"queue": queue} if queue else {})
        self._new: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._live: dict[int, Future[Any]] = {}
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    # -- what joblib asks ---------------------------------------------------------------------------------------

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs is 0; say how many tasks may run at a time, or -1")
        return N_JOBS if n_jobs is None or n_jobs < 0 else n_jobs

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """Calls within calls are made one after the other, in their task."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None

    def start_call(self) -> None:
        self._hydra = self._hydra or Client.logged_in()
        self._ends.clear()
        self._thread = threading.Thread(target=self._serve, args=(self._hydra,), name="hydra-joblib", daemon=True)
        self._thread.start()

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        if callback:
            future.add_done_callback(callback)
        self._new.append((future, func))
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        return out.result()

    def stop_call(self) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """End what has not ended; nobody will look at it."""
        self.stop_call()
        if self._hydra is not None and (left := list(self._live)):
            with suppress(HydraError):  # its tasks end by themselves
                self._hydra.act("kill", left)
        self._live.clear()
        self._new.clear()
        if ensure_ready:
            self.start_call()

    def terminate(self) -> None:
        self.abort_everything(ensure_ready=False)
        if self._own and self._hydra is not None:
            self._hydra.close()
            self._hydra = None

    # -- the thread between them and the cluster ----------------------------------------------------------------

    def _serve(self, hydra: Client) -> None:
        while not self._ends.is_set():
            try:
                self._send(hydra)
                self._look(hydra)
            except Exception as error:  # whatever it is, who waits for results has to hear of it
                for future in self._live.values():
                    future.set_exception(error)
                self._live.clear()
            self._ends.wait(LOOK_EVERY_S)

    def _send(self, hydra: Client) -> None:
        """Submit what joblib has asked for since, each batch as a job, all or none."""
        batches = [self._new.popleft() for _ in range(min(len(self._new), AT_ONCE))]
        if not batches:
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                jobs = [self._packed(Path(folder) / f"{no}", func) for no, (_, func) in enumerate(batches)]
                ids = hydra.submit_many(jobs)
            except Exception as error:
                for future, _ in batches:
                    future.set_exception(error)
                return
        self._live |= dict(zip(ids, (future for future, _ in batches), strict=True))

    def _packed(self, folder: Path, func: Callable[[], Any]) -> dict[str, Any]:
        folder.mkdir()
        calls = folder / batch.CALLS
        calls.write_bytes(pickle.dumps(batch.VERSION) + cloudpickle.dumps(func))
        files = [{"path": "batch.py", "source": str(batch.__file__)}, {"path": batch.CALLS, "source": str(calls)}]
        files.extend(self._group.get("files", []))
        return self._job | {"groups": [self._group | {"files": files}]}

    def _look(self, hydra: Client) -> None:
        """Take in what has ended. One request while nothing has."""
        if not self._live:
            return
        running = {job.id for job in hydra.jobs(name=self._name, state="live", page_size=500)}
        for job_id in self._live.keys() - running:
            returned, what = self._result(hydra, job_id)
            future = self._live.pop(job_id)
            future.set_result(what) if returned else future.set_exception(what)

    def _result(self, hydra: Client, job_id: int) -> tuple[bool, Any]:
        """Whether the batch returned, and what; else what it raised, or that it is lost."""
        left = next(iter(hydra.outputs(job_id)), None)
        if left is None:
            job = hydra.job(job_id)
            return False, BatchLost(f"job {job_id} ended {job.state}: {job.message or 'see its log'}")
        with tempfile.TemporaryDirectory() as folder:
            told = hydra.download(left.digest, Path(folder) / batch.RESULT).read_bytes()
        found: tuple[bool, Any] = pickle.loads(told)  # noqa: S301 - from a task of our own
        return found


register_parallel_backend("hydra", HydraBackend)
