"""Latencies as counts in bins that grow by a constant factor: merged by adding, exact to ``ERROR`` of the value.

Bin 0 holds everything up to 1 ms; bin i what lies above ``GROWTH ** (i - 1)``
and up to ``GROWTH ** i`` milliseconds. In rows an element is ``bin << 32 | count``.
(After DDSketch: Masson, Rim, Lee, VLDB 2019.)
"""

import math
from collections.abc import Iterable, Mapping

ERROR = 0.02  # of a percentile, relative; below 1 ms it is 1 ms
GROWTH = (1 + ERROR) / (1 - ERROR)
LN_GROWTH = math.log(GROWTH)
BIN_MAX = math.ceil(math.log(30 * 86_400_000) / LN_GROWTH)  # thirty days and more
_COUNT = (1 << 32) - 1

Sketch = dict[int, int]  # bin -> how many


def value_s(bin_: int) -> float:
    """The value, in seconds, that is at most ``ERROR`` away from all in the bin."""
    return 0.001 if bin_ == 0 else 2 * GROWTH**bin_ / (GROWTH + 1) / 1000


def upper_s(bin_: int) -> float:
    """The end of the bin, in seconds."""
    return float(GROWTH**bin_) / 1000


def packed(sketch: Mapping[int, int]) -> list[int]:
    return [bin_ << 32 | min(n, _COUNT) for bin_, n in sorted(sketch.items())]


def unpacked(elements: Iterable[int] | None) -> Sketch:
    return {e >> 32: e & _COUNT for e in elements or ()}


def quantile(sketch: Mapping[int, int], q: float) -> float | None:
    """The smallest value that at least the share ``q`` does not exceed, in seconds; ``None`` of nothing."""
    total = sum(sketch.values())
    rank, seen = max(1, math.ceil(q * total)), 0
    for bin_, n in sorted(sketch.items()):
        seen += n
        if seen >= rank:
            return value_s(bin_)
    return None
