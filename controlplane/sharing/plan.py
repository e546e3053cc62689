"""What a policy would do to the shares of now: the GPG's own computation, under two policies, on the same loads. Pure.

Amounts are units of whole subtrees, summed over sub-clusters and partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from controlplane.sharing.problem import problem
from controlplane.sharing.queues import FederationQueues
from controlplane.statestore.capacities import R
from controlplane.statestore.loads import GONE, Load
from scheduler.federation.divide import amounts_to_give_back
from scheduler.registry import SHARES
from scheduler.shares.tree import is_leaf

MOST = 2_000_000  # queues times sub-clusters times partitions that are worked out


class TooManyQueues(ValueError):
    """More than ``MOST``."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What q queues have under one policy; (q, R) int64 each.

    guaranteed: as the policy says. share: what the queue may use now, with its
    part of what is idle. due: of that, what it wants. used: what it uses, by
    the leaves of this policy. wanted: beyond that. back: what it holds beyond its due and others lack.
    """

    paths: list[str]
    index: dict[str, int]
    leaf: np.ndarray
    capacity: np.ndarray
    guaranteed: np.ndarray
    share: np.ndarray
    due: np.ndarray
    used: np.ndarray
    wanted: np.ndarray
    back: np.ndarray

    def lacks(self) -> np.ndarray:
        """(q, R): what it uses or wants, and would not be due."""
        found: np.ndarray = np.maximum(self.used + self.wanted - self.due, 0)
        return found

    def starves(self) -> np.ndarray:
        """(q,) bool: leaves that want something and are due nothing, or less than their guarantee of it."""
        want = self.used + self.wanted
        floor = np.minimum(self.guaranteed, want)
        short = (self.due < floor - np.maximum(0.01 * floor, 1)).any(axis=1)
        found: np.ndarray = self.leaf & self.wanted.any(axis=1) & (short | ~self.due.any(axis=1))
        return found


def outlook(queues: FederationQueues, loads: Sequence[Load]) -> Outlook:
    """What queues get under this policy with these loads. Raises ``TooManyQueues``."""
    known = [load for load in loads if load.state not in GONE]
    s, q, name = len(known), len(queues.paths), queues.components.shares.policy
    if s * q * len(queues.partitions) > MOST:
        raise TooManyQueues(f"{q} queues in {s} sub-clusters and {len(queues.partitions)} partitions")
    divide = SHARES[name].comes_to
    reclaims = np.array([queues.takes_back(load.name) for load in known], np.bool_)
    capacity = np.zeros(R, np.int64)
    guaranteed, share, due, used, wanted, back = np.zeros((6, q, R), np.int64)
    for partition in queues.partitions if known else ():
        p = problem(queues, partition, known)
        if not p.capacity.any():
            continue
        found = divide(p)
        capacity += p.capacity.sum(axis=0)
        guaranteed += p.guaranteed
        share += found.share.sum(axis=0)
        due += found.due.sum(axis=0)
        used += queues.hierarchy.subtree_sums(p.used.sum(axis=0))
        wanted += queues.hierarchy.subtree_sums(p.wanted.sum(axis=0))
        if reclaims.any():
            back += amounts_to_give_back(p, found.due)[reclaims].sum(axis=0)
    leaf = is_leaf(queues.hierarchy.parent)
    return Outlook(queues.paths, queues.index, leaf, capacity, guaranteed, share, due, used, wanted, back)


@dataclass(frozen=True, slots=True)
class QueueChange:
    """One queue under both; a side is its row in that outlook, None where the queue is not there."""

    path: str
    before: int | None
    after: int | None
    moved: float  # how much its dominant share changes, of all there is; signed


@dataclass(frozen=True, slots=True)
class SharesPlan:
    """``rows``: every queue of either, the largest change first."""

    before: Outlook
    after: Outlook
    rows: list[QueueChange] = field(default_factory=list)


def compare(before: Outlook, after: Outlook) -> SharesPlan:
    """Both side by side."""
    paths = list(dict.fromkeys([*before.paths, *after.paths]))
    capacity = np.maximum(np.maximum(before.capacity, after.capacity), 1)
    rows = []
    for path in paths:
        at, to = before.index.get(path), after.index.get(path)
        was = before.share[at] / capacity if at is not None else np.zeros(R)
        becomes = after.share[to] / capacity if to is not None else np.zeros(R)
        change = becomes - was
        rows.append(QueueChange(path, at, to, float(change[int(np.abs(change).argmax())])))
    rows.sort(key=lambda row: (-round(abs(row.moved), 9), row.path.split(".")))
    return SharesPlan(before, after, rows)
