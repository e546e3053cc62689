"""A Dask cluster whose scheduler and workers are containers of one Hydra job.

from dask.distributed import Client as DaskClient
from client.dask import HydraCluster

with HydraCluster(memory_mib=2048, vcores_milli=2000) as cluster:
    cluster.adapt(minimum=0, maximum=20)      # or cluster.scale(8)
    with DaskClient(cluster) as dask:
        print(dask.submit(sum, range(10)).result())

Needs ``distributed`` here and in the containers' Python, of the same version:
``pip install '.[dask]'`` in a clone.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    from distributed import Status, rpc
    from distributed.deploy.adaptive import Adaptive
    from distributed.deploy.cluster import Cluster
    from distributed.security import Security
except ImportError as missing:
    raise ImportError("HydraCluster needs Dask; in a clone of this project: pip install '.[dask]'") from missing

from client.api import Client
from client.errors import HydraError
from contract.jobs import Endpoint
from hydra.dask import CERTIFICATE, KEY

LOOK_EVERY_S = 0.25
SETTINGS = "dask.json"


class HydraAdaptive(Adaptive):
    """Lets workers go through the cluster alone, which counts them; else their ends would look like failures."""

    async def scale_down(self, workers: Any) -> None:
        if workers:
            await self.cluster.retire(list(workers))


class HydraCluster(Cluster):
    """``scale(n)``, ``adapt(minimum=, maximum=)``, ``close()``, and all else that a Dask cluster has.

    hydra: a client; by default the login that ``hydractl`` uses. The other
    amounts are of each worker. python: the interpreter in the containers. env,
    files: as in a job's group, for scheduler and workers. tls: whether all
    connections are encrypted and authenticated with a certificate made for
    this cluster; without it, whoever reaches the nodes' ports can run code as
    you. idle_timeout_s: the cluster ends when nothing was computed for so long.
    """

    def __init__(
        self,
        hydra: Client | None = None,
        *,
        workers: int = 0,
        memory_mib: int = 2048,
        vcores_milli: int = 1000,
        gpus: int = 0,
        nthreads: int | None = None,
        queue: str | None = None,
        name: str = "dask",
        python: str = "python3",
        env: dict[str, str] | None = None,
        files: list[dict[str, Any]] | None = None,
        worker: dict[str, Any] | None = None,
        scheduler: dict[str, int] | None = None,
        tls: bool = True,
        idle_timeout_s: float = 3600.0,
        timeout_s: float = 120.0,
        asynchronous: bool = False,
        loop: Any = None,
    ) -> None:
        super().__init__(asynchronous=asynchronous, loop=loop, name=name)
        self._own_client = hydra is None
        self.hydra = hydra or Client.logged_in()
        self.security = _certificate() if tls else Security()
        self.timeout_s = timeout_s
        self.wanted = workers
        self.job_id = 0
        resources = {"memory_mib": memory_mib, "vcores_milli": vcores_milli, "gpus": gpus}
        self._settings = {
            "python": python,
            "nthreads": nthreads or max(1, vcores_milli // 1000),
            "memory_mib": memory_mib * 9 // 10,  # the interpreter's own share stays outside of what Dask counts
            "worker": {"resources": resources, "env": env or {}, "grace_s": 5, **(worker or {})},
            "files": [file["path"] for file in files or []] + ([CERTIFICATE, KEY] if tls else []),
            "tls": tls,
            "idle_timeout_s": idle_timeout_s,
        }
        self._spec = _specification(name, queue, timeout_s)
        self._spec["master"] |= {
            "command": [python, "-u", "-m", "hydra.dask", SETTINGS],
            "env": env or {},
            "files": list(files or []),
            "resources": scheduler or {"memory_mib": 1024, "vcores_milli": 1000},
        }
        if not self.asynchronous:
            self._loop_runner.start()
            self.sync(self._start)

    # --- beginning and end

    async def _start(self) -> None:
        """Submit the job and connect to its scheduler."""
        if self.status == Status.running:
            return
        self.job_id = (await asyncio.to_thread(self._submit)).id
        try:
            at = await self._scheduler()
            scheme = "tls" if self._settings["tls"] else "tcp"
            arguments = self.security.get_connection_args("client")
            self.scheduler_comm = rpc(f"{scheme}://{_authority(at)}", connection_args=arguments)
            await super()._start()
        except BaseException:
            with suppress(HydraError):
                await asyncio.to_thread(self.hydra.kill, self.job_id, "its scheduler was not reached")
            raise
        await self._scale(self.wanted)

    def _submit(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            texts = {SETTINGS: json.dumps(self._settings)}
            if self._settings["tls"]:
                texts |= {CERTIFICATE: self.security.tls_ca_file, KEY: self.security.tls_client_key}
            for path, text in texts.items():
                source = Path(folder, path)
                source.parent.mkdir(exist_ok=True)
                source.write_text(text)
                self._spec["master"]["files"].append({"path": path, "source": str(source), "mode": 0o600})
            return self.hydra.submit(self._spec)

    async def _scheduler(self) -> Endpoint:
        """Where the job's master serves, once it does."""
        async with asyncio.timeout(self.timeout_s):
            while True:
                found = await asyncio.to_thread(lambda: list(self.hydra.endpoints(self.job_id)))
                for endpoint in found:
                    if endpoint.name == "scheduler" and endpoint.healthy:
                        return endpoint
                job = await asyncio.to_thread(self.hydra.job, self.job_id)
                if job.finished_at is not None:
                    why = f"{job.message or job.state}; see: hydractl logs {job.id}/master/0 --stderr"
                    raise RuntimeError(f"job {job.id} of the Dask cluster has ended: {why}")
                await asyncio.sleep(LOOK_EVERY_S)

    async def _close(self) -> None:
        """End scheduler, workers and job; kills the job when its master does not answer."""
        if self.status in (Status.closing, Status.closed):
            return
        if self.scheduler_comm is not None:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(5):
                    await self.scheduler_comm.hydra_finish()
        await super()._close()
        if self.job_id:
            await asyncio.to_thread(self._end_job)

    def _end_job(self) -> None:
        try:
            self.hydra.wait(self.job_id, timeout_s=40)
        except TimeoutError:
            self.hydra.kill(self.job_id, "its Dask cluster was closed")
        finally:
            if self._own_client:
                self.hydra.close()

    # --- scaling

    def scale(self, n: int) -> Any:
        """Have ``n`` workers soon."""
        return self.sync(self._scale, n)

    async def _scale(self, n: int) -> None:
        self.wanted = await self.scheduler_comm.hydra_scale(n=n)

    async def retire(self, names: list[str]) -> None:
        """Let just these workers go; names of workers that have not come yet stand for any such one."""
        known = [name for name in names if name in self.observed]
        self.wanted = await self.scheduler_comm.hydra_retire(names=known, n=max(0, self.wanted - len(names)))

    def scale_down(self, workers: list[str]) -> Any:
        return self.sync(self.retire, list(workers))

    def adapt(self, Adaptive: Any = HydraAdaptive, **options: Any) -> Any:  # noqa: N803 - Dask's name
        """Have as many workers as the work needs: ``minimum``, ``maximum``, and options of ``distributed.Adaptive``."""
        return super().adapt(Adaptive=Adaptive, **options)

    @property
    def plan(self) -> set[str]:
        """Workers that are there, and a name for each that is still to come."""
        there: set[str] = set(self.observed)
        return there | {f"to come {i}" for i in range(self.wanted - len(there))}

    @property
    def requested(self) -> set[str]:
        return self.plan

    @property
    def dashboard_link(self) -> str:
        """The scheduler's own pages, through Hydra's proxy."""
        return f"{self.hydra.url}/proxy/{self.job_id}/dashboard/status"


def _authority(at: Endpoint) -> str:
    return f"[{at.host}]:{at.port}" if ":" in at.host else f"{at.host}:{at.port}"


def _specification(name: str, queue: str | None, timeout_s: float) -> dict[str, Any]:
    """The job, but for what its master runs and with what."""
    master = {
        "ports": [{"name": "scheduler"}, {"name": "dashboard"}],
        "health_check": {"port": "dashboard", "http": "/health", "start_s": timeout_s, "failures": 6},
        "retries": 0,  # what it knows of its workers' data dies with it
    }
    spec = {"name": name, "kind": "application", "tags": ["dask"], "master": master}
    return spec | ({"queue": queue} if queue else {})


def _certificate() -> Security:
    """A certificate for this cluster alone; it is authority, server and client in one."""
    try:
        return Security.temporary()
    except ImportError:
        raise ImportError(
            "encryption needs the package cryptography: pip install '.[dask]' in a clone; or pass tls=False where "
            "everybody who reaches the nodes may run code as you"
        ) from None
