"""What screens show of a sub-cluster: one JSON value and columns over its nodes, complete each time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from controlplane.rm.memory.memory import Memory
from controlplane.statestore import nodeloads
from scheduler.registry import PREEMPTION
from wire.resources import AXES, amounts
from wire.summary import Observed, QueueUse, Summary

USAGE_MAX = 20_000  # containers whose live usage is shown


def summary(m: Memory, holder: str, counters: Mapping[str, Any], frozen: bool, at: float) -> Summary:
    """counters: rounds, placed, ended, rejected since take-over, the last ``round_ms``, and rates per second."""
    pending = np.zeros(len(AXES), np.int64)
    waiting: dict[str, int] = {}
    for job, group in m.asking.values():
        wanted = group.run.wanted
        if wanted:
            pending += group.shape * wanted
            waiting[job.queue] = waiting.get(job.queue, 0) + wanted
    size = len(m.nodes)
    used_cpu_milli, used_memory_mib = m.nodes.load[:size, 1:].sum(axis=0).tolist()
    return Summary(
        at=at,
        epoch=m.epoch,
        leader=holder,
        policy_version=m.queues.target,
        frozen=frozen,
        live=len(m.containers),
        allocated=amounts(m.nodes.used[:size].sum(axis=0).tolist()),
        used_memory_mib=used_memory_mib,
        used_cpu_milli=used_cpu_milli,
        pending_containers=sum(waiting.values()),
        pending=amounts(pending.tolist()),
        queues=queue_use(m.queues.paths, m.queues.hierarchy.subtree_sums(m.ledger.queues.sum(axis=0)), waiting),
        observed=_observed(m),
        **counters,
    )


def _observed(m: Memory) -> Observed | None:
    """What preemption would take back where it only observes."""
    policy = PREEMPTION[m.queues.components.preemption.policy]
    if policy.stops or not policy.plans:
        return None
    return Observed(m.observed.count(), m.observed.stopped)


def queue_use(paths: Sequence[str], totals: np.ndarray, waiting: Mapping[str, int]) -> dict[str, QueueUse]:
    """What each queue uses and how many containers wait there. totals: (q, R) of whole subtrees.

    The root, and of the others, of which there may be thousands, those that have either.
    """
    wait = np.array([path in waiting for path in paths])
    wait[:1] = True
    at = np.flatnonzero(totals.any(axis=1) | wait)
    return {
        path: QueueUse(amounts(used), waiting.get(path, 0))
        for path, used in zip((paths[i] for i in at.tolist()), totals[at].tolist(), strict=True)
    }


def nodes(m: Memory, at: float, answered: float) -> bytes:
    """What screens show of each node, packed. answered: the leader's answered clock."""
    n, k = m.nodes, len(m.nodes)
    held = np.zeros(k, np.int8)
    for number, name in enumerate(m.partitions):
        memo = m.memos.get(name)
        if memo is not None and len(memo.reserved_node):
            held[m.nodes_of(number)[0][memo.reserved_node]] = 1
    columns: dict[str, np.ndarray] = {
        "id": n.id[:k], "state": n.state[:k], "health": n.health[:k], "held": held,
        **{axis: n.used[:k, at] for at, axis in enumerate(AXES)},
        "used_memory_mib": n.load[:k, 2], "used_cpu_milli": n.load[:k, 1], "containers": n.containers[:k],
        "age_ms": ((answered - n.seen[:k]) * 1000).astype(np.int64),
    }  # fmt: skip
    return nodeloads.encode(at, m.epoch, columns)


def usage(m: Memory) -> dict[int, str]:
    """Last sample per live container: ``memory_mib,cpu_ms,ran_ms``."""
    t = m.containers
    slots = np.flatnonzero(t.live)[:USAGE_MAX]
    columns = (t.id[slots], t.memory[slots], t.cpu_ms[slots], t.ran_ms[slots])
    return {cid: f"{mem},{cpu},{ran}" for cid, mem, cpu, ran in zip(*(x.tolist() for x in columns), strict=True)}
