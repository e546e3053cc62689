"""The ideal allocation: what each queue would hold if all guarantees were honoured, the measure of who owes whom.

Every parent's amount is divided among its children, for each resource by
itself, in steps that each begin when the one before is satisfied: what cannot
be taken away, the guarantees, what is held or still guaranteed further down,
and last whatever is wanted. The root leaves the last step out, so nobody is
owed what nobody guaranteed him; but what is lent to other partitions comes
after all that is wanted here.

The idea is that of YARN's capacity scheduler (``AbstractPreemptableResourceCalculator``), which divides what there is
by guarantees and takes them up again among those that want more. Cost: for each of r resources and q queues four
steps, and a search for one level (``divide_max_min``) among the children of a queue, O(q r) in all.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import inlined, kernel

_LEAST_WEIGHT = 1e-9  # a queue without weight comes after all others, not never
_LENT_WEIGHT = 1e-18  # and after them what is lent: its part must be less than what rounding may cost
_STEPS = 4
# The steps: what cannot be taken away, guarantees, what is held or guaranteed further down, what is wanted.
PROTECTED, GUARANTEED, HELD, WANTED = range(_STEPS)
_HALVINGS = 120


class AllocationTree(NamedTuple):
    """q queues, parents before children. float64 (q, r), whole subtrees, unless said otherwise.

    parent: (q,) int32. own: used by the queue's own containers. wanted: asked
    for by its own asks, beyond ``own``. protected: the part of ``own`` that may
    not be preempted. weight: (q,) float64. exempt: (q,) bool, nothing may be
    taken from. children: (q,) int64, by parent, from (q + 1,) ``start`` on.
    lent: as in ``Queues``.
    """

    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    own: np.ndarray
    wanted: np.ndarray
    protected: np.ndarray
    weight: np.ndarray
    exempt: np.ndarray
    children: np.ndarray
    start: np.ndarray
    lent: int


@kernel
def divide_max_min(
    base: np.ndarray, weight: np.ndarray, low: np.ndarray, high: np.ndarray, amount: float
) -> np.ndarray:
    """Weighted max-min: ``base + t * weight`` between ``low`` and ``high``, for the t that divides ``amount``.

    As ``shares.filling.fill_level`` where ``base`` is 0. That one knows no other start, and needs no answer for less
    than all of ``low``, which is divided in proportion here.
    """
    lowest, highest = 0.0, 0.0
    first, last = np.inf, -np.inf
    for i in range(len(base)):
        lowest += low[i]
        highest += high[i]
        if high[i] > low[i]:
            first = min(first, (low[i] - base[i]) / weight[i])
            last = max(last, (high[i] - base[i]) / weight[i])
    out = np.empty(len(base), np.float64)
    if amount >= highest or amount <= lowest:
        for i in range(len(base)):
            out[i] = high[i] if amount >= highest else low[i] * max(amount, 0.0) / lowest if lowest > 0 else 0.0
        return out
    t = _water_level(base, weight, low, high, amount, first, last)
    for i in range(len(base)):
        out[i] = min(max(base[i] + t * weight[i], low[i]), high[i])
    return out


@inlined
def _water_level(
    base: np.ndarray, weight: np.ndarray, low: np.ndarray, high: np.ndarray, amount: float, first: float, last: float
) -> float:
    """The t of ``divide_max_min``, between first and last: halve, then solve for those that are at neither end."""
    for _ in range(_HALVINGS):
        middle = (first + last) / 2
        if middle <= first or middle >= last:
            break
        total = 0.0
        for i in range(len(base)):
            total += min(max(base[i] + middle * weight[i], low[i]), high[i])
        if total <= amount:
            first = middle
        else:
            last = middle
    rest, pull = amount, 0.0
    for i in range(len(base)):
        at = base[i] + first * weight[i]
        if low[i] <= at < high[i]:
            rest -= base[i]
            pull += weight[i]
        else:
            rest -= low[i] if at < low[i] else high[i]
    return min(max(rest / pull, first), last) if pull > 0 else first  # of a tiny pull only rounding is left


@kernel
def _steps(tree: AllocationTree, used: np.ndarray) -> np.ndarray:
    """(r, 4, q): what each queue is to have at the end of each step, at most."""
    q, r = tree.own.shape
    out = np.zeros((r, _STEPS, q), np.float64)
    below = np.zeros((r, _STEPS, q), np.float64)
    for i in range(q - 1, -1, -1):
        for k in range(r):
            u, guaranteed = used[i, k], tree.guaranteed[i, k]
            wanted = min(below[k, WANTED, i] + tree.own[i, k] + tree.wanted[i, k], max(u, tree.maximum[i, k]))
            if tree.start[i] == tree.start[i + 1]:  # a leaf
                kept = u if tree.exempt[i] else max(tree.protected[i, k], min(u, guaranteed))
                held = kept if i == tree.lent else min(wanted, max(u, guaranteed))
            else:
                kept = max(min(u, guaranteed), below[k, PROTECTED, i] + tree.own[i, k])
                held = min(wanted, max(guaranteed, below[k, HELD, i] + tree.own[i, k]))
            out[k, PROTECTED, i] = kept
            out[k, GUARANTEED, i] = max(kept, min(guaranteed, wanted))
            out[k, HELD, i] = max(held, out[k, GUARANTEED, i])
            out[k, WANTED, i] = max(wanted, out[k, HELD, i])
            if i > 0:
                for step in range(_STEPS):
                    below[k, step, tree.parent[i]] += out[k, step, i]
    return out


@kernel
def _divide_resource(
    tree: AllocationTree, steps: np.ndarray, k: int, children: np.ndarray, amount: float, last: int
) -> np.ndarray:
    """``amount`` of resource k among the children of a queue. steps: (r, 4, q)."""
    m = len(children)
    base, pull, low, high = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    for step in range(last + 1):
        total = 0.0
        for j in range(m):
            i = children[j]
            low[j] = high[j]
            high[j] = steps[k, step, i]
            total += high[j]
            guaranteed = tree.guaranteed[i, k]
            base[j] = guaranteed if step > GUARANTEED else 0.0  # first the same part of each guarantee, then beyond it
            pull[j] = max(
                high[j] if step == PROTECTED else guaranteed if step == GUARANTEED else tree.weight[i], _LEAST_WEIGHT
            )
            if i == tree.lent and step > PROTECTED:
                pull[j] = _LENT_WEIGHT
        if total > amount:
            break
    return divide_max_min(base, pull, low, high, amount)


@kernel
def ideal_allocation(tree: AllocationTree, used: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """(q, r) float64. used: (q, r) float64, whole subtrees. capacity: (r,) float64 of the root."""
    q, r = used.shape
    steps = _steps(tree, used)
    out = np.zeros((q, r), np.float64)
    for k in range(r):
        out[0, k] = capacity[k]
    for i in range(q):
        children = tree.children[tree.start[i] : tree.start[i + 1]]
        if len(children) == 0:
            continue
        last = HELD if i == 0 and tree.lent < 0 else WANTED
        for k in range(r):
            amount = out[i, k] - tree.own[i, k]
            parts = _divide_resource(tree, steps, k, children, amount, last)
            for j in range(len(children)):
                out[children[j], k] = parts[j]
    return out
