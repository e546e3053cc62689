"""Reports: well-formed, complete, and never moved by a name."""

import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simulator.compare import NOTHING, PAIRS, Estimate, compare
from simulator.figures import BY_QUEUE, OVERALL
from simulator.measures import Run
from simulator.report import charts, document, page, svg, table, words
from tests.unit.simulator.test_compare import ran
from tests.unit.simulator.test_figures import made

HOSTILE = '<script>alert("1")</script>&\x1b[31m[bold]\'"><img src=x onerror=alert(1)>'
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def busy(policy: str, seed: int, name: str = "root.q", queues: int = 3) -> Run:
    """A run in which every figure has a value."""
    rng = np.random.default_rng([seed, len(policy)])
    run = ran(policy, seed, rng.exponential(100, 60), np.arange(60) % queues, queues=queues, periods=90)
    run.queues = [f"{name}{i}" for i in range(queues)]
    run.users, run.ended_s, run.lifecycles = [name], 90 * 60.0, 60
    run.used[:], run.wanted[:] = rng.uniform(0, 200, run.used.shape), 100
    run.share[:] = 1 / queues
    run.latency[:, 20:90] = rng.integers(0, 50, (queues, 70))
    run.locality[:], run.preempted[:], run.wasted[:] = 5, 2, 1e6
    return run


def shown(runs: list[Run], title: str = "Report") -> ElementTree.Element:
    """The page, which has to be well-formed XML too."""
    return ElementTree.fromstring(page.page(runs, title=title).removeprefix("<!DOCTYPE html>"))


class Reader(HTMLParser):
    """What a browser would see: elements, and their attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


RUNS = {
    "seeds": [busy(policy, seed) for policy in ("old", "new", "newer") for seed in (1, 2, 3)],
    "one seed": [busy("old", 1), busy("new", 1)],
    "one run": [busy("old", 1)],
    "many queues": [busy(policy, 1, queues=40) for policy in ("old", "new")],
    "empty": [made(), made(policy="new", queues=0, periods=0)],
}


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS.keys())
@pytest.mark.filterwarnings("error")
def test_every_report_of_every_kind_of_runs(runs: list[Run]):
    root = shown(runs)
    headings = [e.text for e in root.iter(f"{XHTML}h2")]
    assert {"Main figures", "Use over time", "Waiting", "Fairness", "By queue", "Runs", "Terms"} <= set(headings)
    assert ("What changes" in headings) == (len({run.policy for run in runs}) > 1)
    assert "Main figures" in table.text(runs)
    assert json.loads(document.text(runs))["version"] == document.VERSION


def test_a_page_without_runs_says_so():
    assert "There are no runs to report." in "".join(shown([]).itertext())


# --- the page


def test_a_page_needs_nothing_from_elsewhere():
    text = page.page(RUNS["seeds"])
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:|//|data:)", text)
    found = Reader(text)
    assert not found.tags & {"script", "link", "img", "iframe", "object", "base"}
    assert not [name for name in found.attributes if name.startswith("on")]
    assert "default-src 'none'" in text and "prefers-color-scheme: dark" in text


def test_tables_and_pictures_can_be_read_without_seeing_them():
    root = shown(RUNS["seeds"])
    tables = list(root.iter(f"{XHTML}table"))
    assert tables
    for each in tables:
        assert each.find(f"{XHTML}caption") is not None
        assert all(th.get("scope") in {"col", "row"} for th in each.iter(f"{XHTML}th"))
    pictures = [e for e in root.iter(f"{SVG}svg") if e.get("role") == "img"]
    assert len(pictures) == 2 * 3 + 4  # cores and memory of each policy, two CDFs, waits, fairness
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for picture in pictures:
        assert all(name in ids for name in (picture.get("aria-labelledby") or "").split())
        assert picture.findtext(f"{SVG}title") and picture.findtext(f"{SVG}desc")
    others = [e for e in root.iter() if e.tag in {f"{SVG}svg", f"{XHTML}svg"} and e.get("role") != "img"]
    assert all(e.get("aria-hidden") == "true" for e in others)


def test_headings_leave_out_no_level():
    levels = [int(e.tag[-1]) for e in shown(RUNS["seeds"]).iter() if re.fullmatch(rf"{re.escape(XHTML)}h\d", e.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_series_differ_by_more_than_colour():
    text = page.page(RUNS["seeds"])
    assert "stroke-dasharray" in text and "url(#hatch1)" in text
    assert len({svg.shape(k, 0, 0).split("d=")[1] for k in range(svg.MARKS)}) == svg.MARKS


@pytest.mark.parametrize("runs", [[busy(HOSTILE, 1, HOSTILE), busy("new", 1, HOSTILE)], [busy("old", 1, HOSTILE)]])
def test_hostile_names_stay_names(runs: list[Run]):
    for run in runs:
        run.workload, run.notes = HOSTILE, [HOSTILE]
    text = page.page(runs, title=HOSTILE)
    assert "<script" not in text and "<img" not in text and "\x1b" not in text
    found = Reader(text)
    assert not found.tags & {"script", "img"} and "onerror" not in found.attributes
    root = shown(runs, HOSTILE)
    assert any("<script>alert" in (e.text or "") for e in root.iter(f"{XHTML}h1"))
    out = io.StringIO()
    table.show(runs, Console(file=out, width=200, force_terminal=True))
    assert "\x1b[31m[bold]" not in out.getvalue() and "[bold]" in out.getvalue()
    assert json.loads(document.text(runs))["runs"][0]["queues"][0]["queue"] == f"{HOSTILE}0"


@given(st.text(max_size=60))
def test_any_name_leaves_svg_well_formed(name: str):
    plot = svg.Plot(svg.linear(10, name), svg.Axis(0, 2, name, [(0.5, name)]), rows=True)
    plot.area(np.array([0.0, 5, 10]), np.zeros(2), np.ones(2), 1, name)
    plot.mark(3, 1, 2, name)
    assert ElementTree.fromstring(plot.svg("x", name, name)).tag == f"{SVG}svg"


# --- pictures


@given(st.floats(1e-3, 1e9), st.booleans())
def test_ticks_of_time_are_few_and_differ(high: float, wide: bool):
    axis = svg.times(high, "Time", wide)
    assert 2 <= len(axis.ticks) <= 11
    assert len({text for _, text in axis.ticks}) == len(axis.ticks)
    assert all(0 <= value <= high * 1.001 for value, _ in axis.ticks)
    assert axis.label.startswith("Time, ")


@given(st.floats(1e-6, 1e12))
def test_ticks_are_round_and_reach_the_top(high: float):
    axis = svg.linear(high, "Amount")
    assert axis.high >= high * 0.999 and 2 <= len(axis.ticks) <= 7
    assert len({text for _, text in axis.ticks}) == len(axis.ticks)
    assert axis.ticks[-1][0] <= axis.high * 1.001


def test_ticks_of_a_day_are_hours():
    assert [text for _, text in svg.times(86400, "Time").ticks] == ["0", "3", "6", "9", "12", "15", "18", "21", "24"]
    assert [t for _, t in svg.log_times(0.02, 50, "Wait").ticks] == ["10 ms", "100 ms", "1 s", "10 s", "1 min"]


def test_a_line_is_interrupted_where_nothing_is_known():
    plot = svg.Plot(svg.linear(3, ""), svg.linear(1, ""))
    plot.stairs(np.arange(4.0), np.array([1.0, np.nan, 0.5]), 0)
    plot.line(np.arange(4.0), np.array([1.0, np.nan, 0.5, 1.0]), 0)
    assert [part.count("M") for part in plot.parts] == [2, 2]


def test_long_runs_are_thinned_without_changing_their_mean():
    run = made(periods=1000, ended_s=1000 * 60 - 30)
    values = np.random.default_rng(1).random((1000, 2))
    edges, means = charts.thinned(run, values, 100)
    assert len(edges) == 101 and edges[-1] == run.ended_s
    weight = np.full(1000, 60.0)
    weight[-1] = 30
    assert np.diff(edges) @ means == pytest.approx(weight @ values)
    assert np.isnan(charts.thinned(run, np.full(1000, np.nan), 100)[1]).all()


def test_many_queues_are_put_together():
    runs = RUNS["many queues"]
    queues = charts.stacked_queues(runs)
    assert len(queues) == charts.QUEUES_STACKED
    chart = charts.use(runs[0], 1, queues, "x")
    assert chart.legend[-1][1] == f"{40 - len(queues)} other queues"
    assert len(charts.stacked_queues(RUNS["one run"])) == 3


# --- words


@pytest.mark.parametrize(
    ("amount", "unit", "words_of"),
    [
        (0.0123, "s", "12.3 ms"), (1.5, "s", "1.50 s"), (90, "s", "90.0 s"), (600, "s", "10.0 min"),
        (3 * 86400, "s", "3.00 d"), (0.813, "part", "81.3 %"), (1204, "count", "1,204"), (2.345, "", "2.35"),
        (0, "s", "0 s"), (0.00004, "part", "0.0040 %"), (float("nan"), "s", "–"), (float("inf"), "s", "> 11.6 d"),
        (96.7, "count", "97"), (8.33, "count", "8.33"), (12.5, "core hours", "12.5 core h"),
    ],
)  # fmt: skip
def test_values_in_words(amount: float, unit: str, words_of: str):
    assert words.value(amount, unit) == words_of


def test_changes_and_intervals_in_words():
    change = Estimate(-46.4, -64.8, 28.0, PAIRS, 3)
    assert words.change(change, "s") == ("−46.4 s", "−64.8 to +28.0")
    assert words.verdict(change, "lower") == "unclear"
    assert words.change(Estimate(0.012, 0.01, 0.014, PAIRS, 3), "part") == ("+1.20 points", "+1.00 to +1.40")
    assert words.change(Estimate(0.0, 0.0, 0.0, PAIRS, 3), "s") == ("no change", "")
    assert words.said(Estimate(300, 240, 420, PAIRS, 3), "s") == ("5.00 min", "4.00 to 7.00")
    assert words.said(Estimate(300, 300, 300, NOTHING, 1), "s") == ("5.00 min", "")
    up = Estimate(2, 1, 3, PAIRS, 3)
    assert [words.verdict(up, better) for better in ("lower", "higher", "")] == ["worse", "better", "higher"]


@given(st.text(), st.integers(3, 40))
def test_clean_names_are_printable_and_short_enough(name: str, longest: int):
    found = words.clean(name, longest)
    assert len(found) <= longest and found.isprintable()


# --- the document


def test_a_document_has_every_figure_and_no_number_that_json_lacks():
    runs = RUNS["seeds"]
    found = json.loads(document.text(runs))
    assert found["format"] == document.FORMAT
    assert set(found["figures"]["overall"]) == set(OVERALL) and set(found["figures"]["by_queue"]) == set(BY_QUEUE)
    assert [run["policy"] for run in found["runs"]] == [run.policy for run in runs]
    for run in found["runs"]:
        assert set(run["figures"]) == set(OVERALL)
        assert all(set(queue["figures"]) == set(BY_QUEUE) for queue in run["queues"])
        assert run["figures"]["utilization_gpus"] is None
    policy = found["comparison"]["policies"][1]
    assert set(policy["figures"]["wait_mean_s"]["change"]) == {"value", "low", "high", "over", "count"}
    assert policy["queues"][0]["queue"] == "root.q0"


def test_a_comparison_that_is_there_is_not_made_again():
    runs = RUNS["one seed"]
    comparison = compare(runs)
    assert document.document(runs, comparison) == document.document(runs)
    assert page.page(runs, comparison) == page.page(runs)
    assert table.text(runs, comparison) == table.text(runs)


# --- the table


def test_the_table_says_what_changes():
    runs = [ran("old", seed, [100.0 + seed] * 12) for seed in (1, 2, 3)]
    runs += [ran("new", seed, [40.0 + seed * 1.1] * 12) for seed in (1, 2, 3)]
    text = table.text(runs)
    assert re.search(r"Wait, mean +102 s +42\.2 s\n.*−59\.8 s better", text)
    assert "Intervals are over seeds." in text
    assert max(map(len, table.text(runs, width=90).splitlines())) <= 90


def test_one_seed_is_said_to_be_one_seed():
    text = table.text(RUNS["one seed"])
    assert "not over seeds" in text
