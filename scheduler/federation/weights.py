"""The router's weights by load: sub-clusters where much waits get fewer new jobs.

The rule of YARN's GPG (``LoadBasedGlobalPolicy``).

A sub-cluster with no more than ``min_pending`` keeps weight 1, from there the
weight falls with the load, from ``max_pending`` on it is ``min_weight``. Only
the most loaded ``max_edit`` are changed. If that would leave none with
a weight, all have 1: somebody has to take the jobs.
"""

from dataclasses import dataclass

import numpy as np

SCALINGS = ("linear", "quadratic", "log")
_LEAST_SPAN = 1e-6


@dataclass(frozen=True, slots=True)
class WeightPolicy:
    """min_pending, max_pending: in the unit of the loads. max_edit: None: any number. scaling: one of ``SCALINGS``."""

    max_edit: int | None
    min_pending: float
    max_pending: float
    min_weight: float = 0.0
    scaling: str = "linear"


def load_weights(pending: np.ndarray, policy: WeightPolicy) -> np.ndarray:
    """(s,) float64 between 0 and 1. pending: (s,) each sub-cluster's load: YARN counts jobs that wait, we demand."""
    edited = np.argsort(-pending, kind="stable")[: policy.max_edit]
    weights = np.ones(len(pending))
    weights[edited] = _scaled(pending[edited], policy)
    return weights if weights.any() else np.ones(len(pending))


def _scaled(pending: np.ndarray, policy: WeightPolicy) -> np.ndarray:
    span = max(policy.max_pending - policy.min_pending, _LEAST_SPAN)
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
