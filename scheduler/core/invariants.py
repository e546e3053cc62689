"""What must hold after every round; on in tests, off in production."""

import numpy as np

from scheduler.core.plan import Plan
from scheduler.core.snapshot import Snapshot


class InvariantError(AssertionError):
    """A plan or a state that must never exist; the text says which rule it breaks."""


def check_plan(s: Snapshot, plan: Plan) -> None:
    """A plan never overfills a node, exceeds a queue's maximum, an ask's count, or uses a closed or unmatched node."""
    place, asks = plan.place, s.asks
    if not len(place.ask):
        return
    shapes = asks.shapes[asks.shape[place.ask]]
    free = s.nodes.free.copy()
    np.subtract.at(free, place.node, shapes)
    # A node that shrank may lack what nobody asked of it now.
    over = ((free < 0) & (free < s.nodes.free)).any(axis=1)
    if over.any():
        raise InvariantError(f"nodes {np.flatnonzero(over).tolist()} hold more than they have")
    if not s.nodes.open[place.node].all():
        raise InvariantError("a container was placed on a node that takes none")
    if not asks.masks[asks.mask[place.ask], place.node].all():
        raise InvariantError("a container was placed on a node its labels exclude")
    if (np.bincount(place.ask, minlength=len(asks.count)) > asks.count).any():
        raise InvariantError("an ask was given more than it wants")
    _check_queues(s, place.ask, shapes)


def _check_queues(s: Snapshot, ask: np.ndarray, shapes: np.ndarray) -> None:
    added = np.zeros_like(s.queues.used)
    np.add.at(added, s.ask_queue[ask], shapes)
    for q in range(len(s.queues.paths) - 1, 0, -1):
        added[s.queues.parent[q]] += added[q]
    over = ((s.queues.used + added > s.queues.maximum) & (added > 0)).any(axis=1)
    if over.any():
        raise InvariantError(f"queues over their maximum: {[s.queues.paths[q] for q in np.flatnonzero(over)]}")
