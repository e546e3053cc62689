"""Reservations: nodes kept free for asks too large to fit now.

What they need drains there and is not given away in between: YARN's reserved containers. Of the nodes that an ask may
use the one is reserved on which the least share of its capacity has to be freed. Cost: O(n r) for each node reserved.
"""

import numpy as np

from scheduler.core.compiled import inlined, kernel
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.allocate import GANG, NO_ROOM
from scheduler.placement.limits import units_within
from scheduler.placement.tables import AskTable, NodeTable


def next_change(since: np.ndarray, memo: Memo, after_s: float, max_s: float, now: float) -> float:
    """When time alone may next make a reservation or end one; endless if never. since: (a,) of asks that wait."""
    times = np.concatenate((since + after_s, memo.reserved_at + max_s))
    return float(times[times > now].min(initial=np.inf))


def still_reserved(s: Snapshot, memo: Memo, now: float, max_s: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows of ``memo.reserved`` that stay in force, the ask of each row): int64.

    A reservation ends when its ask is gone or satisfied, its node no longer
    takes it or may not be held any more, no limit leaves room for it, or it is
    older than ``max_s``. A gang may hold several nodes.
    """
    asks, rows, holders = s.asks, [], []
    nodes = s.nodes.open if s.nodes.reservable is None else s.nodes.open & s.nodes.reservable
    seen: set[int] = set()
    at = np.searchsorted(asks.key, memo.reserved)
    for row, (a, node) in enumerate(zip(at.tolist(), memo.reserved_node.tolist(), strict=True)):
        if a == len(asks.key) or asks.key[a] != memo.reserved[row] or asks.count[a] <= 0:
            continue
        able = nodes[node] and asks.masks[asks.mask[a], node]
        able = able and (s.nodes.capacity[node] >= asks.shapes[asks.shape[a]]).all() and _may_grow(s, a)
        if able and now - memo.reserved_at[row] <= max_s and not {~a, node} & seen:
            rows.append(row)
            holders.append(a)
            seen |= {node} if asks.gang[a] else {~a, node}
    return np.array(rows, np.int64), np.array(holders, np.int64)


def _may_grow(s: Snapshot, a: int) -> bool:
    """Whether the maxima of its user, its queue and those above leave room for a container of ask ``a``; a gang's all.

    Whoever waits for a limit would keep his node idle: it does not depend on what ends there.
    """
    asks, user = s.asks, s.jobs.user[s.asks.job[a]]
    wanted = asks.shapes[asks.shape[a]] * (asks.count[a] if asks.gang[a] else 1)
    rooms, row = [s.users.maximum[user] - s.users.used[user]], s.users.queue[user]
    while row >= 0:
        rooms.append(s.queues.maximum[row] - s.queues.used[row])
        row = s.queues.parent[row]
    return not any(((wanted > 0) & (wanted > room)).any() for room in rooms)


@kernel
def reserve(
    nodes: NodeTable,
    asks: AskTable,
    waited: np.ndarray,
    order: np.ndarray,
    entity: np.ndarray,
    entities: int,
    taken: np.ndarray,
    after_s: float,
    most: int,
    out_ask: np.ndarray,
    out_node: np.ndarray,
) -> int:
    """Choose up to ``most`` nodes to reserve: how many; they are in out_ask and out_node, (most,) int32.

    Of each entity the first ask in order that lacks a node is considered, if it
    has waited for ``after_s``. It gets the node on which the least has to be
    freed; a gang as many as it would fill if they were empty. taken: (n,) bool,
    nodes that may not be reserved, to which those chosen are added.
    """
    served = np.zeros(entities, np.bool_)
    count = 0
    for a in order:
        if count == most:
            break
        lacks = asks.why[a] == NO_ROOM or asks.why[a] == GANG
        if asks.left[a] > 0 and lacks and not served[entity[a]]:
            served[entity[a]] = True
            units = _units_reserved(nodes, asks, a)
            wanted = asks.left[a] if asks.gang[a] else 1
            while waited[a] > after_s and units < wanted and count < most:
                node = _least_missing(nodes, asks, a, taken)
                if node < 0:
                    break
                taken[node] = True
                out_ask[count], out_node[count] = a, node
                count += 1
                units += units_within(nodes.capacity, node, nodes.shapes, asks.shape[a], wanted)
    return count


@inlined
def _units_reserved(nodes: NodeTable, asks: AskTable, a: int) -> int:
    """Containers of ask ``a`` that the nodes it holds take when they are empty."""
    units = 0
    for node in nodes.reserved:
        if nodes.reserved_for[node] == a:
            units += units_within(nodes.capacity, node, nodes.shapes, asks.shape[a], asks.left[a])
    return units


@inlined
def _least_missing(nodes: NodeTable, asks: AskTable, a: int, taken: np.ndarray) -> int:
    """The node on which the least share of its capacity must be freed for ask ``a``; -1 if none is large enough."""
    best, least, shape = -1, np.inf, asks.shape[a]
    for node in range(nodes.free.shape[0]):
        if taken[node] or not nodes.masks[asks.mask[a], node]:
            continue
        missing = 0.0
        for i in range(nodes.shapes.shape[1]):
            if nodes.shapes[shape, i] > 0:
                missing = max(missing, (nodes.shapes[shape, i] - nodes.free[node, i]) * nodes.inverse[node, i])
        if missing < least and units_within(nodes.capacity, node, nodes.shapes, shape, 1) == 1:
            best, least = node, missing
    return best
