"""What follows when a container is placed, moves on or ends: memory, life cycle, rows."""

from itertools import pairwise
from typing import Any

import numpy as np

from controlplane.rm.changes import ENDED, MOVED, NEW, TASK, TRANSITION, Changes
from controlplane.rm.columns import stretches
from controlplane.rm.memory.application import MASTER
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.steps.reports import report
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import AttemptEnd
from wire import ids
from wire.resources import DIVISIBLE, GPUS, Amounts
from wire.states import ContainerReason, ContainerState, GroupState, TaskState, Want

EVENTS_PER_JOB = 1000
ENDS_AT_ONCE = 64  # ends in a round that are worth a document each
ACKNOWLEDGE_US = 1_000_000
# Comparing a column with a member of an enumeration takes five times as long.
_RUNNING, _SUCCEEDED = int(ContainerState.RUNNING), int(ContainerState.SUCCEEDED)
_FAILED, _DONE = int(ContainerState.FAILED), int(TaskState.SUCCEEDED)
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
    t.want[slots], t.allocated_us[slots] = Want.HOLD if group.held else Want.RUN, c.at_us
    if group.shape[GPUS]:
        t.gpus[slots] = [m.nodes.take_gpus(int(n), int(group.shape[GPUS])) for n in nodes]
    np.add.at(m.nodes.used, nodes, group.shape)
    np.add.at(m.nodes.containers, nodes, 1)
    m.ledger.charge(job, group.partition, k * group.shape)
    m.dirty_nodes.update(nodes.tolist())
    _record_new(m, c, slots)
    if job.home:
        started = np.zeros(k, ENDING)
        started["slot"] = slots
        report(c, t, job, group, started)
        c.taken.add((job.id, group.run.no))
    if not job.started_us:
        c.begin(job, c.at_us)
    if not group.started_us:
        group.started_us = c.at_us
    c.groups[job.id, group.run.no] = group
    c.placed += k


def _record_new(m: Memory, c: Changes, slots: np.ndarray) -> None:
    rows = np.zeros(len(slots), NEW)
    _describe(m, slots, rows)
    c.new.append(rows)
    steps = _steps(m, slots, rows["state"])
    steps["old"] = -1
    c.transitions.append(steps)


def _describe(m: Memory, slots: np.ndarray, rows: np.ndarray) -> None:
    """Fill the columns of ``NEW`` with what the memory knows of these containers."""
    t = m.containers
    shared = t.shared_of(slots)
    rows["sub_cluster"], rows["epoch"] = ids.sub_cluster(t.id[slots]), m.epoch
    rows["node"] = m.nodes.id[t.node[slots]]
    for name in ("job", "group", *DIVISIBLE):
        rows[name] = shared[name]
    for name in ("id", "task", "attempt", "state", "gpus", "allocated_us"):
        rows[name] = getattr(t, name)[slots]


def move(m: Memory, c: Changes, slots: np.ndarray, states: np.ndarray, ran_ms: np.ndarray) -> None:
    """Containers reached another live state. Each slot once."""
    if not len(slots):
        return
    t = m.containers
    began_us = np.maximum(t.allocated_us[slots], c.at_us - ran_ms.astype(np.int64) * 1000)
    running = states == _RUNNING
    t.started_us[slots] = np.where(running, began_us, t.started_us[slots])
    rows = np.zeros(len(slots), MOVED)
    rows["id"], rows["state"], rows["started_us"] = t.id[slots], states, np.where(running, began_us, 0)
    c.moved.append(rows)
    c.transitions.append(_steps(m, slots, states))
    t.state[slots] = states


def _steps(m: Memory, slots: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The log's entries of containers that go from the state they are known in to these."""
    t, rows = m.containers, np.zeros(len(slots), TRANSITION)
    shared = t.shared_of(slots)
    rows["container"], rows["task"], rows["node"] = t.id[slots], t.task[slots], m.nodes.id[t.node[slots]]
    rows["job"], rows["group"] = shared["job"], shared["group"]
    rows["old"], rows["new"] = t.state[slots], states
    return rows


# How a container ended, by its slot.
ENDING = np.dtype(
    [
        ("slot", "i8"), ("state", "u1"), ("reason", "u2"), ("exit_code", "i4"), ("ran_ms", "i8"), ("memory_mib", "i8"),
        ("cpu_ms", "i8"),
    ]
)  # fmt: skip


def end_lost(m: Memory, c: Changes, slots: np.ndarray, reason: ContainerReason) -> None:
    """These containers are gone without their node having said so."""
    endings = np.zeros(len(slots), ENDING)
    endings["slot"], endings["state"], endings["reason"] = slots, ContainerState.LOST, reason
    end(m, c, endings)


def end(m: Memory, c: Changes, endings: np.ndarray) -> None:
    """Containers ended: free what they held, tell the job masters, write their history.

    endings: (k,) ``ENDING``, each slot once. They ended at the same moment;
    a group's successes are told first.
    """
    if not len(endings):
        return
    t = m.containers
    owners = t.ask[endings["slot"]]
    order = np.lexsort((endings["state"] != _SUCCEEDED, owners))
    endings, owners = endings.take(order), owners[order]
    slots = endings["slot"]
    nodes, attempts, allocated_us = t.node[slots], t.attempt[slots], t.allocated_us[slots]
    held_us = np.maximum(0, c.at_us - allocated_us)
    _record_end(m, c, endings)
    rows, task_rows = _task_rows(m, c, endings), TaskRows()
    for at, devices in zip(nodes[t.gpus[slots] != 0].tolist(), t.gpus[slots][t.gpus[slots] != 0].tolist(), strict=True):
        m.nodes.free_gpus(at, devices)
    m.clear_marks(t.id[slots])
    _vacate(m, nodes, owners)
    t.drop(slots)
    states, tasks = endings["state"].tolist(), rows["index"]
    for start, stop in pairwise(stretches(owners).tolist()):
        job, group = t.owner_of(slots[start])
        part = slice(start, stop)
        had = group.amounts if owners[start] == group.row else m.asks.amounts(int(owners[start]))
        m.ledger.charge(job, group.partition, (start - stop) * np.array(had, np.int64))
        ended = endings[part]
        first_us = allocated_us[part][attempts[part] == 1]
        c.use(job, _used(job, group, ended, held_us[part], first_us, had))
        if states[stop - 1] != _SUCCEEDED and (failed := ended["state"] == _FAILED).any():
            m.avoid(job, nodes[part][failed].tolist())
        if job.home:
            group.run.running -= stop - start
            job.run.live -= stop - start
            report(c, t, job, group, ended)
            task_rows.skip(stop - start)
        else:
            apply_instructions(m, c, job, conclude(m, c, job, group, ended, tasks[part], task_rows))
    task_rows.write(c, rows)
    _acknowledge(m, c, nodes)
    m.placeable = True


def _used(
    job: JobEntry, group: GroupEntry, ended: np.ndarray, held_us: np.ndarray, first_us: np.ndarray, had: Amounts
) -> list[int]:
    """What containers of a group that have ended add to its owner's use, as ``Changes.usage`` has it.

    ended: (k,) ``ENDING``; held_us: (k,); first_us: when those of them were placed that were their tasks' first;
    had: what each of them held.
    """
    held = int(held_us.sum())
    first_us = first_us if _waits_since_submit(job, group) else first_us[:0]
    return [
        len(ended),
        int((ended["state"] == _FAILED).sum()),
        int(ended["cpu_ms"].sum()),
        len(first_us),
        int(np.maximum(0, first_us - job.submitted_us).sum()),
        int(np.dot(ended["memory_mib"].astype(np.float64), held_us)),  # may exceed 64 bits
        *(amount * held for amount in had),
    ]


def _waits_since_submit(job: JobEntry, group: GroupEntry) -> bool:
    """Whether its tasks could have started at the submit: not after others, nor when somebody asked for them later."""
    asked_later = group.asked_us or job.revision > 1 or (job.application and group.run.no != MASTER)
    return not (group.run.after or asked_later)


def _vacate(m: Memory, nodes: np.ndarray, owners: np.ndarray) -> None:
    """Containers of these ask rows have left these node positions: (k,) each."""
    shapes, at = m.asks.shapes_of(owners)
    np.subtract.at(m.nodes.used, nodes, shapes[at])
    np.subtract.at(m.nodes.containers, nodes, 1)


def _acknowledge(m: Memory, c: Changes, nodes: np.ndarray) -> None:
    """Let these nodes know that the ends are known: a few at once, many with their next documents, within a second."""
    if len(nodes) <= ENDS_AT_ONCE:
        m.dirty_nodes.update(nodes.tolist())
    else:
        due = m.nodes.acknowledge_us
        due[nodes] = np.minimum(due[nodes], c.at_us + ACKNOWLEDGE_US)


def _record_end(m: Memory, c: Changes, endings: np.ndarray) -> None:
    t, slots, rows = m.containers, endings["slot"], np.zeros(len(endings), ENDED)
    ran_ms, allocated_us, started_us = endings["ran_ms"], t.allocated_us[slots], t.started_us[slots]
    ran = (ran_ms > 0) | (endings["state"] == _SUCCEEDED)
    unseen_us = np.where(ran, np.maximum(allocated_us, c.at_us - ran_ms * 1000), 0)  # it was never seen running
    _describe(m, slots, rows)
    rows["started_us"] = np.where(started_us > 0, started_us, unseen_us)
    rows["finished_us"], rows["peak_memory_mib"] = c.at_us, endings["memory_mib"]
    for name in ("state", "exit_code", "reason", "cpu_ms"):
        rows[name] = endings[name]
    c.ended.append(rows)
    steps = _steps(m, slots, endings["state"])
    steps["exit_code"] = endings["exit_code"]
    c.transitions.append(steps)


def _task_rows(m: Memory, c: Changes, endings: np.ndarray) -> np.ndarray:
    """Rows of the tasks whose attempts ended, but for what their group makes of it."""
    t, slots, rows = m.containers, endings["slot"], np.zeros(len(endings), TASK)
    shared = t.shared_of(slots)
    rows["submitted_on"], rows["job"], rows["group"] = shared["day"], shared["job"], shared["group"]
    rows["index"], rows["container"] = t.task[slots], t.id[slots]
    rows["exit_code"], rows["finished_us"] = endings["exit_code"], c.at_us
    return rows


class TaskRows:
    """What became of tasks whose attempts ended, in the order of their rows; written for all groups at once."""

    def __init__(self) -> None:
        self._columns: tuple[list[int], ...] = ([], [], [])  # state, attempts, failures
        self._rowed: list[bool] = []
        self._groups: list[GroupEntry | None] = []

    def add(self, group: GroupEntry, index: np.ndarray) -> None:
        """The group's job master has decided about these tasks."""
        run = group.run
        columns: tuple[list[Any], ...] = (*self._columns, self._rowed)
        for column, values in zip(
            columns, (run.task_state, run.launches, run.failures, group.task_rows()), strict=True
        ):
            if len(index) == 1:  # most often, and then ten times as fast
                column.append(values.item(int(index[0])))
            else:
                column.extend(values[index].tolist())
        self._groups += [group] * len(index)

    def skip(self, k: int) -> None:
        """The next ``k`` tasks are at home elsewhere, where their rows are written."""
        for column in self._columns:
            column.extend([0] * k)
        self._rowed += [False] * k
        self._groups += [None] * k

    def write(self, c: Changes, rows: np.ndarray) -> None:
        """rows: (k,) ``TASK`` of all that was told. A task's first row is written when it has ended for good; one that
        is tried again has a row from then on."""
        for name, column in zip(("state", "attempts", "failures"), self._columns, strict=True):
            rows[name] = column
        first = ~np.array(self._rowed, np.bool_) & (rows["state"] >= _DONE)
        if first.any():
            c.tasks_first.append(rows if first.all() else rows[first])
        again = [at for at in np.flatnonzero(~first).tolist() if self._groups[at] is not None]
        if again:
            c.tasks_again.append(rows[again])
            for at, index in zip(again, rows["index"][again].tolist(), strict=True):
                self._groups[at].rowed[index] = True  # type: ignore[union-attr]


def conclude(
    m: Memory, c: Changes, job: JobEntry, group: GroupEntry, endings: np.ndarray, tasks: np.ndarray, task_rows: TaskRows
) -> list[master.Instruction]:
    """Attempts of the group ended, successes first: tell its job master. What follows for the job.

    endings: (k,) with state, reason, exit_code and ran_ms; tasks: (k,) their indices.
    """
    run, instructions, well = group.run, list[master.Instruction](), 0
    if not run.service:
        well = endings["state"].tolist().count(_SUCCEEDED)
        instructions += master.succeeded(job.run, run, tasks[:well])
    if well < len(endings):
        instructions += _notify_master(c, job, group, endings[well:], tasks[well:])
    key = (job.id, run.no)
    c.groups[key] = group
    if run.backing_off:
        m.backing_off[key] = group
    if run.state >= GroupState.SUCCEEDED and not group.finished_us:
        group.finished_us = c.at_us
        m.release_template(job, group)
        for other in job.groups:
            c.groups[job.id, other.run.no] = other
    task_rows.add(group, tasks)
    return instructions


def _count_failure(c: Changes, job: JobEntry, group: GroupEntry, e: AttemptEnd) -> None:
    """Of a service that rolls over, an attempt of the new revision that failed."""
    rollout, run = job.rollout, group.run
    if rollout is None or e.blameless or e.replaced or run.no not in rollout.groups:
        return
    rollout.failures += 1
    rollout.last = f"{run.name}/{e.index} {master.describe(e)}"
    c.services[job.id] = job


def _notify_master(
    c: Changes, job: JobEntry, group: GroupEntry, endings: np.ndarray, tasks: np.ndarray
) -> list[master.Instruction]:
    """One after the other those whose end the job master has to judge."""
    instructions: list[master.Instruction] = []
    named = group.restarts.named
    columns = (tasks, *(endings[name] for name in ("state", "reason", "exit_code", "ran_ms")))
    for task, state, reason, exit_code, ran_ms in zip(*(x.tolist() for x in columns), strict=True):
        replaced = (task, int(group.run.launches[task])) in named
        asked_by = group.restarts.by if replaced and reason == ContainerReason.STOPPED else None
        e = AttemptEnd(task, STATES[state], REASONS[reason], exit_code, ran_ms / 1000, asked_by, replaced)
        _count_failure(c, job, group, e)
        instructions += master.ended(job.run, group.run, e, c.at_us / 1e6)[1]
    return instructions


def apply_instructions(m: Memory, c: Changes, job: JobEntry, instructions: list[master.Instruction]) -> None:
    """Turn the job master's instructions into changes."""
    for instruction in instructions:
        match instruction:
            case master.StopAll(keep):
                c.jobs[job.id] = job
                _stop_all(m, c, job, keep)
            case master.EmitEvent(kind, message):
                emit_event(c, job, kind, message)
            case master.Ended():
                _ended(m, c, job)


def emit_event(c: Changes, job: JobEntry, kind: str, message: str) -> None:
    """Add an event to the job's story; past the bound only its end is told."""
    if job.events < EVENTS_PER_JOB:
        job.events += 1
        c.events.append((job.id, c.at_us, kind, message))


def _stop_all(m: Memory, c: Changes, job: JobEntry, keep: int) -> None:
    job.kept = keep
    for group in job.groups:
        if group.run.no == keep:
            continue
        for sub, handed in group.remote.items():
            handed.wish = 0
            c.hand(job, group, sub)
        slots = list(group.slots)
        m.containers.want[slots] = Want.STOP
        m.dirty_nodes.update(m.containers.node[slots].tolist())


def _ended(m: Memory, c: Changes, job: JobEntry) -> None:
    c.end(job)
    for group in job.groups:
        group.finished_us = group.finished_us or c.at_us
        group.reason = None
        c.groups[job.id, group.run.no] = group
    m.forget(job)
