"""The processes of one container, found again whatever they do to hide, and how they are ended."""

import os
import signal

from nodemanager import procfs
from nodemanager.cgroups import Cgroups

MAX_SCANS = 20  # at a tree that forks while it is frozen


class ProcessTree:
    """``pid``: of the container's first process, 0 while there is none that can be known.

    ``leader_alive``: that process has not been reaped. ``adopted``: an earlier supervisor started it, so that its
    orphans are not our children.
    """

    def __init__(self, cid: int, name: str, marker_gid: int, cgroups: Cgroups) -> None:
        self.cid, self.marker_gid, self.cgroups = cid, marker_gid, cgroups
        self.entry = f"HYDRA_CONTAINER_ID={name}".encode()
        self.pid = 0
        self.leader_alive, self.adopted = True, False

    def members(self, leaders: set[int] | None = None) -> set[int]:
        """Every live process of this container.

        ``leaders``: pids of all tasks' leaders; given, the cheap look is
        taken first: without orphans among our children there is nothing to find.
        """
        if leaders is not None and not self.adopted:
            orphans = procfs.own_children()
            if orphans is not None and not orphans - leaders and not self.cgroups.pids(self.cid):
                return set()
        processes = procfs.all_processes()
        by_parent = procfs.children_of(processes)
        roots = set()
        if self.pid:  # session 0 is the kernel's
            roots = {p.pid for p in processes.values() if p.session == self.pid and p.state not in "ZX"}
            roots |= {self.pid} if self.leader_alive else set()
        me = os.getpid()
        below = set(processes) if self.adopted else procfs.descendants({me}, by_parent)
        roots |= {pid for pid in below - roots - {me} if self._marked(processes[pid], me)}
        found = procfs.descendants(roots, by_parent) | self.cgroups.pids(self.cid)
        return {pid for pid in found if pid != me and pid in processes and processes[pid].state not in "ZX"}

    def _marked(self, process: procfs.Process, me: int) -> bool:
        """Whether it carries the container's mark: its group where there is one, else its name in the environment."""
        if process.state in "ZX":
            return False
        if self.marker_gid >= 0:
            return self.marker_gid in procfs.groups_of(process.pid)
        return process.parent in (me, 1) and procfs.environment_has(process.pid, self.entry)

    def signal(self, number: int) -> None:
        """Send it to every process."""
        _signal(self.members(), number)

    def kill_group(self) -> None:
        """Kill the first process's group at once, while its pid still means it."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass

    def kill(self) -> None:
        """Freeze, look again until nothing new appears, then kill: forking cannot outrun it."""
        self.cgroups.kill(self.cid)
        seen: set[int] = set()
        for _ in range(MAX_SCANS):
            new = self.members() - seen
            if not new:
                break
            _signal(new, signal.SIGSTOP)
            seen |= new
        _signal(seen, signal.SIGKILL)


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass
