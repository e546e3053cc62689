"""Figure 5 of the paper: utilization and fairness of policies of share determination over random federations.

Global instantaneous fairness beside one scheduler per sub-cluster, with quotas divided uniformly or by load, and
an idealised centralised one that keeps to places too. Errors are against an oracle that may put everything everywhere.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.boxes import Panel, svg
from scheduler.core.compiled import compile_all
from scheduler.federation import comparators, gif
from simulator.setups import RandomSetup, SetupParameters, generate

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "figure5.svg"
POLICIES = {
    "gif": lambda *setup: gif.shares(*setup).due,
    "uniform": comparators.uniform,
    "load": comparators.load_based,
    "centralised": comparators.centralised,
}
NAMES = {"gif": "GIF", "uniform": "Uniform", "load": "Load-based", "centralised": "Centralised"}


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench figure5")
    parser.add_argument("--setups", type=int, default=300)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    options = parser.parse_args(argv)
    compile_all(warm)
    found = [measure(generate(seed, drawn(seed))) for seed in range(options.setups)]
    figures = {name: np.array([f[name] for f in found]) for name in found[0]}
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(plot(figures))
    means = {name: round(float(values.mean()), 4) for name, values in figures.items()}
    behind = figures["centralised_utilization"] - figures["gif_utilization"]
    return {"setups": len(found), "worst_behind_centralised": round(float(behind.max()), 3), **means}


def warm() -> None:
    for seed in range(3):
        small = generate(seed, SetupParameters(sub_clusters=3, leaves=20))
        measure(small)
        gif.shares(small.tree, small.capacity, small.demand, exact=False)


def drawn(seed: int) -> SetupParameters:
    """A shape of federation: tens of sub-clusters, small and large hierarchies, balanced and skewed demand."""
    rng = np.random.default_rng([seed, 5])
    return SetupParameters(
        sub_clusters=int(rng.integers(10, 41)),
        leaves=int(rng.integers(50, 501)),
        load=float(rng.uniform(0.8, 1.6)),
        places=float(rng.uniform(3, 12)),
        skew=float(rng.uniform(0, 0.5)),
        capped=float(rng.uniform(0, 0.4)),
    )


def measure(s: RandomSetup) -> dict[str, float]:
    """Of each policy: utilization in percent, the error in percent of what is due, and the mean error of a queue.

    The latter in percent of all capacity.
    """
    total, ideal = s.capacity.sum(axis=0), comparators.oracle(s.tree, s.capacity, s.demand)
    figures = {}
    for name, policy in POLICIES.items():
        due = policy(s.tree, s.capacity, s.demand)
        held = due[s.leaves].sum(axis=1)
        figures[f"{name}_utilization"] = float(100 * np.mean(held.sum(axis=0) / total))
        figures[f"{name}_error_percent"] = comparators.fairness_error(due, ideal, s.leaves)
        figures[f"{name}_per_queue_percent"] = float(100 * np.mean(np.abs(held - ideal[s.leaves]) / total))
    return figures


def plot(figures: dict[str, np.ndarray]) -> str:
    """Utilization on the left, mean absolute error of a queue on the right."""
    left = {NAMES[name]: figures[f"{name}_utilization"] for name in POLICIES}
    right = {NAMES[name]: figures[f"{name}_per_queue_percent"] for name in POLICIES}
    most = max(float(np.percentile(values, 95)) for values in right.values())
    most = float(np.ceil(most * 20) / 20)
    return svg([
        Panel("Utilization", " %", left, 100.0),
        Panel("Mean absolute error of a queue's share", " %", right, most),
    ])  # fmt: skip
