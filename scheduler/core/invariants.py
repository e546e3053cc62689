"""What must hold after every round; on in tests, off in production."""

import numpy as np

from scheduler.core.plan import Plan, Preempt
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.shares.tree import path_minimum, subtree_sums


class InvariantError(AssertionError):
    """A plan or a state that must never exist; the text says which rule it breaks."""


def check_plan(s: Snapshot, plan: Plan) -> None:
    """A plan never overfills a node, uses one that is closed or excluded, nor exceeds an ask's count or a maximum.

    Of a gang it places all or nothing.
    """
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
    given = np.bincount(place.ask, minlength=len(asks.count))
    if (given > asks.count).any():
        raise InvariantError("an ask was given more than it wants")
    if (asks.gang & (given > 0) & (given < asks.count)).any():
        raise InvariantError("a gang was placed in part")
    _check_queues(s, place.ask, shapes)
    _check_users(s, place.ask, shapes)


def _check_queues(s: Snapshot, ask: np.ndarray, shapes: np.ndarray) -> None:
    added = np.zeros_like(s.queues.used)
    np.add.at(added, s.ask_queue[ask], shapes)
    added = subtree_sums(s.queues.parent, added)
    over = ((s.queues.used + added > s.queues.maximum) & (added > 0)).any(axis=1)
    if over.any():
        raise InvariantError(f"queues over their maximum: {[s.queues.paths[q] for q in np.flatnonzero(over)]}")


def _check_users(s: Snapshot, ask: np.ndarray, shapes: np.ndarray) -> None:
    added = np.zeros_like(s.users.used)
    np.add.at(added, s.jobs.user[s.asks.job[ask]], shapes)
    over = ((s.users.used + added > s.users.maximum) & (added > 0)).any(axis=1)
    if over.any():
        raise InvariantError(f"users over their maximum: rows {np.flatnonzero(over).tolist()}")


def check_reserved(s: Snapshot, plan: Plan, before: Memo, after: Memo) -> None:
    """Nodes that stay reserved are given to nobody else. before, after: the round's memos."""
    stays = set(zip(after.reserved.tolist(), after.reserved_node.tolist(), strict=True))
    for key, node in zip(before.reserved.tolist(), before.reserved_node.tolist(), strict=True):
        if (key, node) in stays and (s.asks.key[plan.place.ask[plan.place.node == node]] != key).any():
            raise InvariantError(f"node {node} is reserved, and another ask was placed there")


def check_preempt(s: Snapshot, preempt: Preempt, warned: np.ndarray, per_round: float) -> None:
    """Nothing protected is warned or killed, nothing twice; more than the round's bound goes only for one queue's ask.

    warned: (w,) int64 ids under warning after the round.
    """
    live = s.running
    if live is None:
        return
    rows = np.concatenate((preempt.warn, preempt.kill))
    if live.protected[rows].any():
        raise InvariantError("a container that may not be preempted is to go")
    if len(np.unique(rows)) < len(rows) or np.isin(live.id[preempt.warn], preempt.spared).any():
        raise InvariantError("a container is warned twice, or warned and spared")
    fixed = ~path_minimum(s.queues.parent, s.queues.preemptable[:, None])[:, 0]
    if fixed[live.queue[preempt.warn[~preempt.intra]]].any():
        raise InvariantError("a queue that is not preemptable is to pay for another")
    going = live.shape[np.isin(live.id, warned)].sum(axis=0)
    for k in np.flatnonzero(going > per_round * s.nodes.capacity.sum(axis=0)):
        if len(np.unique(preempt.owed_to[live.shape[preempt.warn, k] > 0])) > 1:
            raise InvariantError(f"more {s.axis[k]} is taken back at once than a round may")
