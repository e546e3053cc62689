"""The router's weights by load: sub-clusters where many jobs wait get fewer new ones (the rule of YARN's GPG).

A sub-cluster with less than ``min_pending`` keeps weight 1, from there the
weight falls with the load, from ``max_pending`` on it is ``min_weight``. Only
the most loaded ``max_edit`` are changed. If that would leave none with
a weight, all have 1: somebody has to take the jobs.
"""

from dataclasses import dataclass

import numpy as np

SCALINGS = ("linear", "quadratic", "log")


@dataclass(frozen=True, slots=True)
class WeightPolicy:
    """min_pending, max_pending: jobs that wait. scaling: one of ``SCALINGS``."""

    max_edit: int = 3
    min_pending: int = 100
    max_pending: int = 500
    min_weight: float = 0.0
    scaling: str = "linear"


def load_weights(pending: np.ndarray, policy: WeightPolicy) -> np.ndarray:
    """(s,) float64 between 0 and 1. pending: (s,) jobs that wait in each sub-cluster."""
    edited = np.argsort(-pending, kind="stable")[: policy.max_edit]
    weights = np.ones(len(pending))
    weights[edited] = _scaled(pending[edited], policy)
    return weights if weights.any() else np.ones(len(pending))


def _scaled(pending: np.ndarray, policy: WeightPolicy) -> np.ndarray:
    span = max(policy.max_pending - policy.min_pending, 1)
    over = np.clip((pending - policy.min_pending) / span, 0.0, 1.0)
    match policy.scaling:
        case "linear":
            left = 1.0 - over
        case "quadratic":
            left = (1.0 - over) ** 2
        case "log":
            left = 1.0 - np.log1p(over * span) / np.log1p(span)
        case other:
            raise ValueError(f"scaling {other!r} is none of {', '.join(SCALINGS)}")
    weights: np.ndarray = policy.min_weight + (1.0 - policy.min_weight) * left
    return weights
