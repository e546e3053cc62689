"""A new leader's memory, from the StateStore alone."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from controlplane.rm.memory import windows
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, entry, take_services
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.ports import Store
from controlplane.rm.rows import ContainerRow, GroupRow, TaskRow, Wanted
from controlplane.rm.steps import guests, masters, remote, services
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import AttemptEnd
from wire.resources import Amounts
from wire.states import ContainerReason, ContainerState, GroupState, JobState, Want


def rebuild(store: Store, log_max_bytes: int, answered: float, ahead: Mapping[int, JobEntry] | None = None) -> Memory:
    """Nodes, queues, live jobs and their containers as the rows say.

    ``answered``: the liveness clock; every node gets the benefit of the doubt
    for one full silence from here on. ``ahead``: what was made ahead of some
    jobs by ``readahead``, with the same ``log_max_bytes``; it is the memory's from now on.
    """
    ahead = ahead or {}
    version, queues = store.queues()
    m = Memory(store.epoch, QueueTree(version, queues, store.policy(version)), store.nodes())
    m.nodes.seen[:] = answered
    windows.take(m.nodes, store.windows())
    jobs = {}
    live, wanted = masters.complete(store.live_jobs(ahead), store)
    for row in live:
        made = None if row.spec else ahead.get(row.id)
        job = made or entry(row, log_max_bytes)
        if made:
            take_services(job, row.services)  # asked for since it was read
        job.queue, job.priority = row.queue, row.priority
        job.run.state, job.run.message = JobState(row.state), row.message
        job.admitted_us, job.started_us = _us(row.admitted_at), _us(row.started_at)
        jobs[job.id] = job
    store.renew()  # each part takes its time when there is much
    _restore_tasks(jobs, store.tasks(jobs))
    store.renew()
    remote.restore(jobs, store)
    guest_jobs, theirs = _guests(store, jobs, log_max_bytes)
    for job in (*jobs.values(), *guest_jobs.values()):
        m.add_job(job, known=True)
    revised = [job.id for job in (*jobs.values(), *guest_jobs.values()) if job.revision > 1]
    _adopt(m, jobs | guest_jobs, store.containers(), store.had(revised))
    store.renew()
    for job in guest_jobs.values():
        guests.take_over(m, job)
    ends = _last_ends(store, jobs)
    for job in jobs.values():
        _restore_states(m, job, ends)
    masters.restore(m, wanted, theirs)
    m.spanning = {(job.id, g.run.no) for job in jobs.values() for g in job.groups if g.remote}
    m.dirty_nodes = set(range(len(m.nodes)))
    return m


def _guests(store: Store, jobs: dict[int, JobEntry], log_max_bytes: int) -> tuple[dict[int, JobEntry], Wanted]:
    """Jobs at home elsewhere that have handed tasks to us, and what their application masters want.

    Those that have moved here are no guests any more.
    """
    asks = [row for row in store.asks_here() if row.job_id not in jobs]
    rows, theirs = masters.complete(store.jobs(sorted({row.job_id for row in asks})), store)
    return guests.restored(asks, {row.id: row for row in rows}, log_max_bytes), theirs


def _us(at: dt.datetime | None) -> int:
    return round(at.timestamp() * 1e6) if at else 0


def _restore_tasks(jobs: dict[int, JobEntry], rows: Iterable[TaskRow]) -> None:
    for job_id, group_no, task, state, attempts, failures in rows:
        group = jobs[job_id].groups[group_no]
        group.run.restore(task, state, failures, attempts)
        group.task_rows()[task] = True


def _adopt(m: Memory, jobs: dict[int, JobEntry], rows: list[ContainerRow], had: Mapping[int, Amounts]) -> None:
    """Take live containers over. One whose job is not ours any more is stopped by being left out.

    had: what those have whose groups may want something else by now.
    """
    by_group: dict[tuple[int, int, Amounts | None], list[ContainerRow]] = defaultdict(list)
    for row in rows:
        if row.job_id in jobs and row.node_id in m.nodes.index:
            by_group[row.job_id, row.group_no, had.get(row.id)].append(row)
    t = m.containers
    for (job_id, group_no, known), members in by_group.items():
        job = jobs[job_id]
        group = job.groups[group_no]
        amounts = known or group.amounts
        at_row = group.row if amounts == group.amounts else m.former_row(job, group, amounts)
        slots = t.add_of(at_row, job, group, amounts, np.array([row.id for row in members], np.int64))
        shape = np.array(amounts, np.int64)
        for slot, (_, node, _, _, task, attempt, state, gpus, allocated, started) in zip(
            slots.tolist(), members, strict=True
        ):
            at = m.nodes.index[node]
            t.node[slot], t.task[slot], t.attempt[slot], t.state[slot] = at, task, attempt, state
            t.gpus[slot], t.want[slot] = gpus, Want.RUN
            t.allocated_us[slot], t.started_us[slot] = _us(allocated), _us(started)
            t.echoed[slot] = state > ContainerState.ALLOCATED
            group.run.adopt(task, attempt)
            m.nodes.used[at] += shape
            m.nodes.containers[at] += 1
            m.nodes.gpu_held[at] |= gpus
        job.run.live += len(members)
        m.ledger.charge(job, group.partition, shape * len(members))


def behind(m: Memory, store: Store) -> dict[tuple[int, int], GroupEntry]:
    """Groups whose counters were not written yet, or that are told why they wait and do not wait any more.

    Nothing is placed by these rows, of which each live job has some, so they are read when the first round is over.
    """
    jobs = {job.id: job for job in m.jobs.values() if not job.home}
    store.renew()
    return _behind(jobs, store.groups(jobs))


def _behind(jobs: dict[int, JobEntry], rows: Iterable[GroupRow]) -> dict[tuple[int, int], GroupEntry]:
    found = {}
    for row in rows:
        job, group = jobs[row.job_id], jobs[row.job_id].groups[row.no]
        waits = group.run.wanted or group.run.backing_off or job.waiting_row >= 0
        if row.counters != group.counters()[:-1] or (row.has_reason and not waits):
            found[row.job_id, row.no] = group
    return found


def _last_ends(store: Store, jobs: dict[int, JobEntry]) -> dict[tuple[int, int], list[tuple[AttemptEnd, float]]]:
    """By group, the ends after which a back-off may not be over yet. What ran long enough to need none did not fail."""
    found: dict[tuple[int, int], list[tuple[AttemptEnd, float]]] = defaultdict(list)
    for row in store.last_ends(jobs):
        end = AttemptEnd(row.task, ContainerState(row.state), ContainerReason(row.reason), row.exit_code, 0.0)
        found[row.job_id, row.group_no].append((end, row.at_us / 1e6))
    return found


def _restore_states(m: Memory, job: JobEntry, ends: dict[tuple[int, int], list[tuple[AttemptEnd, float]]]) -> None:
    run = job.run
    for group in job.groups:
        g = group.run
        g.restored(ends.get((job.id, g.no), ()))
        if g.over:
            g.state = g.outcome
        elif g.next_fresh:
            g.state = GroupState.RUNNING if g.running else GroupState.PENDING
    run.open_groups = sum(g.state < GroupState.SUCCEEDED for g in run.groups)
    if run.state != JobState.SUBMITTED:
        master.open_groups(run)
    if run.state == JobState.KILLING:
        master.resume_stop(run)
        m.resumed.append(job)
        for group in job.groups:
            m.containers.want[list(group.slots)] = Want.STOP
    else:
        services.resume(m, job)
    m.backing_off |= {(job.id, group.run.no): group for group in job.groups if group.run.backing_off}
