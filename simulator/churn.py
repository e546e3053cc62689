"""Nodes that fail and come back, as often as asked for, from a seed."""

import numpy as np

from simulator.engine import Simulation


def churn(s: Simulation, mean_up_s: float, mean_down_s: float, until_s: float, seed: int = 0) -> int:
    """Have every node fail again and again until ``until_s``; how many failures were planned.

    mean_up_s: between a return and the next failure, exponential; mean_down_s: likewise of the repair. What runs on
    a node that fails is gone.
    """
    rng, planned = np.random.default_rng(seed), 0
    for sub in s.rows.subs.values():
        for node in sub.nodes:
            at = rng.exponential(mean_up_s)
            while at < until_s:
                back = at + rng.exponential(mean_down_s)
                s.fail(sub.id, node, at, back)
                planned += 1
                at = back + rng.exponential(mean_up_s)
    return planned
