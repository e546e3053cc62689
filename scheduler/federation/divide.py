"""The policies of share determination, by name: from a partition's problem to what each queue gets where."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scheduler.federation import comparators
from scheduler.federation import gif as instantaneous
from scheduler.shares.tree import ShareTree, is_leaf

_CLOSE = 1e-6  # part of all capacity by which what the search finds may miss


@dataclass(frozen=True, slots=True)
class SharingProblem:
    """One partition over s sub-clusters and q queues, parents before children, in units.

    parent: (q,) int32, -1 at the root. weight: (q,) float64. guaranteed,
    maximum: (q, R) int64, of the whole federation. parts, most: (s, q, R)
    int64, the same split by the sub-clusters' sizes. capacity: (s, R) int64.
    used, wanted: (s, q, R) int64 of each queue itself; wanted is beyond used.
    """

    parent: np.ndarray
    weight: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    parts: np.ndarray
    most: np.ndarray
    capacity: np.ndarray
    used: np.ndarray
    wanted: np.ndarray


class AssignedShares(NamedTuple):
    """(s, q, R) int64 each, whole subtrees. due: of what is wanted. share: with its part of what is idle."""

    due: np.ndarray
    share: np.ndarray


def gif(p: SharingProblem) -> AssignedShares:
    """Work-preserving fair shares of the whole, held where the demand is."""
    tree, room, demand = _arrays(p)
    found = instantaneous.shares(tree, room, demand)
    return AssignedShares(_whole(p, found.due), _whole(p, found.due + found.spare))


def load_based(p: SharingProblem) -> AssignedShares:
    """Each sub-cluster alone divides what it has; a queue's guarantee is divided by where its demand is."""
    due = _whole(p, comparators.load_based(*_arrays(p)))
    return AssignedShares(due, due)


def uniform(p: SharingProblem) -> AssignedShares:
    """To every sub-cluster by its size, whatever is wanted there."""
    return AssignedShares(p.parts, p.parts)


def each_alone(p: SharingProblem) -> AssignedShares:
    """What comes of it where each sub-cluster divides by its size's part of the policy: ``uniform``, ``static``."""
    due = _whole(p, comparators.uniform(*_arrays(p)))
    return AssignedShares(due, np.maximum(due, p.parts))


def amounts_to_give_back(p: SharingProblem, due: np.ndarray) -> np.ndarray:
    """(s, q, R) int64: what queues hold beyond what they are due while others lack it; due: (s, q, R)."""
    tree, room, _ = _arrays(p)
    return _whole(p, instantaneous.amounts_to_give_back(tree, room, p.used.transpose(1, 0, 2), due.transpose(1, 0, 2)))


def _arrays(p: SharingProblem) -> tuple[ShareTree, np.ndarray, np.ndarray]:
    """The tree, the room of leaves (s, r), and their demand (q, s, r): jobs of queues that are gone hold the rest."""
    room = p.capacity - np.where(is_leaf(p.parent)[:, None], 0, p.used).sum(axis=1)
    tree = ShareTree(p.parent, p.guaranteed, p.maximum, p.weight)
    return tree, np.maximum(room, 0), (p.used + p.wanted).transpose(1, 0, 2)


def _whole(p: SharingProblem, amounts: np.ndarray) -> np.ndarray:
    """(s, q, R) whole units of (q, s, R); less than one that is lacking by the search's error is made good."""
    lacking = np.clip(_CLOSE * p.capacity.sum(axis=0), 1e-6, 0.5)
    found: np.ndarray = np.floor(amounts.transpose(1, 0, 2) + lacking).astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class SharesPolicy:
    """assigns: what the GPG assigns; None: nothing, each sub-cluster takes its part of the policy by its size.

    comes_to: what comes of it. follows_demand: what queues are due and may use
    at most in a sub-cluster follows what they want there; else it goes by size.
    """

    assigns: Callable[[SharingProblem], AssignedShares] | None
    comes_to: Callable[[SharingProblem], AssignedShares]
    follows_demand: bool


POLICIES = {
    "gif": SharesPolicy(gif, gif, True),
    "load_based": SharesPolicy(load_based, load_based, True),
    "uniform": SharesPolicy(uniform, each_alone, False),
    "static": SharesPolicy(None, each_alone, False),
}
