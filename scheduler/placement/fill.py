"""Placement of identical containers on the first nodes that have room, round robin.

For an ask of k units the nodes that have room are taken in order from a cursor;
``spread`` levels the load over all of them, ``first_fit`` fills node by node.
"""

from collections.abc import Callable

import numpy as np

Filler = Callable[[np.ndarray, int, int], np.ndarray]


def units_that_fit(free: np.ndarray, shape: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Containers of ``shape`` (r,) that fit each node: (n,) int64; 0 where not ``usable`` (n,) bool."""
    asked = shape > 0
    if not asked.any():
        return np.where(usable, np.int64(1) << 31, 0)
    fits: np.ndarray = (free[:, asked] // shape[asked]).min(axis=1)
    np.maximum(fits, 0, out=fits)
    fits[~usable] = 0
    return fits


def first_fit(fits: np.ndarray, k: int, cursor: int) -> np.ndarray:
    """Containers per node, (n,) int64: fill each node in order from ``cursor``, ``k`` in all."""
    order = np.roll(np.arange(len(fits)), -cursor)
    before = np.cumsum(fits[order])
    take = np.clip(k - (before - fits[order]), 0, fits[order])
    counts = np.zeros_like(fits)
    counts[order] = take
    return counts


def spread(fits: np.ndarray, k: int, cursor: int) -> np.ndarray:
    """Containers per node, (n,) int64: level the counts, ``k`` in all; the rest goes from ``cursor`` on.

    The level is the largest L with sum(min(fits, L)) <= k (water filling).
    """
    total = int(fits.sum())
    if total <= k:
        everything: np.ndarray = fits.copy()
        return everything
    ordered = np.sort(fits)
    below = np.concatenate(([0], np.cumsum(ordered)))
    remaining = np.arange(len(fits), 0, -1)
    filled = below[:-1] + ordered * remaining  # sum(min(fits, ordered[i]))
    i = int(np.searchsorted(filled, k, side="right"))
    level = (k - below[i]) // (len(fits) - i)
    counts: np.ndarray = np.minimum(fits, level)
    order = np.roll(np.arange(len(fits)), -cursor)
    open_ = order[fits[order] > level]
    counts[open_[: k - int(counts.sum())]] += 1
    return counts
