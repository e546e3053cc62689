"""Maxima that follow the demand: how much of a queue's maximum in the whole federation each sub-cluster may use.

Together they never exceed the maximum, also while RMs change from one
assignment to the next: an RM goes by its last one or by the new one, and the
larger of both, over all sub-clusters, is within the maximum. So a ceiling is
lowered at once, and others are raised when every RM has said that it goes by
what was assigned last (as with asks: lower, acknowledged, raise).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from controlplane.statestore.capacities import ROOT, R
from controlplane.statestore.loads import Load
from controlplane.statestore.packed import Table
from controlplane.statestore.shares import UNLIMITED


def ceilings(
    maximum: np.ndarray, due: np.ndarray, before: np.ndarray, used: np.ndarray, capacity: np.ndarray, settled: bool
) -> np.ndarray:
    """(s, q, R) int64: what whole subtrees may use.

    maximum: (q, R) of the whole. due, used: (s, q, R), whole subtrees. before:
    (s, q, R), assigned last. capacity: (s, R). settled: every RM goes by
    ``before``. What nobody is due is spread by size.
    """
    size = capacity / np.maximum(capacity.sum(axis=0), 1)
    idle = np.maximum(maximum - due.sum(axis=0), 0)
    upto = np.floor(np.cumsum(size, axis=0)[:, None] * idle + 1e-6).astype(np.int64)
    target = due + np.diff(upto, axis=0, prepend=0)
    found: np.ndarray = np.minimum(target, before)
    if settled:
        room = np.maximum(maximum - np.maximum(before, used).sum(axis=0), 0)
        more = target - found
        part = np.minimum(1.0, room / np.maximum(more.sum(axis=0), 1))
        found = found + np.floor(more * part + 1e-6).astype(np.int64)
    return found


def settled(loads: Sequence[Load], version: int, policy_version: int) -> bool:
    """Whether every RM that leads goes by that assignment. One that leads later reads it before it starts anything."""
    return all(
        not load.led or (load.shares_version == version and load.policy_version == policy_version) for load in loads
    )


def limited(maximum: np.ndarray) -> np.ndarray:
    """Queues that may not use all there is of something: (q,) bool."""
    found: np.ndarray = (maximum < maximum[ROOT]).any(axis=1)
    return found


def assigned_before(index: Mapping[str, int], most: np.ndarray, tables: Sequence[Table | None]) -> np.ndarray:
    """(s, q, R): the ceilings of these assignments; where there is none, ``most`` (s, q, R), the part by size."""
    found = most.copy()
    for s, table in enumerate(tables):
        if table is None:
            continue
        paths, rows = table
        at = np.array([index.get(path, -1) for path in paths], np.int64)
        rows, at = rows[at >= 0, 2 * R :], at[at >= 0]
        bounded = (rows < UNLIMITED).any(axis=1)
        found[s, at[bounded]] = rows[bounded]
    return found
