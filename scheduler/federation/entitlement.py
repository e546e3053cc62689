"""Entitlement: what a queue's place in the tree gives it, wanted or not. (q, r) float64, parents before children.

Two of them: the part of everything when all want everything (``entitlement``), and how fast a queue rises beside its
siblings when it wants more than its ideal (``fill_rates``). Cost: one pass down the tree each, O(q r).
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.shares.tree import capped_demand, subtree_sums


@kernel
def subtree_holdings(parent: np.ndarray, leaves: np.ndarray, allocation: np.ndarray) -> np.ndarray:
    """(q, s, r), summed up the tree, of what the leaves (l,) hold: ``allocation`` (r, s, l)."""
    r, s, _ = allocation.shape
    total = np.zeros((len(parent), s, r))
    for i in range(r):
        for k in range(s):
            for c in range(len(leaves)):
                total[leaves[c], k, i] = allocation[i, k, c]
    return subtree_sums(parent, total.reshape((len(parent), s * r))).reshape(total.shape)


@kernel
def federation_totals(amounts: np.ndarray) -> np.ndarray:
    """(q, r): the sum over all sub-clusters of amounts (q, s, r)."""
    q, s, r = amounts.shape
    total = np.zeros((q, r))
    for c in range(q):
        for k in range(s):
            for i in range(r):
                total[c, i] += amounts[c, k, i]
    return total


@kernel
def parts_of_amounts(part: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """(q, s, r): the part (q, r) that each row has of the amounts (r, s)."""
    r, s = amounts.shape
    total = np.empty((len(part), s, r))
    for c in range(len(part)):
        for k in range(s):
            for i in range(r):
                total[c, k, i] = part[c, i] * amounts[i, k]
    return total


@kernel
def fill_rates(
    parent: np.ndarray,
    maximum: np.ndarray,
    weight: np.ndarray,
    capacity: np.ndarray,
    demand: np.ndarray,
    ideal: np.ndarray,
) -> np.ndarray:
    """What each row would get at the level that its siblings reach in ``ideal``, if it wanted more.

    Arguments as of ``fair_shares``, ideal: its result. For a row that gets
    less than it wants that is its ideal. Where all siblings get what they want, they
    divide their parent's rate by weight and dominant share, or more, such that
    the last of them has its ideal in time. Never less than the ideal.
    """
    e, r = ideal.shape
    want, _, dominant = capped_demand(parent, maximum, capacity, np.zeros_like(demand), demand, False)
    reached = np.full((e + 1, r), np.inf)  # of the children of p in row p + 1
    speeds, last = np.zeros((e + 1, r)), np.zeros((e + 1, r))
    for c in range(e):
        for i in range(r):
            if want[c, i] > 0:
                speed = weight[c] * want[c, i] / dominant[c]
                speeds[parent[c] + 1, i] += speed
                last[parent[c] + 1, i] = max(last[parent[c] + 1, i], ideal[c, i] / speed)
                if ideal[c, i] < want[c, i] * (1 - 1e-9):
                    reached[parent[c] + 1, i] = min(reached[parent[c] + 1, i], ideal[c, i] / speed)
    fill_rate = np.zeros((e, r))
    for c in range(e):
        for i in range(r):
            if want[c, i] > 0:
                speed = weight[c] * want[c, i] / dominant[c]
                at = reached[parent[c] + 1, i]
                if at == np.inf:
                    above = fill_rate[parent[c], i] if parent[c] >= 0 else capacity[i]
                    at = max(above / speeds[parent[c] + 1, i], last[parent[c] + 1, i])
                fill_rate[c, i] = max(ideal[c, i], speed * at)
    return fill_rate


@kernel
def entitlement(parent: np.ndarray, guaranteed: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The part of all that each row gets when all want everything: guarantees first, the rest by weight."""
    e, r = guaranteed.shape
    promised = np.zeros((e + 1, r))  # to the children of p in row p + 1
    weights = np.zeros(e + 1)
    whole = np.zeros(r)
    for c in range(e):
        weights[parent[c] + 1] += weight[c]
        for i in range(r):
            promised[parent[c] + 1, i] += guaranteed[c, i]
            if parent[c] < 0:
                whole[i] += guaranteed[c, i]
    part = np.zeros((e, r))
    for c in range(e):
        for i in range(r):
            above = part[parent[c], i] if parent[c] >= 0 else 1.0
            sure = guaranteed[c, i] / whole[i] if whole[i] > 0 else 0.0
            all_sure = promised[parent[c] + 1, i] / whole[i] if whole[i] > 0 else 0.0
            if all_sure > above:
                part[c, i] = above * sure / all_sure
            else:
                part[c, i] = sure + (above - all_sure) * weight[c] / weights[parent[c] + 1]
    return part


@kernel
def part_below_maximum(parent: np.ndarray, maximum: np.ndarray, due: np.ndarray, more: np.ndarray) -> np.ndarray:
    """The part of ``more`` that each row may get beyond ``due`` (q, r) so that no row above passes its maximum."""
    e, r = due.shape
    part = np.ones((e, r))
    for c in range(e):
        for i in range(r):
            if parent[c] >= 0:
                part[c, i] = part[parent[c], i]
            if more[c, i] > 0:
                part[c, i] = min(part[c, i], max(0.0, maximum[c, i] - due[c, i]) / more[c, i])
    return part
