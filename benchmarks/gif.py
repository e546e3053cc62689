"""Share determination of a whole federation: 20 sub-clusters, 5,000 leaf queues of depth 5 to 12, two resources.

Times are of the processor, over several setups. ``mean_abs_error_percent`` is against the centralised reference
where places do not matter; ``unsettled_percent`` against the exact shares, where they do: what ``exact_ms`` are of.
"""

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from scheduler.core.compiled import compile_all, compiled
from scheduler.federation import gif
from scheduler.federation.bound import most_used
from scheduler.federation.comparators import fairness_error, oracle
from simulator.setups import RandomSetup, SetupParameters, generate

SMALL = SetupParameters(sub_clusters=3, leaves=20)


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench gif")
    parser.add_argument("--leaves", type=int, default=5000)
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--setups", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args(argv)
    compile_all(warm)
    shape = SetupParameters(sub_clusters=options.sub_clusters, leaves=options.leaves)
    figures = [measure(generate(seed, shape), options.rounds) for seed in range(options.setups)]
    times = np.concatenate([f.pop("times") for f in figures])
    mean = {name: float(np.mean([f[name] for f in figures])) for name in figures[0]}
    return {
        "p95_ms": round(1000 * float(np.percentile(times, 95)), 1),
        "median_ms": round(1000 * float(np.median(times)), 1),
        "exact_ms": round(1000 * mean["exactly"], 1),
        "used_over_bound": round(mean["used"] / mean["bound"], 5),
        "single_pass_over_bound": round(mean["single"] / mean["bound"], 5),
        "mean_abs_error_percent": round(mean["everywhere"], 4),
        "unsettled_percent": round(mean["unsettled"], 4),
        "per_queue_error_percent": round(mean["per_queue"], 5),
        "from_oracle_percent": round(mean["locality"], 2),
        "utilization_bound": round(mean["bound"], 4),
        "rows": len(generate(0, shape).tree.parent),
    }


def warm() -> None:
    for seed in range(3):
        small = generate(seed, SMALL)
        for exact in (True, False):
            gif.shares(small.tree, small.capacity, small.demand, exact)
        most_used(small.tree, small.capacity, small.demand)


def measure(s: RandomSetup, rounds: int) -> dict[str, Any]:
    """One setup: processor seconds of each round, and how good the shares are."""
    forms, times = compiled(), []
    for _ in range(rounds):
        began = time.process_time()
        due = gif.shares(s.tree, s.capacity, s.demand).due
        times.append(time.process_time() - began)
    assert forms == compiled(), "a round waited for a compiler"
    total = s.capacity.sum(axis=0)
    began = time.process_time()
    settled = gif.shares(s.tree, s.capacity, s.demand, exact=True).due.sum(axis=1)
    exactly = time.process_time() - began
    ideal = oracle(s.tree, s.capacity, s.demand)
    single = first_pass(s)
    return {
        "times": np.array(times),
        "exactly": exactly,
        "used": float(np.mean(due[s.leaves].sum(axis=(0, 1)) / total)),
        "single": float(np.mean(single.sum(axis=(0, 1)) / total)),
        "bound": float(np.mean(most_used(s.tree, s.capacity, s.demand) / total)),
        "unsettled": fairness_error(due, settled, s.leaves),
        "everywhere": everywhere(s),
        "per_queue": float(100 * np.mean(np.abs(due.sum(axis=1) - ideal)[s.leaves] / total)),
        "locality": fairness_error(due, ideal, s.leaves),
    }


def everywhere(s: RandomSetup) -> float:
    """The error against the oracle when every queue wants all sub-clusters alike, in percent."""
    part = s.capacity / s.capacity.sum(axis=0)
    spread = replace(s, demand=np.floor(s.demand.sum(axis=1, keepdims=True) * part).astype(np.int64))
    due = gif.shares(spread.tree, spread.capacity, spread.demand).due
    return fairness_error(due, oracle(spread.tree, spread.capacity, spread.demand), s.leaves)


def first_pass(s: RandomSetup) -> np.ndarray:
    """(l, s, r): each queue's ideal divided once by where its demand is, cut where a sub-cluster cannot hold it."""
    ideal = oracle(s.tree, s.capacity, s.demand)[s.leaves]
    demand = s.demand[s.leaves]
    wants = demand.sum(axis=1)
    claim = demand * np.divide(ideal, wants, out=np.zeros_like(ideal), where=wants > 0)[:, None, :]
    fits: np.ndarray = claim * np.minimum(1.0, s.capacity / np.maximum(claim.sum(axis=0), 1.0))
    return fits
