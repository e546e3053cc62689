"""Charts beside one another as one SVG file, in the colours of the simulator's reports: light or dark as the reader's.

A chart is what ``simulator.report.charts`` makes; ``chart`` makes one of a plot.
"""

from collections.abc import Sequence

from simulator.report.charts import Chart
from simulator.report.svg import LETTER, STYLE, Plot, shape, text

EDGE, GAP, TITLE, ROW = 16.0, 26.0, 26.0, 20.0
SPACE = 8.0  # above a legend, and behind each of its swatches


def chart(title: str, plot: Plot, legend: list[tuple[str, str]], description: str) -> Chart:
    """A chart of a finished plot; the description is for those who do not see it."""
    name = "".join(c for c in title if c.isalnum())
    return Chart(title, plot.svg(name, title, description), legend)


def picture(charts: Sequence[Chart], width: float, height: float) -> str:
    """The charts in a row, each ``width`` by ``height`` with its title above and its legend below."""
    drawn, x, below = [], EDGE, 0.0
    for each in charts:
        rows = _legend(each.legend, width)
        drawn.append(
            f'<g transform="translate({x:g},{EDGE:g})"><text class="title" x="0" y="12">{text(each.title)}</text>'
            f'<g transform="translate(0,{TITLE:g})">{each.picture}</g>'
            f'<g transform="translate(0,{TITLE + height + SPACE:g})">{"".join(rows)}</g></g>'
        )
        x += width + GAP
        below = max(below, ROW * len(rows))
    wide, high = x - GAP + EDGE, 2 * EDGE + TITLE + height + SPACE + below
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" height="{high:g}" '
        'font-family="system-ui, sans-serif" font-size="12">'
        f"<style>{STYLE.read_text()}svg text.title {{ fill: var(--text); font-weight: 620; font-size: 14px; }}</style>"
        f'<rect width="{wide:g}" height="{high:g}" style="fill: var(--surface)"/>{"".join(drawn)}</svg>\n'
    )


def mark_swatch(series: int) -> str:
    """A legend's picture of a mark that is on no line."""
    return f'<svg width="14" height="14">{shape(series, 7, 7)}</svg>'


def _legend(entries: list[tuple[str, str]], width: float) -> list[str]:
    """Swatches with their words, in as many rows as they need."""
    rows, x = [""], 0.0
    for swatch, words in entries:
        begin = float(swatch.partition('width="')[2].partition('"')[0]) + SPACE
        wide = begin + LETTER * len(words) + 2 * SPACE
        if x and x + wide > width:
            rows, x = [*rows, ""], 0.0
        rows[-1] += (
            f'<g transform="translate({x:g},{ROW * (len(rows) - 1):g})">{swatch}'
            f'<text class="label" x="{begin:g}" y="11">{text(words)}</text></g>'
        )
        x += wide
    return rows
