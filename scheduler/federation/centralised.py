"""The idealised centralised scheduler: unit after unit to whom it is due, at a place where he wants it.

Progressive filling with small units, down the tree of queues: as DRF's algorithm (Ghodsi et al., NSDI '11, Algorithm 1)
takes one task after the other for the user with the least dominant share. Cost: for each unit the children of the
queues above it, and s sub-clusters.
"""

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.shares.tree import children

_NOTHING = 1e-9  # part of all there is


@kernel
def fill_progressively(
    parent: np.ndarray,
    guaranteed: np.ndarray,
    maximum: np.ndarray,
    weight: np.ndarray,
    leaves: np.ndarray,
    capacity: np.ndarray,
    want: np.ndarray,
    unit: float,
) -> np.ndarray:
    """(l, s, r): what each leaf holds in the end. capacity: (s, r). want: (l, s, r). unit: a part of all there is.

    First bundles, all resources in the proportion in which they are wanted at a
    place; then what is left of each resource alone.
    """
    e, r = guaranteed.shape
    total = np.zeros(r)
    for k in range(len(capacity)):
        total += capacity[k]
    first, kids = children(parent, np.ones((e, 1)))
    order = _least_wanted(capacity, want)
    held, free, got = np.zeros((e, r)), capacity.copy(), np.zeros(want.shape)
    which = np.zeros(r, np.bool_)
    at = np.full(e, -1, np.int64)
    for j in range(len(leaves)):
        at[leaves[j]] = j
    for phase in range(r + 1):
        for i in range(r):
            which[i] = phase == 0 or phase == i + 1
        _phase(parent, guaranteed, maximum, weight, kids, first, at, order, total, which, unit, held, free, want, got)
    return got


@kernel
def _least_wanted(capacity: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The sub-clusters, (s,), by what is wanted of them over what they have; the least wanted first."""
    s, r = capacity.shape
    crowd = np.zeros(s)
    for k in range(s):
        for i in range(r):
            wanted = 0.0
            for c in range(len(want)):
                wanted += want[c, k, i]
            crowd[k] = max(crowd[k], wanted / max(capacity[k, i], 1e-9))
    return np.argsort(crowd)


@kernel
def _phase(
    parent: np.ndarray,
    guaranteed: np.ndarray,
    maximum: np.ndarray,
    weight: np.ndarray,
    kids: np.ndarray,
    first: np.ndarray,
    at: np.ndarray,
    order: np.ndarray,
    total: np.ndarray,
    which: np.ndarray,
    unit: float,
    held: np.ndarray,
    free: np.ndarray,
    want: np.ndarray,
    got: np.ndarray,
) -> None:
    """Give out the resources ``which``, unit by unit, until nobody can take more."""
    alive = np.ones(len(parent), np.bool_)
    while True:
        node = -1
        while node < 0 or at[node] < 0:
            best, least = -1, np.inf
            for c in kids[first[node + 1] : first[node + 2]]:
                if alive[c]:
                    key = _key(held[c], guaranteed[c], total, which, weight[c])
                    if key < least:
                        best, least = c, key
            if best < 0:
                break
            node = best
        if node < 0:
            return
        alive[node] = at[node] >= 0 and _take(
            node, parent, maximum, order, total, which, unit, held, free, want[at[node]], got[at[node]]
        )


@kernel
def _key(held: np.ndarray, guaranteed: np.ndarray, total: np.ndarray, which: np.ndarray, weight: float) -> float:
    """Whom to serve first: below 0 the part of the guarantee that is missing, above it the dominant share by weight."""
    missing, most = 0.0, 0.0
    for i in range(len(total)):
        if which[i] and total[i] > 0:
            if held[i] < guaranteed[i]:
                missing = max(missing, 1.0 - held[i] / guaranteed[i])
            most = max(most, held[i] / total[i])
    return -missing if missing > _NOTHING else most / weight


@kernel
def _take(
    leaf: int,
    parent: np.ndarray,
    maximum: np.ndarray,
    order: np.ndarray,
    total: np.ndarray,
    which: np.ndarray,
    unit: float,
    held: np.ndarray,
    free: np.ndarray,
    want: np.ndarray,
    got: np.ndarray,
) -> bool:
    """Let a leaf take a unit at the first place where it can; whether it could. want, got: (s, r), its own."""
    r = len(total)
    for k in order:
        size = 0.0
        for i in range(r):
            if which[i] and total[i] > 0:
                size = max(size, (want[k, i] - got[k, i]) / total[i])
        if size <= _NOTHING:
            continue
        part = min(1.0, unit / size)
        for i in range(r):
            lack = want[k, i] - got[k, i]
            if which[i] and lack > _NOTHING * total[i]:
                room, row = free[k, i], leaf
                while row >= 0:
                    room, row = min(room, maximum[row, i] - held[row, i]), parent[row]
                part = min(part, room / lack)
        if part * size > _NOTHING:
            for i in range(r):
                if which[i]:
                    amount, row = part * (want[k, i] - got[k, i]), leaf
                    got[k, i] += amount
                    free[k, i] -= amount
                    while row >= 0:
                        held[row, i] += amount
                        row = parent[row]
            return True
    return False
