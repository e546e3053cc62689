"""What screens show of a sub-cluster: one JSON value and columns over its nodes, complete each time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from controlplane.rm.memory.memory import Memory
from controlplane.statestore import nodeloads
from scheduler.registry import PREEMPTION
from wire.resources import AXES

USAGE_MAX = 20_000  # containers whose live usage is shown


def summary(m: Memory, holder: str, counters: Mapping[str, float], frozen: bool, at: float) -> dict[str, Any]:
    """``counters``: rounds, placed, ended, rejected since take-over, the last ``round_ms``, and rates per second."""
    pending = np.zeros(3, np.int64)
    waiting: dict[str, int] = {}
    for job, group in m.asking.values():
        wanted = group.run.wanted
        if wanted:
            pending += group.shape[:3] * wanted
            waiting[job.queue] = waiting.get(job.queue, 0) + wanted
    memory, vcores, gpus = pending.tolist()
    size = len(m.nodes)
    allocated, used = m.nodes.used[:size, :3].sum(axis=0).tolist(), m.nodes.load[:size, 1:].sum(axis=0).tolist()
    return {
        "at": at,
        "epoch": m.epoch,
        "leader": holder,
        "policy_version": m.queues.target,
        **counters,
        "pending": {"containers": sum(waiting.values()), "memory_mib": memory, "vcores_milli": vcores, "gpus": gpus},
        "live": len(m.containers),
        "frozen": frozen,
        "preemption": _observed(m),
        "queues": _queues(m, waiting),
        "allocated": dict(zip(AXES, allocated, strict=True)),
        "used": {"memory_mib": used[1], "cpu_milli": used[0]},
    }


def _observed(m: Memory) -> dict[str, int] | None:
    """What preemption would take back where it only observes."""
    policy = PREEMPTION[m.queues.components.preemption.policy]
    if policy.stops or not policy.plans:
        return None
    return {"marked": m.observed.count(), "stopped": m.observed.stopped}


def _queues(m: Memory, waiting: dict[str, int]) -> dict[str, Any]:
    return queue_use(m.queues.paths, m.queues.shape.summed(m.ledger.queues.sum(axis=0)), waiting)


def queue_use(paths: Sequence[str], totals: np.ndarray, waiting: Mapping[str, int]) -> dict[str, Any]:
    """What each queue uses and how many containers wait there. totals: (q, R) of whole subtrees.

    The root, and of the others, of which there may be thousands, those that have either.
    """
    wait = np.array([path in waiting for path in paths])
    wait[:1] = True
    at = np.flatnonzero(totals.any(axis=1) | wait)
    return {
        path: {"memory_mib": used[0], "vcores_milli": used[1], "gpus": used[2], "pending": waiting.get(path, 0)}
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
        "memory_mib": n.used[:k, 0], "vcores_milli": n.used[:k, 1], "gpus": n.used[:k, 2],
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
