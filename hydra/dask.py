"""The application master of a Dask cluster: runs the scheduler, and its workers as containers of the same job.

``client.dask.HydraCluster`` starts it as ``python -m hydra.dask SETTINGS``
(JSON, ``Settings``) and speaks to it over the scheduler's own connections, by
the operations ``hydra_scale``, ``hydra_retire`` and ``hydra_finish``. Unlike
the rest of this package it needs ``distributed`` where it runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.am import ApplicationMaster, AskSpec, AsyncApplicationMaster, Event

ASK = "worker"
CERTIFICATE, KEY = "tls/certificate.pem", "tls/key.pem"
POLL_S = 5  # a look for events that holds a thread, and so the end of this program, for so long at most
DEATH_S = 60  # a worker that has lost its scheduler ends after this
TOO_SOON_S = 20.0  # a worker that ends earlier, unasked, may do so again at once
FAILURES_MAX = 8  # such ends in a row, then something is wrong with all of them
PAUSE_MAX_S = 15.0


@dataclass(frozen=True)
class Settings:
    """What the cluster's owner wants. worker: the ask's spec, without command, ports and files."""

    python: str
    nthreads: int
    memory_mib: int
    worker: AskSpec = field(default_factory=AskSpec)
    files: list[str] = field(default_factory=list)  # paths of the job's files that workers get too
    tls: bool = False
    idle_timeout_s: float = 0.0  # the cluster ends when nothing was computed for so long; 0: never


def worker_command(settings: Settings, scheduler: str) -> str:
    """The shell command of every worker. It is known by its container's id."""
    scheme = "tls" if settings.tls else "tcp"
    words = [
        f"exec {settings.python} -m distributed.cli.dask_worker {scheduler}",
        '--name "$HYDRA_CONTAINER_ID" --no-nanny --no-dashboard',
        f'--listen-address "{scheme}://0.0.0.0:$HYDRA_PORT_WORKER"',
        f'--contact-address "{scheme}://$HYDRA_HOST:$HYDRA_PORT_WORKER"',
        f'--nthreads {settings.nthreads} --memory-limit {settings.memory_mib}MiB --local-directory "$TMPDIR"',
        f"--death-timeout {DEATH_S}",
    ]
    if settings.tls:
        words.append(f"--tls-ca-file {CERTIFICATE} --tls-cert {CERTIFICATE} --tls-key {KEY}")
    return " ".join(words)


class Workers:
    """Keeps as many worker containers as are wanted. All calls on one event loop."""

    def __init__(self, am: ApplicationMaster, scheduler: Any, spec: AskSpec) -> None:
        self.am, self.scheduler, self.spec = am, scheduler, spec
        self.wanted = 0
        self.leaving: set[str] = set()
        self.since: dict[str, float] = {}  # container -> when it was granted
        self.failures = 0
        self.why = ""
        self.changing = asyncio.Lock()

    def connected(self) -> set[str]:
        return {str(worker.name) for worker in self.scheduler.workers.values()}

    def staying(self) -> list[str]:
        return [c.id for c in self.am.live(ASK) if c.id not in self.leaving]

    async def scale(self, n: int) -> int:
        """Want ``n`` workers; the cheapest to lose go first when there are more. How many are wanted now."""
        self.wanted = max(0, int(n))
        surplus = len(self.staying()) - self.wanted
        if surplus > 0:
            connected = self.connected()
            leave = [cid for cid in self.staying() if cid not in connected][:surplus]
            if surplus > len(leave):
                leave += self.scheduler.workers_to_close(n=surplus - len(leave), attribute="name")
            await self.leave(leave)
        await self.settle()
        return self.wanted

    async def retire(self, names: list[str], n: int) -> int:
        """Let just these workers go, and want ``n``."""
        self.wanted = max(0, int(n))
        await self.leave(names)
        await self.settle()
        return self.wanted

    async def leave(self, names: list[str]) -> None:
        """Move what these workers hold to others, then give their containers back."""
        mine = {c.id for c in self.am.live(ASK)} & set(names) - self.leaving
        if not mine:
            return
        self.leaving |= mine
        known = sorted(mine & self.connected())
        if known:
            await self.scheduler.retire_workers(names=known, close_workers=True, remove=True)
        await asyncio.to_thread(self.am.release, sorted(mine))

    async def settle(self) -> None:
        """Ask for what is missing."""
        async with self.changing:
            missing = max(0, self.wanted - len(self.staying()))
            await asyncio.to_thread(self.am.ask, ASK, self.am.granted(ASK) + missing, **self.spec)

    async def follow(self) -> None:
        """Take in what happens to the containers, until too many in a row ended at once."""
        am = AsyncApplicationMaster(self.am)
        while self.failures < FAILURES_MAX:
            for event in await am.poll(POLL_S):
                await self.heard(event)

    async def heard(self, event: Event) -> None:
        if event.kind == "granted":
            self.since[event.container] = time.monotonic()
        elif event.kind == "warned":  # it will be stopped soon: what it holds can still be saved
            await self.scheduler.retire_workers(names=[event.container], close_workers=False, remove=False)
        elif event.kind == "ended":
            early = time.monotonic() - self.since.pop(event.container, 0.0) < TOO_SOON_S
            if event.container in self.leaving:
                self.leaving.discard(event.container)
            elif early:
                self.failures += 1
                how = [f"{each}" for each in (event.reason, event.exit_code) if each is not None]
                self.why = f"{event.container} ended {event.state}, {' '.join(how)}"
                await asyncio.sleep(min(PAUSE_MAX_S, 0.1 * 2**self.failures))
            else:
                self.failures = 0
        if self.connected():
            self.failures = 0
        await self.settle()


async def serve(settings: Settings, am: ApplicationMaster) -> None:
    """Run the cluster to its end, and say how the job ends."""
    from distributed import Scheduler

    scheme, port = "tls" if settings.tls else "tcp", int(os.environ["HYDRA_PORT_SCHEDULER"])
    address = f"{scheme}://{os.environ['HYDRA_HOST']}:{port}"
    scheduler = Scheduler(
        host="0.0.0.0",
        port=port,
        protocol=scheme,
        contact_address=address,
        dashboard_address=f":{os.environ['HYDRA_PORT_DASHBOARD']}",
        idle_timeout=settings.idle_timeout_s or None,
        security=_security() if settings.tls else None,
    )
    spec: AskSpec = {
        "command": worker_command(settings, address), "shell": True, "ports": [{"name": "worker"}],
        "files": am.files(*settings.files), **settings.worker,
    }  # fmt: skip
    workers = Workers(am, scheduler, spec)
    over = asyncio.Event()
    offered: dict[str, Callable[..., Any]] = {
        "hydra_scale": workers.scale, "hydra_retire": workers.retire, "hydra_finish": over.set
    }  # fmt: skip
    scheduler.handlers.update(offered)
    async with scheduler:
        print(f"scheduler at {scheduler.address}", flush=True)
        ends = {
            asyncio.create_task(over.wait()): ("SUCCEEDED", "closed by its owner"),
            asyncio.create_task(scheduler.finished()): ("SUCCEEDED", "nothing was computed for a while"),
            asyncio.create_task(workers.follow()): ("FAILED", "its workers end at once"),
        }
        done, others = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in others:
            task.cancel()
        end = done.pop()
        end.result()
        status, message = ends[end]
        message = f"{message}: {workers.why}" if status == "FAILED" else message
        await asyncio.to_thread(am.finish, status, message[:200])  # first, so that no end looks like a failure


def _security() -> Any:
    from distributed.security import Security

    files = {
        f"tls_{role}_{what}": path
        for role in ("scheduler", "worker")
        for what, path in (("cert", CERTIFICATE), ("key", KEY))
    }
    return Security(require_encryption=True, tls_ca_file=CERTIFICATE, **files)


def main() -> None:
    """Never leaves the job without a word of how it ended."""
    settings = Settings(**json.loads(Path(sys.argv[1]).read_text() if sys.argv[1:] else "{}"))
    am = ApplicationMaster.from_env()
    am.register({"port": "dashboard", "path": "/status"})
    try:
        asyncio.run(serve(settings, am))
    except Exception as error:
        am.finish("FAILED", f"the scheduler failed: {type(error).__name__}: {error}"[:200])
        raise


if __name__ == "__main__":
    main()
