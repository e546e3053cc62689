"""The AM-RM proxy's splitter: how many units of an application's demand each sub-cluster is asked for.

Problem: divide ``count`` equal containers over s sub-clusters such that the
parts are whole numbers and sum to ``count`` exactly, because a unit of demand
is counted in one sub-cluster only.

Nothing goes to a sub-cluster that is not usable, nor, where weights matter, to
one whose weight is not positive. Where none is usable nothing is placed, and
the sum is zero. Rules follow section 4.1 of Hydra (locality multicast), and YARN's
``LocalityMulticastAMRMProxyPolicy``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

UNKNOWN_HEADROOM = -1  # headroom of a sub-cluster that has not told it
LEAST_LOAD = 0.01  # an idle sub-cluster counts as this loaded, or it alone would get everything


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """How the asks of a queue's jobs are split. ``policy``: a name of ``POLICIES``.

    ``weights``: by sub-cluster number; empty: all alike, else who is not in it
    weighs 0. ``relax_after_s``: what a sub-cluster has not met by then may go to
    others. ``interval_s``: between two looks at what stands where; an RM goes by
    the shortest of its queues.
    """

    policy: str = "locality"
    alpha: float = 0.5
    weights: Mapping[int, float] = field(default_factory=dict)
    prefer_home: bool = True
    relax_after_s: float = 5.0
    interval_s: float = 0.5

    def vector(self, sub_clusters: Sequence[int]) -> np.ndarray:
        """The weights of these sub-clusters; (s,) float64."""
        usual = 0.0 if self.weights else 1.0
        return np.array([self.weights.get(s, usual) for s in sub_clusters], np.float64)

    @property
    def leaves_home(self) -> bool:
        """Whether tasks may go anywhere but their home at all."""
        return POLICIES[self.policy].leaves_home

    def reach(self, sub_clusters: Sequence[int]) -> np.ndarray:
        """To which of these sub-clusters tasks may go, the first of which is their home; (s,) bool."""
        may: np.ndarray = self.vector(sub_clusters) > 0
        may[1:] &= self.leaves_home
        return may


@dataclass(frozen=True, slots=True)
class SplitTargets:
    """The sub-clusters that a demand may be split over.

    ``usable``: (s,) bool. ``weights``: (s,) float64, a share relative to the
    others'; not positive: excluded. ``headroom``: (s,) int64, containers of the
    asked shape that would start there now, ``UNKNOWN_HEADROOM`` where
    nobody knows.
    ``home``: the index of the job's home.
    """

    usable: np.ndarray
    weights: np.ndarray
    headroom: np.ndarray
    home: int


def integer_split(
    total: int, weights: np.ndarray, rng: np.random.Generator | None = None, first: int | None = None
) -> np.ndarray:
    """``total`` in whole parts proportional to ``weights``, by largest remainder; (s,) int64.

    ``weights``: (s,); negative ones, and what is no finite number, count 0.
    Each part is at least its exact share rounded down. Equal remainders are
    served in index order, ``first`` before all others, or at random with
    ``rng``. The parts sum to ``total``; to 0 where no weight is positive.
    """
    w = np.where(np.isfinite(weights) & (np.asarray(weights) > 0), weights, 0.0).astype(np.float64)
    takers = np.flatnonzero(w)
    out = np.zeros(len(w), np.int64)
    if total <= 0 or not len(takers):
        return out
    w = w[takers] / w.max()  # no overflow in the sum
    exact = total * (w / w.sum())
    part = np.floor(exact).astype(np.int64)
    tie = rng.permutation(len(takers)) if rng else np.where(takers == first, -1, np.arange(len(takers)))
    order = np.lexsort((tie, -np.round(exact - part, 9)))  # a 2.9999999999 that is a three comes first
    each, left = divmod(total - int(part.sum()), len(takers))
    part += each
    part[order[:left]] += 1
    out[takers] = part
    return out


def capped_split(total: int, weights: np.ndarray, room: np.ndarray, first: int | None = None) -> np.ndarray:
    """As ``integer_split``, at most ``room`` (s,) int64 each; what has no room is left out of the sum."""
    out = np.zeros(len(room), np.int64)
    room = np.maximum(room, 0)
    while total > 0:
        part = np.minimum(integer_split(total, np.where(room > out, weights, 0.0), first=first), room - out)
        placed = int(part.sum())
        if not placed:
            break
        out += part
        total -= placed
    return out


def blend(targets: SplitTargets, alpha: float) -> np.ndarray:
    """``alpha`` of the share of headroom and ``1 - alpha`` of the share of weight; (s,) float64, sums to 1.

    Sub-clusters that tell no headroom count as average: together the known ones
    divide their number's part of the whole by headroom, as YARN does it. Without
    any headroom all count alike.
    """
    enabled = targets.usable & (targets.weights > 0)
    n = int(enabled.sum())
    if not n:
        return np.zeros(len(enabled))
    known = enabled & (targets.headroom != UNKNOWN_HEADROOM)
    headroom = np.where(known, np.maximum(targets.headroom, 0), 0).astype(np.float64)
    by_headroom = np.where(enabled, 1.0 / n, 0.0)
    if headroom.sum() > 0:
        by_headroom = np.where(known, headroom / headroom.sum() * (known.sum() / n), by_headroom)
    weights = np.where(enabled, targets.weights, 0.0).astype(np.float64)
    weights = weights / weights.max()
    mixed: np.ndarray = alpha * by_headroom + (1.0 - alpha) * (weights / weights.sum())
    return mixed


def _room(targets: SplitTargets) -> np.ndarray:
    """Headroom with unknown ones as the average of the known, or without bound where none is known; (s,) int64."""
    known = targets.usable & (targets.headroom != UNKNOWN_HEADROOM)
    usual = int(np.maximum(targets.headroom[known], 0).mean()) if known.any() else 1 << 60
    room = np.where(targets.headroom == UNKNOWN_HEADROOM, usual, np.maximum(targets.headroom, 0)).astype(np.int64)
    return np.where(targets.usable, room, 0)


def _home_weights(targets: SplitTargets, alpha: float) -> np.ndarray:
    at_home = np.zeros(len(targets.usable))
    at_home[targets.home] = float(targets.usable[targets.home])
    return at_home


def _even_weights(targets: SplitTargets, alpha: float) -> np.ndarray:
    return targets.usable.astype(np.float64)


def _given_weights(targets: SplitTargets, alpha: float) -> np.ndarray:
    return np.where(targets.usable, targets.weights, 0.0)


@dataclass(frozen=True, slots=True)
class SplittingRule:
    """A policy: what shares are proportional to.

    follows_names: asks that name nodes or racks follow their owners.
    leaves_home: tasks may go elsewhere.
    """

    weights: Callable[[SplitTargets, float], np.ndarray]
    follows_names: bool = False
    leaves_home: bool = True


POLICIES: dict[str, SplittingRule] = {
    "home": SplittingRule(_home_weights, leaves_home=False),
    "broadcast": SplittingRule(
        _even_weights
    ),  # everywhere alike; an exact demand cannot stand in several places at once
    "weighted": SplittingRule(_given_weights),  # by weight alone
    "locality": SplittingRule(blend, follows_names=True),  # names to their owners, the rest by headroom and weight
}


def split(
    policy: str,
    count: int,
    targets: SplitTargets,
    *,
    owned: np.ndarray | None = None,
    alpha: float = 0.5,
    prefer_home: bool = True,
    within: bool = False,
) -> np.ndarray:
    """What each sub-cluster is asked for; (s,) int64.

    ``owned``: (s,) int64, how many of the units name a node or rack of that
    sub-cluster; more than ``count`` of them divide it in proportion.
    ``alpha``: 0 to 1, see ``blend``. ``prefer_home``: what fits the home's
    headroom stays there, what fits that of others goes to them, and the rest is
    spread. ``within``: nothing beyond headroom, so that the sum may be less.
    """
    rule = POLICIES[policy]
    weights = rule.weights(targets, alpha)
    room, out = _room(targets), np.zeros(len(weights), np.int64)
    if count <= 0:
        return out
    if rule.follows_names and owned is not None:
        named = integer_split(min(count, int(owned.sum())), np.where(_enabled(targets), owned, 0))
        count -= int(named.sum())
        out += np.minimum(named, room) if within else named
        room = np.maximum(room - named, 0)
    if prefer_home and weights[targets.home] > 0:
        stay = min(count, int(room[targets.home]))
        out[targets.home] += stay
        room[targets.home] -= stay
        count -= stay
    if within or prefer_home:
        fits = capped_split(count, weights, room, first=targets.home)
        out += fits
        count -= int(fits.sum())
    if not within:
        out += integer_split(count, weights, first=targets.home)
    return out


def _enabled(targets: SplitTargets) -> np.ndarray:
    enabled: np.ndarray = targets.usable & (targets.weights > 0)
    return enabled


def redistribute(
    unmet: int, load: np.ndarray, usable: np.ndarray | None = None, room: np.ndarray | None = None
) -> np.ndarray:
    """Demand of a sub-cluster that died, over the others inversely to their load; (s,) int64, sums to ``unmet``.

    ``load``: (s,) float64, demand over capacity; what is not finite gets
    nothing while another is. ``usable``: (s,) bool, all by default. ``room``:
    (s,) int64, what would start there now; it is filled before anybody waits.
    """
    fit = np.ones(len(load), bool) if usable is None else usable
    finite = fit & np.isfinite(load)
    safe = np.where(finite, np.maximum(load, LEAST_LOAD), 1.0)
    weights = np.where(finite, 1.0 / safe, 0.0)
    weights = weights if finite.any() else fit.astype(np.float64)
    out = capped_split(unmet, weights, np.zeros(len(load), np.int64) if room is None else room)
    out += integer_split(unmet - int(out.sum()), weights)
    return out
