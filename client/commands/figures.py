"""Figures of simulations as words."""

from __future__ import annotations

from contract.simulations import SimulatedEstimate

NONE = "-"


def value(amount: float | None, unit: str) -> str:
    """Such as "4.2 s", "81.3 %" or "1,204"."""
    if amount is None:
        return NONE
    if unit == "part":
        return f"{100 * amount:.1f} %"
    digits = 0 if unit == "count" else 1 if abs(amount) >= 10 else 2
    return f"{amount:,.{digits}f}{f' {unit}' if unit not in ('', 'count') else ''}"


def change(found: SimulatedEstimate | None, unit: str, better: str) -> str:
    """Such as "+4.2 s worse (+1.0 to +7.4)"; "unclear" where the interval has 0 in it."""
    if found is None or found.value is None:
        return NONE
    if not any((found.value, found.low, found.high)):
        return "none"
    ends = ""
    verdict = ""
    if found.low is not None and found.high is not None and found.over:
        ends = f" ({_signed(found.low, unit)} to {_signed(found.high, unit)})"
        clear = found.low > 0 or found.high < 0
        direction = "higher" if found.value > 0 else "lower"
        verdict = " unclear" if not clear else (" better" if direction == better else " worse") if better else ""
    return f"{_signed(found.value, unit)}{verdict}{ends}"


def _signed(amount: float, unit: str) -> str:
    text = value(amount, unit)
    if unit == "part":  # a difference of percentages is not in percent
        text = text.replace(" %", " points")
    return text if amount < 0 else f"+{text}"
