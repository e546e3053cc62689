"""What fairness would have granted: weighted max-min down the tree over the whole federation, as one cluster."""

from collections.abc import Sequence

import numpy as np

from controlplane.sharing.queues import FederationQueues
from controlplane.statestore.capacities import DEFAULT
from scheduler.shares.fair import fair_shares
from scheduler.shares.tree import ShareTree

_FINE = 1000  # parts of a unit: averages are no whole numbers, which matters where units are few, as of GPUs


def granted(
    queues: FederationQueues, leaves: Sequence[str], capacity: np.ndarray, used: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """The part of the whole that fairness grants each leaf in each period, of its dominant resource: (p, q) float64.

    capacity: (p, R), used, wanted: (p, q, R), averages. NaN for leaves that neither hold nor want anything, where
    there was nothing to share, and everywhere with partitions, of which each is shared by itself.
    """
    rows = np.array([queues.index[path] for path in leaves])
    used, wanted = used * _FINE, wanted * _FINE
    found = np.full(used.shape[:2], np.nan)
    if queues.partitions != [DEFAULT]:
        return found
    for p in range(len(capacity)):
        whole = np.round(capacity[p]).astype(np.int64)
        if not whole.any():
            continue
        demand = np.zeros((len(queues.paths), len(whole)), np.int64)
        demand[rows] = np.round(used[p] + wanted[p]).astype(np.int64)
        guaranteed, maximum, weight = queues.whole(DEFAULT, whole)
        maximum = np.minimum(maximum, whole)
        tree = ShareTree(queues.hierarchy.parent, guaranteed * _FINE, maximum * _FINE, weight)
        share = fair_shares(tree, whole * _FINE, np.zeros_like(demand), demand, floor=False)[rows]
        part = (share / np.maximum(whole * _FINE, 1)).max(axis=1)
        found[p] = np.where(demand[rows].any(axis=1), part, np.nan)
    return found
