"""Which asks may have room made for them, and in what order."""

import numpy as np

from scheduler.core.plan import Why
from scheduler.core.snapshot import Ordering, Snapshot
from scheduler.preemption.victims import LITTLE, Books, Claims

# Others hold what these need. A queue's or user's own maximum, labels and locality are nobody else's doing.
_OTHERS = (Why.NO_ROOM, Why.RESERVED, Why.GANG, Why.QUEUE_SHARE)
_OWN = (*_OTHERS, Why.QUEUE_MAXIMUM)
ANY = np.iinfo(np.int64).max


def wanting(left: np.ndarray, why: np.ndarray) -> np.ndarray:
    """Asks that other queues keep waiting: (a,) bool."""
    return (left > 0) & np.isin(why, _OTHERS)


def wanting_within(left: np.ndarray, why: np.ndarray) -> np.ndarray:
    """Asks that jobs of their own queue may keep waiting: (a,) bool."""
    return (left > 0) & np.isin(why, _OWN)


def contested(left: np.ndarray, why: np.ndarray, others: np.ndarray) -> bool:
    """Whether anybody waits for what others hold. Where nobody does, no stage takes anything, whatever runs.

    left, why: (a,) as ``plan_preemption``. others: (a,) how many other jobs of the ask's leaf hold something.
    """
    return bool((wanting(left, why) | (wanting_within(left, why) & (others > 0))).any())


def owed_asks(s: Snapshot, asks: np.ndarray, books: Books, ideal: np.ndarray) -> np.ndarray:
    """Positions of asks whose queue is owed something; the queue that lacks most of its ideal first."""
    queue = s.ask_queue
    some = np.zeros(len(ideal), np.bool_)
    some[queue[asks]] = True
    owed: np.ndarray = some & (books.owed.max(axis=1) > LITTLE)
    lacks = np.where(owed[:, None] & (ideal > 0), books.owed / np.maximum(ideal, LITTLE), 0).max(axis=1, initial=0)
    found = np.flatnonzero(asks & owed[queue])
    rank = np.lexsort((found, -s.jobs.priority[s.asks.job[found]], queue[found], -lacks[queue[found]]))
    return found[rank]


def by_priority(s: Snapshot, asks: np.ndarray) -> np.ndarray:
    """Positions of those of ``asks`` whose leaf is served by priority, leaf by leaf in the order they are served."""
    queue = s.ask_queue
    found = np.flatnonzero(asks & (s.queues.ordering[queue] == Ordering.PRIORITY))
    return found[np.lexsort((found, -s.jobs.priority[s.asks.job[found]], queue[found]))]


def heard(s: Snapshot, asks: np.ndarray, books: Books) -> np.ndarray:
    """Positions of asks whose user is owed something, leaf by leaf in the order in which the leaf serves them.

    Users who hold too much come after others of equal priority. Where one waits
    before them, room made would only be his.
    """
    queue, user = s.ask_queue, s.jobs.user[s.asks.job]
    found = np.flatnonzero(asks)
    ordering = s.queues.ordering[queue[found]]
    first = np.where(ordering == Ordering.PRIORITY, -s.jobs.priority[s.asks.job[found]], 0)
    above = (books.debt.max(axis=1) > LITTLE)[user[found]]
    order = np.lexsort((found, above, first, queue[found]))
    found, owes = found[order], above[order] & (s.queues.ordering[queue[found[order]]] != Ordering.FAIR)
    earlier = np.cumsum(owes)
    starts = np.searchsorted(queue[found], queue[found])
    before = np.append(0, earlier)[starts]
    owed = (books.owed.max(axis=1) > LITTLE)[user[found]]
    out: np.ndarray = found[owed & (earlier == before)]
    return out


def grouped(
    s: Snapshot,
    asks: np.ndarray,
    left: np.ndarray,
    held: np.ndarray,
    row: np.ndarray,
    below: np.ndarray | None = None,
    swap: np.ndarray | None = None,
) -> tuple[np.ndarray, Claims]:
    """(asks, their claims), alike ones together where the first of them stood.

    asks: (k,) positions in order. row, below, swap: (k,); without ``below``
    every priority may be taken from.
    """
    a, k = s.asks, len(asks)
    queue = s.ask_queue[asks] if below is not None else np.zeros(k, np.int32)
    limit = np.full(k, ANY) if below is None else below
    exchange = np.zeros(k, np.bool_) if swap is None else swap
    alone = a.gang[asks] | np.isin(asks, held)
    key = np.stack((a.shape[asks], a.mask[asks], queue, limit, exchange, np.where(alone, asks, -1)), axis=1)
    _, first, kind = np.unique(key.astype(np.int64), axis=0, return_index=True, return_inverse=True)
    place = np.argsort(first[kind.reshape(-1)], kind="stable")
    asks, leader = asks[place], first[kind.reshape(-1)][place]
    starts = np.flatnonzero(np.diff(leader, prepend=-1))
    none = np.zeros(len(starts), np.int64)
    return asks, Claims(
        groups=np.append(starts, k).astype(np.int64),
        row=row[place].astype(np.int32),
        units=left[asks].astype(np.int64),
        shape=np.ascontiguousarray(a.shapes[a.shape[asks]]),
        mask=a.mask[asks],
        nodes=a.masks & s.nodes.open,
        holder=asks.astype(np.int32),
        held=held,
        below=limit[place].astype(np.int64),
        swap=exchange[place],
        gang=a.gang[asks],
        first=none,
        last=none.copy(),
    )
