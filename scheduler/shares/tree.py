"""The rows among which capacity is shared, what they want, and what is counted up and handed down such a tree.

Both ways there are two forms: of a ``QueueHierarchy``, level by level, for NumPy, and a kernel for kernels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import kernel


class ShareTree(NamedTuple):
    """e rows, parents before children: queues, and jobs below leaves that share fairly among their jobs.

    parent: (e,) int32, -1 at a root. guaranteed, maximum: (e, r) int64.
    weight: (e,) float64, above 0. Jobs have no guarantee, weight 1, and a
    maximum beyond any demand.
    """

    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, slots=True)
class QueueHierarchy:
    """A tree of q queues. parent: (q,) int32, -1 at the root, parents first. levels: positions by depth."""

    parent: np.ndarray
    levels: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, paths: Sequence[str], parent_paths: Sequence[str]) -> "QueueHierarchy":
        at = {path: i for i, path in enumerate(paths)}
        parent = np.array([at.get(up, -1) for up in parent_paths], np.int32)
        depth = np.array([path.count(".") for path in paths], np.int32)
        levels = tuple(np.flatnonzero(depth == d) for d in range(int(depth.max(initial=0)) + 1))
        return cls(parent, levels)

    def subtree_sums(self, own: np.ndarray) -> np.ndarray:
        """``own`` (q, ...) with everything below added to each queue."""
        total = own.copy()
        for rows in reversed(self.levels[1:]):
            np.add.at(total, self.parent[rows], total[rows])
        return total

    def path_combined(self, own: np.ndarray, combine: np.ufunc) -> np.ndarray:
        """``own`` (q, ...) combined with that of every ancestor."""
        found = own.copy()
        for rows in self.levels[1:]:
            found[rows] = combine(found[rows], found[self.parent[rows]])
        return found


@kernel
def subtree_sums(parent: np.ndarray, own: np.ndarray) -> np.ndarray:
    """``own`` (e, m) with everything below added to each row. parent: (e,) int32, -1 at roots, parents first."""
    total = own.copy()
    for c in range(len(parent) - 1, 0, -1):
        if parent[c] >= 0:
            for i in range(own.shape[1]):
                total[parent[c], i] += total[c, i]
    return total


@kernel
def own_amounts(parent: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """What rows have themselves, from the totals (q, r) of their subtrees. parent: (q,) int32, parents first."""
    own = totals.copy()
    for c in range(1, len(parent)):
        for i in range(totals.shape[1]):
            own[parent[c], i] -= totals[c, i]
    return own


@kernel
def path_minimum(parent: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The least of ``own`` (e, m) in each row and those above it; of truths: whether it holds in all of them."""
    least = own.copy()
    for c in range(len(parent)):
        if parent[c] >= 0:
            for i in range(own.shape[1]):
                least[c, i] = min(least[c, i], least[parent[c], i])
    return least


def lineage(path: str) -> list[str]:
    """A queue's path and those of all above it."""
    found = [path]
    while "." in path:
        path = path.rpartition(".")[0]
        found.append(path)
    return found


def nearest(index: Mapping[str, int], path: str) -> int:
    """Position of a queue, or of its nearest ancestor where it is gone. index: positions by path, the root's 0."""
    while path not in index and "." in path:
        path = path.rpartition(".")[0]
    return index.get(path, 0)


def upwards(parent: np.ndarray, at: int) -> list[int]:
    """A row and all above it, the root last. parent: (e,) int32, -1 at a root."""
    found = [at]
    while (up := int(parent[found[-1]])) >= 0:
        found.append(up)
    return found


def all_nearest(index: Mapping[str, int], paths: Sequence[str]) -> np.ndarray:
    """(k,) int64: ``nearest`` of k paths."""
    found = np.array([index.get(path, -1) for path in paths], np.int64)
    for i in np.flatnonzero(found < 0).tolist():
        found[i] = nearest(index, paths[i])
    return found


def is_leaf(parent: np.ndarray) -> np.ndarray:
    """The rows that are nobody's parent: (e,) bool."""
    found = np.ones(len(parent), np.bool_)
    found[parent[parent >= 0]] = False
    return found


@kernel
def entity_demand(
    entity: np.ndarray,
    shape: np.ndarray,
    count: np.ndarray,
    alive: np.ndarray,
    shapes: np.ndarray,
    used: np.ndarray,
) -> np.ndarray:
    """What each row holds and wants beyond: (e, r) int64.

    entity, shape: (a,) int32, the row and the shape of each ask. count: (a,)
    int64 containers wanted. alive: (a,) bool, asks that count. shapes: (s, r)
    int64. used: (e, r) int64, of the lowest rows.
    """
    demand = used.copy()
    for i in range(len(entity)):
        if alive[i]:
            for k in range(shapes.shape[1]):
                demand[entity[i], k] += count[i] * shapes[shape[i], k]
    return demand


@kernel
def dominant_shares(amounts: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """The largest part of any resource's capacity that each row of ``amounts`` (e, r) is: (e,) float64.

    Resources of which there is none do not count.
    """
    share = np.zeros(len(amounts))
    for c in range(len(amounts)):
        for i in range(len(capacity)):
            if capacity[i] > 0:
                share[c] = max(share[c], amounts[c, i] / capacity[i])
    return share


@kernel
def capped_demand(
    parent: np.ndarray, maximum: np.ndarray, capacity: np.ndarray, used: np.ndarray, demand: np.ndarray, floor: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(want, held: (e, r) int64, dominant: (e,) float64), subtree totals at inner rows.

    want: a row's own or its children's demand below its maximum. What there is
    none of in the whole capacity is not asked for. held: with ``floor`` what
    is used, else 0; nobody wants less, even above a maximum. dominant: the
    dominant share of what is wanted.
    """
    want, held, dominant = demand.copy(), np.zeros_like(used), np.zeros(len(parent))
    if floor:
        held[:] = used
    for c in range(len(parent) - 1, -1, -1):
        above, most = parent[c], 0.0
        for i in range(len(capacity)):
            amount = max(min(want[c, i], maximum[c, i]) if capacity[i] > 0 else 0, held[c, i])
            want[c, i] = amount
            if amount > 0:
                if capacity[i] > 0:
                    most = max(most, amount / capacity[i])
                if above >= 0:
                    want[above, i] += amount
                    held[above, i] += held[c, i]
        dominant[c] = most
    return want, held, dominant


@kernel
def children(parent: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first, row): the children of p that want anything are ``row[first[p + 1]:first[p + 2]]``; p = -1 for roots.

    want: (e, m).
    """
    e = len(parent)
    first = np.zeros(e + 3, np.int64)
    rows = 0
    active = np.empty(e, np.int64)
    for c in range(e):
        wants = False
        for i in range(want.shape[1]):
            wants = wants or want[c, i] > 0
        if wants:
            active[rows] = c
            rows += 1
            first[parent[c] + 3] += 1
    for p in range(2, e + 3):
        first[p] += first[p - 1]
    row = np.empty(rows, np.int64)
    for c in active[:rows]:
        row[first[parent[c] + 2]] = c
        first[parent[c] + 2] += 1
    return first[: e + 2], row
