"""Charts as inline SVG: axes with round ticks, lines, stairs, areas, and marks with intervals.

Own drawing, since no plotting library is among the requirements: matplotlib
would bring 60 MB for pictures that follow neither the reader's light or dark
scheme nor a screen reader. Colours are classes (``s0`` to ``s7``), which
``STYLE`` gives a meaning in each scheme. Series differ by dash, hatch and mark
as well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from simulator.report.words import DURATIONS, clean, number

STYLE = Path(__file__).with_name("chart.css")
COLOURS = 8  # the last is for what is put together
DASHES = ("", "7 4", "2 3", "11 4 2 4", "5 2 1 2 1 2", "14 5")
MARKS = 6
TOP, BOTTOM = 30.0, 44.0
LETTER = 6.6  # average width of a letter at the size of ticks
# Steps that are round in a clock's units; powers of ten go on above.
_ROUND = {
    "d": (1.0, 2.0, 3.0, 7.0, 14.0, 28.0),
    "h": (1.0, 2.0, 3.0, 6.0, 12.0, 24.0),
    "min": (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0),
}
_CLOCK = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86400.0, 864000.0)
_HATCHES = (
    '<path d="M-1 9L9 -1M-1 1L1 -1M7 9L9 7"/>', '<path d="M-1 -1L9 9M-1 7L1 9M7 -1L9 1"/>', '<path d="M0 4H8"/>',
    '<path d="M2 2h.01M6 6h.01"/>', '<path d="M4 0V8"/>', '<path d="M0 4H8M4 0V8"/>',
)  # fmt: skip
_OUTLINES = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", "m-4 -4h8v8h-8z", "m0 -5.5l5 9h-10z",
    "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z", "m0 5.5l-5 -9h10z",
    "m-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Axis:
    """From low to high. label: what it shows and in which unit. ticks: value and text."""

    low: float
    high: float
    label: str
    ticks: list[tuple[float, str]]
    log: bool = False

    def at(self, values: np.ndarray | float) -> np.ndarray:
        """0 at the low end, 1 at the high end; what is beyond stands at the end. NaN stays."""
        known = np.clip(np.asarray(values, np.float64), self.low, self.high)
        if self.log:
            return np.asarray(np.log(known / self.low) / math.log(self.high / self.low))
        return np.asarray((known - self.low) / (self.high - self.low))


def linear(high: float, label: str, scale: float = 1.0, most: float = math.inf) -> Axis:
    """From 0 to a round value above ``high`` if one is near, never above ``most``. scale: units per unit shown."""
    top = high / scale if high > 0 and math.isfinite(high) else 1.0
    step = _step(top / 5, (1.0, 2.0, 5.0))
    count = max(1, math.ceil(top / step - 1e-9))
    end = min(count * step if count * step < 1.15 * top else 1.05 * top, most / scale)  # no half-empty pictures
    ticks = [(k * step * scale, _tick(k * step, step)) for k in range(count + 1) if k * step <= end * 1.0001]
    return Axis(0.0, end * scale, label, ticks)


def times(high_s: float, label: str, wide: bool = True) -> Axis:
    """From 0 to ``high_s``, in the unit that suits it, with ticks a clock would have. wide: there is room for ten."""
    high_s = high_s if high_s > 0 and math.isfinite(high_s) else 1.0
    length, unit = next(((n, u) for n, u in DURATIONS if high_s >= 2 * n), DURATIONS[-1])
    step = _step(high_s / length / (10 if wide else 6), _ROUND.get(unit, (1.0, 2.0, 5.0)))
    ticks = [(k * step * length, _tick(k * step, step)) for k in range(int(high_s / length / step + 1e-9) + 1)]
    return Axis(0.0, high_s, f"{label}, {unit}", ticks)


def log_times(low_s: float, high_s: float, label: str) -> Axis:
    """Powers of ten below a minute, then minutes, hours and days, from the tick below to the tick above."""
    low = max((t for t in _CLOCK if t <= low_s * 1.0001), default=_CLOCK[0])
    high = min((t for t in _CLOCK if t >= high_s * 0.9999 and t > low), default=_CLOCK[-1])
    return Axis(low, high, label, [(t, _clock(t)) for t in _CLOCK if low <= t <= high], log=True)


def log_ratios(high: float, label: str) -> Axis:
    """From 1 to a power of ten."""
    decades = max(1, math.ceil(math.log10(max(high, 1.0)) - 1e-9)) if math.isfinite(high) else 1
    return Axis(1.0, 10.0**decades, label, [(10.0**k, _tick(10.0**k, 1.0)) for k in range(decades + 1)], log=True)


class Plot:
    """A picture that is drawn into, then asked for its text. Values are in the units of the axes."""

    def __init__(self, x: Axis, y: Axis, width: float = 520.0, height: float = 260.0, rows: bool = False):
        """rows: y counts rows from the top, and its ticks are their names."""
        self.x, self.y, self.width, self.height, self.rows = x, y, width, height, rows
        longest = max((len(text) for _, text in y.ticks), default=1)
        letter = LETTER * (1.15 if rows else 1.0)  # names have wider letters than numbers
        self.left = max(36.0, 16.0 + letter * longest)
        last = len(x.ticks[-1][1]) if x.ticks else 0
        self.right = width - max(10.0, 2.0 + LETTER * last / 2)
        self.parts: list[str] = []

    def line(self, xs: np.ndarray, ys: np.ndarray, series: int) -> None:
        """A line through these points, interrupted at NaN."""
        steps, pen = [], "M"
        for x, y in zip(self._x(xs).tolist(), self._y(ys).tolist(), strict=True):
            if math.isnan(x) or math.isnan(y):
                pen = "M"
                continue
            steps.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        dash = _dash(DASHES[series % len(DASHES)])
        self.parts.append(f'<path class="line {colour(series)}" d="{"".join(steps)}"{dash}/>')

    def stairs(self, edges: np.ndarray, ys: np.ndarray, series: int, kind: str = "line") -> None:
        """A level ys[i] from edges[i] to edges[i + 1]: edges (c + 1,), ys (c,). Interrupted at NaN."""
        xs, levels = self._x(edges).tolist(), self._y(ys).tolist()
        steps, pen = [], "M"
        for k, level in enumerate(levels):
            if math.isnan(level):
                pen = "M"
                continue
            steps.append(f"{f'M{xs[k]:.1f} ' if pen == 'M' else 'V'}{level:.1f}H{xs[k + 1]:.1f}")
            pen = "V"
        dash = _dash(DASHES[series % len(DASHES)]) if kind == "line" else ""
        self.parts.append(f'<path class="{kind} {colour(series)}" d="{"".join(steps)}"{dash}/>')

    def area(self, edges: np.ndarray, low: np.ndarray, high: np.ndarray, series: int, title: str) -> None:
        """What is between two stairs, in the series' colour and hatch. title: says what it is under a pointer."""
        xs, top, bottom = self._x(edges).tolist(), self._y(high).tolist(), self._y(low).tolist()
        there = "".join(f"V{y:.1f}H{x:.1f}" for y, x in zip(top, xs[1:], strict=True))
        back = "".join(f"V{y:.1f}H{x:.1f}" for y, x in zip(bottom[::-1], xs[-2::-1], strict=True))
        outline = f"M{xs[0]:.1f} {bottom[0]:.1f}{there}{back}Z"
        hatch = f'<path d="{outline}" fill="{hatched(series)}"/>' if hatched(series) else ""
        self.parts.append(
            f'<g class="area {colour(series)}"><title>{text(title)}</title><path d="{outline}"/>{hatch}</g>'
        )

    def interval(self, low: float, high: float, y: float, series: int) -> None:
        """A horizontal line with caps, at a row's place."""
        (a, b), at = self._x(np.array([low, high])), float(self._y(np.array([y]))[0])
        self.parts.append(
            f'<path class="whisker {colour(series)}" '
            f'd="M{a:.1f} {at:.1f}H{b:.1f}M{a:.1f} {at - 4:.1f}v8M{b:.1f} {at - 4:.1f}v8"/>'
        )

    def mark(self, x: float, y: float, series: int, title: str) -> None:
        """One of ``MARKS`` shapes."""
        at = float(self._x(np.array([x]))[0]), float(self._y(np.array([y]))[0])
        self.parts.append(f"<g><title>{text(title)}</title>{shape(series, *at)}</g>")

    def svg(self, name: str, title: str, description: str) -> str:
        """name: unique on the page, letters and digits. title, description: for those who do not see it."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" style="max-width:{self.width:g}px">'
            f'<title id="{name}-title">{text(title)}</title><desc id="{name}-desc">{text(description)}</desc>'
            f"{self._frame()}{''.join(self.parts)}{self._axes()}</svg>"
        )

    def _x(self, values: np.ndarray) -> np.ndarray:
        return self.left + (self.right - self.left) * self.x.at(values)

    def _y(self, values: np.ndarray) -> np.ndarray:
        part = self.y.at(values) if self.rows else 1 - self.y.at(values)
        return TOP + (self.height - TOP - BOTTOM) * part

    def _frame(self) -> str:
        """Lines behind everything: one for each tick; between rows instead where y counts them."""
        right, bottom = self.right, self.height - BOTTOM
        levels = np.arange(len(self.y.ticks) + 1.0) if self.rows else np.array([v for v, _ in self.y.ticks])
        path = "".join(f"M{self.left:.1f} {y:.1f}H{right:.1f}" for y in self._y(levels).tolist())
        if self.rows or self.x.log:
            path += "".join(
                f"M{x:.1f} {TOP:.1f}V{bottom:.1f}" for x in self._x(np.array([v for v, _ in self.x.ticks])).tolist()
            )
        return f'<path class="grid" d="{path}"/>'

    def _axes(self) -> str:
        right, bottom = self.right, self.height - BOTTOM
        parts = [f'<path class="axis" d="M{self.left:.1f} {TOP:.1f}V{bottom:.1f}H{right:.1f}"/>']
        for value, words in self.y.ticks:
            y = float(self._y(np.array([value]))[0])
            parts.append(f'<text x="{self.left - 7:.1f}" y="{y + 4:.1f}" text-anchor="end">{text(words)}</text>')
        for value, words in self.x.ticks:
            x = float(self._x(np.array([value]))[0])
            parts.append(f'<path class="axis" d="M{x:.1f} {bottom:.1f}v4"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 17:.1f}" text-anchor="middle">{text(words)}</text>')
        parts.append(f'<text class="label" x="0" y="14">{text(self.y.label)}</text>')
        parts.append(
            f'<text class="label" x="{(self.left + right) / 2:.1f}" y="{self.height - 6:.1f}" '
            f'text-anchor="middle">{text(self.x.label)}</text>'
        )
        return "".join(parts)


def text(words: str) -> str:
    """Safe in elements and in quoted attributes."""
    return escape(clean(words), quote=True)


def colour(series: int) -> str:
    """Class of a series; negative: of what is put together."""
    return f"s{series % (COLOURS - 1) if series >= 0 else COLOURS - 1}"


def hatched(series: int) -> str:
    """A fill that lies over a series' colour; "" where it has none."""
    k = series % (COLOURS - 1)
    return f"url(#hatch{k})" if series >= 0 and k else ""


def hatches() -> str:
    """The hatches' definitions: once on a page."""
    patterns = "".join(
        f'<pattern id="hatch{k}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<g class="hatch">{drawn}</g></pattern>'
        for k, drawn in enumerate(_HATCHES, start=1)
    )
    return f'<svg class="defs" aria-hidden="true" width="0" height="0"><defs>{patterns}</defs></svg>'


def shape(series: int, x: float, y: float) -> str:
    """A series' mark around a point: circle, square, triangle, diamond, triangle upside down, cross."""
    return f'<path class="mark {colour(series)}" d="M{x:.1f} {y:.1f}{_OUTLINES[series % MARKS]}"/>'


def line_swatch(series: int) -> str:
    """A legend's picture of a line and its mark."""
    dash = _dash(DASHES[series % len(DASHES)])
    return (
        f'<svg class="swatch" aria-hidden="true" viewBox="0 0 44 14" width="44" height="14">'
        f'<path class="line {colour(series)}" d="M1 7H43"{dash}/>{shape(series, 22, 7)}</svg>'
    )


def area_swatch(series: int) -> str:
    """A legend's picture of an area."""
    over = f'<path d="M1 1H21V13H1Z" fill="{hatched(series)}"/>' if hatched(series) else ""
    return (
        f'<svg class="swatch" aria-hidden="true" viewBox="0 0 22 14" width="22" height="14">'
        f'<g class="area {colour(series)}"><path d="M1 1H21V13H1Z"/>{over}</g></svg>'
    )


def limit_swatch() -> str:
    """A legend's picture of the line that says how much there is."""
    return (
        '<svg class="swatch" aria-hidden="true" viewBox="0 0 30 14" width="30" height="14">'
        '<path class="limit" d="M1 7H29"/></svg>'
    )


def _dash(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _step(least: float, mantissas: Sequence[float]) -> float:
    """The smallest round step that is not below ``least``; powers of ten of 1, 2, 5 where the given ones end."""
    if 1 <= least <= mantissas[-1]:
        return next(m for m in mantissas if m >= least - 1e-9)
    decade = 10.0 ** math.floor(math.log10(least))
    return next(m * decade for m in (1.0, 2.0, 5.0, 10.0) if m * decade >= least - 1e-12)


def _tick(amount: float, step: float) -> str:
    """With as many digits as all ticks of this step need."""
    return f"{amount:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _clock(seconds: float) -> str:
    length, unit = next((n, u) for n, u in DURATIONS if seconds >= n * 0.9999)
    return f"{number(seconds / length, whole=True).removesuffix('.0').removesuffix('.00')} {unit}"
