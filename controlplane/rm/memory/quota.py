"""What jobs need at the same time; with gang admission control it is claimed from quotas in the whole federation.

The ledger of ``claims`` counts amounts beside jobs. The key of an amount is
``<queue>#<partition>`` with -1 - r for the r-th resource in the place of an
owner; positions are (queue, -1 - column), columns by partition and resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.claims import Key
from controlplane.rm.memory.application import MASTER
from wire.resources import AXES

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry
    from controlplane.rm.memory.memory import Memory
    from controlplane.rm.memory.queues import QueueTree

R = len(AXES)
_At = tuple[int, int]


def at_once(group: GroupEntry, quota: bool) -> int:
    """How many containers of the group are needed at the same time; ``quota``: also those it only declares."""
    declared = group.constraints.parallelism if quota else 0
    if group.constraints.gang:
        return max(declared, group.run.count)
    return min(declared, group.run.count)


def demand(job: JobEntry, amounts: int, quota: bool = False) -> np.ndarray:
    """What the job may need at the same time: (amounts,) int64, by partition and resource.

    Of groups that wait for one another only the largest counts: the gangs are
    put into chains, each group behind one it waits for, as far as that goes.
    A job with its own master needs what that declares; what it asks for later
    nobody knows when the job is admitted.
    """
    if job.application is not None:
        return _declared(job, amounts) if quota else np.zeros(amounts, np.int64)
    counting = [g for g in job.groups if at_once(g, quota)]
    total = np.zeros(amounts, np.int64)
    if not counting:
        return total
    before = _before(job)
    chains: list[tuple[int, np.ndarray]] = []  # the last group's number, and the most that one of them needs
    for group in sorted(counting, key=lambda g: len(before[g.run.no])):
        need = np.zeros((amounts // R, R), np.int64)
        need[group.partition] = group.shape * at_once(group, quota)
        last = next((i for i, (no, _) in enumerate(chains) if no in before[group.run.no]), len(chains))
        most = chains.pop(last)[1] if last < len(chains) else np.zeros(amounts, np.int64)
        chains.append((group.run.no, np.maximum(most, need.reshape(-1))))
    return sum((most for _, most in chains), total)


def _declared(job: JobEntry, amounts: int) -> np.ndarray:
    """What the job's own master needs at once as it declares, itself included: (amounts,) int64."""
    need = np.zeros((amounts // R, R), np.int64)
    if job.application is not None and (declared := job.application.declared) is not None:
        need[declared.at] = declared.shape * declared.count
        need[job.groups[MASTER].partition] += job.groups[MASTER].shape
    return need.reshape(-1)


def master_demand(job: JobEntry, amounts: int) -> np.ndarray:
    """What the job's own application master holds: (amounts,) int64, by partition and resource."""
    need = np.zeros((amounts // R, R), np.int64)
    if job.application is not None:
        need[job.groups[0].partition] = job.groups[0].shape
    return need.reshape(-1)


def _before(job: JobEntry) -> list[set[int]]:
    """Per group, every group it waits for, directly or not."""
    found: list[set[int]] = [set(group.run.after) for group in job.groups]
    for _ in job.groups:
        for mine in found:
            mine.update(*(found[no] for no in list(mine)))
    return found


def chain(queues: QueueTree, row: int) -> list[int]:
    """The queue and those above it, upwards, without the root: nobody may exceed what there is."""
    found = []
    while row > 0:
        found.append(row)
        row = int(queues.parent[row])
    return found


def amount_keys(queues: QueueTree, row: int, needed: np.ndarray) -> list[_At]:
    """Every quota that a job of the queue claims from. needed: (amounts,) int64."""
    columns = np.flatnonzero(needed).tolist()
    return [(q, -1 - column) for q in chain(queues, row) for column in columns]


def ledger_key(queues: QueueTree, at: _At) -> Key:
    """What the position is called in the StateStore."""
    number, r = divmod(-1 - at[1], R)
    names = [p.name for p in queues.partitions] + [""]
    return f"{queues.paths[at[0]]}#{names[number]}", -1 - r


def quotas(m: Memory) -> np.ndarray:
    """What each queue's jobs may hold in the whole federation: (q, p * R) int64, by the policy's word for it."""
    which = m.queues.components.admission.parameters.quota
    found = []
    for partition, name in enumerate(m.partitions):
        nodes, own = m.nodes_of(partition)
        guaranteed, maximum = m.queues.whole(name, m.capacity(nodes[own]))
        found.append(guaranteed if which == "guaranteed" else maximum)
    return np.concatenate(found, axis=1)
