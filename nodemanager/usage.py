"""Processor time used per container, turned into a rate."""


class CpuRates:
    """Thousandths of a core each container used between its last two samples."""

    def __init__(self) -> None:
        self.last: dict[int, tuple[int, float]] = {}  # container -> cpu_ms, at
        self.milli: dict[int, int] = {}

    def sample(self, cid: int, cpu_ms: int, at: float) -> None:
        """``at``: seconds of the monotonic clock."""
        before = self.last.get(cid)
        if before is not None and at > before[1]:
            self.milli[cid] = max(0, int((cpu_ms - before[0]) / (at - before[1])))
        self.last[cid] = (cpu_ms, at)

    def forget(self, cid: int) -> None:
        """It has ended, and uses nothing."""
        self.last.pop(cid, None)
        self.milli.pop(cid, None)

    def total(self) -> int:
        """Thousandths of a core that all of them use together."""
        return sum(self.milli.values())
