"""Carrying out what a plan takes back: owners are warned, and after the grace their containers stop."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, named_tasks
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.view import PlanView
from controlplane.rm.steps.outcome import emit_event
from scheduler.core.plan import Preempt
from scheduler.core.snapshot import Memo
from wire.states import ContainerReason, Want


def still_warned(m: Memory, memo: Memo) -> Memo:
    """The memo without containers that have ended or are being stopped: nothing more can come of a warning to them."""
    if not len(memo.warned):
        return memo
    slots = m.containers.slots_of(memo.warned)
    stands = (slots >= 0) & (m.containers.want[slots] != Want.STOP)
    return replace(memo, warned=memo.warned[stands], warned_due=memo.warned_due[stands])


def clear_warnings(m: Memory) -> None:
    """Nothing is to be taken back any more."""
    none = Memo()
    m.memos = {name: replace(x, warned=none.warned, warned_due=none.warned_due) for name, x in m.memos.items()}


def apply_plan(m: Memory, c: Changes, plan: Preempt, view: PlanView, grace_s: float) -> None:
    """Warn and stop the containers of a plan."""
    _warn(m, c, plan, view, grace_s)
    _stop(m, c, view.slots[plan.kill])


def observe(m: Memory, c: Changes, plan: Preempt, view: PlanView, grace_s: float) -> None:
    """Tell what a plan would take back, once of each container, and count what would have been stopped."""
    if not (len(plan.warn) or len(plan.kill)):
        return
    known, ids = m.observed, m.containers.id[view.slots]
    fresh = ~np.isin(ids[plan.warn], list(known.notified))
    by_group: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for row, intra in zip(plan.warn[fresh].tolist(), plan.intra[fresh].tolist(), strict=True):
        job, group = m.containers.owner_of(view.slots[row])
        by_group[job.id, group.run.no, _why(intra)].append(int(view.slots[row]))
    for (job_id, no, why), slots in by_group.items():
        names = _names(m, m.jobs[job_id].groups[no], slots)
        text = f"{names} would be stopped in {grace_s:g} s, because {why}; but preemption only observes"
        emit_event(c, m.jobs[job_id], "preemption", text)
    known.notified.update(ids[plan.warn].tolist())
    gone = set(ids[plan.kill].tolist()) - known.gone
    known.gone |= gone
    known.stopped += len(gone)


def spare(m: Memory, c: Changes) -> None:
    """Tell the owners of containers that no partition wants back any more."""
    if m.warned:
        wanted = {cid for memo in m.memos.values() for cid in memo.warned.tolist()}
        _spare(m, c, np.array([cid for cid in m.warned if cid not in wanted], np.int64))


def _warn(m: Memory, c: Changes, plan: Preempt, view: PlanView, grace_s: float) -> None:
    paths = view.snapshot.queues.paths
    for row, owed, intra in zip(plan.warn.tolist(), plan.owed_to.tolist(), plan.intra.tolist(), strict=True):
        m.warned[int(m.containers.id[view.slots[row]])] = _why(intra)
        m.room_due[paths[owed]] = c.at_us / 1e6 + grace_s
    by_group: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for slot in view.slots[plan.warn].tolist():
        job, group = m.containers.owner_of(slot)
        by_group[job.id, group.run.no, m.warned[int(m.containers.id[slot])]].append(slot)
    for (job_id, no, why), slots in by_group.items():
        names = _names(m, m.jobs[job_id].groups[no], slots)
        emit_event(c, m.jobs[job_id], "preemption", f"{names} will be stopped in {grace_s:g} s, because {why}")


def _why(intra: bool) -> str:
    return "another job of its queue comes before it" if intra else "it is owed to others"


def _spare(m: Memory, c: Changes, ids: np.ndarray) -> None:
    by_group: dict[tuple[int, int], list[int]] = defaultdict(list)
    for cid, slot in zip(ids.tolist(), m.containers.slots_of(ids).tolist(), strict=True):
        if m.warned.pop(cid, None) and slot >= 0 and m.containers.want[slot] != Want.STOP:
            job, group = m.containers.owner_of(slot)
            by_group[job.id, group.run.no].append(slot)
    for (job_id, no), slots in by_group.items():
        emit_event(
            c, m.jobs[job_id], "preemption", f"{_names(m, m.jobs[job_id].groups[no], slots)} may go on after all"
        )


def _stop(m: Memory, c: Changes, slots: np.ndarray) -> None:
    t = m.containers
    t.want[slots] = Want.STOP
    m.dirty_nodes.update(t.node[slots].tolist())
    ids = t.id[slots].tolist()
    m.preempted.update(ids)
    for cid in ids:
        m.warned.pop(cid, None)


def reasons(m: Memory, endings: np.ndarray) -> None:
    """A container that was stopped to give back what it held says so."""
    if not m.preempted:
        return
    stopped = np.flatnonzero(endings["reason"] == ContainerReason.STOPPED)
    ids = m.containers.id[endings["slot"][stopped]].tolist()
    endings["reason"][stopped[[cid in m.preempted for cid in ids]]] = ContainerReason.PREEMPTED


def _names(m: Memory, group: GroupEntry, slots: list[int]) -> str:
    return named_tasks(group.run.name, m.containers.task[slots].tolist())
