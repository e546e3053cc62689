"""Which processes belong to a container, and what they use. Reads /proc only.

A process belongs to a container when it descends from its first process, is in
its session, carries its marker group (as root), or has its id in the
environment it was started with. The last two find what double-forked.
"""

import os
from dataclasses import dataclass
from functools import cache

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_MS = 1000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc. ``start_ticks``: after boot; with the pid it names a process for good."""

    pid: int
    state: str
    parent: int
    session: int
    cpu_ms: int  # own and of its reaped children
    start_ticks: int
    rss_bytes: int


def read(pid: int) -> Process | None:
    """The process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    rest = text[text.rindex(b")") + 2 :].split()
    cpu = sum(int(rest[i]) for i in (11, 12, 13, 14)) * TICK_MS
    return Process(pid, rest[0].decode(), int(rest[1]), int(rest[3]), cpu, int(rest[19]), int(rest[21]) * PAGE)


def all_processes() -> dict[int, Process]:
    """Every process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read(int(name))
            if process is not None:
                found[process.pid] = process
    return found


def children_of(processes: dict[int, Process]) -> dict[int, list[int]]:
    """Pids by parent, for ``descendants``."""
    by_parent: dict[int, list[int]] = {}
    for process in processes.values():
        by_parent.setdefault(process.parent, []).append(process.pid)
    return by_parent


class ProcessSnapshot:
    """All processes and their children as of at most a quarter second ago: one look serves many measures."""

    def __init__(self) -> None:
        self.at = float("-inf")
        self.processes: dict[int, Process] = {}
        self.by_parent: dict[int, list[int]] = {}

    def refreshed(self, now: float) -> "ProcessSnapshot":
        """The last look, or a new one when that is too old. ``now``: s, monotonic."""
        if not 0 <= now - self.at < 0.25:
            self.at, self.processes = now, all_processes()
            self.by_parent = children_of(self.processes)
        return self


recent = ProcessSnapshot()


def own_children() -> set[int] | None:
    """Pids of this process's children; None where the kernel does not list them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return None


def descendants(roots: set[int], by_parent: dict[int, list[int]]) -> set[int]:
    """The roots and everything below them."""
    found: set[int] = set()
    todo = list(roots)
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += by_parent.get(pid, ())
    return found


def groups_of(pid: int) -> set[int]:
    """Supplementary groups; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"Groups:"):
                    return {int(g) for g in line.split()[1:]}
    except OSError:
        pass
    return set()


def environment_has(pid: int, entry: bytes) -> bool:
    """Whether the process was started with ``entry`` (``NAME=value``) in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return entry in file.read(1 << 20).split(b"\0")
    except OSError:
        return False


def proportional_bytes(pids: set[int]) -> int:
    """Memory of the processes with shared pages divided among their users; exact, and dear to read."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith((b"Pss:", b"SwapPss:"))) * 1024
        except OSError:
            process = read(pid)
            total += process.rss_bytes if process else 0
    return total


@cache
def boot_id() -> str:
    """Tells one run of the kernel from the next, since both hand out the same pids."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
