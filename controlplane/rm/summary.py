"""What screens show of a sub-cluster: one JSON value, complete each time."""

from typing import Any

import numpy as np

from controlplane.rm.memory import Memory

USAGE_MAX = 20_000  # containers whose live usage is shown


def summary(
    m: Memory, holder: str, counters: dict[str, int], frozen: bool, at: float, answered: float
) -> dict[str, Any]:
    """``counters``: rounds, placed, ended, rejected since take-over, and the last round's ``round_ms``."""
    pending = np.zeros(3, np.int64)
    waiting: dict[str, int] = {}
    for job, group in m.asking.values():
        wanted = group.run.wanted
        if wanted:
            pending += group.shape[:3] * wanted
            waiting[job.queue] = waiting.get(job.queue, 0) + wanted
    memory, vcores, gpus = pending.tolist()
    return {
        "at": at,
        "epoch": m.epoch,
        "leader": holder,
        "policy_version": m.queues.version,
        **counters,
        "pending": {"containers": sum(waiting.values()), "memory_mib": memory, "vcores_milli": vcores, "gpus": gpus},
        "live": len(m.containers),
        "frozen": frozen,
        "queues": _queues(m, waiting),
        "nodes": _nodes(m, answered),
    }


def _queues(m: Memory, waiting: dict[str, int]) -> dict[str, Any]:
    totals = m.queues.shape.summed(m.ledger.queues.sum(axis=0))
    return {
        path: {"memory_mib": used[0], "vcores_milli": used[1], "gpus": used[2], "pending": waiting.get(path, 0)}
        for path, used in zip(m.queues.paths, totals.tolist(), strict=True)
    }


def _nodes(m: Memory, answered: float) -> list[list[int]]:
    n, k = m.nodes, len(m.nodes)
    age_ms = ((answered - n.seen[:k]) * 1000).astype(np.int64)
    columns = (
        n.id[:k], n.state[:k], n.health[:k], n.used[:k, 0], n.used[:k, 1], n.used[:k, 2], n.load[:k, 2], n.load[:k, 1],
        n.containers[:k], age_ms, n.policy_version[:k],
    )  # fmt: skip
    rows: list[list[int]] = np.column_stack(columns).tolist()
    return rows


def usage(m: Memory) -> dict[int, str]:
    """Last sample per live container: ``memory_mib,cpu_ms,ran_ms``."""
    t = m.containers
    slots = np.flatnonzero(t.live)[:USAGE_MAX]
    columns = (t.id[slots], t.memory[slots], t.cpu_ms[slots], t.ran_ms[slots])
    return {cid: f"{mem},{cpu},{ran}" for cid, mem, cpu, ran in zip(*(x.tolist() for x in columns), strict=True)}
