"""Feasibility: what the nodes have for a kind of ask, looked at once per kind.

A kind is a (shape, mask): how nodes are chosen from does not matter here. Cost: O(n) for each kind that is asked about.
"""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import arrayless, contiguous, subroutine
from scheduler.core.snapshot import Snapshot
from scheduler.placement.limits import fits, units_within

# What is known of a kind, bits
KNOWN, BIG_ENOUGH, FITS, FITS_RESERVED, COUNTED = 1, 2, 4, 8, 16
_UNITS_MAX = 1 << 32  # units counted; that many of the largest container (2**24 MiB) is a number still


class Feasibility(NamedTuple):
    """Nodes after a round, and what was found out about kinds (mask * shapes + shape) so far.

    capacity, free: (n, r). reserved: (n,) bool, for other asks. state: (kinds,)
    int8 of the bits above. fits, fits_reserved, fits_empty: (kinds,) units at once
    now, now on reserved nodes, and on empty nodes; counted for gangs only, up to
    ``most``. largest: (m, r) free on open nodes of the mask, where ``measured``.
    """

    capacity: np.ndarray
    free: np.ndarray
    open: np.ndarray
    reserved: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray
    state: np.ndarray
    fits: np.ndarray
    fits_reserved: np.ndarray
    fits_empty: np.ndarray
    largest: np.ndarray
    measured: np.ndarray
    most: int


def unknown_feasibility(s: Snapshot, free: np.ndarray, held: np.ndarray, left: np.ndarray) -> Feasibility:
    """Nothing found out yet. left: (a,) containers still wanted."""
    m, kinds = len(s.asks.masks), len(s.asks.masks) * len(s.asks.shapes)
    return Feasibility(
        contiguous(s.nodes.capacity, np.int64), contiguous(free, np.int64), contiguous(s.nodes.open, np.bool_), held,
        contiguous(s.asks.shapes, np.int64), contiguous(s.asks.masks, np.bool_),
        np.zeros(kinds, np.int8), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64),
        np.zeros((m, len(s.axis)), np.int64), np.zeros(m, np.bool_), int(left[s.asks.gang].max(initial=0)),
    )  # fmt: skip


@subroutine
def measure_largest(mask: int, feasibility: Feasibility) -> None:
    """The largest free amount of each resource on the mask's open nodes."""
    for k in range(feasibility.free.shape[1]):
        feasibility.largest[mask, k] = -1
    for node in range(len(feasibility.open)):
        if feasibility.open[node] and feasibility.masks[mask, node]:
            for k in range(feasibility.free.shape[1]):
                feasibility.largest[mask, k] = max(feasibility.largest[mask, k], feasibility.free[node, k])
    feasibility.measured[mask] = True


@subroutine
def examine_kind(mask: int, shape: int, count: bool, none_fits: bool, feasibility: Feasibility) -> int:
    """Find out about a kind. count: how many fit, too. none_fits: the round knows that none does."""
    kind = mask * len(feasibility.shapes) + shape
    if not none_fits and not feasibility.measured[mask]:
        measure_largest(mask, feasibility)
    hopeless = none_fits or not fits(feasibility.largest, mask, feasibility.shapes, shape)
    state = KNOWN
    now, held, empty = 0, 0, 0
    for node in range(len(feasibility.open)):
        if not feasibility.masks[mask, node]:
            continue
        if not state & BIG_ENOUGH and fits(feasibility.capacity, node, feasibility.shapes, shape):
            state |= BIG_ENOUGH
        if count:
            empty += units_within(feasibility.capacity, node, feasibility.shapes, shape, _UNITS_MAX)
        if not hopeless and feasibility.open[node] and fits(feasibility.free, node, feasibility.shapes, shape):
            state |= FITS_RESERVED if feasibility.reserved[node] else FITS
            more = units_within(feasibility.free, node, feasibility.shapes, shape, _UNITS_MAX) if count else 0
            if feasibility.reserved[node]:
                held += more
            else:
                now += more
        enough = not count or (empty >= feasibility.most and (hopeless or now >= feasibility.most))
        if enough and state & BIG_ENOUGH and (hopeless or state & FITS):
            break
    if count:
        state |= COUNTED
        feasibility.fits[kind], feasibility.fits_reserved[kind], feasibility.fits_empty[kind] = now, held, empty
    feasibility.state[kind] = state
    return state


class FreePieces(NamedTuple):
    """What some nodes have for a shape.

    fits: containers at once. largest: (r,) free of each resource anywhere.
    alone: (r,) the most of each on a node that is short of nothing else, or -1.
    nearest: (r,) free on the node with the largest share of what is asked.
    """

    fits: int
    largest: np.ndarray
    alone: np.ndarray
    nearest: np.ndarray


def free_pieces(free: np.ndarray, usable: np.ndarray, shape: np.ndarray) -> FreePieces:
    """free: (n, r). usable: (n,) bool. shape: (r,)."""
    r = len(shape)
    largest, alone, nearest = np.zeros(r, np.int64), np.full(r, -1, np.int64), np.zeros(r, np.int64)
    table = contiguous(shape, np.int64).reshape(1, r)
    found = measure_pieces(contiguous(free, np.int64), contiguous(usable, np.bool_), table, largest, alone, nearest)
    return FreePieces(int(found), largest, alone, nearest)


@arrayless
def measure_pieces(
    free: np.ndarray,
    usable: np.ndarray,
    shapes: np.ndarray,
    largest: np.ndarray,
    alone: np.ndarray,
    nearest: np.ndarray,
) -> int:
    """Fills what ``Pieces`` tells of the only row of ``shapes``; how many fit."""
    found, best = 0, -1.0
    for node in range(len(usable)):
        if not usable[node]:
            continue
        short, which, share = 0, 0, 1.0
        for k in range(shapes.shape[1]):
            amount = max(0, free[node, k])
            largest[k] = max(largest[k], amount)
            if amount < shapes[0, k]:
                short, which, share = short + 1, k, min(share, amount / shapes[0, k])
        if short == 0:
            found += units_within(free, node, shapes, 0, _UNITS_MAX)
        elif short == 1:
            alone[which] = max(alone[which], free[node, which], 0)
        if share > best:
            best = share
            for k in range(shapes.shape[1]):
                nearest[k] = max(0, free[node, k])
    return found
