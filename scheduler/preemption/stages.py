"""The three ways in which a container may have to go: for another queue, another job, another user."""

from dataclasses import dataclass

import numpy as np

from scheduler.core.plan import Why
from scheduler.core.snapshot import Ordering, Running, Snapshot
from scheduler.preemption import claims
from scheduler.preemption.ideal import ClaimTree, ideals
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.preemption.users import user_parts
from scheduler.preemption.victims import CHOSEN, COUNTS, MARKS, MAY_GO, NOBODY, REFUSED, Books, Claims, Field, choose
from scheduler.shares.tree import children, lowered, lowest, summed, without_children


@dataclass(slots=True)
class PreemptionRound:
    """What the stages of one call share. left, room, state, taken, owed_to and intra are written to."""

    s: Snapshot
    running: Running
    policy: PreemptionPolicy
    left: np.ndarray
    why: np.ndarray
    held: np.ndarray
    warned: np.ndarray  # (c,) bool
    ending: np.ndarray  # (c,) bool
    last: np.ndarray  # (c,) bool
    room: np.ndarray
    state: np.ndarray
    taken: np.ndarray
    bound: np.ndarray
    owed_to: np.ndarray  # (c,) int32
    intra: np.ndarray  # (c,) bool


def capacity(s: Snapshot) -> np.ndarray:
    """(r,) float64: what there is to divide: what is held, and what open nodes have free."""
    free = s.nodes.open @ np.maximum(s.nodes.free, 0)
    total: np.ndarray = (s.queues.used[0] + free).astype(np.float64)
    return total


def between_queues(r: PreemptionRound) -> None:
    """Take back what queues hold beyond their ideal, for what others are owed."""
    s, queues = r.s, r.s.queues
    asking = claims.wanting(r.left, r.why)
    if not asking.any():
        return
    fixed = ~lowered(queues.parent, queues.preemptable[:, None])[:, 0]
    used, sure, ideal = _ideals(r, asking, fixed)
    leaf = lowest(queues.parent)
    pays = (leaf & ~fixed)[:, None] & (used > sure * (1 + r.policy.dead_zone))
    books = Books(
        debt=np.where(pays, np.maximum(used - ideal, 0), 0) * r.policy.natural_termination,
        owed=np.where(leaf[:, None], np.maximum(ideal - used, 0), 0),
        alive=_alive(r, r.running.queue, len(used)),
        starving=leaf & (used.max(axis=1) <= 0),
    )
    asks = claims.owed_asks(s, asking, books, ideal)
    found = _may_go(r, r.running.queue, books.debt)
    if len(asks) and len(found):
        asks, c = claims.grouped(s, asks, r.left, r.held, s.ask_queue[asks])
        c.last[:] = np.count_nonzero(~r.last[found])
        _choose(r, c, asks, books, r.running.queue, found[_cheapest_first(r, found)], False)


def for_priority(r: PreemptionRound) -> None:
    """Take from jobs of lower priority in the same leaf; from those of equal priority never."""
    s, live = r.s, r.running
    asks = claims.by_priority(s, claims.wanting_within(r.left, r.why))
    if not len(asks):
        return
    queue, priority = s.ask_queue[asks], s.jobs.priority[s.asks.job[asks]].astype(np.int64)
    highest = np.full(len(s.queues.parent), np.iinfo(np.int64).min)
    np.maximum.at(highest, queue, priority)
    found = np.flatnonzero((r.state == MAY_GO) & ~r.last & (live.priority < highest[live.queue]))
    if not len(found):
        return
    swap = r.why[asks] != Why.NO_ROOM  # it is its queue that has no room left: that must not grow
    asks, c = claims.grouped(s, asks, r.left, r.held, np.full(len(asks), -1), priority, swap)
    rows = np.zeros((0, r.room.shape[1]))
    nobody = np.full(len(live.id), -1, np.int32)
    books = Books(rows, rows.copy(), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    _within_leaves(r, c, asks, books, nobody, found)


def between_users(r: PreemptionRound) -> None:
    """Take from users above their fair part of a leaf, for those below theirs."""
    s, live, users = r.s, r.running, r.s.users
    asking = claims.wanting_within(r.left, r.why)
    if not asking.any() or not len(users.queue):
        return
    payer = np.where(live.job >= 0, s.jobs.user[np.maximum(live.job, 0)], -1).astype(np.int32)
    used, part = _parts(r, asking, payer)
    pays = used > part * (1 + r.policy.dead_zone)
    books = Books(
        debt=np.where(pays, np.maximum(used - part, 0), 0),
        owed=np.maximum(part - used, 0),
        alive=_alive(r, payer, len(used)),
        starving=used.max(axis=1) <= 0,
    )
    asks = claims.heard(s, asking, books)
    found = _may_go(r, payer, books.debt)
    found = found[~r.last[found]]
    if len(asks) and len(found):
        job = s.asks.job[asks]
        served = s.queues.ordering[s.ask_queue[asks]] == Ordering.PRIORITY
        below = np.where(served, s.jobs.priority[job].astype(np.int64) + 1, claims.ANY)
        swap = np.ones(len(asks), np.bool_)
        asks, c = claims.grouped(s, asks, r.left, r.held, s.jobs.user[job], below, swap)
        _within_leaves(r, c, asks, books, payer, found)


def _within_leaves(
    r: PreemptionRound, c: Claims, asks: np.ndarray, books: Books, payer: np.ndarray, found: np.ndarray
) -> None:
    """Let each group look through the candidates of its own leaf."""
    live = r.running
    order = found[_cheapest_first(r, found)]
    order = order[np.argsort(live.queue[order], kind="stable")]
    own = r.s.ask_queue[asks[c.groups[:-1]]]
    c.first[:] = np.searchsorted(live.queue[order], own, "left")
    c.last[:] = np.searchsorted(live.queue[order], own, "right")
    _choose(r, c, asks, books, payer, order, True)


def _alive(r: PreemptionRound, payer: np.ndarray, rows: int) -> np.ndarray:
    return np.bincount(payer[~r.ending & (payer >= 0)], minlength=rows).astype(np.int64)


def _may_go(r: PreemptionRound, payer: np.ndarray, debt: np.ndarray) -> np.ndarray:
    """Containers of those in debt."""
    indebted = np.append((debt > 0).any(axis=1), False)  # the last is nobody, -1
    return np.flatnonzero((r.state == MAY_GO) & indebted[payer])


def _cheapest_first(r: PreemptionRound, found: np.ndarray) -> np.ndarray:
    """The lowest priority, then the newest; application masters after all others."""
    live = r.running
    return np.lexsort((-live.id[found], -live.started[found], live.priority[found], r.last[found]))


def _ideals(r: PreemptionRound, asking: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What queues use, once what ends soon has ended, what others give back to them, and their ideals: (q, r) each."""
    s, live, queues = r.s, r.running, r.s.queues
    shapes = s.asks.shapes[s.asks.shape]
    q = len(queues.parent)
    own = _sums(s.ask_queue, (s.asks.count - r.left)[:, None] * shapes, q)
    own -= _sums(live.queue[r.ending], live.shape[r.ending], q)
    used = np.maximum(queues.used + summed(queues.parent, own), 0.0)
    wanted = _sums(s.ask_queue[asking], r.left[asking, None] * shapes[asking], q)
    spared = _sums(live.queue[live.spared], live.shape[live.spared], q)
    sure = _sure(r, used)
    first, row = children(queues.parent, np.ones((q, 1)))
    tree = ClaimTree(
        queues.parent,
        sure,
        queues.maximum.astype(np.float64),
        np.maximum(without_children(queues.parent, used), 0.0),
        wanted,
        spared,
        queues.weight,
        fixed,
        row,
        first[1:],
        queues.lent,
    )
    lost = r.ending & ~s.nodes.open[live.node]  # what ends there frees nothing
    return used, sure, ideals(tree, used, capacity(s) - live.shape[lost].sum(axis=0))


def _sure(r: PreemptionRound, used: np.ndarray) -> np.ndarray:
    """What of each queue's amount others give back to it: (q, r) float64. used: (q, r)."""
    queues = r.s.queues
    if queues.settled:
        sure = used.copy()
        if queues.lent >= 0:
            sure[queues.lent] = 0.0
        return sure
    owed = queues.guaranteed if queues.owed is None else queues.owed
    return owed.astype(np.float64)


def _parts(r: PreemptionRound, asking: np.ndarray, payer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What users use, once what ends soon has ended, and their fair parts: (u, r) float64 each."""
    s = r.s
    shapes, user = s.asks.shapes[s.asks.shape], s.jobs.user[s.asks.job]
    u = len(s.users.queue)
    known = r.ending & (payer >= 0)
    placed = _sums(user, (s.asks.count - r.left)[:, None] * shapes, u)
    used = np.maximum(s.users.used + placed - _sums(payer[known], r.running.shape[known], u), 0.0)
    wanted = _sums(user[asking], r.left[asking, None] * shapes[asking], u)
    return used, user_parts(s.users.queue, np.argsort(s.users.queue, kind="stable"), used, wanted)


def _sums(row: np.ndarray, amounts: np.ndarray, rows: int) -> np.ndarray:
    """Sums of (k, r) amounts by row: (rows, r) float64."""
    return np.stack([np.bincount(row, amounts[:, i], rows) for i in range(amounts.shape[1])], axis=1)


def _choose(
    r: PreemptionRound, c: Claims, asks: np.ndarray, books: Books, payer: np.ndarray, order: np.ndarray, intra: bool
) -> None:
    """Serve the claims, and enter what was chosen for whom.

    Application masters come last in ``order``. They are looked at once every
    claim has had what is free and all that others make free, and not in a round
    whose bound let one of those others stay: the next one asks again.
    """
    before, field = c.units.copy(), _field(r, c, payer, order)
    choose(field, c, books)
    if r.last[order].any() and not field.marks[REFUSED]:
        c.last[:] = len(order)
        choose(field, c, books)
    chosen = field.state == CHOSEN
    new, claim = order[chosen], field.claim[chosen]
    r.state[new] = CHOSEN
    r.owed_to[new] = r.s.ask_queue[asks[claim]]
    r.intra[new] = intra
    np.subtract.at(r.left, asks, before - c.units)


def _field(r: PreemptionRound, c: Claims, payer: np.ndarray, order: np.ndarray) -> Field:
    """The candidates in this order, with nothing gathered."""
    live, size = r.running, len(order)
    n, k = r.room.shape
    warned, shape = r.warned[order], live.shape[order]
    marks = np.zeros(MARKS, np.int64)
    marks[COUNTS], marks[NOBODY] = r.taken.max() > 0, not warned.any()
    return Field(
        node=live.node[order].astype(np.int64),
        payer=payer[order].astype(np.int64),
        priority=live.priority[order].astype(np.int64),
        shape=shape,
        warned=warned,
        master=r.last[order],
        state=r.state[order],
        claim=np.full(size, -1, np.int64),
        room=r.room,
        taken=r.taken,
        bound=r.bound,
        least=shape.min(axis=0),
        total=np.zeros((1, k), np.int64),
        head=np.full(n, -1, np.int64),
        tail=np.full(n, -1, np.int64),
        following=np.full(size, -1, np.int64),
        pool=np.zeros((n, k), np.int64),
        log=np.zeros(size + int(c.units[c.gang].max(initial=0)), np.int64),
        marks=marks,
        some=np.zeros(size, np.int64),
    )
