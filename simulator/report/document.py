"""The report as a JSON document. Its keys are stable: ``VERSION`` changes when one goes or means something else.

Every figure of ``OVERALL`` and ``BY_QUEUE`` stands in it by name, of each run
and compared, those of ``BY_USER`` compared; what cannot be said is null, and so is a latency beyond the last
bound (``latency_counts`` has it). Queues and users are lists of objects with a name, so
no name is ever a key.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from simulator.compare import Comparison, compare
from simulator.figures import (
    BY_QUEUE,
    BY_USER,
    OVERALL,
    by_queue,
    fairness_error_over_time,
    jobs_by_state,
    overall,
    utilization_over_time,
)
from simulator.measures import LATENCY_BOUNDS_S, Run
from wire.resources import AXES

FORMAT, VERSION = "hydra-simulation-report", 1


def document(runs: Sequence[Run], comparison: Comparison | None = None) -> dict[str, Any]:
    """Plain dicts, lists, numbers, texts and None. comparison: of the same runs, if it is already there."""
    compared = comparison or compare(runs)
    whole: dict[str, Any] = _plain({
        "format": FORMAT,
        "version": VERSION,
        "figures": {
            "overall": {name: _about(f.title, f.unit, f.better) for name, f in OVERALL.items()},
            "by_queue": {name: _about(f.title, f.unit, f.better) for name, f in BY_QUEUE.items()},
            "by_user": {name: _about(f.title, f.unit, f.better) for name, f in BY_USER.items()},
        },
        "latency_bounds_s": LATENCY_BOUNDS_S,
        "runs": [_run(run) for run in runs],
        "comparison": asdict(compared),
    })  # fmt: skip
    return whole


def text(runs: Sequence[Run], comparison: Comparison | None = None) -> str:
    """The document as JSON text, which any strict reader takes."""
    return json.dumps(document(runs, comparison), indent=1, allow_nan=False) + "\n"


def _about(title: str, unit: str, better: str) -> dict[str, str]:
    return {"title": title, "unit": unit, "better": better}


def _run(run: Run) -> dict[str, Any]:
    used = utilization_over_time(run)
    figures = by_queue(run)
    return {
        "policy": run.policy,
        "workload": run.workload,
        "seed": run.seed,
        "ended_s": run.ended_s,
        "lifecycles": run.lifecycles,
        "rounds": run.rounds,
        "took_s": run.took_s,
        "peak_rss_mib": run.peak_rss_mib,
        "notes": run.notes,
        "users": len(run.users),
        "jobs_by_state": jobs_by_state(run),
        "figures": overall(run),
        "queues": [
            {
                "queue": name,
                "figures": {figure: values[i] for figure, values in figures.items()},
                "latency_counts": run.latency[i],
            }
            for i, name in enumerate(run.queues)
        ],
        "periods": {
            "period_s": run.period_s,
            "utilization": {name: used[:, r] for r, name in enumerate(AXES)},
            "fairness_error": fairness_error_over_time(run),
        },
    }


def _plain(value: Any) -> Any:
    """The same without arrays and numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
