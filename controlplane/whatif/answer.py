"""What is kept of a simulation's runs: a comparison as JSON, and a page to read."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from controlplane.whatif import drained, drainedpage, history
from controlplane.whatif.cases import Case
from simulator.compare import NOTHING, Comparison, Estimate, PolicyFigures, compare
from simulator.measures import Run
from simulator.report import document as reports
from simulator.report import words
from simulator.report.page import page

Json = dict[str, Any]
QUEUES_MOST = 300  # in the JSON; the page has all
UNKNOWN = Estimate(np.nan, np.nan, np.nan, NOTHING, 0)
_ORDER = ("share_held", "wait_mean_s", "preemptions")  # what makes a queue worth showing


@dataclass(frozen=True, slots=True)
class Answer:
    """result: what ``router.simulationshapes`` describes. page: HTML, gzipped."""

    result: Json
    page: bytes


def distinct(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Only the first seed where all gave the same, since copies of a run say nothing of chance; and a note of it.

    A recorded history leaves to chance only where routers send jobs.
    """
    firsts = {run.policy: run for run in reversed(runs)}
    if len(runs) == len(firsts) or any(not _alike(run, firsts[run.policy]) for run in runs):
        return list(runs), []
    return [run for run in runs if run is firsts[run.policy]], ["All seeds gave the same runs, so one is compared."]


def _alike(one: Run, two: Run) -> bool:
    return bool(np.array_equal(one.jobs["started"], two.jobs["started"], equal_nan=True))


def called(case: Case, runs: Sequence[Run]) -> list[Run]:
    """With the names that queues have in the answer."""
    names = {policy: case.called.get(policy, {}) for policy in case.policies}
    return [replace(run, queues=[names[run.policy].get(queue, queue) for queue in run.queues]) for run in runs]


def compared(case: Case, runs: Sequence[Run]) -> Comparison:
    found = compare(runs)
    found = _called(found) if case.accounts else found
    found = replace(found, policies=[_without(policy, case.mixed) for policy in found.policies])
    return replace(found, notes=[*case.notes, *_sample_errors(case, found), *found.notes])


def _without(policy: PolicyFigures, mixed: Sequence[str]) -> PolicyFigures:
    """No change is told of queues that have other jobs than before."""
    queues = [
        replace(
            each,
            figures={name: replace(figure, change=figure.change and UNKNOWN) for name, figure in each.figures.items()},
        )
        if each.queue in mixed
        else each
        for each in policy.queues
    ]
    return replace(policy, queues=queues)


def _sample_errors(case: Case, found: Comparison) -> list[str]:
    """How far a sample may be off, for each policy."""
    if case.samples == 1:
        return []
    known = [(policy.policy, *words.said(policy.figures["wait_mean_s"].value, "s")) for policy in found.policies]
    waits = "; ".join(f"{name}: {wait} ({interval or 'no interval'})" for name, wait, interval in known)
    text = (
        f"How far samples may be off is in every interval over seeds. The mean wait, with 95 % confidence: {waits}. "
        "Waits in samples are rather longer than those of all jobs on all nodes, which even one another out."
    )
    return [text]


def _called(found: Comparison) -> Comparison:
    """With accounts by their own names."""
    names = history.accounts_called(found.users)
    policies = [
        replace(policy, users=[replace(each, user=names.get(each.user, each.user)) for each in policy.users])
        for policy in found.policies
    ]
    return replace(found, users=[names.get(user, user) for user in found.users], policies=policies)


def of(case: Case, found: Sequence[Run]) -> Answer:
    runs, alike = distinct(called(case, found))
    comparison = compared(case, runs)
    comparison.notes.extend(alike)
    change = _drained(case, runs)
    title = f"What {list(case.policies)[-1]} would have done"
    above = ""
    if change is not None:
        title, above = f"What draining {change['sub_cluster']} would do", drainedpage.section_of(change)
    html = page(runs, comparison, title, above)
    return Answer(_result(case, runs, comparison) | {"drained": change}, gzip.compress(html.encode(), 6))


def _drained(case: Case, runs: Sequence[Run]) -> Json | None:
    if case.drain is None:
        return None
    waits_s = max(drained.WAITS_S, 2 * case.pace.interval_s)
    return drained.of(case.drain, list(case.submitted()), runs, waits_s, case.until_s, case.window_s)


def _result(case: Case, runs: Sequence[Run], comparison: Comparison) -> Json:
    whole = reports.document(runs, comparison)
    found = whole["comparison"]
    found["total_queues"] = len(found["queues"])
    if len(found["queues"]) > QUEUES_MOST:
        shown = set(_most_moved(found))
        found["queues"] = [name for name in found["queues"] if name in shown]
        for policy in found["policies"]:
            policy["queues"] = [queue for queue in policy["queues"] if queue["queue"] in shown]
    return {
        "format": whole["format"],
        "version": whole["version"],
        "jobs": len(case.running_jobs) + len(case.jobs),
        "containers": case.containers,
        "nodes": sum(map(len, case.sub_clusters.values())),
        "figures": whole["figures"],
        "comparison": found,
        "runs": [_slim(run, first=run["seed"] == runs[0].seed) for run in whole["runs"]],
    }


def _slim(run: Json, first: bool) -> Json:
    """Without what the comparison says, and over time for one seed of each policy."""
    kept = ("policy", "seed", "ended_s", "lifecycles", "rounds", "took_s", "peak_rss_mib", "jobs_by_state")
    return {name: run[name] for name in kept} | {"periods": run["periods"] if first else None}


def _most_moved(comparison: Json) -> list[str]:
    """The queues whose figures change most, by their ranks."""
    places: dict[str, int] = dict.fromkeys(comparison["queues"], len(comparison["queues"]))
    queues = comparison["policies"][-1]["queues"]
    for name in _ORDER:
        moved = sorted(queues, key=lambda q: -abs(((q["figures"][name]["change"] or {}).get("value")) or 0.0))
        for at, queue in enumerate(moved):
            places[queue["queue"]] = min(places[queue["queue"]], at)
    return sorted(places, key=places.__getitem__)[:QUEUES_MOST]
