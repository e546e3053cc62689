"""What the nodes have for a kind of ask: looked at once per shape and mask."""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import aside, fixed, lean
from scheduler.core.snapshot import Snapshot
from scheduler.placement.limits import fits, units_within

# What is known of a kind.
KNOWN, BIG_ENOUGH, FITS, FITS_HELD, COUNTED = 1, 2, 4, 8, 16
_MOST = 1 << 32  # units counted; that many of the largest container (2**24 MiB) is a number still


class Floor(NamedTuple):
    """Nodes after a round, and what was found out about kinds (mask * shapes + shape) so far.

    capacity, free: (n, r). held: (n,) bool, for other asks. state: (kinds,)
    int8 of the bits above. fits, fits_held, when_empty: (kinds,) units at once
    now, now on nodes held, and on empty nodes; counted for gangs only, up to
    ``most``. largest: (m, r) free on open nodes of the mask, where ``measured``.
    """

    capacity: np.ndarray
    free: np.ndarray
    open: np.ndarray
    held: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray
    state: np.ndarray
    fits: np.ndarray
    fits_held: np.ndarray
    when_empty: np.ndarray
    largest: np.ndarray
    measured: np.ndarray
    most: int


def blank(s: Snapshot, free: np.ndarray, held: np.ndarray, left: np.ndarray) -> Floor:
    """Nothing found out yet. left: (a,) containers still wanted."""
    m, kinds = len(s.asks.masks), len(s.asks.masks) * len(s.asks.shapes)
    return Floor(
        fixed(s.nodes.capacity, np.int64), fixed(free, np.int64), fixed(s.nodes.open, np.bool_), held,
        fixed(s.asks.shapes, np.int64), fixed(s.asks.masks, np.bool_),
        np.zeros(kinds, np.int8), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64),
        np.zeros((m, len(s.axis)), np.int64), np.zeros(m, np.bool_), int(left[s.asks.gang].max(initial=0)),
    )  # fmt: skip


@aside
def measure(mask: int, floor: Floor) -> None:
    """The largest free amount of each resource on the mask's open nodes."""
    for k in range(floor.free.shape[1]):
        floor.largest[mask, k] = -1
    for node in range(len(floor.open)):
        if floor.open[node] and floor.masks[mask, node]:
            for k in range(floor.free.shape[1]):
                floor.largest[mask, k] = max(floor.largest[mask, k], floor.free[node, k])
    floor.measured[mask] = True


@aside
def examine(mask: int, shape: int, count: bool, none_fits: bool, floor: Floor) -> int:
    """Find out about a kind. count: how many fit, too. none_fits: the round knows that none does."""
    kind = mask * len(floor.shapes) + shape
    if not none_fits and not floor.measured[mask]:
        measure(mask, floor)
    hopeless = none_fits or not fits(floor.largest, mask, floor.shapes, shape)
    state = KNOWN
    now, held, empty = 0, 0, 0
    for node in range(len(floor.open)):
        if not floor.masks[mask, node]:
            continue
        if not state & BIG_ENOUGH and fits(floor.capacity, node, floor.shapes, shape):
            state |= BIG_ENOUGH
        if count:
            empty += units_within(floor.capacity, node, floor.shapes, shape, _MOST)
        if not hopeless and floor.open[node] and fits(floor.free, node, floor.shapes, shape):
            state |= FITS_HELD if floor.held[node] else FITS
            more = units_within(floor.free, node, floor.shapes, shape, _MOST) if count else 0
            if floor.held[node]:
                held += more
            else:
                now += more
        enough = not count or (empty >= floor.most and (hopeless or now >= floor.most))
        if enough and state & BIG_ENOUGH and (hopeless or state & FITS):
            break
    if count:
        state |= COUNTED
        floor.fits[kind], floor.fits_held[kind], floor.when_empty[kind] = now, held, empty
    floor.state[kind] = state
    return state


class Pieces(NamedTuple):
    """What some nodes have for a shape.

    fits: containers at once. largest: (r,) free of each resource anywhere.
    alone: (r,) the most of each on a node that is short of nothing else, or -1.
    nearest: (r,) free on the node with the largest share of what is asked.
    """

    fits: int
    largest: np.ndarray
    alone: np.ndarray
    nearest: np.ndarray


def look(free: np.ndarray, usable: np.ndarray, shape: np.ndarray) -> Pieces:
    """free: (n, r). usable: (n,) bool. shape: (r,)."""
    r = len(shape)
    largest, alone, nearest = np.zeros(r, np.int64), np.full(r, -1, np.int64), np.zeros(r, np.int64)
    table = fixed(shape, np.int64).reshape(1, r)
    found = sift(fixed(free, np.int64), fixed(usable, np.bool_), table, largest, alone, nearest)
    return Pieces(int(found), largest, alone, nearest)


@lean
def sift(
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
            found += units_within(free, node, shapes, 0, _MOST)
        elif short == 1:
            alone[which] = max(alone[which], free[node, which], 0)
        if share > best:
            best = share
            for k in range(shapes.shape[1]):
                nearest[k] = max(0, free[node, k])
    return found
