"""The pictures of a report: which runs are shown, in which columns, with which words beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.compare import Comparison
from simulator.figures import fairness_error_over_time, latency_cdf, percentiles, period_lengths, slowdowns, utilization
from simulator.measures import LATENCY_BOUNDS_S, Run
from simulator.report import svg, words
from wire.counts import counted
from wire.resources import AXES

QUEUES_STACKED = 7  # the others are put together
COLUMNS = 240  # of a picture over time; more periods than that are averaged
LINE_COLUMNS = 72  # of lines that cross one another
ROWS = 24  # queues in a picture of waits
HALF, FULL = 520.0, 1064.0
NAME = 30  # letters of a name that a picture has room for


@dataclass(frozen=True, slots=True)
class Chart:
    """picture: SVG, or "" where there is nothing to draw and ``empty`` says so. legend: swatch (SVG) and words."""

    title: str
    picture: str
    legend: list[tuple[str, str]]
    note: str = ""
    empty: str = ""


def firsts(runs: Sequence[Run]) -> list[Run]:
    """The first run of each policy, which stands for it in pictures over time."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.policy, run)
    return list(found.values())


def stacked_queues(runs: Sequence[Run]) -> list[str]:
    """Names of the queues that are told apart, by the share they held in all runs; the same for every picture."""
    total: dict[str, float] = {}
    for run in runs:
        lengths = period_lengths(run)
        used, whole = np.tensordot(lengths, run.used, 1), np.maximum(lengths @ run.capacity, 1e-9)
        for name, part in zip(run.queues, (used / whole).max(axis=1).tolist(), strict=True):
            total[name] = total.get(name, 0.0) + part
    most = sorted(total, key=lambda name: -total[name])
    return most if len(most) <= QUEUES_STACKED + 1 and len(most) < svg.COLOURS else most[:QUEUES_STACKED]


def busiest(runs: Sequence[Run]) -> list[int]:
    """Resources that some run had, the one that was most in use first."""
    had = np.array([run.capacity.sum(axis=0) for run in runs]).sum(axis=0) > 0
    used = np.nan_to_num(np.array([utilization(run) for run in runs])).mean(axis=0)
    return sorted(np.flatnonzero(had).tolist(), key=lambda r: -used[r])


def use(run: Run, resource: int, queues: Sequence[str], name: str, width: float = HALF) -> Chart:
    """What each queue held of a resource over time, on top of one another, under the line of what was up."""
    called, unit, scale = words.resource(AXES[resource])
    title = f"{run.policy}, seed {run.seed}"
    if not len(run.capacity) or not run.capacity[:, resource].any():
        return Chart(title, "", [], empty=f"No {called.lower()} were up." if unit != "GiB" else "No memory was up.")
    edges, used = thinned(run, run.used[:, :, resource], COLUMNS)
    limit = thinned(run, run.capacity[:, resource], COLUMNS)[1]
    layers = [(k, q, used[:, run.queues.index(q)]) for k, q in enumerate(queues) if q in run.queues]
    rest = [i for i, q in enumerate(run.queues) if q not in queues]
    if rest:
        layers.append((-1, other_queues(len(rest)), used[:, rest].sum(axis=1)))
    high = float(max(np.max(limit), np.max(used.sum(axis=1))))
    plot = svg.Plot(
        svg.times(float(edges[-1]), "Time", width > HALF),
        svg.linear(high * 1.02, f"Held, {unit}", scale),
        width,
    )
    below, legend = np.zeros(len(used)), [(svg.limit_swatch(), "capacity that was up")]
    for series, queue, amount in layers:
        plot.area(edges, below, below + amount, series, queue)
        below = below + amount
        legend.append((svg.area_swatch(series), queue))
    plot.stairs(edges, limit, 0, kind="limit")
    mean = words.value(float(utilization(run)[resource]), "part")
    picture = plot.svg(
        name,
        f"{called} held by queue over time: {title}",
        f"{mean} of what was up was held on average. " + _held_words(run, resource, [q for _, q, _ in layers]),
    )
    return Chart(title, picture, legend, note=f"{mean} on average")


def latency(runs: Sequence[Run], name: str, width: float = HALF) -> Chart:
    """Part of all containers that were allocated within a time, per policy, all its seeds together."""
    title = "Time to allocation"
    counts = {run.policy: np.zeros(len(LATENCY_BOUNDS_S) + 1, np.int64) for run in runs}
    for run in runs:
        counts[run.policy] += run.latency.sum(axis=0)
    filled = np.flatnonzero(sum(counts.values()))
    if not len(filled):
        return Chart(title, "", [], empty="No container was allocated.")
    bounds = LATENCY_BOUNDS_S
    low, high = bounds[max(filled[0] - 1, 0)], bounds[min(filled[-1], len(bounds) - 1)]
    axis = svg.log_times(float(low), float(high), "From wanting to allocation, logarithmic")
    shown = (bounds >= axis.low * 0.9999) & (bounds <= axis.high * 1.0001)
    plot = svg.Plot(axis, svg.linear(1.0, "Containers allocated within it, %", 0.01), width)
    said = []
    for series, (policy, each) in enumerate(counts.items()):
        plot.line(bounds[shown], latency_cdf(each)[shown], series)
        median, high_s = percentiles(each, (0.5, 0.99)).tolist()
        said.append(f"{policy}: half within {words.value(median, 's')}, 99 % within {words.value(high_s, 's')}.")
    return Chart(title, plot.svg(name, f"{title} per policy", " ".join(said)), policies(list(counts)))


def slowdown(runs: Sequence[Run], name: str, width: float = HALF) -> Chart:
    """Part of all jobs that were slowed down less than so much, per policy, all its seeds together."""
    title = "Bounded slowdown of jobs"
    values: dict[str, list[np.ndarray]] = {}
    for run in runs:
        values.setdefault(run.policy, []).append(slowdowns(run))
    together = {policy: np.concatenate(each) for policy, each in values.items()}
    known = [each for each in together.values() if len(each)]
    if not known:
        return Chart(title, "", [], empty="No job was submitted.")
    levels = np.linspace(0, 1, 201)
    axis = svg.log_ratios(float(max(each.max() for each in known)), "Slowdown, times, logarithmic")
    plot = svg.Plot(axis, svg.linear(1.0, "Jobs slowed down no more, %", 0.01), width)
    said = []
    for series, (policy, each) in enumerate(together.items()):
        if len(each):
            plot.line(np.append(np.quantile(each, levels), axis.high), np.append(levels, 1.0), series)
            said.append(f"{policy}: half at most {words.number(float(np.median(each)))}.")
    return Chart(title, plot.svg(name, f"{title} per policy", " ".join(said)), policies(list(together)))


def waits(comparison: Comparison, name: str, width: float = FULL) -> Chart:
    """Mean wait of each queue under each policy, with its interval."""
    title = "Mean wait by queue"
    found = {
        each.queue: [policy.queues[k].figures["wait_mean_s"].value for policy in comparison.policies]
        for k, each in enumerate(comparison.policies[0].queues)
    }
    found = {queue: values for queue, values in found.items() if not all(np.isnan(v.value) for v in values)}
    if not found:
        return Chart(title, "", [], empty="No job was submitted to any queue.")
    most = sorted(found, key=lambda queue: -max(np.nan_to_num([v.value for v in found[queue]])))[:ROWS]
    count = len(comparison.policies)
    names = [(i + 0.5, words.clean(queue, NAME)) for i, queue in enumerate(most)]
    longest = max(np.nanmax([[v.value, v.high] for v in found[queue]]) for queue in most)
    plot = svg.Plot(
        svg.times(float(longest) * 1.03, "Mean wait"),
        svg.Axis(0.0, float(len(most)), "Queue", names),
        width,
        svg.TOP + svg.BOTTOM + len(most) * (14.0 + 14.0 * count),
        rows=True,
    )
    for i, queue in enumerate(most):
        for series, v in enumerate(found[queue]):
            y = i + (series + 1) / (count + 1)
            if v.over:
                plot.interval(v.low, v.high, y, series)
            if not np.isnan(v.value):
                said, ends = words.said(v, "s")
                said = f"{queue}, {comparison.policies[series].policy}: {said}"
                plot.mark(v.value, y, series, f"{said}, 95 %: {ends}" if ends else said)
    left_out = f"The {ROWS} queues of {len(found)} that waited longest." if len(found) > ROWS else ""
    picture = plot.svg(name, f"{title} and policy", "The same numbers stand in the tables by queue below. " + left_out)
    return Chart(title, picture, policies([p.policy for p in comparison.policies]), note=left_out)


def fairness(runs: Sequence[Run], name: str, width: float = FULL) -> Chart:
    """The fairness error over time of each policy's first run."""
    title = "Fairness error over time"
    shown = firsts(runs)
    series = [thinned(run, fairness_error_over_time(run), LINE_COLUMNS) for run in shown]
    known = [values for _, values in series if len(values) and not np.isnan(values).all()]
    if not known:
        return Chart(title, "", [], empty="No shares were worked out in these runs.")
    high = max(float(np.nanmax(values)) for values in known)
    end = max(float(edges[-1]) for edges, _ in series)
    plot = svg.Plot(
        svg.times(end, "Time"), svg.linear(max(high, 0.01), "In wrong hands, % of the cluster", 0.01, 1.0), width
    )
    for k, (edges, values) in enumerate(series):
        plot.stairs(edges, values, k)
    mean = [float(np.nanmean(values)) if not np.isnan(values).all() else float("nan") for _, values in series]
    said = " ".join(f"{run.policy}: {words.value(m, 'part')} on average." for run, m in zip(shown, mean, strict=True))
    return Chart(title, plot.svg(name, title, said), policies([run.policy for run in shown]))


def policies(names: Sequence[str]) -> list[tuple[str, str]]:
    """The legend of policies."""
    return [(svg.line_swatch(k), name) for k, name in enumerate(names)]


def other_queues(count: int) -> str:
    """What queues that are put together are called."""
    return counted(count, "other queue")


def thinned(run: Run, values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most as many columns: their edges (c + 1,) s, and means (c, ...) by time, of what is not NaN."""
    lengths = period_lengths(run)
    step = max(1, -(-len(lengths) // most))
    begins = np.arange(0, len(lengths), step)
    if not len(begins):
        return np.zeros(1), values
    weight = lengths.reshape((-1,) + (1,) * (values.ndim - 1)) * ~np.isnan(values)
    total, known = (np.add.reduceat(each, begins, axis=0) for each in (np.nan_to_num(values) * weight, weight))
    with np.errstate(invalid="ignore"):
        means = np.where(known > 0, total / known, np.nan)
    ends = np.concatenate(([0.0], np.cumsum(np.add.reduceat(lengths, begins))))
    return ends, means


def _held_words(run: Run, resource: int, queues: Sequence[str]) -> str:
    """The parts that the largest queues held on average, for those who do not see the picture."""
    lengths = period_lengths(run)
    total = float(lengths @ run.capacity[:, resource])
    parts = [
        f"{queue} {words.value(float(lengths @ run.used[:, run.queues.index(queue), resource]) / total, 'part')}"
        for queue in queues[:5]
        if queue in run.queues
    ]
    return f"Of it: {', '.join(parts)}." if parts else ""
