"""Draining nodes: when a maintenance window keeps work away, and how much of a service may be down at a time."""

from typing import Any, Protocol


class Moment(Protocol):
    def __le__(self, other: Any, /) -> bool: ...


def window_phase(now: Moment, lead: Moment, ends: Moment) -> str:
    """``planned``; ``active`` from its lead on, when its nodes take nothing new; ``over`` from its end on."""
    return "over" if ends <= now else "active" if lead <= now else "planned"


def max_unavailable(count: int) -> int:
    """How many tasks of a service of ``count`` may be down at once for the sake of a move."""
    return max(1, count // 2)
