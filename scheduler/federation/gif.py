"""Global instantaneous fairness (Hydra, NSDI '19, section 4.2): how much each queue should hold in each sub-cluster.

1. *Ideal.* What each queue would hold if the federation were one cluster: the
   hierarchical fair shares of ``scheduler.shares.fair`` of all capacity.
2. *Places.* Each queue holds its ideal where its demand is: at most its demand
   in each sub-cluster, at most the capacity there. Where more want a place than
   fit, guarantees are met first, all to the same part; beyond them all rise
   together at the rate that the tree gives them. When sub-clusters are full of
   queues that cannot hold more elsewhere these stop, and the others rise on
   (``maxminflow``). A queue gives way in a crowded sub-cluster while it has demand in
   others with room: 20 % of all may become 30 % here and 10 % there.
3. *Again.* Who cannot hold its ideal, because sub-clusters are full, is taken to
   want no more than it holds and can reach. The ideal is found again for these
   wants, so that what it leaves goes first to its siblings and then to others.
   All rise to it from what they hold: nobody loses what an earlier pass gave it.
   This ends when no sub-cluster becomes full.

So fair means with several sub-clusters: nothing that a queue wants and may have
is idle; guarantees are met wherever all of them can be held together; nobody
holds a crowded place that it could leave for an open one; those who share a
place are at one level of what the tree gives them, counted over the whole
federation. Where places do not matter the shares are those of one cluster.

More weight is never less, of one resource. Of the first pass that is proven: what
leaves can hold together is a polymatroid, so that whoever holds less gave way to
one who holds more at no higher level, and more weight makes no other queue
faster. It takes that no sub-cluster is closed before somebody is stuck there:
hence flows, and passes that begin at what is held. Of all passes together it
is tried, over many random worlds.

Several resources: the ideal is dominant-resource fair. First, the
scarcest resource first, a queue that gets only a part of its ideal of one
resource aims at no more than that part of the next ones, but for guarantees.
What is then left of a resource is given out without regard to the others.

All this is exact up to a size. Larger federations are divided by sweeps over
the sub-clusters (``maxminsweeps``), in less than half the time: some two percent are
then at other queues than due, and more weight may be less. Amounts are resource units.

What nobody wants now is told apart, as ``spare``: see ``DividedShares``.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import contiguous
from scheduler.federation.entitlement import (
    entitlement,
    federation_totals,
    fill_rates,
    part_below_maximum,
    parts_of_amounts,
    subtree_holdings,
)
from scheduler.federation.maxminflow import raise_level
from scheduler.federation.maxminsweeps import (
    CLOSE,
    FULL,
    close_full,
    demand_by_place,
    idle_and_wanted,
    lower_step,
    settle,
    spread_like,
    within_reach,
)
from scheduler.shares.fair import shares_of_rows
from scheduler.shares.tree import ShareTree, is_leaf, path_minimum, subtree_sums

_SIZE_EXACT = 1_000_000  # leaves, times resources, times sub-clusters squared: some 20 ms
_PASSES = 4  # of the sweeps, and
_SWEEPS, _SWEEPS_AGAIN = 16, 6  # how many in the first and in later ones
_STILL = 1e-7  # part of all capacity: moves that mean nothing, and
_LITTLE = 1e-4  # what is not worth another pass, and
_CLOSE = 1e-6  # what is not worth filling in


class DividedShares(NamedTuple):
    """(q, s, r) float64 each; subtree totals at inner rows.

    due: what each queue should hold of what it wants, in each sub-cluster.
    spare: its part of what is idle there, by guarantee and weight, within
    its maximum. ``due + spare`` is what a queue may use until the next
    look: a queue without demand has a part wherever there is room, and can start
    at once when work comes. ``due`` alone is the ideal of preemption.
    """

    due: np.ndarray
    spare: np.ndarray


def shares(tree: ShareTree, capacity: np.ndarray, demand: np.ndarray, exact: bool | None = None) -> DividedShares:
    """What each queue should hold in each sub-cluster.

    capacity: (s, r), of nodes that are up and open. demand: (q, s, r) int64, what
    leaves hold and want beyond, each unit in one sub-cluster only; inner
    rows are not read. exact: None: where that is quick.
    """
    tree = ShareTree(
        contiguous(tree.parent, np.int32),
        contiguous(tree.guaranteed, np.float64),
        contiguous(tree.maximum, np.float64),
        contiguous(tree.weight, np.float64),
    )
    leaves = leaves_of(tree.parent)
    room = contiguous(np.maximum(capacity, 0).T, np.float64)  # (r, s)
    want = demand_by_place(contiguous(demand, np.int64), leaves, room)
    if exact is None:
        exact = want.size * len(capacity) <= _SIZE_EXACT
    allocation = (_exact_allocation if exact else _approximate_allocation)(tree, leaves, room, want)
    _fill_idle(tree, leaves, room, want, allocation)
    due = subtree_totals(tree.parent, leaves, allocation)
    return DividedShares(due, _spare(tree, leaves, room, allocation, due))


def leaves_of(parent: np.ndarray) -> np.ndarray:
    """The rows that are nobody's parent: (l,) int64."""
    return np.flatnonzero(is_leaf(parent))


def subtree_totals(parent: np.ndarray, leaves: np.ndarray, allocation: np.ndarray) -> np.ndarray:
    """(q, s, r), summed up the tree, of what the leaves hold: ``allocation`` (r, s, l)."""
    return subtree_holdings(
        contiguous(parent, np.int32), contiguous(leaves, np.int64), contiguous(allocation, np.float64)
    )


def _exact_allocation(tree: ShareTree, leaves: np.ndarray, room: np.ndarray, want: np.ndarray) -> np.ndarray:
    """What each leaf holds, exactly: (r, s, l). room: (r, s). want: (r, s, l)."""
    allocation, wants = np.zeros_like(want), want.sum(axis=1)
    held = contiguous(tree.guaranteed[leaves].T, np.float64).copy()  # (r, l), or guaranteed: where the next pass begins
    is_open = room > 0  # nobody is stuck there
    first, _ = _aims(tree, leaves, room, wants)
    step, whole = np.ones((2, len(leaves)))
    for bundles in (True, False) if len(room) > 1 else (False,):
        for i in _scarcest(room, wants):
            part, places = step if bundles else whole, -1
            while places != is_open[i].sum():
                places = is_open[i].sum()
                due, fill_rate = _aims(tree, leaves, room, wants)
                low = np.minimum(held[i], due[i])
                aim = np.maximum(low, due[i] * part)
                speed = np.where(part < 1.0, aim, fill_rate[i]) - low
                while raise_level(allocation[i], is_open[i], room[i], low, aim, speed, want[i]) < FULL:
                    pass
                held[i] = allocation[i].sum(axis=0)
                wants[i] = within_reach(allocation, want, is_open)[i]
            if bundles:
                lower_step(step, allocation[i], first[i])
    return allocation


def _aims(tree: ShareTree, leaves: np.ndarray, room: np.ndarray, wants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(due, fill_rate): what leaves that want ``wants`` hold in one cluster, and how fast they rise; (r, l) each."""
    total, demand = room.sum(axis=1), np.zeros((len(tree.parent), len(room)))
    demand[leaves] = wants.T
    ideal = shares_of_rows(*tree, total, np.zeros_like(demand), demand, False)
    fill_rate = fill_rates(tree.parent, tree.maximum, tree.weight, total, demand, ideal)
    due = contiguous(ideal[leaves].T, np.float64)
    return due, np.where(due < wants * (1 - CLOSE), due, contiguous(fill_rate[leaves].T, np.float64))


def _scarcest(room: np.ndarray, wants: np.ndarray) -> np.ndarray:
    """The resources, (r,), by what is wanted of them over what there is."""
    return np.argsort(-wants.sum(axis=1) / np.maximum(room.sum(axis=1), 1.0), kind="stable")


def _approximate_allocation(tree: ShareTree, leaves: np.ndarray, room: np.ndarray, want: np.ndarray) -> np.ndarray:
    """What each leaf holds, about: (r, s, l). room: (r, s). want: (r, s, l)."""
    total = room.sum(axis=1)
    guaranteed = contiguous(tree.guaranteed[leaves].T, np.float64)
    allocation, levels = np.zeros_like(want), np.full(room.shape, 1.5)
    wants = want.sum(axis=1)  # (r, l)
    is_open = room > 0  # has not been full yet
    scarcest = _scarcest(room, wants)
    for again in range(_PASSES):
        due, fill_rate = _aims(tree, leaves, room, wants)
        low = np.minimum(guaranteed, due)
        rate = fill_rate - low
        step, part = np.ones(len(leaves)), np.ones_like(want[0])
        for i in scarcest:
            if not again:
                spread_like(part * want[i], want[i], np.maximum(low[i], due[i] * step), allocation[i])
            sweeps = _SWEEPS_AGAIN if again else _SWEEPS
            aim = np.maximum(low[i], due[i] * step)
            speed = np.where(step < 1.0, aim - low[i], rate[i])
            settle(
                allocation[i], levels[i], is_open[i], room[i], low[i], aim, speed, want[i], sweeps, _STILL * total[i]
            )
            if not again:
                lower_step(step, allocation[i], due[i])
                part = np.divide(allocation[i], want[i], out=np.ones_like(part), where=want[i] > 0)
        missing = due.sum(axis=1) - allocation.sum(axis=(1, 2)) > _LITTLE * total
        if not missing.any() or not close_full(is_open, allocation, room) or not is_open.any():
            break
        wants = within_reach(allocation, want, is_open)
    return allocation


def _spare(
    tree: ShareTree, leaves: np.ndarray, room: np.ndarray, allocation: np.ndarray, due: np.ndarray
) -> np.ndarray:
    """``DividedShares.spare``: what is idle, divided by entitlement, within the maxima."""
    part = entitlement(tree.parent, tree.guaranteed, tree.weight)
    idle = np.maximum(room - allocation.sum(axis=2), 0.0)  # (r, s)
    allowed = part_below_maximum(tree.parent, tree.maximum, federation_totals(due), idle.sum(axis=1) * part)
    mine = np.zeros_like(part)
    mine[leaves] = part[leaves] * allowed[leaves]
    return parts_of_amounts(subtree_sums(tree.parent, mine), idle)


def _fill_idle(tree: ShareTree, leaves: np.ndarray, room: np.ndarray, want: np.ndarray, allocation: np.ndarray) -> None:
    """Give out in each sub-cluster what is idle and still wanted there, by the tree alone, into ``allocation``."""
    held = np.zeros((len(tree.parent), len(room)))
    held[leaves] = allocation.sum(axis=1).T
    held = subtree_sums(tree.parent, held)
    may = contiguous(path_minimum(tree.parent, held < tree.maximum * (1 - CLOSE))[leaves].T, np.bool_)
    lack = idle_and_wanted(want, allocation, may, room)  # (s,)
    nothing, more = np.zeros_like(held), np.zeros_like(held)
    for k in np.flatnonzero(lack > _CLOSE):
        more[leaves] = (want[:, k] - allocation[:, k]).T
        idle = np.maximum(room[:, k] - allocation[:, k].sum(axis=1), 0.0)
        most = np.maximum(tree.maximum - held, 0.0)
        got = shares_of_rows(tree.parent, nothing, most, tree.weight, idle, nothing, more, False)
        allocation[:, k] += got[leaves].T
        held += got


def amounts_to_give_back(tree: ShareTree, capacity: np.ndarray, used: np.ndarray, due: np.ndarray) -> np.ndarray:
    """What each queue has to give back in each sub-cluster: (q, s, r) float64.

    capacity: (s, r). used: (q, s, r) of leaves. due: of ``DividedShares``. A leaf
    gives back what it holds beyond its due, no more than the leaves below
    their due there lack beyond what is free; those over give in proportion. An
    inner row tells what its leaves give to others than themselves.
    """
    leaves = leaves_of(tree.parent)
    over = np.maximum(used[leaves] - due[leaves], 0.0)
    lacking = np.maximum(due[leaves] - used[leaves], 0.0).sum(axis=0)
    owed = np.maximum(lacking - np.maximum(capacity - used[leaves].sum(axis=0), 0.0), 0.0)
    part = np.minimum(1.0, np.divide(owed, over.sum(axis=0), out=np.zeros_like(owed), where=over.any(axis=0)))
    given = subtree_totals(tree.parent, leaves, (over * part).transpose(2, 1, 0))
    held = subtree_totals(tree.parent, leaves, used[leaves].transpose(2, 1, 0))
    inner = ~is_leaf(tree.parent)
    given[inner] = np.minimum(given[inner], np.maximum(held[inner] - due[inner], 0.0))
    return given
