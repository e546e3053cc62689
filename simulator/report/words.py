"""Figures as people read them: with three digits and a unit, and names that cannot do anything to who shows them."""

import math

from simulator.compare import JOB_PAIRS, JOBS, PAIRS, SEEDS, Comparison, Estimate
from simulator.measures import LATENCY_BOUNDS_S
from wire.resources import OF_AXIS

NONE = "–"
BEYOND_S = float(LATENCY_BOUNDS_S[-1])  # longer latencies are not told apart
DURATIONS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (0.001, "ms"))
_UNITS = {"part": (100.0, " %"), "count": (1.0, ""), "core hours": (1.0, " core h"), "": (1.0, "")}


def clean(name: str, longest: int = 0) -> str:
    """Without control characters, since names are other people's; beyond ``longest`` letters without its middle."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in name)
    if not longest or len(shown) <= longest:
        return shown
    return f"{shown[: (longest - 1) // 3]}…{shown[-(longest - 1 - (longest - 1) // 3) :]}"


def value(amount: float, unit: str) -> str:
    """Such as "4.2 min", "81.3 %" or "1,204"; a dash for what cannot be said."""
    return said(Estimate(amount, math.nan, math.nan, "", 0), unit)[0]


def said(estimate: Estimate, unit: str) -> tuple[str, str]:
    """The value and its interval in the same unit, such as "4.2 min" and "3.9 to 4.5"; "" without an interval."""
    if math.isnan(estimate.value):
        return NONE, ""
    if math.isinf(estimate.value):
        return f"> {value(BEYOND_S, unit)}", ""
    ends = _ends(estimate)
    scale, ending = _scale(max(map(abs, (estimate.value, *ends))), unit)
    texts = [number(each * scale, whole=unit == "count") for each in (estimate.value, *ends)]
    interval = f"{texts[1]} to {texts[2]}" if len(set(texts)) > 1 else ""
    return _minus(texts[0] + ending), _minus(interval)


def change(estimate: Estimate, unit: str) -> tuple[str, str]:
    """The same with signs; parts change by points, since a difference of percentages is not in percent."""
    if not math.isfinite(estimate.value):
        return NONE, ""
    ends = _ends(estimate)
    if not any((estimate.value, *ends)):
        return "no change", ""
    scale, ending = _scale(max(map(abs, (estimate.value, *ends))), unit)
    ending = " points" if unit == "part" else ending
    texts = [_signed(number(each * scale, whole=unit == "count")) for each in (estimate.value, *ends)]
    interval = f"{texts[1]} to {texts[2]}" if len(set(texts)) > 1 else ""
    return _minus(texts[0] + ending), _minus(interval)


def basis(comparison: Comparison) -> str:
    """A sentence on what the intervals are over."""
    overs = {
        estimate.over
        for policy in comparison.policies
        for figure in policy.figures.values()
        for estimate in (figure.value, figure.change)
        if estimate is not None
    }
    if not overs & {JOBS, JOB_PAIRS}:
        return (
            "Intervals are over seeds." if overs & {SEEDS, PAIRS} else "There are no intervals: too few seeds and jobs."
        )
    if overs & {SEEDS, PAIRS}:
        return "Intervals are over seeds; where a policy has one seed, over its jobs: another seed may differ by more."
    return "Intervals are over the jobs of one seed, not over seeds: another seed may differ by more."


def number(amount: float, whole: bool = False) -> str:
    """Three digits that matter, two below 1, thousands marked; ``whole`` things in whole numbers from ten on."""
    size = abs(amount)
    if size >= 99.95 or (whole and (size >= 9.5 or amount == round(amount))):
        return f"{amount:,.0f}"
    if size >= 0.995:
        return f"{amount:.1f}" if size >= 9.995 else f"{amount:.2f}"
    return f"{amount:.{min(4, 1 - math.floor(math.log10(size)))}f}" if size >= 0.00005 else "0"


def verdict(change: Estimate | None, better: str) -> str:
    """What a change is: "better", "worse", "higher", "lower", or "unclear" where its interval has 0 in it.

    "" where there is no interval to tell by.
    """
    if change is None or not change.over:
        return ""
    if not change.clear:
        return "unclear"
    direction = "higher" if change.value > 0 else "lower"
    return direction if not better else "better" if direction == better else "worse"


def resource(name: str) -> tuple[str, str, float]:
    """What a resource is called, the unit it is shown in, and how many of its own units make one of these."""
    known = OF_AXIS.get(name)
    if known is None:
        return name, name, 1.0
    return known.word[0].upper() + known.word[1:], "GiB" if known.in_mib else known.word, float(known.large)


def _scale(size: float, unit: str) -> tuple[float, str]:
    """Factor and ending for amounts up to this size."""
    if unit != "s":
        return _UNITS[unit]
    if size == 0:
        return 1.0, " s"
    for length, name in DURATIONS:
        if size >= length * (1.0 if length <= 1 else 2.0):  # 90 s are "90 s", not "1.5 min"
            return 1 / length, f" {name}"
    return 1000.0, " ms"


def _ends(estimate: Estimate) -> tuple[float, ...]:
    known = estimate.over and math.isfinite(estimate.low) and math.isfinite(estimate.high)
    return (estimate.low, estimate.high) if known else ()


def _signed(text: str) -> str:
    return f"+{text}" if text[0] != "-" and text.strip("0.,") else text


def _minus(text: str) -> str:
    """With the sign that is as wide as a plus."""
    return text.replace("-", "−")
