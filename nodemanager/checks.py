"""Health checks of containers, the pure half: when to ask, and what an answer means. ``nodemanager.prober`` asks."""

from dataclasses import dataclass
from typing import Any

from wire.template import HealthCheck

STARTING_S = 1.0  # until the first good answer it is asked at least this often


@dataclass(slots=True)
class Check:
    """One container's check. ``healthy`` is None before the first verdict; ``probe_at`` in s, monotonic."""

    rule: HealthCheck
    healthy: bool | None = None
    probe_at: float = 0.0
    probing: bool = False
    failures: int = 0  # in a row, as far as they count

    def due(self, at: float) -> bool:
        """Whether to ask now; the next question comes an interval later, and never before this one's answer."""
        if self.probing or at < self.probe_at:
            return False
        pause_s = min(self.rule.interval_s, STARTING_S) if self.healthy is None else self.rule.interval_s
        self.probe_at, self.probing = at + pause_s, True
        return True

    def record_result(self, well: bool, ran_s: float) -> bool:
        """Take in one answer; whether ``healthy`` has changed by it. ``ran_s``: since the container's start."""
        self.probing, before = False, self.healthy
        if well:
            self.healthy, self.failures = True, 0
        elif self.healthy is not None or ran_s > self.rule.start_s:
            self.healthy = False
            self.failures += 1
        return self.healthy is not before

    @property
    def given_up(self) -> bool:
        """Whether it has failed so often in a row that the container is to be replaced."""
        return self.failures >= self.rule.failures


def to_json(check: Check | None) -> dict[str, Any] | None:
    """A check as local state and the launch context keep it."""
    if check is None:
        return None
    rule = {name: getattr(check.rule, name) for name in HealthCheck.__dataclass_fields__}
    return rule | {"healthy": check.healthy}


def from_json(raw: object) -> Check | None:
    """Inverse of ``to_json``; None for what is none, such as the order of an older node manager."""
    if not isinstance(raw, dict):
        return None
    rule = {name: raw[name] for name in HealthCheck.__dataclass_fields__ if name in raw}
    try:
        return Check(HealthCheck(**rule), raw.get("healthy"))
    except TypeError:
        return None
