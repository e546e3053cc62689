"""What a plan sees of one partition, gathered from the leader's memory."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.asks import Mask, Owner, compact
from scheduler.core.entities import UNBOUNDED
from scheduler.core.snapshot import AXIS, Asks, Jobs, Nodes, Ordering, Queues, Running, Snapshot, Users
from wire.states import NodeState, Want

if TYPE_CHECKING:
    from controlplane.rm.memory import Memory

OVERDUE = 0.25  # a container that outlives its estimate is expected to run this share of it longer
LENT = "(lent to other partitions)"


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot and where its rows came from.

    asks: (a,) rows of the ask table. nodes: (n,) positions in the node table.
    slots: (c,) of ``snapshot.running``, empty without it.
    """

    snapshot: Snapshot
    asks: np.ndarray
    nodes: np.ndarray
    slots: np.ndarray

    def owner(self, m: "Memory", ask: int) -> Owner:
        """Whose ask that is."""
        found = m.asks.owner[self.asks[ask]]
        assert found is not None
        return found


def partition_view(m: "Memory", partition: int, rows: np.ndarray, now: float, with_running: bool) -> View:
    """The partition's nodes, queues, these of its asks and, if wanted, its live containers.

    rows: (a,) of the ask table, as ``wanting`` gives them. now: s, as ``since`` and ``started``.
    """
    nodes, own = m.nodes_of(partition)
    table = m.nodes.view()
    open_nodes = table.open[nodes]
    if not own.all():
        open_nodes &= own | ~m.spoken_for()[nodes]
    seen = Nodes(table.capacity[nodes], table.free[nodes], open_nodes, table.rack[nodes])
    queues = m.queues.view(m.partitions[partition], m.capacity(nodes[own]), m.ledger.queues[partition])
    held, lent = m.holders(partition) if with_running or len(m.partitions) > 1 else (rows[:0], rows[:0])
    users, jobs, job, job_rows = _people(m, partition, rows, queues.maximum, held if with_running else None)
    # All of a partition is no limit: the default one may also use what is idle elsewhere.
    whole = (queues.maximum >= queues.maximum[0]) & ~m.queues.denied(m.partitions[partition])
    queues = replace(queues, maximum=np.where(whole, UNBOUNDED, queues.maximum))
    if len(lent):
        queues = _with_lent(queues, m.containers_hold(lent).sum(axis=0))
    numbers, mask = compact(m.asks.mask[rows])
    masks = np.array([_nodes_for(m, m.asks.masks[i], nodes) for i in numbers.tolist()], np.bool_)
    asks = m.asks.gather(rows, job, masks.reshape(len(numbers), len(nodes)), mask)
    if len(nodes) < len(m.nodes):
        asks = _onto(asks, nodes, len(m.nodes))
    running, slots = None, np.empty(0, np.int64)
    if with_running:
        running, slots = _running(m, partition, nodes, (held, lent), queues.lent, job_rows, now)
    return View(Snapshot(AXIS, seen, queues, users, jobs, asks, running), rows, nodes, slots)


def _nodes_for(m: "Memory", mask: Mask, nodes: np.ndarray) -> np.ndarray:
    """Which of these nodes an ask may use: where nothing but what its job avoids is left, that as well."""
    found = m.mask(mask)[nodes]
    *wishes, avoided = mask
    if avoided and not (found & (m.nodes.state[nodes] <= NodeState.UNHEALTHY)).any():
        found = m.mask((*wishes, ()))[nodes]
    return found


def _with_lent(queues: Queues, amount: np.ndarray) -> Queues:
    """The queues and a row of what other partitions' containers hold, ``amount`` (R,)."""
    none = np.zeros((1, len(amount)), np.int64)
    used = np.concatenate((queues.used, amount[None]))
    used[0] += amount
    return Queues(
        [*queues.paths, LENT],
        np.append(queues.parent, 0).astype(queues.parent.dtype),
        np.concatenate((queues.guaranteed, none)),
        np.concatenate((queues.maximum, none + UNBOUNDED)),
        used,
        np.append(queues.weight, 1.0),
        np.append(queues.ordering, np.int8(Ordering.FIFO)),
        np.append(queues.preemptable, True),
        len(queues.paths),
    )


def _people(
    m: "Memory", partition: int, rows: np.ndarray, maximum: np.ndarray, held: np.ndarray | None
) -> tuple[Users, Jobs, np.ndarray, np.ndarray]:
    """Users and jobs of these asks, each ask's job, and the ledger rows of the jobs.

    held: slots of live containers, whose jobs come after those that ask.
    """
    ledger, of_ask = m.ledger, m.asks.job[rows]
    first = np.ones(len(rows), np.bool_)
    first[1:] = of_ask[1:] != of_ask[:-1]  # asks are in order of their jobs
    job_rows = of_ask[first]
    if held is not None:
        holds = np.zeros(len(ledger.job_user), np.bool_)
        holds[m.asks.job[m.containers.ask[held]]] = True
        holds[job_rows] = False
        job_rows = np.concatenate((job_rows, np.flatnonzero(holds).astype(job_rows.dtype)))
    user_rows, user = compact(ledger.job_user[job_rows])
    leaf = ledger.user_queue[user_rows]
    share = m.queues.user_maximum[leaf, None]
    most = np.where(share < 1, np.floor(maximum[leaf] * share + 1e-6), UNBOUNDED).astype(np.int64)
    return (
        Users(leaf, ledger.users[partition, user_rows], most),
        Jobs(user, ledger.job_priority[job_rows], ledger.jobs[partition, job_rows]),
        np.cumsum(first, dtype=np.int32) - np.int32(1),
        job_rows,
    )


def _onto(asks: Asks, nodes: np.ndarray, total: int) -> Asks:
    """The same asks, preferring positions among ``nodes`` instead of the whole table's."""
    position = np.full(total, -1, np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    near = position[asks.near]
    kept = np.concatenate(([0], np.cumsum(near >= 0))).astype(np.int32)
    return replace(asks, near=near[near >= 0], near_from=kept[asks.near_from])


def _running(
    m: "Memory",
    partition: int,
    nodes: np.ndarray,
    holders: tuple[np.ndarray, np.ndarray],
    lent: int,
    job_rows: np.ndarray,
    now: float,
) -> tuple[Running, np.ndarray]:
    """What runs on these nodes, and its slots. holders: as ``Memory.holders``. lent: row of the queues."""
    t, a = m.containers, m.asks
    slots = np.concatenate(holders)
    away = np.arange(len(slots)) >= len(holders[0])
    position = np.full(max(1, len(m.nodes)), -1, np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    node = position[t.node[slots]]
    slots, away, node = slots[node >= 0], away[node >= 0], node[node >= 0]
    job = a.job[t.ask[slots]]
    queue = m.ledger.user_queue[m.ledger.job_user[job]]
    of_row = np.full(len(m.ledger.job_user), -1, np.int32)
    of_row[job_rows] = np.arange(len(job_rows), dtype=np.int32)
    started = t.allocated_us[slots] / 1e6
    duration = a.duration[t.ask[slots]]
    ends = np.where(duration > 0, started + duration, np.inf)
    ends = np.where(ends < now, now + OVERDUE * duration, ends)
    stopping = t.want[slots] == Want.STOP
    ends[stopping] = now
    spared = stopping | (away & ~m.queues.preemptable[queue]) | m.warned_elsewhere(partition, t.id[slots])
    return (
        Running(
            t.id[slots],
            node,
            np.where(away, -1, of_row[job]).astype(np.int32),
            np.where(away, lent, queue).astype(np.int32),
            m.ledger.job_priority[job],
            m.containers_hold(slots),
            started,
            ends,
            spared,
        ),
        slots,
    )
