"""Instantaneous weighted max-min fairness of dominant shares, down the tree of queues.

Dominant resource fairness (Ghodsi et al., NSDI '11), with weights and guarantees and node by node of the tree.

The budget of a node is divided among its children like this:

1. Guarantees: each gets ``min(demand, guaranteed)``. If that is more than the
   budget, all guarantees are met to the same fraction.
2. Beyond them all rise together: at level x a child takes the part of its
   demand vector at which its dominant share, divided by its weight, is x. An
   exhausted resource stops those who would take more of it; the rest rise on.
3. What is left of a resource goes, still in proportion to dominant shares and
   weights, to children that were stopped for want of another one. Demands are
   sums: some of the work behind them may need no more than what is left.

With a floor nobody gets less than it holds: running work is not taken away.

Cost: for each inner row of the tree at most r searches for a level (``filling``) among its children, O(e r^2) in all.
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.shares.filling import CLOSE, fill_level, fill_resources, start_levels
from scheduler.shares.tree import ShareTree, capped_demand, children, dominant_shares


def fair_shares(tree: ShareTree, capacity: np.ndarray, used: np.ndarray, demand: np.ndarray, floor: bool) -> np.ndarray:
    """How much each row should hold: (e, r) float64, a subtree's total at inner rows.

    capacity: (r,) int64, of everything that is shared. used, demand: (e, r)
    int64, given at the lowest rows and 0 above: what a row holds, and what it
    holds and wants beyond. floor: nobody gets less than it uses. Without a
    floor this is the ideal that preemption works towards. A row with demand
    gets something of it unless guarantees, or with a floor running work, have
    exhausted a resource that it needs. Round down with ``floor(x + 1e-6)``.
    """
    return shares_of_rows(
        np.ascontiguousarray(tree.parent, np.int32),
        np.ascontiguousarray(tree.guaranteed, np.int64),
        np.ascontiguousarray(tree.maximum, np.int64),
        np.ascontiguousarray(tree.weight, np.float64),
        np.ascontiguousarray(capacity, np.int64),
        np.ascontiguousarray(used, np.int64),
        np.ascontiguousarray(demand, np.int64),
        bool(floor),
    )


@kernel
def shares_of_rows(
    parent: np.ndarray,
    guaranteed: np.ndarray,
    maximum: np.ndarray,
    weight: np.ndarray,
    capacity: np.ndarray,
    used: np.ndarray,
    demand: np.ndarray,
    floor: bool,
) -> np.ndarray:
    """``fair_shares`` for kernels: the same arguments, the tree as its arrays, all C-contiguous."""
    e, r = demand.shape
    want, held, dominant = capped_demand(parent, maximum, capacity, used, demand, floor)
    first, row = children(parent, want)
    share = np.zeros((e, r))
    budget, scarce = np.empty(r), np.empty(r, np.bool_)
    for node in range(-1, e):
        kids = row[first[node + 1] : first[node + 2]]
        if len(kids):
            for i in range(r):
                budget[i] = max(capacity[i], 0) if node < 0 else share[node, i]
            if _scarce(kids, want, budget, scarce):
                _divide(kids, weight, guaranteed, dominant, held, want, budget, scarce, share)
            else:
                for c in kids:
                    for i in range(r):
                        share[c, i] = want[c, i]
    return share


@kernel
def _scarce(kids: np.ndarray, want: np.ndarray, budget: np.ndarray, scarce: np.ndarray) -> bool:
    """Whether the rows ``kids`` want more than the budget, of which resources told in ``scarce``."""
    any_scarce = False
    for i in range(len(budget)):
        total = 0
        for c in kids:
            total += want[c, i]
        scarce[i] = total > budget[i]
        any_scarce = any_scarce or scarce[i]
    return any_scarce


@kernel
def _divide(
    kids: np.ndarray,
    weight: np.ndarray,
    guaranteed: np.ndarray,
    dominant: np.ndarray,
    held: np.ndarray,
    want: np.ndarray,
    budget: np.ndarray,
    scarce: np.ndarray,
    share: np.ndarray,
) -> None:
    """Divide a budget that does not suffice among the rows ``kids``."""
    r, k = len(budget), len(kids)
    base, rate, end = np.empty((r, k)), np.empty((r, k)), np.empty(k)
    for j in range(k):
        c = kids[j]
        end[j] = dominant[c] / weight[c]
        for i in range(r):
            rate[i, j] = want[c, i] / end[j] if end[j] > 0 else 0.0
    for i in range(r):
        _owe(kids, guaranteed[:, i], held[:, i], want[:, i], budget[i], base[i])
    limit = end.copy()
    fill_resources(base, rate, limit, budget, scarce.copy())
    for i in range(r):
        total, short = _take(kids, want[:, i], base[i], rate[i], end, limit)
        if short and not scarce[i]:
            _take(kids, want[:, i], base[i], rate[i], end, end)
        elif short and total < budget[i] - CLOSE:
            start = np.empty(k)
            start_levels(base[i], rate[i], start)
            x = fill_level(base[i], rate[i], start, end, 0.0, budget[i])
            _take(kids, want[:, i], base[i], rate[i], end, np.minimum(end, x))
        for j in range(k):
            share[kids[j], i] = base[i, j]


@kernel
def _owe(
    kids: np.ndarray, guaranteed: np.ndarray, held: np.ndarray, want: np.ndarray, budget: float, base: np.ndarray
) -> None:
    """What each gets first of one resource, into ``base``: guarantees within its demand, never less than it holds."""
    total = 0.0
    for j in range(len(kids)):
        c = kids[j]
        base[j] = max(held[c], min(want[c], guaranteed[c]))
        total += base[j]
    if total <= budget:
        return
    k = len(kids)
    least, rate, limit, start = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for j in range(k):
        c = kids[j]
        least[j], rate[j] = held[c], guaranteed[c]
        limit[j] = min(want[c] / rate[j], 1.0) if rate[j] > 0 else 0.0
    start_levels(least, rate, start)
    y = fill_level(least, rate, start, limit, 0.0, budget)
    for j in range(k):
        base[j] = max(least[j], rate[j] * min(y, limit[j]))


@kernel
def _take(
    kids: np.ndarray, want: np.ndarray, base: np.ndarray, rate: np.ndarray, end: np.ndarray, limit: np.ndarray
) -> tuple[float, bool]:
    """Raise ``base`` of one resource to each one's level ``limit``: (the total, whether anybody wants more)."""
    total, short = 0.0, False
    for j in range(len(kids)):
        all_of_it = want[kids[j]]
        if limit[j] >= end[j]:
            base[j] = all_of_it
        else:
            base[j] = min(max(base[j], rate[j] * limit[j]), all_of_it)
        total += base[j]
        short = short or base[j] < all_of_it
    return total, short


def held_part(used: np.ndarray, share: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Dominant share in use over dominant share due, (k,) float64; infinite where nothing is due."""
    have, due = dominant_shares(used, capacity), dominant_shares(share, capacity)
    part = np.full(len(have), np.inf)
    np.divide(have, due, out=part, where=due > 0)
    return part
