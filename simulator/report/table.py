"""The report as text for terminals, with rich. Names go in as ``Text``, so that nothing in them is taken for markup."""

import math
from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from simulator.compare import ComparedFigure, Comparison, PolicyFigures, compare
from simulator.figures import BY_QUEUE, BY_USER, OVERALL, Figure
from simulator.measures import Run
from simulator.report import words
from wire.counts import counted

# What most readers want to know; the JSON document and the page have all.
MAIN = (
    "wait_mean_s", "wait_p90_s", "slowdown_mean", "turnaround_mean_s", "latency_p50_s", "latency_p99_s",
    "utilization_memory", "utilization_vcores", "utilization_gpus", "fairness_error", "preemptions", "wasted_part",
    "makespan_s", "jobs", "jobs_unfinished",
)  # fmt: skip
MAIN_BY_USER = ("wait_mean_s", "turnaround_mean_s", "slowdown_mean", "share_held", "preemptions", "jobs_unfinished")
MAIN_BY_QUEUE = ("wait_mean_s", "turnaround_mean_s", "slowdown_mean", "share_held", "share_lacked", "preemptions")
_STYLES = {"better": "green", "worse": "red", "higher": "cyan", "lower": "cyan"}


def text(runs: Sequence[Run], comparison: Comparison | None = None, width: int = 120) -> str:
    """All tables as plain text without colours. comparison: of the same runs, if it is already there."""
    out = StringIO()
    show(runs, Console(file=out, width=width, color_system=None, legacy_windows=False), comparison)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def show(runs: Sequence[Run], console: Console, comparison: Comparison | None = None) -> None:
    """All tables on a console, as wide and as colourful as that is."""
    for part in parts(comparison or compare(runs)):
        console.print(part)


def parts(comparison: Comparison) -> list[RenderableType]:
    """Main figures per policy, what changes by queue and by user for each, and what one should know of it."""
    found: list[RenderableType] = [Rule(Text(words.clean(comparison.workload))), main(comparison)]
    found += [by_queue(comparison, policy) for policy in comparison.policies]
    found += [by_user(comparison, policy) for policy in comparison.policies]
    found += [Text(f"• {words.clean(note)}") for note in comparison.notes]
    if len(comparison.policies) > 1:
        found.append(Text("Below a value stands its change from the first policy, and that change's 95 % interval."))
    found.append(Text(words.basis(comparison)))
    return found


def main(comparison: Comparison) -> Table:
    """Figures as rows, policies as columns."""
    table = _table(Text("Main figures"), Text("Figure"), [_heading(policy) for policy in comparison.policies])
    for name in MAIN:
        found = [policy.figures[name] for policy in comparison.policies]
        if not all(math.isnan(each.value.value) for each in found):
            table.add_row(Text(OVERALL[name].title), *(_cell(each, OVERALL[name]) for each in found))
    return table


def by_queue(comparison: Comparison, policy: PolicyFigures) -> Table:
    """Queues as rows, figures as columns."""
    rows = [(queue.queue, queue.figures) for queue in policy.queues]
    return _by("queue", comparison, policy, rows, {name: BY_QUEUE[name] for name in MAIN_BY_QUEUE})


def by_user(comparison: Comparison, policy: PolicyFigures) -> Table:
    """Users as rows, figures as columns."""
    rows = [(user.user, user.figures) for user in policy.users]
    return _by("user", comparison, policy, rows, {name: BY_USER[name] for name in MAIN_BY_USER})


def _by(
    what: str, comparison: Comparison, policy: PolicyFigures, rows: Sequence[tuple[str, dict[str, ComparedFigure]]],
    about: dict[str, Figure],
) -> Table:  # fmt: skip
    title = Text(f"By {what}: {words.clean(policy.policy)}")
    if policy.policy != comparison.baseline:
        title.append(f", and the change from {words.clean(comparison.baseline)}")
    table = _table(title, Text(what.capitalize()), [Text(figure.title) for figure in about.values()])
    for name, figures in rows:
        table.add_row(Text(words.clean(name)), *(_cell(figures[key], figure) for key, figure in about.items()))
    return table


def _table(title: Text, first: Text, others: Sequence[Text]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _cell(compared: ComparedFigure, figure: Figure) -> Text:
    """The value; below it the change with what it means, and the interval of that, or of the value if there is none."""
    value, interval = words.said(compared.value, figure.unit)
    cell = Text(value)
    if compared.change is not None:
        change, interval = words.change(compared.change, figure.unit)
        found = words.verdict(compared.change, figure.better)
        cell.append("\n" + change + (f" {found}" if found in _STYLES else ""), style=_STYLES.get(found, ""))
    if interval:
        cell.append(f"\n{interval}", style="dim")
    return cell


def _heading(policy: PolicyFigures) -> Text:
    count = len(policy.seeds)
    return Text(f"{words.clean(policy.policy)}\n{counted(count, 'seed')}")
