"""Box plots as SVG text, as in the paper's Figure 5: quartiles, median, mean (triangle), 5th and 95th percentiles."""

from dataclasses import dataclass

import numpy as np

from simulator.report.svg import STYLE

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 440, 320, 64, 40, 48
INK, GRID, MEDIAN = "var(--text)", "var(--line)", "var(--s2)"
FILL = "var(--s0); fill-opacity: 0.25"


@dataclass(frozen=True)
class Panel:
    """One plot. boxes: name -> values. most: the upper end of the scale, which begins at 0."""

    title: str
    unit: str
    boxes: dict[str, np.ndarray]
    most: float


def svg(panels: list[Panel]) -> str:
    """The panels side by side."""
    body = "".join(
        f'<g transform="translate({i * WIDTH},0)">{"".join(_panel(panel))}</g>' for i, panel in enumerate(panels)
    )
    wide = WIDTH * len(panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HEIGHT}" width="{wide}" height="{HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="12"><style>{STYLE.read_text()}</style>'
        f'<rect width="{wide}" height="{HEIGHT}" style="fill: var(--surface)"/>{body}</svg>\n'
    )


def _panel(panel: Panel) -> list[str]:
    high = HEIGHT - BOTTOM - TOP

    def y(value: float) -> float:
        return TOP + high * (1 - value / panel.most)

    parts = [_text(WIDTH / 2, 20, panel.title, "middle"), _line(LEFT, TOP, LEFT, TOP + high)]
    for tick in np.linspace(0, panel.most, 6):
        parts.append(_line(LEFT - 4, y(tick), WIDTH - 12, y(tick), GRID))
        parts.append(_text(LEFT - 8, y(tick) + 4, f"{tick:g}{panel.unit}", "end"))
    step = (WIDTH - 12 - LEFT) / len(panel.boxes)
    for i, (name, values) in enumerate(panel.boxes.items()):
        x = LEFT + step * (i + 0.5)
        parts += _box(
            x, step * 0.25, [y(v) for v in np.percentile(values, [5, 25, 50, 75, 95])], y(float(values.mean()))
        )
        parts.append(_text(x, HEIGHT - BOTTOM + 20, name, "middle"))
    return parts


def _box(x: float, half: float, at: list[float], mean: float) -> list[str]:
    low, first, median, third, top = at
    return [
        _line(x, low, x, top),
        _line(x - half / 2, low, x + half / 2, low),
        _line(x - half / 2, top, x + half / 2, top),
        (
            f'<rect x="{x - half:.1f}" y="{third:.1f}" width="{2 * half:.1f}" height="{max(first - third, 0.5):.1f}" '
            f'style="fill: {FILL}; stroke: {INK}"/>'
        ),
        _line(x - half, median, x + half, median, MEDIAN, 2),
        f'<path d="M{x - 5:.1f} {mean + 4:.1f}h10l-5 -8z" style="fill: {MEDIAN}"/>',
    ]


def _line(x1: float, y1: float, x2: float, y2: float, ink: str = INK, width: int = 1) -> str:
    style = f"stroke: {ink}; stroke-width: {width}"
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="{style}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
