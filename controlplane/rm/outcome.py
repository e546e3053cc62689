"""What follows when a container is placed, moves on or ends: memory, life cycle, rows."""

import numpy as np

from controlplane.rm.changes import NEW, TRANSITION, Changes
from controlplane.rm.jobs import GroupEntry, JobEntry
from controlplane.rm.memory import Memory
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import End
from wire import ids
from wire.states import ContainerReason, ContainerState, JobState, TaskState, Want, terminal

EVENTS_PER_JOB = 1000
_EPOCH_DAY = 719_163  # ordinal of 1970-01-01


def allocate(m: Memory, c: Changes, sub: int, job: JobEntry, group: GroupEntry, nodes: np.ndarray) -> None:
    """Start the group's next tasks on these node positions, one per element."""
    k = len(nodes)
    tasks, attempts = group.run.take(k)
    master.allocated(job.run, k)
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
    m.queues.used[m.queues.at(job.queue)] += group.shape * k
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
    old = int(t.state[slot])
    t.state[slot] = state
    started_us = 0
    if state == ContainerState.RUNNING:
        started_us = t.started_us[slot] = c.at_us - ran_ms * 1000
    cid = int(t.id[slot])
    c.moved.append((cid, state, int(started_us)))
    _step(m, c, slot, old, state, 0)


def end(
    m: Memory,
    c: Changes,
    slot: int,
    state: int,
    reason: int,
    exit_code: int,
    ran_ms: int = 0,
    memory_mib: int = 0,
    cpu_ms: int = 0,
) -> None:
    """A container ended: free what it held, tell the job master, write its history."""
    t = m.containers
    job, group = t.job[slot], t.group[slot]
    assert job is not None and group is not None
    cid, at, task = int(t.id[slot]), int(t.node[slot]), int(t.task[slot])
    started_us = int(t.started_us[slot]) or (c.at_us - ran_ms * 1000 if ran_ms or not state % 10 else 0)
    _step(m, c, slot, int(t.state[slot]), state, exit_code)
    c.ended.append((cid, state, started_us, c.at_us, exit_code, reason, memory_mib, cpu_ms))
    shape = group.shape
    held_s = (c.at_us - int(t.allocated_us[slot])) / 1e6
    c.use(c.at_us // 3_600_000_000, job.queue, job.owner, max(0.0, held_s), shape.tolist())
    m.nodes.used[at] -= shape
    m.nodes.containers[at] -= 1
    m.nodes.gpu_free[at] |= int(t.gpus[slot]) & ((1 << m.nodes.rows[at]["gpus"]) - 1)
    m.queues.used[m.queues.at(job.queue)] -= shape
    m.dirty_nodes.add(at)
    m.placeable = True
    t.drop(slot)
    event = End(task, ContainerState(state), ContainerReason(reason), exit_code, ran_ms / 1000)
    became, instructions = master.ended(job.run, group.run, event, c.at_us / 1e6)
    _record_task(c, job, group, task, became, cid, exit_code)
    c.groups[job.id, group.run.no] = group
    if terminal(group.run.state) and not group.finished_us:
        group.finished_us = c.at_us
        for other in job.groups:
            c.groups[job.id, other.run.no] = other
    carry_out(m, c, job, instructions)


def _step(m: Memory, c: Changes, slot: int, old: int, new: int, exit_code: int) -> None:
    t = m.containers
    job, group = t.job[slot], t.group[slot]
    assert job is not None and group is not None
    node = int(m.nodes.id[t.node[slot]])
    c.steps.append((int(t.id[slot]), job.id, int(t.task[slot]), exit_code, group.run.no, old, new, node))


def _record_task(
    c: Changes, job: JobEntry, group: GroupEntry, task: int, became: TaskState, cid: int, exit_code: int
) -> None:
    run = group.run
    row = (
        job.submitted_on.toordinal() - _EPOCH_DAY, job.id, run.no, task, int(became), int(run.launches[task]),
        int(run.failures[task]), cid, exit_code, c.at_us,
    )  # fmt: skip
    if task in group.rowed:
        c.tasks_again.append(row)
    elif terminal(became):
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
            case master.Ended(state, message):
                _ended(m, c, job, state, message)


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


def _ended(m: Memory, c: Changes, job: JobEntry, state: JobState, message: str) -> None:
    job.finished_us = c.at_us
    c.jobs[job.id] = job
    c.messages[job.id] = message
    for group in job.groups:
        group.finished_us = group.finished_us or c.at_us
        group.reason = None
        c.groups[job.id, group.run.no] = group
    m.forget(job)
