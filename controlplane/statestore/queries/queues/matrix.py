"""Queues against sub-clusters: what the GPG gave, what is used and wanted there, and which rule binds.

Of one branch of the tree at a time, so that thousands of queues are as cheap as ten.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.accounts.models import User
from controlplane.statestore.capacities import DEFAULT, ROOT
from wire.resources import AXES

from .cells import LITTLE, Cell, rule
from .live import mark
from .sight import See, Sight, sight
from .standing import FederationStanding, PartitionStanding, standing

Json = dict[str, Any]
ROWS_MAX = 100
ALIKE = 0.99  # guarantees are rounded to whole units


def matrix(user: User, under: str = "root", partition: str = DEFAULT, resource: str = "", skip: int = 0) -> Json | None:
    """A queue and its children in every sub-cluster, those that hold and want most first; None: not to be seen.

    resource: one of the axis, or "" for what each queue wants most of. At most ``ROWS_MAX`` rows from ``skip`` on.
    """
    now = standing()
    if now is None or under not in now.tree.index or partition not in now.parts:
        return None
    seen, top = sight(user, now.tree), now.tree.index[under]
    if not seen.see[top]:
        return None
    part = now.parts[partition]
    rows = [row for row in _sorted(part, now.tree.below(top)) if seen.see[row] == See.WHOLE]
    shown = rows[skip : skip + ROWS_MAX]
    if not skip and seen.see[top] == See.WHOLE:
        shown = [top, *shown]
    return {
        "at": now.now,
        "layout": mark(now, seen),
        "under": under,
        "partition": partition,
        "shares": {"policy": now.policy, **now.tree.shares["parameters"]},
        "places": [_place(now, part, at, seen) for at in range(len(now.places))],
        "rows": [_row(now, part, partition, row, resource) for row in shown],
        "more": max(0, len(rows) - skip - ROWS_MAX),
    }


def _sorted(part: PartitionStanding, rows: list[int]) -> list[int]:
    """By the largest part of all that a queue holds and wants, then by the tree's order."""
    capacity = np.maximum(part.capacity.sum(axis=0), 1)
    wants = ((part.used + part.asked).sum(axis=0) / capacity).max(axis=1)
    return sorted(rows, key=lambda row: (-wants[row], row))


def _place(now: FederationStanding, part: PartitionStanding, at: int, seen: Sight) -> Json:
    place = now.places[at]
    free = np.maximum(part.capacity[at] - part.used[at, ROOT], 0).tolist()
    return {
        "name": place.name,
        "state": place.state,
        "counts": place.counts,
        "stale": now.stale(place),
        "shares_age_s": None if place.shares_age_s is None else round(place.shares_age_s, 1),
        "load_age_s": None if place.age_s is None else round(place.age_s, 1),
        "version": place.version,
        "goes_by": place.goes_by,
        "capacity": part.capacity[at].tolist(),
        "free": free if seen.everything else None,
    }


def _row(now: FederationStanding, part: PartitionStanding, name: str, row: int, resource: str) -> Json:
    axis = axis_of(now, part, row, resource)
    about = QueueRow.of(now, part, name, row, axis)
    cells = [cell(now, part, name, at, about) for at in range(len(now.places))]
    columns = {what: getattr(part, what)[:, row].tolist() for what in ("share", "guaranteed_part", "used")}
    return {
        "path": now.tree.rows[row].path,
        "leaf": now.tree.rows[row].leaf,
        "resource": AXES[axis],
        "guaranteed": part.guaranteed[row].tolist(),
        "maximum": part.maximum[row].tolist(),
        **columns,
        "pending": part.asked[:, row].tolist(),
        "rules": [rule(c) for c in cells],
    }


def axis_of(now: FederationStanding, part: PartitionStanding, row: int, resource: str) -> int:
    """The resource asked for, or the one of which the queue holds and wants the largest part.

    Where it does neither, the one of which most is guaranteed to it, and of those alike the one of the queue above.
    """
    if resource in AXES:
        return AXES.index(resource)
    capacity = np.maximum(part.capacity.sum(axis=0), 1)
    wants = (part.used + part.asked).sum(axis=0)[row] / capacity
    if wants.any():
        return int(wants.argmax())
    sure, up = part.guaranteed[row] / capacity, int(now.tree.hierarchy.parent[row])
    above = axis_of(now, part, up, "") if up >= 0 else 0
    return above if sure[above] >= ALIKE * sure.max() else int(sure.argmax())


@dataclass(frozen=True, slots=True)
class QueueRow:
    """What all cells of a queue share, of the resource ``axis``."""

    at: int
    axis: int
    weight: float
    siblings: float
    all_share: int
    limit: str

    @classmethod
    def of(cls, now: FederationStanding, part: PartitionStanding, name: str, at: int, axis: int) -> "QueueRow":
        weight, up = part.weight(now.tree, name), int(now.tree.hierarchy.parent[at])
        siblings = weight[now.tree.below(up)].sum() if up >= 0 else weight[at]
        share = part.share[:, :, axis].sum(axis=0)
        limit = _limit(now, part, at, axis, share)
        return cls(at, axis, float(weight[at]), float(siblings), int(share[at]), limit)


def _limit(now: FederationStanding, part: PartitionStanding, row: int, axis: int, share: np.ndarray) -> str:
    """The nearest queue, it or one above it but the root, whose whole maximum is given out; "" without."""
    while row > 0:
        most = part.maximum[row, axis]
        if most < part.maximum[ROOT, axis] and share[row] >= most * (1 - LITTLE):
            return now.tree.rows[row].path
        row = int(now.tree.hierarchy.parent[row])
    return ""


def cell(now: FederationStanding, part: PartitionStanding, name: str, place: int, row: QueueRow) -> Cell:
    """What decides over one queue in one place."""
    q, k = row.at, row.axis
    limited = now.tree.index[row.limit] if row.limit else q
    return Cell(
        axis=k,
        place=now.places[place].name,
        by_size=not now.sharing.follows_demand,
        assigned=now.places[place].version > 0,
        used=int(part.used[place, q, k]),
        pending=int(part.pending[place, q, k]),
        vain=int(part.vain[place, q, k]),
        share=int(part.share[place, q, k]),
        guaranteed_part=int(part.guaranteed_part[place, q, k]),
        ceiling=int(part.ceiling[place, q, k]),
        sized=int(part.by_size(now.tree, name).guaranteed[place, q, k]),
        capacity=int(part.capacity[place, k]),
        all_capacity=int(part.capacity[:, k].sum()),
        all_share=row.all_share,
        guaranteed=int(part.guaranteed[q, k]),
        weight=row.weight,
        siblings=row.siblings,
        full=bool(part.share[place, ROOT, k] >= part.capacity[place, k] * (1 - LITTLE)),
        limit=row.limit,
        maximum=int(part.maximum[limited, k]),
    )
