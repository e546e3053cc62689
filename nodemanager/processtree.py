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
        self.name = name.encode()
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
        return self.among(procfs.looks.now())

    def among(self, seen: procfs.ProcessSnapshot) -> set[int]:
        """Those of the processes seen that are this container's and live, however often they have forked."""
        roots = set(seen.by_session.get(self.pid, ())) if self.pid else set()  # session 0 is the kernel's
        roots |= {self.pid} if self.pid and self.leader_alive else set()
        roots |= self._marked(seen)
        me = os.getpid()
        found = procfs.descendants(roots - {me}, seen.by_parent) | self.cgroups.pids(self.cid)
        return {pid for pid in found if pid != me and pid in seen.processes and seen.processes[pid].alive}

    def _marked(self, seen: procfs.ProcessSnapshot) -> set[int]:
        """Those that carry the container's mark: its group where there is one, else its name in the environment."""
        if self.marker_gid >= 0:
            marked = seen.by_group.get(self.marker_gid, set())
            return marked if self.adopted else marked & seen.below
        found = seen.orphans_of(os.getpid()).get(self.name, set())
        return found | seen.orphans_of(1).get(self.name, set()) if self.adopted else found

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
