"""The last to leave a sub-cluster that operators empty are the jobs at home there.

Once nothing runs in it any more, their masters go to where there is room: in
one transaction of the leader itself, by the Router's policies, as if the jobs
were submitted now. What they run and wait for elsewhere stays as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.rm.memory import windows
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Clock, Outdated

LOOK_S = 1.0  # between two looks
AGAIN_S = 5.0  # after one that moved nothing: no other sub-cluster takes them now, or is just being taken over


@dataclass(slots=True)
class Emptying:
    """``move_out``: gives the live jobs at home here other homes, and says how many got one."""

    move_out: Callable[[], int]
    next_s: float = 0.0

    def look(self, m: Memory, clock: Clock) -> None:
        """Move the jobs out where they are all that is left. Raises ``Outdated`` once any has moved."""
        now = clock.monotonic()
        if now < self.next_s or not windows.drained(m.nodes, clock.now_us()):
            return
        self.next_s = now + LOOK_S
        if len(m.containers) or all(job.home for job in m.jobs.values()):
            return
        self.next_s = now + AGAIN_S
        if moved := self.move_out():
            raise Outdated(f"it is being emptied, and {moved} jobs have other homes now")
