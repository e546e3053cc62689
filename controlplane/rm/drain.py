"""Emptying nodes: what has to leave them is stopped, services first and never too many of one at a time.

Everything follows from rows (duties, windows, containers) and the database's
clock, so a new leader goes on where the last one was.
"""

import numpy as np

from controlplane.rm import windows
from controlplane.rm.changes import Changes
from controlplane.rm.jobs import GroupEntry, JobEntry, named_tasks
from controlplane.rm.memory import Memory
from controlplane.rm.outcome import tell
from wire.states import ContainerReason, ContainerState, Want

LOOK_EVERY_US = 200_000


def attend(m: Memory, c: Changes) -> None:
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
        staying = slots[t.want[slots] == Want.RUN].tolist()
        if c.at_us >= n.leave_us[at]:
            stop += staying
            continue
        for slot in staying:
            job, group = t.owner_of(slot)
            if group.run.service:
                services.setdefault((job.id, group.run.no), (group, []))[1].append(slot)
    for group, slots in services.values():
        stop += _movable(m, group, slots)
    _stop(m, c, stop)


def may_move(count: int) -> int:
    """How many tasks of a service of ``count`` may be down at once for the sake of a move."""
    return max(1, count // 2)


def _movable(m: Memory, group: GroupEntry, slots: list[int]) -> list[int]:
    """Those of a service's containers on leaving nodes that may stop now: the oldest first."""
    t = m.containers
    unstarted = [s for s in slots if t.state[s] < ContainerState.RUNNING]
    serving = sum(t.state[s] == ContainerState.RUNNING and t.want[s] == Want.RUN for s in group.slots)
    spare = serving - (group.run.count - may_move(group.run.count))
    running = sorted((s for s in slots if t.state[s] >= ContainerState.RUNNING), key=lambda s: int(t.id[s]))
    return unstarted + running[: max(0, spare)]


def _stop(m: Memory, c: Changes, slots: list[int]) -> None:
    t = m.containers
    told: dict[tuple[int, str, int], tuple[JobEntry, list[int]]] = {}
    for slot in slots:
        (job, group), at = t.owner_of(slot), int(t.node[slot])
        t.want[slot] = Want.STOP
        m.dirty_nodes.add(at)
        told.setdefault((job.id, group.run.name, at), (job, []))[1].append(int(t.task[slot]))
    for (_, name, at), (job, tasks) in told.items():
        tell(c, job, "moved", f"{named_tasks(name, tasks)} moved: {windows.why(m.nodes, at, c.at_us)}")


def reasons(m: Memory, endings: np.ndarray) -> None:
    """A container that was stopped to empty its node says so."""
    t = m.containers
    stopped = (endings["reason"] == ContainerReason.STOPPED) & m.nodes.leaving[t.node[endings["slot"]]]
    for i in np.flatnonzero(stopped).tolist():
        job, _ = t.owner_of(endings["slot"][i])
        if not job.run.stopping:
            endings["reason"][i] = ContainerReason.DRAINED
