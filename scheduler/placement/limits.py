"""How many containers limits allow, in whole numbers, and which of them binds."""

import numpy as np

from scheduler.core.compiled import part
from scheduler.core.plan import Why
from scheduler.placement.board import PlacementLimits, Wants

PLACED = int(Why.PLACED)
QUEUE_MAXIMUM = int(Why.QUEUE_MAXIMUM)
USER_MAXIMUM = int(Why.USER_MAXIMUM)
QUEUE_SHARE = int(Why.QUEUE_SHARE)
ROUND_FULL = int(Why.ROUND_FULL)


@part
def fits(room: np.ndarray, row: int, shapes: np.ndarray, shape: int) -> bool:
    """Whether a row of ``room`` (x, r) has room for one container. What it does not ask for may be overdrawn."""
    enough = True
    for i in range(shapes.shape[1]):
        enough &= shapes[shape, i] <= 0 or room[row, i] >= shapes[shape, i]
    return enough


@part
def units_within(room: np.ndarray, row: int, shapes: np.ndarray, shape: int, want: int) -> int:
    """How many of ``want`` containers a row of ``room`` (x, r) has room for."""
    units = want
    for i in range(shapes.shape[1]):
        asked = shapes[shape, i]
        if asked > 0 and room[row, i] < asked * units:
            units = room[row, i] // asked if room[row, i] > 0 else 0
    return units


@part
def take(room: np.ndarray, row: int, shapes: np.ndarray, shape: int, units: int) -> None:
    """Count ``units`` containers off a row of ``room``."""
    for i in range(shapes.shape[1]):
        room[row, i] -= units * shapes[shape, i]


@part
def allowed(limits: PlacementLimits, w: Wants, shapes: np.ndarray, a: int, overshoot: bool) -> int:
    """How many containers of ask ``a`` its limits allow, ``overshoot``: its share and one container or gang more."""
    shape, units = w.shape[a], w.left[a]
    row = w.queue[a]
    while row >= 0 and units > 0:
        units = units_within(limits.queue, row, shapes, shape, units)
        row = limits.parent[row]
    if units > 0:
        units = units_within(limits.user, w.user[a], shapes, shape, units)
    if units > 0:
        owed = units_within(limits.share, limits.entity[a], shapes, shape, units)
        if owed < units and overshoot and limits.beyond[limits.entity[a]]:
            owed = units if w.gang[a] else owed + 1
        units = owed
    return int(units)


@part
def charge(limits: PlacementLimits, w: Wants, shapes: np.ndarray, a: int, units: int) -> None:
    """Count ``units`` containers of ask ``a`` off every limit."""
    shape, entity = w.shape[a], limits.entity[a]
    row = w.queue[a]
    while row >= 0:
        take(limits.queue, row, shapes, shape, units)
        row = limits.parent[row]
    take(limits.user, w.user[a], shapes, shape, units)
    if units_within(limits.share, entity, shapes, shape, units) < units:
        limits.beyond[entity] = False
    take(limits.share, entity, shapes, shape, units)


@part
def binding(
    limits: PlacementLimits, w: Wants, shapes: np.ndarray, a: int, units: int, overshoot: bool, budget: int
) -> tuple[int, int]:
    """(the first limit that has no room for ``units`` more containers, its row); (0, -1) if all have."""
    shape = w.shape[a]
    row = w.queue[a]
    while row >= 0:
        if units_within(limits.queue, row, shapes, shape, units) < units:
            return QUEUE_MAXIMUM, row
        row = limits.parent[row]
    if units_within(limits.user, w.user[a], shapes, shape, units) < units:
        return USER_MAXIMUM, w.user[a]
    owed = units_within(limits.share, limits.entity[a], shapes, shape, units)
    if owed < units and not (overshoot and limits.beyond[limits.entity[a]] and (w.gang[a] or owed + 1 >= units)):
        return QUEUE_SHARE, -1
    if budget < units:
        return ROUND_FULL, -1
    return PLACED, -1
