"""What must hold after every round; on in tests, off in production."""

import numpy as np

from scheduler.core.plan import Plan, Preempt
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


def check_preempt(s: Snapshot, preempt: Preempt, warned: np.ndarray, per_round: float) -> None:
    """Nothing protected is warned or killed, nothing twice; more than the round's bound goes only for one queue's ask.

    warned: (w,) int64 ids under warning after the round.
    """
    live = s.running
    if live is None:
        return
    rows = np.concatenate((preempt.warn, preempt.kill))
    if live.spared[rows].any():
        raise InvariantError("a container that may not be preempted is to go")
    if len(np.unique(rows)) < len(rows) or np.isin(live.id[preempt.warn], preempt.spared).any():
        raise InvariantError("a container is warned twice, or warned and spared")
    fixed = ~s.queues.preemptable
    for q in range(1, len(fixed)):
        fixed[q] |= fixed[s.queues.parent[q]]
    if fixed[live.queue[preempt.warn[~preempt.intra]]].any():
        raise InvariantError("a queue that is not preemptable is to pay for another")
    going = live.shape[np.isin(live.id, warned)].sum(axis=0)
    for k in np.flatnonzero(going > per_round * s.nodes.capacity.sum(axis=0)):
        if len(np.unique(preempt.owed_to[live.shape[preempt.warn, k] > 0])) > 1:
            raise InvariantError(f"more {s.axis[k]} is taken back at once than a round may")
