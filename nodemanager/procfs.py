"""Which processes belong to a container, and what they use. Reads /proc only.

A process belongs to a container when it descends from its first process, is in
its session, carries its marker group (as root), or has its id in the
environment it was started with. The last two find what double-forked.
"""

import os
import time
from dataclasses import dataclass
from functools import cache, cached_property

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_MS = 1000 // os.sysconf("SC_CLK_TCK")
RECENT_S = 0.25
NAMED_BY = b"HYDRA_CONTAINER_ID="


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

    @property
    def alive(self) -> bool:
        """Not ended, nor ended and only not yet collected."""
        return self.state not in "ZX"


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


def age_s(start_ticks: int) -> float:
    """For how long what began then has run, whatever was done to the clock; 0 where that is not known."""
    ran_s = time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks * TICK_MS / 1000
    return max(0.0, ran_s) if start_ticks else 0.0


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
    """All processes at one time, and by what those of a container are found. ``at``: s, monotonic.

    ``before``: an earlier look. Groups are read once for each process: without privileges none changes its own.
    """

    def __init__(self, at: float, before: "ProcessSnapshot | None" = None) -> None:
        self.at, self.processes = at, all_processes()
        self.by_parent = children_of(self.processes)
        self._groups: dict[tuple[int, int], set[int]] = before._groups if before is not None else {}
        self._orphans: dict[int, dict[bytes, set[int]]] = {}

    @cached_property
    def by_session(self) -> dict[int, set[int]]:
        """Live processes by their session."""
        found: dict[int, set[int]] = {}
        for process in self.processes.values():
            if process.alive:
                found.setdefault(process.session, set()).add(process.pid)
        return found

    @cached_property
    def by_group(self) -> dict[int, set[int]]:
        """Live processes by each of their supplementary groups."""
        known = self._groups
        names = [(p.pid, p.start_ticks) for p in self.processes.values() if p.alive]
        looked = {name: known[name] if name in known else groups_of(name[0]) for name in names}
        self._groups = {name: groups for name, groups in looked.items() if groups is not None}
        found: dict[int, set[int]] = {}
        for (pid, _), groups in self._groups.items():
            for group in groups:
                found.setdefault(group, set()).add(pid)
        return found

    @cached_property
    def below(self) -> set[int]:
        """This process and everything below it."""
        return descendants({os.getpid()}, self.by_parent)

    def orphans_of(self, parent: int) -> dict[bytes, set[int]]:
        """Live children of a process that takes orphans in, by the containers their environment names."""
        if parent not in self._orphans:
            found: dict[bytes, set[int]] = {}
            for pid in self.by_parent.get(parent, ()):
                for name in container_names_of(pid) if self.processes[pid].alive else ():
                    found.setdefault(name, set()).add(pid)
            self._orphans[parent] = found
        return self._orphans[parent]


class Looks:
    """The last look at all processes, which serves many measures."""

    def __init__(self) -> None:
        self.last: ProcessSnapshot | None = None

    def now(self) -> ProcessSnapshot:
        """All processes as they are at this moment; later measures may share it."""
        self.last = ProcessSnapshot(time.monotonic(), self.last)
        return self.last

    def recent(self) -> ProcessSnapshot:
        """One of at most a quarter second ago."""
        fresh = self.last is not None and 0 <= time.monotonic() - self.last.at < RECENT_S
        return self.last if fresh and self.last is not None else self.now()


looks = Looks()


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


def groups_of(pid: int) -> set[int] | None:
    """Supplementary groups; None when they cannot be read."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next({int(g) for g in line.split()[1:]} for line in file if line.startswith(b"Groups:"))
    except (OSError, StopIteration):
        return None


def container_names_of(pid: int) -> set[bytes]:
    """The containers that the process's environment named when it was started; at most one of honest ones."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read(1 << 20).split(b"\0")
    except OSError:
        return set()
    return {entry[len(NAMED_BY) :] for entry in entries if entry.startswith(NAMED_BY)}


def environment_of(pid: int) -> dict[str, str]:
    """What the process was started with; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = os.fsdecode(file.read(1 << 20)).split("\0")
    except OSError:
        return {}
    return {name: value for name, found, value in (entry.partition("=") for entry in entries) if found}


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
