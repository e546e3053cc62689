"""How far all queues can rise together before some are stuck: exactly, by flows from leaves to sub-clusters.

One resource. Leaves (l) hold ``allocation`` (s, l), at most ``most`` (s, l) in each sub-cluster of ``capacity`` (s,).
At level x a leaf holds in all what ``maxminsweeps`` says: x * guaranteed up to 1, from there
min(ideal, guaranteed + (x - 1) * fill_rate).

A set of sub-clusters has to take what leaves cannot hold outside of it. The level is the highest at which none has to
take more than it has. It is found from above, by Newton's method on the cuts (Radzik, "Fractional combinatorial
optimization", 1998): where not all fit, a maximum flow (Edmonds and Karp, 1972) tells a set that would have to take
too much, and that set a lower level. Ways of the flow lead over sub-clusters; all leaves that can go a way share it.

Cost: a maximum flow for each cut, of which few are tried (2 s at most); each way of a flow is found in O(s^2 l).
"""

import numpy as np

from scheduler.core.compiled import Kernel, kernel
from scheduler.federation.maxminsweeps import FULL

_LEAST = 1e-9  # part of all capacity that is nothing
_HALVINGS = 60  # of the interval in which a level lies


@kernel
def raise_level(
    allocation: np.ndarray,
    is_open: np.ndarray,
    capacity: np.ndarray,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    most: np.ndarray,
) -> float:
    """Let all hold, in ``allocation``, what they do at the highest level possible: that level, at most ``FULL``.

    is_open: (s,). The others are left as they are, and those that are in the
    way of a higher level are struck from it; below ``FULL`` there is one. Who
    can hold no more in open ones does not hinder others. guaranteed, ideal, fill_rate: (l,).
    """
    s = len(is_open)
    kept, reach = _kept(allocation, is_open, most)
    aim, x, stuck = np.minimum(ideal, reach), FULL, np.zeros(s, np.bool_)
    for alone in np.eye(s, dtype=np.bool_)[is_open]:  # that is soon seen, and often all
        lower = _level_within(alone, x, capacity, guaranteed, aim, fill_rate, reach, most)
        if lower < x:
            x, stuck = lower, alone
    for _ in range(2 * s):
        need = np.maximum(np.minimum(aim, min(x, 1.0) * guaranteed + max(x - 1.0, 0.0) * fill_rate) - kept, 0.0)
        tight = _fit(allocation, is_open, capacity, need, most, _LEAST * capacity.sum())
        if not tight.any():
            break
        before, stuck = x, tight
        x = _level_within(tight, x, capacity, guaranteed, aim, fill_rate, reach, most)
        if x >= before:
            break
    for k in range(s):
        is_open[k] = is_open[k] and not stuck[k]
    return x


@kernel
def _kept(allocation: np.ndarray, is_open: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(what leaves hold in sub-clusters that are not open, and with what they could hold in open ones): (l,) each."""
    kept = np.zeros(allocation.shape[1])
    for k in np.flatnonzero(~is_open):
        kept += allocation[k]
    reach = kept.copy()
    for k in np.flatnonzero(is_open):
        reach += most[k]
    return kept, reach


def _over_of(x: float, guaranteed: np.ndarray, ideal: np.ndarray, fill_rate: np.ndarray, outside: np.ndarray) -> float:
    """What leaves cannot hold ``outside`` (l,) at level x."""
    total, first, second = 0.0, min(x, 1.0), max(x - 1.0, 0.0)
    for c in range(len(guaranteed)):
        total += max(min(ideal[c], first * guaranteed[c] + second * fill_rate[c]) - outside[c], 0.0)
    return total


_over = Kernel(_over_of, kernels_only=True, fastmath=True)


@kernel
def _level_within(
    inside: np.ndarray,
    high: float,
    capacity: np.ndarray,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    reach: np.ndarray,
    most: np.ndarray,
) -> float:
    """The highest level, at most ``high``, at which what leaves cannot hold elsewhere fits ``inside`` (s,)."""
    room, outside = 0.0, reach.copy()
    for k in np.flatnonzero(inside):
        room += capacity[k]
        outside -= most[k]
    low, x = 0.0, high
    for _ in range(_HALVINGS):
        if _over(x, guaranteed, ideal, fill_rate, outside) <= room:
            low = x
        else:
            high = x
        if low >= high:
            break
        x = 0.5 * (low + high)
    return low


@kernel
def _fit(
    allocation: np.ndarray, is_open: np.ndarray, capacity: np.ndarray, need: np.ndarray, most: np.ndarray, least: float
) -> np.ndarray:
    """Let leaves hold what they ``need`` (l,) in open places as far as it fits: (s,), the places in the way of more."""
    s, leaves = allocation.shape
    lack, slack = need.copy(), capacity.copy()
    for c in range(leaves):
        held = 0.0
        for k in range(s):
            held += allocation[k, c] if is_open[k] else 0.0
        keep = min(1.0, need[c] / held) if held > 0.0 else 0.0
        for k in range(s):
            if is_open[k]:
                allocation[k, c] *= keep
                slack[k] -= allocation[k, c]
        lack[c] -= held * keep
    ways = np.full((s + 1, s), -1.0)
    come, end = _path(allocation, is_open, most, lack, slack, ways, least)
    while end >= 0:
        _push(allocation, most, lack, slack, come, end, ways)
        come, end = _path(allocation, is_open, most, lack, slack, ways, least)
    return come >= 0


@kernel
def _path(
    allocation: np.ndarray,
    is_open: np.ndarray,
    most: np.ndarray,
    lack: np.ndarray,
    slack: np.ndarray,
    ways: np.ndarray,
    least: float,
) -> tuple[np.ndarray, int]:
    """(come, end) of a shortest way from leaves that lack to a place with room, over places that leaves can leave.

    come: (s,), the place before each, s at the first, -1 where no way leads.
    end: -1 without any. ways: (s + 1, s), what can move from each place, and of
    what is lacking to each; below 0 where that is not known.
    """
    s = len(slack)
    come, queue, head, tail, k = np.full(s, -1), np.empty(s, np.int64), 0, 0, s
    while True:
        source = lack if k == s else allocation[k]
        for n in range(s):
            if is_open[n] and come[n] < 0:
                if ways[k, n] < 0.0:
                    ways[k, n] = _movable(source, most[n], allocation[n])
                if ways[k, n] > least:
                    come[n], queue[tail] = k, n
                    tail += 1
                    if slack[n] > least:
                        return come, n
        if head == tail:
            return come, -1
        k = queue[head]
        head += 1


def _movable_of(source: np.ndarray, most: np.ndarray, here: np.ndarray) -> float:
    """What of ``source`` (l,), held elsewhere or lacking, there is room for ``here`` (l,)."""
    total = 0.0
    for c in range(len(source)):
        total += max(min(source[c], most[c] - here[c]), 0.0)
    return total


_movable = Kernel(_movable_of, kernels_only=True, fastmath=True)


@kernel
def _push(
    allocation: np.ndarray,
    most: np.ndarray,
    lack: np.ndarray,
    slack: np.ndarray,
    come: np.ndarray,
    end: int,
    ways: np.ndarray,
) -> None:
    """Send what fits along the way that ``come`` tells to ``end``."""
    s, amount, n = len(slack), slack[end], end
    while n < s:
        amount = min(amount, ways[come[n], n])
        n = come[n]
    slack[end] -= amount
    n = end
    while n < s:
        source = lack if come[n] == s else allocation[come[n]]
        part = amount / _movable(source, most[n], allocation[n])
        for c in range(len(source)):
            change = part * max(min(source[c], most[n, c] - allocation[n, c]), 0.0)
            source[c] -= change
            allocation[n, c] += change
        ways[n] = -1.0
        ways[:, n] = -1.0
        n = come[n]
    ways[s] = -1.0
