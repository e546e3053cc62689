"""How much more each queue may hold in each sub-cluster, by what its leader said last: what previews count with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from controlplane.statestore.capacities import DEFAULT, ROOT, R, by_size, resolve, unlimited, within_ceilings
from controlplane.statestore.models import Node
from controlplane.statestore.nodesets import capacity_of
from controlplane.statestore.queries.queues.standing import FederationStanding, standing
from controlplane.statestore.queries.queues.tree import PolicyTree
from controlplane.statestore.shares import UNLIMITED
from scheduler.shares.tree import upwards
from wire.resources import AXES
from wire.states import LIVE_NODE_MAX


@dataclass(slots=True)
class Headroom:
    """left: by partition and sub-cluster, (q, R) int64 below each queue's own maximum; without a policy nothing is."""

    tree: PolicyTree | None = None
    left: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)

    def units(self, sub: int, partition: str, queue: str, shape: Sequence[int], wanted: int) -> int:
        """How many of ``wanted`` such containers the maxima of the queue and of those above it leave room for."""
        left, at = self._of(sub, partition, queue)
        for q in at:
            rooms = zip(left[q].tolist(), shape, strict=True)
            wanted = min([wanted, *(max(0, room) // need for room, need in rooms if need)])
        return wanted

    def take(self, sub: int, partition: str, queue: str, shape: Sequence[int], units: int) -> None:
        """So many such containers are held there from now on; below 0: are not any more."""
        left, at = self._of(sub, partition, queue)
        left[at] -= units * np.array(shape, np.int64)

    def _of(self, sub: int, partition: str, queue: str) -> tuple[np.ndarray, list[int]]:
        """What is left of that partition there, and the positions of the queue and of those above it."""
        left = self.left.get((partition, sub), self.left.get((DEFAULT, sub)))
        if self.tree is None or left is None:
            return np.zeros((0, R), np.int64), []
        return left, upwards(self.tree.hierarchy.parent, self.tree.at(queue))


def headroom() -> Headroom:
    """As it stands now, in all sub-clusters that are not lost. A query beyond those of ``standing``."""
    now = standing()
    if now is None:
        return Headroom()
    capacities = _capacities(now.tree, [place.id for place in now.places])
    return Headroom(now.tree, dict(_left(now, capacities)))


def headroom_without(leaving: int) -> Headroom:
    """As it will stand in the others once the sub-cluster ``leaving`` is empty and nothing of it is held any more.

    Maxima that are parts of the cluster are then parts of less. Where shares follow demand, the GPG brings each
    queue's maximum to where its demand is: what one sub-cluster takes of it, the others have no longer.
    """
    now = standing()
    if now is None:
        return Headroom()
    stay = [at for at, place in enumerate(now.places) if place.id != leaving]
    capacities = _capacities(now.tree, [now.places[at].id for at in stay])
    return Headroom(now.tree, dict(_left_in(now, stay, capacities)))


def _left_in(
    now: FederationStanding, stay: list[int], capacities: list[dict[str, np.ndarray]]
) -> Iterable[tuple[tuple[str, int], np.ndarray]]:
    for name, part in now.parts.items():
        owns = _of_all(capacities, name)
        if not now.sharing.follows_demand:
            for at, most in zip(stay, by_size(now.tree.hierarchy, now.tree.limits[name], owns).maximum, strict=True):
                yield (name, now.places[at].id), _below(now, name, most, part.used[at])
        else:
            most = resolve(now.tree.hierarchy, now.tree.limits[name], owns.sum(axis=0)).maximum
            left = _below(now, name, most, part.used[stay].sum(axis=0))
            yield from (((name, now.places[at].id), left) for at in stay)


def _below(now: FederationStanding, partition: str, most: np.ndarray, used: np.ndarray) -> np.ndarray:
    """What is left below these maxima (q, R), where there are any."""
    no_limit = (most >= most[ROOT]) & ((most[ROOT] > 0) | unlimited(now.tree.hierarchy, now.tree.limits[partition]))
    return np.where(no_limit, UNLIMITED, most) - used


def _capacities(tree: PolicyTree, subs: list[int]) -> list[dict[str, np.ndarray]]:
    """Of each sub-cluster, by partition, all that is not lost: (R,) int64."""
    rows = Node.objects.filter(sub_cluster__in=subs, state__lte=LIVE_NODE_MAX)
    of_sub: dict[int, list[tuple[object, ...]]] = {sub: [] for sub in subs}
    for sub, *node in rows.values_list("sub_cluster_id", "name", "rack", "labels", *AXES):
        of_sub[sub].append(tuple(node))
    return [capacity_of(tree.partitions, of_sub[sub]) for sub in subs]


def _left(
    now: FederationStanding, capacities: list[dict[str, np.ndarray]]
) -> Iterable[tuple[tuple[str, int], np.ndarray]]:
    for name, part in now.parts.items():
        sized = by_size(now.tree.hierarchy, now.tree.limits[name], _of_all(capacities, name)).maximum
        every = np.arange(len(now.tree.rows))
        for at, place in enumerate(now.places):
            most = sized[at]
            if now.sharing.assigns is not None and place.shares_policy == now.tree.version:
                most = within_ceilings(now.tree.hierarchy, most, every, part.ceiling[at], UNLIMITED)
            yield (name, place.id), _below(now, name, most, part.used[at])


def _of_all(capacities: list[dict[str, np.ndarray]], partition: str) -> np.ndarray:
    """(s, R)"""
    return np.array([c[partition] for c in capacities], np.int64).reshape(-1, R)
