"""A node's machine: the processes its supervisor holds, and its disk. Both outlive the agent."""

from dataclasses import dataclass, field
from typing import Any

from nodemanager.events import Exit, RuntimeContainer
from wire.desired import Lease

TERM, KILL = 15, 9


@dataclass(slots=True)
class Process:
    """One container as the supervisor holds it. kill_at: when a polite stop turns into a kill; None: nobody stops it.

    meta: what the launch context says of it. incarnation: of the machine, on which it was started.
    """

    container: int
    lease: Lease
    meta: dict[str, object]
    incarnation: int
    began: float
    exit: Exit | None = None
    kill_at: float | None = None

    @property
    def alive(self) -> bool:
        return self.exit is None


@dataclass(slots=True)
class Machine:
    """incarnation: counts how often its disk was new. cut: the network does not reach it.
    disk: the agent's saved state. applied: epoch and generation of the newest document that any agent here applied."""

    node: int
    sub: int
    incarnation: int = 1
    cut: bool = False
    disk: dict[str, Any] | None = None
    applied: tuple[int, int] = (0, 0)
    processes: dict[int, Process] = field(default_factory=dict)

    def start(self, container: int, lease: Lease, meta: dict[str, object], now: float) -> Process | None:
        """Fork; None where it holds the container already."""
        if container in self.processes:
            return None
        made = self.processes[container] = Process(container, lease, meta, self.incarnation, now)
        return made

    def stop(self, container: int, grace_s: float, now: float) -> None:
        process = self.processes.get(container)
        if process is not None and process.alive:
            process.kill_at = min(now + grace_s, process.kill_at if process.kill_at is not None else now + grace_s)

    def forget(self, container: int) -> None:
        process = self.processes.get(container)
        if process is not None and not process.alive:
            del self.processes[container]

    def end(
        self,
        process: Process,
        now: float,
        code: int = 0,
        signal: int = 0,
        unknown: bool = False,
        given_up: bool = False,
    ) -> Exit:
        """The process is gone. unknown: nobody saw how. given_up: its supervisor stopped it, having no agent."""
        ran_ms = int((now - process.began) * 1000)
        process.exit = Exit(
            code, signal, unknown=unknown, disconnected=given_up, ran_ms=ran_ms, cpu_ms=ran_ms, peak_mib=16
        )
        return process.exit

    def runtime_list(self, now: float) -> list[RuntimeContainer]:
        """What the supervisor says it holds."""
        return [
            RuntimeContainer(
                p.container, p.meta, int((now - p.began) * 1000) if p.exit is None else p.exit.ran_ms, p.exit
            )
            for p in self.processes.values()
        ]

    def alive(self) -> list[Process]:
        return [p for p in self.processes.values() if p.alive]

    def reboot(self, now: float) -> None:
        """Everything that ran is gone; what is on the disk stays, and how they ended nobody saw."""
        for process in self.alive():
            self.end(process, now, unknown=True)

    def replace(self, now: float) -> None:
        """Another machine under the same name."""
        self.reboot(now)
        self.processes, self.disk, self.incarnation, self.applied = {}, None, self.incarnation + 1, (0, 0)
