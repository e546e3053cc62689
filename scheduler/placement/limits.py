"""How many containers limits allow, in whole numbers, and which of them binds.

Units are whole containers; room and shapes are in resource units. An ask has a maximum for each queue above it, one of
its user, and its entity's share: O(depth r) each time it is looked at.
"""

import numpy as np

from scheduler.core.compiled import inlined
from scheduler.core.plan import Why
from scheduler.placement.tables import AskTable, PlacementLimits

NO_LIMIT = int(Why.PLACED)
QUEUE_MAXIMUM = int(Why.QUEUE_MAXIMUM)
USER_MAXIMUM = int(Why.USER_MAXIMUM)
QUEUE_SHARE = int(Why.QUEUE_SHARE)
ROUND_FULL = int(Why.ROUND_FULL)


@inlined
def fits(room: np.ndarray, row: int, shapes: np.ndarray, shape: int) -> bool:
    """Whether a row of ``room`` (x, r) has room for one container. What it does not ask for may be overdrawn."""
    enough = True
    for i in range(shapes.shape[1]):
        enough &= shapes[shape, i] <= 0 or room[row, i] >= shapes[shape, i]
    return enough


@inlined
def units_within(room: np.ndarray, row: int, shapes: np.ndarray, shape: int, want: int) -> int:
    """How many of ``want`` containers a row of ``room`` (x, r) has room for."""
    units = want
    for i in range(shapes.shape[1]):
        asked = shapes[shape, i]
        if asked > 0 and room[row, i] < asked * units:
            units = room[row, i] // asked if room[row, i] > 0 else 0
    return units


@inlined
def take(room: np.ndarray, row: int, shapes: np.ndarray, shape: int, units: int) -> None:
    """Count ``units`` containers off a row of ``room``."""
    for i in range(shapes.shape[1]):
        room[row, i] -= units * shapes[shape, i]


@inlined
def allowed(limits: PlacementLimits, asks: AskTable, shapes: np.ndarray, a: int, overshoot: bool) -> int:
    """How many containers of ask ``a`` its limits allow, ``overshoot``: its share and one container or gang more."""
    shape, units = asks.shape[a], asks.left[a]
    row = asks.queue[a]
    while row >= 0 and units > 0:
        units = units_within(limits.queue_room, row, shapes, shape, units)
        row = limits.parent[row]
    if units > 0:
        units = units_within(limits.user_room, asks.user[a], shapes, shape, units)
    if units > 0:
        owed = units_within(limits.share_room, limits.entity[a], shapes, shape, units)
        if owed < units and overshoot and limits.may_overshoot[limits.entity[a]]:
            owed = units if asks.gang[a] else owed + 1
        units = owed
    return int(units)


@inlined
def charge(limits: PlacementLimits, asks: AskTable, shapes: np.ndarray, a: int, units: int) -> None:
    """Count ``units`` containers of ask ``a`` off every limit."""
    shape, entity = asks.shape[a], limits.entity[a]
    row = asks.queue[a]
    while row >= 0:
        take(limits.queue_room, row, shapes, shape, units)
        row = limits.parent[row]
    take(limits.user_room, asks.user[a], shapes, shape, units)
    if units_within(limits.share_room, entity, shapes, shape, units) < units:
        limits.may_overshoot[entity] = False
    take(limits.share_room, entity, shapes, shape, units)


@inlined
def binding(
    limits: PlacementLimits, asks: AskTable, shapes: np.ndarray, a: int, units: int, overshoot: bool, budget: int
) -> tuple[int, int]:
    """(the first limit that has no room for ``units`` more containers, its row); (0, -1) if all have."""
    shape = asks.shape[a]
    row = asks.queue[a]
    while row >= 0:
        if units_within(limits.queue_room, row, shapes, shape, units) < units:
            return QUEUE_MAXIMUM, row
        row = limits.parent[row]
    if units_within(limits.user_room, asks.user[a], shapes, shape, units) < units:
        return USER_MAXIMUM, asks.user[a]
    owed = units_within(limits.share_room, limits.entity[a], shapes, shape, units)
    if owed < units and not (
        overshoot and limits.may_overshoot[limits.entity[a]] and (asks.gang[a] or owed + 1 >= units)
    ):
        return QUEUE_SHARE, -1
    if budget < units:
        return ROUND_FULL, -1
    return NO_LIMIT, -1
