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
  nobody behind him in his entity passes him. Who is kept by his user's maximum, or
  waits for preferred nodes, is passed by all.
* An ask whose start cannot be foreseen, because too much of what runs has no
  estimate, is promised nothing and keeps nobody back. It may hold nodes instead,
  as asks of other queues do.
* A promise names no nodes: it can be kept as long as the nodes have room for it
  when it is due, next to the other promises. Promises of other shapes are
  counted there by the resource of which they take most.

Cost: a search for a start for each promise (``availability``), and for each container of an ask that may outlast one a
look at all p promises (``backfillnodes``): O(p (c + n)) and O(p) a container.
"""

import numpy as np

from scheduler.core.compiled import arrayless, inlined, subroutine
from scheduler.core.plan import Why
from scheduler.placement.allocate import place_ask, whole_gang_fits, why_no_node
from scheduler.placement.availability import placed_node
from scheduler.placement.backfillnodes import charge_promises, may_delay_promise, place_without_delay
from scheduler.placement.limits import allowed, binding, charge
from scheduler.placement.pools import room_anywhere
from scheduler.placement.promisestart import promise_start
from scheduler.placement.promisetable import (
    CONSERVATIVE,
    FAILURES_MAX,
    LAST_CONFLICT,
    N_END_GROUPS,
    N_FAILED,
    N_PROMISES,
    NONE,
    STRICT,
    PromiseTable,
)
from scheduler.placement.tables import (
    N_PLACED,
    OFF_SWITCH,
    ONE,
    AskTable,
    CandidatePools,
    EquivalenceClasses,
    NodeTable,
    PlacementLimits,
    PlacementLog,
)

QUEUE_MAXIMUM, QUEUE_SHARE, ROUND_FULL = int(Why.QUEUE_MAXIMUM), int(Why.QUEUE_SHARE), int(Why.ROUND_FULL)
NO_ROOM, RESERVED, GANG = int(Why.NO_ROOM), int(Why.RESERVED), int(Why.GANG)


@arrayless
def backfill_in_order(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    promises: PromiseTable,
    blocked_by: np.ndarray,
    order: np.ndarray,
    overshoot: bool,
) -> int:
    """``allocate.allocate_in_order`` where queues backfill.

    blocked_by: (e + q,) int64, -1 in the beginning, of entities and then of leaves:
    the ask that nobody of them may pass in this pass.
    """
    before = log.state[N_PLACED]
    for x in range(len(order)):
        a = order[x]
        if asks.left[a] > 0 and (promises.rule[a] == NONE or not _blocked(limits, asks, promises, blocked_by, a)):
            _allocate(nodes, limits, asks, classes, pools, log, promises, a, overshoot)
            if asks.left[a] > 0 and promises.rule[a] != NONE:
                _promise_or_block(nodes, limits, asks, classes, log, promises, blocked_by, a)
    return int(log.state[N_PLACED] - before)


@inlined
def _blocked(limits: PlacementLimits, asks: AskTable, promises: PromiseTable, blocked_by: np.ndarray, a: int) -> bool:
    """Whether ask ``a`` would pass one that nobody may pass; then it waits as that one does, or for it."""
    first = blocked_by[limits.entity[a]]
    if first >= 0:
        asks.why[a], asks.binding_row[a], promises.kept_back_by[a] = asks.why[first], -1, -1
        return True
    first = blocked_by[len(limits.may_overshoot) + asks.queue[a]]
    if first >= 0:
        asks.why[a], asks.binding_row[a], promises.kept_back_by[a] = RESERVED, -1, first
        return True
    return False


@subroutine
def _allocate(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    overshoot: bool,
) -> None:
    """``allocate.allocate`` for an ask that, unless its queue has no rule, keeps what was promised before it."""
    at, left, budget = log.state[N_PLACED], asks.left[a], len(log.ask) - log.state[N_PLACED]
    may, placed, least = min(allowed(limits, asks, nodes.shapes, a, overshoot), budget), 0, 1
    if asks.gang[a]:
        may, least = may if may == left else 0, left
    may_delay = promises.rule[a] != NONE and may_delay_promise(promises, a) and not promises.holds_nodes[a]
    if may > 0 and may_delay:
        placed = place_without_delay(nodes, limits, asks, classes, pools, log, promises, a, may)
    elif may > 0:
        placed = place_ask(nodes, asks, classes, pools, log, a, may)
    if placed > 0:
        charge(limits, asks, nodes.shapes, a, placed)
        asks.left[a] = left - placed
        asks.placed[a] += placed
        _record_ends(nodes, limits, asks, classes, log, promises, a, at, may_delay)
    asks.why[a], asks.binding_row[a], promises.kept_back_by[a] = 0, -1, -1
    by_nodes = placed < may
    if not by_nodes and placed < left:
        asks.why[a], asks.binding_row[a] = binding(limits, asks, nodes.shapes, a, least, overshoot, budget - placed)
        by_nodes = (
            promises.rule[a] != NONE
            and asks.why[a] == QUEUE_SHARE
            and not _has_room(nodes, asks, classes, pools, log, a, least)
        )
    if by_nodes:
        _why_no_room(nodes, asks, classes, pools, log, promises, a, least, may_delay)


@subroutine
def _has_room(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    a: int,
    units: int,
) -> bool:
    """Whether nodes have room for one container of ask ``a``, or all of a gang, as if nothing were promised."""
    if asks.gang[a]:
        return whole_gang_fits(nodes, classes, pools, log, asks.eq_class[a], units)
    return room_anywhere(nodes, classes, pools, log.state, asks.eq_class[a])


@subroutine
def _why_no_room(
    nodes: NodeTable,
    asks: AskTable,
    classes: EquivalenceClasses,
    pools: CandidatePools,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    units: int,
    may_delay: bool,
) -> None:
    """Why nodes, or what was promised of them, do not take what ask ``a`` may have."""
    if may_delay and asks.locality[a] == OFF_SWITCH and _has_room(nodes, asks, classes, pools, log, a, units):
        i = promises.state[LAST_CONFLICT]
        i = i if promises.start[i] < promises.expected_end[a] else promises.by_start[0]
        asks.why[a], promises.kept_back_by[a] = RESERVED, promises.ask[i]
    else:
        asks.why[a] = why_no_node(nodes, asks, classes, pools, log, a, units)


@subroutine
def _record_ends(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    a: int,
    at: int,
    charged: bool,
) -> None:
    """Containers of ask ``a`` were placed, the rows of the log from ``at`` on: count them where promises are due."""
    placed = log.state[N_PLACED]
    if not charged and may_delay_promise(promises, a):
        for x in range(at, placed):
            charge_promises(nodes, limits, asks, classes, promises, a, placed_node(log, x), ONE)
    if at < placed and promises.expected_end[a] < np.inf:
        j = promises.state[N_END_GROUPS]
        promises.group_end[j], promises.group_ask[j] = promises.expected_end[a], a
        promises.group_from[j], promises.group_to[j] = at, placed
        promises.state[N_END_GROUPS] = j + 1


@inlined
def _promise_or_block(
    nodes: NodeTable,
    limits: PlacementLimits,
    asks: AskTable,
    classes: EquivalenceClasses,
    log: PlacementLog,
    promises: PromiseTable,
    blocked_by: np.ndarray,
    a: int,
) -> None:
    """Ask ``a`` has to wait: promise it a start, or let nobody pass it, as its queue's rule says."""
    why, leaf, rule = asks.why[a], asks.queue[a], promises.rule[a]
    waits = why in (QUEUE_MAXIMUM, NO_ROOM, RESERVED, GANG)
    more = promises.state[N_PROMISES] < len(promises.ask) and promises.state[N_FAILED] < FAILURES_MAX
    if why in (QUEUE_SHARE, ROUND_FULL):
        blocked_by[limits.entity[a]] = a
    elif rule == STRICT and waits:
        blocked_by[len(limits.may_overshoot) + leaf] = a
    elif (
        rule != STRICT
        and waits
        and more
        and not promises.holds_nodes[a]
        and (rule == CONSERVATIVE or not promises.has_head[leaf])
    ):
        promises.has_head[leaf] |= promise_start(nodes, limits, asks, classes, log, promises, a)
