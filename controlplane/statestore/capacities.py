"""Capacities of queues: the normal form they are stored in, and what they come to for a given capacity.

A limit (``guaranteed`` or ``maximum``) is ``{"share": [...], "units": [...]}``,
both along the axis of resources: ``share`` of the parent's same limit plus
``units`` of the whole federation. A queue has ``{partition: {"guaranteed":
limit, "maximum": limit}}``; partition "" holds the nodes no other one takes.
A partition a queue does not name guarantees it nothing and denies it nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from scheduler.shares.tree import QueueHierarchy
from wire.resources import AXES, CORES, MEMORY

R = len(AXES)
ROOT = 0  # of every tree: parents come before children
DEFAULT = ""  # name of the partition of the nodes that no other takes
NOTHING: dict[str, list[float]] = {"share": [0.0] * R, "units": [0] * R}
ALL: dict[str, list[float]] = {"share": [1.0] * R, "units": [0] * R}
_LEAST_WEIGHT = 1e-9
_ROUNDING = 1e-6  # of a unit: 0.29 of 100 is 29, not 28


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What q queues may claim of one partition; (q, R) each, shares float64, units int64."""

    guaranteed_share: np.ndarray
    guaranteed_units: np.ndarray
    maximum_share: np.ndarray
    maximum_units: np.ndarray

    @classmethod
    def of(cls, capacities: Sequence[dict[str, Any]], partition: str) -> "QueueLimits":
        none = {"guaranteed": NOTHING, "maximum": ALL}
        named = [c.get(partition, none) for c in capacities]
        found = cls(*(
            np.array([limit[side][form] for limit in named], kind).reshape(-1, R)
            for side in ("guaranteed", "maximum")
            for form, kind in (("share", np.float64), ("units", np.int64))
        ))  # fmt: skip
        found.guaranteed_share[ROOT] = found.maximum_share[ROOT] = 1.0  # it has all there is, of every partition
        return found


class Limits(NamedTuple):
    """What q queues are guaranteed and may hold at most, in units: (q, R) int64, or (s, q, R) in s sub-clusters."""

    guaranteed: np.ndarray
    maximum: np.ndarray


def denied(capacities: dict[str, Any], partition: str) -> bool:
    """Whether a queue's maximum leaves it no memory or no cores of a partition."""
    limit = capacities[partition]["maximum"] if partition in capacities else ALL
    return any(not limit["share"][i] and not limit["units"][i] for i in (MEMORY, CORES))


def unlimited(hierarchy: QueueHierarchy, limits: QueueLimits) -> np.ndarray:
    """What each queue may hold all of, however little there is: (q, R) bool."""
    return hierarchy.path_combined(limits.maximum_share >= 1, np.logical_and)


def resolve(
    hierarchy: QueueHierarchy, limits: QueueLimits, capacity: np.ndarray, whole: np.ndarray | None = None
) -> Limits:
    """Of each queue: (q, R).

    ``capacity`` (R,) is what there is to share out, a part of ``whole`` (R,),
    of which units are meant; all of it when left out. A child's limits never
    exceed its parent's, nor the guarantees of siblings together: where nodes
    are missing, units shrink in proportion.
    """
    q = len(hierarchy.parent)
    part = np.ones(R) if whole is None else np.minimum(1.0, capacity / np.maximum(whole, 1))
    guaranteed, maximum = np.zeros((2, q, R), np.int64)
    guaranteed[ROOT] = maximum[ROOT] = capacity
    owed, most = limits.guaranteed_units * part, limits.maximum_units * part
    for rows in hierarchy.levels[1:]:
        up = hierarchy.parent[rows]
        m = _whole(limits.maximum_share[rows] * maximum[up] + most[rows])
        maximum[rows] = np.minimum(m, maximum[up])
        g = _whole(limits.guaranteed_share[rows] * guaranteed[up] + owed[rows])
        guaranteed[rows] = np.minimum(g, maximum[rows])
        if owed[rows].any():
            _fit(guaranteed, rows, up)
    return Limits(guaranteed, maximum)


def resolve_part(
    hierarchy: QueueHierarchy, limits: QueueLimits, capacity: np.ndarray, before: np.ndarray, whole: np.ndarray
) -> Limits:
    """As ``resolve``, for one sub-cluster of several, so that the parts add up to the whole.

    ``before`` (R,): the capacity of the sub-clusters before this one in a fixed
    order. Each takes what the limits grow by through its capacity, so a maximum
    of 4 GPUs over 20 sub-clusters is 4 and not 20 times 0.
    """
    low, high = (resolve(hierarchy, limits, c, whole) for c in (before, before + capacity))
    guaranteed, maximum = (np.maximum(h - lo, 0) for lo, h in zip(low, high, strict=True))
    for rows in hierarchy.levels[1:]:
        up = hierarchy.parent[rows]
        maximum[rows] = np.minimum(maximum[rows], maximum[up])
        guaranteed[rows] = np.minimum(guaranteed[rows], maximum[rows])
        _fit(guaranteed, rows, up)
    return Limits(guaranteed, maximum)


def by_size(hierarchy: QueueHierarchy, limits: QueueLimits, capacity: np.ndarray) -> Limits:
    """Of each queue in each of s sub-clusters that have ``capacity`` (s, R): (s, q, R).

    What RMs go by without an assignment: each takes its ``resolve_part``, in the order of the sub-clusters' numbers.
    """
    found, whole = np.zeros((2, len(capacity), len(hierarchy.parent), R), np.int64), capacity.sum(axis=0)
    before = np.zeros(R, np.int64)
    for at, own in enumerate(capacity):
        found[:, at] = resolve_part(hierarchy, limits, own, before, whole)
        before = before + own
    return Limits(*found)


def within_ceilings(
    hierarchy: QueueHierarchy, maximum: np.ndarray, at: np.ndarray, ceiling: np.ndarray, unlimited: np.integer[Any]
) -> np.ndarray:
    """The maxima (q, R) that hold in a sub-cluster: assigned ceilings, and the parts by size of the other queues.

    maximum: (q, R), the parts by size. ceiling: (k, R) of the queues at ``at``
    (k,), ``unlimited`` in all that is where none was assigned. A queue never
    has more than one above it.
    """
    bounded = (ceiling < unlimited).any(axis=1)
    found = maximum.copy()
    found[at[bounded]] = np.minimum(ceiling[bounded], maximum[ROOT])
    return hierarchy.path_combined(found, np.minimum)


def fitted(hierarchy: QueueHierarchy, wanted: np.ndarray, maximum: np.ndarray) -> np.ndarray:
    """Guarantees of (q, R) ``wanted`` units that keep to the rules of ``resolve``; the root has all there is."""
    guaranteed: np.ndarray = np.minimum(wanted, maximum)
    guaranteed[ROOT] = maximum[ROOT]
    for rows in hierarchy.levels[1:]:
        _fit(guaranteed, rows, hierarchy.parent[rows])
    return guaranteed


def weights(hierarchy: QueueHierarchy, limits: QueueLimits, given: np.ndarray, guaranteed: np.ndarray) -> np.ndarray:
    """(q,) float64: those ``given`` (nan: none); else the guaranteed share; else the least among the siblings', or 1.

    guaranteed: (q, R) int64, as resolved.
    """
    up = np.maximum(hierarchy.parent, 0)
    of_parent = np.maximum(guaranteed[up], 1)
    absolute = np.where(limits.guaranteed_units > 0, guaranteed / of_parent, 0.0)
    share = np.maximum(limits.guaranteed_share, absolute).max(axis=1)
    weight = np.where(np.isnan(given), share, given)
    positive = np.where((weight > 0) & (hierarchy.parent >= 0), weight, np.inf)
    least = np.full(len(weight), np.inf)
    np.minimum.at(least, up, positive)
    fallback = np.where(np.isfinite(least[up]), least[up], 1.0)
    return np.maximum(np.where(weight > 0, weight, fallback), _LEAST_WEIGHT)


def _whole(amount: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.floor(amount + _ROUNDING).astype(np.int64)
    return found


def _fit(guaranteed: np.ndarray, rows: np.ndarray, up: np.ndarray) -> None:
    """Shrink the guarantees of siblings that together exceed their parent's."""
    total = np.zeros_like(guaranteed)
    np.add.at(total, up, guaranteed[rows])
    over = total[up] > guaranteed[up]
    if over.any():
        shrunk = _whole(guaranteed[rows] * (guaranteed[up] / np.maximum(total[up], 1)))
        guaranteed[rows] = np.where(over, shrunk, guaranteed[rows])
