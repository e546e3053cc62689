"""Carrying out what a plan takes back: owners are warned, and after the grace their containers stop."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.jobs import GroupEntry, JobEntry, named_tasks
from controlplane.rm.memory import Memory
from controlplane.rm.outcome import Ending, tell
from controlplane.rm.view import View
from scheduler.core.plan import Preempt
from wire.states import ContainerReason, Want


def carry_out(m: Memory, c: Changes, plan: Preempt, view: View, grace_s: float) -> None:
    """Warn, stop and spare the containers of a plan."""
    _warn(m, c, plan, view, grace_s)
    _spare(m, c, plan.spared)
    _stop(m, c, view.slots[plan.kill])


def _warn(m: Memory, c: Changes, plan: Preempt, view: View, grace_s: float) -> None:
    paths = view.snapshot.queues.paths
    for row, owed, intra in zip(plan.warn.tolist(), plan.owed_to.tolist(), plan.intra.tolist(), strict=True):
        why = "a more important job of its queue needs it" if intra else f"the queue {paths[owed]} is owed it"
        m.warned[int(m.containers.id[view.slots[row]])] = why
    told: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for slot in view.slots[plan.warn].tolist():
        job, group = _owner(m, slot)
        told[job.id, group.run.no, m.warned[int(m.containers.id[slot])]].append(slot)
    for (job_id, no, why), slots in told.items():
        names = _names(m, m.jobs[job_id].groups[no], slots)
        tell(c, m.jobs[job_id], "preemption", f"{names} will be stopped in {grace_s:g} s, because {why}")


def _spare(m: Memory, c: Changes, ids: np.ndarray) -> None:
    told: dict[tuple[int, int], list[int]] = defaultdict(list)
    for cid in ids.tolist():
        if m.warned.pop(cid, None) and (slot := m.containers.index.get(cid)) is not None:
            job, group = _owner(m, slot)
            told[job.id, group.run.no].append(slot)
    for (job_id, no), slots in told.items():
        tell(c, m.jobs[job_id], "preemption", f"{_names(m, m.jobs[job_id].groups[no], slots)} may go on after all")


def _stop(m: Memory, c: Changes, slots: np.ndarray) -> None:
    t = m.containers
    t.want[slots] = Want.STOP
    m.dirty_nodes.update(t.node[slots].tolist())
    m.preempted.update(t.id[slots].tolist())


def reasons(m: Memory, endings: list[Ending]) -> list[Ending]:
    """The same ends; a container that was stopped to give back what it held says so."""
    if not m.preempted:
        return endings
    ids = m.containers.id
    return [
        (slot, state, ContainerReason.PREEMPTED, *rest)
        if reason == ContainerReason.STOPPED and int(ids[slot]) in m.preempted
        else (slot, state, reason, *rest)
        for slot, state, reason, *rest in endings
    ]


def forget(m: Memory, ids: Iterable[int]) -> None:
    """These containers have ended."""
    if m.warned or m.preempted:
        for cid in ids:
            m.warned.pop(cid, None)
            m.preempted.discard(cid)


def _owner(m: Memory, slot: int) -> tuple[JobEntry, GroupEntry]:
    job, group = m.containers.job[slot], m.containers.group[slot]
    assert job is not None and group is not None
    return job, group


def _names(m: Memory, group: GroupEntry, slots: list[int]) -> str:
    return named_tasks(group.run.name, m.containers.task[slots].tolist())
