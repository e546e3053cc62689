"""Why an account gets what it gets in a queue that is open to everybody, in words and without what others hold.

docs/adr/0031 says what may be told: the limits, the account's own part, whether
a place is full, and of what waits the kind of the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wire.resources import AXES

from .cells import said

_FIRST = {
    "fifo": "the jobs that were submitted first go first",
    "priority": "the jobs of the highest priority go first, then those submitted first",
    "fair": "each job gets its share, whoever submitted it",
}
_WAITS = {
    "demand": "In {place} the queue gets all that its jobs want: what waits there starts once a node has room "
    "for it; where none could ever hold it, its job says so.",
    "maximum": "In {place} a maximum is given out, the queue's or one above it: what waits there starts when jobs end.",
    "guarantee": "{place} is full, and the queue has all that it is guaranteed: what waits there starts when jobs end.",
    "capacity": "{place} is full with what queues are guaranteed: what waits there starts when jobs end.",
    "weight": "In {place} queues want more than there is, and share by weight what is beyond guarantees.",
    "size": "The size of {place} says what the queue is guaranteed there.",
    "none": "Nothing was assigned for {place} yet; until then its size says what the queue is guaranteed there.",
}


@dataclass(frozen=True, slots=True)
class OwnStanding:
    """An account in a queue of which it sees its own part. used, user_limit, maximum: (R,) int64, in units.

    waits: name of a sub-cluster where something of its own waits -> the rule that binds for the queue there.
    full: names of those where all is given away.
    """

    ordering: str
    used: np.ndarray
    user_limit: np.ndarray
    maximum: np.ndarray
    running_jobs: int
    max_running_jobs: int | None
    waits: dict[str, str] = field(default_factory=dict)
    full: tuple[str, ...] = ()


def told(own: OwnStanding) -> list[str]:
    """The sentences, the most general first."""
    first = _FIRST.get(own.ordering, "its jobs take turns")
    return [
        f"Everybody may submit to it, and all share what it may use: {first}.",
        _limit(own),
        *_jobs(own),
        *([f"{_listed(own.full)} {'is' if len(own.full) == 1 else 'are'} full now."] if own.full else []),
        *(
            _WAITS["demand" if rule in ("idle", "vain") else rule].format(place=place)
            for place, rule in own.waits.items()
        ),
        *([] if own.waits else ["Nothing of yours waits in it."]),
    ]


def _limit(own: OwnStanding) -> str:
    if not (own.user_limit < own.maximum).any():
        return "No limit of a single user is set: you may hold as much as the queue."
    there = [k for k in range(len(AXES)) if own.maximum[k] > 0]
    most = _listed([said(k, int(own.user_limit[k])) for k in there])
    held = [said(k, int(own.used[k])) for k in there if own.used[k]]
    at = any(own.used[k] >= own.user_limit[k] > 0 for k in there)
    reached = ": no more can start" if at else ""
    return f"You may hold {most} of it at most, and hold {_listed(held) or 'nothing'}{reached}."


def _jobs(own: OwnStanding) -> list[str]:
    if own.max_running_jobs is None:
        return []
    reached = ": the next starts when one ends" if own.running_jobs >= own.max_running_jobs else ""
    return [f"At most {own.max_running_jobs} of your jobs run at once, and {own.running_jobs} do{reached}."]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
