"""When a staged policy version is worse than what was there before. Pure.

Each guard compares the sub-clusters that run the new version with a limit and
with themselves before the push; the two that look at how much goes on also
with how the other sub-clusters have changed since, so that a quiet hour is not
held against a policy.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from contract.rollouts import Guards, SideMeasures

ENDED_LEAST = 10  # containers that must have ended before a share of failures says anything
ALLOCATIONS_LEAST = 20  # that would have to come before missing ones say anything
JOBS_LEAST = 3


class Cause(StrEnum):
    """Whose doing a guard's number is."""

    WAITING = "waiting"  # jobs
    FAILING = "failing"  # jobs
    WANTING = "wanting"  # queues


class Measures(SideMeasures):
    """What some sub-clusters did in a window, as guards look at it."""

    @property
    def failure_share(self) -> float | None:
        return self.failed / self.ended if self.ended else None

    @property
    def failures_per_min(self) -> float:
        return (self.failure_share or 0.0) * self.ended_per_min


class StageComparison(BaseModel):
    """The sub-clusters that run the new version (``staged``) and all others, at one time."""

    model_config = ConfigDict(frozen=True)

    staged: Measures = Measures()
    others: Measures = Measures()


def breaches(
    guards: Guards,
    before: StageComparison,
    now: StageComparison,
    where: str,
    named: Callable[[Cause], str] = lambda cause: "",
) -> list[str]:
    """What is broken, each in words and numbers.

    where: the staged sub-clusters, for the text. named: some of those whose doing it is, asked for what is broken.
    """
    found = []
    for check, cause in _CHECKS:
        for text in check(guards, before, now):
            names = named(cause)
            found.append(f"{text} in {where}{names and ': ' + names}")
    return found


def _pending(g: Guards, before: StageComparison, now: StageComparison) -> Iterator[str]:
    value, was = now.staged.pending_p99_s, before.staged.pending_p99_s
    if g.pending_p99_s is None or value is None or now.staged.jobs < JOBS_LEAST:
        return
    if value > g.pending_p99_s and value > (was or 0.0):
        yield f"99 % of jobs wait up to {value:.1f} s ({_was(was, 's')}; the guard allows {g.pending_p99_s:g} s)"


def _failures(g: Guards, before: StageComparison, now: StageComparison) -> Iterator[str]:
    value, was = now.staged.failures_per_min, before.staged.failures_per_min
    if g.failures_per_min is not None and value > g.failures_per_min and value > was:
        yield f"{value:.1f} containers fail per minute ({_was(was)}; the guard allows {g.failures_per_min:g})"


def _failure_share(g: Guards, before: StageComparison, now: StageComparison) -> Iterator[str]:
    value, was = now.staged.failure_share, before.staged.failure_share
    if g.failure_share is None or value is None or now.staged.ended < ENDED_LEAST:
        return
    if value > g.failure_share and value > (was or 0.0):
        limit = f"the guard allows {100 * g.failure_share:g} %"
        yield f"{100 * value:.1f} % of containers fail ({_was(was and 100 * was, '%')}; {limit})"


def _allocations(g: Guards, before: StageComparison, now: StageComparison) -> Iterator[str]:
    if g.allocation_rate_drop is None or not now.staged.waits:
        return  # where nobody waits, nothing is missing
    was, value = before.staged.allocations_per_s, now.staged.allocations_per_s
    expected = was * _trend(before.others.allocations_per_s, now.others.allocations_per_s)
    if expected * now.staged.window_s >= ALLOCATIONS_LEAST and value < expected * (1 - g.allocation_rate_drop):
        yield _dropped("containers allocated per second", value, was, expected, g.allocation_rate_drop, "")


def _utilization(g: Guards, before: StageComparison, now: StageComparison) -> Iterator[str]:
    was, value = before.staged.utilization, now.staged.utilization
    if g.utilization_drop is None or was is None or value is None or not now.staged.waits:
        return
    expected = was * _trend(before.others.utilization, now.others.utilization)
    if value < expected * (1 - g.utilization_drop):
        yield _dropped("utilization", 100 * value, 100 * was, 100 * expected, g.utilization_drop, " %")


def _trend(before: float | None, now: float | None) -> float:
    """How the other sub-clusters changed, at most 1: that they do more is no reason to expect more here."""
    return min(1.0, now / before) if before and now is not None else 1.0


def _dropped(what: str, value: float, was: float, expected: float, drop: float, unit: str) -> str:
    trend = f", {expected:.1f}{unit} by how the others changed" if expected < was else ""
    limit = f"the guard allows a drop of {100 * drop:g} %"
    return f"{what}: {value:.1f}{unit} (before the push {was:.1f}{unit}{trend}; {limit})"


def _was(value: float | None, unit: str = "") -> str:
    return "none before the push" if value is None else f"before the push {value:.1f}{unit and ' ' + unit}"


_CHECKS: tuple[tuple[Callable[[Guards, StageComparison, StageComparison], Iterator[str]], Cause], ...] = (
    (_pending, Cause.WAITING),
    (_failures, Cause.FAILING),
    (_failure_share, Cause.FAILING),
    (_allocations, Cause.WANTING),
    (_utilization, Cause.WANTING),
)
