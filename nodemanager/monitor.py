"""What the live containers of a node use, and which of them hold more memory than they may."""

from nodemanager import procfs
from nodemanager.cgroups import Cgroups
from nodemanager.processtree import ProcessTree

CHECK_S = 0.5  # how often a live tree is measured where no kernel limit holds its memory
SAMPLE_S = 10.0  # how often the agent hears of it


class Monitor:
    """Measures one container. ``peak_bytes`` and ``cpu_ms`` only grow; ``due`` is in s, monotonic.

    ``over_memory``: it was seen above its limit. A kernel that holds the limit says so itself.
    """

    def __init__(self, cid: int, limit_bytes: int, cgroups: Cgroups, now: float) -> None:
        self.cid, self.limit_bytes, self.cgroups = cid, limit_bytes, cgroups
        self.peak_bytes = self.used_bytes = self.cpu_ms = 0
        self.over_memory = False
        self.due = now + CHECK_S
        self.sample_at = 0.0

    def measure(self, tree: ProcessTree, now: float) -> bool:
        """Look at all processes of the container; whether it has just been seen above its limit."""
        grouped = self.cgroups.memory_mib(self.cid)
        self.due = now + (CHECK_S if grouped is None and self.limit_bytes else SAMPLE_S)
        seen = procfs.looks.recent()
        alive = tree.among(seen)
        used, before = sum(seen.processes[p].rss_bytes for p in alive), self.over_memory
        if grouped is not None:
            used = grouped << 20
        elif self.limit_bytes and used > self.limit_bytes:
            used = procfs.proportional_bytes(alive)  # shared pages counted once
            self.over_memory |= used > self.limit_bytes
        self.used_bytes, self.peak_bytes = used, max(self.peak_bytes, used)
        self.cpu_ms = max(self.cpu_ms, sum(seen.processes[p].cpu_ms for p in alive))
        return self.over_memory and not before

    def sample_due(self, now: float) -> bool:
        """Whether the agent is to hear of it again."""
        if now < self.sample_at:
            return False
        self.sample_at = now + SAMPLE_S
        return True

    def add_kernel_usage(self, cpu_s: float, peak_bytes: int) -> None:
        """What the kernel counted for the first process and its reaped children."""
        self.cpu_ms = max(self.cpu_ms, int(cpu_s * 1000))
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
