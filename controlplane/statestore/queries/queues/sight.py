"""Which queues an account sees, and how much of each. docs/adr says why; every list and topic goes by it.

Operators and viewers see all. A tenant sees *whole* the queues it was granted
and all below them, whose jobs it may see one by one anyway; of a queue that is
open to everybody it sees the limits and its own part, *own*; of those above
them the names, *path*. All others do not exist to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np

from controlplane.accounts.models import User
from controlplane.accounts.rights import access, covers, sees_everything
from controlplane.statestore.models import Job
from controlplane.statestore.queries.looks import shared
from wire.states import JobState

from .tree import PolicyTree

OTHERS_LEAST = 3  # accounts other than the reader whose running jobs a sum must hold to be shown
SIGHTS = 64  # of accounts with different rights, that are kept
STEP = 0.05  # of the capacity: sums of others are rounded down to whole steps


class See(IntEnum):
    """How much an account sees of a queue."""

    NOTHING = 0
    PATH = 1
    OWN = 2
    WHOLE = 3


@dataclass(frozen=True, slots=True)
class Sight:
    """see: (q,) int8 of ``See``. rows: positions of the queues that exist to the account, in the tree's order.

    Shared by all accounts of the same rights: nobody changes it.
    """

    everything: bool
    see: np.ndarray
    rows: list[int]


def sight(user: User, tree: PolicyTree) -> Sight:
    """What the account sees of the tree. At most one query, none when its rights are known."""
    return _sight(tree, None if sees_everything(user) else frozenset(access(user)))


@lru_cache(maxsize=SIGHTS)
def _sight(tree: PolicyTree, granted: frozenset[str] | None) -> Sight:
    """granted: paths of which an account was given a part; None: it sees everything."""
    q = len(tree.rows)
    if granted is None:
        return Sight(True, np.full(q, See.WHOLE, np.int8), list(range(q)))
    see = np.zeros(q, np.int8)
    for at, queue in enumerate(tree.rows):
        if any(covers(path, queue.path) for path in granted):
            see[at] = See.WHOLE
        elif queue.leaf and queue.open_to_all:
            see[at] = See.OWN
    for rows in reversed(tree.hierarchy.levels[1:]):
        up = tree.hierarchy.parent[rows][see[rows] > See.NOTHING]
        see[up] = np.maximum(see[up], See.PATH)
    return Sight(False, see, np.flatnonzero(see).tolist())


def enough_others(user: User) -> bool:
    """Whether so many others have running jobs that sums over the whole federation tell of none of them. One query."""
    return len(_some_who_run() - {user.pk}) >= OTHERS_LEAST


@shared
def _some_who_run() -> set[int]:
    """Numbers of accounts with running jobs: enough of them to leave one out."""
    running = Job.objects.filter(state=JobState.RUNNING).order_by()
    return set(running.values_list("owner_id", flat=True).distinct()[: OTHERS_LEAST + 1])


def coarse(amount: int, capacity: int) -> int:
    """Rounded down to a whole step of the capacity."""
    step = max(1, round(capacity * STEP))
    return amount // step * step


def coarsened(amounts: Iterable[int], capacity: Iterable[int]) -> list[int]:
    return [coarse(a, c) for a, c in zip(amounts, capacity, strict=True)]
