"""What global instantaneous fairness is compared with (Hydra, section 4.2 and Figure 5).

All take the arguments of ``gif.shares`` and answer what each queue holds in each
sub-cluster: (q, s, r) float64, subtree totals at inner rows. Only
``oracle`` answers federation-wide totals, (q, r).
"""

import numpy as np

from scheduler.core.compiled import contiguous
from scheduler.federation.centralised import fill_progressively
from scheduler.federation.gif import leaves_of, subtree_totals
from scheduler.shares.fair import shares_of_rows
from scheduler.shares.tree import ShareTree, is_leaf


def uniform(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """One scheduler per sub-cluster; guarantees and maxima are as large there as the sub-cluster is of all."""
    part = _parts(capacity)[None].repeat(len(tree.parent), axis=0)
    return _local(tree, capacity, demand, part)


def load_based(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """As ``uniform``, but each queue's guarantee and maximum are divided by where its demand is."""
    wants = _totals(tree, demand)
    all_of_it = wants.sum(axis=1, keepdims=True)
    part = np.where(all_of_it > 0, wants / np.maximum(all_of_it, 1.0), _parts(capacity))
    return _local(tree, capacity, demand, part)


def centralised(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray, units: int = 20_000) -> np.ndarray:
    """One scheduler for all, which gives each free place to whom it is due among those who want that place.

    It hands out small units one after the other, down the tree, always to the child
    that is furthest below its guarantee, then to the one with the least dominant
    share by weight. A leaf takes its unit where the fewest want to be. units: in all there is.
    """
    leaves = leaves_of(tree.parent)
    want = contiguous(np.minimum(demand[leaves], capacity), np.float64)  # (l, s, r)
    held = fill_progressively(
        contiguous(tree.parent, np.int32),
        contiguous(tree.guaranteed, np.float64),
        contiguous(tree.maximum, np.float64),
        contiguous(tree.weight, np.float64),
        leaves,
        contiguous(capacity, np.float64),
        want,
        1.0 / units,
    )
    return subtree_totals(tree.parent, leaves, held.transpose(2, 1, 0))


def oracle(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """(q, r): a centralised scheduler that may put everything everywhere. The reference of fairness."""
    wants = demand.sum(axis=1)
    wants[~is_leaf(tree.parent)] = 0
    return _fair(tree, capacity.sum(axis=0), wants, tree.guaranteed, tree.maximum)


def fairness_error(due: np.ndarray, reference: np.ndarray, leaves: np.ndarray) -> float:
    """Mean absolute error in percent: what leaves hold too much or too little, of all that they should hold.

    due: (q, s, r). reference: (q, r). Mean over the resources.
    """
    off = np.abs(due[leaves].sum(axis=1) - reference[leaves]).sum(axis=0)
    return float(100 * np.mean(off / np.maximum(reference[leaves].sum(axis=0), 1e-9)))


def _parts(capacity: np.ndarray) -> np.ndarray:
    """(s, r): the part of each sub-cluster in all there is."""
    parts: np.ndarray = capacity / np.maximum(capacity.sum(axis=0), 1)
    return parts


def _totals(tree: ShareTree, amounts: np.ndarray) -> np.ndarray:
    leaves = leaves_of(tree.parent)
    return subtree_totals(tree.parent, leaves, amounts[leaves].transpose(2, 1, 0))


def _local(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Fair shares of each sub-cluster alone; part: (q, s, r), of each queue's guarantee and maximum."""
    wants = demand.copy()
    wants[~is_leaf(tree.parent)] = 0
    share = [
        _fair(tree, capacity[k], wants[:, k], tree.guaranteed * part[:, k], tree.maximum * part[:, k])
        for k in range(len(capacity))
    ]
    return np.stack(share, axis=1)


def _fair(
    tree: ShareTree, capacity: np.ndarray, wants: np.ndarray, guaranteed: np.ndarray, maximum: np.ndarray
) -> np.ndarray:
    share: np.ndarray = shares_of_rows(
        contiguous(tree.parent, np.int32),
        contiguous(guaranteed, np.float64),
        contiguous(maximum, np.float64),
        contiguous(tree.weight, np.float64),
        contiguous(capacity, np.float64),
        np.zeros(wants.shape),
        contiguous(wants, np.float64),
        False,
    )
    return share
