"""The report as one HTML page: no script, nothing from elsewhere, light or dark as the reader's system is.

The page is well-formed XML too. Every name goes through ``text``, and a content
security policy forbids what could still come in.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from simulator.compare import ComparedFigure, Comparison, PolicyFigures, compare
from simulator.figures import BY_QUEUE, BY_USER, OVERALL, Figure
from simulator.measures import Run
from simulator.report import charts, words
from simulator.report.charts import FULL, HALF, Chart
from simulator.report.svg import STYLE, hatches, text
from simulator.report.table import MAIN, MAIN_BY_QUEUE, MAIN_BY_USER
from wire.resources import AXES

CSS = Path(__file__).with_name("page.css")
NOTHING_CLEAR = "Nothing that these runs can tell from chance."
NOTHING_SHARED = "Nothing can be said: there are too few seeds, and too few jobs that both policies ran."
HEADLINES = (
    "wait_mean_s", "slowdown_mean", "latency_p99_s", "utilization_memory", "utilization_vcores", "utilization_gpus",
    "fairness_error", "preemptions", "wasted_part", "makespan_s", "jobs_unfinished",
)  # fmt: skip
SEEN = 12  # queues that are named in a sentence
FOLDED = 24  # tables of more queues open at a click
TERMS = {
    "Wait": "From submission to a job's first container. What never started, failed or killed too, has waited until "
    "the run's end: a lower bound.",
    "Bounded slowdown": "max(1, turnaround / max(path, 10 s)), path being the job's critical path: the longest chain "
    "of its groups' longest tasks. It is as long as a job takes whose tasks all start at once.",
    "Turnaround": "From submission to the job's end. What never started or has not ended has taken until the run's "
    "end: a lower bound.",
    "Time to allocation": "From wanting a container to its allocation. It is counted in bins of a twentieth of a power "
    "of ten, so percentiles are off by less than 12.3 %.",
    "Share": "The part of the whole cluster, of the resource a queue or user held most of. Granted: what fairness gave "
    "the queue at that time. Lacked: what it was granted, wanted and did not hold.",
    "Fairness error": "The part of the cluster in wrong hands: half the sum of |held − granted| over queues that "
    "wanted what they were granted, averaged over time.",
    "Wasted work": "Of attempts that did not succeed, from their beginnings on, also where these lie before the run's. "
    "Its part is of all work in the run and of what its first tasks had done before. A service's work is never wasted.",
    "Interval": "95 %. Over seeds by Student's t, with changes paired by seed. Where jobs were drawn anew from "
    "recorded ones, figures are of the recorded jobs, and the spread of all is their standard error. With one seed by "
    "a bootstrap over jobs, paired job by job, which does not say how another seed would turn out.",
    "Better, worse": "Said where the interval of a change leaves out 0. Of twenty figures that do not differ one looks "
    "as if it did, so a single one among many means little.",
}


def page(
    runs: Sequence[Run], comparison: Comparison | None = None, title: str = "Simulation report", above: str = ""
) -> str:
    """The whole page. comparison: of the same runs, if it is there already. Without runs it says that.

    above: sections that come first, of ``section``.
    """
    if not runs:
        return _document(title, f"<main><section><h2>Runs</h2>{empty('There are no runs to report.')}</section></main>")
    compared = comparison or compare(runs)
    terms = "".join(f"<dt>{text(term)}</dt><dd>{text(meaning)}</dd>" for term, meaning in TERMS.items())
    sections = [
        above,
        _differences(compared),
        _figures("Main figures", compared, [name for name in MAIN if _known(compared, name)]),
        _use(runs),
        section("Waiting", _pair([charts.latency(runs, "latency"), charts.slowdown(runs, "slowdown")])
                 + _chart(charts.waits(compared, "waits"), wide=True)),
        section("Fairness", _chart(charts.fairness(runs, "fairness"), wide=True), _of_first(runs)),
        _by_queue(compared),
        _by_user(compared),
        _all(compared),
        _runs(runs, compared),
        section("Terms", f'<dl class="terms">{terms}</dl>'),
    ]  # fmt: skip
    return _document(title, f"{_header(title, runs, compared)}<main>{''.join(sections)}</main>")


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>"
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{text(title)}</title><style>{STYLE.read_text()}{CSS.read_text()}</style></head>"
        f"<body>{hatches()}{body}</body></html>\n"
    )


def _header(title: str, runs: Sequence[Run], compared: Comparison) -> str:
    seeds = sorted({run.seed for run in runs})
    named = ", ".join(map(str, seeds))
    facts = [
        ("Workload", compared.workload),
        ("Policies", f"{len(compared.policies)}"),
        ("Seeds", f"{len(seeds)}" + (f" ({named})" if len(seeds) <= 8 else "")),
        ("Simulated in all", words.value(sum(run.ended_s for run in runs), "s")),
        ("Jobs", f"{sum(len(run.jobs) for run in runs):,}"),
        ("Containers", f"{sum(run.lifecycles for run in runs):,}"),
    ]
    items = "".join(f'<li><span class="muted">{text(name)}</span> <b>{text(said)}</b></li>' for name, said in facts)
    return f'<header class="top"><h1>{text(title)}</h1><ul class="facts">{items}</ul></header>'


# --- what differs


def _differences(compared: Comparison) -> str:
    """For each policy after the first what is clearly better or worse, overall and for whom."""
    others = compared.policies[1:]
    if not others:
        return ""
    items = []
    for policy in others:
        lines = [
            _difference(OVERALL[name], policy.figures[name])
            for name in HEADLINES
            if words.verdict(policy.figures[name].change, OVERALL[name].better) in {"better", "worse"}
        ]
        lines += [line for better in (True, False) if (line := _queues_that_wait(policy, better))]
        lines = lines or [NOTHING_CLEAR if _has_intervals(policy) else NOTHING_SHARED]
        items.append(f"<li><h3>{text(policy.policy)}</h3><ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul></li>")
    return section(
        "What changes",
        f'<ul class="found pair">{"".join(items)}</ul>',
        f"Compared with {compared.baseline}, where 95 % intervals leave out 0. {words.basis(compared)}",
    )


def _difference(figure: Figure, compared: ComparedFigure) -> str:
    change = compared.change
    if change is None:
        return ""
    found = words.verdict(change, figure.better)
    amount, interval = words.change(change, figure.unit)
    return (
        f"<span>{text(figure.title)}: {text(words.said(compared.value, figure.unit)[0])}, "
        f'<span class="{found}">{text(amount)} {found}</span></span> {_small(interval)}'
    )


def _queues_that_wait(policy: PolicyFigures, better: bool) -> str:
    wanted = "better" if better else "worse"
    names = [q.queue for q in policy.queues if words.verdict(q.figures["wait_mean_s"].change, "lower") == wanted]
    if not names:
        return ""
    more = f" and {len(names) - SEEN} more" if len(names) > SEEN else ""
    return (
        f"Queues that wait {'less' if better else 'longer'}: "
        f"{text(', '.join(words.clean(name, charts.NAME) for name in names[:SEEN]) + more)}"
    )


def _how(compared: Comparison) -> str:
    if len(compared.policies) == 1:
        return f"In small: the 95 % interval. {words.basis(compared)}"
    return (
        f"Below a value: its change from {compared.baseline}, and in small that change's 95 % interval. "
        f"{words.basis(compared)}"
    )


def _has_intervals(policy: PolicyFigures) -> bool:
    return any(each.change is not None and each.change.over for each in policy.figures.values())


# --- tables


def _figures(title: str, compared: Comparison, names: Iterable[str]) -> str:
    return section(title, _figure_table(title, compared, names), _how(compared))


def _figure_table(title: str, compared: Comparison, names: Iterable[str]) -> str:
    """Figures as rows, policies as columns."""
    head = "".join(f'<th scope="col">{text(policy.policy)}</th>' for policy in compared.policies)
    rows = []
    for name in names:
        cells = "".join(_cell(policy.figures[name], OVERALL[name]) for policy in compared.policies)
        rows.append(f'<tr><th scope="row">{text(OVERALL[name].title)}</th>{cells}</tr>')
    return table(title, f'<th scope="col">Figure</th>{head}', rows, quiet=True)


def _by_queue(compared: Comparison) -> str:
    """For each policy a table of queues: what they waited, held and lost, and what that changes."""
    about = {name: BY_QUEUE[name] for name in MAIN_BY_QUEUE}
    rows = {policy.policy: [(each.queue, each.figures) for each in policy.queues] for policy in compared.policies}
    return _by("queue", compared, rows, about)


def _by_user(compared: Comparison) -> str:
    """The same of users."""
    about = {name: BY_USER[name] for name in MAIN_BY_USER}
    rows = {policy.policy: [(each.user, each.figures) for each in policy.users] for policy in compared.policies}
    return _by("user", compared, rows, about)


def _by(
    what: str, compared: Comparison, rows: dict[str, list[tuple[str, dict[str, ComparedFigure]]]],
    about: dict[str, Figure],
) -> str:  # fmt: skip
    """rows: by policy, of each name its figures."""
    if not any(rows.values()):
        return section(f"By {what}", empty(f"There are no {what}s."))
    tables, folded = [], max(map(len, rows.values())) > FOLDED
    head = "".join(f'<th scope="col">{text(figure.title)}</th>' for figure in about.values())
    for policy, each in rows.items():
        cells = [
            f'<tr><th scope="row">{_path(name)}</th>'
            f"{''.join(_cell(figures[key], figure) for key, figure in about.items())}</tr>"
            for name, figures in each
        ]
        caption = policy if policy == compared.baseline else f"{policy}, and what changes from {compared.baseline}"
        whole = table(caption, f'<th scope="col">{what.capitalize()}</th>{head}', cells, quiet=folded)
        tables.append(f"<details><summary>{text(caption)}</summary>{whole}</details>" if folded else whole)
    return section(f"By {what}", "".join(tables), _how(compared))


def _all(compared: Comparison) -> str:
    whole = _figure_table("All figures", compared, OVERALL)
    return section("All figures", f"<details><summary>Show all {len(OVERALL)} figures</summary>{whole}</details>")


def _runs(runs: Sequence[Run], compared: Comparison) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Policy", "Seed", "Simulated", "Jobs", "Containers ended", "Rounds", "Took", "Peak memory")
    )
    rows = []
    for run in runs:
        cells = (
            f"{run.seed}", words.value(run.ended_s, "s"), f"{len(run.jobs):,}", f"{run.lifecycles:,}",
            f"{run.rounds:,}", words.value(run.took_s, "s"), f"{words.number(run.peak_rss_mib, whole=True)} MiB",
        )  # fmt: skip
        rows.append(
            f'<tr><th scope="row">{text(run.policy)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in cells)}</tr>'
        )
    notes = "".join(f"<li>{text(note)}</li>" for note in compared.notes)
    return section("Runs", table("What was run", head, rows) + (f'<ul class="note">{notes}</ul>' if notes else ""))


def _cell(compared: ComparedFigure, figure: Figure) -> str:
    """The value; below it the change with what it means, and the interval of that, or of the value if there is none."""
    value, interval = words.said(compared.value, figure.unit)
    line = ""
    if compared.change is not None:
        change, interval = words.change(compared.change, figure.unit)
        found = words.verdict(compared.change, figure.better)
        kind = found if found in {"better", "worse"} else "moved" if found in {"higher", "lower"} else "unclear"
        line = f'<span class="{kind}">{text(change)}{f" {found}" if kind in {"better", "worse"} else ""}</span>'
    return f"<td>{text(value)}{line}{_small(interval)}</td>"


def table(caption: str, head: str, rows: Iterable[str], quiet: bool = False) -> str:
    """head, rows: cells, and whole rows, of HTML. quiet: a heading above says the caption already, so only those who do
    not see that are told."""
    kind, wide = "quiet" if quiet else "loud", 8 + 28 * head.count("<th")
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">'
        f'<table style="max-width:{wide}ch"><caption class="{kind}">{text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _path(name: str) -> str:
    """A queue's name, which may be broken after its dots."""
    return text(words.clean(name, 3 * charts.NAME)).replace(".", ".<wbr/>")


def _small(words_of: str) -> str:
    return f"<small>{text(words_of)}</small>" if words_of else ""


# --- pictures


def _use(runs: Sequence[Run]) -> str:
    """A picture per policy of the resource most in use; of the others behind a click."""
    shown, queues, resources = charts.firsts(runs), charts.stacked_queues(runs), charts.busiest(runs)
    if not resources:
        return section("Use over time", empty("No node was up in these runs."))
    parts = []
    for k, r in enumerate(resources):
        width = HALF if len(shown) > 1 else FULL
        drawn = [charts.use(run, r, queues, f"use{r}x{i}", width) for i, run in enumerate(shown)]
        legend = {name: swatch for each in drawn for swatch, name in each.legend}
        pictures = "".join(_chart(each, wide=len(drawn) == 1, legend=False) for each in drawn)
        body = _legend((swatch, name) for name, swatch in legend.items()) + f'<div class="pair">{pictures}</div>'
        name = words.resource(AXES[r])[0]
        parts.append(f"<h3>{name}</h3>{body}" if not k else f"<details><summary>{name}</summary>{body}</details>")
    return section("Use over time", "".join(parts), _of_first(runs))


def _of_first(runs: Sequence[Run]) -> str:
    return "Of the first seed of each policy." if len(runs) > len(charts.firsts(runs)) else ""


def _pair(drawn: Sequence[Chart]) -> str:
    return f'<div class="pair">{"".join(_chart(each) for each in drawn)}</div>'


def _chart(chart: Chart, wide: bool = False, legend: bool = True) -> str:
    note = f'<span class="note">{text(chart.note)}</span>' if chart.note else ""
    head = f"<figcaption><h3>{text(chart.title)}</h3>{note}</figcaption>"
    if chart.empty:
        return f"<figure>{head}{empty(chart.empty)}</figure>"
    picture = chart.picture.replace('class="chart"', 'class="chart full"', 1) if wide else chart.picture
    return f'<figure>{head}{_legend(chart.legend) if legend else ""}<div class="scroll">{picture}</div></figure>'


def _legend(entries: Iterable[tuple[str, str]]) -> str:
    """entries: swatch (SVG) and name."""
    items = (f"<li>{swatch}<span>{text(words.clean(name, 2 * charts.NAME))}</span></li>" for swatch, name in entries)
    return f'<ul class="legend">{"".join(items)}</ul>'


def _known(compared: Comparison, name: str) -> bool:
    return not all(math.isnan(policy.figures[name].value.value) for policy in compared.policies)


def empty(words_of: str) -> str:
    """A sentence where there is nothing to show."""
    return f'<p class="empty">{text(words_of)}</p>'


def section(title: str, body: str, note: str = "") -> str:
    """A part of the page under a heading. body: HTML."""
    under = f'<p class="note">{text(note)}</p>' if note else ""
    return f"<section><h2>{text(title)}</h2>{under}{body}</section>"
