"""What the nodes have for a kind of ask: looked at once per shape and mask."""

from typing import NamedTuple

import numpy as np

from scheduler.core.compiled import kernel
from scheduler.core.snapshot import Snapshot

# What is known of a kind.
KNOWN, BIG_ENOUGH, FITS, FITS_HELD, COUNTED = 1, 2, 4, 8, 16
_MOST = 1 << 40  # units counted; asks that want nothing of any resource fit without end


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


def fixed(values: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """The array in the one form that kernels are compiled for; copied only if it is not in it."""
    return np.require(values, dtype, ("C", "A", "W"))


def blank(s: Snapshot, free: np.ndarray, held: np.ndarray, left: np.ndarray) -> Floor:
    """Nothing found out yet. left: (a,) containers still wanted."""
    m, kinds = len(s.asks.masks), len(s.asks.masks) * len(s.asks.shapes)
    return Floor(
        fixed(s.nodes.capacity, np.int64), fixed(free, np.int64), fixed(s.nodes.open, np.bool_), held,
        fixed(s.asks.shapes, np.int64), fixed(s.asks.masks, np.bool_),
        np.zeros(kinds, np.int8), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64),
        np.zeros((m, len(s.axis)), np.int64), np.zeros(m, np.bool_), int(left[s.asks.gang].max(initial=0)),
    )  # fmt: skip


@kernel
def holds(amount: np.ndarray, shape: np.ndarray) -> bool:
    """Whether one unit of ``shape`` fits ``amount``; a resource that is not asked for may be overdrawn."""
    for k in range(len(shape)):  # noqa: SIM110 - a generator would not compile
        if shape[k] > 0 and amount[k] < shape[k]:
            return False
    return True


@kernel
def units(amount: np.ndarray, shape: np.ndarray) -> int:
    """How many units of ``shape`` fit ``amount``."""
    found = _MOST
    for k in range(len(shape)):
        if shape[k] > 0:
            found = min(found, max(0, amount[k]) // shape[k])
    return found


@kernel
def measure(mask: int, floor: Floor) -> None:
    """The largest free amount of each resource on the mask's open nodes."""
    best = floor.largest[mask]
    best[:] = -1
    for node in range(len(floor.open)):
        if floor.open[node] and floor.masks[mask, node]:
            for k in range(len(best)):
                best[k] = max(best[k], floor.free[node, k])
    floor.measured[mask] = True


@kernel
def examine(mask: int, shape_no: int, count: bool, none_fits: bool, floor: Floor) -> int:
    """Find out about a kind. count: how many fit, too. none_fits: the round knows that none does."""
    kind = mask * len(floor.shapes) + shape_no
    shape = floor.shapes[shape_no]
    if not none_fits and not floor.measured[mask]:
        measure(mask, floor)
    hopeless = none_fits or not holds(floor.largest[mask], shape)
    state = KNOWN
    now = held = empty = 0
    for node in range(len(floor.open)):
        if not floor.masks[mask, node]:
            continue
        if not state & BIG_ENOUGH and holds(floor.capacity[node], shape):
            state |= BIG_ENOUGH
        if count:
            empty += units(floor.capacity[node], shape)
        if not hopeless and floor.open[node] and holds(floor.free[node], shape):
            state |= FITS_HELD if floor.held[node] else FITS
            if count and floor.held[node]:
                held += units(floor.free[node], shape)
            elif count:
                now += units(floor.free[node], shape)
        if (
            state & BIG_ENOUGH
            and (hopeless or state & FITS)
            and (not count or (empty >= floor.most and (hopeless or now >= floor.most)))
        ):
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
    return _look(fixed(free, np.int64), fixed(usable, np.bool_), fixed(shape, np.int64))


@kernel
def _look(free: np.ndarray, usable: np.ndarray, shape: np.ndarray) -> Pieces:
    r = len(shape)
    largest, alone, nearest = np.zeros(r, np.int64), np.full(r, -1, np.int64), np.zeros(r, np.int64)
    fits, best = 0, -1.0
    for node in range(len(usable)):
        if not usable[node]:
            continue
        short, which, part = 0, 0, 1.0
        for k in range(r):
            amount = max(0, free[node, k])
            largest[k] = max(largest[k], amount)
            if amount < shape[k]:
                short, which, part = short + 1, k, min(part, amount / shape[k])
        if short == 0:
            fits += units(free[node], shape)
        elif short == 1:
            alone[which] = max(alone[which], free[node, which], 0)
        if part > best:
            best = part
            for k in range(r):
                nearest[k] = max(0, free[node, k])
    return Pieces(fits, largest, alone, nearest)
