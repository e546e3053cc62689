"""A service rolls over to another revision of what its tasks run, or back when that does not serve.

Its groups' tasks restart so many at a time (``restarting``). This says when the attempt has failed.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RolloutRules:
    """max_unavailable: tasks of a group that are down at a time, and max_surge: that many more while as many others
    stand in for them. min_ready_s: so long a task without a health check has
    to run until it counts. deadline_s: by when all has to serve, 0: none. max_failures: so many ends of new attempts
    are borne."""

    max_unavailable: int = 1
    min_ready_s: float = 10.0
    deadline_s: float = 600.0
    max_failures: int = 1
    max_surge: int = 0


@dataclass(slots=True)
class Rollout:
    """revision: which is rolled out. previous: which the other tasks run. groups: numbers of those that change.
    failures: ends of its attempts so far that were their own fault; last: the last of them, in words. back: it takes
    back what has failed, or was not wanted, and is not taken back itself."""

    revision: int
    previous: int
    groups: tuple[int, ...]
    rules: RolloutRules
    began_us: int
    failures: int = 0
    back: bool = False
    last: str = ""

    def failed(self, now_us: int, left: bool) -> str:
        """Why it is to be taken back, or nothing. left: some tasks are still to serve as it wants."""
        if self.back:
            return ""
        last = f"; the last failure: {self.last}" if self.last else ""
        if self.failures > self.rules.max_failures:
            return f"{self.failures} of its attempts failed, and {self.rules.max_failures} may{last}"
        late = left and self.limited and now_us >= self.due_us
        return f"it was not done within {self.rules.deadline_s:g} s{last}" if late else ""

    def width(self, standing_in: int) -> int:
        """How many tasks of a group may be down now. standing_in: others that serve beside them. What is taken back
        did not serve, so that there may be none."""
        return max(int(self.back), self.rules.max_unavailable + standing_in)

    @property
    def limited(self) -> bool:
        """Whether it has a deadline."""
        return self.rules.deadline_s > 0 and not self.back

    @property
    def due_us(self) -> int:
        """Its deadline, if it has one."""
        return self.began_us + round(self.rules.deadline_s * 1e6)

    def row(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {name: getattr(self, name) for name in _PLAIN} | {
            "last": self.last, "groups": list(self.groups),
            "rules": {name: getattr(self.rules, name) for name in RolloutRules.__slots__},
        }  # fmt: skip

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "Rollout":
        """Inverse of ``row``."""
        plain = {name: row[name] for name in _PLAIN} | {"last": row.get("last", "")}  # older rows have none
        return cls(groups=tuple(row["groups"]), rules=RolloutRules(**row["rules"]), **plain)


_PLAIN = ("revision", "previous", "began_us", "failures", "back")
