"""Backfilling: asks that start before others that wait, without delaying them.

The rules are those of batch schedulers. *EASY* or aggressive backfilling
(Lifka, "The ANL/IBM SP Scheduling System", 1995) promises a start to the first
ask that cannot start now, at its *shadow time*: the earliest at which, by the
expected ends of what runs, there is room for all of it. A later ask may start
if there is room now and it either ends by the shadow time or takes only what
is to spare then. *Conservative* backfilling promises a start to every ask that
waits, in order, and a later one may delay none of them (both compared by
Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime
Estimates in Scheduling the IBM SP2 with Backfilling", 2001).

What they mean here:

* The order is that in which the round serves asks; equals by arrival. A
  queue's rule says what its asks are promised: ``EASY`` one start per leaf,
  ``CONSERVATIVE`` all, as far as the policy's depth goes. Every ask of a queue
  with a rule keeps the promises made before it; those of queues with ``NONE``
  neither have nor keep any. With ``STRICT`` nobody passes the first that waits.
* Promises are made anew in every round and nothing of them is kept. A container
  is expected to end after its ask's estimated duration; one that has outlived
  it, at any moment: now. What has no estimate never ends.
* A promise is for a gang as a whole, and for all that other asks still want, or
  as much of it as there will ever be room for. Nodes and the maxima of queues and
  users count. Shares do not: who is kept by his share alone waits for that, and
  nobody of his line passes him. Who is kept by his user's maximum, or
  waits for preferred nodes, is passed by all.
* An ask whose start cannot be foreseen, because too much of what runs has no
  estimate, is promised nothing and keeps nobody back. It may hold nodes instead,
  as asks of other queues do.
* A promise names no nodes: it can be kept as long as the nodes have room for it
  when it is due, next to the other promises. Promises of other shapes are
  counted there by the resource of which they take most.
"""

import numpy as np

from scheduler.core.compiled import aside, lean, part
from scheduler.core.plan import Why
from scheduler.placement.beside import bound, place_beside, weigh
from scheduler.placement.board import ANY, ONE, PLACED, Ground, Kinds, PlacementLimits, Pools, Record, Wants
from scheduler.placement.foresee import node_of
from scheduler.placement.grant import grant
from scheduler.placement.limits import allowed, binding, charge
from scheduler.placement.pools import room_anywhere
from scheduler.placement.promises import (
    CONSERVATIVE,
    COUNT,
    FAILED,
    FAILURES_MAX,
    GROUPS,
    IN_THE_WAY,
    NONE,
    STRICT,
    Promises,
)
from scheduler.placement.serve import place, whole_gang_fits, why_no_node

QUEUE_MAXIMUM, QUEUE_SHARE, ROUND_FULL = int(Why.QUEUE_MAXIMUM), int(Why.QUEUE_SHARE), int(Why.ROUND_FULL)
NO_ROOM, RESERVED, GANG = int(Why.NO_ROOM), int(Why.RESERVED), int(Why.GANG)


@lean
def backfill_in_order(
    g: Ground,
    limits: PlacementLimits,
    w: Wants,
    k: Kinds,
    p: Pools,
    o: Record,
    h: Promises,
    gate: np.ndarray,
    order: np.ndarray,
    overshoot: bool,
) -> int:
    """``serve.place_in_order`` where queues backfill.

    gate: (e + q,) int64, -1 in the beginning, of entities and then of leaves:
    the ask that nobody of them may pass in this pass.
    """
    before = o.state[PLACED]
    for x in range(len(order)):
        a = order[x]
        if w.left[a] > 0 and (h.rule[a] == NONE or not _closed(limits, w, h, gate, a)):
            _serve(g, limits, w, k, p, o, h, a, overshoot)
            if w.left[a] > 0 and h.rule[a] != NONE:
                _stand_in_line(g, limits, w, k, o, h, gate, a)
    return int(o.state[PLACED] - before)


@part
def _closed(limits: PlacementLimits, w: Wants, h: Promises, gate: np.ndarray, a: int) -> bool:
    """Whether ask ``a`` would pass one that nobody may pass; then it waits as that one does, or for it."""
    first = gate[limits.entity[a]]
    if first >= 0:
        w.why[a], w.detail[a], h.behind[a] = w.why[first], -1, -1
        return True
    first = gate[len(limits.beyond) + w.queue[a]]
    if first >= 0:
        w.why[a], w.detail[a], h.behind[a] = RESERVED, -1, first
        return True
    return False


@aside
def _serve(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, p: Pools, o: Record, h: Promises, a: int, overshoot: bool
) -> None:
    """``serve.serve`` for an ask that, unless its queue has no rule, keeps what was promised before it."""
    at, left, budget = o.state[PLACED], w.left[a], len(o.ask) - o.state[PLACED]
    may, placed, least = min(allowed(limits, w, g.shapes, a, overshoot), budget), 0, 1
    if w.gang[a]:
        may, least = may if may == left else 0, left
    beside = h.rule[a] != NONE and bound(h, a) and not h.holding[a]
    if may > 0 and beside:
        placed = place_beside(g, limits, w, k, p, o, h, a, may)
    elif may > 0:
        placed = place(g, w, k, p, o, a, may)
    if placed > 0:
        charge(limits, w, g.shapes, a, placed)
        w.left[a] = left - placed
        w.placed[a] += placed
        _note(g, limits, w, k, o, h, a, at, beside)
    w.why[a], w.detail[a], h.behind[a] = 0, -1, -1
    by_nodes = placed < may
    if not by_nodes and placed < left:
        w.why[a], w.detail[a] = binding(limits, w, g.shapes, a, least, overshoot, budget - placed)
        by_nodes = h.rule[a] != NONE and w.why[a] == QUEUE_SHARE and not _has_room(g, w, k, p, o, a, least)
    if by_nodes:
        _say_why(g, w, k, p, o, h, a, least, beside)


@aside
def _has_room(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, a: int, units: int) -> bool:
    """Whether nodes have room for one container of ask ``a``, or all of a gang, as if nothing were promised."""
    if w.gang[a]:
        return whole_gang_fits(g, k, p, o, w.kind[a], units)
    return room_anywhere(g, k, p, o.state, w.kind[a])


@aside
def _say_why(g: Ground, w: Wants, k: Kinds, p: Pools, o: Record, h: Promises, a: int, units: int, beside: bool) -> None:
    """Why nodes, or what was promised of them, do not take what ask ``a`` may have."""
    if beside and w.level[a] == ANY and _has_room(g, w, k, p, o, a, units):
        i = h.state[IN_THE_WAY]
        i = i if h.start[i] < h.until[a] else h.by_start[0]
        w.why[a], h.behind[a] = RESERVED, h.ask[i]
    else:
        w.why[a] = why_no_node(g, w, k, p, o, a, units)


@aside
def _note(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, a: int, at: int, weighed: bool
) -> None:
    """Containers of ask ``a`` were placed, the rows of the record from ``at`` on: count them where promises are due."""
    placed = o.state[PLACED]
    if not weighed and bound(h, a):
        for x in range(at, placed):
            weigh(g, limits, w, k, h, a, node_of(o, x), ONE)
    if at < placed and h.until[a] < np.inf:
        j = h.state[GROUPS]
        h.group_end[j], h.group_ask[j], h.group_from[j], h.group_to[j] = h.until[a], a, at, placed
        h.state[GROUPS] = j + 1


@part
def _stand_in_line(
    g: Ground, limits: PlacementLimits, w: Wants, k: Kinds, o: Record, h: Promises, gate: np.ndarray, a: int
) -> None:
    """Ask ``a`` has to wait: promise it a start, or close its line, as its queue's rule says."""
    why, leaf, rule = w.why[a], w.queue[a], h.rule[a]
    waits = why in (QUEUE_MAXIMUM, NO_ROOM, RESERVED, GANG)
    more = h.state[COUNT] < len(h.ask) and h.state[FAILED] < FAILURES_MAX
    if why in (QUEUE_SHARE, ROUND_FULL):
        gate[limits.entity[a]] = a
    elif rule == STRICT and waits:
        gate[len(limits.beyond) + leaf] = a
    elif rule != STRICT and waits and more and not h.holding[a] and (rule == CONSERVATIVE or not h.headed[leaf]):
        h.headed[leaf] |= grant(g, limits, w, k, o, h, a)
