"""Emptying nodes: what has to leave them is stopped, services first and never too many of one at a time.

Where several sub-clusters are emptied at once, a service leaves one after the
other: each counts on what serves elsewhere and stays, and the first, by
number, of those that still have some of it also on what the others have. So
what is counted twice stays until it is that one's turn.

Everything follows from rows (duties, windows, containers) and the database's
clock, so a new leader goes on where the last one was.
"""

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.memory import windows
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, named_tasks
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.steps.outcome import emit_event
from scheduler.lifecycle.draining import max_unavailable
from wire.states import ContainerReason, ContainerState, Want

LOOK_EVERY_US = 200_000
_STOPPED = int(ContainerReason.STOPPED)


def evict(m: Memory, store: Store, c: Changes) -> None:
    """Ask containers to stop that have to leave their nodes now; nothing while nothing is being emptied."""
    n = m.nodes
    if windows.settle(n, c.at_us):
        m.placeable = True
        n.drained_us = 0
    leaving = np.flatnonzero(n.leaving[: len(n)])
    if not len(leaving) or c.at_us - n.drained_us < LOOK_EVERY_US:
        return
    n.drained_us = c.at_us
    t = m.containers
    stop: list[int] = []
    services: dict[tuple[int, int], tuple[GroupEntry, list[int]]] = {}
    held, starts = t.by_node(leaving)
    for at, slots in zip(leaving.tolist(), np.split(held, starts[1:-1]), strict=True):
        staying = slots[t.want[slots] != Want.STOP].tolist()
        if c.at_us >= n.leave_us[at]:
            stop += staying
            continue
        for slot in staying:
            job, group = t.owner_of(slot)
            if group.run.service:
                services.setdefault((job.id, group.run.no), (group, []))[1].append(slot)
    spans = {job for job, no in services if m.jobs[job].home or m.jobs[job].groups[no].remote}
    elsewhere = store.serving_elsewhere(sorted(spans))
    for key, (group, serving) in services.items():
        stop += _movable(m, group, serving, elsewhere.get(key, 0))
    _stop(m, c, stop)


def _movable(m: Memory, group: GroupEntry, slots: list[int], elsewhere: int) -> list[int]:
    """Those of a service's containers on leaving nodes that may stop now: the oldest first.

    elsewhere: how many of its tasks serve in other sub-clusters.
    """
    t = m.containers
    unstarted = [s for s in slots if t.state[s] < ContainerState.RUNNING]
    serving = sum(t.state[s] == ContainerState.RUNNING and t.want[s] == Want.RUN for s in group.slots)
    serving += elsewhere
    spare = serving - (group.run.count - max_unavailable(group.run.count))
    running = sorted((s for s in slots if t.state[s] >= ContainerState.RUNNING), key=lambda s: int(t.id[s]))
    return unstarted + running[: max(0, spare)]


def _stop(m: Memory, c: Changes, slots: list[int]) -> None:
    t = m.containers
    by_group: dict[tuple[int, str, int], tuple[JobEntry, list[int]]] = {}
    for slot in slots:
        (job, group), at = t.owner_of(slot), int(t.node[slot])
        t.want[slot] = Want.STOP
        m.dirty_nodes.add(at)
        by_group.setdefault((job.id, group.run.name, at), (job, []))[1].append(int(t.task[slot]))
    for (_, name, at), (job, tasks) in by_group.items():
        why = windows.why(m.nodes, at, c.at_us)
        emit_event(c, job, "drain", f"{named_tasks(name, tasks)} stopped, to start again where there is room: {why}")


def reasons(m: Memory, endings: np.ndarray) -> None:
    """A container that was stopped to empty its node says so."""
    t = m.containers
    leaving: np.ndarray = m.nodes.leaving[t.node[endings["slot"]]]
    stopped = leaving & (endings["reason"] == _STOPPED)
    for i in np.flatnonzero(stopped).tolist():
        job, _ = t.owner_of(endings["slot"][i])
        if not job.run.stopping:
            endings["reason"][i] = ContainerReason.DRAINED
