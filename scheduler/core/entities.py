"""Entities, the rows among which a partition is shared: queues, and below them whatever holds and asks on its own.

A job of a ``fair`` leaf is a row below its leaf. What a queue holds beside its
rows below (jobs that ask for nothing, jobs of a queue that is gone) is a row
as well, so that only the lowest rows use and ask.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.shares.tree import is_leaf, own_amounts

UNBOUNDED = np.int64(1) << 60


@dataclass(frozen=True, slots=True)
class Entities:
    """e rows, the q queues first, parents before children.

    parent: (e,) int32. guaranteed, maximum: (e, r) int64. weight: (e,)
    float64. used: (e, r) int64, of the lowest rows; zero above. ask_entity: (a,)
    int32, the row each ask belongs to.
    """

    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    weight: np.ndarray
    used: np.ndarray
    ask_entity: np.ndarray


def entities(s: Snapshot) -> Entities:
    """The rows of a snapshot."""
    q, r = s.queues.used.shape
    inner = ~is_leaf(s.queues.parent)
    own = own_amounts(s.queues.parent, s.queues.used)
    of_ask = s.ask_queue.copy()
    shared = s.queues.ordering[of_ask] == Ordering.FAIR
    shared &= ~inner[of_ask]
    jobs, of_job = _distinct(s.asks.job[shared], len(s.jobs.user))
    leaf = s.users.queue[s.jobs.user[jobs]]
    np.subtract.at(own, leaf, s.jobs.used[jobs])
    split = inner.copy()
    split[leaf] = True
    asked = np.zeros(q, np.bool_)
    asked[of_ask[~shared]] = True
    apart = np.flatnonzero(split & (asked | (own > 0).any(axis=1)))
    of_ask[shared] = q + of_job
    position = np.arange(q, dtype=np.int32)
    position[apart] = q + len(jobs) + np.arange(len(apart), dtype=np.int32)
    of_ask[~shared] = position[of_ask[~shared]]
    below = len(jobs) + len(apart)
    used = np.concatenate((np.where(split[:, None], 0, own), s.jobs.used[jobs], own[apart]))
    return Entities(
        np.concatenate((s.queues.parent, leaf, apart.astype(np.int32))).astype(np.int32),
        np.concatenate((s.queues.guaranteed, np.zeros((below, r), np.int64))),
        np.concatenate((s.queues.maximum, np.full((below, r), UNBOUNDED))),
        np.concatenate((s.queues.weight, np.ones(below))),
        used,
        of_ask,
    )


def _distinct(numbers: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of ``numbers`` (below ``size``), ascending, and each one's position among them."""
    there = np.zeros(size, np.bool_)
    there[numbers] = True
    position = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(there), position[numbers]
