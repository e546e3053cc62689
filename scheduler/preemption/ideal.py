"""How much each queue would hold if all guarantees were honoured: the measure of who owes and who is owed.

Every parent's amount is divided among its children, for each resource by
itself, in steps that each begin when the one before is satisfied: what cannot
be taken away, the guarantees, what is held or still guaranteed further down,
and last whatever is wanted. The root leaves the last step out, so nobody is
owed what nobody guaranteed him.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import kernel

_LEAST_WEIGHT = 1e-9  # a queue without weight comes after all others, not never
_STEPS = 4


class Tree(NamedTuple):
    """q queues, parents before children. float64 (q, r), whole subtrees, unless said otherwise.

    parent: (q,) int32. own: used by the queue's own containers. wanted: asked
    for by its own asks, beyond ``own``. spared: the part of ``own`` that may
    not be preempted. weight: (q,) float64. fixed: (q,) bool, nothing may be
    taken from. children: (q - 1,) int64, by parent, from (q + 1,) ``start`` on.
    """

    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    own: np.ndarray
    wanted: np.ndarray
    spared: np.ndarray
    weight: np.ndarray
    fixed: np.ndarray
    children: np.ndarray
    start: np.ndarray


@kernel
def level(base: np.ndarray, weight: np.ndarray, low: np.ndarray, high: np.ndarray, amount: float) -> np.ndarray:
    """Weighted max-min: ``base + t * weight`` between ``low`` and ``high``, for the t that divides ``amount``."""
    lowest = low.sum()
    if amount >= high.sum():
        return high.copy()
    if amount <= lowest:
        return low * (max(amount, 0.0) / lowest) if lowest > 0 else low.copy()
    m = len(base)
    times = np.empty(2 * m, np.float64)
    for i in range(m):
        times[i] = (low[i] - base[i]) / weight[i]
        times[m + i] = (high[i] - base[i]) / weight[i]
    total, slope, t = lowest, 0.0, 0.0
    for e in np.argsort(times):
        if slope > 0 and total + slope * (times[e] - t) >= amount:
            break
        total += slope * (times[e] - t)
        t = times[e]
        slope += weight[e] if e < m else -weight[e - m]
    t += (amount - total) / slope
    parts: np.ndarray = np.minimum(np.maximum(base + t * weight, low), high)
    return parts


@kernel
def _steps(tree: Tree, used: np.ndarray) -> np.ndarray:
    """(r, 4, q): what each queue is to have at the end of each step, at most."""
    q, r = tree.own.shape
    out = np.zeros((r, _STEPS, q), np.float64)
    below = np.zeros((r, _STEPS, q), np.float64)
    leaf = np.ones(q, np.bool_)
    leaf[tree.parent[1:]] = False
    for i in range(q - 1, -1, -1):
        for k in range(r):
            u, sure = used[i, k], tree.guaranteed[i, k]
            wanted = min(below[k, 3, i] + tree.own[i, k] + tree.wanted[i, k], max(u, tree.maximum[i, k]))
            if leaf[i]:
                kept = u if tree.fixed[i] else max(tree.spared[i, k], min(u, sure))
                held = min(wanted, max(u, sure))
            else:
                kept = max(min(u, sure), below[k, 0, i] + tree.own[i, k])
                held = min(wanted, max(sure, below[k, 2, i] + tree.own[i, k]))
            out[k, 0, i] = kept
            out[k, 1, i] = max(kept, min(sure, wanted))
            out[k, 2, i] = max(held, out[k, 1, i])
            out[k, 3, i] = max(wanted, out[k, 2, i])
            if i > 0:
                for step in range(_STEPS):
                    below[k, step, tree.parent[i]] += out[k, step, i]
    return out


@kernel
def _divide(
    steps: np.ndarray, sure: np.ndarray, weight: np.ndarray, children: np.ndarray, amount: float, last: int
) -> np.ndarray:
    """``amount`` of one resource among the children of a queue. steps: (4, q), sure, weight: (q,)."""
    now: np.ndarray = steps[0][children]
    step = 0
    while step <= last and steps[step][children].sum() <= amount:
        now = steps[step][children]
        step += 1
    if step > last:
        return now
    base, pull = sure[children], weight[children]
    if step == 0:
        return level(np.zeros(len(base)), np.maximum(now, _LEAST_WEIGHT), np.zeros(len(base)), now, amount)
    if step == 1:  # the same part of each guarantee
        pull = base
        base = np.zeros(len(base))
    return level(base, np.maximum(pull, _LEAST_WEIGHT), now, np.asarray(steps[step][children]), amount)


@kernel
def ideals(tree: Tree, used: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """(q, r) float64. used: (q, r) float64, whole subtrees. capacity: (r,) float64 of the root."""
    q, r = used.shape
    steps = _steps(tree, used)
    sure = np.ascontiguousarray(tree.guaranteed.T)
    out = np.zeros((q, r), np.float64)
    out[0] = capacity
    for i in range(q):
        children = tree.children[tree.start[i] : tree.start[i + 1]]
        if len(children) == 0:
            continue
        last = 2 if i == 0 else _STEPS - 1
        for k in range(r):
            amount = out[i, k] - tree.own[i, k]
            parts = _divide(steps[k], sure[k], tree.weight, children, amount, last)
            for j in range(len(children)):
                out[children[j], k] = parts[j]
    return out


@kernel
def subtrees(parent: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Sums over whole subtrees of (q, r) amounts."""
    out = own.copy()
    for i in range(len(parent) - 1, 0, -1):
        out[parent[i]] += out[i]
    return out


@kernel
def fixed_queues(parent: np.ndarray, preemptable: np.ndarray) -> np.ndarray:
    """(q,) bool: queues that are not preemptable, and all that lie below one."""
    out = ~preemptable
    for i in range(1, len(parent)):
        out[i] = out[i] or out[parent[i]]
    return out


def children(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(queues by parent, where each parent's begin): (q - 1,) and (q + 1,) int64."""
    by_parent = np.argsort(parent, kind="stable")[1:]
    return by_parent, np.searchsorted(parent[by_parent], np.arange(len(parent) + 1))
