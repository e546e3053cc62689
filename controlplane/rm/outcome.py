"""What follows when a container is placed, moves on or ends: memory, life cycle, rows."""

import numpy as np

from controlplane.rm.changes import NEW, TRANSITION, Changes
from controlplane.rm.jobs import GroupEntry, JobEntry
from controlplane.rm.memory import Memory
from controlplane.rm.nodes import R
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import End
from wire import ids
from wire.states import ContainerReason, ContainerState, GroupState, TaskState, Want

EVENTS_PER_JOB = 1000
_HOUR_US = 3_600_000_000
STATES = {int(s): s for s in ContainerState}  # calling an enumeration costs more than all the rest
REASONS = {int(r): r for r in ContainerReason}


def allocate(m: Memory, c: Changes, sub: int, job: JobEntry, group: GroupEntry, nodes: np.ndarray) -> None:
    """Start the group's next tasks on these node positions, one per element."""
    k = len(nodes)
    tasks, attempts = group.run.take(k)
    master.allocated(job.run, k)
    ids.container_id(sub, m.epoch, m.counter + k)  # past the last number a new epoch is needed
    first = ids.container_id(sub, m.epoch, m.counter + 1)
    m.counter += k
    numbers = np.arange(first, first + k, dtype=np.int64)
    slots = m.containers.add(job, group, numbers)
    t = m.containers
    t.node[slots], t.task[slots], t.attempt[slots] = nodes, tasks, attempts
    t.want[slots], t.allocated_us[slots] = Want.RUN, c.at_us
    if group.shape[2]:
        t.gpus[slots] = [m.nodes.take_gpus(int(n), int(group.shape[2])) for n in nodes]
    np.add.at(m.nodes.used, nodes, group.shape)
    np.add.at(m.nodes.containers, nodes, 1)
    m.ledger.charge(job, group.partition, group.shape * k)
    m.dirty_nodes.update(nodes.tolist())
    _record_new(m, c, sub, job, group, slots)
    if not job.started_us:
        job.started_us = c.at_us
        c.jobs[job.id] = job
    if not group.started_us:
        group.started_us = c.at_us
    c.groups[job.id, group.run.no] = group
    c.placed += k


def _record_new(m: Memory, c: Changes, sub: int, job: JobEntry, group: GroupEntry, slots: np.ndarray) -> None:
    t, rows = m.containers, np.zeros(len(slots), NEW)
    rows["id"], rows["sub_cluster"], rows["node"] = t.id[slots], sub, m.nodes.id[t.node[slots]]
    rows["job"], rows["group"], rows["task"] = job.id, group.run.no, t.task[slots]
    rows["attempt"], rows["state"], rows["epoch"] = t.attempt[slots], ContainerState.ALLOCATED, m.epoch
    rows["memory_mib"], rows["vcores_milli"] = group.shape[0], group.shape[1]
    rows["gpus"], rows["allocated_us"] = t.gpus[slots], t.allocated_us[slots]
    c.new.append(rows)
    steps = np.zeros(len(slots), TRANSITION)
    for name in ("job", "task", "group", "node"):
        steps[name] = rows[name]
    steps["container"], steps["old"], steps["new"] = rows["id"], -1, ContainerState.ALLOCATED
    c.transitions.append(steps)


def move(m: Memory, c: Changes, slot: int, state: int, ran_ms: int) -> None:
    """A container reached another live state."""
    t = m.containers
    job, group = t.job[slot], t.group[slot]
    assert job is not None and group is not None
    old, cid, started_us = int(t.state[slot]), int(t.id[slot]), 0
    t.state[slot] = state
    if state == ContainerState.RUNNING:
        t.started_us[slot] = started_us = max(int(t.allocated_us[slot]), c.at_us - ran_ms * 1000)
    c.moved.append((cid, state, started_us))
    node = int(m.nodes.id[t.node[slot]])
    c.steps.append((cid, job.id, int(t.task[slot]), 0, group.run.no, old, state, node))


# slot, state, reason, exit_code, ran_ms, memory_mib, cpu_ms
Ending = tuple[int, int, int, int, int, int, int]


def end_lost(m: Memory, c: Changes, slots: list[int], reason: ContainerReason) -> None:
    """These containers are gone without their node having said so."""
    end(m, c, [(slot, ContainerState.LOST, reason, 0, 0, 0, 0) for slot in slots])


def end(m: Memory, c: Changes, endings: list[Ending]) -> None:
    """Containers ended: free what they held, tell the job masters, write their history."""
    if not endings:
        return
    t, at_us = m.containers, c.at_us
    slots = np.array([e[0] for e in endings], np.int64)
    nodes = t.node[slots]
    columns = (t.id, t.task, t.state, t.started_us, t.allocated_us, t.gpus)
    held = zip(*(x[slots].tolist() for x in columns), m.nodes.id[nodes].tolist(), nodes.tolist(), strict=True)
    shapes = np.empty((len(slots), R), np.int64)
    rows = np.empty((4, len(slots)), np.int64)
    for i, (e, (cid, task, old, started_us, allocated_us, gpus, node_id, at)) in enumerate(
        zip(endings, held, strict=True)
    ):
        slot, state, reason, exit_code, ran_ms, memory_mib, cpu_ms = e
        job, group = t.job[slot], t.group[slot]
        assert job is not None and group is not None
        shapes[i], rows[:, i] = group.shape, (group.partition, job.queue_row, job.user_row, job.row)
        ran = ran_ms or state == ContainerState.SUCCEEDED
        began_us = started_us or (max(allocated_us, at_us - ran_ms * 1000) if ran else 0)
        c.steps.append((cid, job.id, task, exit_code, group.run.no, old, state, node_id))
        c.ended.append((cid, state, began_us, at_us, exit_code, reason, memory_mib, cpu_ms))
        c.use(at_us // _HOUR_US, job.queue, job.owner, max(0, at_us - allocated_us), group.amounts)
        if gpus:
            m.nodes.free_gpus(at, gpus)
        t.drop(slot)
        _tell_master(m, c, job, group, End(task, STATES[state], REASONS[reason], exit_code, ran_ms / 1000), cid)
    np.subtract.at(m.nodes.used, nodes, shapes)
    np.subtract.at(m.nodes.containers, nodes, 1)
    m.ledger.discharge(*rows, shapes)
    m.dirty_nodes.update(nodes.tolist())
    m.placeable = True


def _tell_master(m: Memory, c: Changes, job: JobEntry, group: GroupEntry, e: End, cid: int) -> None:
    became, instructions = master.ended(job.run, group.run, e, c.at_us / 1e6)
    _record_task(c, job, group, e.index, became, cid, e.exit_code)
    key = (job.id, group.run.no)
    c.groups[key] = group
    if group.run.delayed:
        m.delayed[key] = group
    if group.run.state >= GroupState.SUCCEEDED and not group.finished_us:
        group.finished_us = c.at_us
        for other in job.groups:
            c.groups[job.id, other.run.no] = other
    if instructions:
        carry_out(m, c, job, instructions)


def _record_task(
    c: Changes, job: JobEntry, group: GroupEntry, task: int, became: TaskState, cid: int, exit_code: int
) -> None:
    run = group.run
    row = (
        job.day, job.id, run.no, task, int(became), int(run.launches[task]),
        int(run.failures[task]), cid, exit_code, c.at_us,
    )  # fmt: skip
    if task in group.rowed:
        c.tasks_again.append(row)
    elif became >= TaskState.SUCCEEDED:
        c.tasks_first.append(row)
    else:
        group.rowed.add(task)
        c.tasks_again.append(row)


def carry_out(m: Memory, c: Changes, job: JobEntry, instructions: list[master.Instruction]) -> None:
    """Turn the job master's instructions into changes."""
    for instruction in instructions:
        match instruction:
            case master.StopAll():
                c.jobs[job.id] = job
                _stop_all(m, job)
            case master.Tell(kind, message):
                tell(c, job, kind, message)
            case master.Ended():
                _ended(m, c, job)


def tell(c: Changes, job: JobEntry, kind: str, message: str) -> None:
    """Add an event to the job's story; past the bound only its end is told."""
    if job.events < EVENTS_PER_JOB:
        job.events += 1
        c.events.append((job.id, c.at_us, kind, message))


def _stop_all(m: Memory, job: JobEntry) -> None:
    for group in job.groups:
        for slot in group.slots:
            m.containers.want[slot] = Want.STOP
            m.dirty_nodes.add(int(m.containers.node[slot]))


def _ended(m: Memory, c: Changes, job: JobEntry) -> None:
    job.finished_us = c.at_us
    c.jobs[job.id] = job
    for group in job.groups:
        group.finished_us = group.finished_us or c.at_us
        group.reason = None
        c.groups[job.id, group.run.no] = group
    m.forget(job)
