"""Water filling: what several claimants of one budget get when all rise together.

Max-min fairness by progressive filling (Bertsekas and Gallager, "Data Networks", 1992, section 6.5).

At level x claimant c takes ``max(base[c], rate[c] * min(x, limit[c]))``.

Cost: a search takes 2 to 10 steps, each O(k) for k claimants.

Everybody rises from nothing here, in several resources at once, and thousands of times in one division of the whole
federation. ``preemption.ideal.divide_max_min`` fills one resource from what each is guaranteed on, which this cannot
say. Where both can be asked a property test holds them to one answer. ``federation.maxminsweeps`` fills many budgets
at once: how far one rises there follows from what the same claimants hold in the others, and the pace of each changes.
"""

import numpy as np

from scheduler.core.compiled import kernel

_STEPS_MAX = 200  # a search takes 2 to 10; this bounds it whatever the numbers are
CLOSE = 1e-7  # units: a difference that means nothing, and
_ROUNDING = 1e-14  # the part of a total that sums in floating point may miss


@kernel
def fill_level(
    base: np.ndarray, rate: np.ndarray, start: np.ndarray, limit: np.ndarray, low: float, budget: float
) -> float:
    """The highest level from ``low`` at which the claimants stay within a budget; infinite if they always do.

    All arrays (k,) float64; ``start`` as of ``start_levels``. Returns ``low`` if the
    budget is exceeded there already. The total is piecewise linear in x: the
    search steps along the slope between brackets until the piece is found,
    which gives the level exactly.
    """
    at_low, at_high, high, close = 0.0, 0.0, low, CLOSE + _ROUNDING * budget
    for c in range(len(limit)):
        at_low += max(base[c], rate[c] * min(limit[c], low))
        at_high += max(base[c], rate[c] * limit[c])
        high = max(high, limit[c])
    if at_high <= budget:
        return np.inf
    if at_low > budget - close:
        return low
    x = low + (high - low) * (budget - at_low) / (at_high - at_low)
    for step in range(_STEPS_MAX):
        total, slope, before, after = _filled(base, rate, start, limit, x)
        if total <= budget:
            low, at_low = x, total
        else:
            high, at_high = x, total
        ahead = x + (budget - total) / slope if slope > 0 else np.inf
        before, after = max(before, low), min(after, high)
        if before <= ahead <= after:
            return ahead
        if abs(budget - total) <= close:
            return x
        if slope <= 0:
            ahead = before if total > budget else after
        if step % 8 == 3 or not low < ahead < high:
            ahead = low + (high - low) * (budget - at_low) / (at_high - at_low)
        if step % 8 == 7 or not low < ahead < high:
            ahead = (low + high) / 2
        if not low < ahead < high:
            return low
        x = ahead
    return low


@kernel
def _filled(
    base: np.ndarray, rate: np.ndarray, start: np.ndarray, limit: np.ndarray, x: float
) -> tuple[float, float, float, float]:
    """(total at level x, its slope there, the bends next before and after x)."""
    total, slope, before, after = 0.0, 0.0, 0.0, np.inf
    for c in range(len(limit)):
        if x < start[c]:
            total += base[c]
            after = min(after, start[c])
        elif x < limit[c]:
            total += rate[c] * x
            slope += rate[c]
            before = max(before, start[c])
            after = min(after, limit[c])
        else:
            total += max(base[c], rate[c] * limit[c])
            before = max(before, limit[c])
    return total, slope, before, after


@kernel
def start_levels(base: np.ndarray, rate: np.ndarray, start: np.ndarray) -> None:
    """Write to ``start`` at which level each claimant begins to take more than its base: infinite where never."""
    for c in range(len(base)):
        start[c] = base[c] / rate[c] if rate[c] > 0 else np.inf


@kernel
def fill_resources(
    base: np.ndarray, rate: np.ndarray, limit: np.ndarray, budget: np.ndarray, scarce: np.ndarray
) -> None:
    """Lower ``limit`` to the level at which each claimant of several resources stops.

    base, rate: (r, k) float64. limit: (k,). budget: (r,). scarce: (r,)
    bool, resources that may not suffice, overwritten. All rise together;
    a resource that is exhausted stops those that would take more of it, and
    the others rise on. A claimant whose base is more than its level gives it is
    stopped where it would begin to take more.
    """
    r, k = base.shape
    start = np.empty((r, k))
    for i in range(r):
        if scarce[i]:
            start_levels(base[i], rate[i], start[i])
    low = 0.0
    for _ in range(r):
        x, out = np.inf, -1
        for i in range(r):
            if scarce[i]:
                reached = fill_level(base[i], rate[i], start[i], limit, low, budget[i])
                scarce[i] = reached < np.inf  # what suffices for all suffices when some have stopped
                if reached < x:
                    x, out = reached, i
        if out < 0:
            return
        scarce[out] = False
        low = x
        rising = False
        for c in range(k):
            if rate[out, c] > 0:
                limit[c] = min(limit[c], max(x, start[out, c]))
            rising = rising or limit[c] > x
        if not rising:
            return
