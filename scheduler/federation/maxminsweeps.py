"""Where queues hold what they are due: one resource, many sub-clusters, each queue where its demand is.

Leaves (l) are due ``ideal`` in all and may hold at most ``most`` (s, l) in each
sub-cluster, which has ``capacity`` (s,). Where that does not fit, all that
want the place rise together: at level x a leaf holds, in the whole federation,

- x * guaranteed, for x up to 1: everybody has the same part of what is guaranteed;
- min(ideal, guaranteed + (x - 1) * fill_rate) from there to 2: all rise at their rate, and
  nobody beyond its ideal.

A sub-cluster's level is the highest at which what its leaves lack elsewhere
fits into it. Sub-clusters are filled one after the other, each given what is
held in the others, until nothing moves: a leaf that is above the level of a
crowded place leaves it for places with room. Then no leaf holds anything where
it is above the level, and none lacks anything where it is below it: the
weighted max-min fair division of what flows from leaves to sub-clusters (a lexicographically optimal flow: Megiddo,
"Optimal flows in networks with multiple sources and sinks", 1974). A *place* is a sub-cluster.

Cost: a sweep searches one level for each of s sub-clusters, 3 to 6 steps of O(l): O(s l) in all, some 16 times.
"""

import numpy as np

from scheduler.core.compiled import Kernel, kernel

_STEPS_MAX = 60  # of the search for a level; 3 to 6 suffice
_EXACT = 1e-9  # part of a capacity by which a level may miss in the end
_WAYS_MAX = 60  # sweeps in which leaves look for other ways, each of which halves what is left to move, none among
_PLAIN = 4  # the last ones
_TIE = 1e-3  # levels that are as good as the same
CLOSE = 1e-7  # part of a capacity that is as good as nothing
FULL = 2.0  # the level at which all that is due is held


def _filled_of(
    x: float,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    held: np.ndarray,
    here: np.ndarray,
    most: np.ndarray,
) -> tuple[float, float]:
    """(what a sub-cluster would hold at level x, how fast that rises with x).

    held: (l,) in all sub-clusters, of which ``here`` (l,) in this one.
    """
    total, slope = 0.0, 0.0
    first, second = min(x, 1.0), max(x - 1.0, 0.0)
    for c in range(len(ideal)):
        at = first * guaranteed[c] + second * fill_rate[c]
        lacking = min(ideal[c], at) - held[c] + here[c]
        total += min(max(lacking, 0.0), most[c])
        speed = guaranteed[c] if x <= 1.0 else fill_rate[c]
        slope += speed if (at < ideal[c]) and (0.0 < lacking < most[c]) else 0.0
    return total, slope


_filled = Kernel(_filled_of, kernels_only=True, fastmath=True)


@kernel
def fill_level(
    capacity: float,
    x: float,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    held: np.ndarray,
    here: np.ndarray,
    most: np.ndarray,
    close: float,
) -> float:
    """The highest level at which a sub-cluster suffices, within about ``close``, at most ``FULL``; x: a guess."""
    low, high, at_low, at_high = 0.0, FULL, 0.0, np.inf
    for step in range(_STEPS_MAX):
        total, slope = _filled(x, guaranteed, ideal, fill_rate, held, here, most)
        if abs(total - capacity) <= close:
            ahead = x + (capacity - total) / slope if slope > 0.0 else x
            return min(max(ahead, low), high)
        if x >= FULL and total < capacity:
            return x
        if total < capacity:
            low, at_low = x, total
        else:
            high, at_high = x, total
        ahead = x + (capacity - total) / slope if slope > 0.0 else -1.0
        if at_high == np.inf and (slope <= 0.0 or ahead >= FULL):
            x = FULL
            continue
        if step % 4 == 2 and at_high < np.inf:
            ahead = low + (high - low) * (capacity - at_low) / (at_high - at_low)
        if step % 4 == 3 or not low < ahead < high:
            ahead = 0.5 * (low + high)
        if not low < ahead < high:
            break
        x = ahead
    return low


@kernel
def settle(
    allocation: np.ndarray,
    levels: np.ndarray,
    is_open: np.ndarray,
    capacity: np.ndarray,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    most: np.ndarray,
    sweeps: int,
    still: float,
) -> int:
    """Move what is held in ``allocation`` (s, l) until it is even; the sweeps that it took.

    levels: (s,), where to begin, overwritten. is_open: (s,), the others are
    left as they are. sweeps: the most that may be made. still: ends when no
    more than this moves in one of them.
    """
    s, leaves = allocation.shape
    held, wants = np.zeros(leaves), np.zeros(leaves, np.bool_)
    for n in range(s):
        for c in range(leaves):
            held[c] += allocation[n, c]
            wants[c] = wants[c] or (is_open[n] and most[n, c] > 0.0 and ideal[c] > 0.0)
    who, where = np.flatnonzero(wants), np.flatnonzero(is_open)
    few, fewer = np.empty((len(where), len(who))), np.empty((len(where), len(who)))
    for n in range(len(where)):
        for c in range(len(who)):
            few[n, c], fewer[n, c] = allocation[where[n], who[c]], most[where[n], who[c]]
    at = levels[where]
    made = _settle_open(
        few, at, capacity[where], held[who], guaranteed[who], ideal[who], fill_rate[who], fewer, sweeps, still
    )
    levels[where] = at
    for n in range(len(where)):
        for c in range(len(who)):
            allocation[where[n], who[c]] = few[n, c]
    return made


@kernel
def _settle_open(
    allocation: np.ndarray,
    levels: np.ndarray,
    capacity: np.ndarray,
    held: np.ndarray,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    most: np.ndarray,
    sweeps: int,
    still: float,
) -> int:
    """``settle`` of sub-clusters that are all open; held: (l,) in all, closed ones too, overwritten."""
    above = np.zeros(len(held))
    ways = bool(np.any(fill_rate <= CLOSE * ideal))  # whether anybody has its guarantee and no level
    for sweep in range(sweeps):
        moved, close, higher = 0.0, max(_EXACT, 1e-3 * 0.5**sweep), 0
        before, order = levels.copy(), np.argsort(-levels)
        seek = ways and sweep < min(sweeps - _PLAIN, _WAYS_MAX)
        above[:] = 0.0
        for k in order:
            while seek and before[order[higher]] > before[k] + _TIE:
                above += most[order[higher]]
                higher += 1
            seen = held
            if seek and 1.0 - _TIE < before[k] < FULL:
                seen = _apparent_holding(held, allocation[k], above, ideal, fill_rate)
            x = fill_level(
                capacity[k], levels[k], guaranteed, ideal, fill_rate, seen, allocation[k], most[k], close * capacity[k]
            )
            total, change = _hold(x, guaranteed, ideal, fill_rate, seen, held, allocation[k], most[k])
            levels[k] = x
            moved += change
            if total > capacity[k]:  # by rounding
                for c in range(len(held)):
                    lost = allocation[k, c] * (1.0 - capacity[k] / total)
                    allocation[k, c] -= lost
                    held[c] -= lost
        if moved <= still:
            return sweep + 1
    return sweeps


def _hold_of(
    x: float,
    guaranteed: np.ndarray,
    ideal: np.ndarray,
    fill_rate: np.ndarray,
    seen: np.ndarray,
    held: np.ndarray,
    here: np.ndarray,
    most: np.ndarray,
) -> tuple[float, float]:
    """Let all hold ``here`` what they are due at level x, noted in ``held``: (what that is in all, what changed)."""
    total, moved = 0.0, 0.0
    first, second = min(x, 1.0), max(x - 1.0, 0.0)
    for c in range(len(here)):
        at = min(ideal[c], first * guaranteed[c] + second * fill_rate[c])
        amount = min(max(at - seen[c] + here[c], 0.0), most[c])
        change = amount - here[c]
        moved += abs(change)
        total += amount
        held[c] += change
        here[c] = amount
    return total, moved


_hold = Kernel(_hold_of, kernels_only=True, fastmath=True)


@kernel
def _apparent_holding(
    held: np.ndarray, here: np.ndarray, above: np.ndarray, ideal: np.ndarray, fill_rate: np.ndarray
) -> np.ndarray:
    """What leaves hold as a crowded place counts it.

    Who has its guarantee and is due no more has no level of its own: it goes
    half way to where it could be, at places of higher levels.
    """
    seen = held.copy()
    for c in range(len(seen)):
        if fill_rate[c] <= CLOSE * ideal[c]:
            seen[c] += 0.5 * max(0.0, min(above[c], ideal[c]) - held[c] + here[c])
    return seen


@kernel
def demand_by_place(demand: np.ndarray, leaves: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """(r, s, l) float64: the demand (q, s, r) of leaves (l,), of what there is at all in capacity (r, s)."""
    r, s = capacity.shape
    want = np.empty((r, s, len(leaves)))
    for i in range(r):
        for k in range(s):
            for c in range(len(leaves)):
                want[i, k, c] = max(demand[leaves[c], k, i], 0) if capacity[i, k] > 0 else 0.0
    return want


@kernel
def idle_and_wanted(want: np.ndarray, allocation: np.ndarray, may: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """(s,): the part of a sub-cluster that is idle and wanted by leaves that ``may`` (r, l) hold more.

    Of the resource where it is most. want, allocation: (r, s, l). capacity: (r, s).
    """
    r, s, leaves = want.shape
    part = np.zeros(s)
    for i in range(r):
        for k in range(s):
            lack, idle = 0.0, capacity[i, k]
            for c in range(leaves):
                lack += want[i, k, c] - allocation[i, k, c] if may[i, c] else 0.0
                idle -= allocation[i, k, c]
            if capacity[i, k] > 0:
                part[k] = max(part[k], min(lack, idle) / capacity[i, k])
    return part


@kernel
def spread_like(like: np.ndarray, want: np.ndarray, aim: np.ndarray, allocation: np.ndarray) -> None:
    """Write to ``allocation`` what leaves hold if they divide their ``aim`` (l,) in the proportions of ``like``.

    allocation, like, want: (s, l); no more than is wanted.
    """
    s, leaves = want.shape
    both = np.zeros(leaves)
    for k in range(s):
        for c in range(leaves):
            if want[k, c] > 0:
                both[c] += like[k, c]
    for k in range(s):
        for c in range(leaves):
            fits = want[k, c] > 0 and both[c] > 0
            allocation[k, c] = min(want[k, c], aim[c] * like[k, c] / both[c]) if fits else 0.0


@kernel
def lower_step(step: np.ndarray, allocation: np.ndarray, ideal: np.ndarray) -> None:
    """Lower ``step`` (l,) to the part of its ideal (l,) that each leaf holds in all places (s, l)."""
    for c in range(len(step)):
        held = 0.0
        for k in range(len(allocation)):
            held += allocation[k, c]
        if held < ideal[c] * (1.0 - CLOSE):
            step[c] = min(step[c], held / ideal[c])


@kernel
def close_full(is_open: np.ndarray, allocation: np.ndarray, capacity: np.ndarray) -> bool:
    """Strike the sub-clusters that are full from ``is_open`` (r, s); whether there was one. allocation: (r, s, l)."""
    found = False
    for i in range(is_open.shape[0]):
        for k in range(is_open.shape[1]):
            if is_open[i, k]:
                total = 0.0
                for c in range(allocation.shape[2]):
                    total += allocation[i, k, c]
                is_open[i, k] = total < capacity[i, k] * (1.0 - CLOSE)
                found = found or not is_open[i, k]
    return found


@kernel
def within_reach(allocation: np.ndarray, want: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """(r, l): what each leaf holds, and wants beyond in sub-clusters that are open (r, s). allocation: (r, s, l)."""
    r, s, leaves = want.shape
    reach = np.zeros((r, leaves))
    for i in range(r):
        for k in range(s):
            source = want if is_open[i, k] else allocation
            for c in range(leaves):
                reach[i, c] += source[i, k, c]
    return reach
