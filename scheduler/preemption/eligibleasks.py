"""Which asks may have room made for them by preemption, in what order, and as which claims.

An ask is eligible when what it waits for is held by others: by other queues, or by others of its own leaf.
"""

import numpy as np

from scheduler.core.plan import Why
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.tables import ROUNDING, Balances, PreemptionClaims

# Others hold what these need. A queue's or user's own maximum, labels and locality are nobody else's doing.
_OTHERS_FAULT = (Why.NO_ROOM, Why.RESERVED, Why.GANG, Why.QUEUE_SHARE)
_QUEUES_FAULT = (*_OTHERS_FAULT, Why.QUEUE_MAXIMUM)
ANY_PRIORITY = np.iinfo(np.int64).max


def held_up_by_queues(left: np.ndarray, why: np.ndarray) -> np.ndarray:
    """Asks that other queues keep waiting: (a,) bool."""
    return (left > 0) & np.isin(why, _OTHERS_FAULT)


def held_up_within_queue(left: np.ndarray, why: np.ndarray) -> np.ndarray:
    """Asks that jobs of their own queue may keep waiting: (a,) bool."""
    return (left > 0) & np.isin(why, _QUEUES_FAULT)


def contested(left: np.ndarray, why: np.ndarray, others: np.ndarray) -> bool:
    """Whether anybody waits for what others hold. Where nobody does, no stage takes anything, whatever runs.

    left, why: (a,) as ``plan_preemption``. others: (a,) how many other jobs of the ask's leaf hold something.
    """
    return bool((held_up_by_queues(left, why) | (held_up_within_queue(left, why) & (others > 0))).any())


def asks_of_owed_queues(s: Snapshot, asks: np.ndarray, balances: Balances, ideal: np.ndarray) -> np.ndarray:
    """Positions of asks whose queue is owed something; the queue that lacks most of its ideal first."""
    queue = s.ask_queue
    some = np.zeros(len(ideal), np.bool_)
    some[queue[asks]] = True
    owed: np.ndarray = some & (balances.owed.max(axis=1) > ROUNDING)
    lacks = np.where(owed[:, None] & (ideal > 0), balances.owed / np.maximum(ideal, ROUNDING), 0).max(axis=1, initial=0)
    found = np.flatnonzero(asks & owed[queue])
    rank = np.lexsort((found, -s.jobs.priority[s.asks.job[found]], queue[found], -lacks[queue[found]]))
    return found[rank]


def asks_by_priority(s: Snapshot, asks: np.ndarray) -> np.ndarray:
    """Positions of those of ``asks`` whose leaf is served by priority, leaf by leaf in the order they are served."""
    queue = s.ask_queue
    found = np.flatnonzero(asks & (s.queues.ordering[queue] == Ordering.PRIORITY))
    return found[np.lexsort((found, -s.jobs.priority[s.asks.job[found]], queue[found]))]


def asks_of_owed_users(s: Snapshot, asks: np.ndarray, balances: Balances) -> np.ndarray:
    """Positions of asks whose user is owed something, leaf by leaf in the order in which the leaf serves them.

    Users who hold too much come after others of equal priority. Where one waits
    before them, room made would only be his.
    """
    queue, user = s.ask_queue, s.jobs.user[s.asks.job]
    found = np.flatnonzero(asks)
    ordering = s.queues.ordering[queue[found]]
    first = np.where(ordering == Ordering.PRIORITY, -s.jobs.priority[s.asks.job[found]], 0)
    above = (balances.debt.max(axis=1) > ROUNDING)[user[found]]
    order = np.lexsort((found, above, first, queue[found]))
    found, owes = found[order], above[order] & (s.queues.ordering[queue[found[order]]] != Ordering.FAIR)
    earlier = np.cumsum(owes)
    starts = np.searchsorted(queue[found], queue[found])
    before = np.append(0, earlier)[starts]
    owed = (balances.owed.max(axis=1) > ROUNDING)[user[found]]
    out: np.ndarray = found[owed & (earlier == before)]
    return out


def group_claims(
    s: Snapshot,
    asks: np.ndarray,
    left: np.ndarray,
    reserved_for: np.ndarray,
    row: np.ndarray,
    below: np.ndarray | None = None,
    swap: np.ndarray | None = None,
) -> tuple[np.ndarray, PreemptionClaims]:
    """(asks, their claims), alike ones together where the first of them stood.

    asks: (k,) positions in order. row, below, swap: (k,), see ``PreemptionClaims``; without ``below``
    every priority may be taken from.
    """
    a, k = s.asks, len(asks)
    queue = s.ask_queue[asks] if below is not None else np.zeros(k, np.int32)
    limit = np.full(k, ANY_PRIORITY) if below is None else below
    exchange = np.zeros(k, np.bool_) if swap is None else swap
    alone = a.gang[asks] | np.isin(asks, reserved_for)
    key = np.stack((a.shape[asks], a.mask[asks], queue, limit, exchange, np.where(alone, asks, -1)), axis=1)
    _, first, kind = np.unique(key.astype(np.int64), axis=0, return_index=True, return_inverse=True)
    place = np.argsort(first[kind.reshape(-1)], kind="stable")
    asks, leader = asks[place], first[kind.reshape(-1)][place]
    starts = np.flatnonzero(np.diff(leader, prepend=-1))
    none = np.zeros(len(starts), np.int64)
    return asks, PreemptionClaims(
        groups=np.append(starts, k).astype(np.int64),
        balance=row[place].astype(np.int32),
        units=left[asks].astype(np.int64),
        shape=np.ascontiguousarray(a.shapes[a.shape[asks]]),
        mask=a.mask[asks],
        nodes=a.masks & s.nodes.open,
        ask=asks.astype(np.int32),
        reserved_for=reserved_for,
        below_priority=limit[place].astype(np.int64),
        swap=exchange[place],
        gang=a.gang[asks],
        first=none,
        last=none.copy(),
    )
